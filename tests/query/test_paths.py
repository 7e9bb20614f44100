"""Ways over HTTP and in Python, of the real loops: how they are asked for, what is said of vertices without one, and every way to read them."""

import csv
import io
import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest

import tornado
from apps.connected_components import ConnectedComponents
from apps.pagerank import PageRank
from apps.sssp import ShortestPaths
from apps.widest_path import WidestPath
from tests.query.conftest import eventually
from tests.query.test_http_queries import ARROW, CSV, NDJSON, problem
from tornado.errors import InvalidArgument, ResultUnavailable, UnknownVertex
from tornado.ingest.interner import Interner
from tornado.loops import Master
from tornado.loops import ways as ways_module
from tornado.query.handles import LoopHandle
from tornado.query.ids import StringIds
from tornado.records.edge_batch import EdgeBatch
from tornado.storage import MemoryStore

# Two edges lead from 3 to 5, and the shorter way to 2 is over 3; nothing leads to 8.
ROADS = ([1, 1, 3, 3, 3, 8], [3, 2, 5, 2, 5, 1], [4.0, 9.0, 6.0, 2.5, 5.0, 1.0])
TO_5 = {"vertex": 5, "value": 9.0, "vertices": [1, 3, 5], "weights": [4.0, 5.0]}
TO_2 = {"vertex": 2, "value": 6.5, "vertices": [1, 3, 2], "weights": [4.0, 2.5]}
TO_1 = {"vertex": 1, "value": 0.0, "vertices": [1], "weights": []}
NO_WAY = {"vertex": 8, "value": None, "vertices": [], "weights": []}


@pytest.fixture
def roads(compiled_paths):
    with Master(MemoryStore(), 2) as master:
        loop = master.start(ShortestPaths(source=1), name="roads", delay_bound=64)
        loop.admit(EdgeBatch.of(*ROADS), "edges.csv", len(ROADS[0]))
        yield loop, master


@pytest.fixture
def client(roads, open_service, serve):
    return serve(open_service(roads[1], paths=6))


def asked(client, *, params=(), **fields):
    answer = client.post(
        "/v1/queries", json={"loop": "roads", **fields}, params={"wait_s": 20, **dict(params)}
    )
    assert answer.status_code == 200, answer.text
    assert answer.json()["state"] == "converged", answer.text
    return answer.json()


def test_a_question_of_paths_has_the_ways_and_the_values_at_their_ends(client):
    body = asked(client, paths=[5, 1, 8, 99, 5, 2])
    result = body["result"]
    assert result["paths"] == [TO_5, TO_1, NO_WAY, TO_2]
    assert [(row["vertex"], row["value"]) for row in result["values"]] == [
        (5, 9.0),
        (1, 0.0),
        (8, None),
        (2, 6.5),
    ]
    assert result["unknown"] == [99]
    assert client.get(f"/v1/queries/{body['id']}/result").json() == result


def test_paths_stand_beside_vertices_and_the_best(client):
    result = asked(client, paths=[5], top=2)["result"]
    assert ([row["vertex"] for row in result["values"]], result["paths"]) == ([1, 3], [TO_5])
    body = asked(client, paths=[5, 99], vertices=[8, 2])
    assert [row["vertex"] for row in body["result"]["values"]] == [8, 2]
    assert (body["result"]["paths"], body["result"]["unknown"]) == ([TO_5], [99])
    first = client.get(f"/v1/queries/{body['id']}/result", params={"limit": 1}).json()
    assert (first["next"], first["paths"]) == (8, [TO_5])
    second = client.get(f"/v1/queries/{body['id']}/result", params={"limit": 1, "after": 8}).json()
    assert ([row["vertex"] for row in second["values"]], "paths" in second) == ([2], False)
    assert "paths" not in asked(client, vertices=[5])["result"]


