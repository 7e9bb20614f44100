"""The main loop of a toy program on one worker: applies records, says what has changed, lets branches be forked."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import cast

from tests.kinds.toy.branch_part import ToyBranch
from tests.kinds.toy.edges import OutEdges
from tests.kinds.toy.part import Said, ToyPart
from tornado.errors import NotSupported
from tornado.loops.forks import Forks
from tornado.loops.part import BranchPart, PartStatistics, StreamView, Traffic
from tornado.loops.share import Share

_RECORDS = 512  # applied in one activation


class ToyMain(ToyPart):
    """See the module and `MainPart`. It is its part of the stream too (`StreamView`), which it shares with no other loop."""

    def __init__(
        self,
        *,
        factor: float,
        worker: int,
        workers: int,
        on_applied: Callable[[int], None],
        stream: StreamView | None,
    ) -> None:
        if stream is not None:
            raise NotSupported("a toy program reads a stream of its own")
        super().__init__(factor=factor, worker=worker, workers=workers)
        self.edges = OutEdges()
        self.is_idle = True
        self._on_applied = on_applied
        self._sequence: deque[Share | ToyBranch] = deque()
        self._changed: dict[int, None] = {}  # targets, in the order of their records
        self._forks: Forks[Said] = Forks(self.operator, marker=self._marker, deliver=self.take)

    @property
    def stream(self) -> ToyMain:
        """See `MainPart`."""
        return self

    def statistics(self) -> PartStatistics:
        """See `PartView`."""
        return replace(
            self.progress(),
            pending=len(self._changed),
            vertices=len(self.values),
            edges=self.edges.count,
            missing_removals=self.edges.missing_removals,
        )

    def traffic(self) -> Traffic:
        """See `MainPartView`."""
        received = self.received  # first: what is received later shows as missing
        return Traffic(self.is_idle, received, self.sent)

    def free(self) -> None:
        """See `MainPart`."""
        self.values, self.heard, self.edges = {}, {}, OutEdges()
        self._sequence.clear()

    # The sequence

    def admit(self, share: Share) -> None:
        """See `StreamView`."""
        self._put(share)

    def command(self, branch: BranchPart) -> None:
        """See `MainPart`."""
        self._put(cast("ToyBranch", branch))

    def tidy(self) -> None:
        """See `StreamView`: there is nothing."""

    def _put(self, command: Share | ToyBranch) -> None:
        self.is_idle = False
        self._sequence.append(command)
        self.operator.activate()

    def step(self) -> None:
        """Take in what has come, go on in the sequence, and say what has changed."""
        self.operator.pull(self._pulled)
        self._obey()
        self._say_changes()
        self.is_idle = not self._sequence and not self._forks.is_holding
        if self._sequence:
            self.operator.activate()

    def _pulled(self, said: Said, timestamp: int) -> None:
        self.is_idle = False
        self._forks.take(said, timestamp)

    def _obey(self) -> None:
        left = _RECORDS
        while self._sequence and left > 0:
            command = self._sequence[0]
            if isinstance(command, ToyBranch):
                self._say_changes()  # before the marker, as it belongs to the cut
                command.record(self, self.edges)
                self._forks.record(command)
            else:
                left -= self._apply(command, left)
                if not command.is_applied:
                    return
            self._sequence.popleft()

    def _apply(self, share: Share, most: int) -> int:
        """Apply up to so many records of a share; return how many."""
        for vertex in share.mentioned.tolist():
            self.name(vertex)
        first, last = share.following, min(share.following + most, len(share.batch))
        for source, target, weight, operation in zip(
            *(column[first:last].tolist() for column in share.batch.columns().values()), strict=True
        ):
            self.name(source)
            if self.partition.owner_of(target) == self.worker:
                self.name(target)
            self.edges.apply(source, target, weight, operation)
            self._changed[target] = None
        share.following = last
        self._on_applied(last - first or share.records)  # those of a share of mentions alone are these
        return last - first

    def _say_changes(self) -> None:
        if self._changed:
            self.say({target: self.edges.sum_to(target) for target in self._changed})
            self._changed = {}

    # Branches

    def fork(
        self, *, number: int, arguments: tuple[object, ...], fresh: bool, max_iterations: int | None
    ) -> BranchPart:
        """See `MainPart`."""
        (factor,) = cast("tuple[float]", arguments)
        return ToyBranch(
            number=number,
            factor=factor,
            fresh=fresh,
            max_iterations=max_iterations,
            worker=self.worker,
            workers=self.workers,
        )

    def forget(self, branch: BranchPart) -> None:
        """See `MainPart`: a branch has copies of everything."""

    def take_back(self, reusable: object) -> None:
        """See `MainPart`: a branch leaves nothing."""

    def _marker(self, fork: int) -> Said:
        return Said(self.worker, marker=fork)
