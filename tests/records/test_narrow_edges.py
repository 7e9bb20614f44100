"""Edges as a log has them come back bit for bit, in as few bytes as hold them."""

from itertools import product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tornado.records.edge_batch import EdgeBatch
from tornado.records.narrow_edges import LAYOUTS, NarrowEdges, decode_narrow, encode_narrow
from tornado.records.operations import INSERT, MENTION, REMOVE, REPLACE
from tornado.records.timed_edges import NO_TIME, TimedEdges

NAN, OTHER_NAN = float("nan"), np.array(0x7FF8000000000001).view(np.float64)[()]
IDS = st.one_of(
    st.integers(0, 2**24 - 1),
    st.integers(-(2**31), 2**31 - 1),
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from([2**24 - 1, 2**24, 2**31 - 1, 2**31, -1, -(2**31), -(2**31) - 1, 2**63 - 1, -(2**63)]),
)
WEIGHTS = st.one_of(
    st.integers(-100, 300).map(float),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, -0.0, 255.0, 256.0, 2.0**24 + 1, 0.1, 1e300, 5e-324, NAN, OTHER_NAN]),
)
OPERATIONS = st.sampled_from([INSERT, REMOVE, REPLACE])


def batch_of(records):
    src, dst, weight, op = zip(*records, strict=True) if records else ([], [], [], [])
    return EdgeBatch(
        np.array(src, np.int64), np.array(dst, np.int64), np.array(weight, np.float64), np.array(op, np.int8)
    )


@given(
    st.lists(st.tuples(IDS, IDS, WEIGHTS, st.one_of(OPERATIONS, OPERATIONS, st.just(MENTION))), max_size=20)
)
@example([(1, 2, -0.0, INSERT)])
@example([(1, 2, NAN, REMOVE), (3, 4, OTHER_NAN, REMOVE)])
@example([(1, 2, NAN, INSERT)])
@example([(1, 1, 1.0, MENTION), (3, 4, 0.1, INSERT)])
def test_edges_come_back_bit_for_bit(records):
    batch = batch_of(records)
    written = encode_narrow(batch)
    again = decode_narrow(written)
    assert written.layout in LAYOUTS
    assert again.encode() == batch.encode()
    assert [column.dtype for column in (again.src, again.dst, again.weight, again.op)] == [
        *[np.int64, np.int64],
        *[np.float64, np.int8],
    ]


TIMES = st.one_of(
    st.integers(1_700_000_000_000_000, 1_700_000_100_000_000),
    st.integers(-(2**63), 2**63 - 1),
    st.just(NO_TIME),
)


@given(st.lists(st.tuples(IDS, IDS, WEIGHTS, OPERATIONS, TIMES), max_size=20))
@example([(1, 2, 3.0, INSERT, -(2**63)), (1, 2, 3.0, INSERT, 2**63 - 1)])
@example([(1, 2, OTHER_NAN, REMOVE, 5)])
def test_edges_with_times_come_back_bit_for_bit(records):
    batch = TimedEdges.at(
        batch_of([record[:4] for record in records]), np.array([r[4] for r in records], np.int64)
    )
    again = decode_narrow(encode_narrow(batch))
    assert isinstance(again, TimedEdges)
    assert again.encode() == batch.encode()


@pytest.mark.parametrize(
    ("times", "layout", "size_bytes"),
    [
        ([5, 5 + 2**32 - 1], "u3u1b2t4", 4 + 2 * (6 + 1) + 2 + 8 + 2 * 4),
        ([5, 5 + 2**32], "u3u1b2t8", 4 + 2 * (6 + 1) + 2 + 8 + 2 * 8),
        ([NO_TIME, 7], "u3u1b2t8", 4 + 2 * (6 + 1) + 2 + 8 + 2 * 8),
    ],
)
def test_times_count_from_the_least_one_where_four_bytes_hold_that(times, layout, size_bytes):
    written = encode_narrow(TimedEdges.at(batch_of([(1, 2, 3.0, INSERT)] * 2), np.array(times)))
    assert (written.layout, len(written.page)) == (layout, size_bytes)


COUNTED = 4  # bytes that say how many


@pytest.mark.parametrize(
    ("records", "layout", "size_bytes"),
    [
        ([(2**24 - 1, 0, 255.0, INSERT)], "u3u1b2", COUNTED + 2 * 3 + 2 + 1),
        ([(2**24, 0, 256.0, REPLACE)], "i4f4b2", COUNTED + 2 * 4 + 2 + 4),
        ([(0, -1, -0.0, INSERT)], "i4f4b2", COUNTED + 2 * 4 + 2 + 4),
        ([(2**31 - 1, -(2**31), 2.0**24, REMOVE)], "i4f4b2", COUNTED + 2 * 4 + 2 + 4),
        ([(1, 2**31, 1.0, INSERT)], "i8u1b2", COUNTED + 2 * 8 + 2 + 1),
        ([(1, 2, 0.1, INSERT)], "u3f8b2", COUNTED + 2 * 3 + 2 + 8),
        ([(1, 2, 1e300, INSERT)], "u3f8b2", COUNTED + 2 * 3 + 2 + 8),
        ([(-(2**31) - 1, 2, 5e-324, INSERT)], "i8f8b2", COUNTED + 2 * 8 + 2 + 8),
        ([(1, 2, NAN, REMOVE)], "u3u1b2", COUNTED + 2 * 3 + 2),
        ([(1, 2, NAN, REMOVE), (1, 2, 7.0, REMOVE)] * 8, "u3u1b2", COUNTED + 16 * 6 + 2 * 2 + 8),
        ([(1, 2, OTHER_NAN, REMOVE)], "i4f8", 17),
        ([(1, 1, 1.0, MENTION)], "i4f4", 13),
        ([], "i4f4", 0),
    ],
)
def test_the_narrowest_layout_is_taken_that_is_exact(records, layout, size_bytes):
    written = encode_narrow(batch_of(records))
    assert (written.layout, len(written.page)) == (layout, size_bytes)


@pytest.mark.parametrize(("ids", "weights"), [*product(["i4", "i8"], ["f4", "f8"])])
def test_what_logs_had_before_operations_were_bits_is_read(ids, weights):
    batch = batch_of([(5, -7, 2.5, INSERT), (6, 5, NAN, REMOVE), (2, 3, 1.0, REPLACE)])
    columns = [
        batch.src.astype("<" + ids),
        batch.dst.astype("<" + ids),
        batch.weight.astype("<" + weights),
        batch.op,
    ]
    page = b"".join(column.tobytes() for column in columns)
    assert decode_narrow(NarrowEdges(ids + weights, page)).encode() == batch.encode()


@pytest.mark.parametrize("layout", [layout for layout in LAYOUTS if len(layout) == 4])
def test_half_a_record_is_refused(layout):
    with pytest.raises(ValueError, match="10 bytes are no edges of"):
        decode_narrow(NarrowEdges(layout, bytes(10)))


@pytest.mark.parametrize("layout", [layout for layout in LAYOUTS if "b2" in layout])
@pytest.mark.parametrize(
    ("count", "size_bytes", "what"), [(3, 10, "fewer"), (2**32 - 1, 40, "fewer"), (1, 90, "more")]
)
def test_another_number_of_records_than_is_said_is_refused(layout, count, size_bytes, what):
    page = count.to_bytes(4, "little") + bytes(size_bytes - 4)
    with pytest.raises(ValueError, match=f"{size_bytes} bytes are {what} edges than they say"):
        decode_narrow(NarrowEdges(layout, page))
