"""Files of points on the command line: `tornado run APP --points FILE`, to a result or as a service; and what is refused."""

import csv
import gzip
import io
import json
import subprocess
import sys

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import tornado as tornado_loops
from apps.logistic_regression import LogisticRegression

COUNT, NAMES = 120, ("age", "height")
TOPIC = ["kmeans", "--kafka", "127.0.0.1:1", "--topic", "places"]
LINES = "id,age,height,bought\n"


def points():
    random = np.random.default_rng(3)
    features = random.normal(size=(COUNT, len(NAMES))).round(3)
    labels = (features @ [2.0, -1.0] + random.normal(size=COUNT) > 0).astype(float)
    return features, labels


def as_csv(features, labels):
    rows = zip(range(COUNT), *features.T.tolist(), labels.astype(int).tolist(), strict=True)
    return LINES + "".join(",".join(map(str, row)) + "\n" for row in rows)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "points.csv").write_text(as_csv(*points()))
    (tmp_path / "edges.csv").write_text("1,2,1\n2,3,1\n")
    return tmp_path


@pytest.fixture
def run(tornado, folder):
    """`tornado run` to standard output: how it ended, the values, and the events by their names."""

    def ran(app, *words):
        done = tornado("run", app, "--workers", "2", "--json", *words, "--output", "-")
        rows = list(csv.reader(io.StringIO(done.out)))[1:]
        values = {tuple(row[:-1]) if len(row) > 2 else row[0]: float(row[-1]) for row in rows}
        events = [json.loads(line) for line in done.err.splitlines() if line.startswith("{")]
        return done, values, {event["event"]: event for event in events}

    return ran


def optimum(features, labels, **parameters):
    with tornado_loops.open(workers=1) as session:
        stream = session.stream("points", schema=tornado_loops.Points(features=features.shape[1]))
        loop = stream.start(LogisticRegression(**parameters))
        stream.insert(ids=range(len(labels)), labels=labels, features=features)
        found = loop.query().result(60).values
        return dict(zip(("intercept", *NAMES), found.values(), strict=True))


def test_a_file_of_points_is_learnt_from_and_bad_records_are_in_quarantine(run, folder):
    features, labels = points()
    with (folder / "points.csv").open("a") as file:
        file.write("1000,tall,1,1\n1001,0.5,0.5,1\n")
    (folder / "more.csv").write_text("op,id,bought,height,age\n-,1001,,,\n")
    words = ["--points", "points.csv", "--points", "more.csv", "--label", "bought", "--l2", "0.01"]
    words += ["--tolerance", "1e-9"]
    done, values, events = run("logistic_regression", *words, "--quarantine", "bad.jsonl")
    assert done.code == 0, done.err
    assert events["result"]["snapshot"]["offsets"] == {"points.csv": COUNT + 2, "more.csv": 1}
    assert events["result"]["certificate"]["bound"] <= 1e-9
    assert values == pytest.approx(optimum(features, labels, l2=0.01, tolerance=1e-9), abs=1e-3)
    [bad] = [json.loads(line) for line in (folder / "bad.jsonl").read_text().splitlines()]
    assert (bad["source"], bad["position"]) == ("points.csv", COUNT + 2)
    assert "feature 'age'" in bad["reason"]


def test_libsvm_files_are_sparse_and_as_wide_as_the_widest(run, folder):
    features, labels = points()
    lines = [f"{label:g} 1:{x} 3:{y}\n" for label, (x, y) in zip(labels, features.tolist(), strict=True)]
    (folder / "one.svm").write_text("".join(lines[:50]))
    with gzip.open(folder / "two.libsvm.gz", "wt") as file:
        file.write("".join(lines[50:]) + "1 5:0\n")
    words = ["--points", "one.svm", "--points", "two.libsvm.gz", "--loss", "squared_hinge"]
    done, values, events = run("sgd", *words)
    assert done.code == 0, done.err
    assert events["result"]["snapshot"]["offsets"] == {"one.svm": 50, "two.libsvm.gz": COUNT - 49}
    assert list(values) == ["intercept", "0", "1", "2", "3", "4"]
    assert (values["1"], values["3"], values["4"]) == (0.0, 0.0, 0.0)


