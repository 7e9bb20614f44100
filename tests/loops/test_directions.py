"""Whether a stream is undirected is said by its first start that has records, and stays so."""

import pytest

from apps.sssp import ShortestPaths
from tornado.errors import InvalidArgument
from tornado.loops import Master
from tornado.records.edge_batch import EdgeBatch
from tornado.records.window_width import WindowWidth
from tornado.storage import MemoryStore

BOTH_WAYS = EdgeBatch.of([1, 2], [2, 1])


def started(master, **options):
    return master.start(ShortestPaths(source=1), "roads", **options)


@pytest.mark.parametrize("was", [True, False])
@pytest.mark.parametrize(
    ("has_snapshot", "window"), [(True, None), (False, None), (False, WindowWidth.of("4"))]
)
def test_a_stream_with_records_goes_on_as_it_began(was, has_snapshot, window):
    store = MemoryStore()
    with Master(store) as master:
        loop = started(master, is_undirected=was, window=window)
        loop.admit(BOTH_WAYS, "edges", 2)
        if has_snapshot:
            loop.checkpoint()
    with Master(store) as master:
        with pytest.raises(InvalidArgument, match="has records that came as") as refused:
            started(master, is_undirected=not was, window=window)
        assert ("with --undirected" in str(refused.value)) is was
        assert started(master, is_undirected=was, window=window).stream.is_undirected is was


def test_before_the_first_record_either_will_do():
    store = MemoryStore()
    for wanted in (True, False, True):
        with Master(store) as master:
            assert started(master, is_undirected=wanted).stream.is_undirected is wanted


def test_of_what_an_older_store_has_it_is_not_known():
    store = MemoryStore()
    with Master(store) as master:
        started(master).admit(BOTH_WAYS, "edges", 2)
    store.drop("roads/undirected")
    for wanted in (True, False):
        with Master(store) as master:
            assert not started(master, is_undirected=wanted).stream.is_undirected
