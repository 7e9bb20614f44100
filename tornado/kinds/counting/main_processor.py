"""The main loop of a counting program on one worker: it keeps the graph for the branches that read it, and has no values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...graph import EvolvingGraph, PartitionMap
from ...graph.graph_columns import DELTAS
from ...loops.forks import Forks
from ...loops.loop_operator import LoopOperator
from ...loops.part import PartStatistics, Traffic
from ...loops.stream_part import StreamPart
from ...timely import Scope
from ..local_values import LocalValues
from ..stream_reading import ReadsStream
from .branch_processor import CountingBranch
from .bundle import CountBundle

_HISTORY = 256  # iterations


@dataclass(frozen=True, slots=True, eq=False)
class NothingCounted:
    """What rows are worth as long as nobody counts; see `RowValues`."""

    graph: EvolvingGraph
    worst: float

    @property
    def rows_seen(self) -> int:
        """As many as there are."""
        return self.graph.rows

    def values_of(self, rows: NDArray[np.integer]) -> NDArray[np.float64]:
        """The worst of each."""
        return np.full(len(rows), self.worst)


class CountingMain(ReadsStream[CountingBranch]):
    """See the module, `ReadingPart` and `StorableMain`. An iteration is a chunk of records, an update an edge that came or went.

    Parameters
    ----------
    on_applied
        Called with the number of records that were applied.
    stream
        What it reads, where other loops read it already; None: a new one.
    """

    def __init__(
        self,
        *,
        kernel: ModuleType,
        arguments: tuple[object, ...],
        worst: float,
        worker: int,
        workers: int,
        on_applied: Callable[[int], None],
        stream: StreamPart | None,
    ) -> None:
        self.stream = StreamPart(PartitionMap.even(workers), worker, on_applied) if stream is None else stream
        self.graph = self.stream.graph
        self.worker = worker
        self.workers = workers
        self.operator: LoopOperator[CountBundle] = LoopOperator(worker, workers)
        self.branches = []
        self._kernel = kernel
        self._arguments = arguments
        self._worst = worst
        self._is_restoring = False
        self._iteration = 0
        self._updates = 0
        self._history = np.zeros((_HISTORY, 4))
        self._history[:, 0] = -1
        self._forks: Forks[CountBundle] = Forks(
            self.operator, marker=lambda number: CountBundle(worker, marker=number), deliver=lambda *_: None
        )

    def build(self, scope: Scope) -> None:
        """Put it into a new dataflow, and have it hear of every change of the stream from now on."""
        self.operator.build(scope, self.step)
        self.stream.join(self)

    def _step(self) -> None:
        self.operator.pull(self._forks.take)
        # A stream that can do nothing now waits for another worker, and is called when that has come further.
        if self.stream.obey(self) and (self.workers == 1 or not self.stream.is_behind()):
            self.operator.activate()

    # What anybody may ask, from any thread

    def traffic(self) -> Traffic:
        """See `MainPartView`: main loops say nothing to each other."""
        is_idle = not self._is_stepping and not self.stream.has_commands and not self._forks.is_holding
        return Traffic(is_idle, 0, 0)

    def progress(self) -> PartStatistics:
        """See `PartView`."""
        return PartStatistics(self._iteration, self._updates, 0)

    def statistics(self) -> PartStatistics:
        """See `PartView`."""
        graph = self.graph.statistics()
        return replace(
            self.progress(),
            vertices=graph.vertices,
            edges=graph.edges,
            missing_removals=graph.missing_removals,
            size_bytes=graph.size_bytes,
        )

    def held_values(self) -> LocalValues:
        """See `PartView`: none of its vertices has a value."""
        return LocalValues(self.graph, NothingCounted(self.graph, self._worst))

    def history(self) -> NDArray[np.float64]:
        """See `PartView`."""
        return self._history.copy()

    # The stream

    def activate(self) -> None:
        """Have `step` called soon."""
        self.operator.activate()

    def stop_scans(self) -> None:
        """See `ReadingPart`: branches read whole lists."""

    def hear(self) -> None:
        """Note how many edges came and went."""
        changes = int(self.graph.columns.counters[DELTAS])
        if changes and not self._is_restoring:
            self._iteration += 1
            self._updates += changes
            self._history[self._iteration % _HISTORY] = self._iteration, changes, 0, 0

    # Branches

    def record(self, branch: CountingBranch) -> None:
        """Record this worker's version for a branch."""
        branch.record(self.graph, self._iteration)
        self.branches.append(branch)
        self._forks.record(branch)

    def fork(
        self, *, number: int, arguments: tuple[object, ...], fresh: bool, max_iterations: int | None
    ) -> CountingBranch:
        """See `MainPart`."""
        del fresh  # all of them count anew
        return CountingBranch(
            number=number,
            kernel=self._kernel,
            graph=self.graph,
            partition=self.stream.partition,
            arguments=arguments,
            worst=self._worst,
            worker=self.worker,
            workers=self.workers,
            max_iterations=max_iterations,
        )

    def take_back(self, reusable: object) -> None:
        """See `MainPart`: a branch leaves nothing."""

    # Beginning with what is stored

    def place(self, ids: NDArray[np.int64], columns: Mapping[str, NDArray[Any]] | None) -> None:
        """See `StorableMain`: vertices are made known, and what was counted is asked of the store.

        Raises
        ------
        StoreCorrupt
            When a vertex is there twice.
        """
        self._make_known(ids)
        self._is_restoring = columns is not None

    def place_behind_edges(self, ids: NDArray[np.int64], columns: Mapping[str, NDArray[Any]]) -> None:
        """See `StorableMain`: all is there, and what comes from now on is news."""
        del ids, columns
        self._is_restoring = False

    # Leaving

    def free(self) -> None:
        """Let go of what takes memory, when this is over and nobody reads it any more."""
        self.stream.let_go(self)
        for name in ("graph", "stream"):
            self.__dict__.pop(name)
