"""What a program cannot take is looked for once in each record, wherever it comes from, and again only by who has come since."""

import io
from dataclasses import dataclass
from threading import Event, Thread

import httpx
import numpy as np
import pyarrow as pa
import pytest

import tornado
from apps.bfs import BreadthFirstSearch
from apps.sssp import ShortestPaths
from tornado.errors import InvalidArgument
from tornado.ingest.ingester import Ingester
from tornado.ingest.quarantine import Quarantine
from tornado.ingest.source import FileSource
from tornado.loops import Master
from tornado.records.edge_batch import EdgeBatch

TIMEOUT_S = 120
looked_at = []
"""The ends and weights of every record that a program looked at, in order."""


@dataclass(frozen=True)
class Noting(ShortestPaths):
    """Shortest paths that note what they look at, and take nothing behind their source either."""

    def check(self, batch):
        looked_at.extend(zip(batch.src.tolist(), batch.dst.tolist(), batch.weight.tolist(), strict=True))
        refused, reason = super().check(batch)
        return refused | (batch.dst == 99), reason


@pytest.fixture(autouse=True)
def nothing_yet():
    looked_at.clear()


def noted():
    found = list(looked_at)
    looked_at.clear()
    return found


def by_insert(session, loop, path):
    del session, path
    loop.insert([1, 2], [2, 3], [4.0, 5.0])


def by_removal(session, loop, path):
    del session, path
    loop.remove([1, 2], [2, 3], [4.0, 5.0])


def by_push(session, loop, path):
    del loop, path
    body = b'{"src": 1, "dst": 2, "weight": 4.0}\n{"src": 2, "dst": 3, "weight": 5.0}\n'
    headers = {"Content-Type": "application/x-ndjson"}
    url = f"{session.serve().url}/v1/loops/roads/edges"
    answer = httpx.post(url, content=body, headers=headers, trust_env=False, timeout=90)
    assert answer.json()["accepted"] == 2, answer.text


def by_numbered_batch(session, loop, path):
    del loop, path
    table = pa.table({"src": [1, 2], "dst": [2, 3], "weight": [4.0, 5.0]})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    url = f"{session.serve().url}/v1/loops/roads/batches/spark:q/0"
    with httpx.Client(trust_env=False, timeout=90) as client:
        headers = {"Content-Type": "application/vnd.apache.arrow.stream"}
        assert client.put(f"{url}/parts/0.a/0", content=sink.getvalue(), headers=headers).status_code == 202
        answer = client.post(url, json={"parts": [{"part": "0.a", "chunks": 1}]})
        assert answer.json()["accepted"] == 2, answer.text


def by_file(session, loop, path):
    del session
    path.write_text("1,2,4.0\n2,3,5.0\n")
    ingester = Ingester(loop.loop, FileSource(path), Quarantine(None), check=loop.loop.check)
    ingester.start()
    assert ingester.wait(timeout_s=TIMEOUT_S)
    assert ingester.error is None


@pytest.mark.parametrize("undirected", [False, True])
@pytest.mark.parametrize("way", [by_insert, by_removal, by_push, by_numbered_batch, by_file])
def test_each_record_is_looked_at_once_on_every_way_in_and_after_a_restart(tmp_path, way, undirected):
    url, records = f"lmdb://{tmp_path}/store", [(1, 2, 4.0), (2, 3, 5.0)]
    is_doubled = undirected and way is not by_file  # there the reader of the file does it
    if is_doubled:
        records = [(1, 2, 4.0), (2, 1, 4.0), (2, 3, 5.0), (3, 2, 5.0)]
    with tornado.open(url, workers=2) as session:
        loop = session.start(Noting(source=1), name="roads", undirected=undirected)
        way(session, loop, tmp_path / "roads.csv")
        assert noted() == records
    with tornado.open(url, workers=2) as session:
        loop = session.start(Noting(source=1), name="roads", undirected=undirected)
        loop.checkpoint()
        assert noted() == records  # of the log
        stored = [] if way is by_removal else records
    with tornado.open(url, workers=2) as session:
        session.start(Noting(source=1), name="roads", undirected=undirected)
        assert sorted(noted()) == stored  # of the graph


