"""Numbered batches in parts: admitted whole, once and in their order, whatever is sent twice, too early or not at all."""

import contextlib
import os
import tracemalloc
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pytest

from apps.sssp import ShortestPaths
from tests.bombs import little_memory
from tests.kafka.chunks import arrow_message
from tests.kept_store import KeptStore
from tests.logged import entries_of
from tests.query.conftest import intake_of, start_roads
from tests.query.test_http_loops import ARROW, distance
from tests.query.test_http_queries import problem
from tests.shortened import in_soak
from tornado.clock import SYSTEM_CLOCK, ManualClock
from tornado.errors import InvalidArgument, QueueFull
from tornado.ingest.arrow import parse_arrow
from tornado.ingest.quarantine import Quarantine
from tornado.intake import batch_sources
from tornado.intake.checkpoints import Checkpoints
from tornado.intake.push import Pusher
from tornado.intake.pushed_sources import SenderReport
from tornado.intake.staging import BatchKey, Part, Staging
from tornado.loops import Master
from tornado.loops.admission_log import AdmissionLog
from tornado.query.served_stream import ServedStream
from tornado.query.session import Session
from tornado.records.edge_batch import EdgeBatch
from tornado.storage import open_store

SOURCE = "spark:q"


def body(src, dst, weight=None, **columns):
    return arrow_message(src=src, dst=dst, weight=weight or [1.0] * len(src), **columns)


def put(client, number, part, content, *, chunk=0, source=SOURCE):
    path = f"/v1/loops/roads/batches/{source}/{number}/parts/{part}/{chunk}"
    return client.put(path, content=content, headers=ARROW)


def commit(client, number, *parts, source=SOURCE):
    named = [{"part": part, "chunks": chunks} for part, chunks in parts]
    return client.post(f"/v1/loops/roads/batches/{source}/{number}", json={"parts": named})


def test_parts_change_nothing_until_they_are_committed_and_then_come_together(client):
    assert put(client, 0, "0.a", body([1], [8])).json() == {"repeated": False}
    assert put(client, 0, "1.b", body([8], [9])).status_code == 202
    assert distance(client, 4)[1] == {"edges.csv": 4}
    assert commit(client, 0, ("0.a", 1), ("1.b", 1)).json() == {
        "accepted": 2,
        "rejected": 0,
        "offsets": {SOURCE: 2},
        "repeated": False,
    }
    assert distance(client, 9) == (2.0, {"edges.csv": 4, SOURCE: 2})
    assert client.get(f"/v1/loops/roads/batches/{SOURCE}").json() == {"newest": 0}


def test_a_batch_that_is_sent_and_committed_again_is_in_once(client):
    put(client, 0, "0.a", body([1, 1], [8, 9]))
    commit(client, 0, ("0.a", 1))
    assert put(client, 0, "0.c", body([1, 1], [8, 9])).json() == {"repeated": True}
    for parts in ([("0.c", 1)], [("0.a", 1)]):
        again = commit(client, 0, *parts).json()
        assert again == {"accepted": 0, "rejected": 0, "offsets": {SOURCE: 2}, "repeated": True}
    assert client.get("/v1/loops/roads").json()["admitted"] == 6


def test_what_a_task_sent_that_did_not_win_is_not_in(client):
    put(client, 0, "0.dead", body([1], [7], [0.5]))
    put(client, 0, "0.won", body([1], [8]))
    put(client, 0, "0.won", body([8], [9]), chunk=1)
    assert commit(client, 0, ("0.won", 2)).json()["offsets"] == {SOURCE: 2}
    assert distance(client, 9)[0] == 2.0
    assert client.get("/v1/loops/roads").json()["admitted"] == 6


