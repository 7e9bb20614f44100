"""Ctrl-C and SIGTERM: the first asks, the second ends, and nobody who looks away hangs for ever."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time
from contextlib import ExitStack

import pytest

from tornado.command.interruption import Interruption

_PATIENT = """
    import time
    from tornado.command import interruption
    from tornado.command.interruption import Interruption
    interruption.GRACE_S = {grace_s}
    with Interruption() as asked:
        print("ready", flush=True)
"""

# One wait after the other, with a signal amid its first call, its second and so on, until one has no more calls.
_SIGNALS_AMID_THE_WAIT = """
    import itertools, signal, sys
    for number in itertools.count():
        calls = itertools.count()
        def look(frame, event, _):
            if event.endswith("call") and next(calls) == number:
                sys.setprofile(None)
                signal.raise_signal(signal.SIGTERM)
        with Interruption() as one:
            sys.setprofile(look)
            is_heard = one.wait(0.01)
            sys.setprofile(None)
            print(is_heard, flush=True)
            if not is_heard:
                break
"""

_A_SIGNAL_AMID_THE_HANDLER = """
    import signal, sys
    def look(frame, event, _):
        if event == "c_return" and frame.f_code.co_name == "_handle":
            sys.setprofile(None)
            signal.raise_signal(signal.SIGINT)
    with Interruption() as one:
        sys.setprofile(look)
        signal.raise_signal(signal.SIGTERM)
        assert one.requested() and sys.getprofile() is None
    time.sleep(1)
    print("in order")
"""


@pytest.fixture
def start(environment):
    """Start a process that waits for signals; it is ended with the test, whatever becomes of that."""
    with ExitStack() as stack:

        def start(body, grace_s=60.0):
            script = textwrap.dedent(_PATIENT).format(grace_s=grace_s)
            script += textwrap.indent(textwrap.dedent(body), "    ")
            process = stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=environment
                )
            )
            stack.callback(process.kill)
            assert process.stdout.readline() == "ready\n"
            return process

        yield start


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_lets_the_command_end_in_order(start, number):
    process = start("asked.wait(60); print('in order', asked.requested())")
    process.send_signal(number)
    out, _ = process.communicate(timeout=20)
    assert (process.returncode, out) == (0, "in order True\n")


def test_a_signal_amid_any_call_of_the_wait_is_heard(start):
    process = start(_SIGNALS_AMID_THE_WAIT)
    out, _ = process.communicate(timeout=20)
    heard = out.split()
    assert heard[-1] == "False"  # there are no more calls than those
    assert len(heard) > 3
    assert set(heard[:-1]) == {"True"}


def test_a_signal_amid_the_handling_of_another_leaves_nothing_that_ends_the_command_later(start):
    process = start(_A_SIGNAL_AMID_THE_HANDLER, grace_s=0.3)
    out, _ = process.communicate(timeout=20)
    assert (process.returncode, out) == (0, "in order\n")


def test_the_second_signal_ends_at_once(start):
    process = start("asked.wait(60); print('asked', flush=True); time.sleep(60)")
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "asked\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == 130


def test_one_wish_that_arrives_twice_is_no_second_one(start):
    # As `timeout -s INT` does: to the process, and to its group.
    process = start("asked.wait(60); time.sleep(1); print('in order', flush=True)")
    for number in (signal.SIGSTOP, signal.SIGINT, signal.SIGTERM, signal.SIGCONT):
        process.send_signal(number)  # both are there when it goes on
    out, _ = process.communicate(timeout=20)
    assert (process.returncode, out) == (0, "in order\n")


def test_a_command_that_looks_away_too_long_is_ended(start):
    process = start("time.sleep(60)", grace_s=0.2)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)
    assert process.returncode == 130


def test_check_raises_only_after_a_signal_and_handlers_are_put_back():
    before = signal.getsignal(signal.SIGINT)
    with Interruption() as asked:
        asked.check()
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            asked.check()
    assert signal.getsignal(signal.SIGINT) is before
