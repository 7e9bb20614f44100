"""Whoever looks after a stream is told why nothing of it is logged: a write failed, or does not come to its end."""

import threading

import pytest

from apps.sssp import ShortestPaths
from tests.kept_store import Away, KeptStore
from tests.promised import eventually
from tornado.clock import ManualClock
from tornado.errors import InvalidArgument, StoreFull, StoreUnreachable
from tornado.loops import log_watch
from tornado.loops.log_watch import SLOW_S, LogWatch
from tornado.loops.master import Master
from tornado.records.edge_batch import EdgeBatch

WAIT_S = 20


class Frozen(KeptStore):
    """A store whose writes of the log wait until they are let go on."""

    def __init__(self):
        super().__init__()
        self.goes_on = threading.Event()
        self.goes_on.set()

    def write(self, loop, *arguments, **options):
        if "/log" in loop:
            assert self.goes_on.wait(WAIT_S)
        super().write(loop, *arguments, **options)


def test_a_write_that_takes_long_is_a_fault_until_it_is_done():
    clock = ManualClock()
    watch = LogWatch(clock)
    with watch:
        clock.advance(SLOW_S)
        assert watch.fault is None
        clock.advance(1)
        assert "has taken 11 s so far" in str(watch.fault)
    assert watch.fault is None


def test_what_failed_is_a_fault_until_something_is_logged_and_what_was_refused_is_none():
    watch = LogWatch(ManualClock())
    full = StoreFull("the disk is full")
    with pytest.raises(StoreFull), watch:
        raise full
    with pytest.raises(InvalidArgument), watch:
        raise InvalidArgument("no such record")
    assert watch.fault is full
    with watch:
        pass
    assert watch.fault is None


def test_a_stream_says_that_its_store_hangs_or_fails(monkeypatch):
    monkeypatch.setattr(log_watch, "SLOW_S", 0.05)
    store = Frozen()
    with Master(store, 1) as master:
        loop = master.start(ShortestPaths(source=0), "roads")
        store.goes_on.clear()
        push = threading.Thread(target=loop.admit, args=(EdgeBatch.of([0], [1]), "insert", 1))
        push.start()
        try:
            eventually(lambda: loop.stream.not_logged is not None)
            assert "a write of the log has taken" in str(loop.stream.not_logged)
        finally:
            store.goes_on.set()
            push.join()
        assert loop.stream.not_logged is None
    store = Away()
    with Master(store, 1) as master:
        loop = master.start(ShortestPaths(source=0), "roads")
        loop.admit(EdgeBatch.of([0], [1]), "insert", 1)  # which reserves numbers
        store.away_for = 1
        with pytest.raises(StoreUnreachable):
            loop.admit(EdgeBatch.of([1], [2]), "insert", 2)
        assert "nobody answers" in str(loop.stream.not_logged)
        loop.admit(EdgeBatch.of([1], [2]), "insert", 2)
        assert loop.stream.not_logged is None
