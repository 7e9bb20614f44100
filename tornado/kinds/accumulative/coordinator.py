"""Who decides, for all parts of a branch, when there is a certificate, and what is to be done until then.

A branch goes through *attempts*. In each of them its parts first RUN: they announce, as far ahead of each other as the delay bound
allows, and report. Then they SETTLE: nobody announces, each part sends SETTLED on every channel behind what it announced, and takes its
totals when it has that of all others. So the totals are of one state in which all that was announced is heard, and they are
exact. If their bound is small enough, that is the end (FINISH, with the sum that answers are divided by); else another attempt begins, with
a base at which the residuals would sum to nothing and a threshold that would do.

A branch that is to *certify* what the main loop has makes no attempt: its parts settle at once, and the first totals are the end. Only
where these are mostly rounding are sums made anew before, for what is announced as it is.

A branch of which only the *order of the greatest* values is wanted ends when that is certain: when each of them is further from the
next one than the bound (two values that differ by more cannot both be so wrong). So it settles when the bound is thought to
have come below the least of these gaps, as the last sweep has left them. Where values are closer than the tolerance, it
comes to that.

Nothing that is only predicted comes into the bound: reports of running parts say when it is worth while to settle, and where to aim.
Here are decisions only; `AccumulativeBranch` carries them out. Worker 0 has the coordinator.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .bound import bound_of
from .bundle import Instruction, Phase, Report

_MOST_ATTEMPTS = 1000
_FIRST_RATE = 0.3  # of what a sweep moved, what the next one is thought to move
_LEAST_RATE = 0.5
_CAREFUL = (
    0.7  # of what is allowed, in what is predicted; halved with each attempt in which that was too little
)
_DRIFT_SHARE = 0.25  # of the tolerance, that sums may have drifted before they are pulled anew
_CLOSER = 2.0  # how many times smaller than the last bound one is to be at least, to try again
_USELESS_SHARE = 0.5  # of a bound, that rounding may be before sums are made anew for its sake alone


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
    iterates
        Whether anything may be announced for a smaller bound.
    top
        How many of the greatest values are to be in an order that is certain; 0: it is not asked for.
    """

    def __init__(
        self, *, workers: int, tolerance: float, factor: float, iterates: bool = True, top: int = 0
    ) -> None:
        self._workers = workers
        self._tolerance = tolerance
        self._factor = factor
        self._iterates = iterates
        self._top = top
        self._greatest: dict[int, NDArray[np.float64]] = {}  # as each part has said last
        self._goal = tolerance  # what the bound of the attempt is to come to
        self._phase = Phase.SETTLE  # what all parts begin with
        self._attempt = 0
        self._base = 1.0
        self._ends = False
        self._last_change = 0.0
        self._careful = _CAREFUL
        self._reports: dict[int, Report] = {}
        self._last_bound = math.inf

    def stop(self) -> Instruction | None:
        """Come to an end with whatever bound there is; return what all parts are told."""
        self._ends = True
        return self._settle() if self._phase is Phase.RUN else None

    def hear(self, worker: int, report: Report) -> Instruction | None:
        """Take in what a part reports; return what all parts are told, if anything."""
        if report.attempt != self._attempt or report.is_settled != (self._phase is Phase.SETTLE):
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
        return self._judge() if self._phase is Phase.SETTLE else self._weigh()

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
        change = math.fsum(report.change for report in reports)
        mass = math.fsum(report.mass for report in reports)
        rate = min(_LEAST_RATE, change / self._last_change) if self._last_change > 0.0 else _FIRST_RATE
        self._last_change = change
        self._goal = self._wanted(mass)
        if change * rate <= self._careful * self._goal * (1.0 - self._factor) * mass:
            return self._settle()
        # Those that have nothing to do say so once; what they said counts until they go on.
        self._reports = {worker: report for worker, report in self._reports.items() if report.is_idle}
        bases = math.fsum(report.bases for report in reports)
        # A part that does not sweep has the base with which it began, and totals that are only kept up.
        if bases > 0.0 and len(sweeping) == len(reports):
            flow = math.fsum(report.flow for report in reports)
            self._base = (mass - self._factor * flow) / bases
        return Instruction(Phase.AIM, self._attempt, self._base)

    def _judge(self) -> Instruction:
        """All parts are settled: finish, or begin another attempt."""
        reports = list(self._reports.values())
        mass = math.fsum(report.mass for report in reports)
        signed = math.fsum(report.signed for report in reports)
        drift = math.fsum(report.drift for report in reports)
        vertices = sum(report.vertices for report in reports)

        def bound(absolute: float, signed: float, drift: float) -> float:
            return bound_of(
                absolute=absolute,
                signed=signed,
                mass=mass,
                drift=drift,
                vertices=vertices,
                factor=self._factor,
            )

        if math.fsum(report.bases for report in reports) == 0.0:
            # Nobody has anything, so there is nothing to divide: every value is 0, by definition.
            self._phase = Phase.FINISH
            return Instruction(Phase.FINISH, self._attempt, self._base, mass=math.inf, is_converged=True)
        found = bound(math.fsum(report.absolute for report in reports), signed, drift)
        rounding = bound(0.0, 0.0, drift)
        has_drifted = rounding > _DRIFT_SHARE * self._tolerance
        is_converged = found <= self._tolerance
        is_stuck = self._attempt >= _MOST_ATTEMPTS or (
            # Sums are new from the first attempt that asked for it: what is left of rounding stays.
            self._attempt > 1 and has_drifted and found > 0.9 * self._last_bound
        )
        self._last_bound = found
        is_useless = has_drifted and rounding > _USELESS_SHARE * found and mass != 0.0
        if is_useless and not self._iterates and not self._ends and self._attempt == 0:
            self._attempt = 1
            return self._settle(pulls=True)
        is_ordered = self._least_gap(mass) > found
        if is_converged or is_ordered or self._ends or is_stuck or not self._iterates:
            self._phase = Phase.FINISH
            return Instruction(
                Phase.FINISH, self._attempt, self._base, mass=mass, bound=found, is_converged=is_converged
            )
        announcing = math.fsum(report.announcing for report in reports)
        if announcing > 0.0 and not has_drifted:  # sums that are mostly rounding aim nowhere; new ones will
            self._base -= signed / announcing
        degrees = max(1, sum(report.degrees for report in reports))
        # Where some were not idle it was too early, no more.
        if self._attempt > 0 and found > self._goal and all(report.is_idle for report in reports):
            self._careful *= 0.5
        self._goal = self._wanted(mass)
        self._phase = Phase.RUN
        self._attempt += 1
        self._last_change = 0.0
        self._reports.clear()
        # Twice that, times all degrees, is the most that the residuals come to; a part of it is for what is neglected.
        theta = self._careful * self._goal * (1.0 - self._factor) * mass / (2.0 * degrees)
        return Instruction(Phase.RUN, self._attempt, self._base, theta=theta, pulls=has_drifted)

    def _wanted(self, mass: float) -> float:
        """What the bound is to come to next."""
        return max(self._tolerance, min(self._least_gap(mass), self._last_bound / _CLOSER))

    def _least_gap(self, mass: float) -> float:
        """By how much the values differ at least that are to be ordered, as they were last said; 0 where none are, infinity of one."""
        if not self._top or not mass > 0.0:
            return 0.0
        # Divided as in answers, so that these have the very gaps that were judged here.
        values = np.sort(np.concatenate([np.empty(0), *self._greatest.values()]))[::-1] / mass
        return float(np.min(-np.diff(values[: self._top + 1]), initial=math.inf))
