"""From what a kernel left behind to `ParsedPoints`: doubtful records, ids, and entries of sparse points.

The kernel did the records it was sure of. Here the others are put to the definition (Python, one at a time), ids that are texts are
interned in order of appearance, ids that are not there are made of source and position, and rejected records are taken out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..errors import RecordError
from ..records.point_batch import PointBatch
from ..records.point_schema import Points
from .assembly import Lines, texts_at, with_texts
from .interner import Names
from .parsed import DESCRIBING, ParsedPoints, Rejections, drafted
from .point_ids import ids_at, names_at
from .point_record import NO_ID_OF_SEVERAL, ParsedPoint

Define = Callable[[bytes, int], ParsedPoint]
"""The definition of a record, of its text and its position: gives it, or raises RecordError."""

_SURE: Final = 0
_DOUBTFUL: Final = 1
_MOST_VALUES: Final = 1 << 22


@dataclass(frozen=True, slots=True, eq=False)
class PointFields:
    """The arrays that a kernel writes for k records; see `point_text_kernel`.

    Attributes
    ----------
    ids : int64[k]
        Where ids are integers.
    has_id : bool[k]
        Whether a record has an id.
    spans : int64[k, 2]
        Where the texts of ids are.
    features : float32[k, width] or float64[k, width]
        Of dense points; of sparse ones without rows.
    begins, indices, values : int64[k + 1], int32[room], float32[room] or float64[room]
        Of sparse points: where the entries of each begin, and the entries.
    """

    ids: NDArray[np.int64]
    has_id: NDArray[np.bool_]
    label: NDArray[np.float64]
    weight: NDArray[np.float64]
    op: NDArray[np.int8]
    spans: NDArray[np.int64]
    status: NDArray[np.int8]
    features: NDArray[Any]
    begins: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[Any]

    @classmethod
    def for_records(cls, count: int, points: Points, *, has_ids: bool, room: int = 0) -> Self:
        """Arrays for `count` records, of sparse points with `room` entries in all; insertions of weight 1, all else not yet filled."""
        kind = points.value_type
        return cls(
            np.empty(count, np.int64),
            np.full(count, has_ids),
            np.full(count, np.nan),
            np.ones(count),
            np.ones(count, np.int8),
            np.empty((count, 2), np.int64),
            np.empty(count, np.int8),
            np.empty((0 if points.sparse else count, points.features), kind),
            np.zeros(count + 1, np.int64),
            np.empty(room, np.int32),
            np.empty(room, kind),
        )


def most_records(points: Points) -> int:
    """How many records of dense points are parsed at once: their features are there whether a record has any or not."""
    return 1 << 22 if points.sparse else max(1, _MOST_VALUES // points.features)


def assemble_points(
    lines: Lines,
    fields: PointFields,
    define: Define,
    *,
    points: Points,
    source: str | None,
    interner: Names | None,
    rejected: Rejections | None = None,
    places: NDArray[np.int64] | None = None,
) -> ParsedPoints:
    """Make the batch of some records from the kernel's columns, which are used up.

    Parameters
    ----------
    lines : Lines
        The records that the kernel parsed.
    fields : PointFields
        What it wrote.
    define : callable
        The definition of a record.
    points : Points
        What is declared.
    source : str or None
        Whose points without an id get one of it and their position; None where such records are rejected by the definition.
    interner : Names, optional
        Where ids that are texts become numbers; None where ids are integers.
    rejected : Rejections, optional
        Where rejected records go, with those of the same body that came before; left out, they are without bounds.
    places : int64[k], optional
        What ids are made of in place of positions, where these are not the places in the source; below 0 where several records share
        one, so that each must have an id.

    Raises
    ------
    BodyTooLarge
        The rejected records are beyond the bounds of `rejected`.
    """
    rejected = Rejections(None) if rejected is None else rejected
    before = len(rejected)
    if places is not None:
        fields.status[~fields.has_id & (places < 0)] = _DOUBTFUL
    doubtful = np.flatnonzero(fields.status != _SURE).tolist()
    resolved: dict[int, ParsedPoint] = {}
    texts: list[bytes] = []
    if doubtful:
        with DESCRIBING:
            _resolve(doubtful, lines, fields, define, rejected, resolved, texts, places)
    keep = fields.status == _SURE
    if points.sparse:
        columns: dict[str, NDArray[Any]] = _entries(fields, resolved)
    else:
        for index, found in resolved.items():
            fields.features[index] = found.values
        columns = {"features": fields.features}
    columns |= {"id": fields.ids, "label": fields.label, "weight": fields.weight, "op": fields.op}
    has_id, spans, positions = fields.has_id, fields.spans, lines.positions
    places = positions if places is None else places
    batch = PointBatch.kind_of(points).of_columns(columns)
    if len(rejected) > before:
        batch, has_id, spans = batch.take(keep), has_id[keep], spans[keep]
        positions, places = positions[keep], places[keep]
    _fill_ids(batch, has_id, spans, places, with_texts(lines.block, texts), source, interner)
    return ParsedPoints(
        batch,
        len(lines),
        int(lines.positions[-1]) if len(lines) else 0,
        positions,
        rejected.since(before),
        lines.text_at,
        draft=drafted(interner),
    )


def _resolve(
    doubtful: list[int],
    lines: Lines,
    fields: PointFields,
    define: Define,
    rejected: Rejections,
    resolved: dict[int, ParsedPoint],
    texts: list[bytes],
    places: NDArray[np.int64] | None,
) -> None:
    """Put doubtful records to the definition; those it accepts become sure, the others are rejected.

    Texts of ids are collected, as they are not always a part of the record: their spans point behind the end of the block.
    """
    end = len(lines.block)
    for index in doubtful:
        raw, position = lines.raw(index), int(lines.positions[index])
        try:
            found = define(raw, position)
        except RecordError as error:
            rejected.add(position, raw[: lines.limit], error.reason)
            continue
        if found.id is None and places is not None and places[index] < 0:
            rejected.add(position, raw[: lines.limit], NO_ID_OF_SEVERAL)
            continue
        fields.status[index] = _SURE
        fields.label[index], fields.weight[index], fields.op[index] = found.label, found.weight, found.op
        fields.has_id[index] = found.id is not None
        if isinstance(found.id, bytes):
            fields.spans[index] = end, end + len(found.id)
            texts.append(found.id)
            end += len(found.id)
        elif found.id is not None:
            fields.ids[index] = found.id
        resolved[index] = found


def _fill_ids(
    batch: PointBatch,
    has_id: NDArray[np.bool_],
    spans: NDArray[np.int64],
    places: NDArray[np.int64],
    block: bytes | memoryview,
    source: str | None,
    interner: Names | None,
) -> None:
    """Write the ids that are texts, or are not there."""
    ids = batch.id
    nameless = ~has_id
    if interner is None:
        if nameless.any():
            assert source is not None
            ids[nameless] = ids_at(source, places[nameless])
        return
    low, high = np.where(has_id, spans[:, 0], 0), np.where(has_id, spans[:, 1], 0)
    texts = texts_at(block, low, high)
    if nameless.any():
        assert source is not None
        texts = pc.if_else(pa.array(has_id), texts, names_at(source, places))
    ids[:] = interner.intern(texts)


def _entries(fields: PointFields, resolved: dict[int, ParsedPoint]) -> dict[str, NDArray[Any]]:
    """The entries of sparse points, with those of records that the definition gave."""
    count = int(fields.begins[-1])
    indices, values = fields.indices[:count].copy(), fields.values[:count].copy()
    if not resolved:
        return {"starts": fields.begins, "indices": indices, "values": values}
    places = list(resolved)
    found = list(resolved.values())
    lengths = np.diff(fields.begins)
    sizes = np.array([len(point.values) for point in found], np.int64)
    # What the kernel has written, then what the definition gave; each record takes its entries from one of them.
    begins = fields.begins[:-1].copy()
    begins[places] = count + np.cumsum(sizes) - sizes
    lengths[places] = sizes
    starts = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])
    order = np.repeat(begins - starts[:-1], lengths) + np.arange(starts[-1])
    indices = np.concatenate([indices, *(_indices(point) for point in found)])
    values = np.concatenate([values, *(point.values for point in found)])
    return {"starts": starts, "indices": indices[order], "values": values[order]}


def _indices(point: ParsedPoint) -> NDArray[np.int32]:
    assert point.indices is not None
    return point.indices
