"""Files of points of every form: read, resumed, packed, broken, and what they declare."""

import gzip
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.ingest.naive_points import id_at, outcome_of, read_libsvm
from tornado.errors import InvalidArgument, SourceBroken
from tornado.ingest.interner import Interner
from tornado.ingest.known_files import KnownFiles
from tornado.ingest.point_layout import PointFormat
from tornado.ingest.point_source import PointFile, declared_by, open_point_files, says_width
from tornado.records.point_schema import Points
from tornado.storage import open_store

ROWS = 11
BAD = 4  # from 0: a row whose feature is infinite
FEATURES = np.arange(ROWS * 2, dtype=float).reshape(ROWS, 2)
FEATURES[BAD, 1] = np.inf
LABELS = np.arange(ROWS) % 2


def write_csv(path):
    lines = ["# points", "a,label,b"] + [
        f"{a},{y},{b}" for (a, b), y in zip(FEATURES.tolist(), LABELS, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")


def write_libsvm(path):
    lines = [f"{y} 1:{a} 2:{b}" for (a, b), y in zip(FEATURES.tolist(), LABELS, strict=True)]
    path.write_text("\n".join(lines))


def dense_table():
    return pa.table({"a": FEATURES[:, 0], "label": LABELS, "b": FEATURES[:, 1]})


def write_stream(path):
    with pa.ipc.new_stream(path, dense_table().schema) as writer:
        writer.write_table(dense_table(), max_chunksize=3)


def write_arrow(path):
    with pa.ipc.new_file(path, dense_table().schema) as writer:
        writer.write_table(dense_table(), max_chunksize=3)


def write_parquet(path):
    pq.write_table(dense_table(), path, row_group_size=4)


def write_sparse_parquet(path):
    rows = [[(0, a), (1, b)] for a, b in FEATURES.tolist()]
    table = pa.table({"label": LABELS, "features": pa.array(rows, pa.map_(pa.int32(), pa.float64()))})
    pq.write_table(table, path, row_group_size=4)


FORMS = {
    "points.csv": write_csv,
    "points.libsvm": write_libsvm,
    "stream.arrow": write_stream,
    "points.arrow": write_arrow,
    "points.parquet": write_parquet,
    "sparse.parquet": write_sparse_parquet,
}


@pytest.fixture(params=list(FORMS))
def path(request, tmp_path):
    path = tmp_path / request.param
    FORMS[request.param](path)
    return path


def read(path, *, offset=0, interner=None, **options):
    source = PointFile(
        path, declared_by([path]), interner=interner, max_records=options.pop("max_records", 3), **options
    )
    if offset:
        source.seek(offset)
    return list(source.batches())


def rows_of(parsed):
    """Row numbers from 0 of good and of bad records."""
    first = np.rint(
        np.concatenate(
            [
                one.batch.features[:, 0] if hasattr(one.batch, "features") else one.batch.values[0::2]
                for one in parsed
            ]
            or [[]]
        )
    )
    return (first / 2).astype(int).tolist(), [
        rejection.reason for one in parsed for rejection in one.rejected
    ]


def test_a_file_can_be_read_from_any_record_on(path):
    whole = outcome_of(read(path))
    assert whole.records == ROWS
    assert len(whole.rejected) == 1
    assert "is not finite" in whole.rejected[0][2]
    for offset in range(ROWS + 1):
        parsed = read(path, offset=offset)
        good, bad = rows_of(parsed)
        assert good == [row for row in range(offset, ROWS) if row != BAD]
        assert len(bad) == int(offset <= BAD)
        assert sum(one.records for one in parsed) == ROWS - offset
        # Ids and positions are those of the first reading.
        rest = outcome_of(parsed)
        assert rest.points == [one for one in whole.points if one in rest.points]
        assert len(rest.points) == len(good)
        assert rest.rejected == whole.rejected[: len(bad)]


def test_an_offset_behind_the_end_says_that_the_file_is_another(path):
    with pytest.raises(SourceBroken, match=f"has only {ROWS} records, but {ROWS + 1}"):
        read(path, offset=ROWS + 1)


def test_ids_are_made_of_name_and_position(path):
    points = [
        point
        for one in read(path)
        for point in zip(one.batch.id.tolist(), one.positions.tolist(), strict=True)
    ]
    assert all(found == id_at(path.name, position, strings=False) for found, position in points)
    interner = Interner()
    parsed = read(path, interner=interner, name="elsewhere")
    names = [name for one in parsed for name in interner.names(one.settled().id)]
    assert names == [f"elsewhere:{position}" for _, position in points]


def test_a_packed_file_is_read_as_the_file(path):
    packed = path.with_name(path.name + ".gz")
    with path.open("rb") as plain, gzip.open(packed, "wb") as file:
        shutil.copyfileobj(plain, file)
    expected, found = outcome_of(read(path)), outcome_of(read(packed, name=path.name))
    assert found == expected


def test_a_file_that_ends_too_early_is_a_broken_source(path):
    packed = path.with_name(path.name + ".gz")
    packed.write_bytes(gzip.compress(path.read_bytes())[:-20])
    source = PointFile(packed, declared_by([path]))
    with pytest.raises(SourceBroken):
        list(source.batches())


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("behind", [b"x", bytes(8), "a stream"])
def test_what_stands_behind_an_arrow_stream_breaks_the_source_and_the_rows_before_it_are_in(
    tmp_path, behind, packed
):
    whole = tmp_path / "whole.arrow"
    write_stream(whole)
    stream = whole.read_bytes()
    behind = stream if behind == "a stream" else behind
    path = tmp_path / ("points.arrow.gz" if packed else "points.arrow")
    path.write_bytes(gzip.compress(stream + behind) if packed else stream + behind)
    source = PointFile(path, declared_by([path]))
    parsed = []
    said = rf"ends at byte {len(stream)} of points.arrow(.gz)?, are {len(behind)} bytes more.*one stream"
    with pytest.raises(SourceBroken, match=said):
        parsed.extend(source.batches())
    source.close()
    assert outcome_of(parsed).records == ROWS


def test_batches_have_at_most_so_many_records(path):
    assert all(0 < one.records <= 3 for one in read(path))


def test_a_closed_source_ends(path):
    source = PointFile(path, declared_by([path]), max_records=2)
    batches = source.batches()
    next(batches)
    source.close()
    assert list(batches) == []
    with pytest.raises(InvalidArgument, match="read or closed already"):
        next(source.batches())


def test_files_of_points_are_known_again(path):
    source = PointFile(path, declared_by([path]))
    with open_store("memory:") as store:
        KnownFiles(store, "loop").recognise(source, 0)
        KnownFiles(store, "loop").recognise(source, 3)
    source.close()


@pytest.mark.parametrize("name", ["broken.arrow", "broken.parquet"])
def test_a_table_that_is_none_is_a_broken_source(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"PAR1 nothing of the kind")
    with pytest.raises(SourceBroken, match="cannot be read on as a table"):
        declared_by([path])
    with pytest.raises(SourceBroken, match="cannot be read on as a table"):
        list(PointFile(path, Points(1)).batches())


def test_files_declare_the_points_of_a_stream(tmp_path):
    for name, write in FORMS.items():
        write(tmp_path / name)
    dense = Points(2, names=("a", "b"))
    for name in ("points.csv", "stream.arrow", "points.arrow", "points.parquet"):
        assert declared_by([tmp_path / name]) == dense
    sparse = Points(2, sparse=True)
    for name in ("points.libsvm", "sparse.parquet"):
        assert declared_by([tmp_path / name]) == sparse
    single = PointFormat(dtype="float32", features=9)
    assert declared_by([tmp_path / "points.libsvm"], wanted=single) == Points(9, sparse=True, dtype="float32")
    assert declared_by([tmp_path / "sparse.parquet"], wanted=single) == Points(
        9, sparse=True, dtype="float32"
    )


def test_sparse_files_together_are_as_wide_as_the_widest(tmp_path):
    (tmp_path / "train.svm").write_text("1 3:1\n")
    (tmp_path / "test.svm").write_text("1 7:1\n")
    paths = [tmp_path / "train.svm", tmp_path / "test.svm"]
    assert declared_by(paths) == declared_by(paths[::-1]) == Points(7, sparse=True)
    first, second = open_point_files(paths)
    assert [first.name, second.name] == ["train.svm", "test.svm"]
    assert [one.points.features for one in (first, second)] == [7, 7]
    [parsed] = second.batches()
    assert parsed.batch.indices.tolist() == [6]
    first.close()


@pytest.mark.parametrize("wanted", [None, PointFormat(features=6)])
def test_sparse_vectors_of_spark_say_their_own_width(tmp_path, wanted):
    vector = {"type": 0, "size": 4, "indices": [1], "values": [2.0]}
    kind = pa.struct(
        {
            "type": pa.int8(),
            "size": pa.int32(),
            "indices": pa.list_(pa.int32()),
            "values": pa.list_(pa.float64()),
        }
    )
    path = tmp_path / "vectors.parquet"
    pq.write_table(pa.table({"features": pa.array([vector] * 3, kind)}), path, row_group_size=2)
    assert declared_by([path], wanted=wanted) == Points(4, sparse=True)
    assert says_width(path)


def test_files_of_indices_alone_do_not_say_how_wide_points_are(path):
    assert says_width(path) == (path.name not in {"points.libsvm", "sparse.parquet"})


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("empty.csv", "# nothing\n", "no header"),
        ("numbers.csv", "1,2\n", "no header"),
        ("missing.csv", None, "cannot be read"),
    ],
)
def test_a_file_that_declares_nothing_is_refused(tmp_path, name, text, message):
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    with pytest.raises(InvalidArgument, match=message):
        declared_by([path])


