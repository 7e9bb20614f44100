"""Results that are kept outside: what changed, when it is written, and what becomes of a table that cannot be had for a while."""

import json
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tornado
from apps.bfs import BreadthFirstSearch
from apps.connected_components import ConnectedComponents
from apps.sssp import ShortestPaths
from tests.query.conftest import eventually
from tornado.errors import StoreLocked, StoreUnreachable
from tornado.query import kept_results
from tornado.query.kept_results import AnsweredRows, KeptResults

VALUES = st.sampled_from([0.0, -0.0, 1.5, float("inf"), float("nan")])
ROWS = st.dictionaries(st.integers(-5, 12), VALUES, max_size=12)


def columns(rows):
    ids = sorted(rows)
    return AnsweredRows(np.array(ids, np.int64), np.array([rows[one] for one in ids], np.float64))


@given(ROWS, ROWS)
def test_what_changed_is_what_a_plain_comparison_of_the_bits_says(before, after):
    changed, gone = columns(after).changed_since(columns(before))
    bits = {one: np.float64(value).tobytes() for one, value in before.items()}
    expected = [bits.get(one) != np.float64(after[one]).tobytes() for one in sorted(after)]
    assert changed.tolist() == expected
    assert gone.tolist() == sorted(before.keys() - after.keys())


class Kept:
    """A table in memory, by the contract of `PostgresResults`; fails as often as it is told to."""

    label = "postgresql://ann@host/loops/paths"

    def __init__(self):
        self.rows, self.notes, self.failures = {}, [], []
        self.is_anew, self.is_closed, self.has_become_another = True, False, False

    def open(self):
        if self.has_become_another:
            self.has_become_another, self.is_anew = False, True
        if self.failures and self.failures[0] is not None:
            self.is_anew = True
            raise self.failures.pop(0)

    def renew(self, changed, removed, of):
        self.open()
        if self.failures:  # the transaction took place, and nobody heard of it
            self.failures.pop(0)
            self._write(changed, removed)
            self.is_anew = True
            raise StoreUnreachable("cut off behind the commit")
        before = dict(self.rows)
        changes = self._write(changed, removed)
        self.notes.append((of, changes, self.is_anew))
        self.is_anew = False
        return sum(before.get(one) != self.rows.get(one) for one in before | self.rows)

    def compare_all(self):
        self.is_anew = True

    def _write(self, changed, removed):
        lines = b"".join(changed).decode().splitlines()
        put = dict(line.split(",") for line in lines)
        if self.is_anew:
            self.rows = {}
        self.rows |= put
        for line in b"".join(removed).decode().splitlines():
            del self.rows[line.partition(",")[0]]
        return put

    def close(self):
        self.is_closed = True


@pytest.fixture
def table():
    return Kept()


@pytest.fixture
def session(compiled_paths):
    with tornado.open("memory:", workers=1) as session:
        yield session


@pytest.fixture
def paths(session):
    handle = session.start(ShortestPaths(source=1), "paths")
    handle.insert([1, 2, 5], [2, 3, 6], [1.0, 2.0, 1.0])
    return handle


@pytest.fixture
def keep(paths, table, monkeypatch):
    monkeypatch.setattr(kept_results, "REST_S", 0.0)
    monkeypatch.setattr(kept_results, "_FIRST_PAUSE_S", 0.001)
    begun = []

    def keep(**options):
        kept = KeptResults(paths._service, paths.loop, table, **options)
        begun.append(kept)
        kept.start()
        return kept

    yield keep
    for kept in begun:
        kept.close()


