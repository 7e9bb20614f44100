"""Columns of a caller: all of a call or none of it, and the first bad entry by name."""

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado.errors import InvalidArgument
from tornado.records.edge_batch import EdgeBatch
from tornado.records.operations import INSERT, REMOVE, REPLACE

int64s = st.integers(-(2**63), 2**63 - 1)


class Column:
    """What a pandas column looks like from here."""

    def __init__(self, array):
        self._array = np.asarray(array)

    def to_numpy(self):
        return self._array


@given(st.lists(st.tuples(int64s, int64s, st.floats(allow_nan=False, allow_infinity=False)), max_size=30))
def test_lists_numpy_arrow_and_pandas_columns_give_the_same_batch(rows):
    src, dst, weight = ([row[place] for row in rows] for place in range(3))
    expected = EdgeBatch(
        np.array(src, np.int64),
        np.array(dst, np.int64),
        np.array(weight, np.float64),
        np.ones(len(rows), np.int8),
    )
    for wrap in (
        list,
        tuple,
        iter,
        lambda values: np.array(values, np.float64 if values is weight else np.int64),
        lambda values: pa.array(values, pa.float64() if values is weight else pa.int64()),
        lambda values: pa.chunked_array(
            [pa.array(values, pa.float64() if values is weight else pa.int64())] * 1
        ),
        lambda values: Column(np.array(values, np.float64 if values is weight else np.int64)),
        lambda values: np.array(values, object),
    ):
        assert EdgeBatch.of(wrap(src), wrap(dst), wrap(weight)).equals(expected)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([1, 2**63], r"src\[1\] is 9223372036854775808, but a vertex id is an integer"),
        ([-(2**63) - 1, 2], r"src\[0\] is -9223372036854775809"),
        ([1, 2.0], r"src\[1\] is 2.0"),
        ([1, True], r"src\[1\] is True"),
        ([1, "2"], r"src\[1\] is '2'"),
        ([1, None], r"src\[1\] is None"),
        (np.array([1.0, 2.0]), r"src\[0\] is 1.0, .* type float64"),
        (np.array([True, False]), r"src\[0\] is True"),
        (np.array([1, 2**63], np.uint64), r"src\[1\] is 9223372036854775808"),
        (np.array([[1], [2]]), "src has 2 dimensions"),
        (pa.array([1, None]), r"src\[1\] is None"),
        (pa.array([1.5, 2.5]), r"src\[0\] is 1.5"),
        (np.ma.array([1, 2], mask=[False, True]), r"src\[1\] is None"),
        ("12", "src is '12'"),
        (12, "src is 12"),
        ([1], "src has 1 entries and dst has 2"),
    ],
)
def test_ids_that_are_not_exactly_int64_refuse_the_call(column, message):
    with pytest.raises(InvalidArgument, match=message):
        EdgeBatch.of(column, [1, 2])


@pytest.mark.parametrize(
    ("weight", "op", "message"),
    [
        ([1.0, math.nan], "+", r"weight\[1\] is nan, but an insertion needs a finite number"),
        ([math.nan, 1.0], "=", r"weight\[0\] is nan, but a replacement"),
        ([1.0, math.inf], "+", r"weight\[1\] is inf, but an insertion needs a finite number"),
        (
            np.array([-np.inf, 1.0], np.float32),
            "-",
            r"weight\[0\] is -inf, but a removal needs a finite number",
        ),
        (math.inf, "+", r"weight\[0\] is inf"),
        (10**400, "+", r"weight\[0\] is 1000"),
        ([None, 1.0], ["-", "+", "-"], "op has 3 entries"),
        ([None, None], ["-", "+"], r"weight\[1\] is nan"),
        ([1.0], "+", "weight has 1 entries"),
        (["1", 2], "+", r"weight\[0\] is '1'"),
        ([True, 2], "+", r"weight\[0\] is True"),
        ([1, 10**400], "+", r"weight\[1\] is 1000"),
        (np.array(["1", "2"]), "+", r"weight\[0\] is '1'"),
        (None, 0, "op is 0"),
        (None, "*", r"op is '\*'"),
        (None, [1, 3], r"op\[1\] is 3"),
        (None, np.array([2, 5]), r"op\[1\] is 5"),
        (None, ["+", None], r"op\[1\] is None"),
        (math.nan, "+", r"weight\[0\] is nan"),
    ],
)
def test_weights_and_operations_that_are_not_allowed_refuse_the_call(weight, op, message):
    with pytest.raises(InvalidArgument, match=message):
        EdgeBatch.of([1, 2], [3, 4], weight, op)


def test_left_out_weights_mean_one_and_any():
    batch = EdgeBatch.of([1, 1, 1], [2, 2, 2], None, [INSERT, REMOVE, REPLACE])
    assert batch.weight[[0, 2]].tolist() == [1.0, 1.0]
    assert math.isnan(batch.weight[1])
    assert math.isnan(EdgeBatch.of([1], [2], [None], "-").weight[0])
    assert EdgeBatch.of([1, 2], [2, 3], 4).weight.tolist() == [4.0, 4.0]
    assert EdgeBatch.of(np.array([]), [], []).equals(EdgeBatch.empty())


def test_a_batch_keeps_a_copy_of_the_callers_columns():
    src = np.array([1, 2])
    weight = np.array([1.0, 2.0])
    batch = EdgeBatch.of(src, src, weight)
    src[0], weight[0] = 9, 9
    assert (batch.src.tolist(), batch.dst.tolist(), batch.weight.tolist()) == ([1, 2], [1, 2], [1.0, 2.0])


def test_what_names_a_vertex_counts_as_no_edge():
    batch = EdgeBatch.concat([EdgeBatch.of([1, 2], [2, 3]), EdgeBatch.mentions(np.array([7, 8, 9]))])
    assert (len(batch), batch.edges) == (5, 2)