def test_a_gap_is_refused_at_the_first_part_with_what_to_do(client):
    document = problem(put(client, 3, "0.a", body([1], [8])), 422, "invalid-argument")
    assert "batch 3 of 'spark:q' cannot come to stream 'roads', which has none" in document["detail"]
    assert "new checkpointLocation" in document["hint"]
    document = problem(put(client, 3, "0.a", body([1], [8]), source="client:q"), 422, "invalid-argument")
    assert "begin with 0 and have no gaps" in document["hint"]
    assert document["hint"].endswith("its sender must begin anew too: with batch 0.")
    commit(client, 0)
    problem(commit(client, 2), 422, "invalid-argument")
    assert commit(client, 1).json()["offsets"] == {SOURCE: 0}


def test_a_commit_of_what_was_never_sent_is_refused_and_may_come_again(client):
    put(client, 0, "0.a", body([1], [8]))
    document = problem(commit(client, 0, ("0.a", 2)), 422, "incomplete-batch")
    assert document["hint"].startswith("Send the batch again: this service was restarted since")
    assert "lacks 1 of its 2 chunks, the first is chunk 1 of part '0.a'" in document["detail"]
    put(client, 0, "0.a", body([8], [9]), chunk=1)
    assert commit(client, 0, ("0.a", 2)).json()["accepted"] == 2


def test_a_part_that_is_named_twice_is_refused_and_nothing_of_the_batch_is_in(client):
    put(client, 0, "0.a", body([1], [8]))
    document = problem(commit(client, 0, ("0.a", 1), ("0.a", 1)), 422, "invalid-argument")
    assert "names the part '0.a' twice" in document["detail"]
    assert commit(client, 0, ("0.a", 1)).json()["accepted"] == 1


def test_a_commit_costs_what_lies_here_however_many_chunks_it_claims(client):
    put(client, 0, "0.a", body([1], [8]))
    parts = [(f"0.{name}", 1_000_001) for name in "abcdefgh"]
    tracemalloc.start()
    document = problem(commit(client, 0, *parts), 422, "incomplete-batch")
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "lacks 8000007 of its 8000008 chunks, the first is chunk 1 of part '0.a'" in document["detail"]
    assert peak_bytes < 32 << 20
    problem(commit(client, 0, *((str(number), 0) for number in range(10_001))), 422, "invalid-argument")


def test_a_batch_that_is_given_up_is_gone_and_one_that_is_in_stays(client):
    put(client, 0, "0.a", body([1], [8]))
    path = f"/v1/loops/roads/batches/{SOURCE}/0"
    assert client.delete(path).status_code == 204
    problem(commit(client, 0, ("0.a", 1)), 422, "incomplete-batch")
    put(client, 0, "0.b", body([1], [8]))
    commit(client, 0, ("0.b", 1))
    assert client.delete(path).status_code == 204
    assert distance(client, 8)[0] == 1.0


def test_records_come_in_the_order_of_their_column_across_parts(client):
    put(client, 0, "0.a", body([1, 1], [8, 8], [5.0, 7.0], op=["=", "="], order=[3, 1]))
    put(client, 0, "1.a", body([1], [8], [6.0], op=["="], order=[2]))
    commit(client, 0, ("1.a", 1), ("0.a", 1))
    assert distance(client, 8)[0] == 5.0


def in_turn(*keys):
    """A column `order` that has several numbers a row."""
    return pa.StructArray.from_arrays([pa.array(key, pa.int64()) for key in keys], ["time", "offset"])


@pytest.mark.parametrize("is_closed_last", [True, False])
def test_records_of_one_instant_come_in_the_order_of_the_next_key_whichever_part_they_are_in(
    client, is_closed_last
):
    opening, closing = (11, 12) if is_closed_last else (12, 11)
    opened = body([1, 1], [8, 9], op=["+", "+"], order=in_turn([7, 8], [opening, 3]))
    closed = body([1, 1], [8, 9], [None] * 2, op=["-", "-"], order=in_turn([7, 7], [closing, 4]))
    # The commit names the parts in the order that is wrong without the second key.
    parts = ["0.closed", "1.opened"] if is_closed_last else ["0.opened", "1.closed"]
    for part in parts:
        put(client, 0, part, opened if part.endswith("opened") else closed)
    assert commit(client, 0, *((part, 1) for part in parts)).json()["accepted"] == 4
    assert distance(client, 8)[0] == (None if is_closed_last else 1.0)
    # The first key goes before the second.
    assert distance(client, 9)[0] == 1.0


