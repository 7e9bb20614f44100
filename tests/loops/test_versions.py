"""A version names one prefix of the input for ever, whatever was lost after it was given."""

import threading

import pytest

from apps.sssp import ShortestPaths
from tests.kept_store import KeptStore
from tests.loops.test_general_programs import Paths
from tornado import EdgeBatch
from tornado.errors import ConnectionLost, StoreFull
from tornado.loops import Master
from tornado.loops.version_numbers import BLOCK, VersionNumbers
from tornado.records.window_width import WindowWidth
from tornado.storage import MemoryStore, open_store

NAME = "roads"
LINE = "roads/versions"


class FullStore(MemoryStore):
    """Writes nothing while it is full."""

    is_full = False

    def write(self, *arguments, **options):
        if self.is_full:
            raise StoreFull("no room")
        super().write(*arguments, **options)


@pytest.fixture(params=["memory", "lmdb"])
def reopen(request, tmp_path):
    """Open the same store again and again; what is durable is closed in between."""
    opened = []

    def again():
        if request.param == "memory":
            opened[:] = opened or [MemoryStore()]
        else:
            for store in opened:
                store.close()
            opened[:] = [open_store(f"lmdb://{tmp_path}/store")]
        return opened[0]

    yield again
    for store in opened:
        store.close()


def edge(target):
    return EdgeBatch.of([1], [target])


def named(loop):
    """What an answer of now says: its version, and the prefix that this stands for."""
    snapshot = loop.fork().snapshot
    statistics = loop.statistics()
    assert (statistics.version, statistics.sources) == (snapshot.version, snapshot.offsets)
    return snapshot.version, snapshot.offsets


def test_an_offset_that_moves_alone_makes_a_version_and_one_that_stays_makes_none(compiled_paths):
    with Master(MemoryStore()) as master:
        loop = master.start(ShortestPaths(source=1), NAME)
        assert loop.admit(edge(2), "http", 1) == 1
        before = named(loop)
        moved = loop.advance("http", 3)
        assert (before, named(loop)) == ((1, {"http": 1}), (moved, {"http": 3}))
        assert moved > 1
        assert loop.advance("http", 3) == moved
        stored = loop.checkpoint()
        assert loop.snapshots()[-1].offsets == {"http": 3}
        assert (stored, loop.checkpoint()) == (moved, moved)
        assert loop.advance("edges.csv", 7) == loop.checkpoint() > moved


@pytest.mark.parametrize("program", [ShortestPaths(source=1), Paths(source=1)], ids=["selective", "general"])
def test_versions_that_were_given_and_lost_are_not_given_again(reopen, program, compiled_paths):
    meanings = {}

    def note(loop):
        version, offsets = named(loop)
        assert meanings.setdefault(version, offsets) == offsets

    # What is read first after a start differs, as it does among several sources.
    for sources in (["a", "b", "a"], ["b", "b", "a"], ["a", "a", "a"]):
        with Master(reopen()) as master:
            loop = master.start(program, NAME)
            note(loop)
            for step, source in enumerate(sources):
                offset = loop.offsets().get(source, 0)
                if step == 1:
                    loop.advance(source, offset + 5)
                else:
                    loop.admit(edge(2), source, offset + 1)
                note(loop)
                if step == 0 and isinstance(program, ShortestPaths):
                    loop.checkpoint()  # the newest ones are in none
    assert len(meanings) == 10


def test_a_start_without_new_input_keeps_the_version_of_its_snapshot(reopen, compiled_paths):
    with Master(reopen()) as master:
        loop = master.start(ShortestPaths(source=1), NAME)
        loop.admit(edge(2), "http", 1)
        version = loop.checkpoint()
    with Master(reopen()) as master:
        loop = master.start(ShortestPaths(source=1), NAME)
        assert named(loop) == (version, {"http": 1})
        assert loop.checkpoint() == version
        assert loop.fork(at=version).snapshot.version == version
        assert loop.admit(edge(9), "http", 2) > version + 1
    with Master(reopen()) as master:
        # Other values on the same prefix: the version of what is stored stays what it is.
        loop = master.start(ShortestPaths(source=2), NAME)
        assert named(loop)[0] > BLOCK


