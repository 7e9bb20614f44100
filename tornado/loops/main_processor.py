"""The main loop on one worker: admits batches, keeps the approximation up to date, and lets branches be forked.

The ingress is part of the processor: what is admitted is gathered at the iteration of the processor's token, which follows the
others while there is nothing to do, so that an idle worker holds nobody back and its input is never in the past.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from types import ModuleType

import numpy as np

from ..graph import EvolvingGraph, PartitionMap
from ..graph.graph_columns import EDGES
from . import loop_columns as names
from .branch_processor import BranchProcessor
from .bundle import Bundle, Messages
from .forks import Forks
from .loop_columns import SUBSCRIBE
from .part import Traffic
from .processor import FUEL, SelectiveProcessor
from .selective_state import LoopState
from .share import Share

# Dirty vertices beyond which the loop catches up before it admits: what it leaves undone, every branch has to do. With
# sixteen times as many it admits a tenth faster, and an exact query under full load takes four times as long.
_PENDING_LIMIT = 1 << 12
_PENDING_SHARE = 64  # one in so many of all vertices may be dirty in any case
_RECORDS_ALONE = 1 << 13  # applied in one activation, some milliseconds
_RECORDS_BESIDE_BRANCHES = (
    1 << 9
)  # they go first: each message between workers costs them an activation of this loop
_COMPACTION_STEPS = 2  # of about a millisecond, at every activation
_WASTE_IDLE = 0.15  # share of list entries without an edge from which an idle loop compacts them
_SPARE_STATES = 4


class MainProcessor(SelectiveProcessor):
    """See the module.

    Parameters
    ----------
    on_applied
        Called with the number of records that were applied.
    """

    def __init__(
        self,
        *,
        kernel: ModuleType,
        arguments: tuple[object, ...],
        delay_bound: int | None,
        worker: int,
        workers: int,
        on_applied: Callable[[int], None],
    ) -> None:
        super().__init__(
            kernel=kernel,
            graph=EvolvingGraph(PartitionMap.even(workers), worker),
            arguments=arguments,
            worker=worker,
            workers=workers,
        )
        self.state = LoopState(worker=worker, workers=workers, delay_bound=delay_bound)
        self.branches: list[BranchProcessor] = []
        self._is_stepping = False  # what other threads see of the queues means nothing meanwhile
        self._commands: deque[Share | BranchProcessor] = deque()
        self._forks = Forks(
            self.operator, marker=lambda number: Bundle(worker, marker=number), deliver=self._accept
        )
        self._spare: list[LoopState] = []  # columns of branches that are over
        self._on_applied = on_applied

    def command(self, command: Share | BranchProcessor) -> None:
        """A share to apply, or a branch to record the state for; in the order of admission."""
        self._commands.append(command)
        self.operator.activate()

    @property
    def is_idle(self) -> bool:
        """Whether nothing is waiting or pending on this worker."""
        counters = self.state.counters
        return (
            not self._is_stepping
            and not self._commands
            and not self._arrived
            and not self._forks.is_holding
            and counters[names.PENDING_INSIDE] + counters[names.PENDING_BEYOND] == 0
            and counters[names.MARKS] == 0
            and self.is_drained()
        )

    def traffic(self) -> Traffic:
        """See `MainView`."""
        received = self.bundles_received  # first: a receipt that follows shows as one that is missing
        return Traffic(self.is_idle, received, self.bundles_sent)

    def step(self) -> None:
        """Take in messages, then commands, then work off what is pending, each up to its fuel."""
        self._is_stepping = True
        self.operator.pull(self._forks.take)
        self._receive()
        more = self._obey()
        finished = self._advance(FUEL // 4 if self.branches else FUEL)
        self._flush()
        self._advance_waves(moves_on=True)
        self._flush()
        self._move_token(stays=True)
        # A loop that is behind and can do nothing now waits for another worker, and is called when that has come further.
        if not finished or (more and (self.workers == 1 or not self._is_behind())):
            self.operator.activate()
        self._is_stepping = False

    # Commands

    def _obey(self) -> bool:
        """Apply shares and record forks; whether there is more that can be done at once."""
        records_left = _RECORDS_BESIDE_BRANCHES if self.branches else _RECORDS_ALONE
        while self._commands:
            command = self._commands[0]
            if isinstance(command, Share):
                if records_left <= 0 or self._is_behind():
                    return True
                first = command.following
                finished = self._apply(command, records_left)
                records_left -= command.following - first
                if not finished:
                    return True
            else:
                if not self._drain():
                    return True
                self._record(command)
            self._commands.popleft()
        if self.graph.is_compacting:
            self.graph.compact(steps=_COMPACTION_STEPS)
            return self.graph.is_compacting
        return False

    def _is_behind(self) -> bool:
        # What the sender of a marker sent since waits for the fork, which waits for the records before it.
        if self._forks.is_awaited:
            return False
        counters = self.state.counters
        pending = counters[names.PENDING_INSIDE] + counters[names.PENDING_BEYOND]
        return bool(pending > _PENDING_LIMIT and pending > self.graph.rows // _PENDING_SHARE)

    def _stop_scans(self) -> None:
        """No scan may be under way in any loop while the graph changes."""
        for processor in (self, *self.branches):
            if processor.is_scanning():
                processor.finish_cursor()

    def _apply(self, share: Share, records: int) -> bool:
        """Apply up to so many records of a share; whether all of them are."""
        self._stop_scans()
        first, stop = share.following, min(share.following + records, len(share.sources))
        if len(share.mentioned):
            self.graph.mention(share.mentioned)
            share.mentioned = share.mentioned[:0]
        share.following = self.graph.apply(
            share.sources, share.targets, share.weights, share.operations, first, stop
        )
        self._set_floor()
        self.kernel.hear_edges(self.graph.addresses, *self.state.addresses, self.arguments)
        finished = share.following == len(share.sources)
        self._on_applied(share.following - first)
        return finished

    def tidy(self) -> None:
        """Nothing has come for a while: begin to compact the lists, where much has changed and it is worth it."""
        changed_much = self.graph.changed_since_compaction() > self.edge_count() // 8
        if changed_much and self.graph.waste() > _WASTE_IDLE and not self.graph.is_compacting:
            self.graph.compact(steps=_COMPACTION_STEPS)
            self.operator.activate()

    # Snapshots

    def _drain(self) -> bool:
        """Work off the invalidations on this worker, so that a snapshot need not hold them."""
        self._set_floor()
        finished = self.kernel.finish_scans(self.graph.addresses, *self.state.addresses, self.arguments, FUEL)
        self._flush()
        return bool(finished)

    def _record(self, branch: BranchProcessor) -> None:
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
            message = Messages(np.array([SUBSCRIBE], np.uint8), ids, np.zeros(1), np.zeros(1, np.int64))
            branch.keep(Bundle(int(sender), message), self.operator.timestamp)

    def fork(
        self, *, number: int, arguments: tuple[object, ...], fresh: bool, max_iterations: int | None
    ) -> BranchProcessor:
        """The part of this worker of a new branch."""
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

    def _take_state(self) -> LoopState:
        """Columns for a branch over the graph as it is now: used ones where they are large enough."""
        rows, edges = self.graph.rows, self.edge_count()
        for place, state in enumerate(self._spare):
            if state.fits(rows, edges):
                del self._spare[place]
                state.reset(delay_bound=self.state.delay_bound)
                return state
        self._spare.clear()
        room = 1.5  # so that the columns fit the next branches too while the graph grows
        return LoopState(
            worker=self.worker,
            workers=self.workers,
            delay_bound=self.state.delay_bound,
            always_prepares=self.state.always_prepares,
            rows=int(rows * room) + 1,
            edges=int(edges * room),
        )

    def _held_least(self) -> int:
        return min(super()._held_least(), self._forks.held_least())

    # Leaving

    def take_back(self, reusable: LoopState) -> None:
        """Columns of a branch that is over."""
        if len(self._spare) < _SPARE_STATES:
            self._spare.append(reusable)

    def free(self) -> None:
        """Let go of what takes memory, when this is over and nobody reads it any more."""
        super().free()
        self._spare.clear()

    def forget(self, branch: BranchProcessor) -> None:
        """A branch is over: its lease ends."""
        if branch in self.branches:
            self.branches.remove(branch)
        if branch.lease is not None:
            self.graph.release(branch.lease)
            branch.lease = None

    def edge_count(self) -> int:
        """Live edges on this worker."""
        return int(self.graph.columns.counters[EDGES])
