"""What bounds and limits do not count: time in which nobody on the machine ran. All other time they do."""

import contextlib
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from tests import promised
from tests.promised import Stalls, eventually, took_s


@pytest.fixture
def still(monkeypatch):
    """Have whoever watches the machine stand still for a while."""
    watching = Stalls()
    monkeypatch.setattr(promised, "watched", lambda: watching)
    eventually(lambda: watching.pid)

    @contextlib.contextmanager
    def stopped():
        os.kill(watching.pid, signal.SIGSTOP)
        yield
        os.kill(watching.pid, signal.SIGCONT)

    yield stopped
    os.kill(watching.pid, signal.SIGKILL)


def test_time_counts_but_where_the_machine_stood_still(still):
    begun_s = time.monotonic()
    with still():
        time.sleep(1.0)
    resumed_s = time.monotonic()
    time.sleep(0.5)
    assert took_s(resumed_s) > 0.4 or time.monotonic() - resumed_s > 0.7  # where it did stand still
    assert 0.4 < took_s(begun_s) < time.monotonic() - begun_s - 0.8
    assert took_s(begun_s, resumed_s) < 0.3


def test_a_stall_that_has_not_been_noted_yet_is_waited_for(still):
    with still():
        begun_s = time.monotonic()
        time.sleep(0.5)
        ended_s = time.monotonic()
    assert took_s(begun_s, ended_s) < 0.2


def test_what_does_not_happen_is_said_when_the_time_is_over_that_counts(still):
    begun_s, looks = time.monotonic(), []
    with pytest.raises(AssertionError, match=r"within 0.5 s"):
        eventually(lambda: looks.append(1), 0.5)
    assert looks
    assert time.monotonic() - begun_s > 0.5
    with still():
        begun_s = time.monotonic()
        time.sleep(1.0)
    looked_s = iter([begun_s, begun_s + 1.0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "monotonic", lambda real=time.monotonic: next(looked_s, None) or real())
        eventually(iter([False, True]).__next__, 0.5)


def test_nobody_watches_a_process_that_has_ended():
    program = "import time; from tests.promised import Stalls; one = Stalls()\nwhile not one.pid: time.sleep(0.01)\nprint(one.pid)"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    eventually(lambda: not psutil.pid_exists(int(said)))
