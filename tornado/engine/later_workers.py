"""What the process that forks workers loads before it forks later ones: these are there sooner by the time that takes.

A worker leaves what it is in a file, writes the name of that into a pipe, and wakes the process, which waits for whom to fork, with a
signal. That loads it some seconds later: workers that just began have a graph to load, and need the processors.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

logger = logging.getLogger(__name__)

_VARIABLE: Final = "TORNADO_LATER_WORKERS"  # in workers: the process that forked them, and what they write to
_ALL_BYTES: Final = 1 << 20  # no pipe has more in it, so what is read are whole lines
_QUIET_S: Final = 5.0


def listen(load: Callable[..., None], *, quiet_s: float = _QUIET_S) -> None:
    """In the process that forks, before it does: have `load` called with what workers tell, on this thread.

    Parameters
    ----------
    load
        Called with the kind and what is needed.
    quiet_s
        For how many seconds nothing has been told then.
    """
    reading, writing = os.pipe()
    for end in (reading, writing):
        os.set_blocking(end, False)
    listener = os.getpid()
    os.environ[_VARIABLE] = f"{listener} {writing}"

    # Either may be called in a process that was forked between the signal and the call.
    def hear(*_: object) -> None:
        if os.getpid() == listener:
            signal.setitimer(signal.ITIMER_REAL, quiet_s)

    def load_all(*_: object) -> None:
        if os.getpid() != listener:
            return
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])  # none is called amid another
        try:
            with suppress(BlockingIOError):
                while lines := os.read(reading, _ALL_BYTES):
                    for line in lines.decode().splitlines():
                        _load(load, Path(line))
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    signal.signal(signal.SIGUSR1, hear)
    signal.signal(signal.SIGALRM, load_all)


def tell(kind: str, needs: Callable[[], Sequence[Any] | None]) -> None:
    """In a worker: say what later ones of a kind need, numbers and strings; nothing where they need none or nobody listens."""
    told = os.environ.get(_VARIABLE)
    if told is None:
        return
    parent, writing = map(int, told.split())
    if os.getppid() != parent or (needed := needs()) is None:
        return
    with suppress(OSError):  # nobody listens any more, or no disk has room
        handle, name = tempfile.mkstemp(prefix="tornado-later-workers-")
        with os.fdopen(handle, "w") as file:
            json.dump([kind, *needed], file)
        os.write(writing, f"{name}\n".encode())
        os.kill(parent, signal.SIGUSR1)


def _load(load: Callable[..., None], file: Path) -> None:
    try:
        arguments = json.loads(file.read_text())
        file.unlink()
        load(*arguments)
    except Exception:
        logger.exception("not loaded for later workers")
