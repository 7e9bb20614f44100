"""Pushed edges outlive a crash, once each, whatever was refused in between."""

import numpy as np
import pytest

from tests.query import fake_loops
from tests.query.conftest import intake_of, start_roads
from tornado.clock import SYSTEM_CLOCK
from tornado.errors import InvalidArgument, QueueFull, StoreCorrupt, StoreFull, UnknownVertex
from tornado.ingest.ndjson import parse_ndjson
from tornado.ingest.quarantine import Quarantine
from tornado.intake.checkpoints import Checkpoints
from tornado.intake.push import Pusher
from tornado.intake.stored_names import main_loops
from tornado.query.query import QueryState
from tornado.query.request import Mode, QueryRequest
from tornado.query.service import QueryService
from tornado.query.session import Session
from tornado.records.edge_batch import EdgeBatch
from tornado.records.operations import REMOVE
from tornado.storage import open_store


@pytest.fixture(params=["memory", "lmdb"])
def store(request, tmp_path):
    with open_store("memory:" if request.param == "memory" else f"lmdb://{tmp_path}/store") as opened:
        yield opened


@pytest.fixture
def log(store):
    return StorePushLog(store)


def restarted(store, *, at=None):
    """A loop that begins anew with what the log has, from the offsets of its recovered snapshot on."""
    loop = fake_loops.Master().start(fake_loops.Fastest(1), "roads")
    for source, offset in (at or {}).items():
        loop.advance(source, offset)
    count = intake_of(loop, log=StorePushLog(store)).restore()
    return loop, count


def test_what_was_pushed_is_admitted_again_after_a_restart(fake, store, log):
    loop = start_roads(fake)
    intake = intake_of(loop, log=log)
    intake.push("http", parse_ndjson(b'{"src": 1, "dst": 2}\nbad\n{"src": 2, "dst": 3, "weight": 0.1}\n'))
    intake.insert("insert", EdgeBatch.of([1], [2], None, REMOVE))
    again, count = restarted(store)
    assert count == 3
    assert again.offsets() == {"http": 3, "insert": 1}
    values, _ = again.approximation().lookup(np.array([2, 3]))
    assert values.tolist() == [np.inf, np.inf]


def test_a_body_of_rejected_records_alone_moves_the_offset_after_a_restart_too(fake, store, log):
    intake_of(start_roads(fake), log=log).push("http", parse_ndjson(b"bad\nworse\n"))
    assert restarted(store)[0].offsets() == {"http": 2}


def test_only_what_the_recovered_snapshot_lacks_is_admitted_again(fake, store, log):
    loop = start_roads(fake)
    intake = intake_of(loop, log=log)
    for vertex in range(10, 14):
        intake.insert("http", EdgeBatch.of([1, 1], [vertex, vertex + 100]))
    again, count = restarted(store, at={"http": 4})
    assert (count, again.offsets()) == (4, {"http": 8})
    _, known = again.approximation().lookup(np.array([11, 12]))
    assert known.tolist() == [False, True]


def test_a_batch_the_loop_refused_is_not_admitted_after_a_restart(fake, store, log):
    loop = start_roads(fake)
    intake = intake_of(loop, log=log)
    intake.insert("http", EdgeBatch.of([1], [10]))
    fake.lagging = True
    with pytest.raises(QueueFull):
        intake.insert("http", EdgeBatch.of([1, 1, 1], [11, 12, 13]))
    fake.lagging = False
    intake.insert("http", EdgeBatch.of([1], [14]))
    again, count = restarted(store)
    assert (count, again.offsets()) == (2, {"http": 2})
    _, known = again.approximation().lookup(np.array([10, 11, 14]))
    assert known.tolist() == [True, False, True]


@pytest.fixture
def retracting_fails(monkeypatch):
    """Make the writes of a store fail that come behind the next append: the emptying of a batch that the loop refuses."""

    def begin(log, *, good_writes=1):
        write, left = log._store.write, [good_writes]

        def failing(*arguments, **options):
            if not left[0]:
                raise StoreFull("no room")
            left[0] -= 1
            write(*arguments, **options)

        monkeypatch.setattr(log._store, "write", failing)
        return lambda: monkeypatch.setattr(log._store, "write", write)

    return begin


