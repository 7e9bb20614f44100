"""The main loop on one worker: admits batches, keeps the approximation up to date, and lets branches be forked.

A vertex announces when its residual passes a threshold, times its out-degree; the threshold is such that all that waits is within
the accuracy of the program. What waits counts in a certificate like anything else that is not announced, so records never
wait for this loop: under load it is only less near.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import cast

import numpy as np

from ...graph import PartitionMap
from ...graph.graph_columns import ANY_VERSION
from ...loops.loop_operator import NEVER
from ...loops.part import BranchPart
from ...loops.stream_part import StreamPart
from ..compiled_main import CompiledMain
from . import loop_columns as names
from .branch_processor import AccumulativeBranch
from .bundle import SumBundle, Swept
from .loop_state import SumState
from .norms import Norm
from .part_values import NormalisedValues
from .processor import DENSE_SHARE, FUEL, AccumulativeProcessor
from .pull_rounds import PullRounds

_MOST = 0.65  # of what may wait, when announcing begins: the rest is for records, so that a branch after them has nothing to do
_GOAL = 0.58  # and when it ends
_FAR_TOO_MUCH = 8.0  # so many times what may wait, and it begins beside branches, too, and may be hopeless
_ROUNDING = 16 * 2.0**-53  # of the values, that stays whatever is announced
_LAST_CHANGE = 0.4  # of what may wait, that the last sweep may move values by
_DRIFTED = 0.25  # of what may wait, that sums may have drifted before they are pulled anew
_LEAST_DRIFT = 64.0  # values, that new sums have not come to
_NEAREST = 8 * 2.0**-53  # over (1 - d)²: announcing comes no nearer, as a value has no smaller digits
_LEAST_GROWTH = 2.0  # times what sums have lost that are measured anew: to do it again would not help
_UNSCALED = 0.05  # of what may wait, that residuals may sum to because of the base
_SMALLER = (
    0.8  # times what a sweep moved values by, that the next one may where records came, or it was the last
)
_SLOW_SWEEPS = 16  # that may get there together, where none came: near 1 a damping leaves that share of what a sweep moves
_LOWERED = 0.8  # a threshold, when what is above it was too little
_RAISED = 1.02  # and when it was enough
_ADDED_UP_EVERY = 1 << 20  # announcements; what is only kept up gathers roundings


class AccumulativeMain(CompiledMain[AccumulativeBranch, SumBundle, SumState], AccumulativeProcessor):
    """See the module.

    Parameters
    ----------
    accuracy, factor, has_bases, norm
        Of the program.
    on_applied
        Called with the number of records that were applied.
    commits
        False: nothing is announced here; branches do it.
    stream
        What it reads, where other loops read it already; None: a new one.

    Attributes
    ----------
    holds
        Nobody announces, as values are to be placed.
    """

    def __init__(
        self,
        *,
        kernel: ModuleType,
        arguments: tuple[object, ...],
        accuracy: float,
        factor: float,
        has_bases: bool,
        norm: Norm,
        delay_bound: int | None,
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
            arguments=arguments,
            delay_bound=delay_bound,
            worker=worker,
            workers=workers,
            weigh_in_lists=self._go_on_weighing,
        )
        self.state = SumState(worker=worker, workers=workers)
        self.state.counters[names.HAS_BASES] = has_bases
        self._accuracy = max(accuracy, _NEAREST / (1.0 - factor) ** 2) if norm.is_normalised else accuracy
        self._factor = factor
        self._norm = norm
        self._commits = commits
        self.holds = False
        self._masses = np.zeros(workers)  # what the others said last
        self._others_mass = 0.0  # the sum of that
        self._told = np.zeros(workers)  # what each was told
        self._measured_drift = 0.0  # of sums as they were measured last
        self._added_up_at = 0
        self._begun_at: int | None = None  # edges visited, when announcing began; None: nobody has to
        self._pulls = False
        self._rounds = PullRounds(worker, workers)
        self._scale_row: int | None = None  # of the round in which values are scaled, in place of a sweep
        self._updates_before = 0
        self._last_change = np.inf  # of all parts, of the sweep that those since are compared with
        self._sweeps_since = 0
        self._are_news_since = False  # whether a part has heard of records since then
        self._has_heard = False  # of records, since the last sweep
        self._has_weights_in = False
        self._awaited: AccumulativeBranch | None = None  # that goes first, even where far too much waits here
        self._has_waited = False  # for one already, since announcing was last at its end
        self._begin_reading(lambda number: SumBundle(worker, marker=number))
        self._add_up()
        if self.graph.rows:
            self.state.counters[names.FOLLOWING_ROW] = 0

    def _has_pending(self) -> bool:
        """See `CompiledPart`."""
        return self._has_to_announce and self._commits and not self.holds

    @property
    def _has_to_announce(self) -> bool:
        return self._is_stale or self.is_telling or self._begun_at is not None or self._is_too_much

    def _pending(self) -> int:
        """At rest nobody has to announce, though some may be above a threshold that was let stand."""
        return super()._pending() if self._has_to_announce else 0

    def _held(self) -> NormalisedValues:
        """See `CompiledPart`; normalised values sum to 1 as nearly as parts know of each other."""
        return NormalisedValues(self.kernel, self.state, self.arguments, self._all_mass)

    def _all_mass(self) -> float:
        if not self._norm.is_normalised:
            return 1.0
        return self._mass() + self._others_mass

    # Steps

    def _step(self) -> None:
        self.operator.pull(self._forks.take)
        if self._may_hear:
            self._receive()
        if self._is_taking_in:
            self.kernel.hear_rows(*self._loop, FUEL)
        more = self.stream.obey(self)
        self._aim()
        self._join_rounds()
        is_waiting = self._has_to_go()
        if is_waiting and self._may_go_on():
            self._flush()
            self.operator.move_token(self.next_iteration, stays=True)
            # Branches go first, and records: what waits to be announced does no harm.
            fuel = FUEL // 8 if more or self.branches else FUEL
            if self._is_stale:
                self._pull(fuel)
            elif self._begun_at is not None:
                self._push(fuel)
            elif self._is_too_much:
                self._begin_announcing()
            self._add_up_sometimes()
        self._flush()
        self._tell_mass()
        is_waiting = self._has_to_go()
        least = self.next_iteration if is_waiting else NEVER
        self.operator.move_token(min(least, self._held_least()), stays=True)
        if more or self._is_taking_in or (is_waiting and self._may_go_on()):
            self.operator.activate()

    @property
    def _may_hear(self) -> bool:
        """What is announced does not change while sums are measured, which nobody begins to while values are placed."""
        is_measuring = self._is_stale and not self._pulls and not self.holds
        # While it is filled there are lists that are not built yet.
        return not is_measuring and not self.stream.is_filling

    def _has_to_go(self) -> bool:
        """Whether there is something to do that waits for no other part's sweep."""
        waits_for_others = self.stream.is_filling or (self._pulls and self._rounds.is_waiting)
        return self._has_to_announce and not self._is_held_back and not waits_for_others

    def _may_go_on(self) -> bool:
        """Whether the delay bound allows to announce; nothing is announced by measuring, and what has arrived waits for that."""
        return (self._is_stale and not self._pulls) or self.may_begin_turn()

    @property
    def _is_taking_in(self) -> bool:
        """Whether it goes through a graph that was there before it, or came in bulk: not while values are to come for that."""
        return self._has_rows_to_take_in and not self.awaits_edges

    @property
    def _has_rows_to_take_in(self) -> bool:
        return bool(self.state.counters[names.FOLLOWING_ROW] != ANY_VERSION)

    def _aim(self) -> None:
        """Where values are not normalised: keep the threshold where what waits comes to the accuracy."""
        if self._norm.is_normalised or not self._commits or self.holds:
            return
        wanted = self._norm.theta(self._allowed(), int(self.state.counters[names.DEGREES]))
        if wanted != self.state.totals[names.THETA]:
            self.state.totals[names.THETA] = wanted
            self._add_up()
            self._find_active()

    # Announcing

    @property
    def _waits(self) -> float:
        return float(self.state.totals[names.ABSOLUTE] + abs(self.state.totals[names.SIGNED]))

    @property
    def _is_too_much(self) -> bool:
        if not self._norm.is_normalised:
            return bool(self.state.counters[names.QUEUE_LENGTH])
        most = max(_MOST * self._allowed(), _ROUNDING * float(self.state.totals[names.MASS]))
        return self._waits > most or self._has_drifted

    @property
    def _is_held_back(self) -> bool:
        """Whether nobody may announce now, or need not begin to: branches are quicker alone, and over soon."""
        if not self._commits or self.holds:
            return True
        if not self._norm.is_normalised:
            return False
        if self._awaited is not None:
            if not self._awaited.is_finished:
                return True
            self._awaited, self._has_waited = None, True
        has_begun = self._is_stale or self.is_telling or self._begun_at is not None
        is_alone = all(branch.is_finished for branch in self.branches)
        return not is_alone and not has_begun and self._waits < _FAR_TOO_MUCH * self._allowed()

    def _allowed(self) -> float:
        """What may wait here. All parts together are within the accuracy: half of what they may leave is theirs by what values sum to, and half alike.

        By what its own sum to alone, a part from which all has gone would have nothing to leave, and go on until they are 0.
        """
        mass = (self._mass() + self._all_mass() / self.workers) / 2.0
        return self._norm.allowed(self._accuracy, self._factor, mass)

    @property
    def _has_drifted(self) -> bool:
        """Whether sums may have lost so many digits that announcing comes to no end: one that should be 0 may be negative for ever."""
        drift = float(self.state.totals[names.DRIFT])
        rounded = _ROUNDING / 4.0 * self._factor * drift  # as a certificate counts it
        is_new = drift <= max(_LEAST_DRIFT * self._mass(), _LEAST_GROWTH * self._measured_drift)
        return not is_new and rounded > _DRIFTED * self._allowed()

    def _begin_announcing(self) -> None:
        """Choose who announces, or to pull: where that is many, or sums have drifted."""
        totals, counters = self.state.totals, self.state.counters
        self._begun_at = int(counters[names.EDGES_VISITED])
        if not self._norm.is_normalised:
            return
        allowed = self._allowed()
        totals[names.GOAL] = _GOAL * allowed
        has_drifted = self._has_drifted
        if np.isfinite(totals[names.THETA]) and self._waits <= _FAR_TOO_MUCH * allowed and not has_drifted:
            return
        self._add_up()
        self.kernel.choose_threshold(self.state.addresses, self.arguments)
        if has_drifted or counters[names.ACTIVE] * DENSE_SHARE > counters[names.DEGREES]:
            self._begin_pulling()
        else:
            # Where all are below the latter, so is what waits.
            least = float(totals[names.GOAL]) / (2.0 * max(1, int(counters[names.DEGREES])))
            totals[names.THETA] = max(float(totals[names.THETA]), least)
            self._find_active()

    def _push(self, fuel: int) -> None:
        """Have those announce that are above the threshold, until the goal is met.

        The threshold stays from one time to the next: where it is such that what passes it is as much as comes in, the least
        edges are visited. So it is raised a little where the goal is met before all above it have announced.
        """
        totals, counters = self.state.totals, self.state.counters
        self._announce(fuel)
        # Also in the middle of a list, where fuel ends nearly always.
        if not self._is_enough and self._is_hopeless:
            self._begin_pulling()
        elif self.is_telling:
            return
        elif self._is_enough:
            if self._norm.is_normalised and counters[names.QUEUE_LENGTH]:
                totals[names.THETA] *= _RAISED
            self._rest()
        elif not counters[names.QUEUE_LENGTH]:
            self._lower_threshold()

    @property
    def _is_enough(self) -> bool:
        """Whether what waits has come to the goal; where values are not normalised, whether nobody is above the threshold."""
        totals = self.state.totals
        if not self._norm.is_normalised:
            return not self.state.counters[names.QUEUE_LENGTH]
        return bool(self._waits <= totals[names.GOAL])

    @property
    def _is_hopeless(self) -> bool:
        """Whether announcing has cost as much as pulling and is not near its goal, as it is where only records keep it from that."""
        counters = self.state.counters
        # Nearer than that records are kept up with by announcing: pulled sums are older than what came since, by more than that.
        is_near = self._norm.is_normalised and self._waits <= _FAR_TOO_MUCH * self._allowed()
        visited = int(counters[names.EDGES_VISITED]) - (self._begun_at or 0)
        return not is_near and visited > max(int(counters[names.DEGREES]), FUEL)

    def _rest(self) -> None:
        self._begun_at, self._has_waited = None, False

    def _lower_threshold(self) -> None:
        """All above the threshold have announced: that is enough, or too few."""
        totals, counters = self.state.totals, self.state.counters
        if not self._is_too_much:
            self._rest()
            return
        totals[names.THETA] *= _LOWERED
        if totals[names.THETA] * counters[names.DEGREES] < totals[names.GOAL] / 16.0:
            self._begin_pulling()  # all that is left is below it, so totals are not what they say
        else:
            self._find_active()

    def _end_announcing(self) -> None:
        self.kernel.clear_queue(self.state.addresses)
        self._add_up()
        if self._norm.is_normalised:
            self.state.totals[names.THETA] = np.inf
        else:
            self._find_active()
        self._rest()

    # Pulling

    def _begin_pulling(self) -> None:
        super()._begin_pulling()
        self._begin_series()

    def _begin_series(self) -> None:
        """Begin with rounds, or join them, and weigh them by no sweep of an earlier series, as others that join do."""
        self._pulls = True
        self._last_change, self._sweeps_since, self._are_news_since = np.inf, 0, False
        self._rounds.open()

    def _join_rounds(self) -> None:
        """Pull with the others, where one of them has begun to; sums are measured to their end before."""
        if self._rounds.is_called and not self._is_stale and not self.holds:
            self._begun_at = int(self.state.counters[names.EDGES_VISITED])
            self._begin_pulling()

    def _pull(self, fuel: int) -> None:
        """Some of a sweep, or of the measuring that is behind the last one."""
        totals = self.state.totals
        if not self._pulls:
            if self._measure(fuel):
                self._measured_drift = float(totals[names.DRIFT])
                self._end_announcing()
                self.operator.activate()  # for what has arrived meanwhile
            return
        if self._scale_row is not None:
            self._announce_scaled()
            return
        if self._row is None:
            self._updates_before = int(self.state.counters[names.UPDATES])
        if not self._sweep_rows(fuel):
            return
        made = int(self.state.counters[names.UPDATES]) - self._updates_before
        change = float(totals[names.CHANGE])
        self.state.note(self.next_iteration, made, change)
        self.next_iteration += 1
        self._add_up()
        self._say_swept(change)

    def _say_swept(self, change: float) -> None:
        """Tell the others of a sweep, behind what it announced."""
        totals = self.state.totals
        mass, flow, bases = (float(totals[name]) for name in (names.SWEPT_MASS, names.FLOW, names.BASES))
        swept = self._rounds.say(change, mass, flow, bases, has_heard=self._has_heard)
        self._has_heard = False
        self._flush()
        for target in range(self.workers):
            if target != self.worker:
                self._send(target, SumBundle(self.worker, notices=(swept,), mass=self._mass()))
        self._weigh_round()

    def _weigh_round(self) -> None:
        """Decide by what all parts have swept whether all of them sweep again; they do so by the same numbers."""
        swept = self._rounds.complete()
        if swept is None:
            return
        self.operator.activate()
        if self._scale_row is not None:
            self._end_pulling()
            return
        norm = self._norm
        mass = math.fsum(part.mass for part in swept)
        change, has_heard = norm.joined(part.change for part in swept), any(part.has_heard for part in swept)
        allowed = norm.allowed(self._accuracy, self._factor, mass)
        off = self._aim_base(mass, swept) if norm.is_normalised else 0.0
        if change > _LAST_CHANGE * allowed and self._gets_smaller(change, has_heard=has_heard):
            self._rounds.go_on()
        elif off > _UNSCALED * allowed:
            self._scale_row = 0
            self._rounds.go_on()
        else:
            self._end_pulling()

    def _gets_smaller(self, change: float, *, has_heard: bool) -> bool:
        """Whether sweeps get anywhere: where what they move does not get smaller, records come as fast, or all is rounding."""
        self._sweeps_since += 1
        self._are_news_since |= has_heard
        if not self._are_news_since and np.isfinite(self._last_change) and self._sweeps_since < _SLOW_SWEEPS:
            return True
        is_smaller = change < _SMALLER * self._last_change
        self._last_change, self._sweeps_since, self._are_news_since = change, 0, False
        return is_smaller

    def _end_pulling(self) -> None:
        """All parts have swept enough: sums are measured now, at the base that every loop has."""
        self._pulls, self._scale_row = False, None
        self.state.totals[names.BASE] = 1.0
        self._rounds.close()

    def _aim_base(self, mass: float, swept: Sequence[Swept]) -> float:
        """Sweep on at the base at which residuals sum to nothing; return what they sum to at that which every loop has.

        A single part has its values scaled instead, which several could not do at the same place of a cut.
        """
        flow = self._factor * math.fsum(part.flow for part in swept)
        bases = math.fsum(part.bases for part in swept)
        if not (bases > 0.0 and mass > flow):
            return 0.0
        base = (mass - flow) / bases
        if self.workers == 1:
            self.state.scale(1.0 / base)
            return 0.0
        self.state.totals[names.BASE] = base
        return abs(1.0 - base) * bases

    def _announce_scaled(self) -> None:
        """Some of the round in which all announce what they do at the base that every loop has."""
        assert self._scale_row is not None
        factor = 1.0 / float(self.state.totals[names.BASE])
        self._scale_row = int(
            self.kernel.announce_scaled(self.graph.addresses, self.state.addresses, factor, self._scale_row)
        )
        if self._scale_row == self.state.rows_seen:
            self.next_iteration += 1
            self._say_swept(0.0)

    def _go_on_weighing(self, fuel: int) -> bool:
        """Also for branches, none of which outlives this."""
        if not self._has_weights_in:
            self._has_weights_in = True
            self.graph.begin_weights_in()
        return self.graph.weigh_in_lists(fuel)

    def finish_cursor(self) -> None:
        """Finish the list that is being told, or pulled, so that the graph may change."""
        super().finish_cursor()
        if self.state.counters[names.PULL_POSITION] > 0:
            assert self._row is not None
            row, whole = self._row, 1 << 60
            if self._pulls:
                self._row = int(self.kernel.sweep(*self._loop, row, row + 1, whole))
            else:
                self._row = int(
                    self.kernel.measure(self.graph.addresses, self.state.addresses, row, row + 1, whole)
                )

    def _add_up_sometimes(self) -> None:
        counters = self.state.counters
        updates = int(counters[names.UPDATES])
        limit = max(_ADDED_UP_EVERY, 4 * self.graph.rows)
        if updates - self._added_up_at > limit:
            self._added_up_at = updates
            self._add_up()

    def _take_notices(self, bundle: SumBundle) -> None:
        self._masses[bundle.sender] = bundle.mass
        self._others_mass = float(self._masses.sum())
        for notice in bundle.notices:
            if isinstance(notice, Swept):
                self._rounds.hear(bundle.sender, notice)
                self._weigh_round()
                self.operator.activate()

    def _send(self, target: int, bundle: SumBundle) -> None:
        super()._send(target, bundle)
        self._told[target] = bundle.mass

    def _tell_mass(self) -> None:
        """Tell the others what the values here sum to, where nothing is to be announced and they would be wrong about it."""
        if self._has_to_announce or not self._norm.is_normalised:
            return
        mass, unsaid = self._mass(), self._accuracy / 8 * self._all_mass() / self.workers
        for target in range(self.workers):
            if target != self.worker and abs(mass - self._told[target]) > unsaid:
                self._send(target, SumBundle(self.worker, mass=mass))

    # The stream

    def hear(self) -> None:
        """Take in the rows and edges that the last records changed, and have branches know which lists are not as they were."""
        self.state.expect(self.graph.rows)
        self._has_heard = True
        self.kernel.hear_edges(*self._loop)
        for branch in self.branches:
            branch.note_changes()

    def may_fill(self) -> bool:
        """See `ReadingPart`: only where there are no edges, as it takes in whole lists."""
        is_waited_for = self.awaits_edges or bool(self.branches) or self._forks.is_awaited or self._is_stale
        return not (self.stream.edge_count() or self.holds or self._has_rows_to_take_in or is_waited_for)

    def take_in_edges(self, version: int) -> None:
        """See `ReadingPart`: of a version without edges."""
        del version
        self.state.counters[names.FOLLOWING_ROW] = 0
        self.activate()

    # Snapshots

    def drain(self) -> bool:
        """See `ReadingPart`: all edges must have been taken in."""
        return not self._has_rows_to_take_in

    def record(self, branch: AccumulativeBranch) -> None:
        """See `CompiledMain`."""
        self.finish_cursor()
        super().record(branch)

    def _record_state(self, branch: AccumulativeBranch) -> None:
        """See `CompiledMain`."""
        branch.record(self.state, self.operator.timestamp, self.next_iteration, is_stale=self._is_stale)
        if self._awaited is None and not self._has_waited:
            self._awaited = branch

    def fork(
        self, *, number: int, arguments: tuple[object, ...], fresh: bool, max_iterations: int | None
    ) -> AccumulativeBranch:
        """Make this worker's part of a new branch."""
        tolerance, top, factor, has_bases, *own = arguments
        return AccumulativeBranch(
            number=number,
            kernel=self.kernel,
            graph=self.graph,
            take_state=self._take_state,
            arguments=tuple(own),
            tolerance=cast("float", tolerance),
            top=cast("int", top),
            factor=cast("float", factor),
            has_bases=cast("bool", has_bases),
            norm=self._norm,
            delay_bound=self.delay_bound,
            worker=self.worker,
            workers=self.workers,
            fresh=fresh,
            max_iterations=max_iterations,
            on_finished=self.operator.activate,
            weigh_in_lists=self.weigh_in_lists,
        )

    def _take_state(self) -> SumState:
        """Columns for a branch over the graph as it is now: used ones where they are large enough."""
        rows = self.graph.rows
        spare = self._take_spare(lambda state: state.fits(rows))
        if spare is not None:
            spare.reset()
            return spare
        room = 1.5  # so that the columns fit the next branches too while the graph grows
        state = SumState(worker=self.worker, workers=self.workers, rows=int(rows * room) + 2)
        state.expect(rows)
        return state

    # Leaving

    def free(self) -> None:
        """Let go of what takes memory, when this is over and nobody reads it any more."""
        if self._has_weights_in:
            self.graph.end_weights_in()
        super().free()

    def forget(self, branch: BranchPart) -> None:
        """End the lease of a branch that is over; it may have held announcing back."""
        if branch in self.branches:
            if branch is self._awaited:
                self._awaited, self._has_waited = None, True
            self.operator.activate()
        super().forget(branch)