def test_a_file_of_another_form_than_the_stream_is_refused(tmp_path):
    for name, write in FORMS.items():
        path = tmp_path / name
        write(path)
        declared = declared_by([path])
        other = Points(2, sparse=not declared.sparse)
        with pytest.raises(InvalidArgument, match=r"dense|sparse"):
            list(PointFile(path, other).batches())


SPARSE = pa.array([[(0, 1.0)], [(1, 2.0)]], pa.map_(pa.int32(), pa.float64()))
VECTORS = pa.struct(
    {"type": pa.int8(), "size": pa.int32(), "indices": pa.list_(pa.int32()), "values": pa.list_(pa.string())}
)
VECTOR = {"type": 0, "size": 2, "indices": [0], "values": ["x"]}
WRONG_DENSE = {
    "label": (
        {"a": [1.0, 2.0], "b": [1.0, 2.0], "label": [True, False]},
        "'label' has type bool, but a label",
    ),
    "feature": ({"a": [1.0, 2.0], "b": ["1", "2"], "label": [0, 1]}, "'b' has type string, but a feature"),
    "weight": (
        {"a": [1.0, 2.0], "b": [1, 2], "weight": ["1", "2"]},
        "'weight' has type string, but a weight",
    ),
    "id": ({"a": [1.0, 2.0], "b": [1, 2], "id": ["p", "q"]}, "'id' has type string, but a vertex id"),
    "op": ({"a": [1.0, 2.0], "b": [1, 2], "op": [1.0, 1.0]}, "'op' has type double, but must be text"),
    "other": ({"a": [1.0, 2.0], "c": [1, 2]}, "'c', but its stream declares no feature of that name"),
    "sparse": ({"features": SPARSE}, "the table cannot be taken"),
    "late": ({"id": [1, 2], "op": ["-", "+"], "a": [None, 1.0], "b": [None, "2"]}, "'b' has type string"),
}
WRONG_SPARSE = {
    "values": ({"features": pa.array([[(0, "x")]], pa.map_(pa.int32(), pa.string()))}, "has type string, but a value"),
    "indices": ({"features": pa.array([[("0", 1.0)]], pa.map_(pa.string(), pa.float64()))}, "indices of features have type string"),
    "lists": ({"indices": [[0]], "values": [["x"]]}, "'values' has type string, but an entry"),
    "vectors": ({"features": pa.array([VECTOR], VECTORS)}, "'values' has type string, but an entry"),
    "dense": ({"a": [1.0], "b": [2.0]}, "the table cannot be taken"),
}  # fmt: skip


