"""Pushed edges outlive a crash, once each, whatever was refused in between."""

import json
from contextlib import contextmanager

import numpy as np
import pytest

from apps.sssp import ShortestPaths
from tests.kept_store import KeptStore
from tests.logged import entries_of
from tests.query import fake_loops
from tests.query.conftest import intake_of, start_roads
from tornado.clock import SYSTEM_CLOCK
from tornado.errors import InvalidArgument, QueueFull, StoreCorrupt, StoreFull, UnknownVertex
from tornado.ingest.ndjson import parse_ndjson
from tornado.ingest.parsed import Rejection
from tornado.ingest.quarantine import Quarantine
from tornado.intake import stored_names
from tornado.intake.checkpoints import Checkpoints
from tornado.intake.push import Pusher
from tornado.intake.stored_names import StoredNames, main_loops
from tornado.loops import Master
from tornado.loops.admission_log import AdmissionLog
from tornado.query.session import Session
from tornado.records.edge_batch import EdgeBatch
from tornado.records.operations import REMOVE
from tornado.storage import open_store

pytestmark = pytest.mark.usefixtures("compiled_paths")


@pytest.fixture(params=["memory", "lmdb"])
def store(request, tmp_path):
    with KeptStore() if request.param == "memory" else open_store(f"lmdb://{tmp_path}/store") as opened:
        yield opened


@contextmanager
def intake_on(store, **options):
    """The intake of a stream that begins with what the store has, and its loop; what is left of it is the store."""
    with Master(store, 1) as master:
        loop = master.start(ShortestPaths(source=1), "roads", **options)
        yield intake_of(loop, store=store), loop


def values(loop):
    branch = loop.fork()
    assert branch.wait(60)
    ids, found = branch.values().arrays()
    branch.release()
    return dict(zip(ids.tolist(), found.tolist(), strict=True))


def test_what_was_pushed_is_admitted_again_after_a_restart(store):
    with intake_on(store) as (intake, _):
        intake.push("http", parse_ndjson(b'{"src": 1, "dst": 2}\nbad\n{"src": 2, "dst": 3, "weight": 0.1}\n'))
        intake.insert("insert", EdgeBatch.of([1], [2], None, REMOVE))
    with intake_on(store) as (_, loop):
        assert loop.offsets() == {"http": 3, "insert": 1}
        assert values(loop) == {1: 0.0, 2: np.inf, 3: np.inf}


def test_a_body_of_rejected_records_alone_moves_the_offset_after_a_restart_too(store):
    with intake_on(store) as (intake, _):
        intake.push("http", parse_ndjson(b"bad\nworse\n"))
    with intake_on(store) as (_, loop):
        assert loop.offsets() == {"http": 2}


def test_only_what_the_snapshot_lacks_is_admitted_again(store):
    with intake_on(store) as (intake, loop):
        for vertex in range(10, 14):
            intake.insert("http", EdgeBatch.of([1, 1], [vertex, vertex + 100]))
            if vertex == 11:
                loop.checkpoint()
    with intake_on(store) as (_, loop):
        assert loop.offsets() == {"http": 8}
        assert len(values(loop)) == 9
        assert loop.restored.snapshot.offsets == {"http": 4}


def test_a_batch_the_loop_refused_is_not_admitted_after_a_restart(store):
    with intake_on(store) as (intake, loop):
        intake.insert("http", EdgeBatch.of([1], [10]))
        with pytest.raises(InvalidArgument, match="negative"):
            intake.insert("http", EdgeBatch.of([1, 1, 1], [11, 12, 13], [1.0, 1.0, -1.0]))
        with loop.stream.standing_still(lambda _: None), pytest.raises(QueueFull):
            loop.admit(EdgeBatch.of([1], [11]), "http", 2, timeout_s=0.01)
        intake.insert("http", EdgeBatch.of([1], [14]))
    with intake_on(store) as (_, loop):
        assert loop.offsets() == {"http": 2}
        assert values(loop) == {1: 0.0, 10: 1.0, 14: 1.0}


