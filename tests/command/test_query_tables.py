"""`tornado query` of loops that learn: their tables, as CSV with the names of the columns."""

import csv
import io
import json

import numpy as np
import pytest

import tornado as tornado_loops
from apps.sssp import ShortestPaths


@pytest.fixture(scope="module")
def url():
    features = np.array([[0.0, 0.1], [0.2, 0.0], [9.0, 9.1], [9.2, 9.0]])
    with tornado_loops.open("memory:", workers=1) as session:
        points = tornado_loops.Points(features=2, names=["age", "height"])
        stream = session.stream("points", schema=points)
        stream.start(tornado_loops.LinearModel(loss="squared", l2=0.1), "line")
        stream.start(tornado_loops.KMeans(clusters=2), "clusters")
        stream.insert(ids=[4, 5, 6, 7], labels=[1, 2, 3, 5], features=features)
        yield session.serve().url


def rows_of(done):
    assert done.code == 0, done.err
    return list(csv.DictReader(io.StringIO(done.out)))


def test_all_of_the_first_table_is_printed_unless_another_one_is_named(tornado, url):
    rows = rows_of(tornado("query", "line", "--url", url))
    assert [row["feature"] for row in rows] == ["intercept", "age", "height"]
    values = rows_of(tornado("query", "line", "--url", url, "--table", "values"))
    assert [row["vertex"] for row in values] == ["-1", "0", "1"]
    rows = rows_of(tornado("query", "clusters", "--url", url))
    assert [*rows[0]] == ["cluster", "feature", "value"]
    rows = rows_of(tornado("query", "clusters", "--url", url, "--table", "assignments"))
    found = {row["id"]: row["cluster"] for row in rows}
    assert found["4"] == found["5"] != found["6"] == found["7"]
    told = json.loads(tornado("query", "clusters", "--url", url, "--table", "assignments", "--json").out)
    assert [row["id"] for row in told["result"]["values"]] == [4, 5, 6, 7]


def test_values_are_printed_where_vertices_or_the_best_are_asked_for(tornado, url):
    rows = rows_of(tornado("query", "clusters", "--url", url, "--vertices", "7,4"))
    assert [(row["vertex"], row["value"] in "01") for row in rows] == [("7", True), ("4", True)]
    rows = rows_of(tornado("query", "line", "--url", url, "--top", "1"))
    assert [*rows[0]] == ["vertex", "value"]


def test_a_name_with_a_comma_is_asked_for_in_quotes(tornado):
    with tornado_loops.open("memory:", workers=1) as session:
        loop = session.start(ShortestPaths(source="a"), "ways", ids="string")
        loop.insert(["a", "z,z"], ["z,z", "b"], [1.0, 2.0])
        url = session.serve().url
        rows = rows_of(tornado("query", "--url", url, "--vertices", '"z,z",b'))
        assert {row["vertex"]: row["value"] for row in rows} == {"z,z": "1.0", "b": "3.0"}
        rows = rows_of(tornado("query", "--url", url, "--paths", '"z,z"'))
        assert {row["path"] for row in rows} == {"z,z"}
        done = tornado("query", "--url", url, "--vertices", '"z,z')
        assert (done.code, "a value with a comma stands in double quotes" in done.err) == (2, True), done.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--table", "centroids"], "--table is 'centroids', but the tables of loop line are: coefficients, values"),
        (["--paths", "1", "--top", "1"], "--paths prints ways, and --vertices and --top print values"),
        (["--table", "coefficients", "--top", "1"], "--vertices, --top and --paths select values"),
    ],
)  # fmt: skip
def test_tables_that_are_not_there_are_wrong_usage(tornado, url, words, said):
    done = tornado("query", "line", "--url", url, *words)
    assert (done.code, said in done.err) == (2, True), done.err
