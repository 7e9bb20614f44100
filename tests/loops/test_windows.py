"""Windows of streams: a plain model, one record at a time, has the same edges at every version, also after a restart."""

import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from math import inf

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from apps.sssp import ShortestPaths
from tests.kept_store import Away, KeptStore
from tornado.clock import ManualClock
from tornado.errors import InvalidArgument, NotSupported, StoreError, StoreFull, StoreUnreachable
from tornado.loops import window as window_module
from tornado.loops.admission_log import AdmissionLog, LogEntry
from tornado.loops.group_commit import Admission
from tornado.loops.master import Master
from tornado.records.edge_batch import EdgeBatch
from tornado.records.operations import INSERT, REMOVE, REPLACE
from tornado.records.point_schema import Points
from tornado.records.timed_edges import NO_TIME, TimedEdges
from tornado.records.window_width import WindowWidth
from tornado.storage import MemoryStore

NAN = float("nan")
RECORDS = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.integers(0, 1),
        st.sampled_from([1.0, 2.0]),
        st.sampled_from([INSERT] * 5 + [REMOVE] * 3 + [REPLACE, 0]),  # 0: a removal of any weight
        st.integers(-4, 8),
    ),
    min_size=10,
    max_size=60,
)
BATCHES = st.lists(st.integers(1, 6), min_size=1, max_size=12)
# Two removals of any weight in one batch: each takes an insertion of its own.
TWO_AND_TWO = [(0, 1, 1.0, INSERT, 0), (0, 1, 2.0, INSERT, 0), (0, 1, 1.0, 0, 0), (0, 1, 1.0, 0, 0)]


class PlainWindow:
    """The definition: a list of the insertions that are in the window, oldest first."""

    def __init__(self, width, *, counts):
        self.width, self.counts = width, counts
        self.inside, self.newest, self.cutoff, self.late, self.left = [], None, None, 0, 0

    def take(self, src, dst, weight, op, time):
        if self.counts:
            time = (self.newest or 0) + (op in (INSERT, REPLACE))
        newest = time if self.newest is None else max(self.newest, time)
        self.newest = newest
        self.cutoff = newest - self.width if self.cutoff is None else max(self.cutoff, newest - self.width)
        stay = [one for one in self.inside if one[3] > self.cutoff]
        self.left += len(self.inside) - len(stay)
        self.inside = stay
        if time <= self.cutoff and not (self.counts and op not in (INSERT, REPLACE)):
            self.late += 1
            return
        same = [one for one in self.inside if one[:2] == (src, dst)]
        if op == INSERT:
            self.inside.append((src, dst, weight, time))
        elif op == REPLACE:
            self.inside = [one for one in self.inside if one not in same]
            self.inside.append((src, dst, weight, time))
        else:
            matching = [one for one in same if op == 0 or one[2] == weight]
            if matching:
                self.inside.remove(matching[0])

    def edges(self):
        return Counter(one[:3] for one in self.inside)


def batch_of(records, *, timed):
    columns = list(zip(*records, strict=True))
    op = np.array([REMOVE if code == 0 else code for code in columns[3]], np.int8)
    weight = np.array([NAN if code == 0 else w for w, code in zip(columns[2], columns[3], strict=True)])
    batch = EdgeBatch(np.array(columns[0], np.int64), np.array(columns[1], np.int64), weight, op)
    return TimedEdges.at(batch, np.array(columns[4], np.int64)) if timed else batch


def edges_of(loop):
    branch = loop.fork(reads_edges=True)
    try:
        assert branch.wait(20)
        found = Counter()
        for page in branch.edges():
            found.update(
                zip(page.sources.tolist(), page.targets.tolist(), page.weights.tolist(), strict=True)
            )
        return found
    finally:
        branch.release()


def started(master, width, **options):
    return master.start(ShortestPaths(source=0), "roads", window=WindowWidth.of(width), **options)


def cut(records, sizes):
    at = 0
    for number in range(len(records)):
        size = sizes[number % len(sizes)]
        if at >= len(records):
            return
        yield records[at : at + size]
        at += size


