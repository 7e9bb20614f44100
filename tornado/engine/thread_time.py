"""How long a thread has had a core, asked for by another one."""

from __future__ import annotations

import threading
import time


def busy_s_of(thread: threading.Thread) -> float:
    """Return the seconds of a core that a thread has had, which must not have ended; 0 where the system does not count them."""
    clock_of = getattr(time, "pthread_getcpuclockid", None)  # there is none on Windows
    if clock_of is None or thread.ident is None:
        return 0.0
    seconds: float = time.clock_gettime(clock_of(thread.ident))
    return seconds
