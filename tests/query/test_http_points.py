"""Points pushed over HTTP: admitted or quarantined one by one, bounded, and refused where a stream has none."""

import json

import httpx
import numpy as np
import pyarrow as pa
import pytest

import tornado
from apps.kmeans import Clusters
from apps.linear_regression import LinearRegression
from apps.sssp import ShortestPaths
from tests.query.test_http_queries import problem
from tornado.config import BODY_LIMIT_RECORDS

NDJSON, JSON = "application/x-ndjson", "application/json"
ARROW = "application/vnd.apache.arrow.stream"
PATH = "/v1/streams/points/points"


@pytest.fixture
def client():
    """Of a service with linear regression and clusters on a stream of two features."""
    with tornado.open(workers=2) as session:
        stream = session.stream("points", schema=tornado.Points(features=2, names=["age", "height"]))
        stream.start(LinearRegression(l2=0.1), "line")
        stream.start(Clusters(clusters=2), "clusters")
        server = session.serve()
        with httpx.Client(base_url=server.url, timeout=120, trust_env=False) as made:
            made.session = session
            yield made


def push(client, body, kind=NDJSON, path=PATH):
    return client.post(path, content=body, headers={"Content-Type": kind})


def clusters(client, *points):
    question = {"loop": "clusters", "vertices": list(points)}
    found = client.post("/v1/queries?wait_s=30", json=question).json()["result"]
    return {one["vertex"]: one["value"] for one in found["values"]}, found["unknown"]


def test_points_come_as_lines_as_a_list_as_one_object_and_as_a_table_in_one_sequence(client):
    lines = (
        '{"id": 1, "label": 0, "features": [0, 0]}\n{"id": 2, "label": 1, "features": [0, 1], "op": "+"}\n'
    )
    assert push(client, lines).json() == {"accepted": 2, "rejected": 0, "offsets": {"http": 2}}
    listed = json.dumps([{"id": 3, "features": [9, 9]}, {"id": 4, "features": [9, 8], "weight": 2}], indent=1)
    assert push(client, listed, JSON).json()["offsets"] == {"http": 4}
    one = json.dumps({"id": 5, "features": [9, 7]}, indent=1)
    assert push(client, one, JSON, "/v1/loops/line/points").json()["offsets"] == {"http": 5}
    table = pa.table({"id": [6, 7], "age": [0.0, None], "height": [2.0, 2.0]})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    answer = push(client, sink.getvalue().to_pybytes(), ARROW)
    assert (answer.status_code, answer.json()) == (
        202,
        {"accepted": 1, "rejected": 1, "offsets": {"http": 7}},
    )
    found, unknown = clusters(client, *range(1, 8))
    assert (found[1] == found[2] == found[6], found[3] == found[4] == found[5]) == (True, True)
    assert found[1] != found[3]
    assert unknown == [7]
    # A removal needs the id only, and a point of the same id takes the place of another.
    assert push(client, '{"id": 6, "op": "-"}\n{"id": 2, "op": "=", "features": [9, 9]}\n').status_code == 202
    found, unknown = clusters(client, 1, 2, 3, 6)
    assert (found[2] == found[3] != found[1], unknown) == (True, [6])


def test_answers_are_of_exactly_the_points_that_were_acknowledged(client):
    features, labels = np.array([[0, 1], [1, 0], [2, 2], [3, 1.5]]), np.array([1.0, 2, 3, 5])
    for place, (row, label) in enumerate(zip(features.tolist(), labels.tolist(), strict=True)):
        push(client, json.dumps({"id": place, "label": label, "features": row}))
    answer = client.post("/v1/queries?wait_s=30", json={"loop": "line"}).json()
    centred = features - features.mean(0)
    inverse = np.linalg.inv(centred.T @ centred / 4 + 0.1 * np.eye(2))
    weights = inverse @ (centred.T @ (labels - labels.mean()) / 4)
    values = {one["feature"]: one["value"] for one in answer["result"]["values"]}
    assert [values["age"], values["height"]] == pytest.approx(weights, abs=1e-2)
    assert answer["certificate"]["kind"] == "gap"
    assert answer["snapshot"]["offsets"] == {"http": 4}
    listed = client.get("/v1/streams/points").json()
    assert (listed["loops"], listed["sources"]["http"]["records"]) == (["clusters", "line"], 4)
    assert (listed["points"], listed["vertices"], listed["edges"]) == (4, 0, 0)
    push(client, '{"id": 0, "op": "-"}')
    client.post("/v1/queries?wait_s=30", json={"loop": "line"})
    assert client.get("/v1/streams").json()["streams"][0]["points"] == 3


