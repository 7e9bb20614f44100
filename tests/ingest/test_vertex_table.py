"""Vertices with a weight each, from texts, tables and columns: the same from all of them, and every mistake with its place."""

import gzip

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tornado
from tornado.errors import InvalidArgument
from tornado.ingest import vertex_table
from tornado.ingest.vertex_table import read_vertex_weights

TABLE = pa.table({"vertex": [7, -3], "weight": [1.0, 0.5], "region": ["north", "south"], "size": [2, 3]})


def written_whole(table):
    """The bytes of an Arrow file."""
    file = pa.BufferOutputStream()
    with pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    return file.getvalue().to_pybytes()


def written(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "text",
    [
        "vertex,weight\n7,1\n-3,0.5\n",
        "7,1\n-3,.5\n",
        "# seeds\n\n% more\n7\t1.0\n-3\t5e-1\n",
        "7 1\n  -3   0.5",
        "weight;region;vertex\n1;north;7\n0.5;south;-3\n",
        "\ufeffvertex,weight\r\n7,1\r\n-3,0.5\r\n",
    ],
)
def test_a_text_has_a_vertex_and_a_weight_a_line(tmp_path, text):
    path = tmp_path / "seeds.csv"
    path.write_bytes(text.encode())
    assert read_vertex_weights(path) == ((7, -3), (1.0, 0.5))
    packed = tmp_path / "seeds.csv.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    assert read_vertex_weights(str(packed)) == ((7, -3), (1.0, 0.5))


def test_tables_and_columns_have_the_same(tmp_path):
    pq.write_table(TABLE, tmp_path / "seeds.parquet")
    with pa.ipc.new_file(tmp_path / "seeds.arrow", TABLE.schema) as file:
        file.write(TABLE)
    columns = {"vertex": np.array([7, -3]), "weight": [1, 0.5], "size": (2, 3)}
    for source in (
        tmp_path / "seeds.parquet",
        tmp_path / "seeds.arrow",
        TABLE,
        TABLE.to_pandas(),
        columns,
        pd.DataFrame({"vertex": [7.0, -3.0], "weight": [1, 0.5], "size": [2, 3]}),
    ):
        assert tornado.personalisation(source) == {"personalisation": (7, -3), "shares": (1.0, 0.5)}
        assert tornado.personalisation(source, column="size")["shares"] == (2.0, 3.0)


@pytest.mark.parametrize(
    "column", [[7, 3, 7], (7, 3, 7), np.array([7, 3, 7]), pd.Series([7, 3, 7]), pa.array([7, 3, 7])]
)
def test_one_column_has_each_vertex_as_often_as_it_is_there(column):
    assert read_vertex_weights(column) == ((7, 3, 7), ())


def test_so_has_a_file_without_weights(tmp_path):
    assert read_vertex_weights(written(tmp_path, "seeds.txt", "7\n3\n7\n")) == ((7, 3, 7), ())
    path = written(tmp_path, "seeds.csv", "vertex,region\n7,north\n3,south\n")
    assert read_vertex_weights(path) == ((7, 3), ())


def test_names_are_taken_as_they_are(tmp_path):
    path = written(tmp_path, "seeds.csv", "vertex,weight\n@anna,1\n007,2\n")
    assert read_vertex_weights(path, ids="string") == (("@anna", "007"), (1.0, 2.0))
    with pytest.raises(InvalidArgument, match="line 2: the vertex is '@anna' but must be a whole number"):
        read_vertex_weights(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "names no vertex"),
        ("vertex,weight\n", "names no vertex"),
        ("1,1\nx,1\n", r"line 2: the vertex is 'x' but must be a whole number of 64 bits"),
        ("1,1\n1.5,1\n", r"line 2: the vertex is '1.5'"),
        (f"1,1\n{2**63},1\n", "line 2: the vertex is '9223372036854775808'"),
        (
            "1,1\n2,-1\n",
            r"line 2: the weight of vertex 2 is '-1' but must be a number of at least 0, and finite",
        ),
        ("1,1\n2,nan\n", "line 2: the weight of vertex 2 is 'nan'"),
        ("1,1\n2,inf\n", "line 2: the weight of vertex 2 is 'inf'"),
        ("1,1\n2,\n", "line 2: the weight of vertex 2 is ''"),
        ("1,1\n2\n", "line 2: '2' has too few columns"),
        ("# a\n1,1\n2,1\n1,2\n", r"line 4: vertex 1 is there twice, first in .*line 2"),
        ("1,0\n2,0\n", "all 2 weights of .* are 0"),
    ],
)
def test_a_mistake_is_told_with_its_line(tmp_path, text, said):
    with pytest.raises(InvalidArgument, match=said) as refused:
        read_vertex_weights(written(tmp_path, "seeds.csv", text))
    assert refused.value.hint


