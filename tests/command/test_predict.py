"""`tornado run --predict` and `--table`: what is written of an answer about points, and what is refused."""

import csv
import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

TRAINED = ["--points", "points.csv", "--label", "bought", "--store", "memory:", "--workers", "2"]
MODEL = ["logistic_regression", *TRAINED, "--l2", "0.1", "--tolerance", "1e-10"]


@pytest.fixture
def folder(tmp_path):
    random = np.random.default_rng(3)
    features = random.normal(size=(80, 2)).round(3)
    labels = (features @ [2.0, -1.0] > 0).astype(int)
    rows = [
        f"{i},{a},{b},{y}\n"
        for i, ((a, b), y) in enumerate(zip(features.tolist(), labels.tolist(), strict=True))
    ]
    (tmp_path / "points.csv").write_text("id,age,height,bought\n" + "".join(rows))
    (tmp_path / "new.csv").write_text("height,age,id\n1.0,2.0,500\n2,-1,-7\n")
    return tmp_path


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_points_are_predicted_with_the_exact_answer_in_the_order_of_their_file(tornado, folder):
    done = tornado("run", *MODEL, "--predict", "new.csv", "--output", "-", "--json")
    assert done.code == 0, done.err
    found = rows_of(done.out)
    assert [row["id"] for row in found] == ["500", "-7"]
    assert [float(row["label"]) for row in found] == [1.0, 0.0]
    weights = rows_of(tornado("run", *MODEL, "--output", "-").out)
    intercept, age, height = (float(row["value"]) for row in weights)
    assert [row["feature"] for row in weights] == ["intercept", "age", "height"]
    for row, (high, old) in zip(found, ((1.0, 2.0), (2.0, -1.0)), strict=True):
        margin = intercept + age * old + height * high
        assert float(row["margin"]) == pytest.approx(margin, rel=1e-3)
        assert float(row["probability"]) == pytest.approx(1 / (1 + np.exp(-abs(margin))), rel=1e-3)
    events = [json.loads(line) for line in done.err.splitlines()]
    [result] = [event for event in events if event["event"] == "result"]
    assert (result["table"], result["rows"]) == ("predictions", 2)


def test_points_without_ids_are_called_by_their_position_and_labels_count_for_nothing(tornado, folder):
    (folder / "more.csv").write_text("# people\nage,height,bought\n1,0,7\n-1,0,\n")
    words = ["svm", *TRAINED, "--l2", "0.1", "--tolerance", "0.01"]
    done = tornado("run", *words, "--predict", "more.csv", "--output", "out.parquet")
    assert done.code == 0, done.err
    found = pa.parquet.read_table(folder / "out.parquet").to_pylist()
    assert [(row["position"], row["label"], row["probability"]) for row in found] == [
        (3, 1.0, None),
        (4, 0.0, None),
    ]
    # What is not said is empty, and no nan.
    table = pa.table({"height": [0.0], "age": [1.0]})  # without the column that --label names
    pa.parquet.write_table(table, folder / "more.parquet")
    done = tornado("run", *words, "--predict", "more.parquet", "--output", "-")
    assert [(row["position"], row["label"]) for row in rows_of(done.out)] == [("1", "1.0")]
    done = tornado("run", *words, "--predict", "more.csv", "--output", "-")
    assert [row["probability"] for row in rows_of(done.out)] == ["", ""]


def test_values_clusters_and_sparse_points_are_predicted(tornado, folder):
    done = tornado("run", "linear_regression", *TRAINED, "--predict", "new.csv", "--output", "-")
    assert [*rows_of(done.out)[0]] == ["id", "value"]
    (folder / "apart.csv").write_text(
        "id,x\n" + "".join(f"{one},{one % 2 * 9 + one / 99}\n" for one in range(20))
    )
    words = ["kmeans", "--points", "apart.csv", "--clusters", "2", "--store", "memory:"]
    done = tornado("run", *words, "--predict", "apart.csv", "--output", "-")
    found = [row["cluster"] for row in rows_of(done.out)]
    assert found == found[:2] * 10
    assert set(found) == {"0", "1"}
    (folder / "one.libsvm").write_text("1 1:1 3:2\n-1 2:1\n1 1:2\n-1 2:3\n")
    (folder / "two.libsvm").write_text("0 2:5\n0 1:1\n")
    words = ["sgd", "--loss", "logistic", "--points", "one.libsvm", "--store", "memory:"]
    done = tornado("run", *words, "--predict", "two.libsvm", "--output", "-")
    assert [(row["position"], float(row["label"])) for row in rows_of(done.out)] == [("1", -1), ("2", 1)]