@pytest.fixture
def grown(run, folder):
    """A run of a libsvm file on a store, and another one when a line was added."""

    def ran(line, *words, first=()):
        text = "".join(f"{number % 2} 1:{number % 7} 3:{number % 5}\n" for number in range(40))
        (folder / "grown.svm").write_text(text)
        always = ["--loss", "squared_hinge", "--points", "grown.svm", "--store", f"lmdb://{folder}/store"]
        done, *_ = run("sgd", *always, *first)
        assert done.code == 0, done.err
        (folder / "grown.svm").write_text(text + line + "1 2:1\n")
        return run("sgd", *always, "--quarantine", "bad.jsonl", *words)

    return ran


def test_a_wider_point_of_a_file_that_has_grown_is_rejected_and_the_rest_go_on(grown, folder):
    done, values, events = grown("1 2:1 9:1\n")
    assert done.code == 0, done.err
    assert list(values) == ["intercept", "0", "1", "2"]
    assert events["result"]["snapshot"]["offsets"] == {"grown.svm": 42}
    [bad] = [json.loads(line) for line in (folder / "bad.jsonl").read_text().splitlines()]
    assert bad["position"] == 41
    assert "index 9 is beyond the declared width: 3 features have indices 1 to 3" in bad["reason"]
    assert "up to 9 features, and stream 'sgd' has had points of 3" in events["wider-points"]["message"]


def test_a_width_that_is_said_is_taken_from_the_first_point_on(grown, folder):
    done, values, events = grown("1 2:1 5:1\n", "--features", "5", first=("--features", "5"))
    assert done.code == 0, done.err
    assert list(values) == ["intercept", "0", "1", "2", "3", "4"]
    assert "wider-points" not in events
    assert not (folder / "bad.jsonl").read_text()


def test_another_width_than_that_of_the_store_is_refused_where_it_is_said(grown):
    done, *_ = grown("", "--features", "6", first=("--features", "5"))
    assert (done.code, "is declared to have Points(features=6" in done.err) == (2, True), done.err


def test_vectors_of_spark_say_how_wide_they_are_against_options_and_store(run, folder):
    kind = pa.struct(
        {
            "type": pa.int8(),
            "size": pa.int32(),
            "indices": pa.list_(pa.int32()),
            "values": pa.list_(pa.float64()),
        }
    )
    for size in (4, 5):
        rows = [{"type": 0, "size": size, "indices": [row % 4], "values": [1.0]} for row in range(20)]
        table = pa.table({"label": [row % 2 for row in range(20)], "features": pa.array(rows, kind)})
        pa.parquet.write_table(table, folder / f"{size}.parquet")
    always = ["--loss", "squared_hinge", "--store", f"lmdb://{folder}/store"]
    done, *_ = run("sgd", *always, "--points", "4.parquet", "--features", "6")
    assert (done.code, "--features is 6, and the points of 4.parquet have 4 features" in done.err) == (
        2,
        True,
    ), done.err
    done, values, _ = run("sgd", *always, "--points", "4.parquet")
    assert done.code == 0, done.err
    assert list(values) == ["intercept", "0", "1", "2", "3"]
    done, *_ = run("sgd", *always, "--points", "5.parquet")
    assert (done.code, "is declared to have Points(features=5" in done.err) == (2, True), done.err


def test_what_is_to_be_predicted_may_be_wider_than_the_files_if_points_of_the_store_are(tornado, folder):
    (folder / "wide.svm").write_text("1 1:1 3:1\n0 1:2\n")
    (folder / "narrow.svm").write_text("1 1:1\n0 1:2\n")
    (folder / "new.svm").write_text("0 3:1\n")
    always = ["sgd", "--loss", "squared_hinge", "--store", f"lmdb://{folder}/store"]
    for name in ("wide.svm", "narrow.svm"):
        words = ["--points", name, "--predict", "new.svm", "--output", f"{name}.csv"]
        done = tornado("run", *always, *words)
        assert done.code == 0, done.err
        assert len((folder / f"{name}.csv").read_text().splitlines()) == 2


