"""The lock of the order: what all workers must hear in one sequence is posted under it.

It is held for a moment by whoever admits or forks, and for as long as loops are being restored on other workers.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from ..clock import Clock, wait_until
from ..errors import QueueFull


class AdmissionOrder:
    """A context manager for those who wait as long as it takes; see `until` for the others."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._changed = threading.Condition(threading.Lock())
        self._is_held = False

    def __enter__(self) -> None:
        self._take(None)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._release()

    @contextmanager
    def until(self, instant_s: float | None) -> Iterator[None]:
        """Hold the order if it can be had before an instant of the clock; None waits as long as it takes.

        Raises
        ------
        QueueFull
            When it cannot.
        """
        if not self._take(instant_s):
            raise QueueFull("loops are being restored on other workers; nothing was admitted")
        try:
            yield
        finally:
            self._release()

    def _take(self, until_s: float | None) -> bool:
        with self._changed:
            if not wait_until(self._clock, self._changed, lambda: not self._is_held, until_s):
                return False
            self._is_held = True
            return True

    def _release(self) -> None:
        with self._changed:
            self._is_held = False
            self._changed.notify()