@pytest.mark.parametrize("push", ["insert", "batch", "rejected"])
def test_a_full_disk_refuses_the_push_before_anything_is_admitted(store, monkeypatch, push):
    def pushed():
        if push == "insert":
            return intake.insert("spark:q", EdgeBatch.of([1], [11]))
        if push == "batch":
            return intake.push_batch("spark:q", 0, EdgeBatch.of([1], [11]))
        return intake.push("spark:q", parse_ndjson(b"bad\n"))

    with intake_on(store) as (intake, loop):
        intake.insert("http", EdgeBatch.of([1], [10]))
        with monkeypatch.context() as patched:
            patched.setattr(type(store), "write", full)
            for _ in range(2):
                with pytest.raises(StoreFull):
                    pushed()
        assert (loop.offsets(), intake.newest_batch("spark:q")) == ({"http": 1}, None)
        assert values(loop) == {1: 0.0, 10: 1.0}
        pushed()
    with intake_on(store) as (intake, loop):
        assert loop.offsets() == {"http": 1, "spark:q": 1}
        assert intake.newest_batch("spark:q") == (0 if push == "batch" else None)


def full(*_args, **_kwargs):
    raise StoreFull("no room")


def test_a_second_restart_goes_on_where_the_first_one_was(store):
    for count in range(1, 4):
        with intake_on(store) as (intake, _):
            assert intake.push("http", parse_ndjson(b'{"src": 1, "dst": 10}\n')).offsets == {"http": count}


def test_the_log_lets_go_of_what_the_oldest_snapshot_kept_has_and_of_nothing_else(store):
    with intake_on(store) as (intake, loop):
        checkpoints = Checkpoints(intake, keep=2, clock=SYSTEM_CLOCK)
        for vertex in range(9):
            intake.insert("http", EdgeBatch.of([1], [vertex]))
            if vertex in {2, 4, 6}:
                checkpoints.take()
        assert [snapshot.offsets["http"] for snapshot in loop.snapshots()] == [5, 7]
    log = AdmissionLog(store, "roads")
    assert [entry.offset for entry in entries_of(log)] == [6, 7, 8, 9]
    with intake_on(store) as (_, loop):
        assert loop.offsets() == {"http": 9}


def test_what_an_earlier_version_logged_of_pushes_is_taken_over_once(store):
    def logged(version, offset, batch, **more):
        metadata = json.dumps({"offset": offset, **more}).encode()
        store.write("roads/pushed/spark:q", version, {b"batch": batch.encode()}, metadata=metadata)

    with intake_on(store) as (intake, loop):
        intake.push_batch("spark:q", 0, EdgeBatch.of([1], [2]))
        loop.checkpoint()
    logged(1, 1, EdgeBatch.of([1], [2]), number=0)  # the snapshot has it
    logged(2, 3, EdgeBatch.of([2, 2], [3, 4]), number=1)
    logged(3, 5, EdgeBatch.empty(), number=2)
    for _ in range(2):
        with Session(Master(store, 1), pusher=Pusher(store=store)) as session:
            roads = session.start(ShortestPaths(source=1), "roads")
            assert roads.offsets() == {"spark:q": 5}
            assert session.service.served(roads.loop).intake.newest_batch("spark:q") == 2
            assert roads.query().values == {1: 0.0, 2: 1.0, 3: 2.0, 4: 2.0}
        assert not [line for line in store.loops() if "/pushed/" in line]
    store.write("roads/pushed/http", 1, {b"batch": b"xyz"}, metadata=b'{"offset": 3}')
    with Session(Master(store, 1)) as session, pytest.raises(StoreCorrupt, match="cannot be read"):
        session.start(ShortestPaths(source=1), "roads")


def test_positions_of_rejected_records_go_on_from_push_to_push(fake):
    quarantine = Quarantine(None)
    loop = start_roads(fake)
    intake = intake_of(loop, quarantine=quarantine)
    for _ in range(2):
        intake.push("http", parse_ndjson(b'{"src": 1, "dst": 2}\nbad\n'))
    assert [entry.position for _, entry in quarantine.recent()] == [2, 4]