def test_each_checkpoint_is_followed_by_what_changed(paths, table, keep):
    kept = keep()
    kept.settle(60)
    assert (table.rows, kept.statistics().renewed) == ({}, 0)  # no checkpoint was there yet
    version = paths.checkpoint()
    kept.settle(60)
    assert table.rows == {"1": "0.0", "2": "1.0", "3": "3.0", "5": "", "6": ""}
    (note, _, was_anew) = table.notes[-1]
    assert (note.version, note.vertices, was_anew) == (version, 5, True)
    assert (note.loop, note.stream) == ("paths", "paths")
    assert json.loads(note.offsets) == {"insert": 3}
    assert json.loads(note.certificate) == {"kind": "exact"}
    paths.insert([3], [5], [1.0])
    paths.checkpoint()
    kept.settle(60)
    assert table.notes[-1][1:] == ({"5": "4.0", "6": "5.0"}, False)
    statistics = kept.statistics()
    assert (statistics.renewed, statistics.failed, statistics.rows, statistics.changes) == (2, 0, 5, 7)
    # Nothing new has come.
    paths.checkpoint()
    kept.settle(60)
    assert kept.statistics().renewed == 2


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (ShortestPaths(source="a\0b"), {"Bern": "1.0", "Rome": "2.0"}),
        (ConnectedComponents(), {"Bern": "a\ufffdb", "Rome": "a\ufffdb"}),
    ],
)
def test_a_name_that_is_no_text_for_the_server_or_too_long_for_its_index_has_no_row_and_holds_up_no_other(
    session, table, program, expected
):
    handle = session.start(program, "towns", ids="string")
    handle.insert(["a\0b"], ["Bern"])
    handle.checkpoint()
    kept = KeptResults(handle._service, handle.loop, table)
    kept.start()
    kept.settle(60)
    handle.insert(["Bern", "Bern"], ["Rome", "c\0"])
    handle.insert(["Bern"], ["ü" * 1301])
    handle.checkpoint()
    kept.settle(60)
    kept.close()
    assert table.rows == expected
    assert kept.statistics().rows == 2


def test_what_somebody_else_has_changed_is_put_right_and_told(paths, table, keep, monkeypatch):
    told = []
    kept = keep(on_failure=told.append)

    def renewed(dst, compared_s):
        monkeypatch.setattr(kept_results, "COMPARED_S", compared_s)
        paths.insert([3], [dst], [1.0])
        paths.checkpoint()
        kept.settle(60)
        return table.rows["2"], "3" in table.rows, table.rows.get("99")

    assert renewed(7, 600.0) == ("1.0", True, None)
    table.rows |= {"2": "0.5", "99": "0.0"}
    del table.rows["3"]
    assert renewed(8, 600.0) == ("0.5", False, "0.0")  # nobody looks
    assert not told
    assert renewed(9, 0.0) == ("1.0", True, None)
    eventually(lambda: len(told) == 1)
    assert "somebody else has changed the table postgresql://ann@host/loops/paths: 4 rows" in str(told[0])
    assert renewed(10, 0.0) == ("1.0", True, None)
    assert (len(told), kept.statistics().failed, kept.statistics().last_error) == (1, 0, None)


@pytest.mark.parametrize("is_emptied", [True, False])
def test_a_table_that_has_become_another_one_gets_all_rows_at_once_and_it_is_told_where_some_were_missing(
    paths, table, keep, is_emptied
):
    told = []
    kept = keep(on_failure=told.append)
    paths.checkpoint()
    kept.settle(60)
    table.has_become_another = True
    if is_emptied:
        table.rows = {}
    paths.insert([3], [7], [1.0])
    paths.checkpoint()
    kept.settle(60)
    assert table.rows == {"1": "0.0", "2": "1.0", "3": "3.0", "5": "", "6": "", "7": "4.0"}
    assert table.notes[-1][2]
    if is_emptied:
        eventually(lambda: len(told) == 1)
        assert "somebody else has changed the table" in str(told[0])
        assert "6 rows were not as the newest answer has them, where 1 had changed" in str(told[0])
    assert not (told and not is_emptied)
    assert (kept.statistics().renewed, kept.statistics().failed) == (2, 0)