def test_the_table_of_paths_is_read_in_every_format(client):
    body = asked(client, paths=[5, 8, 2])
    rows = [(5, 0, 1, None), (5, 1, 3, 4.0), (5, 2, 5, 5.0), (2, 0, 1, None), (2, 1, 3, 4.0), (2, 2, 2, 2.5)]
    names = ["path", "step", "vertex", "weight"]
    path, params = f"/v1/queries/{body['id']}/result", {"table": "paths"}
    (table,) = [one for one in client.get("/v1/loops/roads").json()["tables"] if one["name"] == "paths"]
    assert [column["name"] for column in table["columns"]] == names

    def read(**headers):
        return client.get(path, params=params, headers=headers or None)

    assert [tuple(row.values()) for row in read().json()["values"]] == rows
    assert [tuple(json.loads(line).values()) for line in read(**NDJSON).text.splitlines()] == rows
    texts = list(csv.reader(io.StringIO(read(**CSV).text)))
    assert texts == [names, *(["" if cell is None else str(cell) for cell in row] for row in rows)]
    found = pa.ipc.open_stream(read(**ARROW).content).read_all()
    assert (found.column_names, list(zip(*found.to_pydict().values(), strict=True))) == (names, rows)
    assert {"name": "weight", "type": "float64"} in table["columns"]
    # The first table of such a question is that of the values, in all formats.
    assert client.get(path, headers=CSV).text.splitlines() == ["vertex,value", "5,9.0", "8,", "2,6.5"]
    page = client.get(path, params={**params, "limit": 4}).json()
    assert (len(page["values"]), page["next"]) == (4, 4)
    without = asked(client, vertices=[5])["id"]
    refused = problem(client.get(f"/v1/queries/{without}/result", params=params), 422, "invalid-argument")
    assert "named no paths" in refused["detail"]


def test_ids_are_strings_where_they_are_asked_for_as_strings(client):
    text = {"ids": "string"}
    body = asked(client, paths=["5", 8], params=text)
    expected = {**TO_5, "vertex": "5", "vertices": ["1", "3", "5"]}
    assert body["result"]["paths"] == [expected, {**NO_WAY, "vertex": "8"}]
    path = f"/v1/queries/{body['id']}/result"
    assert client.get(path, params=text).json()["paths"][0] == expected
    rows = client.get(path, params={**text, "table": "paths"}).json()["values"]
    assert rows[1] == {"path": "5", "step": 1, "vertex": "3", "weight": 4.0}


@pytest.mark.parametrize(
    ("fields", "status", "told"),
    [
        ({"paths": []}, 422, "the length of paths is 0"),
        ({"paths": [1] * 7}, 422, "the length of paths is 7"),
        ({"paths": [1] * 1001}, 422, "paths has more than the 1000"),
        ({"paths": [1.5]}, 422, "paths[0]"),
        ({"paths": ["a"]}, 422, "paths[0] is 'a'"),
        ({"paths": 5}, 422, "paths"),
        ({"paths": [5], "mode": "approximate"}, 422, "mode is approximate and paths"),
    ],
)
def test_bad_questions_of_paths_are_refused(client, fields, status, told):
    answer = client.post("/v1/queries", json={"loop": "roads", **fields})
    assert told in problem(answer, status, "invalid-argument")["detail"]


@pytest.mark.parametrize(
    ("program", "name"), [(PageRank(), "PageRank"), (ConnectedComponents(), "ConnectedComponents")]
)
def test_programs_without_parents_are_refused_with_the_reason(roads, client, program, name):
    _, master = roads
    master.start(program, name="other", delay_bound=64, stream="roads")
    answer = client.post("/v1/queries", json={"loop": "other", "paths": [5]})
    refused = problem(answer, 422, "invalid-argument")
    assert f"a value of {name} does not come along one path" in refused["detail"]
    assert "sssp" in refused["hint"]
    assert "paths" not in [table["name"] for table in client.get("/v1/loops/other").json()["tables"]]


def test_unknown_vertices_only_are_not_found(client):
    body = asked(client, paths=[98, 99])
    assert (body["result"]["paths"], body["result"]["unknown"]) == ([], [98, 99])
    found = problem(client.get(f"/v1/queries/{body['id']}/result"), 404, "unknown-vertex")
    assert "98, 99" in found["detail"]