@pytest.mark.parametrize("counts", [True, False])
@given(
    records=RECORDS,
    sizes=BATCHES,
    width=st.sampled_from([1, 2, 4, 8, 16]),
    restarts=st.sets(st.integers(0, 12)),
    workers=st.integers(1, 2),
)
@example(records=TWO_AND_TWO, sizes=[2], width=16, restarts=set(), workers=1)
@settings(deadline=None, max_examples=80)
def test_a_plain_model_has_the_same_edges_at_every_version(counts, records, sizes, width, restarts, workers):
    store, model = KeptStore(), PlainWindow(width, counts=counts)
    window = WindowWidth(width, counts)
    master = Master(store, workers)
    try:
        loop = master.start(ShortestPaths(source=0), "roads", window=window)
        offset = 0
        for number, part in enumerate(cut(records, sizes)):
            offset += len(part)
            for record in part:
                model.take(*record)
            loop.admit(batch_of(part, timed=not counts), "edges.csv", offset)
            assert edges_of(loop) == model.edges()
            assert loop.stream.offsets().get("window", 0) == model.left
            if number in restarts:
                if number % 2:
                    loop.checkpoint()
                    loop.stream.trim_snapshots(keep=1)
                version = loop.stream.counts()[0]
                master.close()
                master = Master(store, workers)
                loop = master.start(ShortestPaths(source=0), "roads", window=window)
                assert edges_of(loop) == model.edges()
                assert loop.stream.counts()[0] == version
        said = loop.stream.window.described()
        assert (said["late"], said["left"]) == (0 if counts else model.late, model.left)
    finally:
        master.close()


def arriving(loop, clock, *, src, after_s=0):
    clock.advance(after_s)
    return loop.admit(EdgeBatch.of([src], [9]), "http", loop.stream.offsets().get("http", 0) + 1)


def sources_of(loop):
    return sorted(edge[0] for edge in edges_of(loop))


def until(holds, seconds=20):
    for _ in range(int(seconds / 0.05)):
        if holds():
            return True
        time.sleep(0.05)
    return False


def test_edges_leave_by_their_arrival_also_while_nothing_comes_and_after_a_restart():
    clock, store = ManualClock(), KeptStore()
    with Master(store, 1, clock=clock) as master:
        loop = started(master, "10s")
        arriving(loop, clock, src=1)
        arriving(loop, clock, src=2, after_s=6)
        clock.advance(5)
        assert until(lambda: sources_of(loop) == [2])
        assert loop.stream.offsets() == {"http": 2, "window": 1}
    clock.advance(60)
    with Master(store, 1, clock=clock) as master:
        loop = started(master, "10s")
        assert sources_of(loop) == []
        assert loop.stream.offsets() == {"http": 2, "window": 2}


def test_edges_leave_when_the_store_takes_them_again_and_it_is_said_once_why_they_have_not(
    monkeypatch, caplog
):
    clock, failures = ManualClock(), []
    with Master(KeptStore(), 1, clock=clock) as master:
        loop = started(master, "10s")
        arriving(loop, clock, src=1)
        append = AdmissionLog.append

        def fail(*_, **__):
            failures.append(None)
            raise StoreFull("no room") if len(failures) < 4 else StoreError("out of order")

        monkeypatch.setattr(AdmissionLog, "append", fail)
        clock.advance(11)
        assert until(lambda: clock.advance(1) or len(failures) > 6)
        monkeypatch.setattr(AdmissionLog, "append", append)
        assert until(lambda: clock.advance(1) or sources_of(loop) == [])
        assert loop.stream.offsets() == {"http": 1, "window": 1}
    said = [record.message for record in caplog.records if "beyond their time" in record.message]
    assert ["no room" in one for one in said] == [True, False]


def test_who_asks_what_is_due_while_it_leaves_hears_that_nothing_is():
    class Leaving(list):
        def __getitem__(self, place):
            raise IndexError  # it was there a moment ago

    clock = ManualClock()
    with Master(MemoryStore(), 1, clock=clock) as master:
        loop = started(master, "10s")
        arriving(loop, clock, src=1)
        window = loop.stream.window
        assert window.due_in_s() == 10.0
        due, window._due = window._due, Leaving(window._due)
        assert window.due_in_s() is None
        window._due = due


