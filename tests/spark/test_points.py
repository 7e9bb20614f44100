"""Spark writes points into a running service: columns of features and vectors, in batches and as a stream; answers are exact for them."""

import contextlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tornado
from apps.logistic_regression import LogisticRegression
from tornado.errors import InvalidArgument
from tornado.ingest.point_ids import id_at

pytestmark = pytest.mark.spark

WIDTH, COUNT = 3, 120
PARAMETERS = {"l2": 0.01, "tolerance": 1e-8}


def data():
    random = np.random.default_rng(4)
    matrix = random.normal(size=(COUNT, WIDTH)).round(3)
    labels = (matrix @ [2.0, -1.0, 0.0] + random.normal(size=COUNT) > 0).astype(float)
    return matrix, labels


@pytest.fixture
def served():
    """Serves a loop `model` on a stream of points, in this process: where it is, and what asks it."""
    with contextlib.ExitStack() as stack:

        def serve(features, *, sparse=False):
            session = stack.enter_context(tornado.open("memory:", workers=1))
            stream = session.stream("points", schema=tornado.Points(features, sparse=sparse))
            loop = stream.start(LogisticRegression(**PARAMETERS), "model")
            return session.serve().url, loop, stream

        yield serve


def asked(loop, features=None):
    answer = loop.query(vertices=features).result(60)
    return dict(answer.snapshot.offsets), answer.values


def optimum(matrix, labels):
    with tornado.open(workers=1) as session:
        stream = session.stream("points", schema=tornado.Points(features=matrix.shape[1]))
        loop = stream.start(LogisticRegression(**PARAMETERS))
        stream.insert(ids=range(len(labels)), labels=labels, features=matrix)
        return loop.query().result(60).values


def write(frame, url, **options):
    writer = frame.write.format("tornado").mode("append").option("url", url)
    writer.options(**{"loop": "model", **options}).save()


def test_columns_of_features_are_points_and_are_removed_by_their_ids(spark, served):
    matrix, labels = data()
    rows = [
        (at, float(label), *row) for at, (label, row) in enumerate(zip(labels, matrix.tolist(), strict=True))
    ]
    frame = spark.createDataFrame(rows, ["key", "bought", "a", "b", "c"]).coalesce(2)
    url, loop, _ = served(WIDTH)
    for _ in range(2):
        write(frame, url, id="key", label="bought", write_id="history")
    gone = spark.createDataFrame([(at, "-") for at in range(20)], ["id", "op"]).coalesce(1)
    write(gone, url, write_id="gone")
    offsets, values = asked(loop)
    assert offsets == {"spark-write:history": COUNT, "spark-write:gone": 20}
    assert values == pytest.approx(optimum(matrix[20:], labels[20:]), abs=1e-3)
    with pytest.raises(Exception, match="but its stream declares 3 features"):
        write(frame.drop("c").coalesce(1), url, id="key", label="bought")


def test_vectors_of_libsvm_files_keep_their_sparseness_and_rows_are_known_by_their_place(
    spark, served, tmp_path
):
    matrix, labels = data()
    wide = 100_000
    places = [0, 70_000, wide - 1]
    lines = [
        f"{label:g} " + " ".join(f"{place + 1}:{value}" for place, value in zip(places, row, strict=True))
        for label, row in zip(labels, matrix.tolist(), strict=True)
    ]
    (tmp_path / "points.txt").write_text("\n".join(lines) + "\n")
    frame = spark.read.format("libsvm").option("numFeatures", str(wide)).load(str(tmp_path / "points.txt"))
    url, loop, stream = served(wide, sparse=True)
    with pytest.raises(Exception, match="spark_points"):
        write(frame, url)
    write(tornado.spark_points(frame), url, write_id="history")
    offsets, values = asked(loop, [*places, 5, -1])
    expected = optimum(matrix, labels)
    assert offsets == {"spark-write:history": COUNT}
    assert [values[place] for place in [*places, -1]] == pytest.approx(
        [expected[at] for at in (0, 1, 2, -1)], abs=1e-3
    )
    assert values[5] == 0.0
    # The file is one partition, so the first row is the first of its source.
    stream.remove(ids=[id_at("spark-write:history", place) for place in range(1, 21)])
    expected = optimum(matrix[20:], labels[20:])
    _, values = asked(loop, places)
    assert [values[place] for place in places] == pytest.approx([expected[at] for at in range(3)], abs=1e-3)