def test_orders_of_different_kinds_are_refused_and_a_key_that_is_null_quarantined(client):
    put(client, 0, "0.a", body([1], [8], order=[1]))
    put(client, 0, "1.a", body([1], [8], order=in_turn([1], [2])))
    refused = problem(commit(client, 0, ("0.a", 1), ("1.a", 1)), 422, "invalid-argument")
    assert "orders of [1, 2] numbers, but all must have as many" in refused["detail"]
    missing = pa.array([{"time": 1, "offset": 2}, {"time": 1, "offset": None}, None])
    put(client, 0, "2.a", body([1, 1, 1], [8, 8, 8], order=missing))
    assert commit(client, 0, ("2.a", 1)).json()["rejected"] == 2
    for order in (pa.array([{}]), pa.array([{"time": "now"}]), pa.array([{"time": {"now": 1}}])):
        document = problem(put(client, 1, "0.a", body([1], [8], order=order)), 422, "invalid-argument")
        assert "an order is a signed integer or a struct of them" in document["detail"]


@pytest.mark.usefixtures("roads")
def test_an_order_that_is_null_is_quarantined_and_one_of_a_wrong_type_refused(master, open_service, serve):
    quarantine = Quarantine(None)
    client = serve(open_service(master, pusher=Pusher(quarantine=quarantine)))
    put(client, 0, "0.a", body([1, 1, 1], [8, 9, 7], [1.0, 1.0, -1.0], order=pa.array([2, None, 1])))
    put(client, 0, "1.a", body([1], [9], [-2.0], order=[0]))
    assert commit(client, 0, ("0.a", 1), ("1.a", 1)).json()["offsets"] == {SOURCE: 4}
    entries = [(source, entry.position, entry.reason) for source, entry in quarantine.recent()]
    assert [entry[:2] for entry in entries] == [(SOURCE, 2), (SOURCE, 3), (SOURCE, 4)]
    assert entries[0][2] == "order is missing"
    assert "negative" in entries[1][2]
    put(client, 1, "0.a", body([1, 1], [8, 9], [1.0, -1.0], order=[1, 2]))
    assert commit(client, 1, ("0.a", 1)).json()["offsets"] == {SOURCE: 6}
    assert quarantine.recent()[-1][1].position == 6
    document = problem(put(client, 2, "0.a", body([1], [8], order=[1.5])), 422, "invalid-argument")
    assert "column 'order' has type double" in document["detail"]
    put(client, 0, "0.a", body([1], [8]), source="spark:r")
    put(client, 0, "1.a", body([1], [8], order=[1]), source="spark:r")
    mixed = commit(client, 0, ("0.a", 1), ("1.a", 1), source="spark:r")
    assert "either all must or none" in problem(mixed, 422, "invalid-argument")["detail"]


@pytest.mark.usefixtures("roads")
def test_a_time_that_is_none_is_quarantined_where_the_stream_asks_for_it(master, open_service, serve):
    quarantine = Quarantine(None)
    service = open_service(master, pusher=Pusher(quarantine=quarantine))
    service.add_stream(ServedStream(service.pusher.intake("roads", checks_times=True)))
    client = serve(service)
    times = pa.array(["2026-01-31", "soon"], pa.string())
    put(client, 0, "0.a", body([1, 1], [8, 9], time=times, order=[2, 1]))
    assert commit(client, 0, ("0.a", 1)).json()["offsets"] == {SOURCE: 2}
    [(source, entry)] = quarantine.recent()
    assert (source, entry.position) == (SOURCE, 2)
    assert entry.record == '{"src": 1, "dst": 9, "weight": 1.0, "time": "soon"}'