def write_table(path, columns):
    table = pa.table(columns)
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=1)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=1)


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
@pytest.mark.parametrize(
    ("first", "columns", "message"),
    [
        *(("points.csv", *wrong) for wrong in WRONG_DENSE.values()),
        *(("points.libsvm", *wrong) for wrong in WRONG_SPARSE.values()),
    ],
    ids=[*WRONG_DENSE, *WRONG_SPARSE],
)
def test_a_later_table_of_wrong_columns_is_refused_when_files_are_opened(
    tmp_path, ending, first, columns, message
):
    FORMS[first](tmp_path / first)
    later = tmp_path / f"later{ending}"
    write_table(later, columns)
    with pytest.raises(InvalidArgument, match=message) as raised:
        open_point_files([tmp_path / first, later], points=declared_by([tmp_path / first]))
    assert raised.value.message.startswith(f"{later.name}: ")
    with pytest.raises(InvalidArgument, match=message):  # reading it would have ended so
        list(PointFile(later, declared_by([tmp_path / first])).batches())


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("later.csv", "label,a,c\n1,2,3\n", "later.csv has a column 'c'"),
        ("later.csv", "label,a\n1,2\n", "later.csv has 1 columns of features"),
        ("later.libsvm", "1 1:2\n", "later.libsvm is libsvm, which is sparse"),
    ],
)
def test_a_later_text_of_other_features_is_refused_when_files_are_opened(tmp_path, name, text, message):
    write_csv(tmp_path / "points.csv")
    (tmp_path / name).write_text(text)
    with pytest.raises(InvalidArgument, match=message):
        open_point_files([tmp_path / "points.csv", tmp_path / name])


