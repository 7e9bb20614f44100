"""Checkpoints of a loop: in the right order, every so often, counted where they fail, and no more of them than wanted."""

import contextlib
import threading
from itertools import pairwise

import numpy as np
import pytest

from apps.sssp import ShortestPaths
from tests.logged import entries_of
from tests.loops.test_general_programs import Paths
from tests.promised import eventually
from tests.query import fake_loops
from tests.query.conftest import intake_of, start_roads
from tornado.clock import SYSTEM_CLOCK, ManualClock
from tornado.errors import InvalidArgument, NotSupported, StoreFull
from tornado.intake.checkpoints import Checkpoints
from tornado.intake.push import Pusher
from tornado.loops import Master
from tornado.loops.admission_log import AdmissionLog
from tornado.query.metrics import Metrics
from tornado.query.session import Session
from tornado.records.edge_batch import EdgeBatch
from tornado.storage import open_store


@pytest.fixture
def store(tmp_path):
    with open_store(f"lmdb://{tmp_path}/store") as opened:
        yield opened


def opened(store, workers=2, clock=SYSTEM_CLOCK):
    kept = store if store.durable else None
    return Session(Master(store, workers, clock=clock), pusher=Pusher(store=kept))


@pytest.mark.usefixtures("compiled_paths")
def test_a_session_stores_snapshots_by_itself_and_the_next_one_goes_on_from_the_newest(store, monkeypatch):
    monkeypatch.setattr("tornado.loops.admission_log._LONG_LOG_RECORDS", 2)
    clock = ManualClock()
    with opened(store, clock=clock) as session:
        paths = session.start(ShortestPaths(source=1), checkpoint_every_s=60)
        for vertex in range(1, 30):
            paths.insert([vertex], [vertex + 1], [0.5])
            clock.advance(60)
            eventually(lambda: paths.checkpoints().version == paths.statistics().version)
        eventually(lambda: len(paths.snapshots()) == 3)
        assert paths.checkpoints().stored == 29
        assert paths.snapshots()[-1].offsets["insert"] > 20
        oldest = paths.snapshots()[0].offsets["insert"]
        paths.insert([30], [31], [1.0])
    # Only now: nobody reads the log beside a session that forgets what is in its snapshots.
    kept = [entry.offset for entry in entries_of(AdmissionLog(store, "shortest_paths"))]
    assert kept == list(range(oldest + 1, 31))
    assert oldest > 1
    with opened(store, workers=1) as session:
        paths = session.start(ShortestPaths(source=1))
        assert paths.checkpoints().version == paths.statistics().version
        assert paths.loop.restored.snapshot.offsets["insert"] < 30
        assert paths.offsets() == {"insert": 30}
        assert paths.query(vertices=[31]).values == {31: 15.5}
        assert paths.insert([31], [32]) == paths.statistics().version > paths.checkpoints().version


@pytest.mark.usefixtures("compiled_paths")
@pytest.mark.parametrize(("keep", "left"), [(None, 1), (2, 2)])
def test_older_snapshots_that_take_much_room_stay_only_where_somebody_has_said_so(
    store, monkeypatch, keep, left
):
    monkeypatch.setattr("tornado.loops.admission_log._LONG_LOG_RECORDS", 0)
    monkeypatch.setattr("tornado.loops.stored_snapshot._SPARED_BYTES", 0)
    clock = ManualClock()
    with opened(store, clock=clock) as session:
        paths = session.start(ShortestPaths(source=1), checkpoint_every_s=60, keep_snapshots=keep)
        for vertex in range(1, 10):  # of one page, which so is another one each time
            paths.insert([vertex], [vertex + 1], [0.5])
            clock.advance(60)
            eventually(lambda: paths.checkpoints().version == paths.statistics().version)
        eventually(lambda: len(paths.snapshots()) == left)


def test_a_checkpoint_that_fails_is_told_and_counted_and_the_next_one_tries_again(fake, monkeypatch):
    loop, told, full = start_roads(fake), [], [StoreFull("no room"), StoreFull("no room"), OSError("odd")]
    whole = loop.checkpoint

    def checkpoint(**options):
        if full:
            raise full.pop()
        return whole(**options)

    monkeypatch.setattr(loop, "checkpoint", checkpoint)
    clock = ManualClock()
    checkpoints = Checkpoints(intake_of(loop), keep=3, on_failure=told.append, clock=clock)
    checkpoints.start(60)
    for number in range(1, 5):
        clock.advance(60)
        eventually(lambda n=number: sum(counted(checkpoints)) == n and clock.waiting() == 1)
    clock.advance(7)
    checkpoints.stop()
    checkpoints.join()
    assert [str(error) for error in told] == ["odd", str(StoreFull("no room"))]  # not the same thing twice
    statistics = checkpoints.statistics()
    assert (statistics.failed, statistics.last_error, statistics.version) == (3, None, 1)
    assert (statistics.age_s, statistics.duration_s) == (7, 0)


