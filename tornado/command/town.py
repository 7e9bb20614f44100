"""The town of `tornado demo`: what streams in, and the plain recomputation that answers are checked against.

Guarantees: the check knows nothing of loops, branches or snapshots. It takes the first so many records of the stream, applies
them to an empty graph, and runs a heap Dijkstra (Dijkstra 1959), compiled, from scratch.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from ..records.edge_batch import EdgeBatch
from ..records.operations import REMOVE
from ..testing.model import EdgeHistory
from ..testing.oracle import build, heap_dijkstra
from ..testing.roads import closing, closures, opening, road_network

# Where places are, as shares of the height and width of the town; the middle is surveyed first, the rim last.
_PLACES = {
    "market square": (0.47, 0.58),
    "old bridge": (0.33, 0.41),
    "railway station": (0.66, 0.72),
    "water works": (0.18, 0.30),
    "light house": (0.03, 0.96),
}


@dataclass(frozen=True, slots=True)
class Town:
    """A road network as a stream of records.

    Attributes
    ----------
    records : EdgeBatch
        Every record in order: roads that open, and from `closures_start` on roads that close and open again.
    closures_start : int
        How many records only open roads.
    junctions : int
        Size of the grid.
    station : int
        Where the ambulance stands: the source of all paths.
    places : dict of str to int
        Junctions with a name.
    """

    records: EdgeBatch
    closures_start: int
    junctions: int
    station: int
    places: dict[str, int]

    @classmethod
    def generate(cls, *, rows: int, columns: int, closed_roads: int, seed: int) -> Self:
        """Generate a town of rows x columns junctions in which `closed_roads` close, half of which open again."""
        roads = road_network(rows, columns, seed=seed)
        closed = closures(roads, closed_roads, seed=seed)
        again = closed[: len(closed) // 2]
        return cls(
            records=EdgeBatch.concat([roads.records(), closing(closed), opening(again)]),
            closures_start=len(roads),
            junctions=rows * columns,
            station=rows // 2 * columns + columns // 2,
            places=places(rows, columns),
        )

    def warm_up(self) -> None:
        """Compile the check, so that its times are those of its work."""
        _recompute(self.records.slice(0, 64), 64, self.station)

    def undoing(self, records: EdgeBatch) -> EdgeBatch:
        """Return the removals of some edges."""
        return replace(records, op=np.full(len(records), REMOVE, np.int8))

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
        return compare(self.records, prefix, self.station, ids, values)


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


def places(rows: int, columns: int) -> dict[str, int]:
    """Return the junctions with a name of a town of rows x columns."""
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
    expected, found_ids, build_s, search_s = _recompute(records, prefix, station)
    wanted = expected[np.searchsorted(found_ids, ids).clip(max=max(len(found_ids) - 1, 0))]
    named = np.isin(ids, found_ids, assume_unique=True)
    wanted = np.where(named, wanted, np.where(ids == station, 0.0, np.inf))
    # Compared as bits: "close enough" is not what exact means.
    differing = int(np.count_nonzero(wanted.view(np.int64) != values.view(np.int64)))
    reachable = found_ids[np.isfinite(expected)]
    missing = int(np.count_nonzero(~np.isin(reachable, ids)))
    return Check(len(ids), differing, missing, build_s, search_s)


def _recompute(
    records: EdgeBatch, prefix: int, station: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64], float, float]:
    started_s = time.perf_counter()
    graph = build(EdgeHistory.of(records.slice(0, prefix)).at(prefix))
    built_s = time.perf_counter()
    distances = heap_dijkstra(graph, station)
    done_s = time.perf_counter()
    return distances.values, distances.ids, built_s - started_s, done_s - built_s