@pytest.fixture(params=["memory", "lmdb"])
def store(request, tmp_path):
    with KeptStore() if request.param == "memory" else open_store(f"lmdb://{tmp_path}/store") as opened:
        yield opened


@contextmanager
def served_again(store, serve):
    """A client of a service that begins with what a store has."""
    with Session(Master(store, 1), pusher=Pusher(store=store)) as session:
        session.start(ShortestPaths(source=1), "roads")
        yield serve(session.service)


def test_a_column_that_goes_missing_is_refused_after_a_restart_too(serve, store):
    with served_again(store, serve) as client:
        put(client, 0, "0.a", body([1], [8], op=["+"]))
        commit(client, 0, ("0.a", 1))
    with served_again(store, serve) as client:
        refuse_without_columns(client)


def refuse_without_columns(client):
    document = problem(put(client, 1, "0.a", body([1], [8])), 422, "invalid-argument")
    assert "lacks the column 'op', which batches before it had" in document["detail"]
    # More columns than before are none too few; from then on they are needed as well.
    put(client, 1, "0.b", body([1], [8], op=["-"], order=[1]))
    assert commit(client, 1, ("0.b", 1)).json()["accepted"] == 1
    document = problem(put(client, 2, "0.a", body([1], [8], op=["+"])), 422, "invalid-argument")
    assert "lacks the column 'order'" in document["detail"]
    # Another source may do without.
    assert put(client, 0, "0.a", body([1], [8]), source="spark:r").status_code == 202


def test_sources_number_their_batches_apart_and_are_named_in_the_snapshot(client):
    for source in ("spark:q", "spark:r"):
        put(client, 0, "0.a", body([1], [8]), source=source)
        commit(client, 0, ("0.a", 1), source=source)
    assert distance(client, 8)[1] == {"edges.csv": 4, "spark:q": 1, "spark:r": 1}
    problem(put(client, 0, "0.a", body([1], [8]), source="a%20b"), 422, "invalid-argument")


def test_a_commit_that_says_nothing_known_is_refused(client):
    for content in ({"parts": [{"part": "a"}]}, {"part": []}, []):
        answer = client.post(f"/v1/loops/roads/batches/{SOURCE}/0", json=content)
        problem(answer, 422, "invalid-argument")


@pytest.mark.parametrize("source", ["topic:0", "edges.csv", "http", "insert", "stdin", "feed", "q" * 3000])
def test_a_sender_cannot_take_the_name_of_another_source_on_any_way(client, service, source):
    path = f"/v1/loops/roads/batches/{source}"
    for answer in (
        put(client, 0, "0.a", body([1], [8]), source=source),
        commit(client, 0, source=source),
        client.put(path, json={"rejected": 3}),
        client.get(path),
        client.delete(f"{path}/0"),
    ):
        document = problem(answer, 422, "invalid-argument")
        assert document["detail"].startswith("batches cannot come from the source")
    assert distance(client, 4)[1] == {"edges.csv": 4}
    assert entries(served.intake for served in service.streams()) == set()
    # The file's own offset is where it was, so nothing of the file is passed over.
    assert client.get("/v1/loops/roads").json()["offsets"] == {"edges.csv": 4}


def entries(intakes):
    """Names that take memory."""
    names = set()
    for intake in intakes:
        names |= {*intake._sources, *(intake._batch_sources._known or ())}
        names |= {*intake.columns._known, *intake.reports._sources}
    return names


def test_a_name_that_is_asked_for_or_refused_takes_no_memory(client, service):
    path = "/v1/loops/roads/batches"
    for number in range(20):
        assert client.get(f"{path}/spark:{number}x").json() == {"newest": None}
        assert client.delete(f"{path}/spark:{number}x/0").status_code == 204
        put(client, 7, "0.a", body([1], [8]), source=f"spark:{number}x")  # a gap
        commit(client, 0, ("0.a", 1), source=f"spark:{number}x")  # of nothing that is here
        assert client.get(f"/v1/loops/other/batches/spark:{number}x").status_code == 404
    assert [served.name for served in service.streams()] == ["roads"]
    assert entries(served.intake for served in service.streams()) == set()


