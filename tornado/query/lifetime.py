"""How long questions are taken: from when a service is made until it is closed."""

from __future__ import annotations

from threading import Condition

from ..clock import Clock, wait_until
from ..errors import ConnectionLost


class Lifetime:
    """See the module; begins when it is made."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._is_over = False

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self._is_over

    def end(self) -> bool:
        """End it, and wake who waits; return whether it had not ended before."""
        with self._changed:
            was_over, self._is_over = self._is_over, True
            self._changed.notify_all()
        return not was_over

    def wait(self, clock: Clock, timeout_s: float) -> None:
        """Wait so long, or until it ends."""
        with self._changed:
            wait_until(clock, self._changed, lambda: self._is_over, clock.monotonic() + timeout_s)

    def require(self) -> None:
        """Refuse what comes after the end.

        Raises
        ------
        ConnectionLost
            When it has ended.
        """
        if self._is_over:
            raise ConnectionLost("the query service is closed", hint="Start the session or the server again.")