def test_ids_may_be_texts_and_tables_are_those_of_each_loop(tornado, folder):
    (folder / "named.csv").write_text("id,x\nleft,-5\nright,5\nfar right,6\n")
    (folder / "who.csv").write_text("x,id\n-3,Bob\n9,Ann\n")
    words = ["kmeans", "--points", "named.csv", "--ids", "string", "--clusters", "2", "--store", "memory:"]
    done = tornado("run", *words, "--predict", "who.csv", "--output", "-")
    named = {row["id"]: row["cluster"] for row in rows_of(done.out)}
    assert (list(named), len(set(named.values()))) == (["Bob", "Ann"], 2)
    words = [*MODEL, "--and", "kmeans", "--clusters", "2", "--table", "assignments"]
    words += ["--and", "kmeans", "--name", "told", "--clusters", "2", "--predict", "new.csv"]
    done = tornado("run", *words, "--output", "{loop}.csv")
    assert done.code == 0, done.err
    headers = {path.stem: path.read_text().split("\n")[0] for path in folder.glob("*.csv")}
    assert headers["logistic_regression"] == "feature,value"
    assert headers["kmeans"] == "id,cluster"
    assert headers["told"] == "id,cluster,distance"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--table", "centroids"], "--table is 'centroids', but the tables of LogisticRegression are: coefficients, values"),
        (["--table", "values", "--predict", "new.csv"], "each say what is written to --output"),
        (["--predict", "nothing.csv"], "--predict nothing.csv: there is no such file"),
        (["--predict", "-"], "--predict - names standard input"),
        (["--predict", "empty.csv"], "the file has no point"),
        (["--predict", "narrow.csv"], "narrow.csv has 1 columns of features, but its stream declares 2 features"),
        (["--predict", "other.csv"], "narrow.csv".replace("narrow", "other") + " has a column 'width'"),
        (["--predict", "bad.csv"], "--predict bad.csv: record 3 is no point: feature 'age'"),
        (["--predict", "gone.csv"], "--predict gone.csv: record 2 removes a point"),
        (["--predict", "wide.libsvm"], "declares dense points"),
        (["--output-format", "ldbc"], "learns from points"),
    ],
)  # fmt: skip
def test_what_cannot_be_written_is_refused_before_anything_is_read(tornado, folder, words, said):
    (folder / "empty.csv").write_text("age,height\n")
    (folder / "narrow.csv").write_text("age\n1\n")
    (folder / "other.csv").write_text("age,width\n1,2\n")
    (folder / "bad.csv").write_text("age,height\n1,2\nold,2\n")
    (folder / "gone.csv").write_text("id,age,height,op\n1,,,-\n")
    (folder / "wide.libsvm").write_text("1 1:1\n")
    output = "out" if "ldbc" in words else "out.csv"
    done = tornado("run", *MODEL, *words, "--output", output)
    assert done.code == 2, done.err
    assert said in done.err
    assert not (folder / output).exists()


def test_what_is_written_needs_an_output_and_a_program_that_learns(tornado, folder):
    for words in (["--table", "values"], ["--predict", "new.csv"]):
        done = tornado("run", *MODEL, *words)
        assert (done.code, "says what is written to --output, and there is none" in done.err) == (2, True)
    (folder / "edges.csv").write_text("1,2\n")
    words = ["bfs", "--source", "1", "--edges", "edges.csv", "--output", "-"]
    done = tornado("run", *words, "--predict", "new.csv")
    assert (done.code, "bfs predicts nothing of points" in done.err) == (2, True)
    assert tornado("run", *words, "--table", "values").out == "vertex,value\n1,0.0\n2,1.0\n"
