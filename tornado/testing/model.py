"""What a stream of edge records means, written down twice.

The graph is a multigraph whose edges have an age. A removal takes the *oldest* edge src → dst, or, where it names a weight, the
oldest with that weight; where there is none it counts as missing and changes nothing. A replacement removes every edge src →
dst and inserts one. `GraphModel` does that record by record and is meant to be read; `EdgeHistory` computes the same from the
whole stream at once, compiled, for streams of millions of records. Both can give the edges of any prefix.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..records.edge_batch import EdgeBatch
from ..records.operations import REMOVE, REPLACE
from ..symbol_names import njit
from .edges import EdgeList

_REMOVE = np.int8(REMOVE)
_REPLACE = np.int8(REPLACE)
_NEVER = np.iinfo(np.int64).max


class GraphModel:
    """A multigraph that applies records one at a time and remembers every version of itself.

    Examples
    --------
    >>> from tornado.records.edge_batch import EdgeBatch
    >>> model = GraphModel()
    >>> model.apply(EdgeBatch.of([1, 1], [2, 2], [5.0, 7.0]))
    >>> model.apply(EdgeBatch.of([1, 1], [2, 9], op=-1))
    >>> model.edges().weight.tolist(), model.edges(prefix=2).weight.tolist(), model.missing_removals()
    ([7.0], [5.0, 7.0], 1)
    """

    def __init__(self) -> None:
        self._records = 0
        self._edges: list[tuple[int, int, float]] = []
        self._born: list[int] = []
        self._died: list[int] = []
        self._missing: list[int] = []
        #: (src, dst) -> positions in the columns above of the live edges, oldest first
        self._live: defaultdict[tuple[int, int], list[int]] = defaultdict(list)

    def __len__(self) -> int:
        """How many records were applied."""
        return self._records

    def apply(self, batch: EdgeBatch) -> None:
        """Apply the records of a batch in order."""
        rows = zip(
            batch.src.tolist(), batch.dst.tolist(), batch.weight.tolist(), batch.op.tolist(), strict=True
        )
        for src, dst, weight, op in rows:
            if op == REMOVE:
                self._remove(src, dst, weight)
            else:
                if op == REPLACE:
                    self._remove_all(src, dst)
                self._insert(src, dst, weight)
            self._records += 1

    def edges(self, *, prefix: int | None = None) -> EdgeList:
        """Return the edges that live after the first `prefix` records (left out: all records), oldest first."""
        if prefix is None:
            prefix = self._records
        if not 0 <= prefix <= self._records:
            raise ValueError(f"prefix is {prefix} but {self._records} records were applied")
        alive = [
            edge
            for edge, born, died in zip(self._edges, self._born, self._died, strict=True)
            if born < prefix <= died
        ]
        return EdgeList(
            np.array([edge[0] for edge in alive], np.int64),
            np.array([edge[1] for edge in alive], np.int64),
            np.array([edge[2] for edge in alive], np.float64),
        )

    def missing_removals(self, *, prefix: int | None = None) -> int:
        """Return how many of the first `prefix` records removed an edge that was not there."""
        limit = self._records if prefix is None else prefix
        return sum(at < limit for at in self._missing)

    def _insert(self, src: int, dst: int, weight: float) -> None:
        self._live[src, dst].append(len(self._edges))
        self._edges.append((src, dst, weight))
        self._born.append(self._records)
        self._died.append(_NEVER)

    def _remove(self, src: int, dst: int, weight: float) -> None:
        any_weight = weight != weight  # noqa: PLR0124 - NaN is the one value that differs from itself
        for edge in self._live[src, dst]:
            if any_weight or self._edges[edge][2] == weight:
                self._live[src, dst].remove(edge)
                self._died[edge] = self._records
                return
        self._missing.append(self._records)

    def _remove_all(self, src: int, dst: int) -> None:
        for edge in self._live.pop((src, dst), []):
            self._died[edge] = self._records


@dataclass(frozen=True, slots=True)
class EdgeHistory:
    """When each edge of a stream was born and when it died.

    Parameters
    ----------
    edges : EdgeList
        Every edge that was ever inserted, in the order of arrival.
    born, died : int64 array, shape (m,)
        Positions of the records that inserted and removed it; the greatest int64 where it lives on.
    missing : int64 array
        Positions of removals of an edge that was not there, ascending.
    """

    edges: EdgeList
    born: NDArray[np.int64]
    died: NDArray[np.int64]
    missing: NDArray[np.int64]

    @classmethod
    def of(cls, records: EdgeBatch) -> EdgeHistory:
        """Compute the history of a whole stream: a sort by (src, dst), then one pass; O(n log n).

        Parameters
        ----------
        records : EdgeBatch
            The stream as one batch.
        """
        # Stable: within a pair of ends the records stay in order of arrival, and pairs do not concern each other.
        order = np.lexsort((records.dst, records.src))
        died = _deaths(records.src, records.dst, records.weight, records.op, order)
        missing = np.flatnonzero(died == -1)
        born = np.flatnonzero(records.op != _REMOVE)
        edges = EdgeList(records.src[born], records.dst[born], records.weight[born])
        return cls(edges, born, died[born], missing)

    def at(self, prefix: int) -> EdgeList:
        """Return the edges that live after the first `prefix` records, oldest first."""
        return self.edges[(self.born < prefix) & (prefix <= self.died)]

    def missing_removals(self, prefix: int) -> int:
        """Return how many of the first `prefix` records removed an edge that was not there."""
        return int(np.searchsorted(self.missing, prefix))


@njit(cache=True)
def _deaths(
    src: NDArray[np.int64],
    dst: NDArray[np.int64],
    weight: NDArray[np.float64],
    op: NDArray[np.int8],
    order: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return per record: for an insertion when it died, for a removal 0, or -1 where nothing was there."""
    died = np.full(len(order), _NEVER, np.int64)
    live = np.empty(len(order), np.int64)
    first = 0
    size = 0
    for k in range(len(order)):
        record = order[k]
        if k and (src[record] != src[order[k - 1]] or dst[record] != dst[order[k - 1]]):
            first = 0
            size = 0
        if op[record] == _REMOVE:
            # Live edges of this pair are live[first:size], oldest first.
            found = first
            if not np.isnan(weight[record]):
                while found < size and weight[live[found]] != weight[record]:
                    found += 1
            if found >= size:
                died[record] = -1
                continue
            died[record] = 0
            died[live[found]] = record
            for i in range(found, first, -1):
                live[i] = live[i - 1]
            first += 1
        else:
            if op[record] == _REPLACE:
                for i in range(first, size):
                    died[live[i]] = record
                first = size
            live[size] = record
            size += 1
    return died
