"""Wakes from other threads: in every interleaving of the steps of a waker, none is swallowed and nothing spins."""

import itertools
import sys
import threading
import time

import pytest
import zmq

from tornado.engine.peers import PeerFabric
from tornado.engine.waker import Waker
from tornado.engine.wire import Wire

WAKES = 2
WAKERS, ROUNDS, STALL_S = 3, 10_000, 60.0


class Schedule:
    """Threads of which one goes on at a time, up to its next step; who goes on is told by a list, and then by turns."""

    def __init__(self, choices):
        self.choices = list(choices)
        self.options = []  # how many could have gone on, at every step
        self.turns = {}
        self.back = threading.Semaphore(0)
        self.ended = set()

    def step(self):
        """Called by a thread before each of its steps."""
        name = threading.current_thread().name
        if name in self.turns:
            self.back.release()
            self.turns[name].acquire()

    def run(self, programs):
        threads = []
        for name, program in programs.items():
            self.turns[name] = threading.Semaphore(0)
            threads.append(threading.Thread(target=self._run, args=(name, program), name=name, daemon=True))
        for thread in threads:
            thread.start()
            self.back.acquire()
        while left := sorted(self.turns.keys() - self.ended):
            at = len(self.options)
            chosen = self.choices[at] if at < len(self.choices) else 0
            self.options.append(len(left))
            self.turns[left[chosen]].release()
            self.back.acquire()
        for thread in threads:
            thread.join()

    def _run(self, name, program):
        self.step()
        program()
        self.ended.add(name)
        self.back.release()


def explored(case):
    """Run a case under every schedule; how many there are."""
    count, choices = 0, []
    while True:
        schedule = Schedule(choices)
        case(schedule)
        count += 1
        choices = [*choices, *itertools.repeat(0, len(schedule.options) - len(choices))]
        while choices and choices[-1] + 1 == schedule.options[len(choices) - 1]:
            choices.pop()
        if not choices:
            return count
        choices[-1] += 1


class Steps:
    """The sockets of a waker, and its flag: whoever touches one of them waits for its turn."""

    def __init__(self, schedule):
        self.schedule = schedule
        self.bytes = 0

    def send(self, data):
        self.schedule.step()
        self.bytes += len(data)

    def recv(self, most):
        self.schedule.step()
        if not self.bytes:
            raise BlockingIOError
        taken, self.bytes = min(self.bytes, most), self.bytes - min(self.bytes, most)
        return bytes(taken)


def scripted(kind, schedule):
    """A waker of this kind that takes its steps as a schedule says."""

    class Scripted(kind):
        @property
        def _is_signalled(self):
            schedule.step()
            return self.flag

        @_is_signalled.setter
        def _is_signalled(self, flag):
            schedule.step()
            self.flag = flag

    waker = Scripted()
    waker.close()
    waker.flag = False
    waker._reading = waker._writing = Steps(schedule)
    return waker


def waits(waker):
    """What a wait does when it returns at once: take the signal, if there is one; whether there was."""
    is_ready = waker._reading.bytes > 0
    if is_ready:
        waker.take()
    return is_ready


def case_of(kind):
    def case(schedule):
        waker = scripted(kind, schedule)
        returned = []

        def wait():
            returned.append(waits(waker))

        wakes = {f"wake {number}": waker.wake for number in range(WAKES)}
        schedule.run({"wait": wait, **wakes})
        # Everybody has ended. What was said is heard: by a wait before, or by the next one.
        assert waits(waker) or any(returned), "a wake was swallowed"
        # A signal says so once: nothing is left that would have the next wait return at once, again and again.
        assert not waits(waker), "the wait spins"
        waker.wake()
        assert waits(waker), "a later wake was swallowed"

    return case


def test_no_interleaving_swallows_a_wake_or_spins():
    assert explored(case_of(Waker)) > 500


class FlagFirst(Waker):
    """The flag is cleared before the signal is taken."""

    def take(self):
        self._is_signalled = False
        self._reading.recv(4096)


class ByFlag(Waker):
    """So too, and what is there to be taken is told by the flag."""

    def take(self):
        if self._is_signalled:
            self._is_signalled = False
            if self._reading.bytes:
                self._reading.recv(4096)


@pytest.mark.parametrize(("kind", "said"), [(FlagFirst, "later wake"), (ByFlag, "later wake|spins")])
def test_the_other_order_is_found_to_be_wrong(kind, said):
    with pytest.raises(AssertionError, match=said):
        explored(case_of(kind))


def test_a_worker_that_is_woken_at_any_moment_never_waits_in_vain():
    context = zmq.Context()
    fabric = PeerFabric(0, 1, Wire(bytes(16)), context, "127.0.0.1")
    interval = sys.getswitchinterval()
    said, heard, stalls = [0] * WAKERS, [0] * WAKERS, 0

    def wake(number):
        for _ in range(ROUNDS):
            said[number] += 1
            fabric.wake(0)
            while heard[number] < said[number]:
                time.sleep(0)

    wakers = [threading.Thread(target=wake, args=(number,), daemon=True) for number in range(WAKERS)]
    try:
        sys.setswitchinterval(1e-6)
        for waker in wakers:
            waker.start()
        while sum(heard) < WAKERS * ROUNDS:
            before = time.monotonic()
            fabric.wait(0, STALL_S)
            stalls += time.monotonic() - before >= STALL_S and heard != said
            heard[:] = said
        assert not stalls
        for waker in wakers:
            waker.join(20)
        for _ in range(WAKERS):  # signals that are on their way
            fabric.wait(0, 0.05)
        assert not fabric.wait(0, 0.05)
    finally:
        sys.setswitchinterval(interval)
        heard[:] = [ROUNDS] * WAKERS
        for waker in wakers:
            waker.join(20)
        fabric.close()
        context.term()