class Jumping(ManualClock):
    """A clock whose calendar can be put back, as an administrator would."""

    behind = timedelta(0)

    def now(self):
        return super().now() - self.behind


def test_a_clock_that_jumps_back_brings_nothing_back_and_makes_nothing_late():
    clock, store = Jumping(), KeptStore()
    with Master(store, 1, clock=clock) as master:
        loop = started(master, "10s")
        arriving(loop, clock, src=1)
        clock.behind = timedelta(days=3)
        arriving(loop, clock, src=2, after_s=1)
        assert sources_of(loop) == [1, 2]
    with Master(store, 1, clock=clock) as master:
        loop = started(master, "10s")
        assert sources_of(loop) == [1, 2]
        arriving(loop, clock, src=3, after_s=1)
        clock.behind = timedelta(0)
        arriving(loop, clock, src=4, after_s=8.5)
        assert sources_of(loop) == [4]  # the others count as of when the first came
        assert loop.stream.offsets() == {"http": 4, "window": 3}
        assert loop.stream.window.described()["late"] == 0


def test_a_narrower_window_lets_more_leave_at_once_and_a_wider_one_brings_nothing_back():
    store = KeptStore()

    def edges_with(width, source=None):
        with Master(store, 1) as master:
            loop = started(master, width)
            if source is not None:
                loop.admit(EdgeBatch.of([source], [9]), "insert", source)
            found = sources_of(loop)
            # Each has left once, also one that a wider window would have had still.
            assert loop.stream.offsets()["insert"] - len(found) == loop.stream.offsets().get("window", 0)
            return found

    for source in range(1, 6):
        edges_with("4", source)
    assert edges_with("4") == [2, 3, 4, 5]
    assert edges_with("2") == [4, 5]
    assert edges_with("5") == [4, 5]
    assert [edges_with("5", source) for source in (6, 7, 8, 9)][-1] == [5, 6, 7, 8, 9]


def test_a_stream_keeps_the_kind_of_its_window():
    store = KeptStore()
    with Master(store, 1) as master:
        started(master, "5").admit(EdgeBatch.of([1], [2]), "insert", 1)
    for width in ("1h", None):
        with Master(store, 1) as master, pytest.raises(InvalidArgument, match="window"):
            master.start(ShortestPaths(source=0), "roads", window=width and WindowWidth.of(width))
    store = KeptStore()
    with Master(store, 1) as master:
        master.start(ShortestPaths(source=0), "roads").admit(EdgeBatch.of([1], [2]), "insert", 1)
    with Master(store, 1) as master, pytest.raises(InvalidArgument, match="kept without a window"):
        started(master, "5")


@pytest.mark.parametrize("width", ["2", "1h"])
def test_a_stream_that_ended_before_anything_came_goes_on_with_its_window(width):
    store = KeptStore()
    with Master(store, 1) as master:
        assert started(master, width).checkpoint() == 0
    for _ in range(2):
        with Master(store, 1) as master:
            loop = started(master, width)
            assert loop.wait_idle(30)
            loop.checkpoint()
    with Master(store, 1) as master:
        loop = started(master, width)
        loop.admit(EdgeBatch.of([0, 1, 2], [1, 2, 3]), "insert", 3)
        assert sources_of(loop) == ([1, 2] if width == "2" else [0, 1, 2])
        assert loop.checkpoint() > 0
    with Master(store, 1) as master:
        assert sources_of(started(master, width)) == ([1, 2] if width == "2" else [0, 1, 2])


