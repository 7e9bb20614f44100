"""Sources wait for their store: while it is full or away nothing can be logged, so nothing is admitted, and nothing is lost."""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Event
from typing import TypeVar

from ..errors import StoreFull, StoreUnreachable

_FIRST_S = 0.1
_LONGEST_S = 5.0

_log = logging.getLogger(__name__)
Done = TypeVar("Done")


def until_stored(step: Callable[[], Done], source: str, stopped: Event) -> Done | None:
    """Return what a step returns, which is tried again while the store has no room or does not answer; None where it is stopped.

    It is logged when that begins and when it is over.
    """
    wait_s = _FIRST_S
    while True:
        try:
            done = step()
        except (StoreFull, StoreUnreachable) as error:
            if wait_s == _FIRST_S:
                _log.warning("%s waits, since what it has cannot be logged: %s", source, error)
            if stopped.wait(wait_s):
                return None
            wait_s = min(2 * wait_s, _LONGEST_S)
        else:
            if wait_s > _FIRST_S:
                _log.warning("%s goes on: its store takes what it has again", source)
            return done