def test_bad_records_are_in_quarantine_and_the_others_are_in(client):
    bodies = [
        ('{"id": 1, "features": [1]}', "features has 1 numbers, but points have 2 features"),
        ('{"features": [1, 2]}', "id is missing"),
        ('{"id": 2, "features": [1, 1e999]}', "feature 'height' is not finite: '1e999'"),
        ('{"id": 3, "features": {"0": 1}}', "features are sparse, but the stream declares dense points"),
        ("not json", "not a JSON object on one line"),
    ]
    body = '{"id": 9, "features": [1, 2]}\n' + "".join(line + "\n" for line, _ in bodies)
    answer = push(client, body).json()
    assert answer == {"accepted": 1, "rejected": 5, "offsets": {"http": 6}}
    entries = [entry for _, entry in client.session.service.pusher.quarantine.recent()]
    assert [entry.position for entry in entries] == [2, 3, 4, 5, 6]
    assert [entry.reason for entry in entries] == [reason for _, reason in bodies]


def test_ids_may_stand_in_quotes_where_that_is_said(client):
    body = '{"id": "9223372036854775807", "features": [1, 2]}'
    assert push(client, body).json()["rejected"] == 1
    assert push(client, body, path=f"{PATH}?ids=string").json()["accepted"] == 1


def test_bodies_that_are_no_points_or_too_many_are_refused_whole(client):
    problem(push(client, "1,2", "text/csv"), 415, "unsupported-media-type")
    problem(push(client, "[{", JSON), 422, "invalid-argument")
    problem(push(client, "no arrow", ARROW), 422, "invalid-argument")
    problem(push(client, "\n".join(["x"] * (BODY_LIMIT_RECORDS + 1))), 413, "body-too-large")
    problem(push(client, "", path="/v1/streams/lanes/points"), 404, "unknown-stream")
    problem(push(client, "", path="/v1/loops/lanes/points"), 404, "unknown-loop")
    assert client.session.loop("line").offsets() == {}


def test_a_stream_without_points_refuses_them(client):
    client.session.start(ShortestPaths(source=1), "roads")
    body = '{"id": 1, "features": [1, 2]}'
    for path in ("/v1/streams/roads/points", "/v1/loops/roads/points"):
        found = problem(push(client, body, path=path), 422, "invalid-argument")
        assert "stream 'roads' has no points" in found["detail"]


def test_edges_and_points_are_one_sequence_and_loops_of_either_may_join(client):
    push(client, '{"id": 1, "label": 0, "features": [1, 2]}')
    answer = push(client, '{"src": 1, "dst": 2}\n{"src": 2, "dst": 3}', path="/v1/streams/points/edges")
    assert answer.json()["offsets"] == {"http": 3}
    wanted = {"program": "bfs", "stream": "points", "parameters": {"source": 1}}
    assert client.post("/v1/loops", json=wanted).status_code == 201
    answer = client.post("/v1/queries?wait_s=30", json={"loop": "bfs"}).json()
    assert {one["vertex"]: one["value"] for one in answer["result"]["values"]} == {1: 0, 2: 1, 3: 2}
    listed = client.get("/v1/streams/points").json()
    assert (listed["points"], listed["vertices"], listed["edges"]) == (1, 3, 2)


def test_a_loop_is_started_on_points_by_its_app(client):
    push(client, '{"id": 1, "label": 0, "features": [1, 2]}\n{"id": 2, "label": 1, "features": [3, 2]}\n')
    wanted = {"program": "logistic_regression", "stream": "points", "parameters": {"l2": 0.5}}
    assert client.post("/v1/loops", json=wanted).status_code == 201
    answer = client.post("/v1/queries?wait_s=30", json={"loop": "logistic_regression"}).json()
    assert answer["certificate"]["kind"] == "gap"
    wanted |= {"name": "other", "parameters": {"loss": "squared"}}
    problem(client.post("/v1/loops", json=wanted), 422, "invalid-argument")
