"""Bounds on time that tests hold the system to, and limits for what must happen and is not promised within a time."""

import os
import subprocess
import sys
import time
from functools import cache, lru_cache

from tests import stalls

# What the loop below takes on the machine that the promises were measured on.
_USUAL_S = 0.025
_MEASURED_EVERY_S = 5.0


def within(promised_s):
    """What is promised of a machine with a core to spare, stretched where several processes share each core of this one, or it is slower."""
    slower = _times_slower(time.monotonic() // _MEASURED_EVERY_S)
    return promised_s * max(1.0, os.getloadavg()[0] / len(os.sched_getaffinity(0))) * slower


def took_s(begun_s, ended_s=None):
    """Seconds from one instant of `time.monotonic` to another, or to now, without those in which the machine stood still."""
    ended_s = time.monotonic() if ended_s is None else ended_s
    return ended_s - begun_s - watched().stood_still_s(begun_s, ended_s)


def eventually(condition, timeout_s=60.0, period_s=0.01):
    """Wait for what must happen; the limit only tells a hang."""
    begun_s = time.monotonic()
    while not condition():
        assert time.monotonic() - begun_s < timeout_s or took_s(begun_s) < timeout_s, (
            f"it did not come to that within {timeout_s:g} s"
        )
        time.sleep(period_s)


class Stalls:
    """When the machine stood still, as `stalls.py` notes it."""

    def __init__(self):
        self._file = os.memfd_create("stalls")
        program = [sys.executable, "-I", "-S", stalls.__file__, str(self._file), str(os.getpid())]
        nothing = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        subprocess.run(program, pass_fds=[self._file], check=True, **nothing)

    @property
    def pid(self):
        return self._head()[1]

    def stood_still_s(self, begun_s, ended_s):
        # Where all stood still until a moment ago, it may not have noted that yet.
        until_s = time.monotonic() + 10
        while self._head()[0] < ended_s and time.monotonic() < until_s:
            time.sleep(stalls.PERIOD_S / 4)
        noted = os.pread(self._file, os.fstat(self._file).st_size, 0)[stalls.HEAD.size :]
        return sum(
            max(0.0, min(to_s, ended_s) - max(from_s, begun_s))
            for from_s, to_s in stalls.STALL.iter_unpack(noted)
        )

    def _head(self):
        noted = os.pread(self._file, stalls.HEAD.size, 0)
        return stalls.HEAD.unpack(noted) if noted else (0.0, 0)


@cache
def watched():
    """The stalls since this was called first."""
    return Stalls()


@lru_cache(maxsize=1)
def _times_slower(_period):
    return max(1.0, min(_loop_s() for _ in range(3)) / _USUAL_S)


def _loop_s():
    begun_s, total = time.thread_time(), 0
    for number in range(1_000_000):
        total += number
    return time.thread_time() - begun_s