@pytest.mark.parametrize("starts", [(False, True), (True, False, True), (True, False)])
def test_a_window_counts_what_comes_as_this_start_says_whatever_the_ones_before_it_said(starts):
    store = KeptStore()
    for number, is_undirected in enumerate(starts):
        with Master(store, 1) as master:
            loop = started(master, "3", is_undirected=is_undirected)
            assert loop.wait_idle(30)
            first = 10 * number
            for vertex in range(first, first + 4):
                ends = [vertex, vertex + 100]
                batch = (
                    EdgeBatch.of(ends, ends[::-1]) if is_undirected else EdgeBatch.of(*zip(ends, strict=True))
                )
                loop.admit(batch, "insert", vertex + 1)
            both = [100, 0] if is_undirected else [0]
            assert sources_of(loop) == sorted(
                vertex + end for vertex in range(first + 1, first + 4) for end in both
            )


@pytest.mark.parametrize("width", ["0", "0s", "9223372036854775807", "9" * 20, "106751991d", "9999999999w"])
def test_a_width_out_of_bounds_is_refused_with_the_bound(width):
    with pytest.raises(InvalidArgument, match=f"window is '{width}', but must be a number") as refused:
        WindowWidth.of(width)
    assert ("at most 2^61 records or microseconds (3812571w)" in str(refused.value)) is (
        not width.startswith("0")
    )


def test_the_widest_window_there_is_is_taken():
    assert (str(WindowWidth.of("3812571w")), WindowWidth.of(str(2**61)).amount) == ("3812571w", 2**61)


def test_points_are_refused():
    with Master(MemoryStore(), 1) as master, pytest.raises(NotSupported, match="window"):
        started(master, "5", points=Points(features=2))


def test_records_count_once_where_each_is_an_edge_in_both_directions():
    with Master(MemoryStore(), 1) as master:
        loop = started(master, "2", is_undirected=True)
        for batch in ([1, 2], [2, 1]), ([3], [3]), ([4, 5], [5, 4]):
            loop.admit(EdgeBatch.of(*batch), "insert", 1)
        assert sources_of(loop) == [3, 4, 5]


def test_a_group_that_cannot_be_logged_leaves_the_window_as_it_was(monkeypatch):
    with Master(KeptStore(), 1) as master:
        loop = started(master, "3")
        loop.admit(EdgeBatch.of([1, 2, 3], [9, 9, 9]), "insert", 3)
        window, floors = loop.stream.window, []
        floor, group_of = window.floor, window._group

        def fail(*_, **__):
            raise StoreFull("there is no room")

        def seen(group):
            floors.append(
                window.floor
            )  # as whoever stores a base sees it meanwhile, and lets go of what is below
            return group_of(group)

        monkeypatch.setattr(window, "_group", seen)
        with monkeypatch.context() as patched:
            patched.setattr(AdmissionLog, "append", fail)
            with pytest.raises(StoreFull):
                loop.admit(EdgeBatch.of([4, 1], [9, 9], None, np.array([1, -1], np.int8)), "insert", 5)
        assert sources_of(loop) == [1, 2, 3]
        loop.admit(EdgeBatch.of([5], [9]), "insert", 4)
        assert floors
        assert set(floors) == {floor}
        assert sources_of(loop) == [2, 3, 5]
        assert loop.stream.offsets() == {"insert": 4, "window": 1}


@pytest.mark.parametrize("attempts", [1, 3])
def test_a_store_that_is_away_for_readers_too_leaves_the_window_as_it_was(attempts):
    store, clock = Away(), ManualClock()
    with Master(store, 1, clock=clock) as master:
        counted = started(master, "3")
        timed = master.start(ShortestPaths(source=0), "lanes", window=WindowWidth.of("10s"))
        for loop in (counted, timed):
            loop.admit(EdgeBatch.of([1, 2, 3], [9, 9, 9]), "http", 3)
        store.away_for = inf
        for _ in range(attempts):
            for loop in (counted, timed):
                with pytest.raises(StoreUnreachable):
                    loop.admit(EdgeBatch.of([4, 2], [9, 9], None, np.array([1, -1], np.int8)), "http", 5)
                assert loop.stream.window.described()["left"] == 0
        store.away_for = 0
        counted.admit(EdgeBatch.of([5], [9]), "http", 4)
        assert sources_of(counted) == [2, 3, 5]
        assert counted.stream.offsets() == {"http": 4, "window": 1}
        assert sources_of(timed) == [1, 2, 3]
        assert until(lambda: clock.advance(4) or sources_of(timed) == [])
        assert timed.stream.offsets() == {"http": 3, "window": 3}


