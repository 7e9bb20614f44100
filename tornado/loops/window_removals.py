"""What removals by hand take out of a window: decided when they are admitted, in the order of the records."""

from __future__ import annotations

from collections import defaultdict
from math import isnan

import numpy as np
from numpy.typing import NDArray

from ..records.operations import INSERT, REMOVE, REPLACE
from ..records.timed_edges import NO_TIME, TimedEdges


def resolved(
    batch: TimedEdges, cutoffs: NDArray[np.int64], alive: TimedEdges
) -> tuple[TimedEdges, NDArray[np.int64]]:
    """Resolve removals and replacements by what is in the window.

    Parameters
    ----------
    batch
        Records; none is late.
    cutoffs : int64[len(batch)]
        Up to which time all has left when each has come; ascending.
    alive
        The insertions before it that are in the window, of all edges that are removed or replaced, oldest first.

    Returns
    -------
    batch
        Each removal with the weight and the time of the insertion that it takes, NO_TIME where there is none; each replacement
        as such removals, with an insertion behind them.
    rows : int64[len(batch)]
        Which record each of them came from.
    """
    by_hand = (batch.op == REMOVE) | (batch.op == REPLACE)
    touched = np.flatnonzero(by_hand | np.isin(_pairs(batch), _pairs(batch.take(by_hand))))
    op, weight, time = batch.op.copy(), batch.weight.copy(), batch.time.copy()
    there: dict[tuple[int, int], list[tuple[int, float]]] = defaultdict(list)
    columns = (alive.src, alive.dst, alive.time, alive.weight)
    for src, dst, at, heavy in zip(*(column.tolist() for column in columns), strict=True):
        there[src, dst].append((at, heavy))
    taken: list[tuple[int, int, float]] = []  # by replacements: row, time, weight
    records = (touched, batch.src[touched], batch.dst[touched], weight[touched], time[touched], op[touched])
    for row, src, dst, heavy, at, code in zip(*(column.tolist() for column in records), strict=True):
        cutoff = int(cutoffs[row])
        edges = there[src, dst] = [edge for edge in there[src, dst] if edge[0] > cutoff]
        if code == INSERT:
            edges.append((at, heavy))
        elif code == REPLACE:
            taken += [(row, *edge) for edge in edges]
            there[src, dst] = [(at, heavy)]
            op[row] = INSERT
        elif code == REMOVE:
            is_any = isnan(heavy)
            met = next((n for n, edge in enumerate(edges) if is_any or edge[1] == heavy), None)
            time[row] = NO_TIME
            if met is not None:
                time[row], weight[row] = edges.pop(met)
    mended = TimedEdges(batch.src, batch.dst, weight, op, time)
    if not taken:
        return mended, np.arange(len(batch))
    rows = np.array([one[0] for one in taken])
    removals = TimedEdges(
        batch.src[rows],
        batch.dst[rows],
        np.array([one[2] for one in taken]),
        np.full(len(rows), REMOVE, np.int8),
        np.array([one[1] for one in taken], np.int64),
    )
    rows = np.concatenate([rows, np.arange(len(batch))])
    order = np.argsort(rows, kind="stable")
    return TimedEdges.concat([removals, mended]).take(order), rows[order]


def without(inserted: TimedEdges, gone: TimedEdges, until: int | None) -> TimedEdges:
    """Insertions less those that were removed by hand: of as many as are alike, the last ones stay.

    Parameters
    ----------
    until
        The greatest time of the insertions, where it is known: what was removed of later ones is not looked at.
    """
    if until is not None and len(gone):
        gone = gone.take(gone.time <= until)
    if not len(gone) or not len(inserted):
        return inserted
    near = np.isin(_pairs(inserted), _pairs(gone))
    if not near.any():
        return inserted
    rows = np.flatnonzero(near)
    both = TimedEdges.concat([gone, inserted.take(rows)])
    order = np.lexsort((both.weight, both.dst, both.src, both.time))  # stable: those that are gone come first
    ordered = both.take(order)
    is_new = np.ones(len(both), np.bool_)
    is_new[1:] = False
    for column in (ordered.time, ordered.src, ordered.dst, ordered.weight):
        is_new[1:] |= column[1:] != column[:-1]
    key = np.cumsum(is_new) - 1
    is_gone = order < len(gone)
    lost = np.bincount(key, weights=is_gone).astype(np.int64)  # how many of each key
    place = np.arange(len(both)) - np.flatnonzero(is_new)[key] - lost[key]  # among the insertions of a key
    keep = np.ones(len(inserted), np.bool_)
    keep[rows[order[~is_gone & (place < lost[key])] - len(gone)]] = False
    return inserted.take(keep)


def _pairs(batch: TimedEdges) -> NDArray[np.int64]:
    """A number for each pair of vertices, which others may share."""
    mixed = batch.src.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + batch.dst.view(np.uint64)
    return mixed.view(np.int64)
