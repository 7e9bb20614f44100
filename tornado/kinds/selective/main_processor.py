"""The main loop on one worker: admits batches, keeps the approximation up to date, and lets branches be forked.

The ingress is part of the processor: what is admitted is gathered at the iteration of the processor's token, which follows the
others while there is nothing to do, so that an idle worker holds nobody back and its input is never in the past.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import cast

import numpy as np

from ...graph import PartitionMap
from ...loops.forks import Forks
from ...loops.part import BranchPart, Traffic
from ...loops.stream_part import StreamPart
from ...timely import Scope
from . import loop_columns as names
from .branch_processor import BranchProcessor
from .bundle import Bundle, Messages
from .loop_columns import SUBSCRIBE
from .loop_state import LoopState
from .processor import FUEL, SelectiveProcessor

# Dirty vertices beyond which the loop catches up before it admits: what it leaves undone, every branch has to do. With
# sixteen times as many it admits a tenth faster, and an exact query under full load takes four times as long.
_PENDING_LIMIT = 1 << 12
_PENDING_SHARE = 64  # one in so many of all vertices may be dirty in any case
_FAR_BEHIND = 16  # times that, from which records do not wait for a loop that has others beside it
_SPARE_STATES = 4


class MainProcessor(SelectiveProcessor):
    """See the module.

    Parameters
    ----------
    on_applied
        Called with the number of records that were applied.
    hears_back
        Which reverse lists of the graph its vertices hear along too, counted from 1; 0: along none.
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
        arguments: tuple[object, ...],
        delay_bound: int | None,
        hears_back: int,
        worker: int,
        workers: int,
        on_applied: Callable[[int], None],
        stream: StreamPart | None,
    ) -> None:
        self.stream = StreamPart(PartitionMap.even(workers), worker, on_applied) if stream is None else stream
        super().__init__(
            kernel=kernel,
            graph=self.stream.graph,
            arguments=arguments,
            worker=worker,
            workers=workers,
        )
        self.hears_back = hears_back
        self.state = LoopState(
            worker=worker,
            workers=workers,
            delay_bound=delay_bound,
            hears_back=hears_back > 0,
            worst=kernel.WORST,
        )
        self.branches: list[BranchProcessor] = []
        self._is_stepping = False  # what other threads see of the queues means nothing meanwhile
        self._forks = Forks(
            self.operator, marker=lambda number: Bundle(worker, marker=number), deliver=self._accept
        )
        self._spare: list[LoopState] = []  # columns of branches that are over
        self._failure: Exception | None = None
        # The first row of the graph, as the loop finds it, that was not taken in yet; None where there is none.
        self._following_row: int | None = 0 if self.graph.rows else None

    def build(self, scope: Scope) -> None:
        """Put it into a new dataflow, and have it hear of every change of the stream from now on."""
        super().build(scope)
        self.stream.join(self)

    def command(self, branch: BranchPart) -> None:
        """Record the state for a branch, when it is its turn in the sequence of the stream."""
        self.stream.fork(self, partial(self.record, cast("BranchProcessor", branch)))

    @property
    def has_branches(self) -> bool:
        """See `ReadingPart`."""
        return bool(self.branches)

    def activate(self) -> None:
        """Have `step` called soon."""
        self.operator.activate()

    @property
    def is_idle(self) -> bool:
        """Whether nothing is waiting or pending on this worker."""
        counters = self.state.counters
        return (
            not self._is_stepping
            and not self.stream.has_commands
            and self._following_row is None
            and not self._arrived
            and not self._forks.is_holding
            and counters[names.PENDING_INSIDE] + counters[names.PENDING_BEYOND] == 0
            and counters[names.MARKS] == 0
            and self.is_drained()
        )

    def traffic(self) -> Traffic:
        """See `MainPartView`."""
        received = self.bundles_received  # first: a receipt that follows shows as one that is missing
        return Traffic(self.is_idle, received, self.bundles_sent)

    def step(self) -> None:
        """Take in messages, then go on in the stream, then work off what is pending, each up to its fuel."""
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
        finished = self._advance(FUEL // 4 if self.branches else FUEL)
        self._flush()
        self._advance_waves(moves_on=True)
        self._flush()
        self._move_token(stays=True)
        # A stream that is behind and can do nothing now waits for another worker, and is called when that has come further.
        if (
            not finished
            or self._following_row is not None
            or (more and (self.workers == 1 or not self.stream.is_behind()))
        ):
            self.operator.activate()

    # The stream

    def is_behind(self) -> bool:
        """Whether more records should wait; see `ReadingPart`."""
        # What the sender of a marker sent since waits for the fork, which waits for the records before it.
        return not self._forks.is_awaited and self._pends_more_than(_PENDING_LIMIT, 1)

    def is_catching_up(self) -> bool:
        """Whether records should not wait for it; see `ReadingPart`."""
        return self._following_row is not None or self._pends_more_than(_PENDING_LIMIT, _FAR_BEHIND)

    def _pends_more_than(self, limit: int, times: int) -> bool:
        counters = self.state.counters
        pending = counters[names.PENDING_INSIDE] + counters[names.PENDING_BEYOND]
        return bool(pending > times * limit and pending > times * (self.graph.rows // _PENDING_SHARE))

    def stop_scans(self) -> None:
        """Finish the scans under way in this loop and its branches: none may be while the graph changes."""
        for processor in (self, *self.branches):
            if processor.is_scanning():
                processor.finish_cursor()

    def hear(self) -> None:
        """Take in the rows and edges that the last records changed."""
        self._set_floor()
        self.state.expect(self.graph.rows)
        self.kernel.hear_edges(self.graph.addresses, *self.state.addresses, self.arguments)

    def fail(self, error: Exception) -> None:
        """Raise this in the next step."""
        self._failure = error
        self.operator.activate()

    def _take_in_rows(self) -> None:
        """Take in some of the graph that was there before this loop: who of it is heard from other workers."""
        if self.is_scanning():
            self.finish_cursor()
        self._set_floor()
        following = int(
            self.kernel.hear_rows(
                self.graph.addresses, *self.state.addresses, self.arguments, self._following_row, FUEL
            )
        )
        self._following_row = None if following == self.graph.rows else following

    # Snapshots

    def drain(self) -> bool:
        """Work off the invalidations on this worker, so that a snapshot need not hold them; return whether none is left."""
        if self._following_row is not None:
            return False
        self._set_floor()
        finished = self.kernel.finish_scans(self.graph.addresses, *self.state.addresses, self.arguments, FUEL)
        self._flush()
        return bool(finished)

    def record(self, branch: BranchProcessor) -> None:
        """Record this worker's state for a branch, and what was delivered and is not in the state yet."""
        self._flush()
        branch.record(self.graph, self.state, self.operator.timestamp)
        self.branches.append(branch)
        for arrived in self._arrived:
            messages = arrived.bundle.messages.from_index(arrived.following)
            branch.keep(Bundle(arrived.bundle.sender, messages), arrived.iteration)
        self._keep_held_subscriptions(branch)
        self._forks.record(branch)

    def _keep_held_subscriptions(self, branch: BranchProcessor) -> None:
        columns = self.state.columns
        held = int(self.state.counters[names.HELD])
        for row, sender in zip(columns.held_row[:held], columns.held_worker[:held], strict=True):
            ids = self.graph.columns.ids[row : row + 1].copy()
            message = Messages(
                np.array([SUBSCRIBE], np.uint8), ids, self.state.no_values(1), np.zeros(1, np.int64)
            )
            branch.keep(Bundle(int(sender), message), self.operator.timestamp)

    def fork(
        self, *, number: int, arguments: tuple[object, ...], fresh: bool, max_iterations: int | None
    ) -> BranchProcessor:
        """Make this worker's part of a new branch."""
        return BranchProcessor(
            number=number,
            kernel=self.kernel,
            graph=self.graph,
            take_state=self._take_state,
            arguments=arguments,
            worker=self.worker,
            workers=self.workers,
            fresh=fresh,
            max_iterations=max_iterations,
        )

    def _take_state(self, *, fresh: bool) -> LoopState:
        """Columns for a branch over the graph as it is now: used ones where they are large enough.

        What is copied goes where least of it is missing, and what is not where a copy would be of least use.
        """
        rows, edges = self.graph.rows, self.stream.edge_count()
        fitting = [state for state in self._spare if state.fits(rows, edges)]
        if fitting:
            state = (min if fresh else max)(fitting, key=lambda state: state.copied_at)
            self._spare.remove(state)
            state.reset(delay_bound=self.state.delay_bound)
            return state
        self._spare.clear()
        room = 1.5  # so that the columns fit the next branches too while the graph grows
        state = LoopState(
            worker=self.worker,
            workers=self.workers,
            delay_bound=self.state.delay_bound,
            always_prepares=self.state.always_prepares,
            hears_back=self.hears_back > 0,
            worst=self.kernel.WORST,
            rows=int(rows * room) + 1,
            edges=int(edges * room),
        )
        state.expect(rows)
        return state

    def _held_least(self) -> int:
        return min(super()._held_least(), self._forks.held_least())

    # Leaving

    def take_back(self, reusable: object) -> None:
        """Keep the columns of a branch that is over, for the next ones."""
        if len(self._spare) < _SPARE_STATES:
            self._spare.append(cast("LoopState", reusable))

    def free(self) -> None:
        """Let go of what takes memory, when this is over and nobody reads it any more."""
        self.stream.let_go(self)
        super().free()
        self._spare.clear()
        self.__dict__.pop("stream")

    def forget(self, branch: BranchPart) -> None:
        """End the lease of a branch that is over."""
        branch = cast("BranchProcessor", branch)
        if branch in self.branches:
            self.branches.remove(branch)
        if branch.lease is not None:
            self.graph.release(branch.lease)
            branch.lease = None
