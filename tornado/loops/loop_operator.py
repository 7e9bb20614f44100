"""One worker's part of a loop as an operator of the timely core: an inlet, an outlet that feeds back to it, and one token.

The loop context adds one to the timestamp each time round. The token is at the least timestamp at which this worker may still do
something; what single updates need lives inside the payloads, each of which is stamped with the least of it ("Fine-grained
timestamps", Timestamp tokens, section 6.2). So coordination costs per payload, and who wants to know how far the loop is asks
the frontier. What a timestamp means to a program, when the token moves on and when the operator is called again is left to the
kinds of programs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, TypeVar

import numpy as np

from ..errors import ProtocolViolation
from ..timely import (
    Antichain,
    Context,
    InputPort,
    OperatorBuilder,
    OutputPort,
    Routed,
    Scope,
    Time,
    Token,
    Wake,
)

P = TypeVar("P")

NEVER: Final = int(np.iinfo(np.int64).max)
"""The timestamp of what nothing waits for; also an iteration."""


class LoopOperator(Generic[P]):
    """See the module. All of it belongs to the worker's thread.

    Parameters
    ----------
    worker, workers
        Which worker, of how many.

    Attributes
    ----------
    token
        Its one token; dropped where no more work is to come of this worker, until something arrives.
    outlet
        Where payloads leave.
    """

    token: Token
    outlet: OutputPort
    _inlet: InputPort
    _context: Context

    def __init__(self, worker: int, workers: int) -> None:
        self.worker = worker
        self.workers = workers
        self.activate: Callable[[], None] = _called_when_built
        """Be called again in the worker's next step."""

    def build(self, scope: Scope, step: Callable[[], None], *, follows: bool = True) -> None:
        """Put the operator into a loop context of a new dataflow.

        Parameters
        ----------
        step
            One activation of it.
        follows
            Whether it is called when others are further, and not only when they send something: then they tell each other less often.
        """
        scope.dataflow.lags = not follows
        loop = scope.loop("iterations", lexicographic=True)
        again = loop.feedback()
        builder = OperatorBuilder(loop, "processor")
        self._inlet = builder.input(again.stream, Routed())
        self.outlet, stream = builder.output()
        again.connect(stream)

        def construct(tokens: list[Token], context: Context) -> Callable[[], None]:
            self.token = tokens[0]
            self._context, self.activate = context, context.activate
            return step

        builder.build(construct, wake=Wake.POINTSTAMPS if follows and self.workers > 1 else Wake.MESSAGES)

    @property
    def timestamp(self) -> int:
        """Of the token; the last one, if it was dropped."""
        return self.token.time[1]

    # Payloads

    def pull(self, take: Callable[[P, int], None]) -> None:
        """Have every payload that has come taken in, with its timestamp; the token goes back where one needs it to."""
        for received, payload in self._inlet.pull():
            if not self.token.is_live:
                self.token = received.retain()
            elif received.time < self.token.time:
                earlier = received.retain()
                self.token.drop()
                self.token = earlier
            take(payload, received.time[1])

    def send(self, target: int, payload: P, timestamp: int | None = None) -> None:
        """Send a payload to a worker.

        Parameters
        ----------
        target
            The worker.
        payload
            Its own from now on.
        timestamp
            Of the sending, one below that of the arrival; None: it does not matter.

        Raises
        ------
        ProtocolViolation
            When it is before the token's.
        """
        generation, now = self.token.time
        if timestamp is None or timestamp == now:
            self.outlet.send(self.token, payload, target=target)
            return
        if timestamp < now:
            raise ProtocolViolation(
                f"worker {self.worker} would send {payload} at timestamp {timestamp}, and its token is at {now}"
            )
        token = self.token.delayed((generation, timestamp))
        self.outlet.send(token, payload, target=target)
        token.drop()

    def send_to_others(self, payload: P) -> None:
        """Send the same payload to all other workers, at any timestamp."""
        for target in range(self.workers):
            if target != self.worker:
                self.send(target, payload)

    # How far the others are

    def sending(self) -> int:
        """The least timestamp at which something else than this operator's token may still send; NEVER without."""
        return self._least(self._context.output_frontier_excluding)

    def arriving(self) -> int:
        """The least timestamp at which something may still arrive that this operator's token is not the cause of; NEVER without."""
        return self._least(self._context.input_frontier_excluding)

    def _least(self, frontier_excluding: Callable[[list[Token]], Time | Antichain | None]) -> int:
        if self.workers == 1:
            return NEVER
        return _timestamp_of(frontier_excluding([self.token] if self.token.is_live else []))

    # The token

    def move_token(self, least: int, *, stays: bool) -> bool:
        """Downgrade the token to the least timestamp that there is work at.

        Parameters
        ----------
        least
            NEVER without work.
        stays
            More can come at any time: without work the token follows the other workers, so as not to hold them back. One that
            need not stay is dropped then.

        Returns
        -------
        bool
            Whether it moved or was dropped.
        """
        if not self.token.is_live:
            return False
        if least == NEVER:
            if not stays:
                self.token.drop()
                return True
            if self.workers > 1:
                least = _timestamp_of(self._context.output_frontier_beside(self.token))
        generation, now = self.token.time
        if least == NEVER or least <= now:
            return False
        self.token.downgrade((generation, least))
        return True


def _called_when_built() -> None:
    """What there is to do for a loop that is not built yet: every operator is called once in the first step."""


def _timestamp_of(frontier: Time | Antichain | None) -> int:
    """The timestamp of a frontier of a loop, whose times are in total order."""
    if frontier is None:
        return NEVER
    assert isinstance(frontier, tuple)
    return frontier[1]