def refused_and_not_retracted(fake, log, retracting_fails, push):
    """The loop refuses what is pushed, and the store fails when the log is to be told."""
    fake.lagging, mend = True, retracting_fails(log)
    with pytest.raises(StoreFull) as refused:
        push()
    assert isinstance(refused.value.__context__, QueueFull)
    fake.lagging = False
    return mend


def test_a_refused_batch_that_could_not_be_retracted_is_not_behind_its_successor(
    fake, store, log, retracting_fails
):
    loop = start_roads(fake)
    intake = intake_of(loop, log=log)
    intake.insert("http", EdgeBatch.of([1], [10]))
    large = EdgeBatch.of([1, 1, 1], [11, 12, 13])
    mend = refused_and_not_retracted(fake, log, retracting_fails, lambda: intake.insert("http", large))
    mend()
    for target in (14, 15):
        intake.insert("http", EdgeBatch.of([1], [target]))
    again, count = restarted(store)
    assert (count, again.offsets()) == (3, {"http": 3})
    assert [offset for offset, _ in log.replay("roads", "http", after=0)] == [1, 2, 3]
    _, known = again.approximation().lookup(np.array([10, 11, 14, 15]))
    assert known.tolist() == [True, False, True, True]


def test_while_the_store_fails_further_batches_are_refused_and_the_log_stays_in_order(
    fake, store, log, retracting_fails
):
    loop = start_roads(fake)
    intake = intake_of(loop, log=log)
    mend = refused_and_not_retracted(
        fake, log, retracting_fails, lambda: intake.insert("http", EdgeBatch.of([1], [11]))
    )
    with pytest.raises(StoreFull):
        intake.insert("http", EdgeBatch.of([1], [12]))
    mend()
    intake.push("http", parse_ndjson(b"bad\n"))
    assert loop.offsets() == {"edges.csv": 4, "http": 1}
    assert restarted(store)[0].offsets() == {"http": 1}


def test_a_checkpoint_empties_what_could_not_be_retracted(fake, store, log, retracting_fails):
    loop = start_roads(fake)
    intake = intake_of(loop, log=log)
    intake.insert("http", EdgeBatch.of([1], [10]))
    mend = refused_and_not_retracted(
        fake, log, retracting_fails, lambda: intake.insert("http", EdgeBatch.of([1], [11]))
    )
    with pytest.raises(StoreFull):
        intake.forget({"http": 1})
    mend()
    intake.forget({"http": 1})
    again, count = restarted(store, at={"http": 1})
    assert (count, again.offsets()) == (0, {"http": 1})


def test_a_numbered_batch_that_was_refused_and_not_retracted_is_none_that_is_in(
    fake, store, log, retracting_fails
):
    loop = start_roads(fake)
    intake = intake_of(loop, log=log)
    large, small = EdgeBatch.of([1, 1], [11, 12]), EdgeBatch.of([1], [13])
    mend = refused_and_not_retracted(
        fake, log, retracting_fails, lambda: intake.push_batch("spark:q", 0, large)
    )
    mend()
    assert intake.newest_batch("spark:q") is None
    assert not intake.push_batch("spark:q", 0, small).is_repeated
    assert intake.push_batch("spark:q", 0, small).is_repeated
    assert restarted(store)[0].offsets() == {"spark:q": 1}
    assert StorePushLog(store).number("roads", "spark:q") == 0


def test_a_full_disk_refuses_the_push_before_anything_is_admitted(fake, log, monkeypatch):
    loop = start_roads(fake)
    intake = intake_of(loop, log=log)

    def full(*_args, **_kwargs):
        raise StoreFull("no room")

    monkeypatch.setattr(log._store, "write", full)
    with pytest.raises(StoreFull):
        intake.insert("http", EdgeBatch.of([1], [10]))
    assert loop.offsets() == {"edges.csv": 4}


def test_a_second_restart_goes_on_where_the_first_one_was(fake, store, log):
    intake_of(start_roads(fake), log=log).insert("http", EdgeBatch.of([1], [10]))
    loop = fake_loops.Master().start(fake_loops.Fastest(1), "roads")
    intake = intake_of(loop, log=StorePushLog(store))
    intake.restore()
    intake.insert("http", EdgeBatch.of([1], [11]))
    assert restarted(store)[0].offsets() == {"http": 2}