def test_what_is_to_be_predicted_is_as_wide_as_the_points_of_the_store(grown, folder):
    (folder / "new.svm").write_text("0 1:1\n0 9:1\n")
    done, *_ = grown("1 9:1\n", "--predict", "new.svm")
    assert (done.code, "record 2 is no point: line 2: index 9 is beyond" in done.err) == (2, True), done.err


def test_clusters_are_of_the_ids_of_points_also_where_these_are_texts(tornado, run, folder):
    words = ["--points", "points.csv", "--label", "bought", "--clusters", "2", "--table", "assignments"]
    done, values, _ = run("kmeans", *words)
    assert (done.code, list(values)) == (0, [str(number) for number in range(COUNT)])
    assert set(values.values()) == {0.0, 1.0}
    (folder / "named.csv").write_text("id,x\nleft,-5\nright,5\nfar right,6\n")
    words = [
        "--points",
        "named.csv",
        "--ids",
        "string",
        "--clusters",
        "2",
        "--table",
        "values",
        "--output",
        "-",
    ]
    done = tornado("run", "kmeans", *words)
    found = {row["vertex"]: row["value"] for row in csv.DictReader(io.StringIO(done.out))}
    assert found.keys() == {"left", "right", "far right"}
    assert found["right"] == found["far right"] != found["left"]


@pytest.mark.parametrize(
    ("app", "words", "said"),
    [
        ("svm", ("--l2", "0.1", "--tolerance", "0.01"), "within a duality gap of "),
        ("logistic_regression", (), "points, the dual is proved)"),
        ("kmeans", ("--clusters", "2"), "checked ("),
    ],
)
def test_results_about_points_are_checked_before_they_are_written(tornado, run, app, words, said):
    done, values, events = run(app, "--points", "points.csv", "--label", "bought", *words, "--check")
    assert done.code == 0, done.err
    assert values
    certificate = events["result"]["certificate"]
    assert certificate["checked"] is True
    assert certificate["check"]["points"] == COUNT
    done = tornado(
        "run", app, "--points", "points.csv", "--label", "bought", *words, "--check", "--output", "x.csv"
    )
    assert said in done.err


