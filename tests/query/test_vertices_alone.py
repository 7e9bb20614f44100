"""Vertices without edges, by HTTP and from Python: seen as soon as they were acknowledged, and after a restart."""

import numpy as np
import pyarrow as pa
import pytest

from apps.sssp import ShortestPaths
from tests.kafka.chunks import arrow_message
from tests.kept_store import KeptStore
from tests.query import fake_loops
from tests.query.test_http_queries import problem
from tornado.errors import InvalidArgument
from tornado.ingest.interner import Interner
from tornado.ingest.ndjson import parse_vertices
from tornado.loops import Master
from tornado.query.ids import StringIds
from tornado.query.service import QueryService
from tornado.query.session import Session

PATH = "/v1/loops/roads/vertices"
NDJSON = {"Content-Type": "application/x-ndjson"}
ARROW = {"Content-Type": "application/vnd.apache.arrow.stream"}


def asked(client, *vertices):
    question = {"loop": "roads", "vertices": list(vertices)}
    return client.post("/v1/queries?wait_s=20", json=question).json()["result"]


def test_a_pushed_vertex_is_known_and_out_of_reach(client, roads):
    assert asked(client, 1, 77)["unknown"] == [77]
    body = '{"id": 77}\n{"id": -9223372036854775808}\n{"id": 1}\n'
    answer = client.post(PATH, content=body, headers=NDJSON)
    assert (answer.status_code, answer.json()) == (
        202,
        {"accepted": 3, "rejected": 0, "offsets": {"http": 3}},
    )
    found = asked(client, 77, -(2**63), 1, 78)
    assert found["values"] == [
        {"vertex": 77, "value": None},
        {"vertex": -(2**63), "value": None},
        {"vertex": 1, "value": 0.0},
    ]
    assert found["unknown"] == [78]
    # Edges and vertices are one sequence.
    edges = client.post("/v1/loops/roads/edges", content='{"src": 1, "dst": 77}\n', headers=NDJSON)
    assert edges.json()["offsets"] == {"http": 4}
    assert asked(client, 77)["values"] == [{"vertex": 77, "value": 1.0}]


def test_an_arrow_stream_and_digits_in_quotes_are_taken_too(client, roads):
    ids = pa.array([5, 90, None, 2**64 - 1], pa.uint64())
    answer = client.post(PATH, content=arrow_message(id=ids, name=["a", "b", "c", "d"]), headers=ARROW).json()
    assert answer == {"accepted": 2, "rejected": 2, "offsets": {"http": 4}}
    answer = client.post(f"{PATH}?ids=string", content='{"id": "9223372036854775807"}', headers=NDJSON)
    assert answer.json() == {"accepted": 1, "rejected": 0, "offsets": {"http": 5}}
    assert asked(client, 90, 2**63 - 1)["unknown"] == []
    refused = client.post(PATH, content=arrow_message(vertex=[1]), headers=ARROW)
    assert "'id' must be among them" in problem(refused, 422, "invalid-argument")["detail"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"id": "7"}', "id is not an integer: '7'"),
        (b'{"id": 1.0}', "id is not an integer: '1.0'"),
        (b'{"id": null}', "id is missing"),
        (b"{}", "id is missing"),
        (b'{"id": 9223372036854775808}', "id is beyond 64 bits: '9223372036854775808'"),
        (b'{"id": 1, "src": 2}', "unknown field: 'src'"),
        (b'{"id": 1, "id": 2}', "id is there twice"),
        (b"7", "not a JSON object on one line"),
        (b'{"id": 7', "not a JSON object on one line"),
    ],
)
def test_a_fault_is_named_and_costs_one_record(line, reason):
    parsed = parse_vertices(b'{"id": 1}\n\n' + line + b'\r\n{"id": 2}')
    assert parsed.batch.src.tolist() == [1, 2]
    assert parsed.positions.tolist() == [1, 3]
    assert [(one.position, one.record, one.reason) for one in parsed.rejected] == [(2, line.decode(), reason)]
    assert (parsed.records, parsed.accepted) == (3, 2)


def test_vertices_are_added_from_python(session, master):
    loop = session.start(master.new_program(source=1), name="roads")
    loop.insert([1], [2])
    version = loop.add_vertices(np.array([7, 8]))
    answer = loop.query(deadline_s=20).result()
    assert answer.values == {1: 0.0, 2: 1.0, 7: np.inf, 8: np.inf}
    assert answer.snapshot.version >= version
    assert answer.snapshot.offsets == {"insert": 3}
    with pytest.raises(InvalidArgument, match=r"ids\[1\] is 1.5"):
        loop.add_vertices([9, 1.5])
    assert loop.query([9, 1], deadline_s=20).result().unknown == [9]


def test_names_are_interned(fake):
    service = QueryService(fake)
    towns = fake.start(fake_loops.Fastest(0), "towns")
    interner = Interner()
    service.served(towns).codec = StringIds(interner)
    parsed = parse_vertices(b'{"id": "Rome"}\n{"id": 3}\n{"id": ""}\n', interner=interner)
    assert (interner.names(parsed.batch.src), parsed.accepted) == (["Rome"], 1)
    service.close()


def test_what_was_acknowledged_is_there_after_a_restart():
    store = KeptStore()
    with Session(Master(store, 1)) as session:
        roads = session.start(ShortestPaths(source=1), "roads")
        intake = session.service.served(roads.loop).intake
        assert intake.push("http", parse_vertices(b'{"id": 50}\nbad\n')).offsets == {"http": 2}
    with Session(Master(store, 1)) as session:
        roads = session.start(ShortestPaths(source=1), "roads")
        assert roads.offsets() == {"http": 2}
        assert roads.query().values == {50: float("inf")}
