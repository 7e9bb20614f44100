"""Edge lists turned into streams in which edges come and go.

Each maker returns the whole stream as one batch of records; `batches` and `ragged_batches` cut it. All are pure functions of
their arguments, the seed among them. What a stream means is in `model.py`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..records.edge_batch import EdgeBatch
from ..records.operations import INSERT, REMOVE, REPLACE
from ..symbol_names import njit
from . import splitmix
from .edges import EdgeList


@dataclass(frozen=True, slots=True)
class Mix:
    """How often, per edge inserted, `mixed` adds a record of each other kind; each in 0..1.

    Parameters
    ----------
    removal : float
        Remove a random edge that was inserted before.
    by_weight : float
        Share of the removals that name the weight; the others take the oldest edge between their ends.
    reinsertion : float
        Insert an edge again that was removed.
    parallel : float
        Insert a second edge, of another weight, beside one that is there.
    replacement : float
        Give an edge a new weight with `=`: lower or higher.
    missing : float
        Remove an edge that was never there: ends that nothing joins, or a weight that no edge has.
    """

    removal: float = 0.4
    by_weight: float = 0.5
    reinsertion: float = 0.1
    parallel: float = 0.03
    replacement: float = 0.05
    missing: float = 0.02


def sliding_window(edges: EdgeList, window: int, *, by_weight: bool = False) -> EdgeBatch:
    """Insert every edge in order; from the moment `window` are live, each insertion is followed by the removal of the oldest.

    Parameters
    ----------
    edges : EdgeList
        m edges in order of arrival; parallel ones allowed.
    window : int
        How many edges live at once.
    by_weight : bool
        Removals name the weight.

    Returns
    -------
    EdgeBatch
        2m - min(window, m) records; after each insertion beyond the window one edge too many lives, for one record.
    """
    count = len(edges)
    leaving = max(count - window, 0)
    src, dst, weight, op = _blank(count + leaving)
    # Insertion i stands at i while the window fills, and then at every second place.
    index = np.arange(count)
    inserted_at = index + np.maximum(index - window, 0)
    removed_at = inserted_at[count - leaving :] + 1
    for column, values in ((src, edges.src), (dst, edges.dst), (weight, edges.weight)):
        column[inserted_at] = values
        column[removed_at] = values[:leaving]
    op[inserted_at] = INSERT
    op[removed_at] = REMOVE
    if not by_weight:
        weight[removed_at] = np.nan
    return EdgeBatch(src, dst, weight, op)


def mixed(edges: EdgeList, *, seed: int, mix: Mix | None = None) -> EdgeBatch:
    """Insert every edge in order, with records of every other kind between them.

    Parameters
    ----------
    edges : EdgeList
        Edges in order of arrival.
    seed : int
        Chooses which edges the other records name.
    mix : Mix, optional
        How often they come.
    """
    chances = mix or Mix()
    chance = random.Random(seed)
    rows: list[tuple[int, int, float, int]] = []
    there: list[tuple[int, int, float]] = []
    gone: list[tuple[int, int, float]] = []
    triples = zip(
        edges.src.tolist(), edges.dst.tolist(), edges.weight.astype(np.float64).tolist(), strict=True
    )
    for src, dst, weight in triples:
        rows.append((src, dst, weight, INSERT))
        there.append((src, dst, weight))
        if chance.random() < chances.removal:
            edge = _take(there, chance)
            gone.append(edge)
            rows.append(
                (edge[0], edge[1], edge[2] if chance.random() < chances.by_weight else np.nan, REMOVE)
            )
        if gone and chance.random() < chances.reinsertion:
            edge = _take(gone, chance)
            there.append(edge)
            rows.append((*edge, INSERT))
        if there and chance.random() < chances.parallel:
            beside = there[chance.randrange(len(there))]
            edge = (beside[0], beside[1], _other_weight(beside[2], chance))
            there.append(edge)
            rows.append((*edge, INSERT))
        if there and chance.random() < chances.replacement:
            position = chance.randrange(len(there))
            old = there[position]
            there[position] = (old[0], old[1], _other_weight(old[2], chance))
            rows.append((*there[position], REPLACE))
        if chance.random() < chances.missing:
            # Ids below zero are in no data set; 0.125 beside a weight is near enough to catch a rounded comparison.
            absent = (-1 - src, dst, np.nan) if chance.random() < 0.5 else (src, dst, weight + 0.125)
            rows.append((*absent, REMOVE))
    return _batch(rows)


def without(edges: EdgeList, *, seed: int, by_weight: bool = False) -> EdgeBatch:
    """Return the removal of every edge, in random order: what is left of the graph is nothing."""
    order = np.arange(len(edges))
    splitmix.shuffle(order, splitmix.stream(seed, 0))
    removals = edges[order].records(op=REMOVE)
    if by_weight:
        return removals
    return replace(removals, weight=np.full(len(edges), np.nan))


def batches(records: EdgeBatch, size: int) -> Iterator[EdgeBatch]:
    """Yield the stream in batches of `size`, the last one shorter."""
    for start in range(0, len(records), size):
        yield records.slice(start, start + size)


def ragged_batches(records: EdgeBatch, *, largest: int, seed: int) -> Iterator[EdgeBatch]:
    """Yield the stream in batches of random sizes 1..largest, small ones as likely as large ones (log-uniform)."""
    chance = random.Random(seed)
    start = 0
    while start < len(records):
        size = max(1, int(largest ** chance.random()))
        yield records.slice(start, start + size)
        start += size


class Churn:
    """An endless stream over a fixed set of distinct edges: half removals of random live edges, half additions.

    The graph keeps its size and its shape; any random part of it lives. Making a batch costs about 50 ns a record, so that a
    benchmark measures the loop and not its own stream.

    Parameters
    ----------
    edges : EdgeList
        No two between the same ends; in random order.
    loaded : int
        This many, from the front, live at the beginning: load them first (`live()`).
    seed : int
        Chooses the stream.
    """

    def __init__(self, edges: EdgeList, *, loaded: int, seed: int) -> None:
        if not 0 < loaded < len(edges):
            raise ValueError(
                f"loaded is {loaded} but must lie in 1..{len(edges) - 1}: both kinds of record need a choice"
            )
        self._edges = edges
        self._order = np.arange(len(edges), dtype=np.int32)
        self._loaded = loaded
        self._start = splitmix.stream(seed, 5)
        self._drawn = 0

    def next_batch(self, size: int) -> EdgeBatch:
        """Return the next `size` records (rounded up to even): removals and additions by turns."""
        pairs = (size + 1) // 2
        chosen = _exchange(self._order, self._loaded, pairs, self._start, self._drawn)
        self._drawn += 2 * pairs
        op = np.empty(2 * pairs, np.int8)
        op[0::2] = REMOVE
        op[1::2] = INSERT
        part = self._edges[chosen]
        weight = part.weight.astype(np.float64)
        weight[0::2] = np.nan
        return EdgeBatch(part.src.astype(np.int64), part.dst.astype(np.int64), weight, op)

    def live(self) -> EdgeList:
        """Return the edges that live after all batches so far, in no particular order."""
        return self._edges[self._order[: self._loaded]]


def _blank(
    count: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.int8]]:
    return (
        np.empty(count, np.int64),
        np.empty(count, np.int64),
        np.empty(count, np.float64),
        np.empty(count, np.int8),
    )


def _batch(rows: list[tuple[int, int, float, int]]) -> EdgeBatch:
    src, dst, weight, op = zip(*rows, strict=True) if rows else ((), (), (), ())
    return EdgeBatch(
        np.array(src, np.int64), np.array(dst, np.int64), np.array(weight, np.float64), np.array(op, np.int8)
    )


def _take(edges: list[tuple[int, int, float]], chance: random.Random) -> tuple[int, int, float]:
    """Take a random element out: the last one fills its place."""
    position = chance.randrange(len(edges))
    edges[position], edges[-1] = edges[-1], edges[position]
    return edges.pop()


def _other_weight(weight: float, chance: random.Random) -> float:
    """Return a weight below or above, zero now and then, integral where the old one was."""
    factor = chance.choice((0.0, 0.5, 2.0, 3.0))
    return float(int(weight * factor)) if weight == int(weight) else weight * factor


@njit(cache=True, nogil=True)
def _exchange(
    order: NDArray[np.int32], loaded: int, pairs: int, start: np.uint64, drawn: int
) -> NDArray[np.int32]:
    """Move `pairs` random edges out of order[:loaded] and as many in; return them by turns. Writes `order`."""
    chosen = np.empty(2 * pairs, np.int32)
    spare = len(order) - loaded
    for pair in range(pairs):
        leaving = splitmix.below(start, drawn + 2 * pair, loaded)
        joining = loaded + splitmix.below(start, drawn + 2 * pair + 1, spare)
        chosen[2 * pair] = order[leaving]
        chosen[2 * pair + 1] = order[joining]
        order[leaving], order[joining] = order[joining], order[leaving]
    return chosen
