"""Predictions and tables of programs that learn, over HTTP and in Python, from main loops and from answers."""

import io
import json
import math

import numpy as np
import pyarrow as pa
import pytest
import requests

import tornado
from tornado.errors import InvalidArgument, NotSupported, ResultUnavailable

NAMES = ["age", "height", "weight"]
TIMEOUT_S = 60


def blobs(count=300):
    random = np.random.default_rng(1)
    features = random.normal(size=(count, 3))
    return features, np.where(features @ [2.0, -1.0, 0.5] > 0.2, 5.0, 3.0)


@pytest.fixture(scope="module", params=[("threads", False), ("processes", False), ("threads", True)], ids=str)
def served(request):
    engine, sparse = request.param
    features, labels = blobs()
    rows = [dict(enumerate(row)) for row in features.tolist()] if sparse else features
    with tornado.open("memory:", workers=2, engine=engine) as session:
        stream = session.stream("points", schema=tornado.Points(features=3, names=NAMES, sparse=sparse))
        stream.start(tornado.LinearModel(loss="logistic", l2=1e-2), "model")
        stream.start(tornado.LinearModel(loss="hinge", l2=1e-2, intercept=False), "svm")
        stream.start(tornado.LinearModel(loss="squared", l2=1e-2), "line")
        stream.start(tornado.KMeans(clusters=3), "clusters")
        session.stream("roads").start(_hops(), "hops")
        stream.insert(ids=np.arange(300), labels=labels, features=rows)
        yield session, session.serve().url


def _hops():
    from apps.bfs import BreadthFirstSearch

    return BreadthFirstSearch(source=0)


def given_to(session, features):
    declared = session.loop("model").program.declared_points
    return [dict(enumerate(row)) for row in features.tolist()] if declared.sparse else features


def ask(url, expected=200, **question):
    body = json.dumps(question).replace("Infinity", "1e400")
    headers = {"Content-Type": "application/json"}
    found = requests.post(f"{url}/v1/queries?wait_s=30", data=body, headers=headers, timeout=TIMEOUT_S)
    assert found.status_code == expected, found.text
    return found.json()


def test_labels_margins_and_probabilities_are_those_of_the_coefficients(served):
    session, url = served
    features, _ = blobs()
    result = session.loop("model").query(tolerance=1e-10).result(TIMEOUT_S)
    weights = np.array([result.values[feature] for feature in range(3)])
    margins = features[:20] @ weights + result.values[-1]
    answered = ask(url, loop="model", points=features[:20].tolist(), parameters={"tolerance": 1e-10})
    found = answered["result"]["predictions"]
    again = requests.get(f"{url}/v1/queries/{answered['id']}/result", timeout=TIMEOUT_S).json()
    assert again["predictions"] == found
    assert again["values"] == []
    assert [row["margin"] for row in found] == pytest.approx(margins, rel=1e-3, abs=1e-3)
    for row in found:
        assert row["label"] == (5.0 if row["margin"] >= 0.0 else 3.0)
        assert row["probability"] == pytest.approx(1.0 / (1.0 + np.exp(-abs(row["margin"]))))
    own = result.predict(given_to(session, features[:20]))
    assert own.tolist() == [row["label"] for row in found]


def test_what_is_not_a_probability_is_null_and_a_value_is_one(served):
    session, url = served
    point = [[0.5, 0.25, -1.0], {"age": 0.5, "1": 0.25, "weight": -1.0}]
    first, second = ask(url, loop="svm", points=point)["result"]["predictions"]
    assert first == second
    assert first["probability"] is None
    assert first["label"] in (3.0, 5.0)
    (value,) = ask(url, loop="line", points=point[:1])["result"]["predictions"]
    weights = session.loop("line").query().result(TIMEOUT_S).values
    expected = weights[-1] + 0.5 * weights[0] + 0.25 * weights[1] - weights[2]
    assert value == {"value": pytest.approx(expected, rel=1e-2)}


def test_a_main_loop_predicts_at_once_as_it_is(served):
    session, url = served
    features, labels = blobs()
    loop = session.loop("model")
    assert loop.wait_idle(TIMEOUT_S)
    found = loop.predict(given_to(session, features))
    assert (found == labels).mean() > 0.9
    answered = ask(url, loop="model", mode="approximate", points=features[:3].tolist())
    assert answered["certificate"] == {"kind": "none"}
    assert [row["label"] for row in answered["result"]["predictions"]] == found[:3].tolist()