def test_what_waits_and_is_tried_again_is_not_looked_at_again():
    with Master() as master:
        loop = master.start(Noting(source=1), "roads")
        batch = EdgeBatch.of([1], [2], [3.0])
        checked = loop.check(batch)
        assert len(noted()) == 1
        with loop.stream.standing_still(lambda condition: None):
            for _ in range(3):
                with pytest.raises(tornado.errors.QueueFull):
                    loop.admit(batch, "edges", 1, 0.0, checked=checked.by)
        loop.admit(batch, "edges", 1, checked=checked.by)
        assert noted() == []
        loop.admit(batch, "edges", 2)
        assert len(noted()) == 1


def test_a_program_that_cannot_refuse_anything_is_not_asked():
    with Master() as master:
        loop = master.start(BreadthFirstSearch(source=1), "hops")
        found = loop.check(EdgeBatch.of([1], [2], [-1.0]))
        assert (found.refused.tolist(), found.by) == ([False], ())


def test_a_program_that_has_come_since_the_check_looks_and_those_before_it_do_not():
    with Master() as master:
        first = master.start(Noting(source=1), "first")
        batch = EdgeBatch.of([1, 2], [2, 3])
        checked = first.check(batch)
        master.start(Noting(source=2), "second", stream="first")
        noted()
        first.admit(batch, "edges", 2, checked=checked.by)
        assert len(noted()) == 2


@pytest.mark.parametrize("is_late", [False, True])
def test_a_loop_that_begins_while_a_checked_batch_is_on_its_way_is_not_handed_what_it_cannot_take(
    monkeypatch, is_late
):
    with Master() as master:
        hops = master.start(BreadthFirstSearch(source=1), "hops")
        batch = EdgeBatch.of([1, 2], [2, 3], [1.0, -1.0])
        checked = hops.check(batch)
        assert not checked.refused.any()
        outcome, waits = [], Event()
        prepare = hops.stream.numbers.prepare

        def prepared():
            prepare()
            waits.set()

        # The last that is done before the order is waited for.
        monkeypatch.setattr(hops.stream.numbers, "prepare", prepared)

        def admit():
            try:
                hops.admit(batch, "edges", 2, checked=checked.by)
            except InvalidArgument as error:
                outcome.append(error.message)

        admitting = Thread(target=admit, daemon=True)
        if is_late:
            with hops.stream.order:
                admitting.start()
                assert waits.wait(TIMEOUT_S)
                expecting = hops.stream.expecting(ShortestPaths(source=1))
                expecting.__enter__()
            admitting.join(TIMEOUT_S)
            expecting.__exit__(None, None, None)
        else:
            paths = master.start(ShortestPaths(source=1), "paths", stream="hops")
            admitting.start()
            admitting.join(TIMEOUT_S)
            assert paths.error is None
        assert outcome == [
            "record 1 (2 -> 3, weight -1.0) of edges: weight is negative; shortest paths need weights of at least 0"
        ]
        assert hops.offsets() == {}


def test_a_numbered_batch_that_was_checked_before_a_loop_began_is_refused_by_it_and_not_in_the_log(tmp_path):
    with tornado.open(f"lmdb://{tmp_path}", workers=1) as session:
        hops = session.start(BreadthFirstSearch(source=1), name="hops")
        intake = session.service.served(hops.loop).intake
        batch = EdgeBatch.of([1, 2], [2, 3], [1.0, -1.0])
        checked = intake.check(batch)
        session.start(ShortestPaths(source=1), name="paths", stream="hops")
        with pytest.raises(InvalidArgument, match=r"2 -> 3, weight -1\.0"):
            intake.push_batch("spark:q", 0, batch, checked=checked.by)
        assert hops.offsets() == {}
        assert intake.push_batch("spark:q", 0, batch.take(np.array([True, False]))).offsets == {"spark:q": 1}


def test_of_an_undirected_stream_a_record_is_refused_for_either_of_its_directions():
    with tornado.open("memory:", workers=1) as session:
        loop = session.start(Noting(source=1), name="roads", undirected=True)
        with pytest.raises(InvalidArgument, match="entry 1 is"):
            loop.insert([1, 99], [2, 3])
        loop.insert([1], [2])
        assert loop.query(vertices=[2]).values == {2: 1.0}