def counted(checkpoints):
    statistics = checkpoints.statistics()
    return statistics.stored, statistics.failed


def test_a_checkpoint_is_taken_when_it_is_due_and_the_next_one_so_long_after_it_began(fake, monkeypatch):
    loop, clock, whole = start_roads(fake), ManualClock(), None
    began = []

    def checkpoint(**options):
        began.append(clock.monotonic())
        clock.advance(90 if len(began) == 2 else 10)  # so long it takes
        return whole(**options)

    whole = loop.checkpoint
    monkeypatch.setattr(loop, "checkpoint", checkpoint)
    checkpoints = Checkpoints(intake_of(loop), clock=clock)
    checkpoints.start(60)
    for number, wait_s in enumerate((60, 50, 0, 50), 1):
        clock.advance(max(0, wait_s - 1))
        assert len(began) == number - 1 or not wait_s
        clock.advance(min(1, wait_s))
        eventually(lambda n=number: checkpoints.statistics().stored >= n)
    checkpoints.stop()
    checkpoints.join()
    assert began == [60, 120, 210, 270]  # the third at once: it was due while the second was under way
    statistics = checkpoints.statistics()
    assert (statistics.stored, statistics.age_s, statistics.duration_s) == (4, 10, 10)


def test_a_failure_without_a_listener_is_a_warning(fake, monkeypatch, caplog):
    loop = start_roads(fake)
    monkeypatch.setattr(loop, "checkpoint", lambda **_: 1 / 0)
    clock = ManualClock()
    checkpoints = Checkpoints(intake_of(loop), clock=clock)
    checkpoints.start(60)
    clock.advance(60)
    eventually(lambda: checkpoints.statistics().failed > 0)
    checkpoints.stop()
    checkpoints.join()
    assert "no checkpoint of stream roads was stored, and its loops go on: division by zero" in caplog.text
    assert checkpoints.statistics().last_error == "division by zero"
    with pytest.raises(ZeroDivisionError):
        checkpoints.take()


def test_what_cannot_be_forgotten_for_lack_of_room_leaves_the_snapshot_stored(fake, monkeypatch):
    loop, told = start_roads(fake), []

    def full(**_):
        raise StoreFull("no room")

    monkeypatch.setattr(loop, "trim_snapshots", full)
    checkpoints = Checkpoints(intake_of(loop), keep=1, on_failure=told.append, clock=SYSTEM_CLOCK)
    assert checkpoints.take() == 1
    assert [type(error) for error in told] == [StoreFull]
    assert (checkpoints.statistics().stored, checkpoints.statistics().failed) == (1, 1)


def test_a_snapshot_that_a_query_under_way_names_is_not_forgotten(fake):
    with Session(fake) as session:
        roads = session.start(fake_loops.Fastest(1), "roads", keep_snapshots=1)
        versions = []
        for vertex in range(2, 6):
            roads.insert([1], [vertex])
            versions.append(roads.checkpoint())
            if vertex == 3:
                fake.gate.clear()
                query = roads.query(vertices=[3, 4], at=versions[1])
        assert [snapshot.version for snapshot in roads.snapshots()] == versions[1:]
        fake.gate.set()
        assert query.values == {3: 1.0}
        roads.checkpoint()
        assert [snapshot.version for snapshot in roads.snapshots()] == versions[-1:]
        with pytest.raises(InvalidArgument, match=f"newest are: {versions[-1]}"):
            roads.query(at=versions[1])
        assert session.service.statistics().states["failed"] == 0


def test_names_that_come_while_a_snapshot_is_computed_are_stored_with_it(store):
    with opened(store, workers=1) as session:
        paths = session.start(ShortestPaths(source="Rome"), "towns", ids="string")
        interner, checkpoint = session.service.codec_of("towns").interner, paths.loop.stream.checkpoint

        def late(**options):
            # A file's batch between the saving of names and the cut would have names that nobody saved.
            src, dst = interner.intern(["Rome"]), interner.intern(["Oslo"])
            paths.loop.admit(EdgeBatch.of(src, dst, [2.0]), "edges.csv", 1)
            return checkpoint(**options)

        paths.loop.stream.checkpoint = late
        paths.checkpoint()
    with opened(store) as session:
        paths = session.start(ShortestPaths(source="Rome"), "towns", ids="string")
        assert paths.loop.restored.is_converged
        assert paths.query(vertices=["Oslo"]).values == {"Oslo": 2.0}