def test_dense_and_sparse_vectors_of_one_column_are_points_of_either_kind(spark, served):
    from pyspark.ml.linalg import Vectors

    matrix, labels = data()
    rows = [
        (at, float(label), Vectors.dense(row) if at % 2 else Vectors.sparse(WIDTH, dict(enumerate(row))))
        for at, (label, row) in enumerate(zip(labels, matrix.tolist(), strict=True))
    ]
    frame = tornado.spark_points(spark.createDataFrame(rows, ["id", "label", "scaled"])).coalesce(1)
    assert frame.columns == ["id", "label", "features"]
    expected = optimum(matrix, labels)
    for sparse in (False, True):
        url, loop, _ = served(WIDTH, sparse=sparse)
        write(frame, url)
        assert asked(loop)[1] == pytest.approx(expected, abs=1e-3)


def test_a_stream_of_points_is_in_once_and_in_its_order(spark, served, tmp_path):
    matrix, labels = data()
    folder = tmp_path / "incoming"
    folder.mkdir()
    sequence = 0
    for number, ids in enumerate(np.array_split(np.arange(COUNT), 3)):
        # Each point comes with a wrong label first, is set right, and every sixth one goes.
        ops = [(at, 1.0 - labels[at], "+") for at in ids] + [(at, labels[at], "=") for at in ids]
        ops += [(at, 0.0, "-") for at in ids if at % 6 == 0]
        table = pa.table(
            {
                "id": [int(at) for at, _, _ in ops],
                "label": [float(label) for _, label, _ in ops],
                "op": [op for _, _, op in ops],
                "seq": np.arange(sequence, sequence + len(ops)),
                **{name: matrix[[at for at, _, _ in ops], place] for place, name in enumerate("abc")},
            }
        )
        sequence += len(ops)
        pq.write_table(table, folder / f"{number}.parquet")
    schema = "id BIGINT, label DOUBLE, op STRING, seq BIGINT, a DOUBLE, b DOUBLE, c DOUBLE"
    url, loop, _ = served(WIDTH)

    def finished():
        read = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))
        writer = read.repartition(2, "seq").writeStream.format("tornado")
        writer = writer.option("checkpointLocation", str(tmp_path / "state"))
        query = writer.options(url=url, loop="model", order="seq").start()
        query.processAllAvailable()
        query.stop()
        return f"spark:{query.id}"

    source = finished()
    assert finished() == source
    offsets, values = asked(loop)
    assert offsets == {source: sequence}
    kept = np.arange(COUNT) % 6 != 0
    assert values == pytest.approx(optimum(matrix[kept], labels[kept]), abs=1e-3)


@pytest.mark.parametrize(
    ("columns", "options", "said"),
    [
        (["key", "a"], {"label": "sold"}, "'sold'.* must be among them"),
        (["a"], {"order": "seq"}, "'seq'.* must be among them"),
        (["key", "id", "a"], {"id": "key"}, "a column 'id' beside it"),
        (["a", "order"], {}, "which point comes first"),
    ],
)
def test_columns_that_mean_something_else_are_refused_before_anything_is_sent(columns, options, said):
    pytest.importorskip("pyspark")
    from tornado.ingest.spark.options import SourceOptions
    from tornado.ingest.spark.writer import checked_columns

    with pytest.raises(InvalidArgument, match=said):
        checked_columns(columns, SourceOptions.of({"loop": "model"} | options))
