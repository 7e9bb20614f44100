"""Rejected rows are shown whatever their columns hold, and a long one costs no more than what is shown of it."""

import contextlib
import decimal
import json
import os

import numpy as np
import pyarrow as pa
import pytest

from tests.bombs import little_memory, stream
from tornado.errors import BodyTooLarge
from tornado.ingest.point_arrow import parse_point_arrow
from tornado.ingest.shown_rows import row_text
from tornado.records.point_schema import Points

ENTRIES = 50_000_000

KINDS = {
    "duration": (pa.array([2**62], pa.duration("s")), 2**62),
    "time": (pa.array([5], pa.time64("ns")), 5),
    "date": (pa.array([2**31 - 1], pa.date32()), 2**31 - 1),
    "instant": (pa.array([2**63 - 1], pa.timestamp("s")), 2**63 - 1),
    "interval": (
        pa.array([(1, 2, 3)], pa.month_day_nano_interval()),
        "MonthDayNano(months=1, days=2, nanoseconds=3)",
    ),
    "bytes": (pa.array([b"\xff"]), "b'\\xff'"),
    "bytes of one size": (pa.array([b"ab"], pa.binary(2)), "b'ab'"),
    "decimal": (pa.array([decimal.Decimal("1.5")]), "1.5"),
    "half": (pa.array([np.float16(1.5)]), 1.5),
    "truth": (pa.array([True]), True),
    "nothing": (pa.nulls(1), None),
    "map": (pa.array([[("a", 1), ("b", None)]], pa.map_(pa.string(), pa.int8())), [["a", 1], ["b", None]]),
    "view": (pa.array([[1, 2]], pa.list_view(pa.int8())), [1, 2]),
    "dictionary": (pa.array(["q"]).dictionary_encode(), "q"),
    "runs": (pa.RunEndEncodedArray.from_arrays(pa.array([1], pa.int32()), pa.array([7])), 7),
    "union": (pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([3])]), 3),
    "uuid": (
        pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"0" * 16], pa.binary(16))),
        f"b'{'0' * 16}'",
    ),
    "names twice": (pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"]), {"x": 2}),
    "nested": (pa.array([{"a": [{"b": [1.5, None]}]}]), {"a": [{"b": [1.5, None]}]}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_column_of_any_type_is_shown(kind):
    column, shown = KINDS[kind]
    assert json.loads(row_text(pa.table({"seen": column}), ["seen"], 0)) == {"seen": shown}


def test_a_rejected_point_beside_a_column_of_any_type_costs_its_row_alone():
    # A timedelta is nothing that JSON has: the body was answered with a failure of the service.
    columns = {"id": [1], "features": [[0.1, float("nan")]], "seen": pa.array([1], pa.duration("ns"))}
    parsed = parse_point_arrow(stream(pa.record_batch(columns)), Points(2))
    [rejection] = parsed.rejected
    assert json.loads(rejection.record)["seen"] == 1


def months(body):
    """The body with the unit of its intervals changed to months, of which Python can make none."""
    for place in range(len(body)):
        if body[place] == 2:
            changed = body[:place] + b"\0" + body[place + 1 :]
            with contextlib.suppress(pa.ArrowException, OSError):
                if "month_interval" in str(pa.ipc.open_stream(changed).schema.field("seen").type):
                    return changed
    raise AssertionError("there is no unit in the schema")


@pytest.mark.parametrize("nested", [False, True])
def test_an_interval_that_python_has_no_scalar_for_is_passed_over(nested):
    interval = pa.array([(1, 2, 3)], pa.month_day_nano_interval())
    seen = pa.StructArray.from_arrays([interval], names=["in"]) if nested else interval
    body = stream(pa.record_batch({"id": [1], "features": [[0.1, float("nan")]], "seen": seen}))
    [rejection] = parse_point_arrow(months(body), Points(2)).rejected
    assert json.loads(rejection.record)["seen"] == ({"in": "…"} if nested else "…")


def test_of_lists_in_lists_only_the_first_entries_are_shown():
    inner = pa.array([list(range(1000))], pa.list_view(pa.int64()))
    deep = pa.ListViewArray.from_arrays(pa.array([0] * 1000), pa.array([1] * 1000), inner)
    wide = pa.ListViewArray.from_arrays(pa.array([0]), pa.array([1000]), deep)
    text = row_text(pa.table({"seen": wide}), ["seen"], 0)
    assert text.startswith('{"seen": [[[0, 1, 2, ')
    assert "…" in text
    assert len(text) < 10_000


def many_numbers():
    zeros = pa.array(np.zeros(ENTRIES, np.int8))
    return pa.LargeListArray.from_arrays(pa.array([0, ENTRIES], pa.int64()), zeros)


@pytest.mark.parametrize("form", ["list", "indices", "vector"])
def test_a_point_of_millions_of_numbers_takes_little_memory(form):
    numbers, none = many_numbers(), pa.array([[]], pa.list_(pa.int8()))
    if form == "list":
        features, points = numbers, Points(2)
    elif form == "indices":
        features = pa.StructArray.from_arrays([none, numbers], names=["indices", "values"])
        points = Points(2, sparse=True)
    else:
        features = pa.StructArray.from_arrays(
            [pa.array([1], pa.int8()), pa.array([None], pa.int32()), none, numbers],
            names=["type", "size", "indices", "values"],
        )
        points = Points(2)
    body = stream(pa.record_batch({"id": pa.array([1]), "features": features}), compression="zstd")
    assert len(body) < 10_000
    with little_memory(os.getpid()):
        if form == "list":
            [rejection] = parse_point_arrow(body, points).rejected
            assert rejection.reason == f"features has {ENTRIES} numbers, but points have 2 features"
        else:
            with pytest.raises(BodyTooLarge, match="its features take"):
                parse_point_arrow(body, points)
