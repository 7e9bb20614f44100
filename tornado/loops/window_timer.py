"""Lets edges leave a window by the time of their arrival while nothing else is admitted."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from ..engine import Engine
from ..errors import StoreError, TornadoError
from .window import Window

_LEAST_S = 0.02  # what leaves at about the same time leaves together
_MOST_S = 1.0  # what is admitted meanwhile may be due earlier

_log = logging.getLogger(__name__)


def expire_by_itself(
    window: Window, expire: Callable[[], object], engine: Engine, has_ended: Callable[[], bool], stream: str
) -> None:
    """Begin a thread that lets edges leave when their time has come, until the stream has ended.

    Parameters
    ----------
    expire
        Admits what leaves.
    stream
        Its name.
    """

    def run() -> None:
        reported = ""
        while True:
            due_s = window.due_in_s()
            wait_s = _MOST_S if due_s is None or reported else min(_MOST_S, max(_LEAST_S, due_s))
            if engine.wait_for(has_ended, wait_s):
                return
            due_s = window.due_in_s()
            if due_s is None or due_s > 0:
                continue
            try:
                expire()
            except StoreError as error:
                # It is tried again, and a disk that stays full must not fill the log too.
                if reported != (reported := str(error)):
                    _log.warning("edges stay in stream %s beyond their time: %s", stream, error)
            except TornadoError as error:
                _log.info("edges leave stream %s no more: %s", stream, error)
                return
            else:
                reported = ""

    threading.Thread(target=run, name=f"window of {stream}", daemon=True).start()