def test_the_log_lets_go_of_what_the_oldest_snapshot_kept_has_and_of_nothing_else(fake, store, log):
    loop = start_roads(fake)
    intake = intake_of(loop, log=log)
    checkpoints = Checkpoints(intake, keep=2, clock=SYSTEM_CLOCK)
    for vertex in range(9):
        intake.insert("http", EdgeBatch.of([1], [vertex]))
        if vertex in {2, 4, 6}:
            checkpoints.take()
    assert [snapshot.offsets["http"] for snapshot in loop.snapshots()] == [5, 7]
    assert [offset for offset, _ in log.replay("roads", "http", after=0)] == [5, 6, 7, 8, 9]
    restarted(store, at={"http": 7})
    assert [offset for offset, _ in log.replay("roads", "http", after=0)] == [5, 6, 7, 8, 9]


def test_a_log_entry_that_is_no_batch_is_a_corrupt_store(store, log):
    store.write("roads/pushed/http", 1, {b"batch": b"xyz"}, metadata=b'{"offset": 3}')
    with pytest.raises(StoreCorrupt, match="no batch of edges"):
        list(log.replay("roads", "http", after=0))
    store.write("roads/pushed/http", 2, {b"batch": b""}, metadata=b"{}")
    with pytest.raises(StoreCorrupt, match="no offset at version 2"):
        list(log.replay("roads", "http", after=9))


def test_positions_of_rejected_records_go_on_from_push_to_push(fake):
    quarantine = Quarantine(None)
    loop = start_roads(fake)
    intake = intake_of(loop, quarantine=quarantine)
    for _ in range(2):
        intake.push("http", parse_ndjson(b'{"src": 1, "dst": 2}\nbad\n'))
    assert [entry.position for _, entry in quarantine.recent()] == [2, 4]


def test_what_is_pushed_before_the_loop_is_restored_comes_after_what_an_earlier_run_took(fake, store, log):
    intake_of(start_roads(fake), log=log).insert("http", EdgeBatch.of([1], [10]))
    loop = fake_loops.Master().start(fake_loops.Fastest(1), "roads")
    intake = intake_of(loop, log=StorePushLog(store))
    assert intake.push("http", parse_ndjson(b'{"src": 10, "dst": 11}\n')).offsets == {"http": 2}
    assert intake.restore() == 0
    values, _ = loop.approximation().lookup(np.array([11]))
    assert values.tolist() == [2.0]


def test_what_was_pushed_waits_for_the_files_that_are_read_again(fake, store, log):
    intake_of(start_roads(fake), log=log).insert("http", EdgeBatch.of([1], [2], None, REMOVE))
    intake, anew = Pusher(store=store).intake("roads"), fake_loops.Master()
    assert intake.hold() == {"http": 1}
    loop = anew.start(fake_loops.Fastest(1), "roads")
    intake.begin(loop.stream)
    assert intake.restore() == 0
    # Neither would be in its place: the edge is not there yet, and an offset would be given twice.
    with pytest.raises(QueueFull, match=r"'roads' reads its files again.*Send the same again"):
        intake.push("http", parse_ndjson(b'{"src": 1, "dst": 7}\n'))
    with pytest.raises(QueueFull, match="reads its files again"):
        intake.insert("insert", EdgeBatch.of([1], [7]))
    assert (loop.offsets(), StorePushLog(store).reached("roads")) == ({}, {"http": 1})
    loop.admit(EdgeBatch.of([1, 1], [2, 3]), "edges.csv", 2)
    assert (intake.release(), intake.release()) == (1, 0)
    values, known = loop.approximation().lookup(np.array([2, 3]))
    assert (values.tolist(), known.tolist()) == ([np.inf, 1.0], [True, True])
    assert intake.push("http", parse_ndjson(b'{"src": 1, "dst": 7}\n')).offsets == {"http": 2}


def test_an_exact_question_waits_for_what_was_acknowledged_before_the_restart(fake):
    loop = start_roads(fake)
    service = QueryService(fake)
    try:
        service.served(loop).awaited = {"http": 2, "insert": 1}
        query = service.submit(
            QueryRequest(loop="roads", vertices=(9,), min_offsets={"http": 1, "edges.csv": 4})
        )
        assert service.submit(QueryRequest(loop="roads", mode=Mode.APPROXIMATE)).state is QueryState.CONVERGED
        loop.admit(EdgeBatch.of([1], [8]), "http", 1)
        loop.admit(EdgeBatch.of([1], [8]), "insert", 1)
        assert not query.wait(0.05)
        loop.admit(EdgeBatch.of([1], [9]), "http", 2)
        assert query.wait(20)
        assert query.status().snapshot.offsets == {"edges.csv": 4, "http": 2, "insert": 1}
        version = loop.checkpoint()
        assert service.submit(QueryRequest(loop="roads", at=version)).wait(20)
        late = service.submit(QueryRequest(loop="roads", min_offsets={"http": 3}))
        assert not late.wait(0.05)
        service.cancel(late.id)
    finally:
        service.close()


