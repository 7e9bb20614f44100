"""Who decides, for all parts of a branch, when there is a certificate, and what is to be done until then.

A branch goes through *attempts*. In each of them its parts first RUN: they announce, as far ahead of each other as the delay bound
allows, and report. Then they SETTLE: nobody announces, each part sends SETTLED on every channel behind what it announced, and takes its
totals when it has that of all others. So the totals are of one state in which all that was announced is heard, and they are
exact. If their bound is small enough, that is the end (FINISH, with the sum that answers are divided by); else another attempt begins, with
a base at which the residuals would sum to nothing and a threshold that would do.

A branch that is to *certify* what the main loop has makes no attempt: its parts settle at once, and the first totals are the end. Only
where these are mostly rounding are sums made anew before, for what is announced as it is.

A branch of which only the *order of the greatest* values is wanted ends when that is certain: when each of them is further from the
next one than the bound (two values that differ by more cannot both be so wrong), in the norm of the bound. So it settles when the bound is thought to
have come below the least of these gaps, as the last sweep has left them. Where values are closer than the tolerance, it
comes to that.

Where the laws of a program allow graphs on which values have no end, a proof of that is tried now and then (TRY, `trial.py`): when all are
settled, behind so many sweeps, or where nothing moves any more and there is no bound. It ends the branch, or the values come back and
the branch goes on.

Nothing that is only predicted comes into the bound: reports of running parts say when it is worth while to settle, and where to aim.
Here are decisions only; `AccumulativeBranch` carries them out. Worker 0 has the coordinator.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...value_types import gaps
from .bound import is_known
from .bundle import Instruction, Phase, Report, Trial
from .norms import Norm

_MOST_ATTEMPTS = 1000
_FIRST_RATE = 0.3  # of what a sweep moved, what the next one is thought to move
_CAREFUL = (
    0.7  # of what is allowed, in what is predicted; halved with each attempt in which that was too little
)
_LEAST_CAREFUL = 0.05  # where slow sweeps may look like the end
_DRIFT_SHARE = 0.25  # of the tolerance, that sums may have drifted before they are pulled anew
_CLOSER = 2.0  # how many times smaller than the last bound one is to be at least, to try again
_USELESS_SHARE = 0.5  # of a bound, that rounding may be before sums are made anew for its sake alone
_FIRST_TRIAL = 32  # sweeps
_MOST_LOST = 64  # sweeps in which sums that a weight of 1e24 has left too large may find room
_AT_REST = 4e-15  # of the greatest value, that announcing moves where all that is left is rounding
_CANDIDATES = (Trial.MOVED, Trial.VALUES, Trial.EVEN)  # what a proof is tried with
_MOST_MEANS = (
    64  # times that it is brought nearer to an eigenvector, and not more often than sweeps were made
)
_MOST_LEFT_OUT = 12  # times that vertices are left out of it


class Coordinator:
    """See the module.

    Parameters
    ----------
    workers
        How many parts there are.
    tolerance
        What the bound is to come to.
    factor
        d.
    norm
        In which the bound is.
    iterates
        Whether anything may be announced for a smaller bound.
    top
        How many of the greatest values are to be in an order that is certain; 0: it is not asked for.
    """

    def __init__(
        self,
        *,
        workers: int,
        tolerance: float,
        factor: float,
        norm: Norm,
        iterates: bool = True,
        top: int = 0,
    ) -> None:
        self._workers = workers
        self._norm = norm
        self._tolerance = tolerance
        self._factor = factor
        self._iterates = iterates
        self._top = top
        self._greatest: dict[int, NDArray[np.float64]] = {}  # as each part has said last
        self._goal = tolerance  # what the bound of the attempt is to come to
        self._phase = Phase.SETTLE  # what all parts begin with
        self._attempt = 0
        self._early = 0  # attempts that ended while some had more to do
        self._base = 1.0
        self._ends = False
        self._last_change = 0.0
        self._careful = _CAREFUL
        self._reports: dict[int, Report] = {}
        self._last_bound = math.inf
        self._sweeps = 0
        self._next_trial = _FIRST_TRIAL
        self._is_watched = False  # parts know what the values were before the sweep that is under way
        self._wants_trial = False
        self._was_interrupted = False  # for a trial; so the next totals say nothing of what was predicted
        self._tried = _CANDIDATES[0]
        self._steps = 0  # that were made with it
        self._tried_at_rest = False
        self._is_diverged = False

    def stop(self) -> Instruction | None:
        """Come to an end with whatever bound there is; return what all parts are told."""
        self._ends = True
        return self._settle() if self._phase is Phase.RUN else None

    def hear(self, worker: int, report: Report) -> Instruction | None:
        """Take in what a part reports; return what all parts are told, if anything."""
        if report.attempt != self._attempt or report.is_settled != (self._phase in {Phase.SETTLE, Phase.TRY}):
            return None
        if self._phase is Phase.FINISH:
            return None
        self._reports[worker] = report
        if len(report.greatest):
            self._greatest[worker] = report.greatest
        if self._phase is Phase.RUN and report.is_capped:
            return self.stop()
        if len(self._reports) < self._workers:
            return None
        if self._phase is Phase.RUN:
            return self._weigh()
        return self._judge() if self._phase is Phase.SETTLE else self._judge_trial()

    def _settle(self, *, pulls: bool = False) -> Instruction:
        self._phase = Phase.SETTLE
        self._reports.clear()
        return Instruction(Phase.SETTLE, self._attempt, self._base, pulls=pulls)

    def _weigh(self) -> Instruction | None:
        """All parts have run for a while: settle where that may do, else aim."""
        reports = list(self._reports.values())
        sweeping = [report for report in reports if not report.is_idle]
        if not sweeping:
            return self._settle()
        norm = self._norm
        change = norm.joined(report.change for report in reports)
        mass = math.fsum(report.mass for report in reports)
        rate = _FIRST_RATE
        if self._last_change > 0.0:
            rate = min(norm.greatest_rate, change / self._last_change)
        predicted = change * rate
        if not norm.is_normalised and self._workers > 1:
            # A part that has not heard of the others since its last sweep moves nothing, however far it is.
            predicted = max(change, self._last_change)
        self._last_change = change
        self._sweeps += 1
        self._goal = self._wanted(mass)
        if predicted <= norm.allowed(self._careful * self._goal, self._factor, mass) or self._is_lost(mass):
            return self._settle()
        if self._is_watched:
            self._wants_trial = True
            return self._settle()
        # Those that have nothing to do say so once; what they said counts until they go on.
        self._reports = {worker: report for worker, report in self._reports.items() if report.is_idle}
        bases = math.fsum(report.bases for report in reports)
        # A part that does not sweep has the base with which it began, and totals that are only kept up.
        if norm.is_normalised and bases > 0.0 and len(sweeping) == len(reports):
            flow = math.fsum(report.flow for report in reports)
            self._base = (mass - self._factor * flow) / bases
        self._is_watched = norm.may_diverge and self._sweeps >= self._next_trial
        trial = Trial.WATCH if self._is_watched else Trial.NONE
        return Instruction(Phase.AIM, self._attempt, self._base, trial=trial)

    def _is_lost(self, mass: float) -> bool:
        """Whether sums have no room, and did not find any in so many sweeps."""
        return self._norm.is_normalised and self._sweeps > _MOST_LOST and not is_known(mass, self._factor)

    def _judge(self) -> Instruction:
        """All parts are settled: finish, or begin another attempt."""
        reports, norm = list(self._reports.values()), self._norm
        mass = math.fsum(report.mass for report in reports)
        if norm.is_normalised and math.fsum(report.bases for report in reports) == 0.0:
            # Nobody has anything, so there is nothing to divide: every value is 0, by definition.
            self._phase = Phase.FINISH
            return Instruction(Phase.FINISH, self._attempt, self._base, mass=math.inf, is_converged=True)
        found, rounding = norm.bound(reports, self._factor), norm.rounding(reports, self._factor)
        has_drifted = rounding > _DRIFT_SHARE * self._tolerance
        is_converged = found <= self._tolerance
        most = _MOST_ATTEMPTS if norm.is_normalised else _MOST_ATTEMPTS + self._sweeps  # slow ones need many
        is_stuck = self._attempt - self._early >= most or (
            # Sums are new from the first attempt that asked for it: what is left of rounding stays.
            self._attempt > 1 and has_drifted and found > 0.9 * self._last_bound
        )
        self._last_bound = found
        is_useless = has_drifted and rounding > _USELESS_SHARE * found and mass != 0.0
        if is_useless and not self._iterates and not self._ends and self._attempt == 0:
            self._attempt = 1
            return self._settle(pulls=True)
        is_ordered = self._least_gap(mass) > found
        is_at_rest = self._is_at_rest(reports)
        # Of sums that have drifted more than roundings are left, and new ones may be had; `is_stuck` ends that.
        is_over = is_at_rest and (self._tried_at_rest or (math.isfinite(found) and not has_drifted))
        is_over = is_over or self._is_diverged or not self._iterates or self._is_lost(mass)
        if is_converged or is_ordered or self._ends or is_stuck or is_over:
            self._phase = Phase.FINISH
            return Instruction(
                Phase.FINISH,
                self._attempt,
                self._base,
                mass=mass if norm.is_normalised else 1.0,
                bound=math.inf if self._is_diverged else found,
                is_converged=is_converged,
                is_diverged=self._is_diverged,
            )
        if (self._wants_trial or is_at_rest) and math.isinf(found):  # else there is a fixed point
            self._tried_at_rest = is_at_rest
            self._tried = _CANDIDATES[0]
            return self._try(self._tried)
        if self._wants_trial:
            self._put_trial_off()
        announcing = math.fsum(report.announcing for report in reports)
        # Sums that are mostly rounding aim nowhere; new ones will.
        if norm.is_normalised and announcing > 0.0 and not has_drifted:
            self._base -= math.fsum(report.signed for report in reports) / announcing
        degrees = max(1, sum(report.degrees for report in reports))
        # Where some were not idle it was too early, no more.
        is_early = self._was_interrupted or not all(report.is_idle for report in reports)
        self._was_interrupted = False
        self._early += is_early
        if self._attempt > 0 and found > self._goal and not is_early:
            self._careful = max(self._careful * 0.5, 0.0 if norm.is_normalised else _LEAST_CAREFUL)
        self._goal = self._wanted(mass)
        self._phase = Phase.RUN
        self._attempt += 1
        self._last_change = 0.0
        self._reports.clear()
        theta = norm.theta(norm.allowed(self._careful * self._goal, self._factor, mass), degrees)
        return Instruction(Phase.RUN, self._attempt, self._base, theta=theta, pulls=has_drifted)

    def _wanted(self, mass: float) -> float:
        """What the bound is to come to next."""
        return max(self._tolerance, min(self._least_gap(mass), self._last_bound / _CLOSER))

    def _least_gap(self, mass: float) -> float:
        """By how much the values differ at least that are to be ordered, as they were last said; 0 where none are, infinity of one."""
        if not self._top or not mass > 0.0:
            return 0.0
        # Divided as in answers, so that these have the very gaps that were judged here.
        divisor = mass if self._norm.is_normalised else 1.0
        values = np.sort(np.concatenate([np.empty(0), *self._greatest.values()]))[::-1] / divisor
        return float(np.min(gaps(values[: self._top + 1], self._norm.name), initial=math.inf))

    def _is_at_rest(self, reports: Sequence[Report]) -> bool:
        """Whether announcing moves nothing any more but roundings, where values are not normalised: they are exact, or capped."""
        norm = self._norm
        unrest, largest = (
            norm.joined(getattr(report, name) for report in reports) for name in ("unrest", "largest")
        )
        return not norm.is_normalised and unrest <= _AT_REST * largest

    # Trials

    def _put_trial_off(self) -> None:
        self._wants_trial = self._is_watched = False
        self._was_interrupted = True
        self._next_trial = 2 * max(self._sweeps, _FIRST_TRIAL)

    def _try(self, trial: Trial) -> Instruction:
        """Have all parts announce something else, and compare it with what comes back."""
        self._put_trial_off()
        self._phase = Phase.TRY
        self._attempt += 1
        self._steps = self._steps + 1 if trial in {Trial.MEAN, Trial.KEPT} else 0
        self._reports.clear()
        return Instruction(Phase.TRY, self._attempt, self._base, trial=trial)

    def _judge_trial(self) -> Instruction:
        """All parts have compared: that is a proof, or the same is tried with less, or something else is tried, or it is over."""
        kept = sum(report.kept for report in self._reports.values())
        lost = sum(report.lost for report in self._reports.values())
        self._is_diverged = kept > 0 and lost == 0
        if not self._is_diverged and not self._ends:
            means = min(self._sweeps, _MOST_MEANS) if self._tried is Trial.MOVED else 0
            if kept and self._steps < means + _MOST_LEFT_OUT:
                return self._try(Trial.MEAN if self._steps < means else Trial.KEPT)
            if self._tried is not _CANDIDATES[-1]:
                self._tried = _CANDIDATES[_CANDIDATES.index(self._tried) + 1]
                return self._try(self._tried)
        self._attempt += 1
        self._last_bound = math.inf
        return self._settle()  # with the values that were put aside
