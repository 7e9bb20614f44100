"""The lock of the order: what all workers must hear in one sequence is posted under it.

It is held for a moment by whoever admits or forks, and for as long as loops are being restored on other workers.
"""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from types import TracebackType

from ..clock import Clock, wait_until
from ..errors import QueueFull


class AdmissionOrder:
    """A context manager for those who wait as long as it takes; see `until` for the others.

    Whoever finds it free takes a lock and gives it back, and does nothing else: every admission does. Only who has to wait asks
    the clock, and only where somebody waits is anybody notified.
    """

    __slots__ = ("_changed", "_clock", "_held", "_waiting")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._held = threading.Lock()  # the order itself
        self._changed = threading.Condition(threading.Lock())  # of which those are notified who wait for it
        self._waiting = 0  # how many do, under `_changed`

    def __enter__(self) -> None:
        if not self._held.acquire(blocking=False):
            self._wait(None)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # Who waits is counted before it looks once more, so either it finds the order free or it is seen here.
        self._held.release()
        if self._waiting:
            with self._changed:
                self._changed.notify()

    def until(self, instant_s: float | None) -> AbstractContextManager[None]:
        """Hold the order if it can be had before an instant of the clock; None waits as long as it takes.

        Raises
        ------
        QueueFull
            When the context is entered and it cannot.
        """
        return self if instant_s is None else _Until(self, instant_s)

    def _wait(self, until_s: float | None) -> bool:
        with self._changed:
            self._waiting += 1
            try:
                return wait_until(
                    self._clock, self._changed, lambda: self._held.acquire(blocking=False), until_s
                )
            finally:
                self._waiting -= 1


class _Until(AbstractContextManager[None]):
    """See `AdmissionOrder.until`."""

    __slots__ = ("_instant_s", "_order")

    def __init__(self, order: AdmissionOrder, instant_s: float) -> None:
        self._order = order
        self._instant_s = instant_s

    def __enter__(self) -> None:
        order = self._order
        if not order._held.acquire(blocking=False) and not order._wait(self._instant_s):  # noqa: SLF001
            raise QueueFull("loops are being restored on other workers; nothing was admitted")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._order.__exit__(kind, error, traceback)
