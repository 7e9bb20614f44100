"""Edges as a log has them: ids, weights and operations in as few bytes as hold them exactly.

A log is as long as what goes through a stream, and a graph that keeps its size must not have one that is larger than itself: how often
a base is written anew follows from what a record takes beside an edge of the base. So ids take three, four or eight bytes, whichever
has all of a batch; weights one byte where they are whole numbers to 255, four where they are exact in single precision, else eight;
operations two bits. A removal of an edge of any weight has none, and takes no room for it. Times, where there are any, take four bytes
that count from the least one, or eight.

Which of them it is is said of a batch as a whole, in a word that its reader is given back: ``u3u1b2`` for what is written in two bits an
operation, ``u3u1b2t4`` with times; ``i4f8`` for a byte an operation and a weight for each record, as all logs had it before, and ``times``
for all columns as they are.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .edge_batch import EdgeBatch
from .operations import INSERT, REMOVE, REPLACE
from .timed_edges import TimedEdges

# Three bytes are two columns: of the lower sixteen bits, and of the others.
_IDS: Final[dict[str, tuple[np.dtype[Any], ...]]] = {
    "u3": (np.dtype("<u2"), np.dtype("u1")),
    "i4": (np.dtype("<i4"),),
    "i8": (np.dtype("<i8"),),
}
_WEIGHTS: Final[dict[str, np.dtype[Any]]] = {
    "u1": np.dtype("u1"),
    "f4": np.dtype("<f4"),
    "f8": np.dtype("<f8"),
}
_OPERATION: Final = np.dtype(np.int8)
_BITS: Final = "b2"
_COUNT: Final = np.dtype("<u4")  # of records, in front of those whose operations are bits

_TIMES: Final[dict[str, np.dtype[Any]]] = {"t4": np.dtype("<u4"), "t8": np.dtype("<i8")}
_WHOLE_TIMES: Final = "times"

LAYOUTS: Final = (
    *(ids + weights for ids in ("i4", "i8") for weights in ("f4", "f8")),
    *(ids + weights + _BITS + times for ids in _IDS for weights in _WEIGHTS for times in ("", *_TIMES)),
    _WHOLE_TIMES,
)

# By two bits: what is done, where a removal of any weight is one of its own.
_OPERATIONS: Final = np.array([INSERT, REMOVE, REMOVE, REPLACE], np.int8)
_OF_ANY_WEIGHT: Final = 2
_NONE: Final = 4  # for what has no such bits
_CODES: Final = np.full(256, _NONE, np.uint8)  # by an operation as eight bits without a sign
_CODES[np.array([INSERT, REMOVE, REPLACE], np.int8).view(np.uint8)] = [0, 1, 3]


class NarrowEdges(NamedTuple):
    """A batch as it is written: the word for its layout, and its columns one behind the other."""

    layout: str
    page: bytes


def encode_narrow(batch: EdgeBatch) -> NarrowEdges:
    """Write a batch in the narrowest layout that has each of its numbers exactly."""
    codes = _codes_of(batch)
    if codes is None and isinstance(batch, TimedEdges):
        return NarrowEdges(_WHOLE_TIMES, batch.encode())
    if codes is None:
        weights, weight = _weight_columns(batch.weight, ("f4", "f8"))
        ids, ends = _id_columns(batch, ("i4", "i8"))
        columns = [*ends, weight, np.ascontiguousarray(batch.op, _OPERATION)]
        return NarrowEdges(ids + weights, _page_of(columns))
    is_said = codes != _OF_ANY_WEIGHT
    weights, weight = _weight_columns(
        batch.weight if is_said.all() else batch.weight[is_said], tuple(_WEIGHTS)
    )
    ids, ends = _id_columns(batch, tuple(_IDS))
    counted = np.array([len(batch)], _COUNT)
    times, time = _time_columns(batch.time) if isinstance(batch, TimedEdges) else ("", [])
    columns = [counted, *ends, np.packbits(codes & 1), np.packbits(codes & 2), weight, *time]
    return NarrowEdges(ids + weights + _BITS + times, _page_of(columns))


def decode_narrow(written: NarrowEdges) -> EdgeBatch:
    """Read what `encode_narrow` wrote.

    Raises
    ------
    ValueError
        When it is no whole number of records, or another one than it says.
    """
    if written.layout == _WHOLE_TIMES:
        return TimedEdges.decode(written.page)
    ids, weights, bits, times = (written.layout[first : first + 2] for first in range(0, 8, 2))
    columns = _Columns(written.page)
    if not bits:
        record_bytes = 2 * _width(ids) + _WEIGHTS[weights].itemsize + _OPERATION.itemsize
        count, left = divmod(len(written.page), record_bytes)
        if left:
            raise ValueError(f"{len(written.page)} bytes are no edges of {record_bytes} bytes each")
        sources, targets = columns.ids(ids, count), columns.ids(ids, count)
        weight = columns.next(_WEIGHTS[weights], count).astype(np.float64)
        return EdgeBatch(sources, targets, weight, columns.next(_OPERATION, count).astype(np.int8))
    (count,) = columns.next(_COUNT, 1).tolist()
    sources, targets = columns.ids(ids, count), columns.ids(ids, count)
    codes = columns.bits(count) + 2 * columns.bits(count)
    is_said = codes != _OF_ANY_WEIGHT
    weight = said = columns.next(_WEIGHTS[weights], int(np.count_nonzero(is_said))).astype(np.float64)
    if len(said) < count:
        weight = np.full(count, np.nan)
        weight[is_said] = said
    batch = EdgeBatch(sources, targets, weight, _OPERATIONS[codes])
    if times:
        least = columns.next(_TIMES["t8"], 1).astype(np.int64)
        batch = TimedEdges.at(batch, least + columns.next(_TIMES[times], count).astype(np.int64))
    columns.end()
    return batch


class _Columns:
    """What is read of a page from its beginning on; a `ValueError` where it is not there."""

    def __init__(self, page: bytes) -> None:
        self._page = page
        self._start = 0

    def next(self, kind: np.dtype[Any], count: int) -> NDArray[Any]:
        """The next column, of so many numbers."""
        if len(self._page) - self._start < count * kind.itemsize:
            raise ValueError(f"{len(self._page)} bytes are fewer edges than they say")
        found = np.frombuffer(self._page, kind, count, self._start)
        self._start += found.nbytes
        return found

    def ids(self, word: str, count: int) -> NDArray[np.int64]:
        """The next column of ids."""
        lower, *upper = (self.next(kind, count) for kind in _IDS[word])
        found = lower.astype(np.int64)
        for column in upper:
            found |= column.astype(np.int64) << 16
        return found

    def bits(self, count: int) -> NDArray[np.uint8]:
        """The next bits, one a record."""
        return np.unpackbits(self.next(np.dtype(np.uint8), -(-count // 8)), count=count)

    def end(self) -> None:
        """Nothing may be left."""
        if self._start != len(self._page):
            raise ValueError(f"{len(self._page)} bytes are more edges than they say")


def _codes_of(batch: EdgeBatch) -> NDArray[np.uint8] | None:
    """What each record does, in two bits; None where one does anything else, or has a NaN that says more, or there is none."""
    if not len(batch):
        return None  # it takes nothing at all
    codes = _CODES[np.ascontiguousarray(batch.op, np.int8).view(np.uint8)]
    is_nan = np.isnan(batch.weight)
    if is_nan.any():
        said = batch.weight[is_nan].view(np.int64)
        if (said != np.array(np.nan).view(np.int64)).any() or (batch.op[is_nan] != REMOVE).any():
            return None
        codes[is_nan] = _OF_ANY_WEIGHT
    return None if (codes == _NONE).any() else codes


def _id_columns(batch: EdgeBatch, words: tuple[str, ...]) -> tuple[str, list[NDArray[Any]]]:
    """The first of the words that has all ids of a batch, and the columns in it."""
    ends = (batch.src, batch.dst)
    least, most = (min(end.min() for end in ends), max(end.max() for end in ends)) if len(batch) else (0, 0)
    for word in words:
        bits = 8 * _width(word)
        first = 0 if word.startswith("u") else -(1 << (bits - 1))
        if first <= least and most < first + (1 << bits):
            break
    columns = [
        # The second of two kinds is what the first, of the lower bits, leaves.
        (end >> 16 if place else end).astype(kind)
        for end in ends
        for place, kind in enumerate(_IDS[word])
    ]
    return word, columns


def _weight_columns(weight: NDArray[np.float64], words: tuple[str, ...]) -> tuple[str, NDArray[Any]]:
    """The first of the words that has all weights, to the bit, and the column in it."""
    bits = np.ascontiguousarray(weight).view(np.int64)
    for word in words:
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            column = weight.astype(_WEIGHTS[word])
        if np.array_equal(column.astype(np.float64).view(np.int64), bits):
            break
    return word, column


def _time_columns(time: NDArray[np.int64]) -> tuple[str, list[NDArray[Any]]]:
    """The word for times, and the columns in it: what is added to each, and what it is added to."""
    least = time.min()
    if int(time.max()) - int(least) <= np.iinfo(_TIMES["t4"]).max:
        return "t4", [np.array([least], _TIMES["t8"]), (time - least).astype(_TIMES["t4"])]
    return "t8", [np.zeros(1, _TIMES["t8"]), np.ascontiguousarray(time, _TIMES["t8"])]


def _width(ids: str) -> int:
    return sum(kind.itemsize for kind in _IDS[ids])


def _page_of(columns: list[NDArray[Any]]) -> bytes:
    return b"".join(column.tobytes() for column in columns)
