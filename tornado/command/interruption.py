"""Ctrl-C and SIGTERM: the first asks for a clean end, the second ends at once. SIGHUP asks to read again what may have changed.

A handler that raised wherever the program happens to be could leave a store half closed, so the first signal only sets a
flag, which the command looks at between its steps. Guarantees: a command that looked away for longer than `GRACE_S`
(a compiler at work, a disk that hangs) ends all the same.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from types import FrameType, TracebackType
from typing import Any, Self

from .presentation import ExitCode

GRACE_S = 15.0
# `timeout -s INT` signals the process and then its group: the same wish, microseconds apart, and no second one.
_SAME_WISH_S = 0.2
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interruption:
    """Whether the user asked us to stop. A context manager; use it in the main thread.

    Examples
    --------
    >>> with Interruption() as interruption:
    ...     interruption.wait(0.0)
    False
    """

    def __init__(self) -> None:
        self._is_requested = False
        self._requested_s = 0.0
        # No event: `wait` may hold its lock when the handler is called, in the same thread.
        self._wish: SimpleQueue[None] = SimpleQueue()
        self._previous: dict[signal.Signals, Any] = {}
        self._watchdog: threading.Timer | None = None

    def __enter__(self) -> Self:
        for number in _SIGNALS:
            self._previous[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        if self._watchdog is not None:
            self._watchdog.cancel()

    def requested(self) -> bool:
        """Return whether a first signal has come."""
        return self._is_requested

    def wait(self, timeout_s: float) -> bool:
        """Sleep for at most `timeout_s`; return whether a signal has come."""
        if not self._is_requested:
            with suppress(Empty):
                self._wish.get(timeout=max(0.0, timeout_s))
        return self._is_requested

    def check(self) -> None:
        """Raise KeyboardInterrupt when a signal has come, so that `with` blocks are left in order."""
        if self._is_requested:
            raise KeyboardInterrupt

    def on_hangup(self, reload: Callable[[], None]) -> None:
        """Call this at each SIGHUP, on a thread of its own, in place of ending: the wish to read something again."""
        self._previous[signal.SIGHUP] = signal.signal(
            signal.SIGHUP, lambda *_: threading.Thread(target=reload, daemon=True).start()
        )

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        now_s = time.monotonic()
        if self._is_requested:
            if now_s - self._requested_s > _SAME_WISH_S:
                _end_at_once()
            return
        # From the question to this no call is made, amid which another signal would be handled.
        self._requested_s = now_s
        self._is_requested = True
        self._wish.put(None)
        self._watchdog = threading.Timer(GRACE_S, _end_at_once)
        self._watchdog.daemon = True
        self._watchdog.start()
        # Of two signals that are there at once the second is handled only now.
        self._requested_s = time.monotonic()


def _end_at_once() -> None:
    # Not sys.exit: other threads may hold the interpreter up, and the user has asked twice.
    os._exit(ExitCode.INTERRUPTED)