def test_programs_of_edges_and_of_points_read_one_stream(tornado, folder):
    words = ["sssp", "--source", "1", "--edges", "edges.csv", "--and", "kmeans", "--points", "points.csv"]
    words += ["--table", "assignments"]
    done = tornado("run", *words, "--output", "{loop}.out.csv")
    assert done.code == 0, done.err
    assert (folder / "sssp.out.csv").read_text() == "vertex,value\n1,0.0\n2,1.0\n3,2.0\n"
    assert len((folder / "kmeans.out.csv").read_text().splitlines()) == COUNT + 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["kmeans"], "Clusters learns from points, and no file says what these are\nhint: Name files with --points"),
        (["kmeans", "--edges", "edges.csv"], "Clusters learns from points, and no file says what these are"),
        (["kmeans", "--points", "points.csv", "--edges", "edges.csv"], "--edges is about edges, and kmeans learns"),
        (["kmeans", "--points", "points.csv", "--undirected"], "--undirected is about edges"),
        (["bfs", "--source", "1", "--points", "points.csv"], "has points, and bfs reads edges\nhint: Name files of edges"),
        (["kmeans", "--points", "points.csv", "--and", "bfs", "--source", "1"], "Name a program that reads edges first"),
        (["kmeans", "--points", "points.csv", "--workers", "17"], "points are shared by 1 to 16 workers"),
        (["sgd", "--points", "points.csv"], "--loss"),
        (["kmeans", "--points", "points.csv", "--label", "sold"], "'sold' must be among them"),
        (["kmeans", "--points", "points.csv", "--clusters", "0"], "clusters is 0"),
        (["kmeans", "--sparse"], "--sparse says what points are like, and not how many features"),
        (["kmeans", "--features", "2", "--points", "points.csv"], "--features is 2, and the points of points.csv have 3 features"),
        (["kmeans", "--features", "3", "--sparse", "--points", "points.csv"], "those of points.csv have all features"),
        (["kmeans", "--features", "2", "--columns", "a,b"], "names the columns of edges, or of CSV points of a topic"),
        (["bfs", "--source", "1", "--features", "2"], "--features 2 is about points, and bfs reads edges"),
        ([*TOPIC], "Clusters learns from points, and no file says what these are"),
        ([*TOPIC, "--format", "csv", "--features", "2"], "must be named\nhint: For example --columns id,label"),
        ([*TOPIC, "--format", "csv", "--columns", "id,label"], "of which none is a feature"),
        ([*TOPIC, "--features", "2", "--dedup-key", "event"], "which are recognised by their ids"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_before_anything_is_read(tornado, folder, words, said):
    done = tornado("run", *words, "--http", "127.0.0.1:0")
    assert done.code == 2, done.err
    assert said in done.err
    assert "ready" not in done.err


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"bought": [True, False]}, "last.parquet: column 'bought' has type bool, but a label is a number"),
        ({"height": ["tall", "small"]}, "last.parquet: column 'height' has type string, but a feature is a number"),
    ],
)  # fmt: skip
def test_columns_of_a_last_file_are_looked_at_before_the_first_file_is_read(tornado, folder, columns, said):
    features, labels = points()
    names = ["points.csv"]
    for place in (1, 2):
        (folder / f"more{place}.csv").write_text(as_csv(features, labels))
        names.append(f"more{place}.csv")
    usual = {"age": [1.0, 2.0], "height": [0.5, 1.5], "bought": [0, 1]}
    pa.parquet.write_table(pa.table(usual | columns), folder / "last.parquet")
    words = [word for name in [*names, "last.parquet"] for word in ("--points", name)]
    done = tornado("run", "svm", *words, "--label", "bought", "--json", "--output", "out.csv")
    assert (done.code, said in done.err) == (2, True), done.err
    events = [json.loads(line) for line in done.err.splitlines() if line.startswith("{")]
    assert not [event for event in events if event["event"] in {"progress", "result"}]
    assert not (folder / "out.csv").exists()


def test_two_files_of_one_name_are_told_apart_or_refused(tornado, folder):
    (folder / "edges").mkdir()
    (folder / "edges" / "points.csv").write_text("1,2,1\n")
    words = [
        "sssp",
        "--source",
        "1",
        "--edges",
        "edges/points.csv",
        "--and",
        "kmeans",
        "--points",
        "points.csv",
    ]
    done = tornado("run", *words, "--output", "{loop}.out.csv")
    assert (done.code, "two sources are called points.csv" in done.err) == (2, True)


def test_a_service_of_files_of_points_answers_and_takes_more(folder, environment):
    words = ["run", "logistic_regression", "--points", "points.csv", "--label", "bought", "--l2", "0.01"]
    process = subprocess.Popen(
        [sys.executable, "-m", "tornado", *words, "--workers", "2", "--json", "--http", "127.0.0.1:0"],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        cwd=folder,
        env=environment,
    )
    try:
        events = map(json.loads, process.stderr)
        url = next(event["url"] for event in events if event["event"] == "ready")
        next(event for event in events if event["event"] == "input-ended")
        with httpx.Client(base_url=url, timeout=60, trust_env=False) as client:
            features, labels = points()
            question = {"loop": "logistic_regression", "parameters": {"tolerance": 1e-9}}
            first = client.post("/v1/queries?wait_s=30", json=question).json()
            assert first["snapshot"]["offsets"] == {"points.csv": COUNT}
            more = {"id": COUNT, "label": 0, "features": [30.0, 0.0]}
            pushed = client.post("/v1/loops/logistic_regression/points", json=more).json()
            assert pushed == {"accepted": 1, "rejected": 0, "offsets": {"http": 1}}
            answer = client.post("/v1/queries?wait_s=30", json=question).json()
            assert answer["snapshot"]["offsets"] == {"http": 1, "points.csv": COUNT}
            found = {one["feature"]: one["value"] for one in answer["result"]["values"]}
            features, labels = np.vstack([features, [30.0, 0.0]]), np.append(labels, 0.0)
            assert found == pytest.approx(optimum(features, labels, l2=0.01, tolerance=1e-9), abs=1e-3)
            assert found["age"] < first["result"]["values"][1]["value"]
    finally:
        process.terminate()
        process.communicate(timeout=60)


