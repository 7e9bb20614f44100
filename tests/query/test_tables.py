"""What answers of programs that learn are read as over HTTP: the first table unless one is named, values where vertices are."""

import io
import json

import httpx
import numpy as np
import pyarrow as pa
import pytest

import tornado
from tornado.errors import NotSupported
from tornado.query.follower import Follower

COUNT = 40_000  # more than what is written at once
NAMES = ['age, "full"', "height"]
JSON, NDJSON, CSV, ARROW = (
    "application/json",
    "application/x-ndjson",
    "text/csv",
    "application/vnd.apache.arrow.stream",
)


@pytest.fixture(scope="module")
def client():
    random = np.random.default_rng(0)
    labels = np.arange(COUNT) % 2
    features = random.normal(size=(COUNT, 2)) + 6.0 * labels[:, None]
    with tornado.open("memory:", workers=1) as session:
        stream = session.stream("points", schema=tornado.Points(features=2, names=NAMES))
        stream.start(tornado.LinearModel(loss="squared", l2=0.1), "line")
        stream.start(tornado.KMeans(clusters=2), "clusters")
        stream.insert(ids=np.arange(COUNT), labels=labels, features=features)
        plain = session.stream("plain", schema=tornado.Points(features=2, sparse=True))
        plain.start(tornado.LinearModel(loss="logistic", l2=0.1), "sparse")
        plain.start(tornado.LinearModel(loss="squared_hinge", l2=0.1, intercept=False), "through zero")
        plain.insert(ids=[1, 2, 3], labels=[0, 1, 1], features=[{0: 1.0}, {1: 2.0}, {1: 1.0}])
        server = session.serve()
        with httpx.Client(base_url=server.url, timeout=120, trust_env=False) as made:
            made.session = session
            yield made


def ask(client, **question):
    answer = client.post("/v1/queries?wait_s=60", json=question).json()
    assert answer["state"] == "converged", answer
    return answer


def read(client, answer, accept=JSON, **parameters):
    where = f"/v1/queries/{answer['id']}/result"
    found = client.get(where, params=parameters, headers={"Accept": accept})
    assert found.status_code == 200, found.text
    return found


def test_coefficients_are_the_first_table_and_the_intercept_is_called_so(client):
    answer = ask(client, loop="line")
    rows = answer["result"]["values"]
    assert [row["feature"] for row in rows] == ["intercept", *NAMES]
    assert (answer["result"]["next"], answer["result"]["unknown"]) == (None, [])
    assert read(client, answer).json() == answer["result"]
    assert read(client, answer, table="coefficients").json() == answer["result"]
    lines = read(client, answer, CSV).text.splitlines()
    assert lines[:2] == ["feature,value", f"intercept,{rows[0]['value']!r}"]
    assert lines[2].startswith('"age, ""full""",')
    assert [json.loads(line) for line in read(client, answer, NDJSON).text.splitlines()] == rows
    table = pa.ipc.open_stream(io.BytesIO(read(client, answer, ARROW).content)).read_all()
    assert table.to_pylist() == rows
    values = read(client, answer, table="values").json()["values"]
    assert values == [{"vertex": at - 1, "value": row["value"]} for at, row in enumerate(rows)]


def test_features_without_names_are_called_by_their_numbers(client):
    rows = ask(client, loop="sparse")["result"]["values"]
    assert [row["feature"] for row in rows] == ["intercept", "0", "1"]
    rows = ask(client, loop="through zero")["result"]["values"]
    assert [row["feature"] for row in rows] == ["0", "1"]
    tables = client.get("/v1/loops/sparse").json()["tables"]
    assert [table["name"] for table in tables] == ["coefficients", "values"]
    assert tables[0]["columns"] == [
        {"name": "feature", "type": "string"},
        {"name": "value", "type": "float64"},
    ]


def test_who_names_vertices_or_the_best_is_answered_with_values(client):
    answer = ask(client, loop="line", vertices=[1, -1, 7])
    assert [row["vertex"] for row in answer["result"]["values"]] == [1, -1]
    assert answer["result"]["unknown"] == [7]
    assert read(client, answer).json() == answer["result"]
    whole = ask(client, loop="clusters")
    found = read(client, whole, vertices="5,6").json()["values"]
    assert [row["vertex"] for row in found] == [5, 6]
    assert [*read(client, whole, top=1).json()["values"][0]] == ["vertex", "value"]
    best = ask(client, loop="line", top=1)["result"]["values"]
    assert [*best[0]] == ["vertex", "value"]
    approximate = client.post("/v1/queries", json={"loop": "line", "mode": "approximate"}).json()
    assert [row["feature"] for row in approximate["result"]["values"]] == ["intercept", *NAMES]


def test_centroids_come_first_and_a_table_of_any_size_is_read_whole_in_every_format(client):
    answer = ask(client, loop="clusters")
    rows = answer["result"]["values"]
    assert [(row["cluster"], row["feature"]) for row in rows] == [(c, n) for c in (0, 1) for n in NAMES]
    clusters = read(client, answer, ARROW, table="assignments").content
    table = pa.ipc.open_stream(io.BytesIO(clusters)).read_all()
    assert table["id"].to_pylist() == list(range(COUNT))
    expected = [{"id": id_, "cluster": c} for id_, c in zip(*table.to_pydict().values(), strict=True)]
    assert read(client, answer, table="assignments").json() == {
        "values": expected,
        "unknown": [],
        "next": None,
    }
    lines = read(client, answer, NDJSON, table="assignments").text.splitlines()
    assert [json.loads(line) for line in lines] == expected
    lines = read(client, answer, CSV, table="assignments").text.splitlines()
    assert lines == ["id,cluster", *(f"{row['id']},{row['cluster']}" for row in expected)]
    page = read(client, answer, table="assignments", limit=3, after=COUNT - 4)
    assert (page.json()["next"], 'rel="next"' in page.headers["Link"]) == (COUNT - 1, True)
    named = read(client, answer, table="assignments", limit=1, ids="string").json()["values"]
    assert named == [{"id": "0", "cluster": expected[0]["cluster"]}]


def test_a_loop_that_learns_is_followed_by_nobody_and_says_so_at_once(client):
    assert client.get("/v1/loops/line").json()["followed_tables"] == []
    for path in ("/v1/loops/line/events", "/v1/loops/clusters/events"):
        refused = client.get(path)
        assert (refused.status_code, refused.json()["code"]) == (501, "not-supported")
        assert "learns from points and cannot be followed" in refused.json()["detail"]
    query = ask(client, loop="line")["id"]
    kept = client.post("/v1/loops/line/readers/r", json={"query": query, "after": 0})
    assert (kept.status_code, kept.json()["code"]) == (501, "not-supported")
    with pytest.raises(NotSupported, match="learns from points"):
        Follower(client.session.loop("line")._service, "line")