@pytest.mark.parametrize("senders", [250_000, in_soak(1_000_000)])
def test_a_flood_of_names_stops_at_a_limit_and_those_that_are_known_go_on(fake, monkeypatch, senders):
    """Each sender has one batch; all that counts is on the service's side of HTTP."""
    monkeypatch.setattr(batch_sources, "MOST_BATCH_SOURCES", 50)
    intake = intake_of(start_roads(fake))
    staging = Staging(clock=SYSTEM_CLOCK)
    chunk = parse_arrow(body([1], [8]))
    refused = 0
    # 32 bytes a name: less than an object that anybody keeps of it.
    with little_memory(os.getpid(), most_bytes=32 * senders):
        for number in range(senders):
            key = BatchKey(intake, f"spark:{number}x", 0)
            intake.newest_batch(key.source)
            try:
                staging.stage(key, "a", 0, chunk)
                staging.commit(key, [Part("a", 1)])
            except InvalidArgument as error:
                refused += 1
                assert "50 sources of batches, of 50 that a loop may have" in error.message  # noqa: PT017
            with contextlib.suppress(InvalidArgument):
                intake.report(key.source, SenderReport(rejected=1))
    assert refused == senders - 50
    assert entries([intake]) == {f"spark:{number}x" for number in range(50)}
    assert staging.size_bytes == 0
    # Known ones go on, and so does what has no name of a client's.
    assert intake.push_batch("spark:7x", 1, EdgeBatch.of([1], [9])).accepted == 1
    assert intake.insert("http", EdgeBatch.of([1], [9]))
    with pytest.raises(InvalidArgument, match="of 50 that a loop may have"):
        intake.push_batch("spark:new", 0, EdgeBatch.of([1], [9]))


def test_parts_that_nobody_commits_count_against_the_limit_and_give_it_back(fake, monkeypatch):
    monkeypatch.setattr(batch_sources, "MOST_BATCH_SOURCES", 2)
    intake = intake_of(start_roads(fake))
    staging, nothing = Staging(clock=SYSTEM_CLOCK), parse_arrow(body(*3 * [pa.array([], pa.int64())]))
    a, b, c = (BatchKey(intake, f"spark:{name}", 0) for name in "abc")
    for key in (a, b):
        assert staging.stage(key, "p", 0, nothing)
        assert staging.stage(key, "p", 0, nothing)  # in place of the same
    assert staging.size_bytes == 2 * 2000
    with pytest.raises(InvalidArgument, match="of 2 that a loop may have"):
        staging.stage(c, "p", 0, nothing)
    staging.drop(a)
    assert staging.stage(c, "p", 0, nothing)
    assert staging.size_bytes == 2 * 2000


@contextmanager
def restarted(store):
    """A loop that begins with what a store has, and its intake."""
    with Master(store, 1) as master:
        loop = master.start(ShortestPaths(source=1), "roads")
        yield loop, intake_of(loop, store=store)


def test_sources_of_batches_are_counted_after_a_restart_too(store, monkeypatch):
    monkeypatch.setattr(batch_sources, "MOST_BATCH_SOURCES", 2)
    for number in range(2):
        with restarted(store) as (_, intake):
            intake.push_batch(f"spark:q{number}", 0, EdgeBatch.of([1], [8]))
    with restarted(store) as (_, intake):
        with pytest.raises(InvalidArgument, match="of 2 that a loop may have"):
            intake.push_batch("spark:new", 0, EdgeBatch.of([1], [9]))
        assert intake.push_batch("spark:q1", 1, EdgeBatch.of([1], [9])).accepted == 1