@pytest.mark.parametrize(
    ("every_s", "keep", "said"),
    [
        (0, None, "time between checkpoints is 0,"),
        (float("inf"), None, "is inf"),
        (True, None, "is True"),
        ("5s", None, "is '5s'"),
        (1, 0, "snapshots to keep is 0"),
        (None, 1.5, "snapshots to keep is 1.5"),
    ],
)
def test_periods_and_numbers_that_are_none_are_refused_before_the_loop_starts(store, every_s, keep, said):
    with opened(store) as session:
        with pytest.raises(InvalidArgument, match=said):
            session.start(ShortestPaths(source=1), checkpoint_every_s=every_s, keep_snapshots=keep)
        assert session.loops == {}


def test_checkpoints_that_could_not_be_gone_on_from_are_refused(store):
    with (
        open_store("memory:") as memory,
        opened(memory) as session,
        pytest.raises(InvalidArgument, match="store memory: is gone with the process"),
    ):
        session.start(ShortestPaths(source=1), checkpoint_every_s=5)
    with opened(store) as session:
        with pytest.raises(NotSupported, match="'paths' runs a general program"):
            session.start(Paths(0), checkpoint_every_s=5)
        assert session.loops == {}
        with pytest.raises(NotSupported):
            session.start(Paths(0)).checkpoint()


def test_metrics_say_how_checkpoints_go(fake):
    with Session(fake) as session:
        roads = session.start(fake_loops.Fastest(1), "roads")
        metrics = Metrics(session.service, dict)
        assert 'tornado_checkpoint_age_seconds{stream="roads"} NaN' in metrics.text().decode()
        roads.insert([1], [2])
        version = roads.checkpoint()
        lines = metrics.text().decode().splitlines()
        assert f'tornado_checkpoint_version{{stream="roads"}} {version}.0' in lines
        assert 'tornado_checkpoints_total{stream="roads"} 1.0' in lines
        assert 'tornado_checkpoint_failures_total{stream="roads"} 0.0' in lines


@pytest.mark.usefixtures("compiled_paths")
def test_what_is_admitted_is_durable_without_a_snapshot_and_one_is_written_when_the_log_is_long(
    store, monkeypatch
):
    monkeypatch.setattr("tornado.loops.admission_log._LONG_LOG_RECORDS", 10)
    clock = ManualClock()
    with opened(store, clock=clock) as session:
        paths = session.start(ShortestPaths(source=1), checkpoint_every_s=1)
        bases = []
        for count in range(1, 101):
            paths.insert([count], [count + 1], [0.5])
            clock.advance(1)
            eventually(lambda: paths.checkpoints().version == paths.statistics().version)
            newest = paths.snapshots()[-1:]
            if newest and newest[0].offsets["insert"] not in bases:
                bases.append(newest[0].offsets["insert"])
        assert paths.checkpoints().failed == 0
    # The first at once; then by more than a quarter of what the newest one has, and more than 10 less half of that.
    assert bases == [1, 12, 17, 22, 28, 36, 46, 58, 73, 92]
    with opened(store) as session:
        assert session.start(ShortestPaths(source=1)).query(vertices=[101]).values == {101: 50.0}


@pytest.mark.usefixtures("compiled_paths")
@pytest.mark.parametrize("op", ["=", "-"], ids=["edges are replaced", "edges that are not there are removed"])
@pytest.mark.parametrize("meanwhile", [0, 1, 2])
def test_what_changes_nothing_of_the_size_has_a_base_written_before_the_log_has_grown_by_a_share_of_it(
    store, monkeypatch, op, meanwhile
):
    """A batch comes each second, and a base takes so many: that is foreseen, but for the first base."""
    monkeypatch.setattr("tornado.loops.admission_log._SHORT_LOG_BYTES", 0)
    clock, ids, absent = ManualClock(), np.arange(1000), 5000 * (op == "-")
    with opened(store, clock=clock) as session:
        paths = session.start(ShortestPaths(source=1))
        paths.insert(ids, ids + 1)
        paths.checkpoint()
        stream, admitted, written = paths.loop.stream, 0, []
        checkpoints = Checkpoints(intake_of(paths.loop), clock=clock)

        def admit():
            nonlocal admitted
            clock.advance(1)
            some = np.arange(100) + admitted
            admitted += 1
            edges = EdgeBatch.of(some + absent, some + absent + 1, op=[op] * 100)
            stream.admit(edges, "churn", 100 * admitted)

        def write(**how):
            before, _, base_bytes = stream.stored.newest_base()
            version = checkpoint(**how)
            for _ in range(meanwhile):
                admit()
            written.append((admitted, stream.log.size_after(before).size_bytes / base_bytes))
            return version

        checkpoint = stream.checkpoint
        monkeypatch.setattr(stream, "checkpoint", write)
        while admitted < 100:
            admit()
            eventually(lambda: stream.workers.backlog() == 0)
            checkpoints.keep_up(1.0)
    # A batch takes 730 bytes with weights, which is a 16th of the base, or 630.
    batch = (730 if op == "=" else 630) / (8 + 12 * 1000)
    assert 0.28 < written[0][1] - meanwhile * batch <= 0.28 + batch
    for (before, _), (after, share) in pairwise(written):
        assert 0.43 - batch < share <= 0.43
        assert share == pytest.approx((after - before + meanwhile) * batch)
    with opened(store) as session:
        stream = session.start(ShortestPaths(source=1)).loop.stream
        eventually(lambda: stream.workers.backlog() == 0)
        assert stream.workers.held() == stream.stored.newest_base()[1] == 1000


