"""A branch of a counting program on one worker: counts at its version of the graph, and comes to an end.

An edge lives with the worker of its target, so first the owners of sources are told of their edges. From then on each worker has all
neighbours of its vertices, and the phases are: how many these are, which lists are to meet, and what was found where they met. Every
phase begins when nothing of the one before can arrive any more, which the frontier says; so timestamps are phases.

What is under way is a page at a time, and a worker takes in what has come before it says more. Lists are not kept by those who hear
them. So beside the neighbours of its own vertices, some 45 bytes each, a worker has pages only.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from ...graph import EdgeReader, EvolvingGraph, PartitionMap
from ...loops.loop_operator import NEVER, LoopOperator
from ...loops.part import PartStatistics
from ...timely import Scope
from ..compiled_functions import compiled_arguments
from ..edge_reading import ColumnsOf, ReadsEdges
from ..local_values import LocalValues
from .bundle import CountBundle, CountMessages, CountPhase, messages_of
from .neighbourhoods import FROM, TO, Ids, Neighbourhoods, messages_to

_EDGES_AT_ONCE = 1 << 16
_PIECES = 8  # of about a millisecond or less, done in one step


@dataclass(frozen=True, slots=True, eq=False)
class CountedValues:
    """What rows are worth; see `RowValues`.

    Attributes
    ----------
    numbers
        Of vertices by row, -1 for ghosts.
    values
        By number.
    """

    numbers: NDArray[np.int64]
    values: NDArray[np.float64]

    @property
    def rows_seen(self) -> int:
        """How many rows there were at the version."""
        return len(self.numbers)

    def values_of(self, rows: NDArray[np.integer]) -> NDArray[np.float64]:
        """The values of rows of own vertices."""
        found: NDArray[np.float64] = self.values[self.numbers[rows]]
        return found


class CountingBranch(ReadsEdges):
    """See the module, `StorableBranch` and `ForkedPart`.

    Parameters
    ----------
    number
        Of the fork.
    worst
        What every vertex has until it is over.
    max_iterations
        How many phases it may go through.
    """

    def __init__(
        self,
        *,
        number: int,
        kernel: ModuleType,
        graph: EvolvingGraph,
        partition: PartitionMap,
        arguments: tuple[object, ...],
        worst: float,
        worker: int,
        workers: int,
        max_iterations: int | None,
    ) -> None:
        self.number = number
        self.graph = graph
        self.worker = worker
        self.workers = workers
        self.operator: LoopOperator[CountBundle] = LoopOperator(worker, workers)
        self.first_iteration = 0
        self.is_recorded = False
        self.is_started = False
        self.is_cancelled = False
        self.is_over_at_once = False
        self.is_converged = False
        self._kernel = kernel
        self._partition = partition
        self._arguments = compiled_arguments(arguments)
        self._worst = worst
        self._phases = (
            int(CountPhase.OVER) if max_iterations is None else min(max_iterations, int(CountPhase.OVER))
        )
        self._is_stopped = False
        self._phase = 0  # what it is saying, or has said
        self._ready = int(CountPhase.EDGES)  # what belongs to later phases waits
        self._updates = 0
        self._arrived: deque[CountBundle] = deque()
        self._work: Iterator[None] | None = None  # left to do of the phase
        self._hearing: Iterator[None] | None = None  # of the bundle that is being taken in
        self._values: CountedValues
        self._counts: Neighbourhoods

    def build(self, scope: Scope) -> None:
        """See `BranchPart`."""
        self.operator.build(scope, self.step)

    # The cut

    def record(self, graph: EvolvingGraph, iteration: int) -> None:
        """Lease the version of the graph after the last records applied; the main loop has nothing else."""
        self.lease, self.version = graph.lease()
        self.vertices = graph.vertices
        self.first_iteration = iteration
        rows = graph.known_rows(self.vertices)
        self._counts = Neighbourhoods(self._kernel, graph, rows, graph.rows)
        numbers = self._counts.numbers_of_rows(np.arange(graph.rows))
        self._values = CountedValues(numbers, np.full(len(rows), self._worst))
        self._work = self._phase_of(CountPhase.EDGES)
        self.is_recorded = True

    def keep(self, bundle: CountBundle, timestamp: int) -> None:
        """See `ForkedPart`: main loops say nothing that a branch needs."""

    def cut_is_complete(self, markers: tuple[CountBundle, ...]) -> None:
        """See `ForkedPart`."""
        del markers
        self.is_started = True
        self.operator.activate()

    # Working

    def step(self) -> None:
        """Take in what has come, and go on with the phase; give the token up when there is nothing more to come of this worker."""
        self.operator.pull(lambda bundle, _: self._arrived.append(bundle))
        if not self.is_started:
            return
        if self._is_over():
            self._arrived.clear()
            self.operator.move_token(NEVER, stays=False)
            return
        for _ in range(_PIECES):
            if not (self._hear() or self._say() or self._go_on()):
                return  # it is called when others are further
            if self._is_over():
                break
        self.operator.activate()

    def _is_over(self) -> bool:
        return self.is_converged or self._is_stopped

    def _hear(self) -> bool:
        """Take in a piece of what has arrived; return whether there was one."""
        if self._hearing is None:
            if not self._arrived or self._arrived[0].phase > self._ready:
                return False
            bundle = self._arrived.popleft()
            self._hearing = self._taken(CountPhase(bundle.phase), bundle.messages)
        if next(self._hearing, self) is self:
            self._hearing = None
        return True

    def _say(self) -> bool:
        """Do a piece of what is left of the phase; return whether there was one."""
        if self._work is None:
            return False
        if next(self._work, self) is self:
            self._work = None
            self.operator.move_token(self._phase + 1, stays=True)
        return True

    def _go_on(self) -> bool:
        """Begin the next phase, when nothing of this one can arrive any more; return whether it has begun."""
        if self.operator.arriving() <= self._phase + 1:
            return False
        self._phase += 1
        if self._phase == CountPhase.OVER:
            self._values = replace(self._values, values=self._counts.values(self._arguments))
            self._updates = self.vertices
            self.is_converged = True
        elif self._phase >= self._phases:
            self._is_stopped = True
        else:
            self._work = self._phase_of(CountPhase(self._phase))
        if self._is_over():
            del self._counts
        return True

    def _phase_of(self, phase: CountPhase) -> Iterator[None]:
        if phase is CountPhase.EDGES:
            return self._say_edges()
        if phase is CountPhase.DEGREES:
            return self._settle()
        if phase is CountPhase.LISTS:
            return self._list()
        return self._say_pages(phase, self._counts.found_to_say())

    def _say_edges(self) -> Iterator[None]:
        reader = EdgeReader(self.graph, self.version, _EDGES_AT_ONCE)
        while not reader.is_over:
            producers, consumers, _, _ = reader.stretch()
            others = producers != consumers
            self._take_edges(producers[others], consumers[others])
            yield

    def _take_edges(self, producers: NDArray[np.int32], consumers: NDArray[np.int32]) -> None:
        """Take in edges that live here, and tell the owners of their sources."""
        counts, ids = self._counts, self.graph.columns.ids
        sources, targets = ids[producers], ids[consumers]
        counts.add(counts.numbers_of_rows(consumers), sources, FROM)
        counts.add(counts.numbers_of_rows(producers), targets, TO)
        if self.workers > 1:
            owners = self.graph.columns.owner[producers]
            for worker in range(self.workers):
                chosen = owners == worker
                if worker != self.worker and chosen.any():
                    self._send(worker, CountPhase.EDGES, messages_of(sources[chosen], targets[chosen]))

    def _settle(self) -> Iterator[None]:
        yield from self._counts.settling()
        self._ready = CountPhase.DEGREES
        yield from self._say_pages(CountPhase.DEGREES, self._counts.degrees_to_say())

    def _list(self) -> Iterator[None]:
        yield from self._counts.listing()
        self._ready = CountPhase.FOUND  # which comes behind all lists
        yield from self._say_pages(CountPhase.LISTS, self._counts.lists_to_say())

    def _say_pages(self, phase: CountPhase, pages: Iterator[tuple[Ids, CountMessages]]) -> Iterator[None]:
        """Say pages to those who own the vertices that they come with."""
        for vertices, said in pages:
            owners = self._partition.owners_of(vertices)
            for worker in np.unique(owners).tolist():
                self._send(worker, phase, messages_to(said, owners == worker))
            yield

    def _send(self, worker: int, phase: CountPhase, said: CountMessages) -> None:
        bundle = CountBundle(self.worker, int(phase), said)
        if worker == self.worker:
            self._arrived.append(bundle)
        else:
            self.operator.send(worker, bundle)

    def _taken(self, phase: CountPhase, said: CountMessages) -> Iterator[None]:
        """Take a bundle in, a piece with each item."""
        counts = self._counts
        if phase is CountPhase.LISTS:
            yield from counts.meeting(said)
        elif phase is CountPhase.EDGES:
            counts.add(counts.numbers_of(said.ids), said.others, TO)
        elif phase is CountPhase.DEGREES:
            counts.hear_degrees(said)
        else:
            counts.hear_found(said)
        yield

    # What anybody may ask, from any thread

    def progress(self) -> PartStatistics:
        """See `PartView`: an iteration is a phase."""
        return PartStatistics(self.first_iteration + self._phase, self._updates, 0)

    def statistics(self) -> PartStatistics:
        """See `PartView`."""
        return replace(self.progress(), vertices=self.vertices)

    def history(self) -> NDArray[np.float64]:
        """See `PartView`: all vertices at once."""
        done = self.progress()
        return np.array([[done.iteration if done.updates else -1, done.updates, 0, 0]], np.float64)

    @property
    def findings(self) -> Mapping[str, float]:
        """See `BranchPartView`: nothing; the values are exact or not there."""
        return {}

    @property
    def reusable(self) -> None:
        """See `BranchPartView`: nothing."""
        return

    def held_values(self) -> LocalValues:
        """The values of this worker's vertices; the branch must be over."""
        return LocalValues(self.graph, self._values, self.vertices)

    def _stored(self) -> ColumnsOf:
        """See `ReadsEdges`."""
        held = self._values
        return lambda rows: {"values": held.values_of(rows)}

    # Ending

    def limit(self, iteration: int) -> None:
        """See `BranchPart`: it counts its phases from the first one."""

    def stop(self) -> None:
        """See `BranchPart`: what was not counted to the end has no value."""
        self._is_stopped = True
        self.operator.activate()

    def cancel(self) -> None:
        """See `BranchPart`."""
        self.is_cancelled = True

    def free(self) -> None:
        """Let go of what takes memory, when this is over and nobody reads it any more; of the edges that were read too."""
        for name in ("graph", "_counts", "_values", "_work", "_hearing"):
            self.__dict__.pop(name, None)
        self._arrived.clear()
        self.drop_edges()