def test_a_batch_that_is_repeated_after_a_restart_is_in_once(store):
    with restarted(store) as (_, intake):
        intake.push_batch(SOURCE, 0, EdgeBatch.of([1], [8]))
        intake.push_batch(SOURCE, 1, EdgeBatch.of([8, 8], [9, 9]))
        intake.push_batch(SOURCE, 2, EdgeBatch.empty())
    with restarted(store) as (loop, intake):
        assert loop.offsets() == {SOURCE: 3}
        assert intake.newest_batch(SOURCE) == 2
        assert intake.push_batch(SOURCE, 2, EdgeBatch.of([1], [9])).is_repeated
        with pytest.raises(InvalidArgument, match="its batches up to 2"):
            intake.push_batch(SOURCE, 4, EdgeBatch.empty())
        assert intake.push_batch(SOURCE, 3, EdgeBatch.of([1], [10])).offsets == {SOURCE: 4}


def test_records_without_a_number_leave_that_of_their_source(store):
    with restarted(store) as (_, intake):
        intake.push_batch(SOURCE, 0, EdgeBatch.of([1], [8]))
        intake.insert(SOURCE, EdgeBatch.of([8], [9]))
    for count in (3, 4):
        with restarted(store) as (loop, intake):
            intake.insert(SOURCE, EdgeBatch.of([8], [9]))
            assert intake.newest_batch(SOURCE) == 0
            assert intake.push_batch(SOURCE, 0, EdgeBatch.of([1], [8])).is_repeated
            assert loop.offsets() == {SOURCE: count}


@pytest.mark.parametrize("after", [[], [3], [3, 4]], ids=["nothing", "an empty one", "one more"])
def test_a_checkpoint_that_cuts_the_log_leaves_the_number_of_each_newest_batch(store, after):
    with restarted(store) as (_, intake):
        for number in range(3):
            intake.push_batch(SOURCE, number, EdgeBatch.of([1], [8]))
        intake.push_batch("spark:empty", 0, EdgeBatch.empty())
        Checkpoints(intake, keep=1, clock=SYSTEM_CLOCK).take()
        for number in after:
            intake.push_batch(SOURCE, number, EdgeBatch.of([1], [9]) if number > 3 else EdgeBatch.empty())
    assert len(entries_of(AdmissionLog(store, "roads"))) == 1 + len(after)
    with restarted(store) as (loop, intake):
        newest = 2 + len(after)
        assert intake.newest_batch(SOURCE) == newest
        assert intake.push_batch(SOURCE, newest, EdgeBatch.of([1], [9])).is_repeated
        before = loop.offsets()[SOURCE]
        pushed = intake.push_batch(SOURCE, newest + 1, EdgeBatch.of([1], [10]))
        assert pushed.offsets == {SOURCE: before + 1}
        assert intake.newest_batch("spark:empty") == 0


def test_a_batch_that_was_refused_is_not_in_after_a_restart_and_may_come_again(store):
    with restarted(store) as (_, intake):
        intake.push_batch(SOURCE, 0, EdgeBatch.of([1], [8]))
        with pytest.raises(InvalidArgument, match="negative"):
            intake.push_batch(SOURCE, 1, EdgeBatch.of([1], [9], [-1.0]))
    with restarted(store) as (loop, intake):
        assert (loop.offsets(), intake.newest_batch(SOURCE)) == ({SOURCE: 1}, 0)
        assert intake.push_batch(SOURCE, 1, EdgeBatch.of([1], [9])).offsets == {SOURCE: 2}


