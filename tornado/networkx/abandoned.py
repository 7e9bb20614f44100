"""Sessions whose owner is gone without closing them.

Python calls what watches an object in the thread that finds it to be garbage, in the middle of whatever that thread does. To close a
session there would wait for other threads, and for locks that this one may hold itself. So it is only told there, and a thread that
does nothing else closes them.
"""

from __future__ import annotations

import atexit
import itertools
import logging
import os
import threading
import weakref
from queue import SimpleQueue

from ..query.session import Session

logger = logging.getLogger(__name__)


class AbandonedSessions:
    """Closes sessions when their owners are garbage, and at the end of the program those that are left."""

    def __init__(self) -> None:
        os.register_at_fork(after_in_child=self._begin)
        self._begin()

    def _begin(self) -> None:
        """Have none; in a process that was forked, too: the sessions are those of the other one, and so are the thread and the locks."""
        self._numbers = itertools.count()
        self._open: dict[int, Session] = {}
        self._abandoned: SimpleQueue[int] = SimpleQueue()  # may be put to amid a put of the same thread
        self._starting = threading.Lock()
        self._closing = threading.Lock()
        self._thread: threading.Thread | None = None

    def watch(self, owner: object, session: Session) -> int:
        """Have a session closed soon after its owner is garbage, by another thread; return its number here."""
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="tornado-abandoned", daemon=True)
                self._thread.start()
                atexit.register(self._close_all)
        number = next(self._numbers)
        self._open[number] = session
        weakref.finalize(owner, self._abandoned.put, number).atexit = False
        return number

    def close(self, number: int) -> None:
        """Close a session now, if it is open."""
        session = self._open.pop(number, None)
        if session is not None:
            session.close()

    def _run(self) -> None:
        while True:
            number = self._abandoned.get()
            with self._closing:
                try:
                    self.close(number)
                except Exception:
                    logger.exception("a session that nobody closed could not be closed")

    def _close_all(self) -> None:
        with self._closing:  # also what the thread is at
            for number in list(self._open):
                self.close(number)
