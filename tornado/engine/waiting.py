"""Waiting for a condition that other threads bring about."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

_LOOK_S = 0.5


class Waiting:
    """Conditions are looked at without a lock, so they may ask other threads and take as long as they need."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._changes = 0
        self._waiting = 0
        self._is_closed = False

    def wait_for(self, condition: Callable[[], bool], timeout_s: float | None) -> bool:
        """Block until the condition holds; False when the time is over, or this was closed."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        self._count(1)
        try:
            while True:
                seen = self._changes
                if condition():
                    return True
                left = _LOOK_S if deadline is None else min(_LOOK_S, deadline - time.monotonic())
                if left <= 0 or self._is_closed:
                    return False
                with self._changed:
                    if self._changes == seen:
                        self._changed.wait(left)
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
