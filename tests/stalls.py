"""A program that notes when a process was not run that wants nothing but to wake: `stalls.py FILE-DESCRIPTOR PID`, until that process ends.

It is nobody's child, so that nobody who looks for the processes that a test has left finds it.
"""

import os
import struct
import sys
import time

PERIOD_S, LEAST_S = 0.02, 0.1
# When it woke last, and what it is; behind that, from when to when it should have run and did not.
HEAD, STALL = struct.Struct("dq"), struct.Struct("dd")


def watch(file, watched):
    place, before_s = HEAD.size, time.monotonic()
    while runs(watched):
        time.sleep(PERIOD_S)
        now_s = time.monotonic()
        if now_s - before_s > PERIOD_S + LEAST_S:
            place += os.pwrite(file, STALL.pack(before_s + PERIOD_S, now_s), place)
        os.pwrite(file, HEAD.pack(now_s, os.getpid()), 0)
        before_s = now_s


def runs(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


if __name__ == "__main__" and not os.fork():
    os.setsid()
    watch(*map(int, sys.argv[1:]))
