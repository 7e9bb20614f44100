"""The main loop of a counting program on one worker: it keeps the graph for the branches that read it, and has no values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import ModuleType
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ...errors import StoreCorrupt
from ...graph import EvolvingGraph, PartitionMap
from ...graph.graph_columns import DELTAS
from ...loops.forks import Forks
from ...loops.loop_operator import LoopOperator
from ...loops.part import BranchPart, PartStatistics, Traffic
from ...loops.stream_part import StreamPart
from ...timely import Scope
from ..local_values import LocalValues
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


class CountingMain:
    """See the module, `ReadingPart` and `StorableMain`. An iteration is a chunk of records, an update an edge that came or went.

    Parameters
    ----------
    on_applied
        Called with the number of records that were applied.
    stream
        What it reads, where other loops read it already; None: a new one.

    Attributes
    ----------
    stream
        What it reads.
    branches
        Those that were recorded and are not over.
    """

    hears_back = 0

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
        self.partition = PartitionMap.even(workers)
        self.stream = StreamPart(self.partition, worker, on_applied) if stream is None else stream
        self.graph = self.stream.graph
        self.worker = worker
        self.workers = workers
        self.operator: LoopOperator[CountBundle] = LoopOperator(worker, workers)
        self.branches: list[CountingBranch] = []
        self._kernel = kernel
        self._arguments = arguments
        self._worst = worst
        self._is_stepping = False  # what other threads see of the queues means nothing meanwhile
        self._is_restoring = False
        self._failure: Exception | None = None
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

    def command(self, branch: BranchPart) -> None:
        """Record a version for a branch, when it is its turn in the sequence of the stream."""
        self.stream.fork(self, partial(self.record, cast("CountingBranch", branch)))

    def step(self) -> None:
        """Take in markers, and go on in the stream."""
        self._is_stepping = True
        try:
            self._step()
        except BaseException:
            self.stream.leave(self)  # the others go on
            raise
        self._is_stepping = False

    def _step(self) -> None:
        if self._failure is not None:
            raise self._failure
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

    @property
    def has_branches(self) -> bool:
        """See `ReadingPart`."""
        return bool(self.branches)

    def activate(self) -> None:
        """Have `step` called soon."""
        self.operator.activate()

    def is_behind(self) -> bool:
        """See `ReadingPart`: never; there is nothing to propagate."""
        return False

    def is_catching_up(self) -> bool:
        """See `ReadingPart`: never."""
        return False

    def stop_scans(self) -> None:
        """See `ReadingPart`: branches read whole lists."""

    def hear(self) -> None:
        """Note how many edges came and went."""
        changes = int(self.graph.columns.counters[DELTAS])
        if changes and not self._is_restoring:
            self._iteration += 1
            self._updates += changes
            self._history[self._iteration % _HISTORY] = self._iteration, changes, 0, 0

    def fail(self, error: Exception) -> None:
        """Raise this in the next step."""
        self._failure = error
        self.operator.activate()

    def drain(self) -> bool:
        """See `ReadingPart`: it can record at any time."""
        return True

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
            partition=self.partition,
            arguments=arguments,
            worst=self._worst,
            worker=self.worker,
            workers=self.workers,
            max_iterations=max_iterations,
        )

    def forget(self, branch: BranchPart) -> None:
        """End the lease of a branch that is over."""
        branch = cast("CountingBranch", branch)
        if branch in self.branches:
            self.branches.remove(branch)
        if branch.lease is not None:
            self.graph.release(branch.lease)
            branch.lease = None

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
        if self.graph.rows != len(ids):  # no other loop of the stream has made them known
            self.stream.mention(ids)
        if self.graph.rows != len(ids):
            raise StoreCorrupt(
                f"{len(ids)} vertices of a stored snapshot are only {self.graph.rows} different ones"
            )
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
