"""How long questions are taken: from when a service is made until it is closed, in the process that made it.

A process that is forked has the memory of a session, but none of its threads, and shares its connections and locks: whoever asked there
would wait for ever, what was pushed would be in no store, and to close it would end what goes on in the other process.
"""

from __future__ import annotations

import os
from threading import Condition
from typing import Final

from ..clock import Clock, wait_until
from ..errors import ConnectionLost

_ELSEWHERE: Final = "Open one in this process, on another store, or ask that one over HTTP (`session.serve()`); or start processes by `spawn`."


class Lifetime:
    """See the module; begins when it is made."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._is_over = False
        self._process = os.getpid()

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self._is_over

    @property
    def is_of_this_process(self) -> bool:
        """Whether this is the process in which it began."""
        return os.getpid() == self._process

    def end(self) -> bool:
        """End it, and wake who waits; return whether it had not ended before."""
        with self._changed:
            was_over, self._is_over = self._is_over, True
            self._changed.notify_all()
        return not was_over

    def wait(self, clock: Clock, timeout_s: float) -> None:
        """Wait so long, or until it ends."""
        self.require_this_process()  # in another one nobody ends it, nor gives up its lock
        with self._changed:
            wait_until(clock, self._changed, lambda: self._is_over, clock.monotonic() + timeout_s)

    def require_this_process(self) -> None:
        """Refuse what another process asks for.

        Raises
        ------
        ConnectionLost
            When it began in another process, of which this one is a fork.
        """
        if not self.is_of_this_process:
            raise ConnectionLost(
                f"the session belongs to the process that opened it, {self._process}, and this is {os.getpid()}",
                hint=_ELSEWHERE,
            )

    def require(self) -> None:
        """Refuse what comes after the end, or from another process.

        Raises
        ------
        ConnectionLost
            When it has ended, or began in another process.
        """
        self.require_this_process()
        if self._is_over:
            raise ConnectionLost("the query service is closed", hint="Start the session or the server again.")
