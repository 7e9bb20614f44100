"""Edges as a log has them: their ids and weights in as few bytes as hold them exactly.

A log is as long as what goes through a stream, and a graph that keeps its size must not have one that is larger than itself. Ids
that fit take four bytes in place of eight, and so do weights that are the same as numbers of single precision, as whole numbers up to
2^24 are. Which of them do is said of a batch as a whole, in a word that its reader is given back.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from .edge_batch import EdgeBatch

_IDS: Final[dict[str, np.dtype[Any]]] = {"i4": np.dtype("<i4"), "i8": np.dtype("<i8")}
_WEIGHTS: Final[dict[str, np.dtype[Any]]] = {"f4": np.dtype("<f4"), "f8": np.dtype("<f8")}
_OPERATION: Final = np.dtype(np.int8)

LAYOUTS: Final = tuple(ids + weights for ids in _IDS for weights in _WEIGHTS)


class NarrowEdges(NamedTuple):
    """A batch as it is written: the word for its layout, and its columns one behind the other."""

    layout: str
    page: bytes


def encode_narrow(batch: EdgeBatch) -> NarrowEdges:
    """Write a batch in the narrowest layout that has each of its numbers exactly."""
    src, dst = batch.src.astype(_IDS["i4"]), batch.dst.astype(_IDS["i4"])
    ids = "i4" if np.array_equal(src, batch.src) and np.array_equal(dst, batch.dst) else "i8"
    with np.errstate(over="ignore", under="ignore"):
        weight = batch.weight.astype(_WEIGHTS["f4"])
    weights = "f4" if np.array_equal(weight, batch.weight, equal_nan=True) else "f8"
    columns = (
        src if ids == "i4" else np.ascontiguousarray(batch.src, _IDS[ids]),
        dst if ids == "i4" else np.ascontiguousarray(batch.dst, _IDS[ids]),
        weight if weights == "f4" else np.ascontiguousarray(batch.weight, _WEIGHTS[weights]),
        np.ascontiguousarray(batch.op, _OPERATION),
    )
    return NarrowEdges(ids + weights, b"".join(column.tobytes() for column in columns))


def decode_narrow(written: NarrowEdges) -> EdgeBatch:
    """Read what `encode_narrow` wrote.

    Raises
    ------
    ValueError
        When it is no whole number of records.
    """
    page = written.page
    ids, weights = _IDS[written.layout[:2]], _WEIGHTS[written.layout[2:]]
    record_bytes = 2 * ids.itemsize + weights.itemsize + _OPERATION.itemsize
    count, left = divmod(len(page), record_bytes)
    if left:
        raise ValueError(f"{len(page)} bytes are no edges of {record_bytes} bytes each")
    starts = np.cumsum([0, ids.itemsize * count, ids.itemsize * count, weights.itemsize * count]).tolist()
    return EdgeBatch(
        np.frombuffer(page, ids, count, starts[0]).astype(np.int64),
        np.frombuffer(page, ids, count, starts[1]).astype(np.int64),
        np.frombuffer(page, weights, count, starts[2]).astype(np.float64),
        np.frombuffer(page, _OPERATION, count, starts[3]).astype(np.int8),
    )
