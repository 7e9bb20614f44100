"""Who looks again and again on a thread of its own, and does what is due; what kept one look from its end is left to the next."""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod

from ..errors import TornadoError

_log = logging.getLogger(__name__)


class RegularLook(ABC):
    """Looks from `start` on, until `close`.

    Parameters
    ----------
    thread
        What its thread is called.
    every_s
        How long it rests between two looks.
    """

    def __init__(self, thread: str, every_s: float) -> None:
        self._every_s = every_s
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name=thread, daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def close(self) -> None:
        """Look no more; a look that is under way is waited for."""
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join()

    @abstractmethod
    def look(self) -> object:
        """Look once, and do what is due."""

    @abstractmethod
    def was_kept_from(self, error: TornadoError) -> bool:
        """Take note of what kept a look from its end; return whether it may be otherwise at the next one, and else there is none."""

    def _run(self) -> None:
        while not self._ending.wait(self._every_s):
            try:
                self.look()
            except TornadoError as error:
                if not self.was_kept_from(error):
                    return
            except RuntimeError as error:  # a loop has failed, which others say
                _log.debug("the load of the workers is not known: %s", error)
