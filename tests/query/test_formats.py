"""Bytes that come back as the same numbers, whatever the numbers are."""

import csv
import io
import json
import math
import re
import struct

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado.query.formats import ARROW, CSV, FORMATS, JSON, NDJSON, vertex_of, vertices_of
from tornado.query.rows import EMPTY, Rows
from tornado.value_types import reached_of

INT64 = st.integers(-(2**63), 2**63 - 1)
TABLES = st.lists(st.tuples(INT64, st.floats()), max_size=20)
WHOLE = st.lists(st.tuples(INT64, INT64, st.booleans()), min_size=1, max_size=20)


def rows_of(ids, values, worst=math.inf):
    return Rows(ids, values, reached_of(values, worst))


def streamed(name, chunks):
    return b"".join(FORMATS[name].stream(chunks, EMPTY))


def written(name, table, cut=7):
    parts = (table[:cut], table[cut:])
    return streamed(
        name, [rows_of([v for v, _ in part], np.array([x for _, x in part], float)) for part in parts]
    )


def bits(value):
    return (
        None if value is None else struct.pack("<d", float(value))
    )  # JSON and CSV have words for infinities


def expected(table):
    """What is no number has no value, and infinity, which is the worst here, is none; minus infinity is one."""
    return [(v, None if math.isnan(value) or value == math.inf else bits(value)) for v, value in table]


@given(TABLES)
def test_json_gives_back_the_same_bits_and_null_for_what_was_not_reached(table):
    body = json.loads(written(JSON, table), parse_constant=pytest.fail)
    assert [(row["vertex"], bits(row["value"])) for row in body["values"]] == expected(table)


@given(TABLES)
def test_ndjson_gives_back_the_same_bits(table):
    rows = [json.loads(line, parse_constant=pytest.fail) for line in written(NDJSON, table).splitlines()]
    assert [(row["vertex"], bits(row["value"])) for row in rows] == expected(table)


@given(TABLES)
def test_csv_gives_back_the_same_bits(table):
    rows = csv.DictReader(io.StringIO(written(CSV, table).decode()))
    found = [(int(row["vertex"]), bits(row["value"] or None)) for row in rows]
    assert found == expected(table)


@given(TABLES)
def test_arrow_gives_back_the_same_bits(table):
    found = pa.ipc.open_stream(written(ARROW, table)).read_all()
    pairs = zip(found["vertex"].to_pylist(), found["value"].to_pylist(), strict=True)
    assert [(vertex, bits(value)) for vertex, value in pairs] == expected(table)


@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\0"), min_size=1), min_size=1
    )
)
def test_string_ids_come_back_from_csv_and_json(names):
    table = [(name, 1.0) for name in names]
    rows = list(csv.reader(io.StringIO(written(CSV, table).decode(), newline="")))[1:]
    assert [name for name, _ in rows] == names
    assert [row["vertex"] for row in json.loads(written(JSON, table))["values"]] == names


def arrow_column(body):
    return pa.ipc.open_stream(body).read_all()["value"]


def as_before(values):
    """An Arrow stream as it always was for distances."""
    sink = io.BytesIO()
    ids = pa.array(list(range(len(values))), pa.int64())
    column = pa.array(values, pa.float64(), mask=~np.isfinite(values))
    batch = pa.record_batch({"vertex": ids, "value": column})
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def test_distances_are_written_byte_for_byte_as_ever():
    for values in (np.array([0.0, 0.1, np.inf, 1e22]), np.array([0.0, 0.1, 5e-324, 1e22])):
        rows = [rows_of(list(range(4)), values)]
        third = ("null", "") if values[2] == np.inf else ("5e-324", "5e-324")
        shown = ["0.0", "0.1", third[0], "1e+22"]
        objects = [f'{{"vertex":{place},"value":{value}}}' for place, value in enumerate(shown)]
        assert streamed(JSON, rows).decode() == f'{{"values":[{",".join(objects)}],"unknown":[],"next":null}}'
        assert streamed(NDJSON, rows).decode() == "".join(f"{one}\n" for one in objects)
        assert streamed(CSV, rows).decode() == f"vertex,value\n0,0.0\n1,0.1\n2,{third[1]}\n3,1e+22\n"
        assert streamed(ARROW, rows) == as_before(values)


