"""What the process that forks workers loads before it forks later ones: these are there sooner by the time that takes.

A worker writes into a pipe what it needed, and wakes the process, which waits for whom to fork, with a signal. That loads it some seconds
later, as workers that just began have a graph to load and need the processors, and one thing after another, as it may be wanted meanwhile.
"""

from __future__ import annotations

import json
import logging
import os
import select
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

logger = logging.getLogger(__name__)

_VARIABLE: Final = "TORNADO_LATER_WORKERS"  # in workers: the process that forked them, and what they write to
_ALL_BYTES: Final = 1 << 20  # no pipe has more in it, so what is read are whole lines
_QUIET_S: Final = 5.0
_BETWEEN_S: Final = 0.05


def listen(load: Callable[..., None], *, quiet_s: float = _QUIET_S) -> None:
    """In the process that forks, before it does: have `load` called with what workers tell, on this thread.

    Parameters
    ----------
    load
        Called with the kind and what is needed, once for each.
    quiet_s
        For how many seconds nothing has been told then.
    """
    reading, writing = os.pipe()
    for end in (reading, writing):
        os.set_blocking(end, False)
    listener = os.getpid()
    os.environ[_VARIABLE] = f"{listener} {writing}"
    is_loaded: dict[bytes, bool] = {}  # by line, in the order in which they were told

    # Either may be called in a process that was forked between the signal and the call.
    def hear(*_: object) -> None:
        if os.getpid() == listener:
            signal.setitimer(signal.ITIMER_REAL, quiet_s)

    def load_one(*_: object) -> None:
        if os.getpid() != listener:
            return
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])  # none is called amid another
        try:
            with suppress(BlockingIOError):
                for line in os.read(reading, _ALL_BYTES).splitlines():
                    is_loaded.setdefault(line, False)
            waiting = [line for line, found in is_loaded.items() if not found]
            for line in waiting[:1]:
                is_loaded[line] = True
                _load(load, line)
            if waiting[1:]:
                signal.setitimer(signal.ITIMER_REAL, _BETWEEN_S)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    signal.signal(signal.SIGUSR1, hear)
    signal.signal(signal.SIGALRM, load_one)


def tell(kind: str, needs: Callable[[], Sequence[Any] | None]) -> None:
    """In a worker: say what later ones of a kind need, short; nothing where they need none or nobody listens."""
    told = os.environ.get(_VARIABLE)
    if told is None:
        return
    parent, writing = map(int, told.split())
    if os.getppid() != parent or (needed := needs()) is None:
        return
    line = json.dumps([kind, *needed]).encode() + b"\n"
    if len(line) <= select.PIPE_BUF:  # longer ones of several workers would be mixed
        with suppress(OSError):  # nobody listens any more, or has for long
            os.write(writing, line)
            os.kill(parent, signal.SIGUSR1)


def _load(load: Callable[..., None], line: bytes) -> None:
    try:
        load(*json.loads(line))
    except Exception:
        logger.exception("not loaded for later workers")
