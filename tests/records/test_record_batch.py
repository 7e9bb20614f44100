"""What every kind of records can do by its schema alone: edges, and a kind that only this file knows."""

import itertools
import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado.records.edge_batch import EdgeBatch
from tornado.records.record_batch import RecordBatch
from tornado.records.schema import RecordColumn, Schema

SCHEMA = Schema(
    "sightings",
    (
        RecordColumn("heat", np.dtype(np.float32)),
        RecordColumn("vertex", np.dtype(np.int64), has_ids=True),
        RecordColumn("flags", np.dtype(np.uint16)),
    ),
)


@dataclass(frozen=True, slots=True, eq=False)
class Sightings(RecordBatch):
    schema: ClassVar[Schema] = SCHEMA

    heat: np.ndarray
    vertex: np.ndarray
    flags: np.ndarray


KINDS = [EdgeBatch, Sightings]


@st.composite
def batches(draw, kinds=KINDS):
    """Batches of any kind, with any bits in their columns: NaNs and zeros of either sign among them."""
    kind = draw(st.sampled_from(kinds))
    page = draw(
        st.integers(0, 6).flatmap(lambda n: st.binary(min_size=n * size(kind), max_size=n * size(kind)))
    )
    return kind.decode(page)


def size(kind):
    return kind.schema.record_bytes


def rows(batch):
    """The records one by one, as bytes."""
    return [b"".join(value.tobytes() for value in row) for row in zip(*batch.columns().values(), strict=True)]


@given(batches(), st.data())
def test_slices_put_together_again_are_the_batch(batch, data):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(batch)), max_size=4)))
    parts = [batch.slice(low, high) for low, high in itertools.pairwise([0, *cuts, len(batch)])]
    again = type(batch).concat(parts)
    assert again.equals(batch)
    assert rows(again) == rows(batch)
    assert type(batch).concat([]).equals(type(batch).empty())


@given(batches(), st.data())
def test_records_are_taken_whole_by_a_mask_and_by_places(batch, data):
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(batch), max_size=len(batch))), bool)
    assert rows(batch.take(mask)) == list(itertools.compress(rows(batch), mask))
    places = np.array(data.draw(st.permutations(range(len(batch)))), np.int64)
    assert rows(batch.take(places)) == [rows(batch)[place] for place in places]


@given(batches())
def test_what_was_written_is_read_with_the_same_bits(batch):
    page = batch.encode()
    assert len(page) == len(batch) * size(batch) == batch.size_bytes
    again = type(batch).decode(page)
    assert again.equals(batch)
    assert {name: values.dtype for name, values in again.columns().items()} == {
        column.name: column.dtype for column in batch.schema.columns
    }


@given(batches(), st.data())
def test_batches_differ_where_one_bit_of_one_column_does(batch, data):
    if not len(batch):
        return
    page = bytearray(batch.encode())
    at = data.draw(st.integers(0, 8 * len(page) - 1))
    page[at // 8] ^= 1 << at % 8
    assert not batch.equals(type(batch).decode(bytes(page)))
    assert not batch.equals(batch.slice(1, len(batch)))


@given(batches())
def test_ids_come_record_by_record_and_go_back_where_they_were(batch):
    names = batch.schema.id_names
    ids = batch.ids()
    assert ids.tolist() == [
        value for row in zip(*(getattr(batch, n) for n in names), strict=True) for value in row
    ]
    assert batch.with_ids(ids).equals(batch)
    others = batch.with_ids(np.arange(len(ids)))
    assert others.ids().tolist() == list(range(len(ids)))
    assert replace(others, **{name: getattr(batch, name) for name in names}).equals(batch)


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_that_is_cut_off_is_none(kind):
    page = kind.decode(bytes(3 * size(kind))).encode()
    with pytest.raises(
        ValueError, match=f"{len(page) - 1} bytes are no {kind.schema.kind} of {size(kind)} bytes"
    ):
        kind.decode(page[:-1])


def test_edges_are_stored_as_they_have_always_been():
    # Stores of every version have pages like this one: it may not change.
    page = bytes.fromhex(
        "0100000000000000" "feffffffffffffff"  # src
        "0200000000000000" "ffffffffffffff7f"  # dst
        "000000000000f83f" "000000000000f87f"  # weight
        "01" "ff"  # op
    )  # fmt: skip
    batch = EdgeBatch.decode(page)
    assert (batch.src.tolist(), batch.dst.tolist(), batch.op.tolist()) == ([1, -2], [2, 2**63 - 1], [1, -1])
    assert batch.weight[0] == 1.5
    assert math.isnan(batch.weight[1])
    assert batch.encode() == page
    assert batch.schema.names == ("src", "dst", "weight", "op")


def test_columns_of_another_type_are_stored_as_the_schema_says():
    batch = EdgeBatch(*(np.array([1, 2], np.int32) for _ in range(4)))
    assert EdgeBatch.decode(batch.encode()).weight.tolist() == [1.0, 2.0]
