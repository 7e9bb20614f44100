"""What a start says of the directions of a stream that was started in another way before."""

import pytest

from apps.sssp import ShortestPaths
from tests.kept_store import KeptStore
from tornado.loops.master import Master
from tornado.records.edge_batch import EdgeBatch


@pytest.mark.parametrize(
    ("starts", "warned"),
    [
        ((False, False, False), []),
        ((True, True, True), []),
        ((True, False, False), [1]),
        ((False, True, True), [1]),
        ((True, False, True, True, False), [1, 2, 4]),
        ((False, True, False, True), [1, 2, 3]),
    ],
)
def test_a_start_that_takes_records_another_way_than_before_says_so(starts, warned, caplog):
    store = KeptStore()
    said = []
    for number, is_undirected in enumerate(starts):
        caplog.clear()
        with Master(store, 1) as master:
            loop = master.start(ShortestPaths(source=0), "roads", is_undirected=is_undirected)
            loop.admit(EdgeBatch.of([0], [number + 1]), "insert", number + 1)
        before, now = ("directed", "undirected") if is_undirected else ("undirected", "directed")
        if (
            f"stream roads was started as {before} before: records that come from now on are {now}"
            in caplog.text
        ):
            said.append(number)
    assert said == warned


def test_a_stream_without_records_may_begin_in_any_way(caplog):
    store = KeptStore()
    for is_undirected in (False, True, False):
        with Master(store, 1) as master:
            loop = master.start(ShortestPaths(source=0), "roads", is_undirected=is_undirected)
            assert loop.stream.is_undirected is is_undirected
    assert "stream roads was started" not in caplog.text
