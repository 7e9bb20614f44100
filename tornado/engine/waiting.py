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
        self._lock = threading.Lock()
        # By what is waited about: of that alone which somebody waits about.
        self._bells: dict[object, _Bell] = {}
        self._is_closed = False

    def wait_for(
        self, condition: Callable[[], bool], timeout_s: float | None, *, about: object = None
    ) -> bool:
        """Block until the condition holds; False when the time is over, or this was closed.

        Parameters
        ----------
        about
            What has to be notified about for the condition to be looked at again; None: anything.
        """
        until_s = after(self._clock, timeout_s)
        if condition():
            return True
        with self._lock:
            bell = self._bells.setdefault(about, _Bell())
            bell.waiting += 1
        try:
            while True:
                seen = bell.rung
                if condition():
                    return True
                now_s = self._clock.monotonic()
                if self._is_closed or (until_s is not None and now_s >= until_s):
                    return False
                look_s = now_s + _LOOK_S
                with bell.changed:
                    if bell.rung == seen:
                        self._clock.wait(bell.changed, look_s if until_s is None else min(look_s, until_s))
        finally:
            with self._lock:
                bell.waiting -= 1
                if not bell.waiting:
                    del self._bells[about]

    def notify(self, *about: object) -> None:
        """Have the conditions looked at again of who waits about one of these, or about anything; from any thread."""
        for each in (*about, None):
            bell = self._bells.get(each)
            if bell is not None:
                bell.ring()

    def close(self) -> None:
        """End every wait."""
        self._is_closed = True
        with self._lock:
            bells = list(self._bells.values())
        for bell in bells:
            bell.ring()


class _Bell:
    """How those are woken who wait about the same."""

    __slots__ = ("changed", "rung", "waiting")

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.rung = 0
        self.waiting = 0

    def ring(self) -> None:
        with self.changed:
            self.rung += 1
            self.changed.notify_all()
