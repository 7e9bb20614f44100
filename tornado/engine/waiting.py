"""Waiting for a condition that other threads bring about, and how long a worker waits for the others."""

from __future__ import annotations

import threading
from collections.abc import Callable

from ..clock import Clock, after
from .engine_contract import Host

_LOOK_S = 0.5


class WaitedFor:
    """Lets a worker wait, and counts for how long it did although something was not done there; one worker's, on its thread.

    Attributes
    ----------
    seconds
        How long, so far; to be read from any thread.
    """

    def __init__(self, clock: Clock) -> None:
        self.seconds = 0.0
        self._clock = clock

    def wait(self, host: Host, timeout_s: float) -> bool:
        """See `Host.wait`."""
        if not host.is_waiting():  # before, so that whoever is woken goes on at once
            return host.wait(timeout_s)
        began_s = self._clock.monotonic()
        came = host.wait(timeout_s)
        self.seconds += self._clock.monotonic() - began_s
        return came


class Waiting:
    """Conditions are looked at without a lock, so they may ask other threads and take as long as they need."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._changed = threading.Condition()
        self._changes = 0
        self._waiting = 0
        self._is_closed = False

    def wait_for(self, condition: Callable[[], bool], timeout_s: float | None) -> bool:
        """Block until the condition holds; False when the time is over, or this was closed."""
        until_s = after(self._clock, timeout_s)
        self._count(1)
        try:
            while True:
                seen = self._changes
                if condition():
                    return True
                now_s = self._clock.monotonic()
                if self._is_closed or (until_s is not None and now_s >= until_s):
                    return False
                look_s = now_s + _LOOK_S
                with self._changed:
                    if self._changes == seen:
                        self._clock.wait(self._changed, look_s if until_s is None else min(look_s, until_s))
        finally:
            self._count(-1)

    def notify(self) -> None:
        """Have the conditions looked at again; from any thread."""
        self._changes += 1  # may count two as one, which is enough for who has seen neither
        if self._waiting:
            with self._changed:
                self._changed.notify_all()

    def close(self) -> None:
        """End every wait."""
        self._is_closed = True
        self.notify()

    def _count(self, difference: int) -> None:
        with self._changed:
            self._waiting += difference
