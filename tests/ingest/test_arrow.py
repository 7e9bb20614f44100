"""Arrow bodies: types are the caller's matter, rows are their own."""

import math
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from tornado.errors import InvalidArgument
from tornado.ingest.arrow import parse_arrow
from tornado.ingest.interner import Interner
from tornado.ingest.times import BEYOND, MALFORMED, NO_TIME


def body(*tables):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, tables[0].schema) as writer:
        for table in tables:
            writer.write_table(table)
    return sink.getvalue().to_pybytes()


def test_all_columns_of_several_record_batches_are_read_in_order():
    one = pa.table({"src": [1, 2], "dst": [3, 4], "weight": [0.5, 2.0], "op": ["+", "delete"]})
    two = pa.table({"src": [5], "dst": [6], "weight": [7.5], "op": ["="]})
    parsed = parse_arrow(body(one, two))
    assert parsed.batch.src.tolist() == [1, 2, 5]
    assert parsed.batch.weight.tolist() == [0.5, 2.0, 7.5]
    assert parsed.batch.op.tolist() == [1, -1, 2]
    assert parsed.batch.op.dtype == np.int8
    assert parsed.positions.tolist() == [1, 2, 3]
    assert (parsed.records, parsed.last_position, parsed.rejected) == (3, 3, ())


@pytest.mark.parametrize("behind", [b"x", bytes(8), body(pa.table({"src": [5], "dst": [6]}))])
def test_what_stands_behind_a_stream_is_refused_with_it(behind):
    sent = body(pa.table({"src": [1], "dst": [2]}))
    for whole in (sent, sent[:-8]):  # a stream may end with the body
        assert parse_arrow(whole).records == 1
    with pytest.raises(
        InvalidArgument, match=f"ends at byte {len(sent)} of the body, are {len(behind)} bytes"
    ):
        parse_arrow(memoryview(sent + behind))


FORGED = """
from tornado.errors import InvalidArgument
from tornado.ingest.arrow import read_table
from tornado.query.batch_tables import parse_batch_table

refused = 0
for place in range(0, len(BODY) - 8, 8):
    for number in (-1, 1 << 40, 0, 7):
        forged = BODY[:place] + number.to_bytes(8, "little", signed=True) + BODY[place + 8 :]
        try:
            parse_batch_table(read_table(forged), source="spark:q", points=None, interner=None, times=False)
        except InvalidArgument:
            refused += 1
print(refused)
"""


def test_no_length_or_offset_ends_the_process():
    # In a process of its own: where Arrow finds a mistake of its own it aborts, which is no exception.
    nested = pa.array([{"0": 1, "1": 2}] * 3)
    sent = body(pa.table({"src": [1, 2, 3], "dst": [2, 3, 4], "op": ["+", "-", "+"], "order": nested}))
    done = subprocess.run(
        [sys.executable, "-c", f"BODY = {sent!r}{FORGED}"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) > 100


@pytest.mark.parametrize("nested", [False, True])
def test_a_column_whose_name_is_no_text_is_refused_with_the_body(nested):
    column = pa.array([{"place": 1}]) if nested else pa.array([1])
    sent = body(pa.table({"src": [1], "dst": [2], "order" if nested else "place": column}))
    with pytest.raises(InvalidArgument, match=r"no whole Arrow IPC stream: .*utf-8"):
        parse_arrow(sent.replace(b"place", b"\xff\xfea\xffe"))


def test_rows_that_cannot_be_edges_are_rejected_alone():
    table = pa.table(
        {
            "src": pa.array([2**63, 2**63 - 1, None, 4, 5, 6, 7], pa.uint64()),
            "dst": pa.array([1, 2, 3, None, 5, 6, 7], pa.int32()),
            "weight": pa.array([1.0, 2.0, 3.0, 4.0, math.nan, math.nan, None]),
            "op": pa.array(["+", None, "+", "+", "+", "-", "what"]).dictionary_encode(),
        }
    )
    parsed = parse_arrow(body(table))
    assert parsed.batch.src.tolist() == [2**63 - 1]
    assert parsed.batch.weight[0] == 2.0
    assert [(one.position, one.reason) for one in parsed.rejected] == [
        (1, "src is beyond 64 bits"),
        (3, "src is missing"),
        (4, "dst is missing"),
        (5, "weight is NaN"),
        (6, "weight is NaN"),
        (7, "op is unknown"),
    ]
    assert parsed.rejected[0].record == '{"src": 9223372036854775808, "dst": 1, "weight": 1.0, "op": "+"}'


def test_absent_and_null_weights_and_operations_have_their_documented_meaning():
    parsed = parse_arrow(body(pa.table({"dst": [2, 3], "src": [1, 1], "op": [1, -1], "other": ["x", "y"]})))
    assert parsed.batch.weight[0] == 1.0
    assert math.isnan(parsed.batch.weight[1])
    parsed = parse_arrow(body(pa.table({"src": [1], "dst": [2], "weight": pa.array([None], pa.float32())})))
    assert (parsed.batch.weight.tolist(), parsed.batch.op.tolist()) == ([1.0], [1])
    parsed = parse_arrow(body(pa.table({"src": [1], "dst": [2], "weight": [2**53 + 1]})))
    assert parsed.batch.weight.tolist() == [float(2**53 + 1)]


def test_an_empty_stream_is_no_records():
    schema = pa.schema({"src": pa.int64(), "dst": pa.int64(), "weight": pa.float64(), "op": pa.string()})
    parsed = parse_arrow(body(schema.empty_table()))
    assert (parsed.records, len(parsed.batch), parsed.last_position) == (0, 0, 0)


def test_string_ids_are_interned_in_the_order_of_rows_and_only_of_good_rows():
    interner = Interner()
    table = pa.table(
        {"src": ["b", None, "a", ""], "dst": pa.array(["a", "lost", "c", "lost"]).dictionary_encode()}
    )
    parsed = parse_arrow(body(table), interner=interner)
    assert parsed.batch.src.tolist() == [0, 1]
    assert parsed.batch.dst.tolist() == [1, 2]
    assert interner.find(["b", "a", "c", "lost"]) == [0, 1, 2, None]
    assert [one.position for one in parsed.rejected] == [2, 4]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pa.table({"src": [1.0], "dst": [2]}), "'src' has type double"),
        (pa.table({"src": ["1"], "dst": [2]}), "'src' has type string"),
        (pa.table({"src": [1]}), "'dst' must be among them"),
        (pa.table({"src": [1], "dst": [2], "weight": ["3"]}), "'weight' has type string"),
        (pa.table({"src": [1], "dst": [2], "op": [1.0]}), "'op' has type double"),
        (pa.table([[1], [2], [3]], names=["src", "dst", "src"]), "'src' twice"),
    ],
)
def test_a_column_of_a_wrong_type_refuses_the_body(table, message):
    with pytest.raises(InvalidArgument, match=message):
        parse_arrow(body(table))


