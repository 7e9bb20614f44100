"""Windows of streams in Python: widths, times of what is inserted, and what is refused."""

from datetime import UTC, datetime

import pytest

import tornado
from apps.sssp import ShortestPaths
from tornado.client import Batch, Refused, connect
from tornado.errors import InvalidArgument


def left_in(loop):
    found = loop.query().to_pandas()
    return {vertex: value for vertex, value in zip(found.vertex, found.value, strict=True) if value < 9}


def test_edges_leave_by_number_and_the_prefix_counts_them():
    with tornado.open(workers=1) as session:
        roads = session.stream("roads", window=2)
        paths = roads.start(ShortestPaths(source=1))
        roads.insert([1, 1, 1], [2, 3, 4])
        answer = paths.query()
        assert answer.snapshot.offsets == {"insert": 3, "window": 1}
        assert left_in(paths) == {1: 0.0, 3: 1.0, 4: 1.0}


@pytest.mark.parametrize(
    "times",
    [
        [0, 90.5, 100],
        ["1970-01-01", "1970-01-01T00:01:30Z", "1970-01-01T00:01:40Z"],
        [datetime.fromtimestamp(second, UTC) for second in (0, 90, 100)],
    ],
)
def test_edges_leave_by_the_times_that_are_given(times):
    with tornado.open(workers=1) as session:
        paths = session.start(ShortestPaths(source=1), window="30s")
        paths.insert([1, 1, 1], [2, 3, 4], times=times)
        assert left_in(paths) == {1: 0.0, 3: 1.0, 4: 1.0}
        paths.remove([1], [3], times=105)
        assert left_in(paths) == {1: 0.0, 4: 1.0}


@pytest.mark.parametrize(
    ("times", "said"),
    [
        (["noon"], "times\\[0\\] is 'noon'"),
        ([1, 2], "2 entries for 1 edges"),
        ([[1]], "a time is a timestamp"),
        ([1, "x"], "no column of times"),
    ],
)
def test_times_that_are_none_are_refused(times, said):
    with tornado.open(workers=1) as session:
        paths = session.start(ShortestPaths(source=1), window="30s")
        with pytest.raises(InvalidArgument, match=said):
            paths.insert([1], [2], times=times)
        assert paths.query().snapshot.offsets == {}


@pytest.mark.parametrize("window", [0, -5, "1x", "", True, 1.5, "0h", "9" * 400 + "w", "9" * 5_000])
def test_a_window_that_is_none_is_refused(window):
    with tornado.open(workers=1) as session, pytest.raises(InvalidArgument, match="window is"):
        session.start(ShortestPaths(source=1), window=window)


def test_edges_without_times_are_refused_where_others_have_them():
    with tornado.open(workers=1) as session:
        paths = session.start(ShortestPaths(source=1), window="30s")
        paths.insert([1], [2], times=[5])
        with pytest.raises(InvalidArgument, match="has no time"):
            paths.insert([1], [2])


@pytest.fixture
def served():
    """A stream with a window of 30 s: its loop, and how a client pushes to it."""
    with tornado.open(workers=1) as session:
        stream = session.stream("roads", window="30s")
        paths = stream.start(ShortestPaths(source=1))
        with connect(session.serve().url) as service:
            yield paths, service.stream("roads")


@pytest.mark.parametrize("comes_first", [None, Batch("nightly", 0)], ids=["a push first", "a batch first"])
def test_the_times_of_numbered_batches_count_as_those_of_pushes(served, comes_first):
    paths, roads = served
    assert roads.insert([1, 1], [2, 3], time=[0, 90], batch=comes_first).accepted == 2
    assert left_in(paths) == {1: 0.0, 3: 1.0}
    second = Batch("nightly", 0 if comes_first is None else 1)
    assert roads.insert([1], [4], time=[100], batch=second).accepted == 1
    assert roads.insert([1], [5], time=[110]).accepted == 1
    assert left_in(paths) == {1: 0.0, 3: 1.0, 4: 1.0, 5: 1.0}
    said = roads.describe()["window"]
    assert (said["by"], said["newest"], said["late"]) == ("time", "1970-01-01T00:01:50.000Z", 0)
    assert (
        roads.insert([1, 1], [6, 7], time=[120, None], batch=Batch("nightly", second.number + 1)).rejected
        == 1
    )


def test_the_order_of_a_numbered_batch_takes_its_times_along(served, monkeypatch):
    monkeypatch.setattr("tornado.client.columns.ROWS_A_BODY", 1)
    paths, roads = served
    assert roads.insert([1, 1, 1], [2, 3, 4], time=[100, 5, 110], batch=Batch("nightly", 0)).accepted == 3
    assert roads.describe()["window"]["late"] == 1
    assert left_in(paths) == {1: 0.0, 2: 1.0, 4: 1.0}


def test_a_batch_of_which_a_chunk_has_no_times_is_refused_before_the_window_goes_by_any(served, monkeypatch):
    """What one chunk lacks is known when all are there, where nothing of the batch can be rejected any more."""
    monkeypatch.setattr("tornado.client.columns.ROWS_A_BODY", 1)
    paths, roads = served
    with pytest.raises(Refused, match=r"record 0 \(1 -> 2.*client:nightly: it has no time.*Give each record"):
        roads.insert([1, 1], [2, 3], time=[None, 90], batch=Batch("nightly", 0))
    assert paths.query().snapshot.offsets == {}
    assert roads.insert([1], [3], time=[90], batch=Batch("nightly", 0)).accepted == 1
    assert roads.insert([1, 1], [4, 5], time=[None, 95], batch=Batch("nightly", 1)).rejected == 1
    assert left_in(paths) == {1: 0.0, 3: 1.0, 5: 1.0}
