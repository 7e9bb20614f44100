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

from tornado.query.answers import EMPTY, Rows
from tornado.query.formats import ARROW, CSV, FORMATS, JSON, NDJSON, vertex_of, vertices_of

INT64 = st.integers(-(2**63), 2**63 - 1)
TABLES = st.lists(st.tuples(INT64, st.floats()), max_size=20)


def written(name, table, cut=7):
    rows = [Rows([v for v, _ in part], np.array([x for _, x in part])) for part in (table[:cut], table[cut:])]
    return b"".join(FORMATS[name].stream(rows, EMPTY))


def bits(value):
    return None if value is None or not math.isfinite(value) else struct.pack("<d", value)


def expected(table):
    return [(vertex, bits(value)) for vertex, value in table]


@given(TABLES)
def test_json_gives_back_the_same_bits_and_null_for_what_is_not_finite(table):
    body = json.loads(written(JSON, table), parse_constant=pytest.fail)
    assert [(row["vertex"], bits(row["value"])) for row in body["values"]] == expected(table)


@given(TABLES)
def test_ndjson_gives_back_the_same_bits(table):
    rows = [json.loads(line, parse_constant=pytest.fail) for line in written(NDJSON, table).splitlines()]
    assert [(row["vertex"], bits(row["value"])) for row in rows] == expected(table)


@given(TABLES)
def test_csv_gives_back_the_same_bits(table):
    rows = csv.DictReader(io.StringIO(written(CSV, table).decode()))
    found = [(int(row["vertex"]), bits(float(row["value"])) if row["value"] else None) for row in rows]
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


@pytest.mark.parametrize("text", ["", "x", "1.0", "1_0", " 1", "+1", "--1", "\uff11", "1" * 20])
def test_text_that_no_result_shows_is_no_vertex(text):
    with pytest.raises(ValueError, match="^" + re.escape(text) + "$"):
        vertex_of(text, "int")


def test_vertices_are_separated_by_commas_and_repeated():
    assert vertices_of(["4,-5", "6"], "int") == (4, -5, 6)
    assert vertices_of(['"Rome, Italy",Nice'], "string") == ("Rome, Italy", "Nice")
