"""The main loop on one worker: admits batches, keeps the approximation up to date, and lets branches be forked.

The ingress is part of the processor: what is admitted is gathered at the iteration of the processor's token, which follows the
others while there is nothing to do, so that an idle worker holds nobody back and its input is never in the past. Where vertices ask
nobody, nobody is held back, and it stays where it is.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import numpy as np

from ...config import DelayBound
from ...graph import PartitionMap
from ...graph.graph_columns import ANY_VERSION
from ...loops.forks import ForkedPart
from ...loops.stream_part import StreamPart
from ..compiled_main import CompiledMain
from . import loop_columns as names
from .branch_processor import BranchProcessor
from .bundle import Bundle, Messages, Rest
from .loop_columns import SUBSCRIBE
from .loop_state import LoopState
from .processor import FUEL, SelectiveProcessor

# Dirty vertices beyond which the loop catches up before it admits: what it leaves undone, every branch has to do. With
# sixteen times as many it admits a tenth faster, and an exact query under full load takes four times as long.
_PENDING_LIMIT = 1 << 12
_PENDING_SHARE = 64  # one in so many of all vertices may be dirty in any case
_PATIENCE = 2  # visits for each edge, for which a fork waits until what is left is done
# Visits in all, some milliseconds, where others may have to be waited for too; it is more behind edges that came in bulk.
_PATIENCE_OF_SEVERAL = 1 << 19
# Records that are taken in at least before what they change is propagated, while a graph is being filled.
_FILLS_BY = 1 << 24
_FILLS_TIMES = 3  # and so many times what was there
_FILLS_SHARE = 32  # one in so many of what was there has to have come before the next come in bulk
_FILLS_SHARE_IN_VAIN = (
    4  # and one in so many, where the last that did were fewer than that: somebody asks all the time
)
_FAR_BEHIND = 16  # times that, from which records do not wait for a loop that has others beside it
_LONGER = 4  # times the fuel of a step, where nobody waits for anything else of the loop


class MainProcessor(CompiledMain[BranchProcessor, Bundle, LoopState], SelectiveProcessor):
    """See the module.

    Parameters
    ----------
    on_applied
        Called with the number of records that were applied.
    hears_back
        Which reverse lists of the graph its vertices hear along too, counted from 1; 0: along none.
    stream
        What it reads, where other loops read it already; None: a new one.
    """

    def __init__(
        self,
        *,
        kernel: ModuleType,
        arguments: tuple[object, ...],
        delay_bound: DelayBound,
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
        # When everything was propagated last: how many records had been applied, and how many edges there were.
        self._rested_at = self._edges_at_rest = 0
        self._has_filled = False
        self._heard = ANY_VERSION  # the version behind which edges came in bulk that are not all taken in
        self._taken_in_at = 0  # how many records had been applied when edges that came in bulk were last
        self._was_worth_it = True  # that these came in bulk, and were taken in by a look at all rows
        self._rests: dict[int, Rest] = {}  # by worker, what it said last
        self._awaits_others = False  # for a fork: until they have come to their end
        self._awaits_work = False  # for a fork: until what is left here is done
        # At the record for a branch, which is the last one then.
        self._begin_reading(lambda number: Bundle(worker, marker=number, rest=self.branches[-1].rest))

    @property
    def _follows(self) -> bool:
        """See `CompiledPart`."""
        return not self.state.is_free

    @property
    def _is_at_work(self) -> bool:
        """See `CompiledMain`: what is heard in the step of another loop is sent in the next one of this."""
        return super()._is_at_work or bool(np.count_nonzero(self.state.columns.out_length))

    def _step(self) -> None:
        before = None if self.state.is_free else self._done()
        self.operator.pull(self._hear_and_take)
        if not self.stream.is_filling:  # else lists that are not built would be gone through
            self._receive()
        if self._following_row is not None:
            self._take_in_rows()
        more = self.stream.obey(self)
        is_filling = self._is_filling()
        if not is_filling:
            self.stream.end_filling()
        goes_on, fuel = not (is_filling or self._hears_bulk), self._fuel()
        finished = not goes_on or self._advance(fuel)
        while True:
            if finished and self._awaits_work and self._has_nothing_left():
                more = self.stream.obey(self)  # to the fork that has waited for this
                finished = not self._has_pending()
            has_ended = self._flush_and_settle(moves_on=True)
            if not (has_ended and finished and goes_on):
                break
            finished = self._advance(fuel)
        if not (self.stream.is_filling or self._is_taking_in or self._has_pending()):
            self._rested_at, self._edges_at_rest = self.graph.sequence, self.stream.edge_count()
            self._has_filled = False
        self._move_token(stays=True)
        # A stream that is behind and can do nothing now waits for another worker, and is called when that has come further. So does a
        # fork: where nobody is asked, what this step has left waits for a wave, and otherwise, once nothing is done, for a frontier.
        waits = self._awaits_others or (self._awaits_work and (before is None or self._done() == before))
        if (
            not finished
            or has_ended
            or self._following_row is not None
            or (more and not waits and (self.workers == 1 or not self.stream.is_behind()))
        ):
            self.operator.activate()

    def _fuel(self) -> int:
        """For how many edges a step may go on: longer for a fork that waits for it alone, shorter beside branches."""
        if self.branches:
            return FUEL // 4
        return _LONGER * FUEL if self._awaits_work else FUEL

    @property
    def _hears_bulk(self) -> bool:
        """Whether it takes in edges that came in bulk: what they change is propagated when all are."""
        return self._heard != ANY_VERSION

    def _done(self) -> tuple[int, ...]:
        """What differs when anything was done."""
        counters = self.state.counters
        return (
            int(counters[names.EDGES_VISITED]),
            int(counters[names.UPDATES]),
            self.bundles_sent,
            self.bundles_received,
            self.operator.timestamp,
            self.graph.sequence,
        )

    # The stream

    def is_behind(self) -> bool:
        """Whether more records should wait; see `ReadingPart`."""
        # What the sender of a marker sent since waits for the fork, which waits for the records before it.
        if self._forks.is_awaited or self._is_filling():
            return False
        return self._has_filled or self._hears_bulk or self._pends_more_than(_PENDING_LIMIT, 1)

    def _is_filling(self) -> bool:
        """Whether a graph is being filled, so that what comes in is propagated later: when all is there, or somebody asks.

        So it is propagated when there are four times as many edges, in place of again and again while they come. A stream that removes about as
        much as it adds fills nothing.
        """
        if self.state.counters[names.ASKS] or self._has_filled or self.branches:
            return False
        if not self.stream.is_backed_up:
            return self.stream.is_filling  # until the stream says that nothing has come for a while
        records = self.graph.sequence - self._rested_at
        growth = self.stream.edge_count() - self._edges_at_rest
        if records >= max(_FILLS_BY, _FILLS_TIMES * self._edges_at_rest):
            self._has_filled = True
        return not self._has_filled and 4 * growth >= 3 * records

    def may_fill(self) -> bool:
        """See `ReadingPart`: where so much has come already that a look at all rows is little beside it."""
        is_taking_in = self.awaits_edges or self._is_taking_in or self.state.counters[names.AT_REST]
        if is_taking_in or self._forks.is_awaited or not self._is_filling():
            return False
        came = self.graph.sequence - max(self._rested_at, self._taken_in_at)
        share = _FILLS_SHARE if self._was_worth_it else _FILLS_SHARE_IN_VAIN
        return share * came >= self.stream.edge_count()

    def take_in_edges(self, version: int) -> None:
        """See `ReadingPart`."""
        self._following_row, self._heard, self._taken_in_at = 0, version, self.graph.sequence
        self._was_worth_it = _FILLS_SHARE * (self._taken_in_at - version) >= self.stream.edge_count()
        self.activate()

    def is_catching_up(self) -> bool:
        """Whether records should not wait for it; see `ReadingPart`."""
        return self._following_row is not None or self._pends_more_than(_PENDING_LIMIT, _FAR_BEHIND)

    def _pends_more_than(self, limit: int, times: int) -> bool:
        counters = self.state.counters
        pending = counters[names.PENDING_INSIDE] + counters[names.PENDING_BEYOND]
        return bool(pending > times * limit and pending > times * (self.graph.rows // _PENDING_SHARE))

    def hear(self) -> None:
        """Take in the rows and edges that the last records changed."""
        self._set_floor()
        self.state.expect(self.graph.rows)
        self.kernel.hear_edges(self.graph.addresses, *self.state.addresses, self.arguments)

    def _take_in_rows(self) -> None:
        """Take in some of the graph that was there before this loop, or came in bulk: who of it is heard from other workers."""
        self.finish_cursor()
        self._set_floor()
        following = int(
            self.kernel.hear_rows(
                self.graph.addresses,
                *self.state.addresses,
                self.arguments,
                self._heard,
                self._following_row,
                FUEL,
            )
        )
        if following < self.graph.rows:
            self._following_row = following
            return
        self._following_row, self._heard = None, ANY_VERSION
        if self.state.counters[names.AT_REST]:
            self.state.counters[names.AT_REST] -= 1

    # Snapshots

    def drain(self) -> bool:
        """Work off the invalidations on this worker, so that a snapshot need not hold them; return whether none is left."""
        if self._following_row is not None:
            return False
        if self._is_settled():
            return True
        self._set_floor()
        return bool(
            self.kernel.finish_scans(self.graph.addresses, *self.state.addresses, self.arguments, FUEL)
        )

    def _is_ready_for(self, branch: BranchProcessor) -> bool:
        """See `ReadsStream`: what is left to do is done once, and here, where the branch would do the same.

        Records behind the fork wait meanwhile, so for no more work than beginning anew would be, and for less on several workers, which
        tell each other when they have come to their end.
        """
        self._awaits_others = self._awaits_work = False
        visited = int(self.state.counters[names.EDGES_VISITED])
        if branch.patience is None:
            branch.patience = visited + self._patience() + FUEL
        waits = self.is_patient and branch.is_of_now and not self._forks.is_awaited
        if waits and not self._has_nothing_left():
            waits = self._awaits_work = visited < branch.patience
        if self._awaits_work or not self.drain():
            return False
        self._awaits_others = waits and not self._are_at_rest(branch)
        return not self._awaits_others

    def _patience(self) -> int:
        """How many edges may be visited, at most about, before a fork that waits for that."""
        if self.workers == 1:
            return _PATIENCE * self.stream.edge_count()
        in_bulk = self.graph.sequence - self._heard if self._hears_bulk else 0
        return max(_PATIENCE_OF_SEVERAL, _PATIENCE * in_bulk)

    def _are_at_rest(self, branch: BranchProcessor) -> bool:
        """Say that nothing is left to do here before a fork, with what is sent, and return whether all have said so and it is certain."""
        outgoing = self._take_outgoing()  # so that all that was sent before is said to be
        own = self._rest(branch.number)
        has_said = self._rests.get(self.worker) == own
        self._rests[self.worker] = own
        are_at_rest = branch.is_needless(self._rests)
        self._advance_waves(moves_on=True)  # which leaves nothing to do, where nothing waits for one
        self._send(outgoing, None if has_said or are_at_rest else own)  # else the marker that follows says it
        return are_at_rest

    def _has_nothing_left(self) -> bool:
        """Whether nothing is left to do here before something comes."""
        return not (self._arrived or self.state.counters[names.HELD] or self._has_pending())

    def _rest_at(self, fork: int) -> Rest | None:
        """What is said with the record for a fork, where a branch would find nothing to do here."""
        return self._rest(fork) if self._has_nothing_left() else None

    def _rest(self, fork: int) -> Rest:
        return Rest(fork, tuple(self.sent_to), tuple(self.received_from))

    def _hear_and_take(self, bundle: Bundle, iteration: int) -> None:
        """Hear what a worker says of itself, also with a marker or behind one, and have the bundle taken in as the cut says."""
        if bundle.rest is not None:
            self._rests[bundle.sender] = bundle.rest
        self._forks.take(bundle, iteration)

    def _record_state(self, branch: BranchProcessor) -> None:
        """See `CompiledMain`: where a branch would find nothing to do, that is said with the record; where it is known of all, it is over."""
        branch.record(self.graph, self.state, self.operator.timestamp)
        rest = self._rest_at(branch.number)
        if rest is not None:
            branch.rest = self._rests[self.worker] = rest
            branch.take_rests(self._rests)

    def _keep_arrived(self, branch: ForkedPart[Bundle]) -> None:
        """See `CompiledMain`; subscriptions that are not answered yet were delivered, too."""
        super()._keep_arrived(branch)
        columns = self.state.columns
        held = int(self.state.counters[names.HELD])
        if not held:
            return
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
            fuel=self._fuel_of_branch,
        )

    def _fuel_of_branch(self) -> int:
        """For how many edges a step of a branch may go on: longer where nothing else of this loop is at work, and nobody elsewhere waits."""
        is_alone = self.workers == 1 and len(self.branches) == 1 and self._has_nothing_left()
        return _LONGER * FUEL if is_alone else FUEL

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
