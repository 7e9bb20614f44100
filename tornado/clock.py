"""What time it is, for whoever decides by it: handed down from where a session is put together, so that time can be simulated.

`monotonic` only grows: deadlines, intervals and ages are counted in it. `now` is an instant of the calendar, for people and for
what outlives the process. Waiting until an instant goes through the clock as well, since time that stands still must not run
out for whoever waits.

Left out on purpose: measuring what nobody decides by (progress on a terminal, benchmarks), and time that belongs to others:
sockets, event loops, and processes that begin or end. `tests/test_clock.py` lists who looks at the machine's time nevertheless.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from threading import TIMEOUT_MAX, Condition, Lock
from typing import Protocol

from .errors import InvalidArgument

_BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)
_LOOK_S = 0.5


class Clock(Protocol):
    """Where time is read and waited for."""

    def monotonic(self) -> float:
        """Return seconds that only grow, counted from anywhere."""
        ...

    def now(self) -> datetime:
        """Return the instant of the calendar, aware and in UTC."""
        ...

    def wait(self, changed: Condition, until_s: float | None) -> None:
        """Wait for a condition, which is held, to be notified, or for an instant of `monotonic`; may come back before either."""
        ...


class SystemClock:
    """The machine's time."""

    def monotonic(self) -> float:
        """See `Clock.monotonic`."""
        return time.monotonic()

    def now(self) -> datetime:
        """See `Clock.now`."""
        return datetime.now(UTC)

    def wait(self, changed: Condition, until_s: float | None) -> None:
        """See `Clock.wait`."""
        if until_s is None:
            changed.wait()
        else:
            changed.wait(min(max(0.0, until_s - time.monotonic()), TIMEOUT_MAX))


SYSTEM_CLOCK = SystemClock()


class ManualClock:
    """Time that stands still until somebody advances it: for tests, and for simulations.

    Examples
    --------
    >>> clock = ManualClock()
    >>> began_s = clock.monotonic()
    >>> clock.advance(90)
    >>> clock.monotonic() - began_s, clock.now().isoformat()
    (90.0, '2000-01-01T00:01:30+00:00')
    """

    def __init__(self, beginning: datetime = _BEGINNING) -> None:
        self._beginning = beginning
        self._elapsed_s = 0.0
        self._lock = Lock()
        self._waiting: list[Condition] = []

    def monotonic(self) -> float:
        """See `Clock.monotonic`."""
        return self._elapsed_s

    def now(self) -> datetime:
        """See `Clock.now`."""
        return self._beginning + timedelta(seconds=self._elapsed_s)

    def wait(self, changed: Condition, until_s: float | None) -> None:
        """See `Clock.wait`. Comes back now and then, for those who look at what nobody notifies them of."""
        with self._lock:
            if until_s is not None and self._elapsed_s >= until_s:
                return
            self._waiting.append(changed)
        try:
            changed.wait(_LOOK_S)
        finally:
            with self._lock:
                self._waiting.remove(changed)

    def waiting(self) -> int:
        """Return how many threads wait."""
        with self._lock:
            return len(self._waiting)

    def advance(self, seconds: float) -> None:
        """Let time pass, and wake whoever waits.

        Raises
        ------
        InvalidArgument
            When it would go back.
        """
        if seconds < 0:
            raise InvalidArgument(f"time is to advance by {seconds} s, but only grows")
        with self._lock:
            self._elapsed_s += seconds
            waiting = list(self._waiting)
        # Who has entered itself holds its condition until it waits, so nobody misses this.
        for changed in waiting:
            with changed:
                changed.notify_all()


def wait_until(clock: Clock, changed: Condition, holds: Callable[[], bool], until_s: float | None) -> bool:
    """Wait until something holds, of which a condition is notified; return whether it does, or the instant came first.

    Parameters
    ----------
    changed
        Held by the caller.
    until_s
        Of `clock.monotonic`; None waits as long as it takes.
    """
    while not holds():
        if until_s is not None and clock.monotonic() >= until_s:
            return False
        clock.wait(changed, until_s)
    return True


def after(clock: Clock, timeout_s: float | None) -> float | None:
    """Return the instant that is so many seconds away; None is never."""
    return None if timeout_s is None else clock.monotonic() + timeout_s
