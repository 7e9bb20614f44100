"""Bounds on time that tests hold the system to."""

import functools
import os
import time

# What the loop below takes on the machine that the promises were measured on.
_USUAL_S = 0.025


def within(promised_s):
    """What is promised of a machine with a core to spare, stretched where several processes share each core of this one, or it is slower."""
    return promised_s * max(1.0, os.getloadavg()[0] / len(os.sched_getaffinity(0))) * _times_slower()


@functools.cache
def _times_slower():
    return max(1.0, min(_loop_s() for _ in range(3)) / _USUAL_S)


def _loop_s():
    begun_s, total = time.thread_time(), 0
    for number in range(1_000_000):
        total += number
    return time.thread_time() - begun_s
