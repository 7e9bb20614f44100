"""How a main loop begins where a stored snapshot ended: with its graph, and with the fixed point in place of initial values.

Source: recovery from the last terminated snapshot (Tornado, SIGMOD 2016, section 5.3). A stored snapshot is a fixed point with
its edges, so a loop of the same program is converged as soon as it is loaded: values are placed first, and then no edge that
comes makes a better offer. It is keyed by vertex, so any number of workers can load what any other number wrote.

A program that computes something else (other parameters, or an edited function) takes the graph alone, and computes its own
values on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine import Engine
from ..errors import StoreCorrupt
from ..graph import PartitionMap
from . import loop_columns as names
from .host import LoopHost, Place
from .loop_columns import DIRTY, NO_PARENT, SELF_PARENT
from .main_processor import MainProcessor
from .snapshot import Snapshot
from .stored_snapshot import VertexColumns


@dataclass(frozen=True, slots=True)
class Restored:
    """What a main loop began with.

    Attributes
    ----------
    snapshot
        The prefix of the input that was in it.
    program
        Whose values were stored, with its parameters.
    is_converged
        Whether they were taken over. Otherwise only the graph was.
    """

    snapshot: Snapshot
    program: str
    is_converged: bool


class RestorableProcessor(MainProcessor):
    """A main loop on one worker that can begin with what was stored. Called on the worker's thread, before anything is admitted."""

    def place_vertices(self, ids: NDArray[np.int64], values: NDArray[np.float64] | None) -> None:
        """Make vertices of this worker known and, where values are given, leave nothing to commit for them.

        Raises
        ------
        StoreCorrupt
            When a vertex is there twice.
        """
        self.stream.mention(ids)
        if self.graph.rows != len(ids):
            raise StoreCorrupt(
                f"{len(ids)} vertices of a stored snapshot are only {self.graph.rows} different ones"
            )
        if values is None:
            return
        columns, counters = self.state.columns, self.state.counters
        rows = self.graph.rows_of(ids)
        self.state.place_values(rows, values)
        columns.flags[rows] &= ~np.uint8(DIRTY)
        # Only these rows were dirty, and none of them was ever committed.
        columns.pending[:] = 0
        for queue in (names.HEAP, names.PENDING_INSIDE, names.PENDING_BEYOND):
            counters[queue] = 0

    def place_parents(self, ids: NDArray[np.int64], parents: NDArray[np.int64]) -> None:
        """Say which producer the value of each vertex came from; its own id stands for none. All edges are there by now.

        Raises
        ------
        StoreCorrupt
            When a producer has no edge here.
        """
        rows, producers = self.graph.rows_of(ids), self.graph.rows_of(parents)
        missing = np.flatnonzero((rows < 0) | (producers < 0))
        if missing.size:
            raise StoreCorrupt(
                f"the value of vertex {ids[missing[0]]} came from {parents[missing[0]]}, from where no edge is stored"
            )
        unreached = (self.state.values[rows] == self.kernel.WORST).reshape(len(rows), -1).all(axis=1)
        alone = np.where(unreached, NO_PARENT, SELF_PARENT)
        self.state.columns.parent[rows] = np.where(rows == producers, alone, producers)


class Restoration:
    """Hands the vertices of a stored snapshot to the workers of a loop, each those that it owns, and waits for them.

    Parameters
    ----------
    vertices
        All of them; only read.
    number, hosts, engine, partition
        Of the loop, which is installed and has admitted nothing.
    wait
        Waits for what the workers bring about, or raises where they or the loop are lost.
    """

    def __init__(
        self,
        vertices: VertexColumns,
        *,
        number: int,
        hosts: Sequence[LoopHost],
        engine: Engine,
        partition: PartitionMap,
        wait: Callable[[Callable[[], bool]], None],
    ) -> None:
        self._vertices = vertices
        self._number = number
        self._hosts = hosts
        self._engine = engine
        self._wait = wait
        owners = partition.owners_of(vertices.ids)
        self._owned = [np.flatnonzero(owners == worker) for worker in range(len(hosts))]

    def place_vertices(self, *, with_values: bool) -> None:
        """Place the vertices on every worker; called before the edges come. See `RestorableProcessor.place_vertices`."""
        values = self._vertices.values if with_values else None
        self._on_every_worker("place_vertices", self._vertices.ids, values)

    def place_parents(self) -> None:
        """Place the parents on every worker; called when every worker has its edges and hears of what it needs."""
        self._on_every_worker("place_parents", self._vertices.ids, self._vertices.parents)

    def _on_every_worker(self, method: str, *columns: NDArray[Any] | None) -> None:
        """Have every worker's part take over its entries of the columns."""
        outcomes: list[Exception | None] = []

        def on_placed(worker: int, error: Exception | None) -> None:
            del worker
            outcomes.append(error)
            self._engine.notify()

        for host, own in zip(self._hosts, self._owned, strict=True):
            owned = tuple(None if column is None else column[own] for column in columns)
            host.post(Place(self._number, method, owned, on_placed))
        self._wait(lambda: len(outcomes) == len(self._hosts))
        for outcome in outcomes:
            if outcome is not None:
                raise outcome