def test_what_is_rejected_is_quarantined_before_the_rest_of_its_push_is_in(fake, monkeypatch):
    """In between a crash leaves it there twice, when the push is repeated, and never nowhere."""
    quarantine, seen = Quarantine(None), []
    loop = start_roads(fake)
    intake = intake_of(loop, quarantine=quarantine)
    admit = loop.admit

    def looking(*arguments, **options):
        seen.append([entry.position for _, entry in quarantine.recent()])
        return admit(*arguments, **options)

    monkeypatch.setattr(loop, "admit", looking)
    intake.push("http", parse_ndjson(b'{"src": 1, "dst": 2}\nbad\n'))
    intake.push_batch(
        "spark:q", 0, EdgeBatch.of([1], [2]), (Rejection(position=2, record="bad", reason="is none"),)
    )
    assert seen == [[2], [2, 2]]


def started(store, *, source="Rome", ids="string"):
    """A session that goes on from a store; its loop is called towns."""
    made = Session(Master(store, 1), pusher=Pusher(store=store))
    return made, made.start(ShortestPaths(source=source), "towns", ids=ids)


def test_names_mean_the_same_vertices_after_a_restart(store):
    session, towns = started(store)
    with session:
        # Numbers are given in the order of arrival.
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
    assert StoredNames(store, "towns").load().find(["Rome", "Bonn", "Lyon"]) == [0, 1, 2]


def test_names_that_come_one_by_one_take_no_longer_the_more_there_are_and_are_put_together(monkeypatch):
    monkeypatch.setattr(stored_names, "_MOST_PIECES", 10)
    store, listed = KeptStore(), []
    session, towns = started(store)
    with session:
        versions = store.versions
        monkeypatch.setattr(store, "versions", lambda line: (listed.append(line), versions(line))[1])
        for number in range(30):
            towns.insert([f"town {number}"], ["Rome"])
        assert "towns/names" not in listed
        monkeypatch.undo()
        assert len(store.versions("towns/names")) == 31
        served = session.service.served(towns.loop)
        drop, deleted = store.delete_before, []
        monkeypatch.setattr(store, "delete_before", lambda *of: deleted.append(of))
        monkeypatch.setattr(stored_names, "_MOST_PIECES", 10)
        served.intake.put_names_together()  # the others do not go
        expected = ["Rome", *(f"town {number}" for number in range(30))]
        for _ in range(2):
            interner = StoredNames(store, "towns").load()
            assert sorted(interner.names(np.arange(31))) == sorted(expected)
            assert interner.find(expected) == session.service.codec_of("towns").interner.find(expected)
            for of in deleted:
                drop(*of)
        assert len(store.versions("towns/names")) == 1
        monkeypatch.undo()
        towns.insert(["Bern"], ["Rome"])
        towns.checkpoint()
        assert len(store.versions("towns/names")) == 2
    session, towns = started(store)
    with session:
        assert towns.query(vertices=["Bern", "town 7"]).values == {"Bern": np.inf, "town 7": np.inf}


def test_a_store_of_names_does_not_go_on_with_numbers_nor_the_other_way(store):
    session, towns = started(store)
    with session:
        towns.insert(["Rome"], ["Oslo"])
    with pytest.raises(InvalidArgument, match="has strings for ids"):
        started(store, source=1, ids="int")
    with intake_on(store) as (intake, _):
        intake.insert("http", EdgeBatch.of([1], [2]))
    with pytest.raises(InvalidArgument, match="has numbers for ids"):
        StoredNames(store, "roads").load()


def test_lines_beside_a_loop_are_no_loops(store):
    session, towns = started(store)
    with session:
        towns.insert(["Rome"], ["Oslo"])
    assert store.loops() == ["towns/log", "towns/names", "towns/versions"]
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