def test_points_are_assigned_to_the_nearest_centroid(served):
    session, url = served
    features, _ = blobs()
    result = session.loop("clusters").query().result(TIMEOUT_S)
    table = result.table("centroids").to_pydict()
    centroids = np.array(table["value"]).reshape(3, 3)
    assert table["cluster"] == np.repeat(np.arange(3), 3).tolist()
    assert table["feature"] == NAMES * 3
    distances = np.linalg.norm(features[:, None] - centroids, axis=2)
    assert result.predict(given_to(session, features)).tolist() == distances.argmin(1).tolist()
    assigned = result.table("assignments").to_pydict()
    assert assigned == {"id": list(range(300)), "cluster": distances.argmin(1).tolist()}
    query = session.loop("clusters").query(points=given_to(session, features[:2]))
    moved = np.array(query.table("centroids")["value"]).reshape(3, 3)
    assert query.predictions["distance"] == pytest.approx(
        np.linalg.norm(features[:2, None] - moved, axis=2).min(1)
    )
    answered = ask(url, loop="clusters", points=features[:2].tolist())["result"]["predictions"]
    assert [set(row) for row in answered] == [{"cluster", "distance"}] * 2


def test_tables_are_listed_and_read_in_pages_and_formats(served):
    _, url = served
    tables = requests.get(f"{url}/v1/loops/clusters", timeout=TIMEOUT_S).json()["tables"]
    assert [table["name"] for table in tables] == ["centroids", "assignments", "values"]
    assert [column["type"] for column in tables[0]["columns"]] == ["int64", "string", "float64"]
    coefficients = requests.get(f"{url}/v1/loops/model", timeout=TIMEOUT_S).json()["tables"][0]
    assert coefficients["name"] == "coefficients"
    where = f"{url}/v1/queries/{ask(url, loop='clusters')['id']}/result"

    def read(accept, **parameters):
        found = requests.get(where, params=parameters, headers={"Accept": accept}, timeout=TIMEOUT_S)
        assert found.status_code == 200, found.text
        return found

    rows, after = [], 0
    while after is not None:
        page = read("application/json", table="assignments", limit=128, after=after).json()
        rows, after = rows + page["values"], page["next"]
    assert [row["id"] for row in rows] == list(range(300))
    lines = read("text/csv", table="assignments").text.splitlines()
    assert lines[0] == "id,cluster"
    assert lines[1:] == [f"{row['id']},{row['cluster']}" for row in rows]
    arrow = read("application/vnd.apache.arrow.stream", table="assignments").content
    assert pa.ipc.open_stream(io.BytesIO(arrow)).read_all().to_pylist() == rows
    assert len(read("application/x-ndjson", table="centroids").text.splitlines()) == 9
    for wrong in (
        {"table": "nothing"},
        {"table": "centroids", "vertices": "1"},
        {"table": "centroids", "after": "x"},
    ):
        assert requests.get(where, params=wrong, timeout=TIMEOUT_S).status_code == 422


@pytest.mark.parametrize(
    ("points", "said"),
    [
        ([[1.0, 2.0]], "has 2 features"),
        ([], "the length of points is 0"),
        ([{"3": 1.0}], "features are 0 to 2"),
        ([{"-1": 1.0}], "features are 0 to 2"),
        ([{"weigth": 1.0}], "features are 0 to 2"),
        ([[1, 2, 3], {"height": 1.0, "1": 2.0}], "points[1] has the feature 1 twice, as 'height' and as '1'"),
        ([{"1": 1.0, "01": 2.0}], "has the feature 1 twice"),
        ([["x", 1, 2]], "valid number"),
        ([[math.inf, 1, 2]], "finite"),
        ({"a": 1}, "valid array"),
        ([[0.0, 0.0, 0.0]] * 10_001, "more than the"),
    ],
)
def test_points_that_cannot_be_are_refused(served, points, said):
    _, url = served
    assert said in ask(url, 422, loop="model", points=points)["detail"]


def test_who_predicts_nothing_says_so(served):
    session, url = served
    ask(url, 422, loop="hops", points=[[1.0]])
    with pytest.raises((NotSupported, InvalidArgument)):
        session.loop("hops").predict([[1.0]])
    with pytest.raises(NotSupported, match="values of vertices only"):
        session.loop("hops").read([0]).table("coefficients")
    with pytest.raises(InvalidArgument, match="coefficients"):
        session.loop("model").read([0]).table("centroids")
    with pytest.raises(ResultUnavailable, match="no points"):
        _ = session.loop("model").read([0]).predictions
    with pytest.raises(InvalidArgument, match="features"):
        session.loop("model").predict(given_to(session, np.zeros((2, 5))))


