"""`tornado check` of programs that learn: results of ours and of scikit-learn, right and wrong ones, against files of points."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression

from tornado.command import main

COUNT, NAMES = 90, ("age", "height")


def points():
    random = np.random.default_rng(5)
    features = random.normal(size=(COUNT, 2)).round(3)
    return features, (features @ [2.0, -1.0] + random.normal(size=COUNT) > 0).astype(int)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TORNADO_LOOPS_DATA_DIR", str(tmp_path / "data"))
    features, labels = points()
    rows = [f"{i},{a},{b},{y},+" for i, ((a, b), y) in enumerate(zip(features.tolist(), labels, strict=True))]
    # Of each id the last record counts: 0 comes again as it was, 500 goes, and a record of no point is left out.
    rows = ["0,7,7,1,+", "500,9,9,0,+", "501,x,1,1,+", *rows, "500,,,,-"]
    (tmp_path / "points.csv").write_text("\n".join(["id,age,height,bought,op", *rows, ""]))
    return tmp_path


def write(path, header, *columns):
    rows = zip(*columns, strict=True)
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows), ""]))


def check(capsys, *words, files=("--points", "points.csv", "--label", "bought")):
    code = main(["check", *map(str, words), *files])
    told = capsys.readouterr()
    return code, told.out.strip(), told.err


@pytest.fixture
def by_anybody(folder):
    """scikit-learn's optimum, in the columns of ours."""
    features, labels = points()
    model = LogisticRegression(C=1 / (0.01 * COUNT), tol=1e-10).fit(features, labels)
    weights = [*model.intercept_, *model.coef_[0]]
    write(folder / "weights.csv", "feature,value", ("intercept", *NAMES), map(repr, map(float, weights)))
    write(folder / "numbers.csv", "vertex,value", (-1, 0, 1), map(repr, map(float, weights)))
    table = pa.table({"feature": [*NAMES, "intercept"], "value": [*weights[1:], weights[0]]})
    pa.parquet.write_table(table, folder / "weights.parquet")
    return weights


LEARNT = ["logistic_regression", "--l2", "0.01"]


@pytest.mark.parametrize("name", ["weights.csv", "numbers.csv", "weights.parquet"])
def test_weights_of_anybody_are_right_within_the_bound(by_anybody, capsys, name):
    code, said, noted = check(capsys, name, *LEARNT, "--bound", "1e-6")
    assert (code, said.startswith(f"right: {COUNT} points; ")) == (0, True), (said, noted)
    assert "a dual point proves" in said
    assert "1 records were rejected" in noted
    code, said, _ = check(capsys, name, *LEARNT, "--json")
    found = json.loads(said)
    assert (code, found["right"], found["proved"], found["points"]) == (0, True, True, COUNT)
    assert found["dual"] <= found["primal"] + 1e-12


def test_weights_that_are_a_little_off_are_wrong_and_the_objective_says_why(folder, by_anybody, capsys):
    off = [weight * 1.2 for weight in by_anybody]
    write(folder / "off.csv", "feature,value", ("intercept", *NAMES), off)
    code, said, _ = check(capsys, "off.csv", *LEARNT)
    assert (code, said.split()[0]) == (1, "wrong:")
    assert "but there are weights whose objective is" in said
    assert check(capsys, "off.csv", *LEARNT, "--bound", "0.5")[0] == 0
    # Right for one penalty, they are wrong for another.
    assert check(capsys, "weights.csv", "logistic_regression", "--l2", "1.0")[0] == 1


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([("intercept", 0), ("age", 1)], "feature 'height' has no row"),
        ([("intercept", 0), ("age", 1), ("height", "")], "feature 'height' has no value"),
        ([("intercept", 0), ("age", 1), ("height", 1), ("age", 1)], "feature 'age' has two rows"),
        ([("intercept", 0), ("age", 1), ("width", 1)], "'width' has a row, but no feature is called so"),
        ([("intercept", 0), ("age", "nan"), ("height", 1)], "feature 'age' has nan"),
        ([("intercept", "inf"), ("age", 1), ("height", 1)], "feature 'intercept' has inf"),
    ],
)
def test_rows_that_are_no_weights_are_wrong(folder, capsys, rows, said):
    write(folder / "rows.csv", "feature,value", *zip(*rows, strict=True))
    code, told, _ = check(capsys, "rows.csv", *LEARNT)
    assert (code, told) == (1, f"wrong: {said}")


def test_points_in_a_file_with_something_behind_its_stream_are_not_checked_against(
    folder, by_anybody, capsys
):
    features, labels = points()
    table = pa.table({"age": features[:, 0], "height": features[:, 1], "bought": labels})
    with pa.ipc.new_stream(folder / "points.arrow", table.schema) as writer:
        writer.write_table(table)
    files = ("--points", "points.arrow", "--label", "bought")
    assert check(capsys, "weights.csv", *LEARNT, files=files)[0] == 0
    stream = (folder / "points.arrow").read_bytes()
    (folder / "points.arrow").write_bytes(stream + stream)
    code, told, err = check(capsys, "weights.csv", *LEARNT, files=files)
    assert (code, told) == (1, "")
    assert f"ends at byte {len(stream)} of points.arrow, are {len(stream)} bytes more" in err