def test_a_loop_to_which_nothing_was_pushed_has_nothing_to_wait_for(store, log):
    intake = Pusher(log=log).intake("roads")
    assert (intake.hold(), Pusher().intake("roads").hold()) == ({}, {})
    loop = fake_loops.Master().start(fake_loops.Fastest(1), "roads")
    intake.begin(loop.stream)
    assert intake.push("http", parse_ndjson(b'{"src": 1, "dst": 7}\n')).offsets == {"http": 1}


def started(store, *, source="Rome", ids="string"):
    """A session that goes on from a store; its loop is called towns."""
    made = Session(fake_loops.Master(), pusher=Pusher(store=store))
    return made, made.start(fake_loops.Fastest(source=source), "towns", ids=ids)


def test_names_mean_the_same_vertices_after_a_restart(store):
    session, towns = started(store)
    with session:
        # Numbers are given in the order of arrival, and what a file names is in no log.
        session.service.codec_of("towns").interner.intern(["Bonn", "Lyon", "Oslo"])
        towns.insert(["Rome", "Oslo"], ["Oslo", "Nice"], [2.0, 3.0])
        towns.insert(["Nice"], ["Bern"])
    session, towns = started(store)
    with session:
        assert towns.query(vertices=["Nice", "Bern", "Rome"]).values == {
            "Nice": 5.0,
            "Bern": 6.0,
            "Rome": 0.0,
        }
        towns.insert(["Bern"], ["Kiel"])
        assert towns.query(vertices=["Kiel"], parameters={"source": "Nice"}).values == {"Kiel": 2.0}
        with pytest.raises(UnknownVertex, match="'Atlantis'"):
            towns.query(parameters={"source": "Atlantis"})
    session, towns = started(store, source="Oslo")
    with session:
        assert towns.query(vertices=["Kiel"]).values == {"Kiel": 5.0}


def test_a_checkpoint_has_the_names_that_its_vertices_need(store):
    session, towns = started(store)
    with session:
        interner = session.service.codec_of("towns").interner
        interner.intern(["Bonn", "Lyon"])
        towns.checkpoint()
    assert StorePushLog(store).names("towns").load().find(["Rome", "Bonn", "Lyon"]) == [0, 1, 2]


def test_a_store_of_names_does_not_go_on_with_numbers_nor_the_other_way(store):
    session, towns = started(store)
    with session:
        towns.insert(["Rome"], ["Oslo"])
    with pytest.raises(InvalidArgument, match="has strings for ids"):
        started(store, source=1, ids="int")
    lanes = fake_loops.Master().start(fake_loops.Fastest(1), "lanes")
    intake_of(lanes, log=StorePushLog(store)).insert("http", EdgeBatch.of([1], [2]))
    with pytest.raises(InvalidArgument, match="has numbers for ids"):
        StorePushLog(store).names("lanes").load()


def test_lines_beside_a_loop_are_no_loops(store):
    session, towns = started(store)
    with session:
        towns.insert(["Rome"], ["Oslo"])
    assert store.loops() == ["towns/names", "towns/pushed/insert"]
    assert main_loops(store) == ["towns"]


def test_damaged_names_are_said_to_be_damaged(store):
    started(store)[0].close()
    store.write("towns/names", 7, {b"names": b"no table"})
    with pytest.raises(StoreCorrupt, match="names cannot be read"):
        started(store)
    store.write("towns/names", 8, {b"other": b""}, deletes=[b"names"])
    with pytest.raises(StoreCorrupt, match="lacks its page"):
        started(store)


@pytest.mark.parametrize("name", ["", "a/b", "x" * 121, "tab\tbed"])
def test_a_loop_is_not_called_what_no_path_can_say(fake, name):
    with Session(fake) as session, pytest.raises(InvalidArgument, match="name of a loop"):
        session.start(fake_loops.Fastest(1), name)