def test_a_question_names_points_and_vertices(served):
    session, _ = served
    found = session.loop("model").query([0, -1], points=given_to(session, np.zeros((1, 3)))).result(TIMEOUT_S)
    assert list(found.values) == [0, -1]
    assert found.predictions["margin"] == pytest.approx([found.values[-1]])


def test_dictionaries_have_numbers_and_names_on_dense_streams_and_sparse_ones(served):
    session, _ = served
    model, (row,) = session.loop("model"), blobs()[0][:1]
    assert model.wait_idle(TIMEOUT_S)  # else it goes on between two predictions
    by_number = dict(enumerate(row.tolist()))
    by_name = dict(zip(NAMES, row.tolist(), strict=True))
    mixed = {"age": row[0], 1: row[1], np.int64(2): row[2]}
    expected = model.predictions(given_to(session, row[None]))["margin"]
    for given in (by_number, by_name, mixed):
        assert model.predictions([given])["margin"] == pytest.approx(expected)
    assert model.predictions([{}])["margin"] == pytest.approx(model.read([-1]).values[-1])
    for given in (by_number, by_name, mixed):  # last, as the loop goes on from what they find
        assert model.query(points=(given,)).result(TIMEOUT_S).predict([given]).shape == (1,)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (None, "rows of features"),
        (5.0, "rows of features"),
        ("x", "features is"),
        ([], "the length of points is 0"),
        ([{3: 1.0}], "has a feature 3"),
        ([{"weigth": 1.0}], "or have a declared name"),
        ([{0: 1.0}, [1.0]], "has 1 features"),
        ([{0: 1.0}, None], r"features\[1\] is None"),
        ([{0: "1"}], "a feature is a finite number"),
        ([{0: math.nan}], "finite"),
        ([{0: 10**400}], "finite"),
        ([{"age": 1.0, 0: 1.0}], "has the feature 0 twice"),
        ([{True: 1.0}], "has a feature True"),
    ],
)
def test_features_that_python_cannot_give_are_refused(served, given, said):
    session, _ = served
    with pytest.raises(InvalidArgument, match=said):
        session.loop("model").predict(given)
    with pytest.raises(InvalidArgument, match=said):
        session.loop("model").query(points=given) if given is not None else session.loop("model").predict(
            given
        )


def test_points_are_assigned_with_their_distances(served):
    session, _ = served
    features, _ = blobs()
    given = given_to(session, features[:20])
    loop = session.loop("clusters")
    query = loop.query()
    centroids = np.array(query.table("centroids")["value"]).reshape(3, 3)
    distances = np.linalg.norm(features[:20, None] - centroids, axis=2)
    for clusters, far in (query.assign(given), query.result(TIMEOUT_S).assign(given)):
        assert clusters.tolist() == distances.argmin(1).tolist()
        assert far == pytest.approx(distances.min(1))
    assert loop.wait_idle(TIMEOUT_S)  # else its centroids move between two looks
    clusters, far = loop.assign(given)
    assert (clusters.dtype, far.dtype) == (np.int64, np.float64)
    assert clusters.tolist() == loop.predict(given).tolist()
    with pytest.raises(NotSupported, match="label, margin, probability"):
        session.loop("model").assign(given)


def test_an_answer_of_predictions_has_no_table_of_values(served):
    session, url = served
    (row,) = given_to(session, np.zeros((1, 3)))
    query = session.loop("clusters").query(points=[row])
    assert query.table("centroids").num_rows == 9
    with pytest.raises(ResultUnavailable, match="has predictions only"):
        query.table("assignments")
    found = requests.get(f"{url}/v1/queries/{query.id}/result?table=assignments", timeout=TIMEOUT_S)
    assert (found.status_code, found.json()["code"]) == (409, "result-unavailable")
    assert session.loop("clusters").query([3, 5], points=[row]).table("assignments")["id"].to_pylist() == [
        3,
        5,
    ]


def test_before_there_are_points_there_is_no_centroid():
    with tornado.open("memory:") as session:
        stream = session.stream("points", schema=tornado.Points(features=2))
        loop = stream.start(tornado.KMeans(clusters=2), "clusters")
        with pytest.raises(InvalidArgument, match="no centroids yet"):
            loop.predict([[0.0, 1.0]])
        model = stream.start(tornado.LinearModel(loss="logistic"), "model")
        assert np.isnan(model.predict([[0.0, 1.0]])).all()
