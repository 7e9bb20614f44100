"""Notifications: be told when a time is complete, as a library on tokens.

An operator that must see everything up to a time before it acts asks to be notified (Naiad, section 2.2 and 2.3). A request has
two times that are often, but need not be, the same. The *guarantee* time t says what must be over: no message at t or before
can still come. The *capability* time, that of the token kept with the request, says at which time the operator may then still
send. A request without a token holds nothing up, and suits the freeing of state.

Guaranteed: never early; in an order that respects the order of times, also for requests made while others are handled. The
system knows nothing of this: a notification is a token kept until a frontier has passed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush

from ..errors import TokenMisuse
from .operator import InputPort
from .order import Time
from .token import Token


class Notificator:
    """The requests of one operator.

    Parameters
    ----------
    inputs : sequence of InputPort
        All of them must be past a time before it is announced.
    """

    __slots__ = ("_asked", "_inputs", "_pending", "_ready")

    def __init__(self, inputs: Sequence[InputPort]) -> None:
        self._inputs = tuple(inputs)
        self._asked = 0
        self._pending: list[tuple[Time, int, Token | None]] = []
        # Tuples compare lexicographically, which extends every order there is: a heap hands them out in order.
        self._ready: list[tuple[Time, int, Token | None]] = []

    def notify_at(self, guarantee: Time, token: Token | None = None) -> None:
        """Ask to be told when no message at `guarantee` or before can come any more.

        Parameters
        ----------
        guarantee : tuple of int
            The time that must be over.
        token : Token, optional
            What to send with then; the notificator keeps it until it hands it back. Its time must be the guarantee or later:
            an earlier one could, through a loop, hold up the very notification it waits for.

        Raises
        ------
        TokenMisuse
            When the token is earlier than the guarantee, or was dropped.
        InvalidArgument
            When the guarantee is no time of the inputs.
        """
        for port in self._inputs:
            guarantee = port.order.as_time(guarantee, port.name)
        if token is not None:
            output = token.output
            if output is None or not output.order.less_equal(guarantee, token.time):
                raise TokenMisuse(
                    f"a notification at {guarantee} cannot keep {token!r}, which is dropped or earlier"
                )
        self._asked += 1
        request = (guarantee, self._asked, token)
        if self._is_over(guarantee):
            heappush(self._ready, request)
        else:
            self._pending.append(request)

    def ready(self) -> Iterator[tuple[Time, Token | None]]:
        """Hand out the requests whose time is over, in order, with their tokens: the caller's to use and drop."""
        waiting = []
        for request in self._pending:
            if self._is_over(request[0]):
                heappush(self._ready, request)
            else:
                waiting.append(request)
        self._pending = waiting
        while self._ready:
            guarantee, _, token = heappop(self._ready)
            yield guarantee, token

    def __len__(self) -> int:
        return len(self._pending) + len(self._ready)

    def _is_over(self, time: Time) -> bool:
        return not any(port.may_receive(time) for port in self._inputs)