@pytest.mark.usefixtures("compiled_paths")
def test_a_log_of_many_small_groups_is_long_too(store, monkeypatch):
    monkeypatch.setattr("tornado.loops.admission_log._LONG_LOG_GROUPS", 5)
    with opened(store) as session:
        paths = session.start(ShortestPaths(source=1))
        paths.insert([1], [2])
        paths.checkpoint()
        wanted = []
        for count in range(1, 8):
            paths.insert([count + 1], [count + 2])
            wanted.append(paths.loop.stream.wants_snapshot())
        assert wanted == [False] * 5 + [True] * 2


def test_checkpoints_end_with_their_session_while_one_is_under_way(store, monkeypatch):
    monkeypatch.setattr("tornado.loops.admission_log._LONG_LOG_RECORDS", 0)
    with opened(store) as session:
        paths = session.start(ShortestPaths(source=1), checkpoint_every_s=0.001)
        for vertex in range(50):
            paths.insert([vertex], [vertex + 1])
    assert [thread.name for thread in threading.enumerate() if "checkpoints" in thread.name] == []
    assert store.versions("shortest_paths")


@pytest.mark.usefixtures("compiled_paths")
def test_a_snapshot_that_a_query_names_is_there_still_when_the_journal_was_full(monkeypatch):
    with open_store("memory:") as store, opened(store) as session:
        named = []
        monkeypatch.setattr(session.service, "versions_in_use", lambda _: named)
        paths = session.start(ShortestPaths(source=1))
        paths.insert([1], [2], [0.5])
        named.append(paths.checkpoint())
        paths.insert([2], [3], [0.5])
        # As a loop does whose workers can be lost, when much has come in.
        assert paths.loop.stream.store_snapshot() == (2, 8 + 2 * 12)
        assert min(snapshot.version for snapshot in paths.snapshots()) == named[0]
        assert paths.query(at=named[0]).values == {1: 0.0, 2: 0.5}
        named.clear()
        paths.insert([3], [4], [0.5])
        paths.loop.stream.store_snapshot()
        assert len(paths.snapshots()) == 1


class Dying:
    """A store whose process is killed at its n-th change: that one and all after it never happen."""

    def __init__(self, store, changes):
        self._store = store
        self.left = changes
        self.durable = True

    def __getattr__(self, name):
        found = getattr(self._store, name)
        if name not in {"write", "delete_before", "drop"}:
            return found

        def change(*arguments, **options):
            if self.left <= 0:
                raise Killed
            self.left -= 1
            return found(*arguments, **options)

        return change


class Killed(BaseException):
    """Nobody catches it."""


@pytest.mark.usefixtures("compiled_paths")
def test_a_crash_at_any_change_of_the_store_loses_nothing_that_was_acknowledged():
    names = [f"town {number}" for number in range(14)]
    before, changes = None, 0
    while before != len(names) - 1:
        with open_store("memory:") as store:
            before, acknowledged = None, 0
            with opened(Dying(store, changes)) as session, contextlib.suppress(Killed):
                towns = session.start(ShortestPaths(source=names[0]), "towns", ids="string", keep_snapshots=2)
                for place in range(13):
                    towns.insert([names[place]], [names[place + 1]], [0.5])
                    acknowledged = place + 1
                    if place % 2:
                        towns.checkpoint()
                before = acknowledged
            with opened(Dying(store, 1000), workers=1 + changes % 3) as session:
                towns = session.start(ShortestPaths(source=names[0]), "towns", ids="string")
                taken = towns.offsets().get("insert", 0)
                assert taken - acknowledged in {0, 1}, changes
                values = towns.query().values if taken else {}
                assert values == {names[place]: place / 2 for place in range(taken + 1) if taken}, changes
                assert towns.statistics().edges == taken
                # And it goes on, and again from there.
                towns.insert([names[taken]], ["beyond"], [1.0])
                towns.checkpoint()
            with opened(Dying(store, 1000)) as session:
                towns = session.start(ShortestPaths(source=names[0]), "towns", ids="string")
                assert towns.offsets() == {"insert": taken + 1}
                assert towns.query(vertices=["beyond"]).values == {"beyond": taken / 2 + 1.0}
        changes += 1
    assert changes > 30