def test_numbers_are_reserved_before_they_are_given_and_seldom():
    store = MemoryStore()
    numbers = VersionNumbers(store, NAME)
    assert store.loops() == []
    for number in range(1, 1000):
        numbers.prepare()
        assert numbers.take() == number
    assert store.versions(LINE) == [BLOCK]
    again = VersionNumbers(store, NAME)
    assert again.take() == BLOCK + 1
    for start in range(2, 6):
        assert VersionNumbers(store, NAME).take() == start * BLOCK + 1
    assert len(store.versions(LINE)) <= 2


def test_the_next_numbers_are_reserved_on_a_thread_of_their_own_before_these_are_used_up():
    asked = threading.Event()
    by = []

    class WatchedStore(MemoryStore):
        def write(self, *arguments, **options):
            by.append(threading.current_thread())
            super().write(*arguments, **options)
            asked.set()

    numbers = VersionNumbers(WatchedStore(), NAME)
    numbers.prepare()
    for _ in range(BLOCK // 2):
        numbers.take()
    asked.clear()
    numbers.prepare()
    assert not asked.wait(0.05)
    numbers.take()
    numbers.prepare()
    assert asked.wait(10)
    assert [thread is threading.current_thread() for thread in by] == [True, False]
    taken = {numbers.take() for _ in range(BLOCK)}
    assert (min(taken), max(taken)) == (BLOCK // 2 + 2, BLOCK // 2 + 1 + BLOCK)


def test_a_store_that_cannot_reserve_refuses_a_batch_and_nothing_of_it_is_in(compiled_paths):
    store = FullStore()
    store.is_full = True
    with Master(store) as master:
        loop = master.start(ShortestPaths(source=1), NAME)
        for refused in (lambda: loop.admit(edge(2), "http", 1), lambda: loop.advance("http", 1)):
            with pytest.raises(StoreFull):
                refused()
        assert named(loop) == (0, {})
        assert loop.statistics().admitted == 0
        store.is_full = False
        assert loop.admit(edge(2), "http", 1) == 1
        store.is_full = True  # there are numbers for long
        assert loop.advance("http", 2) == 2


@pytest.mark.parametrize("window", [None, WindowWidth.of("5")])
def test_a_stream_that_has_ended_writes_nothing_to_the_log_that_the_next_one_goes_on_with(
    window, compiled_paths
):
    store = KeptStore()
    with Master(store) as master:
        loop = master.start(ShortestPaths(source=1), NAME, window=window)
        loop.admit(edge(2), "http", 1)
        ended = loop.stream
        master.remove(NAME)
        loop = master.start(ShortestPaths(source=1), NAME, window=window)
        for late in (lambda: ended.advance("edges.csv", 5), ended.expire):
            with pytest.raises(ConnectionLost, match="nothing was admitted"):
                late()
        loop.admit(edge(3), "http", 2)
        version = loop.stream.counts()[0]
    with Master(store) as master:
        loop = master.start(ShortestPaths(source=1), NAME, window=window)
        assert named(loop) == (version, {"http": 2} | ({} if window is None else {"window": 0}))


def test_what_was_let_in_before_the_end_of_a_stream_is_logged_when_that_is_removed(compiled_paths):
    store, logging, ended = KeptStore(), threading.Event(), threading.Event()
    with Master(store) as master:
        loop = master.start(ShortestPaths(source=1), NAME)

        def wait():
            logging.set()
            ended.wait(0.5)

        loop.stream.before_logging = wait
        thread = threading.Thread(target=loop.admit, args=(edge(2), "http", 1))
        thread.start()
        assert logging.wait(10)
        master.remove(NAME)
        assert store.versions(f"{NAME}/log") == [1]
        ended.set()
        thread.join()


def test_a_store_from_before_numbers_were_reserved_is_gone_on_from_far_above():
    store = MemoryStore()
    store.write(f"{NAME}/names", 0, {})
    store.write("other", 7, {})
    assert VersionNumbers(store, NAME).take() == 1  # names alone are of a loop that begins
    store.drop(LINE)
    store.write(NAME, 12, {})
    assert VersionNumbers(store, NAME).take() == 12 + BLOCK + 1
    store = MemoryStore()
    store.write(f"{NAME}/pushed/http", 3, {})
    assert VersionNumbers(store, NAME).take() == BLOCK + 1
