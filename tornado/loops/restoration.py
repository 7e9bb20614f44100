"""How main loops begin where a stored snapshot ended: with its graph, and with their fixed points in place of initial values.

Source: recovery from the last terminated snapshot (Tornado, SIGMOD 2016, section 5.3). A stored snapshot has the fixed point of
each loop with the edges, so a loop of the same program is converged as soon as it is loaded: values are placed first, in all
loops, and then no edge that comes makes a better offer. It is keyed by vertex, so any number of workers can load what any other
number wrote.

A program that computes something else (other parameters, or an edited function) takes the graph alone, and computes its own
values on it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine import Engine
from ..errors import CallerError, InvalidArgument, WorkerLost
from ..records.edge_batch import EdgeBatch
from ..records.record_batch import RecordBatch
from .commands import LoopHost, Place
from .edge_shares import shares_among_known
from .kind import kind_of_program
from .reading_loop import ReadingLoop
from .snapshot import Snapshot
from .stored_snapshot import StoredSnapshot
from .stream import REPLAYED_AHEAD_RECORDS, RecordStream
from .vertex_program import first_refused

# Of the vertices of a stored fixed point, by name.
Columns = Mapping[str, NDArray[Any]]


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


class Restoration:
    """Loads a stored snapshot into loops of one stream, which were installed and have nothing yet.

    A loop that cannot take an edge of it is taken off the workers; the others go on.

    Parameters
    ----------
    stored
        Only read, a page at a time.
    stream
        What the loops read.
    loops
        Of programs whose snapshots are stored.
    hosts, engine
        The workers.

    Attributes
    ----------
    refused
        Why loops could not go on from it, by their numbers.
    """

    def __init__(
        self,
        stored: StoredSnapshot,
        stream: RecordStream,
        loops: Sequence[ReadingLoop],
        *,
        hosts: Sequence[LoopHost],
        engine: Engine,
    ) -> None:
        self.refused: dict[int, CallerError] = {}
        self._stored = stored
        self._stream = stream
        self._loops = list(loops)
        self._hosts = hosts
        self._engine = engine
        self._losses = engine.losses
        self._ids = stored.ids()
        # By loop, of those whose fixed point is stored: by vertex, or what it has as a whole.
        self._columns: dict[int, Columns] = {}
        self._arrays: dict[int, Columns] = {}
        for loop in loops:
            point = stored.fixed_point(kind_of_program(loop.program).identity(loop.program), loop.name)
            if point is not None and loop.program.declared_points is not None:
                self._arrays[loop.number] = stored.arrays(point)
            elif point is not None:
                self._columns[loop.number] = stored.vertices(point).columns
        for edges in islice(stored.edge_pages(), 1):
            stream.workers.settle(EdgeBatch.insertions(edges.sources, edges.targets, edges.weights))
        owners = stream.workers.partition.owners_of(self._ids)
        self._owned = [np.flatnonzero(owners == worker) for worker in range(len(hosts))]

    def load(self) -> dict[int, Restored]:
        """Load the snapshot; blocks until the loops that have their fixed point are at rest with it.

        Returns
        -------
        What each loop begins with that was not refused, by its number.

        Raises
        ------
        StoreCorrupt
            When the snapshot cannot be read.
        WorkerLost
            When workers were lost meanwhile, or are ended.
        """
        # At once: a loop that heard of vertices before it has their values would begin to compute them.
        self._place([loop.number for loop in self._loops], is_behind_edges=False)
        for edges in self._stored.edge_pages():
            self._admit(EdgeBatch.insertions(edges.sources, edges.targets, edges.weights))
        for points in self._stored.point_pages():
            self._admit(points)
        converged = [loop for loop in self._left() if self._has_fixed_point(loop)]
        if converged:
            self._wait(lambda: all(loop.error is not None or loop.is_at_rest() for loop in converged))
            self._place([loop.number for loop in converged], is_behind_edges=True)
            # A worker that has not asked yet for what others have would not hear that it changes.
            self._wait(lambda: all(loop.error is not None or loop.is_at_rest() for loop in converged))
        return {
            loop.number: Restored(
                self._stored.snapshot_of(loop.name),
                self._stored.described(loop.name),
                self._has_fixed_point(loop),
            )
            for loop in self._left()
        }

    def _has_fixed_point(self, loop: ReadingLoop) -> bool:
        return loop.number in self._columns or loop.number in self._arrays

    def _admit(self, batch: RecordBatch) -> None:
        for loop in self._left():
            if loop.number in self._arrays:
                continue  # what is stored was learnt from these points
            found = first_refused(loop.program, batch)
            if found is not None:
                self._refuse(loop, found[1], found[2])
        if not self._left():
            return
        self._wait(lambda: not self._stream.lags(REPLAYED_AHEAD_RECORDS))
        # All vertices are known since their values were placed.
        if isinstance(batch, EdgeBatch) and not self._stream.is_both_ways:
            shares = shares_among_known(batch, self._stream.workers.partition)
        else:
            shares = self._stream.shares(batch)
            for share in shares:
                share.mentioned = share.mentioned[:0]
        self._stream.workers.post_shares(shares, self._stored.snapshot.version)

    def _refuse(self, loop: ReadingLoop, record: str, reason: str) -> None:
        self.refused[loop.number] = InvalidArgument(
            f"loop {loop.name!r} cannot go on from its snapshot of version {self._stored.snapshot.version}, which "
            f"{self._stored.described(loop.name)} left: the record {record} is nothing for {type(loop.program).__name__}: {reason}",
            hint="Start the program that was stored, or name another loop or an empty store.",
        )
        loop.withdraw()

    def _left(self) -> list[ReadingLoop]:
        return [loop for loop in self._loops if loop.number not in self.refused and loop.error is None]

    def _place(self, loops: Sequence[int], *, is_behind_edges: bool) -> None:
        """Have every worker's parts of loops take over its entries of their columns, or what their loop has as a whole."""
        outcomes: list[Exception | None] = []

        def on_placed(worker: int, error: Exception | None) -> None:
            del worker
            outcomes.append(error)
            self._engine.notify()

        for host, own in zip(self._hosts, self._owned, strict=True):
            owned: dict[int, Columns | None] = {
                loop: {name: column[own] for name, column in self._columns[loop].items()}
                if loop in self._columns
                else self._arrays.get(loop)
                for loop in loops
            }
            host.post(Place(self._ids[own], owned, is_behind_edges, on_placed))
        self._wait(lambda: len(outcomes) == len(self._hosts))
        for outcome in outcomes:
            if outcome is not None:
                raise outcome

    def _wait(self, condition: Callable[[], bool]) -> None:
        """Wait for what the workers bring about, as long as it takes."""
        engine = self._engine
        happened = engine.wait_for(
            lambda: engine.losses != self._losses or not self._left() or condition(), None
        )
        if not self._left():
            for loop in self._loops:
                loop.raise_failure()
        if engine.losses != self._losses:
            raise WorkerLost(f"the workers were lost while stream {self._stream.name} was loaded")
        if not happened:
            raise WorkerLost(f"the workers were ended while stream {self._stream.name} was loaded", hint="")