def test_what_lies_too_long_makes_room_and_what_does_not_is_a_limit(fake):
    loop, clock = start_roads(fake), ManualClock()
    intake = intake_of(loop)
    chunk_bytes, row_bytes = 2000, 25
    limit_bytes = chunk_bytes + 3 * row_bytes
    staging = Staging(limit_bytes=limit_bytes, kept_s=10, clock=clock)
    old, new = BatchKey(intake, "old", 0), BatchKey(intake, "new", 0)
    staging.stage(old, "a", 0, parse_arrow(body([1, 1], [8, 9])))
    with pytest.raises(
        QueueFull, match=r"2050 bytes of batches wait.*2050 more.*limit of 2075.*maxFilesPerTrigger"
    ):
        staging.stage(new, "a", 0, parse_arrow(body([1, 1], [8, 9])))
    clock.advance(10.0)
    with pytest.raises(QueueFull):  # so long they are kept, and not a moment less
        staging.stage(new, "a", 0, parse_arrow(body([1, 1], [8, 9])))
    clock.advance(0.5)
    assert staging.stage(new, "a", 0, parse_arrow(body([1, 1], [8, 9])))
    assert staging.size_bytes == 2050
    with pytest.raises(InvalidArgument, match="lacks 1 of its 1 chunks"):
        staging.commit(old, [Part("a", 1)])
    staging.commit(new, [Part("a", 1)])
    assert staging.size_bytes == 0
    assert np.isfinite(loop.approximation().lookup(np.array([8, 9]))[0]).all()


@pytest.mark.parametrize("when", ["before it is asked", "after it is asked"])
def test_a_commit_that_comes_again_while_the_first_is_under_way_finds_its_batch_in(fake, monkeypatch, when):
    loop = start_roads(fake)
    intake = intake_of(loop)
    staging, key, parts = Staging(clock=SYSTEM_CLOCK), BatchKey(intake, SOURCE, 0), [Part("a", 1)]
    staging.stage(key, "a", 0, parse_arrow(body([1, 1], [8, 9])))
    expects = intake.expects

    def meanwhile(*arguments):
        monkeypatch.setattr(intake, "expects", expects)
        asked = expects(*arguments)
        assert staging.commit(key, parts).accepted == 2
        return asked if when == "after it is asked" else expects(*arguments)

    monkeypatch.setattr(intake, "expects", meanwhile)
    assert staging.commit(key, parts).is_repeated
    assert loop.offsets() == {"edges.csv": 4, SOURCE: 2}


def test_a_chunk_that_comes_while_its_batch_is_committed_goes_with_the_next_one(fake, monkeypatch):
    """Of an attempt that did not win; it would lie there until room is short."""
    intake, parsed = intake_of(start_roads(fake)), parse_arrow(body([1], [8]))
    staging = Staging(clock=SYSTEM_CLOCK)
    first, second = (BatchKey(intake, SOURCE, number) for number in range(2))
    staging.stage(first, "won", 0, parsed)
    check = intake.check

    def meanwhile(batch):
        monkeypatch.setattr(intake, "check", check)
        staging.commit(first, [Part("won", 1)])
        return check(batch)

    monkeypatch.setattr(intake, "check", meanwhile)
    staging.stage(first, "late", 0, parsed)
    assert staging.size_bytes > 0
    staging.stage(second, "won", 0, parsed)
    assert staging.commit(second, [Part("won", 1)]).offsets == {SOURCE: 2}
    assert staging.size_bytes == 0


def test_the_columns_of_a_batch_are_kept_before_it_is_in(fake, monkeypatch):
    loop = start_roads(fake)
    intake = intake_of(loop)
    staging, key = Staging(clock=SYSTEM_CLOCK), BatchKey(intake, SOURCE, 0)
    parsed = parse_arrow(body([1], [8]))
    assert staging.stage(key, "a", 0, parsed, columns={"src", "dst", "op"})

    def crash(*_, **__):
        raise RuntimeError("killed")

    # Whatever comes first of the two, a crash may come before the other.
    monkeypatch.setattr(intake, "push_batch", crash)
    with pytest.raises(RuntimeError, match="killed"):
        staging.commit(key, [Part("a", 1)])
    with pytest.raises(InvalidArgument, match="lacks the column 'op'"):
        intake.columns.require(SOURCE, set())
