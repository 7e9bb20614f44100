"""What belongs to a stream is with it from before its loops run, and goes with it: a later stream of its name has none of it."""

import threading

import httpx
import pytest

import tornado
from apps.bfs import BreadthFirstSearch
from apps.sssp import ShortestPaths
from tests.kept_store import KeptStore
from tests.query.conftest import intake_of, start_roads
from tests.query.test_batches import body
from tests.query.test_http_loops import ARROW
from tornado.errors import ConnectionLost, InvalidArgument, NameTaken, UnknownLoop
from tornado.intake.push import Pusher
from tornado.intake.stored_names import StoredNames
from tornado.loops import Master
from tornado.loops.admission_log import AdmissionLog
from tornado.query.session import Session
from tornado.records.edge_batch import EdgeBatch

BATCH = "/v1/loops/roads/batches/spark:q/0"


def served_names(session):
    return [served.name for served in session.service.streams()]


@pytest.fixture
def store():
    return KeptStore()


@pytest.fixture
def session(store):
    with Session(Master(store, 1), pusher=Pusher(store=store)) as opened:
        yield opened


def test_a_stream_that_has_ended_leaves_nothing_and_one_that_is_asked_for_makes_nothing(session):
    roads = session.stream("roads")
    roads.start(ShortestPaths(source=1), "paths").insert([1], [2])
    roads.start(BreadthFirstSearch(source=1), "hops")
    assert served_names(session) == ["roads"]
    for nobody in ("roads", "lanes"):
        with pytest.raises(UnknownLoop):
            session.service.sources(nobody)
    session.remove("paths")
    assert served_names(session) == ["roads"]
    session.remove("hops")
    assert served_names(session) == []


def test_a_start_that_is_refused_leaves_nothing_of_its_stream(session):
    with pytest.raises(InvalidArgument, match="delay bound"):
        session.start(ShortestPaths(source="Rome"), "roads", delay_bound=0, ids="string")
    assert served_names(session) == []
    with pytest.raises(InvalidArgument, match="has strings for ids"):
        session.start(ShortestPaths(source=1), "roads")  # the store has been told what its numbers are
    towns = session.start(ShortestPaths(source="Rome"), "roads", ids="string")
    with pytest.raises(NameTaken):
        session.start(ShortestPaths(source=1), "roads")
    towns.insert(["Rome"], ["Oslo"])
    assert towns.query().values == {"Rome": 0.0, "Oslo": 1.0}


def test_what_is_held_of_a_stream_that_has_ended_feeds_no_later_one_of_its_name(session, store):
    first = session.start(ShortestPaths(source=1), "roads")
    first.insert([1], [2])
    session.remove("roads")
    again = session.start(ShortestPaths(source=1), "roads")
    again.insert([2, 3], [3, 4])
    with pytest.raises(ConnectionLost, match="closed with its last loop"):
        first.insert([1] * 5, [9] * 5)
    again.insert([4], [5])
    # What it refused has not touched the log either, in which offsets never go back.
    entries = AdmissionLog(store, "roads").replay(after=0, points=None)
    assert [(entry.offset, len(entry.batch)) for entry in entries] == [(1, 1), (3, 2), (4, 1)]
    assert again.query([5]).values == {5: 4.0}


def test_parts_that_were_brought_for_a_stream_that_has_ended_are_not_committed_to_a_later_one(session):
    session.start(ShortestPaths(source="Rome"), "roads", ids="string").insert(["Rome"], ["Oslo"])
    with httpx.Client(base_url=session.serve().url, timeout=60) as client:
        part = {"url": f"{BATCH}/parts/a/0", "content": body(["Oslo"], ["Bern"]), "headers": ARROW}
        commit = {"url": BATCH, "json": {"parts": [{"part": "a", "chunks": 1}]}}
        assert client.put(**part).status_code == 202
        session.remove("roads")
        again = session.start(ShortestPaths(source="Rome"), "roads", ids="string")
        again.insert(["Rome"], ["Nice"])
        # Their names have numbers in the table of the stream that is no more.
        refused = client.post(**commit)
        assert (refused.status_code, refused.json()["code"]) == (422, "incomplete-batch")
        assert "lacks 1 of its 1 chunks" in refused.json()["detail"]
        assert client.put(**part).json() == {"repeated": False}
        assert client.post(**commit).json()["accepted"] == 1
    assert again.query().values == {"Rome": 0.0, "Oslo": 1.0, "Nice": 1.0, "Bern": 2.0}


def test_an_answer_that_is_kept_has_its_names_whatever_its_loop_is_called(session, store):
    towns = session.stream("towns", ids="string").start(ShortestPaths(source="Rome"), "paths")
    interner = session.service.codec_of("towns").interner
    towns.loop.admit(EdgeBatch.of(interner.intern(["Rome"]), interner.intern(["Oslo"])), "edges.csv", 1)
    query = towns.query()
    query.result(60)
    with httpx.Client(base_url=session.serve().url, timeout=60) as client:
        kept = client.post("/v1/loops/paths/readers/r", json={"query": query.id})
        assert kept.status_code == 200, kept.text
    assert StoredNames(store, "towns").load().find(["Rome", "Oslo"]) == [0, 1]


def test_what_was_pushed_in_the_middle_of_a_file_comes_back_in_its_place(tmp_path):
    url = f"lmdb://{tmp_path}/store"
    with tornado.open(url, workers=1) as session:
        roads = session.start(ShortestPaths(source=1), "roads")
        roads.loop.admit(EdgeBatch.of([1], [2]), "edges.csv", 1)
        roads.remove([1], [2])
        roads.loop.admit(EdgeBatch.of([1, 2], [2, 3]), "edges.csv", 3)
        named = roads.query().snapshot.version
    with tornado.open(url, workers=2) as session:
        roads = session.start(ShortestPaths(source=1), "roads")
        assert roads.offsets() == {"edges.csv": 3, "insert": 1}
        answer = roads.query()
        assert (answer.snapshot.version, answer.values) == (named, {1: 0.0, 2: 1.0, 3: 2.0})


def test_whoever_ends_a_stream_waits_for_those_who_are_in_the_middle_of_a_push(fake, store):
    intake, order = intake_of(start_roads(fake), store=store), []

    def push():
        intake.insert("http", EdgeBatch.of([1], [8]))
        order.append("pushed")

    def end():
        intake.end()
        order.append("ended")

    admitting = threading.Event()
    admit = intake.stream.admit

    def slow(*arguments, **options):
        admitting.set()
        fake.answers.wait()
        return admit(*arguments, **options)

    intake.insert("http", EdgeBatch.of([1], [7]))
    intake.stream.admit = slow
    fake.answers.clear()
    pushing = threading.Thread(target=push)
    pushing.start()
    assert admitting.wait(20)
    ending = threading.Thread(target=end)
    ending.start()
    ending.join(0.1)
    assert order == []
    fake.answers.set()
    pushing.join()
    ending.join()
    assert order == ["pushed", "ended"]
    with pytest.raises(ConnectionLost):
        intake.insert("insert", EdgeBatch.of([1], [9]))
