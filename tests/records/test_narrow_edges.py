"""Edges as a log has them come back bit for bit, in as few bytes as hold them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado.records.edge_batch import EdgeBatch
from tornado.records.narrow_edges import LAYOUTS, NarrowEdges, decode_narrow, encode_narrow
from tornado.records.operations import INSERT, REMOVE

IDS = st.one_of(st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1))
WEIGHTS = st.one_of(
    st.integers(-100, 100).map(float), st.floats(allow_nan=False, allow_infinity=False), st.just(float("nan"))
)


def batch_of(records):
    src, dst, weight = (
        (np.array(column) for column in zip(*records, strict=True)) if records else ([], [], [])
    )
    weight = np.array(weight, np.float64)
    op = np.where(np.isnan(weight), REMOVE, INSERT).astype(np.int8)
    return EdgeBatch(np.array(src, np.int64), np.array(dst, np.int64), weight, op)


@given(st.lists(st.tuples(IDS, IDS, WEIGHTS), max_size=20))
def test_edges_come_back_bit_for_bit(records):
    batch = batch_of(records)
    again = decode_narrow(encode_narrow(batch))
    assert again.encode() == batch.encode()
    assert [column.dtype for column in (again.src, again.dst, again.weight, again.op)] == [
        *[np.int64, np.int64],
        *[np.float64, np.int8],
    ]


@pytest.mark.parametrize(
    ("record", "layout", "size_bytes"),
    [
        ((2**31 - 1, -(2**31), 2.0**24), "i4f4", 13),
        ((1, 2**31, 1.0), "i8f4", 21),
        ((1, 2, 0.1), "i4f8", 17),
        ((1, 2, 1e300), "i4f8", 17),
        ((-(2**31) - 1, 2, 5e-324), "i8f8", 25),
        ((1, 2, float("nan")), "i4f4", 13),
    ],
)
def test_the_narrowest_layout_is_taken_that_is_exact(record, layout, size_bytes):
    written = encode_narrow(batch_of([record]))
    assert (written.layout, len(written.page)) == (layout, size_bytes)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_half_a_record_is_refused(layout):
    with pytest.raises(ValueError, match="10 bytes are no edges of"):
        decode_narrow(NarrowEdges(layout, bytes(10)))
