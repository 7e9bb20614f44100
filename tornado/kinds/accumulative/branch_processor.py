"""A branch loop on one worker: starts from what the main loop recorded, reads the graph at that version, and comes to an end.

Where little is to be done, queued vertices announce, with a threshold that is lowered by and by. Else all values are pulled
over the in-lists, in the order of rows (`sweep_kernel.py`). What is to be done next, and whether it is enough, says the coordinator
(`coordinator.py`); totals are never stated but of a state in which all that was announced is heard.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from ...errors import InternalError
from ...graph import EvolvingGraph
from ...loops.loop_operator import NEVER
from ..compiled_branch import CompiledBranch
from ..edge_reading import ColumnsOf
from . import loop_columns as names
from .bundle import NO_VALUES, Instruction, Notice, Phase, Report, Settled, SumBundle, Swept, Trial
from .coordinator import Coordinator
from .loop_state import SumState
from .norms import Norm
from .part_values import NormalisedValues
from .processor import DENSE_SHARE, FUEL, AccumulativeProcessor
from .trial import TrialValues

_COORDINATOR = 0
_LOWERED = 8.0  # how many times at once a threshold is lowered
_PUSHED = 1.35  # times what is aimed at, where that is known at every moment and not only predicted
_SPARSE_EDGES = 1  # so many times the edges may be visited by announcing, before values are pulled after all


class AccumulativeBranch(CompiledBranch[SumBundle, SumState], AccumulativeProcessor):
    """See the module.

    Parameters
    ----------
    number
        Of the fork: the same on all workers, growing.
    take_state
        Gives columns to copy into, as `SumState.reset` leaves them, when the state is recorded.
    tolerance
        What the bound is to come to.
    top
        It may end before, when the order of so many of the greatest values is certain; 0: it does not.
    factor, has_bases, norm
        Of its program.
    fresh
        Count iterations from the beginning: the parameters are others than those of the main loop.
    max_iterations
        See `MainPart.fork`. Of none nothing is announced, and the bound is that of what the main loop has announced.
    on_finished
        Called when its values are what they are going to be.
    weigh_in_lists
        See `AccumulativeProcessor`.
    """

    def __init__(
        self,
        *,
        number: int,
        kernel: ModuleType,
        graph: EvolvingGraph,
        take_state: Callable[[], SumState],
        arguments: tuple[object, ...],
        tolerance: float,
        top: int,
        factor: float,
        has_bases: bool,
        norm: Norm,
        delay_bound: int | None,
        worker: int,
        workers: int,
        fresh: bool,
        max_iterations: int | None,
        on_finished: Callable[[], None],
        weigh_in_lists: Callable[[int], bool],
    ) -> None:
        super().__init__(
            kernel=kernel,
            graph=graph,
            arguments=arguments,
            delay_bound=delay_bound,
            worker=worker,
            workers=workers,
            weigh_in_lists=weigh_in_lists,
        )
        self.number = number
        self._coordinator = (
            Coordinator(
                workers=workers,
                tolerance=tolerance,
                factor=factor,
                norm=norm,
                iterates=max_iterations != 0,
                top=top,
            )
            if worker == _COORDINATOR
            else None
        )
        self._top = top
        self._take_state = take_state
        self._fresh = fresh
        self._factor, self._has_bases, self._norm = factor, has_bases, norm
        self._max_iterations = max_iterations
        self._on_finished = on_finished
        self._cap = NEVER
        self._kept = []
        self._awaits_limit = bool(max_iterations)  # with none allowed it is told nothing that matters
        self._instruction = Instruction(Phase.SETTLE, 0, 1.0)
        self._has_said_settled = False
        self._has_reported = False
        self._has_said_capped = False
        self._settled = dict.fromkeys(
            range(workers), -1
        )  # the last attempt that each part said it was settled in
        self._pulls = False
        self._trial: TrialValues | None = None
        self._edges_before = 0
        self._updates_before = 0
        self._next_base = 1.0
        self._has_news = False  # a sweep is to be made: the first, or all parts have made the last one

    # Recording

    def record(self, main: SumState, timestamp: int, next_iteration: int, *, is_stale: bool) -> None:
        """Copy the main loop's state, as it is after the last batch applied, and lease that version of the graph.

        `is_stale` says whether its sums are older than what it announced.
        `timestamp` is that of the main loop's token: what is committed there is not far behind, so the branch begins there.
        """
        self.state = self._take_state()
        self.lease, self.version = self.graph.lease()
        self.first_iteration = main.iteration
        # They depend on nothing but a vertex and the parameters, which are those of the main loop unless it is fresh.
        has_its_bases = bool(self._has_bases and not self._fresh and main.counters[names.HAS_BASES])
        main.copy_to(self.state, bases=has_its_bases)
        all_known = self.graph.vertices == main.rows_seen
        self.kernel.fork(self.graph.addresses, main.addresses, self.state.addresses, all_known)
        self.state.counters[names.VERSION] = self.version
        self.state.counters[names.HAS_BASES] = self._has_bases
        self.state.totals[names.FACTOR] = self._factor
        if self._has_bases and not has_its_bases:
            self.kernel.fill_bases(*self._loop)
        if is_stale or (self._fresh and not self._norm.is_normalised):  # else DRIFT is of other bases
            super()._begin_pulling()
        if not self._fresh:
            self._begins_at = timestamp
            self.next_iteration = max(timestamp, next_iteration)
            self.state.iteration = main.iteration
        self.vertices = self.graph.vertices
        self.is_recorded = True

    def note_changes(self) -> None:
        """Note which lists are not any more as they were at its version."""
        self.kernel.note_changes(self.graph.addresses, self.state.addresses)

    # What its owner asks and tells

    @property
    def is_finished(self) -> bool:
        """Whether its values are what they are going to be."""
        return self._instruction.phase == Phase.FINISH

    @property
    def is_converged(self) -> bool:
        """Whether the bound came to the tolerance."""
        return self._instruction.is_converged

    @property
    def findings(self) -> Mapping[str, float]:
        """The bound, the same on all workers."""
        return {"bound": self._instruction.bound, "diverged": float(self._instruction.is_diverged)}

    def _stored(self) -> ColumnsOf:
        """See `ReadsEdges`."""
        return self._held().stored

    def _held(self) -> NormalisedValues:
        """See `CompiledPart`."""
        mass = self._instruction.mass
        return NormalisedValues(self.kernel, self.state, self.arguments, lambda: mass)

    def free(self) -> None:
        """See `CompiledBranch`."""
        super().free()
        self._trial = None

    def _set_cap(self, iteration: int) -> None:
        """See `CompiledBranch`."""
        self._cap = iteration

    # Steps

    def step(self) -> None:
        """Take in messages, and do what the coordinator says; give the token up when the branch is finished."""
        self.operator.pull(self._accept)
        if not self.is_started or (not self.operator.token.is_live and not self._arrived):
            return
        self.operator.move_token(self._begins_at, stays=True)
        if self._coordinator is not None and self.was_stopped:
            self._obey(self._coordinator.stop())
        if self._row is None or self.delay_bound != 1:  # a synchronous turn hears nothing of its own round
            self._receive()
        more = self._work()
        self._flush()
        self._move_token()
        if more:
            self.operator.activate()

    def _work(self) -> bool:
        """Do some of what there is to do; return whether there is more that can be done at once."""
        if self._arrived and self._row is None:
            return False  # `_receive` has asked for another step
        phase = self._instruction.phase
        if phase in {Phase.SETTLE, Phase.TRY}:
            return self._settle()
        if phase == Phase.RUN:
            if self._row is None and (self.was_stopped or not self._may_go()):
                return False
            return self._sweep() if self._pulls else self._push()
        return False

    def _may_go(self) -> bool:
        if not self._has_to_go():
            return False
        self._catch_up()
        if self.next_iteration > self._cap:
            if not self._has_said_capped:
                self._has_said_capped = True
                self._report(Report(self._instruction.attempt, is_capped=True))
            return False
        return self.may_begin_turn()

    def _has_to_go(self) -> bool:
        """Whether there is something to do: to announce, or to pull once all parts have pulled.

        A part that pulled whenever it heard something would solve its rows for values that are about to change, and drown the
        others in what it announces.
        """
        if self._pulls:
            return self._has_news
        if self._has_to_announce():
            return True
        self._report_idle()
        return False

    def _move_token(self) -> None:
        if not self.operator.token.is_live:
            return
        if self.is_finished:
            self.operator.move_token(NEVER, stays=False)
            return
        if self._row is not None and self._pulls:
            return  # the turn under way has the token at its iteration
        waits = self._instruction.phase == Phase.RUN and self._has_to_go()
        least = self.next_iteration if waits and self.next_iteration <= self._cap else NEVER
        self.operator.move_token(min(least, self._held_least()), stays=True)

    # Running

    def _begin_run(self, instruction: Instruction) -> None:
        """Choose between announcing and pulling, by how many edges begin at the vertices that have to announce."""
        totals, counters = self.state.totals, self.state.counters
        totals[names.BASE] = self._next_base = instruction.base
        self.kernel.clear_queue(self.state.addresses)
        self._add_up()
        edges = int(counters[names.DEGREES])
        self._edges_before = int(counters[names.EDGES_VISITED])
        if self._norm.is_normalised:
            # The share of this part in what all may leave: residuals are not above that where all are below theta, either.
            totals[names.GOAL] = _PUSHED * 2.0 * instruction.theta * edges
            self.kernel.choose_threshold(self.state.addresses, self.arguments)
        else:
            totals[names.THETA] = instruction.theta
            self._find_active()
            self.kernel.clear_queue(self.state.addresses)
        if instruction.pulls or counters[names.ACTIVE] * DENSE_SHARE > edges:
            self._begin_pulling()
        elif self._norm.is_normalised:
            totals[names.THETA] = max(instruction.theta, totals[names.THETA])
            self._find_active()
        elif counters[names.ACTIVE]:
            first = self._norm.first_theta(float(totals[names.ABSOLUTE]), max(edges, 1))
            totals[names.THETA] = max(instruction.theta, first / _LOWERED)
            self._find_active()

    def _begin_pulling(self) -> None:
        super()._begin_pulling()
        self._pulls = self._has_news = True

    def _has_to_announce(self) -> bool:
        counters, totals = self.state.counters, self.state.totals
        while not self.is_telling:
            if totals[names.ABSOLUTE] + abs(totals[names.SIGNED]) <= totals[names.GOAL]:
                return False
            if counters[names.QUEUE_LENGTH]:
                return True
            theta = float(totals[names.THETA])
            if theta <= self._instruction.theta or self._instruction.phase != Phase.RUN:
                return False
            totals[names.THETA] = max(self._instruction.theta, theta / _LOWERED)
            self._find_active()
        return True

    def _push(self) -> bool:
        """One turn of queued vertices."""
        self._has_reported = False
        self._flush()
        self.operator.move_token(self.next_iteration, stays=True)
        self._announce(FUEL)
        counters = self.state.counters
        visited = int(counters[names.EDGES_VISITED]) - self._edges_before
        if visited > _SPARSE_EDGES * max(int(counters[names.DEGREES]), FUEL):
            self._begin_pulling()
        return True

    def _sweep(self) -> bool:
        """Some of a turn in which all values are pulled."""
        counters, totals = self.state.counters, self.state.totals
        if self._row is None:
            self._flush()
            self.operator.move_token(self.next_iteration, stays=True)
            totals[names.BASE] = self._next_base
            self._updates_before = int(counters[names.UPDATES])
            self._has_news = False
        if not self._sweep_rows(FUEL):
            return True
        change = self._end_sweep()
        self._report(
            Report(
                self._instruction.attempt,
                change=change,
                mass=float(totals[names.SWEPT_MASS]),
                flow=float(totals[names.FLOW]),
                bases=float(totals[names.BASES]),
                greatest=self._greatest(),
            )
        )
        return True

    def _end_sweep(self) -> float:
        """End the turn, also in the middle: whatever was announced is a state like any other. Return how far values moved."""
        self._row = None
        self.state.counters[names.PULL_POSITION] = 0
        change = float(self.state.totals[names.CHANGE])
        made = int(self.state.counters[names.UPDATES]) - self._updates_before
        self.state.note(self.next_iteration, made, change)
        self.next_iteration += 1
        return change

    def _report_idle(self) -> None:
        if not self._has_reported:
            self._has_reported = True
            totals = self.state.totals
            self._report(
                Report(
                    self._instruction.attempt,
                    is_idle=True,
                    mass=float(totals[names.MASS]),
                    flow=float(totals[names.FLOW]),
                    bases=float(totals[names.BASES]),
                )
            )

    # Settling

    def _settle(self) -> bool:
        """Say that nothing more is announced; when all others have said so, take the totals and report them."""
        attempt = self._instruction.attempt
        if not self._has_said_settled:
            self._flush()
            self._has_said_settled = True
            self._settled[self.worker] = attempt
            self._tell_others(Settled(attempt))
        if self._has_reported or min(self._settled.values()) < attempt:
            return False
        if self._is_stale and not self._measure(FUEL):
            return True
        if self._trial is not None and self._instruction.phase == Phase.TRY:
            self._has_reported = True
            kept, lost = self._trial.compare()
            self._report(Report(attempt, is_settled=True, kept=kept, lost=lost))
            return True
        is_idle = self._pulls or not self._has_to_announce()
        self._pulls = False
        self.kernel.clear_queue(self.state.addresses)
        self.state.totals[names.BASE] = self._instruction.base
        self._add_up()
        totals, counters = self.state.totals, self.state.counters
        self._has_reported = True
        self._report(
            Report(
                attempt,
                is_settled=True,
                is_idle=is_idle,
                absolute=float(totals[names.ABSOLUTE]),
                signed=float(totals[names.SIGNED]),
                mass=float(totals[names.MASS]),
                drift=float(totals[names.DRIFT]),
                bases=float(totals[names.BASES]),
                announcing=float(totals[names.ANNOUNCING_BASES]),
                vertices=int(counters[names.VERTICES]),
                degrees=int(counters[names.DEGREES]),
                greatest=self._greatest(),
                largest=float(totals[names.LARGEST]),
                unrest=float(totals[names.UNREST]),
            )
        )
        return True

    def _greatest(self) -> NDArray[np.float64]:
        """The greatest values here, before they are divided, where an order is to be proved."""
        if not self._top:
            return NO_VALUES
        found = np.empty(self._top + 1)
        return found[: self.kernel.find_greatest(self.state.addresses, self.arguments, found)]

    # Trials

    def _begin_trial(self, trial: int) -> None:
        """Announce what a proof is tried with; see `trial.py`."""
        if self._trial is None:
            self._trial = TrialValues(self.kernel, self.state, self.arguments)
        if trial == Trial.WATCH:
            self._trial.watch()
        elif trial != Trial.NONE:
            self._put_shares(self._trial.wanted(Trial(trial)))

    def _end_trial(self) -> None:
        if self._trial is not None and self._trial.is_under_way:
            self._put_shares(self._trial.back())

    def _put_shares(self, shares: NDArray[np.float64]) -> None:
        super()._begin_pulling()
        row = 0
        while row < len(shares):
            row = int(self.kernel.put_shares(self.graph.addresses, self.state.addresses, shares, row))
            self._flush()

    # Notices

    def _report(self, report: Report) -> None:
        if self._coordinator is not None:
            self._obey(self._coordinator.hear(self.worker, report))
        else:
            self._tell(_COORDINATOR, report)

    def _obey(self, instruction: Instruction | None) -> None:
        """Of the coordinator: tell all parts."""
        if instruction is not None:
            self._tell_others(instruction)
            self._take_instruction(instruction)

    def _take_instruction(self, instruction: Instruction) -> None:
        if instruction.phase == Phase.AIM:
            if instruction.attempt == self._instruction.attempt and self._instruction.phase == Phase.RUN:
                self._next_base = instruction.base
                self._has_news = True
                if instruction.trial != Trial.NONE:
                    self._begin_trial(instruction.trial)
                self.operator.activate()
            return
        self._instruction = instruction
        # What was said in the last attempt may have come too late to count.
        self._has_reported = self._has_said_capped = False
        self._has_said_settled = False
        self.finish_cursor()
        if self._row is not None:
            self._end_sweep()
        if instruction.phase == Phase.TRY:
            self._begin_trial(instruction.trial)
        else:
            self._end_trial()
        if instruction.phase == Phase.RUN:
            self._begin_run(instruction)
        elif instruction.phase == Phase.SETTLE and instruction.pulls:
            super()._begin_pulling()
        elif self.is_finished:
            self._on_finished()
        self.operator.activate()

    def _tell_others(self, notice: Notice) -> None:
        for target in range(self.workers):
            if target != self.worker:
                self._tell(target, notice)

    def _tell(self, target: int, notice: Notice) -> None:
        self._flush()  # what was announced stands before it
        self._send(target, SumBundle(self.worker, notices=(notice,)))

    def _take_notices(self, bundle: SumBundle) -> None:
        for notice in bundle.notices:
            if isinstance(notice, Settled):
                self._settled[bundle.sender] = notice.attempt
                self.operator.activate()
            elif isinstance(notice, Instruction):
                self._take_instruction(notice)
            elif isinstance(notice, Report):
                assert self._coordinator is not None
                self._obey(self._coordinator.hear(bundle.sender, notice))
            elif isinstance(notice, Swept):
                raise InternalError(f"a main loop has told a branch of its sweep: {notice}")
            else:
                assert_never(notice)
