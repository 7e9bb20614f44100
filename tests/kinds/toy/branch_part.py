"""A branch of a toy program on one worker: begins from copies of what the main loop recorded, and comes to an end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tests.kinds.toy.edges import OutEdges
from tests.kinds.toy.part import Said, ToyPart
from tornado.loops.loop_operator import NEVER
from tornado.loops.part import PartStatistics

_TARGETS = 16  # said in one iteration


class ToyBranch(ToyPart):
    """See the module, `BranchPart` and `ForkedPart`.

    With the parameters of the main loop it has nothing to do but take in what was under way. With others it begins anew, and
    says everything once more.
    """

    def __init__(
        self,
        *,
        number: int,
        factor: float,
        fresh: bool,
        max_iterations: int | None,
        worker: int,
        workers: int,
    ) -> None:
        super().__init__(factor=factor, worker=worker, workers=workers)
        self.number = number
        self.is_recorded = False
        self.is_started = False
        self.is_cancelled = False
        self.is_over_at_once = False
        self.first_iteration = 0
        self._fresh = fresh
        self._left = NEVER if max_iterations is None else max_iterations
        self._unsaid: list[tuple[int, float]] = []

    @property
    def findings(self) -> Mapping[str, float]:
        """See `BranchPartView`: nothing; the values are exact or not."""
        return {}

    @property
    def reusable(self) -> None:
        """See `BranchPartView`: nothing."""
        return

    @property
    def is_converged(self) -> bool:
        """See `BranchPartView`."""
        return not self._unsaid

    def statistics(self) -> PartStatistics:
        """See `PartView`."""
        return replace(self.progress(), pending=len(self._unsaid), vertices=len(self.values))

    def record(self, main: ToyPart, edges: OutEdges) -> None:
        """Copy what the main loop has, at this place of the sequence."""
        self.first_iteration = main.iteration
        if self._fresh:
            self.values = dict.fromkeys(main.values, 0.0)
            self._unsaid = list(edges.sums().items())
        else:
            self.iteration = main.iteration
            self.values = main.values.copy()
            self.heard = {target: by_sender.copy() for target, by_sender in main.heard.items()}
        self.is_recorded = True

    def keep(self, said: Said, timestamp: int) -> None:
        """See `ForkedPart`."""
        if not self._fresh:
            self.take(said, timestamp)

    def cut_is_complete(self, markers: tuple[Said, ...]) -> None:
        """See `ForkedPart`."""
        del markers
        self.is_started = True
        self.operator.activate()

    def step(self) -> None:
        """Take in what has come, and say a portion; without one give the token up, which is the end when all have."""
        if not self.is_started:
            return
        self.operator.pull(self.take)
        if self._unsaid and self._left > 0:
            said, self._unsaid = self._unsaid[:_TARGETS], self._unsaid[_TARGETS:]
            self._left -= 1
            self.say(dict(said))
            self.operator.activate()
        else:
            self.operator.move_token(NEVER, stays=False)

    def limit(self, iteration: int) -> None:
        """See `BranchPart`: one that begins anew counts from its own first iteration, others have none."""

    def stop(self) -> None:
        """See `BranchPart`: what was said arrives, nothing more is said."""
        self._left = 0
        self.operator.activate()

    def cancel(self) -> None:
        """See `BranchPart`."""
        self.is_cancelled = True

    def free(self) -> None:
        """See `BranchPartView`."""
        self.values, self.heard, self._unsaid = {}, {}, []
