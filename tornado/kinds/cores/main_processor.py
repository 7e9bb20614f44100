"""The main loop on one worker: admits batches, keeps the core numbers up to date, and lets branches be forked.

Estimates fall while records come. They rise when the stream has nothing more to do for a moment, so that one wave serves all records
since the last; what is marked by then is marked in a branch as well. So records never wait for this loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import ModuleType
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ...errors import StoreCorrupt
from ...graph import PartitionMap
from ...loops.forks import Forks
from ...loops.loop_operator import NEVER
from ...loops.part import BranchPart, Traffic
from ...loops.stream_part import StreamPart
from ...timely import Scope
from . import loop_columns as names
from .branch_processor import CoreBranch
from .bundle import CoreBundle
from .loop_columns import GREATEST_CORE, REST
from .loop_state import CoreState
from .processor import FUEL, CoreProcessor

_SPARE_STATES = 4


class CoreMain(CoreProcessor):
    """See the module, `ReadingPart` and `StorableMain`.

    Parameters
    ----------
    most
        No number is above.
    hears_back
        Which reverse lists of the graph it hears along, counted from 1; 0: along none.
    on_applied
        Called with the number of records that were applied.
    commits
        False: it keeps the graph, and who is marked, for the branch that reads it, and computes nothing itself.
    stream
        What it reads, where other loops read it already; None: a new one.

    Attributes
    ----------
    stream
        What it reads.
    branches
        Those that were recorded and are not over.
    """

    def __init__(
        self,
        *,
        kernel: ModuleType,
        most: int,
        delay_bound: int | None,
        hears_back: int,
        commits: bool,
        worker: int,
        workers: int,
        on_applied: Callable[[int], None],
        stream: StreamPart | None,
    ) -> None:
        self.stream = StreamPart(PartitionMap.even(workers), worker, on_applied) if stream is None else stream
        super().__init__(
            kernel=kernel,
            graph=self.stream.graph,
            delay_bound=delay_bound,
            worker=worker,
            workers=workers,
            rests=True,
        )
        self.hears_back = hears_back
        self.state = CoreState(worker=worker, workers=workers, hears_back=hears_back > 0, most=most)
        self.branches: list[CoreBranch] = []
        self._commits = commits
        self._is_stepping = False  # what other threads see of the queues means nothing meanwhile
        self._forks = Forks(
            self.operator, marker=lambda number: CoreBundle(worker, marker=number), deliver=self._accept
        )
        self._spare: list[CoreState] = []  # columns of branches that are over
        self._failure: Exception | None = None
        # The first row of the graph, as the loop finds it, that was not taken in yet; None where there is none.
        self._following_row: int | None = 0 if self.graph.rows else None

    def build(self, scope: Scope) -> None:
        """Put it into a new dataflow, and have it hear of every change of the stream from now on."""
        super().build(scope)
        self.stream.join(self)

    def command(self, branch: BranchPart) -> None:
        """Record the state for a branch, when it is its turn in the sequence of the stream."""
        self.stream.fork(self, partial(self.record, cast("CoreBranch", branch)))

    @property
    def has_branches(self) -> bool:
        """See `ReadingPart`."""
        return bool(self.branches)

    def activate(self) -> None:
        """Have `step` called soon."""
        self.operator.activate()

    def traffic(self) -> Traffic:
        """See `MainPartView`."""
        received = self.bundles_received  # first: a receipt that follows shows as one that is missing
        return Traffic(not self._is_at_work, received, self.bundles_sent)

    @property
    def _is_at_work(self) -> bool:
        return (
            self._is_stepping
            or self.stream.has_commands
            or self._following_row is not None
            or bool(self._arrived)
            or self._forks.is_holding
            or self.is_scanning()
            or (self._commits and (self.state.pending > 0 or self._row is not None))
        )

    # Steps

    def step(self) -> None:
        """Take in messages, then go on in the stream, then let estimates fall or rise, each up to its fuel."""
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
        self._receive()
        if self._following_row is not None:
            self._take_in_rows()
        more = self.stream.obey(self)
        if self._commits and self.has_work() and self.may_begin_turn():
            self._turn(FUEL // 4 if self.branches else FUEL)
        self._flush()
        if self._commits and not self._arrived and not self.has_work() and not self._awaits_records(more):
            self._report_when_done()
        is_waiting = self._commits and self.has_work()
        least = self.next_iteration if is_waiting else NEVER
        self.operator.move_token(min(least, self._held_least()), stays=True)
        if more or self._following_row is not None or (is_waiting and self.may_begin_turn()):
            self.operator.activate()

    def _awaits_records(self, more: bool) -> bool:  # noqa: FBT001  private, and named where it is called
        """Whether nobody is to rise yet: what comes next would have others rise again."""
        return self._instruction.phase in (REST, names.LOWER) and (more or self._following_row is not None)

    # The stream

    def is_behind(self) -> bool:
        """See `ReadingPart`: never, as a branch does what is left."""
        return False

    def is_catching_up(self) -> bool:
        """Whether records should not wait for it: it takes in a graph that was there before; see `ReadingPart`."""
        return self._following_row is not None

    def stop_scans(self) -> None:
        """Finish the scans under way in this loop and its branches: none may be while the graph changes."""
        for processor in (self, *self.branches):
            processor.finish_cursor()

    def hear(self) -> None:
        """Take in the rows and edges that the last records changed."""
        self.state.expect(self.graph.rows)
        self.kernel.hear_edges(*self._loop)

    def fail(self, error: Exception) -> None:
        """Raise this in the next step."""
        self._failure = error
        self.operator.activate()

    def _take_in_rows(self) -> None:
        """Take in some of the graph that was there before this loop: who of it is heard from other workers."""
        self.finish_cursor()
        following = int(self.kernel.hear_rows(*self._loop, self._following_row, FUEL))
        self._following_row = None if following == self.graph.rows else following

    # Snapshots

    def drain(self) -> bool:
        """Finish the scan under way, so that a snapshot need not hold it; return whether there is none."""
        if self._following_row is not None:
            return False
        return bool(self.kernel.finish_scans(*self._loop, FUEL))

    def record(self, branch: CoreBranch) -> None:
        """Record this worker's state for a branch, and what was delivered and is not in the state yet."""
        self._flush()
        branch.record(self.state, self.operator.timestamp, self.next_iteration, needs_all=self.needs_all)
        self.branches.append(branch)
        for arrived in self._arrived:
            messages = arrived.bundle.messages.from_index(arrived.following)
            branch.keep(CoreBundle(arrived.bundle.sender, messages), arrived.iteration)
        self._forks.record(branch)

    def fork(
        self, *, number: int, arguments: tuple[object, ...], fresh: bool, max_iterations: int | None
    ) -> CoreBranch:
        """Make this worker's part of a new branch."""
        (most,) = arguments
        return CoreBranch(
            number=number,
            kernel=self.kernel,
            graph=self.graph,
            take_state=partial(self._take_state, cast("int", most)),
            delay_bound=self.delay_bound,
            worker=self.worker,
            workers=self.workers,
            fresh=fresh,
            max_iterations=max_iterations,
        )

    def _take_state(self, most: int) -> CoreState:
        """Columns for a branch over the graph as it is now: used ones where they are large enough."""
        rows = self.graph.rows
        for place, state in enumerate(self._spare):
            if state.fits(rows):
                del self._spare[place]
                state.reset(most=most)
                return state
        self._spare.clear()
        state = CoreState(
            worker=self.worker,
            workers=self.workers,
            hears_back=self.hears_back > 0,
            most=most,
            rows=rows + rows // 2 + 2,  # so that the columns fit the next branches too while the graph grows
        )
        state.expect(rows)
        return state

    def _held_least(self) -> int:
        return min(super()._held_least(), self._forks.held_least())

    # Beginning with what is stored

    def place(self, ids: NDArray[np.int64], columns: Mapping[str, NDArray[Any]] | None) -> None:
        """See `StorableMain`: values are taken over, and nothing is left to compute for them.

        The edges and the ghosts that they were computed from come behind them, and make nothing dirty or marked.

        Raises
        ------
        StoreCorrupt
            When a vertex is there twice, or values are not of the type that the loop has.
        """
        if self.graph.rows != len(ids):  # no other loop of the stream has made them known
            self.stream.mention(ids)
        if self.graph.rows != len(ids):
            raise StoreCorrupt(
                f"{len(ids)} vertices of a stored snapshot are only {self.graph.rows} different ones"
            )
        if columns is None:
            return
        values = columns["values"]
        if values.dtype != np.int64 or values.shape != (len(ids),):
            raise StoreCorrupt(
                f"the values of a stored snapshot are {values.dtype} of shape {values.shape}, those of its program are int64 of "
                f"shape {(len(ids),)}"
            )
        if len(values) and not 0 <= values.min() <= values.max() <= GREATEST_CORE:
            raise StoreCorrupt(f"a stored snapshot has core numbers from {values.min()} to {values.max()}")
        self.state.place(self.graph.rows_of(ids), values)
        self.state.counters[names.RESTORING] = 1

    def place_behind_edges(self, ids: NDArray[np.int64], columns: Mapping[str, NDArray[Any]]) -> None:
        """See `StorableMain`: all is there, and what comes from now on is news."""
        del ids, columns
        self.state.counters[names.RESTORING] = 0

    # Leaving

    def take_back(self, reusable: object) -> None:
        """Keep the columns of a branch that is over, for the next ones."""
        if len(self._spare) < _SPARE_STATES:
            self._spare.append(cast("CoreState", reusable))

    def free(self) -> None:
        """Let go of what takes memory, when this is over and nobody reads it any more."""
        self.stream.let_go(self)
        super().free()
        self._spare.clear()
        self.__dict__.pop("stream")

    def forget(self, branch: BranchPart) -> None:
        """End the lease of a branch that is over."""
        branch = cast("CoreBranch", branch)
        if branch in self.branches:
            self.branches.remove(branch)
        if branch.lease is not None:
            self.graph.release(branch.lease)
            branch.lease = None