def test_questions_of_one_branch_have_each_its_own_paths(roads, open_service):
    service = open_service(roads[1])
    handle = LoopHandle(service, roads[0])
    asked = [handle.query(paths=[vertex]) for vertex in (5, 2, 8, 1)] + [handle.query([5])]
    assert [one.paths for one in asked[:-1]] == [[TO_5], [TO_2], [NO_WAY], [TO_1]]
    with pytest.raises(ResultUnavailable, match="no paths were asked for"):
        asked[-1].paths  # noqa: B018


def test_questions_of_one_branch_that_are_too_large_together_are_answered_or_refused_each_by_itself(
    roads, open_service, monkeypatch
):
    loop, master = roads
    monkeypatch.setattr(ways_module, "MOST_VERTICES", 6)
    service = open_service(master, branches=1)
    handle = LoopHandle(service, loop)
    with ThreadPoolExecutor(1) as asking:
        # The first one has the only slot and cannot fork yet; the others wait for one together.
        with loop.stream.order:
            first = asking.submit(handle.query, paths=[1])
            eventually(lambda: service._dispatcher._scheduler.running)
            asked = [handle.query(paths=vertices) for vertices in ([5, 2], [5, 2, 1], [5], [2, 1])]
        assert first.result(20).paths == [TO_1]
    assert [one.paths for one in (asked[0], *asked[2:])] == [[TO_5, TO_2], [TO_5], [TO_2, TO_1]]
    with pytest.raises(InvalidArgument, match="the paths to 3 vertices pass more than 6 vertices"):
        asked[1].result()


def test_the_widest_way_begins_with_an_infinite_value(roads, client):
    _, master = roads
    master.start(WidestPath(source=1), name="lanes", delay_bound=64, stream="roads")
    body = client.post("/v1/queries", json={"loop": "lanes", "paths": [1, 5]}, params={"wait_s": 20}).json()
    assert body["result"]["paths"] == [
        {"vertex": 1, "value": "Infinity", "vertices": [1], "weights": []},
        {"vertex": 5, "value": 4.0, "vertices": [1, 3, 5], "weights": body["result"]["paths"][1]["weights"]},
    ]


def test_python_has_paths_of_handles_answers_and_stored_snapshots():
    with tornado.open("memory:", workers=2) as session:
        roads = session.start(ShortestPaths(source=1), name="roads")
        roads.insert(*ROADS)
        answer = roads.query(paths=[5, 8])
        assert answer.paths == answer.result().paths == [TO_5, NO_WAY]
        assert answer.values == {5: 9.0, 8: float("inf")}
        assert answer.table("paths").to_pydict()["vertex"] == [1, 3, 5]
        assert answer.check()["checked"]
        at = roads.checkpoint()
        roads.remove([3], [5])
        roads.remove([3], [5])
        assert roads.query(paths=[5], at=at).paths == [TO_5]
        assert roads.query(paths=[5], at=at, source=8).paths == [
            {"vertex": 5, "value": 10.0, "vertices": [8, 1, 3, 5], "weights": [1.0, 4.0, 5.0]}
        ]
        assert roads.query(paths=[5], top=1).paths == [{**NO_WAY, "vertex": 5}]
        with pytest.raises(UnknownVertex, match="99"):
            roads.query(paths=[99]).result()
        with pytest.raises(InvalidArgument, match="paths is '5', but must be a list"):
            roads.query(paths="5")
        ranks = session.stream("roads").start(PageRank(), name="ranks")
        with pytest.raises(InvalidArgument, match="does not come along one path"):
            ranks.query(paths=[5])


def test_string_ids_are_strings_in_ways(roads, open_service, serve):
    names = Interner()
    for vertex in range(9):
        names.intern([f"junction {vertex}"])
    service = open_service(roads[1])
    service.served(roads[0]).codec = StringIds(names)
    client = serve(service)
    result = asked(client, paths=["junction 4", "nowhere"])["result"]
    assert result["unknown"] == ["junction 4", "nowhere"]
    names_of = {vertex: service.served(roads[0]).codec.decode(np.array([vertex]))[0] for vertex in (1, 3, 5)}
    (path,) = asked(client, paths=[names_of[5]])["result"]["paths"]
    assert path == {**TO_5, "vertex": names_of[5], "vertices": list(names_of.values())}
