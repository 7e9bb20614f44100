"""The town of `tornado demo`: what streams in, and the plain recomputation that answers are checked against.

Guarantees: the check knows nothing of loops, branches or snapshots. It takes the first so many records of the stream, applies
them to an empty graph, and runs a heap Dijkstra (Dijkstra 1959), compiled, from scratch.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ..records.edge_batch import EdgeBatch
from ..records.operations import REMOVE
from ..testing.city import City, city
from ..testing.model import EdgeHistory
from ..testing.oracle import BuiltGraph, build, heap_dijkstra
from ..testing.roads import closing, closures, opening

# Where places are, as shares of the height and width of the town; the middle is surveyed first, the rim last.
_PLACES = {
    "market square": (0.47, 0.58),
    "old bridge": (0.33, 0.41),
    "railway station": (0.66, 0.72),
    "water works": (0.18, 0.30),
    "light house": (0.03, 0.96),
}


@dataclass(frozen=True, eq=False)
class Town:
    """A road network as a stream of records.

    Attributes
    ----------
    records : EdgeBatch
        Every record in order: roads that open, and from `closures_start` on roads that close and open again.
    closures_start : int
        How many records only open roads.
    station : int
        Where the ambulance stands: the source of all paths.
    places : dict of str to int
        Junctions with a name.
    city : City
        Where these roads are.
    """

    records: EdgeBatch
    closures_start: int
    station: int
    places: dict[str, int]
    city: City

    @classmethod
    def generate(cls, *, rows: int, columns: int, closed_roads: int, seed: int) -> Self:
        """Generate a town on a grid of rows x columns in which `closed_roads` close, half of which open again."""
        made = city(rows, columns, seed=seed)
        closed = closures(made.roads, closed_roads, seed=seed)
        again = closed[: len(closed) // 2]
        return cls(
            records=EdgeBatch.concat([made.roads.records(), closing(closed), opening(again)]),
            closures_start=len(made.roads),
            station=made.nearest_junction(rows // 2, columns // 2),
            places={
                name: made.nearest_junction(int(down * rows), int(across * columns))
                for name, (down, across) in _PLACES.items()
            },
            city=made,
        )

    @cached_property
    def history(self) -> EdgeHistory:
        """When each road was open."""
        return EdgeHistory.of(self.records)

    def warm_up(self) -> None:
        """Compile the check, and have the history, so that its times are those of its work."""
        recompute(EdgeHistory.of(self.records.slice(0, 64)), 64, self.station, self.city.water.size)
        _ = self.history

    def undoing(self, records: EdgeBatch) -> EdgeBatch:
        """Return the removals of some edges."""
        return replace(records, op=np.full(len(records), REMOVE, np.int8))

    def bridge_on(self, way: Sequence[int]) -> tuple[int, int] | None:
        """Return the ends of the last bridge on a way; None where it crosses none."""
        bridges = {frozenset(ends) for ends in self.city.bridges.tolist()}
        crossed = [ends for ends in pairwise(way) if frozenset(ends) in bridges]
        return crossed[-1] if crossed else None

    def with_closed(self, ends: tuple[int, int]) -> Self:
        """Return the town with one more closure at the end of its records: a road, in both directions."""
        closed = EdgeBatch.of([*ends], [*reversed(ends)], op=REMOVE)
        return replace(self, records=EdgeBatch.concat([self.records, closed]))

    def check(self, prefix: int, ids: npt.NDArray[np.int64], values: npt.NDArray[np.float64]) -> Check:
        """Compare an answer with a recomputation on the first `prefix` records.

        Parameters
        ----------
        prefix : int
            How many records the answer says it is for.
        ids : ndarray of int64, shape (n,)
            Every junction of the answer. Not written.
        values : ndarray of float64, shape (n,)
            Its minutes from the station; infinity where it cannot be reached. Not written.
        """
        return compared(
            recompute(self.history, prefix, self.station, self.city.water.size), self.station, ids, values
        )

    def check_ways(self, prefix: int, ways: Sequence[Mapping[str, Any]]) -> Check:
        """Compare the `paths` of an answer with a recomputation, as `check`: minutes, every road of each way, and their sum."""
        found = recompute(self.history, prefix, self.station, self.city.water.size)
        differing = sum(not _is_right(way, found, self.station) for way in ways)
        return Check(len(ways), differing, 0, found.build_s, found.search_s)


@dataclass(frozen=True, slots=True)
class Check:
    """The outcome of one comparison.

    Attributes
    ----------
    compared, differing : int
        Junctions of the answer, and those whose minutes are not bit for bit the recomputed ones.
    missing : int
        Junctions that can be reached and are not in the answer.
    build_s, search_s : float
        What the recomputation took: to put the graph of the prefix together, and to search it.
    """

    compared: int
    differing: int
    missing: int
    build_s: float
    search_s: float

    @property
    def matches(self) -> bool:
        """Whether the answer is exactly the recomputed one."""
        return self.compared > 0 and self.differing == 0 and self.missing == 0


@dataclass(frozen=True, slots=True, eq=False)
class Recomputed:
    """The minutes to every junction, from nothing.

    Attributes
    ----------
    graph
        The roads that were open.
    ids, values
        Junctions, ascending, and their minutes.
    build_s, search_s
        See `Check`.
    """

    graph: BuiltGraph
    ids: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]
    build_s: float
    search_s: float

    def roads_from(self, junction: int) -> range:
        """The places in the graph of the roads that begin at a junction."""
        row = self.graph.dense(junction)
        return range(0) if row < 0 else range(int(self.graph.offsets[row]), int(self.graph.offsets[row + 1]))


def places(rows: int, columns: int) -> dict[str, int]:
    """Return the junctions with a name of a grid of rows x columns without water."""
    return {
        name: int(down * rows) * columns + int(across * columns) for name, (down, across) in _PLACES.items()
    }


def compare(
    records: EdgeBatch,
    prefix: int,
    station: int,
    ids: npt.NDArray[np.int64],
    values: npt.NDArray[np.float64],
) -> Check:
    """Compare an answer with a recomputation on the first `prefix` records; see `Town.check`."""
    return compared(
        recompute(EdgeHistory.of(records.slice(0, prefix)), prefix, station), station, ids, values
    )


def compared(
    recomputed: Recomputed, station: int, ids: npt.NDArray[np.int64], values: npt.NDArray[np.float64]
) -> Check:
    """Compare an answer with a recomputation of its prefix; see `Town.check`."""
    expected, found_ids = recomputed.values, recomputed.ids
    wanted = expected[np.searchsorted(found_ids, ids).clip(max=max(len(found_ids) - 1, 0))]
    named = np.isin(ids, found_ids, assume_unique=True)
    wanted = np.where(named, wanted, np.where(ids == station, 0.0, np.inf))
    # Compared as bits: "close enough" is not what exact means.
    differing = int(np.count_nonzero(wanted.view(np.int64) != values.view(np.int64)))
    reachable = found_ids[np.isfinite(expected)]
    if not len(recomputed.roads_from(station)):  # it may be one that no record has named
        reachable = reachable[reachable != station]
    missing = int(np.count_nonzero(~np.isin(reachable, ids)))
    return Check(len(ids), differing, missing, recomputed.build_s, recomputed.search_s)


def recompute(history: EdgeHistory, prefix: int, station: int, junctions: int = 0) -> Recomputed:
    """Put the graph of the first `prefix` records together and search it from the station.

    Parameters
    ----------
    junctions : int, optional
        Ids are from 0 up to that, where it is above 0; then the graph is put together in a fraction of the time.
    """
    started_s = time.perf_counter()
    graph = build(replace(history.at(prefix), vertices=junctions))
    built_s = time.perf_counter()
    distances = heap_dijkstra(graph, station)
    done_s = time.perf_counter()
    return Recomputed(graph, distances.ids, distances.values, built_s - started_s, done_s - built_s)


def _is_right(way: Mapping[str, Any], found: Recomputed, station: int) -> bool:
    """Whether a way is as short as can be, over roads that are open, and its minutes are their sum to the bit."""
    graph, vertices, weights = found.graph, way["vertices"], way["weights"]
    place = graph.dense(way["vertex"])
    expected = found.values[place] if place >= 0 else np.inf
    if way["value"] is None:
        return not vertices and expected == np.inf
    if [vertices[0], vertices[-1], len(weights)] != [station, way["vertex"], len(vertices) - 1]:
        return False
    total = 0.0
    for start, end, weight in zip(vertices, vertices[1:], weights, strict=False):
        begun = found.roads_from(start)
        roads = slice(begun.start, begun.stop)
        if not np.any((graph.targets[roads] == graph.dense(end)) & (graph.weights[roads] == weight)):
            return False
        total += weight
    return bool(total == way["value"] == expected)