def test_bytes_that_are_no_whole_stream_are_refused():
    whole = body(pa.table({"src": list(range(1000)), "dst": list(range(1000))}))
    for broken in (b"", b"src,dst\n1,2\n", whole[:-700], whole[:100]):
        with pytest.raises(InvalidArgument, match="no whole Arrow IPC stream"):
            parse_arrow(broken)


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()])
def test_weights_that_are_not_finite_are_rejected_in_every_operation_and_null_is_left_out(kind):
    weights = [math.inf, -math.inf, math.nan, None, 2.5]
    for op in ("+", "-", "="):
        table = pa.table({"src": [1] * 5, "dst": [2] * 5, "weight": pa.array(weights, kind), "op": [op] * 5})
        parsed = parse_arrow(body(table))
        assert parsed.positions.tolist() == [4, 5]
        assert [one.reason for one in parsed.rejected] == [
            "weight is not finite",
            "weight is not finite",
            "weight is NaN",
        ]


def test_times_are_read_and_bad_ones_cost_their_row():
    table = pa.table(
        {
            "src": [1, 2, 3, 4],
            "dst": [5, 5, 5, 5],
            "time": ["2026-01-31T12:00:00+01:00", "yesterday", None, "1e300"],
        }
    )
    parsed = parse_arrow(body(table), times=True)
    assert parsed.batch.src.tolist() == [1, 3]
    assert parsed.times.tolist() == [1_769_857_200_000_000, NO_TIME]
    assert [(one.position, one.reason) for one in parsed.rejected] == [(2, MALFORMED), (4, BEYOND)]
    assert parsed.rejected[0].record == '{"src": 2, "dst": 5, "time": "yesterday"}'


def test_an_instant_that_python_has_none_for_is_shown_as_its_number():
    table = pa.table({"src": [1], "dst": [2], "time": pa.array([2**63 - 1], pa.timestamp("s", "UTC"))})
    parsed = parse_arrow(body(table), times=True)
    assert parsed.rejected[0].record == '{"src": 1, "dst": 2, "time": 9223372036854775807}'


def test_times_may_stand_in_a_dictionary_and_a_column_of_another_type_is_refused():
    times = pa.array(["1", "2", "1"]).dictionary_encode()
    parsed = parse_arrow(body(pa.table({"src": [1, 2, 3], "dst": [1, 1, 1], "time": times})), times=True)
    assert parsed.times.tolist() == [1_000_000, 2_000_000, 1_000_000]
    assert parse_arrow(body(pa.table({"src": [1], "dst": [1]})), times=True).times is None
    with pytest.raises(InvalidArgument, match="column 'time' has type bool"):
        parse_arrow(body(pa.table({"src": [1], "dst": [1], "time": [True]})), times=True)
    parsed = parse_arrow(body(pa.table({"src": [1], "dst": [1], "time": [True]})))
    assert (len(parsed.batch), parsed.times) == (1, None)
