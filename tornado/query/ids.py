"""Vertex ids as people write them, and as loops count them.

Loops know int64 only. A codec stands at the edge of the system: it turns what a request names into int64 and back.
`IntIds` is the identity with its checks; a loop started with string ids brings a codec over its interner. A codec
belongs to a stream (`ServedStream`), and everything that reads or writes ids of its loops asks it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, Protocol

import numpy as np

from ..errors import InvalidArgument
from ..ingest.interner import Interner
from ..value_types import Ids, Mask

INT64_MIN = -(2**63)
INT64_MAX = 2**63 - 1

Vertex = int | str


class IdCodec(Protocol):
    """Between the ids of requests and results and the int64 ids of a loop."""

    @property
    def kind(self) -> Literal["int", "string"]:
        """What an id is outside."""

    def encode(self, vertices: Iterable[Any], *, name: str = "vertices") -> tuple[Ids, Mask]:
        """Return the int64 of each vertex, and whether the codec knows it (where not, the int64 means nothing).

        Raises
        ------
        InvalidArgument
            When an entry is not an id of this kind; names the entry and its index, in what is called `name`.
        """

    def decode(self, ids: Ids) -> Sequence[Vertex]:
        """Return what `encode` was given for these ids."""


class IntIds:
    """Ids that are numbers already.

    Examples
    --------
    >>> IntIds().encode([4, 5])[0].tolist()
    [4, 5]
    """

    kind: Literal["int"] = "int"

    def encode(self, vertices: Iterable[Any], *, name: str = "vertices") -> tuple[Ids, Mask]:
        """Check and convert; every int64 is known."""
        if isinstance(vertices, np.ndarray) and vertices.dtype == np.int64:
            ids = vertices.astype(np.int64, copy=True).ravel()
        else:
            ids = np.array(
                [_int64(vertex, f"{name}[{index}]") for index, vertex in enumerate(vertices)], dtype=np.int64
            )
        return ids, np.ones(ids.size, dtype=np.bool_)

    def decode(self, ids: Ids) -> Sequence[Vertex]:
        """Return plain ints."""
        plain: list[Vertex] = ids.tolist()
        return plain


class StringIds:
    """Ids that are strings outside and interned numbers inside."""

    kind: Literal["string"] = "string"

    def __init__(self, interner: Interner) -> None:
        self.interner = interner

    def encode(self, vertices: Iterable[Any], *, name: str = "vertices") -> tuple[Ids, Mask]:
        """Look every string up; one that was never interned is an unknown vertex, not an error."""
        names = list(vertices)
        for index, given in enumerate(names):
            if not isinstance(given, str):
                raise InvalidArgument(
                    f"{name}[{index}] is {given!r}, but the ids of this loop are strings",
                    hint="Put the id in quotes.",
                )
        found = self.interner.find(names)
        known = np.array([number is not None for number in found], dtype=np.bool_)
        return np.array([number or 0 for number in found], dtype=np.int64), known

    def decode(self, ids: Ids) -> Sequence[Vertex]:
        """Return the strings."""
        return self.interner.names(ids)


def _int64(vertex: Any, place: str) -> int:
    if isinstance(vertex, np.integer):
        vertex = int(vertex)
    if isinstance(vertex, bool) or not isinstance(vertex, int):
        raise InvalidArgument(
            f"{place} is {vertex!r}, but the ids of this loop are 64-bit integers",
            hint="Give a whole number, or start the loop with --ids string.",
        )
    if not INT64_MIN <= vertex <= INT64_MAX:
        raise InvalidArgument(
            f"{place} is {vertex}, which does not fit a signed 64-bit integer",
            hint=f"Ids run from {INT64_MIN} to {INT64_MAX}; start the loop with --ids string for others.",
        )
    return vertex
