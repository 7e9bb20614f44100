"""The lock of the order: what all workers must hear in one sequence is posted under it.

It is held for a moment by whoever admits or forks, and for as long as loops are being restored on other workers.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from ..errors import QueueFull


class AdmissionOrder:
    """A context manager for those who wait as long as it takes; see `until` for the others."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._lock.release()

    @contextmanager
    def until(self, instant_s: float | None) -> Iterator[None]:
        """Hold the order if it can be had before an instant of the monotonic clock; None waits as long as it takes.

        Raises
        ------
        QueueFull
            When it cannot.
        """
        timeout_s = -1 if instant_s is None else max(0.0, instant_s - time.monotonic())
        if not self._lock.acquire(timeout=timeout_s):
            raise QueueFull("loops are being restored on other workers; nothing was admitted")
        try:
            yield
        finally:
            self._lock.release()
