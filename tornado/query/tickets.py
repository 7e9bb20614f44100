"""Tickets: what a page hands over where it cannot send a header, which is in the address of an `EventSource`.

An address ends up in histories and logs, so what is in it must be worth nothing soon: a ticket stands for the token that asked for
it, is taken once, and only within `VALID_S`.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from threading import Lock
from typing import Final, Generic, TypeVar

from ..clock import Clock

VALID_S: Final = 30.0
_MOST: Final = 10_000

T = TypeVar("T")


class Tickets(Generic[T]):
    """Tickets that were given out and not taken yet.

    Parameters
    ----------
    clock : Clock
        What they run out by.
    """

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._given: OrderedDict[str, tuple[float, T]] = OrderedDict()
        self._lock = Lock()

    def give(self, holder: T) -> str:
        """Return a new ticket for a holder; the oldest of very many is worth nothing any more."""
        ticket = secrets.token_urlsafe(24)
        now_s = self._clock.monotonic()
        with self._lock:
            while self._given and (len(self._given) >= _MOST or next(iter(self._given.values()))[0] <= now_s):
                self._given.popitem(last=False)
            self._given[ticket] = (now_s + VALID_S, holder)
        return ticket

    def take(self, ticket: str) -> T | None:
        """Return whose ticket it is, once; None where it is unknown, taken or too old."""
        with self._lock:
            until_s, holder = self._given.pop(ticket, (0.0, None))
        return holder if holder is not None and self._clock.monotonic() < until_s else None