def test_what_cannot_be_read_is_told_with_its_name(tmp_path):
    with pytest.raises(InvalidArgument, match=r"there is no file .*none\.csv"):
        read_vertex_weights(tmp_path / "none.csv")
    for name in ("seeds.parquet", "seeds.arrow", "seeds.csv.gz"):
        with pytest.raises(InvalidArgument, match=rf"{name} cannot be read"):
            read_vertex_weights(written(tmp_path, name, "1,1\n"))
    broken = bytearray(gzip.compress(bytes(range(256)) * 9))
    broken[10] = 7  # a block of no kind that there is
    (tmp_path / "broken.csv.gz").write_bytes(broken)
    with pytest.raises(InvalidArgument, match=r"broken\.csv\.gz cannot be read"):
        read_vertex_weights(tmp_path / "broken.csv.gz")
    whole = written_whole(pa.table({"vertex": ["seven"], "weight": [1.0]}))
    for name in (b"weight", b"seven"):  # a column's, and a vertex's
        (tmp_path / "text.arrow").write_bytes(whole.replace(name, b"\xd2" + name[1:]))
        with pytest.raises(InvalidArgument, match=r"text\.arrow cannot be read"):
            read_vertex_weights(tmp_path / "text.arrow", ids="string")
    nothing = pa.table({"vertex": pa.nulls(vertex_table.MOST_ROWS + 1)})
    for table, said in (
        (nothing, "has more than"),
        (nothing.select([]), "has no columns"),
    ):
        (tmp_path / "long.arrow").write_bytes(written_whole(table))
        with pytest.raises(InvalidArgument, match=rf"long\.arrow {said}"):
            read_vertex_weights(tmp_path / "long.arrow")
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidArgument, match=r"bytes\.csv cannot be read"):
        read_vertex_weights(tmp_path / "bytes.csv")


@pytest.mark.parametrize(
    ("table", "column", "said"),
    [
        ({"id": [1]}, None, "has no column 'vertex'; it has: id"),
        ({"vertex": [1]}, "share", "has no column 'share'; it has: vertex"),
        ({"vertex": [1, 2], "weight": [1]}, None, "2 vertices and 1 weights"),
        ({"vertex": [1, None], "weight": [1, 1]}, None, "row 2: the vertex is None"),
        ({"vertex": [1, True], "weight": [1, 1]}, None, "row 2: the vertex is True"),
        ({"vertex": [1, 2], "weight": [1, None]}, None, "row 2: the weight of vertex 2"),
        ([1.5], None, "row 1: the vertex is 1.5"),
        (7, None, "7 is no column of vertices, no table and no path"),
    ],
)
def test_a_mistake_in_a_table_is_told_with_its_row(table, column, said):
    with pytest.raises(InvalidArgument, match=said):
        tornado.personalisation(table, column=column)


def test_a_column_that_a_text_has_no_header_for_is_refused(tmp_path):
    with pytest.raises(InvalidArgument, match="has no column 'share'; it has: no header"):
        read_vertex_weights(written(tmp_path, "seeds.csv", "1,2\n"), column="share")


def test_there_is_a_limit(monkeypatch):
    monkeypatch.setattr(vertex_table, "MOST_ROWS", 2)
    assert read_vertex_weights([1, 2]).vertices == (1, 2)
    with pytest.raises(InvalidArgument, match="more than 2 vertices"):
        read_vertex_weights([1, 2, 3])
