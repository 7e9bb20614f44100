"""What is known of writes to a log: why the newest one failed, and whether the one under way takes longer than it should."""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import TracebackType
from typing import Final

from ..clock import Clock
from ..errors import StoreError, StoreUnreachable

SLOW_S: Final = 10.0
"""So long a write may take; a server that is gone is known earlier, so one that takes longer is frozen, or its disk is."""


class LogWatch(AbstractContextManager[None]):
    """A context for each write, one at a time.

    Examples
    --------
    >>> from tornado.clock import ManualClock
    >>> clock = ManualClock()
    >>> watch = LogWatch(clock)
    >>> with watch:
    ...     clock.advance(12)
    ...     print(str(watch.fault).partition(".")[0])
    a write of the log has taken 12 s so far, and is not done
    >>> watch.fault is None
    True
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began_s: float | None = None
        self._failure: StoreError | None = None

    @property
    def fault(self) -> StoreError | None:
        """Why nothing is logged at present, as far as is known; from any thread."""
        began_s = self._began_s
        if began_s is not None and (took_s := self._clock.monotonic() - began_s) > SLOW_S:
            return StoreUnreachable(
                f"a write of the log has taken {took_s:.0f} s so far, and is not done",
                hint="Look whether the server of the store, or its disk, is frozen.",
            )
        return self._failure

    def __enter__(self) -> None:
        self._began_s = self._clock.monotonic()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._began_s = None
        if error is None or isinstance(error, StoreError):
            self._failure = error