def test_files_whose_rows_can_be_taken_are_opened_whatever_other_columns_they_have(tmp_path):
    write_csv(tmp_path / "points.csv")
    removals = {"id": [1, 2], "op": ["-", "-"]}
    write_table(tmp_path / "removals.parquet", removals)
    write_table(tmp_path / "null.parquet", removals | {"a": [None, None], "b": ["", ""]})
    write_table(tmp_path / "nothing.arrow", {"label": pa.array([], pa.bool_())})
    write_table(tmp_path / "unlabelled.parquet", {"a": [1, 2], "b": [True, False], "label": [None, None]})
    (tmp_path / "empty.csv").write_text("")
    opened = open_point_files(
        [tmp_path / "points.csv", *(path for path in sorted(tmp_path.iterdir()) if path.name != "points.csv")]
    )
    read = {source.name: sum(parsed.records for parsed in source.batches()) for source in opened}
    assert read == {
        "points.csv": ROWS,
        "empty.csv": 0,
        "nothing.arrow": 0,
        "null.parquet": 2,
        "removals.parquet": 2,
        "unlabelled.parquet": 2,
    }


def test_ids_of_a_later_table_are_of_the_kind_that_the_stream_has(tmp_path):
    write_csv(tmp_path / "points.csv")
    write_table(tmp_path / "numbers.parquet", {"id": [1], "a": [1.0], "b": [2.0]})
    write_table(tmp_path / "names.parquet", {"id": ["p"], "a": [1.0], "b": [2.0]})
    interner = Interner()
    with pytest.raises(InvalidArgument, match="ids of this loop are strings"):
        open_point_files([tmp_path / "points.csv", tmp_path / "numbers.parquet"], interner=interner)
    for source in open_point_files([tmp_path / "points.csv", tmp_path / "names.parquet"], interner=interner):
        source.close()
    assert len(interner) == 0


def test_a_broken_later_file_is_told_when_it_is_read(tmp_path):
    write_csv(tmp_path / "points.csv")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and no more")
    opened = open_point_files([tmp_path / "points.csv", tmp_path / "broken.parquet"])
    opened[0].close()
    with pytest.raises(SourceBroken, match="cannot be read on as a table"):
        list(opened[1].batches())


def test_a_real_file_is_read_as_its_slow_twin_does(data_dir):
    path = data_dir / "a9a-test.libsvm.gz"
    points = declared_by([path])
    assert points == Points(122, sparse=True)
    found = outcome_of(PointFile(path, points).batches())
    assert found == read_libsvm(gzip.decompress(path.read_bytes()), 122, source=path.name)
    assert found.records == len(found.points) == 16281
