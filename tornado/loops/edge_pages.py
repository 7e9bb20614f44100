"""Pages of edges in a stored snapshot: each column in the narrowest type that has all numbers of the page exactly.

A base is as large as the edges in it, and what it takes to write one is to digest these bytes and to have them on the disk. Ids below
2^31 take four bytes in place of eight, and so do weights that are the same in single precision, as whole numbers up to 2^24 are.

A page begins with eight bytes that say the types: those of sources, targets and weights as NumPy writes them, ``i4i4f4``, and two
zeros. Then the columns come, each whole, little-endian. What is not exact in a narrow type, a NaN too, has its column wide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_HEADER_BYTES: Final = 8
_IDS: Final = ("i4", "i8")
_WEIGHTS: Final = ("f4", "f8")


@dataclass(frozen=True, slots=True, eq=False)
class EdgeColumns:
    """Edges; those with the same target are in the order of their arrival."""

    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    weights: NDArray[np.float64]

    @classmethod
    def of(cls, sources: NDArray[Any], targets: NDArray[Any], weights: NDArray[Any]) -> EdgeColumns:
        """The edges of columns of any types, copied: kernels would be compiled anew for parts of a page, which may only be read."""
        return cls(sources.astype(np.int64), targets.astype(np.int64), weights.astype(np.float64))


def edge_page_of(parts: Sequence[Sequence[NDArray[Any]]]) -> memoryview:
    """The page that has these edges: sources, targets and weights of each part. Without any it is empty.

    Parameters
    ----------
    parts
        Their columns are int32 or int64, and float32 or float64; of those of one page the wider type is taken.
    """
    columns = [list(column) for column in zip(*parts, strict=True)]
    kinds = [np.result_type(*column) for column in columns]
    count = sum(map(len, columns[0]))
    if not count:
        return memoryview(b"")
    page = np.zeros(_HEADER_BYTES + count * sum(kind.itemsize for kind in kinds), np.uint8)
    said = "".join(kind.newbyteorder("<").str[1:] for kind in kinds).encode()
    page[: len(said)] = np.frombuffer(said, np.uint8)
    start = _HEADER_BYTES
    for kind, column in zip(kinds, columns, strict=True):
        place = page[start : start + count * kind.itemsize].view(kind.newbyteorder("<"))
        np.concatenate(column, out=place)
        start += place.nbytes
    return page.data


def edges_of(page: bytes) -> EdgeColumns:
    """Read what `edge_page_of` wrote.

    Raises
    ------
    ValueError
        When it does not say known types, or is no whole number of edges.
    """
    said = page[:_HEADER_BYTES].rstrip(b"\0").decode("ascii", "replace")
    kinds = said[:2], said[2:4], said[4:]
    if len(page) < _HEADER_BYTES or not (set(kinds[:2]) <= set(_IDS) and kinds[2] in _WEIGHTS):
        raise ValueError(f"edges of the types {said!r}, which is not known here")
    types = [np.dtype(f"<{kind}") for kind in kinds]
    count, left = divmod(len(page) - _HEADER_BYTES, sum(kind.itemsize for kind in types))
    if left:
        raise ValueError(f"{len(page)} bytes, which is no whole number of edges")
    found, start = [], _HEADER_BYTES
    for kind in types:
        found.append(np.frombuffer(page, kind, count, start))
        start += found[-1].nbytes
    return EdgeColumns.of(*found)