def test_labels_of_no_class_and_bad_weights_are_in_quarantine_and_ids_may_repeat(run, folder):
    lines = [
        "1,1,2,0,1",
        "1,3,1,1,1",
        "2,0,1,7,1",
        "3,1,1,1,-1",
        "4,1,1,0,inf",
        "5,2,2,0,0",
        "6,2,1,0,1",
        "6,1,2,0,2",
    ]
    (folder / "odd.csv").write_text("id,a,b,y,weight\n" + "".join(line + "\n" for line in lines))
    words = ["--points", "odd.csv", "--label", "y", "--classes", "0,1", "--l2", "0.1"]
    done, values, _ = run("logistic_regression", *words, "--quarantine", "bad.jsonl")
    assert done.code == 0, done.err
    assert values.keys() == {"intercept", "a", "b"}
    bad = [json.loads(line) for line in (folder / "bad.jsonl").read_text().splitlines()]
    assert [one["position"] for one in bad] == [4, 5, 6]  # lines of the file
    assert "classes 0 and 1" in bad[0]["reason"]
    assert all("weight" in one["reason"] for one in bad[1:])


def test_points_that_are_called_by_texts_teach_a_model_as_others_do(tornado, folder):
    (folder / "named.csv").write_text("id,a,label\nleft,-1,0\nright,1,1\nfar right,2,1\nright,,\n")
    words = ["logistic_regression", "--points", "named.csv", "--ids", "string", "--store", "memory:"]
    done = tornado("run", *words, "--check", "--output", "-", "--quarantine", "bad.jsonl")
    assert done.code == 0, done.err
    assert [row["feature"] for row in csv.DictReader(io.StringIO(done.out))] == ["intercept", "a"]
    assert "feature 'a' is missing" in (folder / "bad.jsonl").read_text()
    done = tornado("run", *words[:3], "--store", "memory:", "--output", "-")
    assert "warning: no record is in" in done.err


def test_a_column_of_labels_that_nobody_names_is_missed(tornado, folder):
    words = ["--points", "points.csv", "--store", "memory:", "--output", "-"]
    done = tornado("run", "svm", *words)
    assert (done.code, done.out) == (2, "")
    assert "points.csv has no column 'label', and SupportVectorMachine learns from labels alone" in done.err
    assert "Say which column has the labels with --label" in done.err
    assert tornado("run", "kmeans", "--clusters", "2", *words).code == 0
    # One of several files may have them.
    (folder / "more.csv").write_text("id,age,height,bought,label\n1,1,1,0,1\n2,2,2,1,0\n")
    assert tornado("run", "svm", "--points", "more.csv", *words, "--l2", "1").code == 0


def test_a_column_called_id_may_have_the_labels_but_not_the_ids_as_well(tornado, folder):
    (folder / "odd.csv").write_text("id,label\n0,-1\n1,2\n0,-2\n1,1\n")
    table = pa.table({"id": [0, 1, 0, 1], "label": [-1.0, 2.0, -2.0, 1.0]})
    pa.parquet.write_table(table, folder / "odd.parquet")
    for name in ("odd.csv", "odd.parquet"):
        words = ["linear_regression", "--points", name, "--store", "memory:", "--output", "-"]
        done = tornado("run", *words, "--label", "id")
        assert [row["feature"] for row in csv.DictReader(io.StringIO(done.out))] == ["intercept", "label"]
        assert float(done.out.split(",")[-1]) > 0
        done = tornado("run", *words, "--label", "id", "--id", "id")
        assert (done.code, "is to have the labels and the ids of points" in done.err) == (2, True)