@pytest.mark.parametrize("before", [0, 1])
def test_a_window_that_cannot_read_what_leaves_is_as_it_was(before, monkeypatch):
    monkeypatch.setattr(window_module, "_CACHED_RECORDS", 0)
    store = Away()
    with Master(store, 1) as master:
        loop = started(master, "3")
        for src in (1, 2, 3):
            loop.admit(EdgeBatch.of([src], [9]), "http", src)
        store.away_for = inf
        batches = [EdgeBatch.mentions(np.array([7]))] * before + [EdgeBatch.of([4], [9])]
        group = [Admission(LogEntry(0, "http", 4, batch), (), []) for batch in batches]  # come at one time
        with pytest.raises(StoreUnreachable):
            loop.stream._sequence(group)
        store.away_for = 0
        for offset, src, left in ((4, 5, [2, 3, 5]), (5, 6, [3, 5, 6])):
            loop.admit(EdgeBatch.of([src], [9]), "http", offset)
            assert sources_of(loop) == left
        assert loop.stream.offsets() == {"http": 5, "window": 2}


def test_groups_that_were_let_go_of_without_anybody_hearing_of_it_are_not_looked_for(monkeypatch):
    store = Away()
    with Master(store, 1) as master:
        loop = started(master, "3")
        for src in range(1, 9):
            loop.admit(EdgeBatch.of([src], [9]), "http", src)
        loop.checkpoint()
        delete_before = store.delete_before

        def unheard(*arguments):
            delete_before(*arguments)
            raise StoreUnreachable("nobody answers")

        with monkeypatch.context() as patched:
            patched.setattr(store, "delete_before", unheard)
            with pytest.raises(StoreUnreachable):
                loop.stream.trim_snapshots(keep=1)
        store.away_for = inf
        with pytest.raises(StoreUnreachable):
            loop.admit(EdgeBatch.of([9], [9]), "http", 9)
        store.away_for = 0
        loop.admit(EdgeBatch.of([10], [9]), "http", 9)
        assert sources_of(loop) == [7, 8, 10]


def test_a_log_in_memory_is_as_long_as_the_window():
    store = MemoryStore()
    with Master(store, 1) as master:
        loop = started(master, "20")
        for number in range(600):
            loop.admit(EdgeBatch.of([number], [9]), "insert", number + 1)
        assert len(store.versions("roads/log")) < 200
        assert sources_of(loop) == list(range(580, 600))


def test_records_without_times_are_refused_where_others_have_them():
    with Master(MemoryStore(), 1) as master:
        loop = started(master, "10s")
        loop.admit(TimedEdges.at(EdgeBatch.of([1], [2]), np.array([5])), "edges.csv", 1)
        assert loop.check(EdgeBatch.of([1], [2])).refused.tolist() == [True]
        untimed = TimedEdges.at(EdgeBatch.of([1, 1], [2, 2]), np.array([5, NO_TIME]))
        assert loop.check(untimed).refused.tolist() == [False, True]
        with pytest.raises(InvalidArgument, match="has no time"):
            loop.admit(EdgeBatch.of([1], [2]), "insert", 1)


def test_what_is_said_of_a_window_names_its_newest_time():
    with Master(MemoryStore(), 1) as master:
        loop = started(master, "10s")
        assert loop.stream.window.described()["newest"] is None
        instant = int(datetime(2026, 1, 31, 12, tzinfo=UTC).timestamp()) * 1_000_000
        loop.admit(TimedEdges.at(EdgeBatch.of([1], [2]), np.array([instant])), "edges.csv", 1)
        assert loop.stream.window.described() == {
            "width": "10s",
            "by": "time",
            "newest": "2026-01-31T12:00:00.000Z",
            "left": 0,
            "late": 0,
        }
