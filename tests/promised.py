"""Bounds on time that tests hold the system to."""

import os


def within(promised_s):
    """What is promised of a machine with a core to spare, stretched where several processes share each core of this one."""
    return promised_s * max(1.0, os.getloadavg()[0] / len(os.sched_getaffinity(0)))