def test_a_table_that_cannot_be_had_is_tried_again_and_reported_once_a_reason(paths, table, keep):
    told = []
    away, locked = StoreUnreachable("away"), StoreLocked("locked")
    table.failures = [away, away, away, locked, locked, None]
    kept = keep(on_failure=told.append)
    paths.checkpoint()
    eventually(lambda: kept.statistics().renewed == 1)
    assert [str(error).split(".")[0] for error in told] == ["away", "locked", "cut off behind the commit"]
    assert (kept.statistics().failed, kept.statistics().last_error) == (6, None)
    assert table.notes[-1][2]  # of all rows: nobody knew what was there
    assert table.rows["3"] == "3.0"
    table.failures = [away]
    paths.insert([3], [4], [1.0])
    paths.checkpoint()
    eventually(lambda: kept.statistics().renewed == 2)
    assert told[-1] is away  # again, since it was well meanwhile
    assert table.notes[-1][1]["2"] == "1.0"


def test_whoever_waits_hears_why_it_was_not_renewed(paths, table, keep, monkeypatch):
    monkeypatch.setattr(kept_results, "_FIRST_PAUSE_S", 600.0)
    kept = keep(on_failure=lambda _: None)
    table.failures = [StoreUnreachable("away")]
    begun = threading.Event()
    table.open = lambda opens=table.open: (begun.wait(60), opens())
    paths.checkpoint()
    threading.Timer(0.05, begun.set).start()
    with pytest.raises(StoreUnreachable, match="away"):
        kept.settle(60)
    with pytest.raises(StoreUnreachable, match="away"):
        kept.settle(0.01)


def test_a_table_that_would_not_be_had_later_is_refused_at_once(paths, table, keep):
    table.failures = [StoreLocked("wrong password")]
    with pytest.raises(StoreLocked):
        keep()
    assert paths._service.served(paths.loop).results == {}


def test_what_is_not_exact_is_not_written(paths, table, keep, monkeypatch):
    kept = keep(on_failure=lambda _: None)
    paths.checkpoint()
    kept.settle(60)
    service = paths._service
    submit = service.submit
    monkeypatch.setattr(
        service, "submit", lambda asked: submit(replace(asked, parameters={"source": 2}, max_iterations=1))
    )
    paths.insert([3], [4], [1.0])
    paths.checkpoint()
    eventually(lambda: kept.statistics().failed)
    assert "has no exact answer, its query ended as deadline" in kept.statistics().last_error
    assert "4" not in table.rows
    monkeypatch.setattr(service, "submit", submit)
    eventually(lambda: kept.statistics().renewed == 2)
    assert table.rows["4"] == "4.0"


def test_a_loop_that_was_removed_is_asked_no_more_nor_another_of_its_name(session, paths, table, keep):
    hops = session.start(BreadthFirstSearch(source=1), "hops", stream="paths")
    kept = keep()
    paths.checkpoint()
    kept.settle(60)
    served = session.service.served(hops.loop)
    assert served.results.keys() == {"paths"}
    session.remove("paths")
    assert served.results == {}
    session.start(ShortestPaths(source=2), "paths", stream="paths").insert([3], [4], [1.0])
    hops.checkpoint()
    eventually(lambda: table.is_closed)
    kept.settle(60)  # it ended in order
    assert (kept.statistics().renewed, "4" in table.rows) == (1, False)


def test_it_ends_while_it_waits_for_an_answer(session, paths, table, keep, monkeypatch):
    asked = threading.Event()
    submit = session.service.submit

    def submit_for_later(request):
        asked.set()
        return submit(replace(request, min_offsets={"http": 1}, deadline_s=600))

    monkeypatch.setattr(session.service, "submit", submit_for_later)
    kept = keep()
    paths.checkpoint()
    assert asked.wait(60)
    begun_s = time.monotonic()
    kept.close()
    assert time.monotonic() - begun_s < 20
    assert table.is_closed
    assert kept.statistics().failed == 0
    assert session.service.queries() == []
