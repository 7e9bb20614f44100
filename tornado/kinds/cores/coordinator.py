"""When do estimates fall, and when do they rise? One part, that of worker 0, says it to all; each reports when it has nothing left to do.

A phase is over when all parts have reported, and each channel's receiver has taken in as many bundles as its sender says to have
sent. What a part has taken in before its report was then sent before its sender's, so the reports are a consistent cut with nothing under
way (Mattern 1989, by channel). Waves and falling alternate until nobody is marked: within a wave nobody falls, so none falls since
it has not heard yet who else rose, and a vertex rises at most once; so a wave ends, and each one but the last leaves somebody higher.

A main loop rests then, until a part reports marks. A branch is finished.
"""

from __future__ import annotations

from collections.abc import Sequence

from .bundle import PhaseOrder, PhaseReport
from .loop_columns import FINISH, LOWER, RAISE_ALL, REST, WAVE

_MARKED_SHARE = 8  # with one in so many vertices marked all are raised
# So many times the edges, visited by waves that follow each other, and all are raised after all: about what that costs.
_MOST_VISITS = 16


class PhaseCoordinator:
    """See the module.

    Parameters
    ----------
    workers
        How many there are.
    rests
        Whether more may come when all is done.

    Attributes
    ----------
    instruction
        The newest one.
    """

    def __init__(self, *, workers: int, rests: bool) -> None:
        self.instruction = PhaseOrder(0, REST if rests else LOWER)
        self._workers = workers
        self._rests = rests
        self._reports: dict[int, PhaseReport] = {}
        self._visits_before: int | None = None  # the first of the waves that follow each other

    def hear(self, worker: int, report: PhaseReport) -> PhaseOrder | None:
        """Take in a report; return what all parts are to be told, if anything."""
        phase = self.instruction.phase
        if report.number != self.instruction.number or phase == FINISH:
            return None
        self._reports[worker] = report
        if report.is_capped:
            return self._tell(FINISH)
        if phase == REST:
            return self._tell(LOWER)
        reports = [self._reports[each] for each in sorted(self._reports)]
        if len(reports) < self._workers or _is_something_under_way(reports):
            return None
        if phase in (WAVE, RAISE_ALL):
            return self._tell(LOWER)
        following = self._phase_after_falling(reports)
        return self._tell(following, is_converged=following == FINISH)

    def stop(self) -> PhaseOrder | None:
        """Have all parts finish, wherever they are."""
        return None if self.instruction.phase == FINISH else self._tell(FINISH)

    def _phase_after_falling(self, reports: Sequence[PhaseReport]) -> int:
        marks = sum(report.marks for report in reports)
        if any(report.needs_all for report in reports):
            return RAISE_ALL
        if not marks:
            self._visits_before = None
            return REST if self._rests else FINISH
        visits = sum(report.visits for report in reports)
        if self._visits_before is None:
            self._visits_before = visits
        waves_cost = visits - self._visits_before
        if marks * _MARKED_SHARE > sum(report.vertices for report in reports):
            return RAISE_ALL
        return RAISE_ALL if waves_cost > _MOST_VISITS * sum(report.edges for report in reports) else WAVE

    def _tell(self, phase: int, *, is_converged: bool = False) -> PhaseOrder:
        if phase == RAISE_ALL:
            self._visits_before = None
        self.instruction = PhaseOrder(self.instruction.number + 1, phase, is_converged)
        self._reports.clear()
        return self.instruction


def _is_something_under_way(reports: Sequence[PhaseReport]) -> bool:
    """Whether somebody has sent more than was taken in; reports are by worker."""
    return any(
        sender.sent[target] != receiver.received[source]
        for source, sender in enumerate(reports)
        for target, receiver in enumerate(reports)
        if source != target
    )