def test_an_infinity_that_is_a_value_has_a_word_in_every_format():
    rows = [rows_of([1, 2, 3], np.array([np.inf, 4.0, -np.inf]), worst=-np.inf)]
    assert [row["value"] for row in json.loads(streamed(JSON, rows))["values"]] == ["Infinity", 4.0, None]
    assert streamed(NDJSON, rows).splitlines()[0] == b'{"vertex":1,"value":"Infinity"}'
    assert streamed(CSV, rows) == b"vertex,value\n1,inf\n2,4.0\n3,\n"
    assert arrow_column(streamed(ARROW, rows)).to_pylist() == [np.inf, 4.0, None]
    least = [rows_of([1], np.array([-np.inf]))]
    assert json.loads(streamed(JSON, least))["values"] == [{"vertex": 1, "value": "-Infinity"}]
    assert streamed(CSV, least) == b"vertex,value\n1,-inf\n"


@given(WHOLE)
def test_whole_numbers_keep_all_their_digits_in_every_format(table):
    ids, values, reached = ([row[place] for row in table] for place in range(3))
    rows = [Rows(ids, np.array(values, np.int64), np.array(reached))]
    numbers = [value if has else None for value, has in zip(values, reached, strict=True)]
    assert [
        row["value"] for row in json.loads(streamed(JSON, rows), parse_float=pytest.fail)["values"]
    ] == numbers
    lines = [json.loads(line, parse_float=pytest.fail) for line in streamed(NDJSON, rows).splitlines()]
    assert [line["value"] for line in lines] == numbers
    texts = [row["value"] for row in csv.DictReader(io.StringIO(streamed(CSV, rows).decode()))]
    assert texts == ["" if number is None else str(number) for number in numbers]
    column = arrow_column(streamed(ARROW, rows))
    assert (column.type, column.to_pylist()) == (pa.int64(), numbers)


def test_values_that_have_names_are_written_as_their_names():
    names = ["Rome, Italy", None, "Infinity", 'the "port"']
    rows = [Rows([1, 2, 3, 4], np.arange(4), np.array([True, False, True, True]), names)]
    assert [row["value"] for row in json.loads(streamed(JSON, rows))["values"]] == names
    found = [row["value"] for row in csv.DictReader(io.StringIO(streamed(CSV, rows).decode()))]
    assert found == ["Rome, Italy", "", "Infinity", 'the "port"']
    column = arrow_column(streamed(ARROW, rows))
    assert (column.type, column.to_pylist()) == (pa.string(), names)


@pytest.mark.parametrize("text", ["", "x", "1.0", "1_0", " 1", "+1", "--1", "\uff11", "1" * 20])
def test_text_that_no_result_shows_is_no_vertex(text):
    with pytest.raises(ValueError, match="^" + re.escape(text) + "$"):
        vertex_of(text, "int")


def test_vertices_are_separated_by_commas_and_repeated():
    assert vertices_of(["4,-5", "6"], "int") == (4, -5, 6)
    assert vertices_of(['"Rome, Italy",Nice'], "string") == ("Rome, Italy", "Nice")
    assert vertices_of(['"a\nb"'], "string") == ("a\nb",)


@pytest.mark.parametrize("kind", ["int", "string"])
@pytest.mark.parametrize("text", ["4\n5", "\r5", "a" * (1 << 18)])
def test_what_is_no_line_of_ids_is_refused(text, kind):
    with pytest.raises(ValueError, match=r"(?s).+"):
        vertices_of([text], kind)