@pytest.fixture
def clustered():
    features, _ = points()
    return KMeans(3, n_init=4, tol=0.0, random_state=0).fit(features)


def test_assignments_of_anybody_are_right_where_nothing_would_move(folder, clustered, capsys):
    write(folder / "found.csv", "id,cluster", range(COUNT), clustered.labels_)
    write(folder / "values.csv", "vertex,value", range(COUNT), clustered.labels_)
    for name in ("found.csv", "values.csv"):
        code, said, _ = check(capsys, name, "kmeans", "--clusters", "3")
        assert (code, said.split(";")[0]) == (0, f"right: {COUNT} points")
    moved = clustered.labels_.copy()
    moved[7] = (moved[7] + 1) % 3
    write(folder / "moved.csv", "id,cluster", range(COUNT), moved)
    code, said, _ = check(capsys, "moved.csv", "kmeans", "--clusters", "3", "--json")
    assert (code, json.loads(said)["point"], "is nearer" in said) == (1, 7, True)


@pytest.mark.parametrize(
    ("ids", "clusters", "said"),
    [
        (range(1, COUNT), 0, "point 0 has no row"),
        (range(COUNT + 1), 0, f"point {COUNT} has a row, but the files leave no such point"),
        ([*range(COUNT), 4], 0, "point 4 has two rows"),
        (range(COUNT), 3, "point 0 is in cluster 3, but there are 3"),
        (range(COUNT), "", "point 0 is in no cluster"),
        (range(COUNT), 0, "only 1 of 3 clusters have points, but there are more different points than that"),
    ],
)
def test_rows_that_are_no_assignments_are_wrong(folder, capsys, ids, clusters, said):
    write(folder / "rows.csv", "id,cluster", ids, [clusters] * len(ids))
    code, told, _ = check(capsys, "rows.csv", "kmeans", "--clusters", "3")
    assert (code, told) == (1, f"wrong: {said}")


def test_centroids_are_right_where_they_are_the_means_of_what_is_nearest(folder, clustered, capsys):
    features, _ = points()
    means = np.array([features[clustered.labels_ == one].mean(0) for one in range(3)])
    columns = np.repeat(range(3), 2), NAMES * 3
    write(folder / "means.csv", "cluster,feature,value", *columns, means.ravel())
    assert check(capsys, "means.csv", "kmeans", "--clusters", "3")[0] == 0
    write(folder / "off.csv", "cluster,feature,value", *columns, means.ravel() + 1e-6)
    code, said, _ = check(capsys, "off.csv", "kmeans", "--clusters", "3")
    assert (code, "of its centroid, but the mean of its points is" in said) == (1, True)
    write(folder / "few.csv", "cluster,feature,value", *(column[:5] for column in columns), means.ravel()[:5])
    code, said, _ = check(capsys, "few.csv", "kmeans", "--clusters", "3")
    assert (code, said) == (1, "wrong: cluster 2 has no row for feature 'height'")


def test_what_a_run_writes_is_right(folder, capsys):
    files = ("--points", "points.csv", "--label", "bought")
    for app, *words in (["svm", "--l2", "0.1", "--tolerance", "0.01"], ["kmeans", "--clusters", "4"]):
        assert main(["run", app, *words, *files, "--store", "memory:", "--output", "out.csv"]) == 0
        capsys.readouterr()
        code, said, _ = check(capsys, "out.csv", app, *words)
        assert (code, said.split(":")[0]) == (0, "right")


@pytest.mark.parametrize(
    ("words", "files", "said"),
    [
        (["kmeans"], (), "there are no points to check it against\nhint: Name files with --points."),
        (["kmeans"], ("--edges", "points.csv"), "--edges is about edges, and kmeans learns from points"),
        (["bfs", "--source", "1"], ("--points", "points.csv"), "--points is about points, and bfs reads edges"),
        (["kmeans", "--bound", "1"], ("--points", "points.csv"), "--bound 1 is about an objective"),
        (["svm"], ("--points", "nothing.csv"), "nothing.csv"),
        (["svm"], ("--points", "points.csv", "--label", "sold"), "'sold' must be among them"),
        (["svm"], ("--points", "points.csv", "--label", "age"), "points have the labels"),
    ],
)  # fmt: skip
def test_wrong_usage_exits_2(folder, capsys, words, files, said):
    write(folder / "rows.csv", "feature,value", ("intercept", "height", "bought"), (0, 1, 1))
    code, _, told = check(capsys, "rows.csv", *words, files=files)
    assert (code, said in told) == (2, True), told
