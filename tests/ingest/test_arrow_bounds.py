"""What a stream takes is known before it is unpacked, and is what it then takes."""

import os

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests import bombs
from tests.bombs import little_memory, stream
from tornado.errors import BodyTooLarge, InvalidArgument
from tornado.ingest.arrow import parse_arrow, read_table
from tornado.ingest.arrow_bounds import Bounds, check_bounds
from tornado.ingest.interner import Interner

ANY = 1 << 60


def least(passes):
    """The least number for which `passes` raises no refusal."""
    low, high = 0, ANY
    while low < high:
        middle = (low + high) // 2
        try:
            passes(middle)
            high = middle
        except BodyTooLarge:
            low = middle + 1
    return low


def rows_of(body):
    """The least bound on records that lets a stream pass."""
    return least(lambda bound: check_bounds(body, Bounds(ANY, bound)))


def bytes_of(body):
    """The least bound on bytes that lets a stream pass."""
    return least(lambda bound: check_bounds(body, Bounds(bound, ANY)))


def encoded(count):
    """A column with a dictionary: of one name, and of none where there are no rows."""
    return pa.array(["name"] * count, pa.string()).dictionary_encode()


columns = st.sampled_from(
    [
        lambda count: pa.array(np.zeros(count, np.int64)),
        lambda count: pa.array(np.random.default_rng(1).integers(0, 1 << 60, count)),
        lambda count: pa.array([None] * count, pa.int32()),
        pa.nulls,
        lambda count: pa.array(["name"] * count, pa.string()),
        encoded,
        lambda count: pa.array([[1, 2]] * count, pa.list_(pa.int8())),
        lambda count: pa.array([{"a": True}] * count, pa.struct([("a", pa.bool_())])),
    ]
)


@given(
    st.lists(columns, min_size=1, max_size=5),
    st.lists(st.integers(0, 3000), min_size=1, max_size=4),
    st.sampled_from([None, "zstd", "lz4"]),
)
@example([encoded], [0, 1], None)
@example([encoded], [1, 0, 1], "zstd")
@settings(max_examples=60, deadline=None)
def test_rows_are_counted_and_no_stream_takes_more_than_its_headers_say(kinds, counts, compression):
    batches = [
        pa.record_batch([kind(count) for kind in kinds], names=[f"c{place}" for place in range(len(kinds))])
        for count in counts
    ]
    body = stream(*batches, compression=compression)
    table = read_table(body)
    # A batch that has another dictionary than the one before brings it along.
    words = sum(
        len(chunk.dictionary)
        for column in table.columns
        if pa.types.is_dictionary(column.type)
        for chunk in column.chunks
    )
    assert sum(counts) <= rows_of(body) <= sum(counts) + words
    assert bytes_of(body) >= table.get_total_buffer_size()


@pytest.mark.parametrize(
    "make",
    [
        bombs.many_rows,
        lambda: bombs.many_rows(compression="lz4"),
        bombs.weights_of_nothing,
        bombs.growing_dictionary,
    ],
    ids=["zstd", "lz4", "null-column", "growing-dictionary"],
)
def test_a_bomb_is_refused_and_nothing_of_it_is_unpacked(make):
    body = make()
    before = pa.total_allocated_bytes()
    with little_memory(os.getpid(), most_bytes=20 << 20), pytest.raises(BodyTooLarge):
        parse_arrow(body)
    assert pa.total_allocated_bytes() == before


def test_a_long_name_that_stands_once_for_all_rows_is_refused():
    body = bombs.long_name_in_every_row()
    assert len(body) < 100_000
    with (
        little_memory(os.getpid()),
        pytest.raises(BodyTooLarge, match="without its dictionary, the column 'src'"),
    ):
        parse_arrow(body, interner=Interner())


def test_a_stream_of_headers_alone_is_refused_before_its_objects_are_made():
    batch = pa.record_batch([pa.array([], pa.int64())] * 2, names=["src", "dst"])
    with little_memory(os.getpid()), pytest.raises(BodyTooLarge, match="unpacks to at least"):
        parse_arrow(stream(*[batch] * 200_000))


def test_the_largest_body_that_is_taken_costs_a_bounded_multiple():
    body = bombs.many_rows(rows=4 << 20, batches=4)
    with little_memory(os.getpid(), most_bytes=600 << 20):
        assert len(parse_arrow(body).batch) == 4 << 20


def test_rejected_rows_that_take_too_much_refuse_the_body():
    count = 2_000_000
    table = pa.record_batch(
        [pa.nulls(count, pa.int64()), pa.array(np.zeros(count, np.int64))], names=["src", "dst"]
    )
    with little_memory(os.getpid()), pytest.raises(BodyTooLarge, match="src is missing"):
        parse_arrow(stream(table, compression="zstd"))


@given(st.binary(max_size=300), st.integers(0, 300), st.integers(0, 300))
@settings(max_examples=300, deadline=None)
def test_any_bytes_at_all_are_a_body_or_refused(junk, at, length):
    whole = bombs.many_rows(rows=10, batches=2)
    body = whole[:at] + junk + whole[at + length :]
    try:
        parse_arrow(body)
    except InvalidArgument:
        return


@pytest.mark.parametrize("compression", [None, "zstd"])
def test_no_offset_or_length_is_beyond_what_is_looked_at(compression):
    body = stream(pa.record_batch({"src": np.arange(50), "dst": np.arange(50)}), compression=compression)
    refused = 0
    for place in range(0, len(body) - 8, 4):
        for number in (2**63 - 1, -(2**63), -1):
            forged = body[:place] + number.to_bytes(8, "little", signed=True) + body[place + 8 :]
            try:
                check_bounds(forged, Bounds(1 << 20, 1000))
            except (InvalidArgument, BodyTooLarge):
                refused += 1
    assert refused > 20
