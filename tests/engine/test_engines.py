"""Engines: hosts are stepped while they have something to do, waiting ends, failures are reported, a seed is a schedule."""

import threading
import time

import pytest

from tornado.clock import ManualClock
from tornado.engine import SimulationEngine, ThreadEngine, threads
from tornado.errors import ProtocolViolation


class Countdown:
    """A host that has something to do so many times, and remembers who stepped it."""

    def __init__(self, log, name, left, fails_at=None):
        self.log, self.name, self.left, self.fails_at = log, name, left, fails_at
        self.event = threading.Event()
        self.threads = set()
        self.is_closed = self.waits_for_others = False

    def step(self):
        self.threads.add(threading.get_ident())
        if self.left == 0:
            return False
        self.left -= 1
        self.log.append(self.name)
        if self.left == self.fails_at:
            raise ValueError(f"{self.name} at {self.left}")
        return True

    def wait(self, timeout_s):
        woken = self.event.wait(timeout_s)
        self.event.clear()
        return woken

    def is_waiting(self):
        return self.waits_for_others

    def idle(self):
        pass

    def wake(self):
        self.event.set()

    def close(self):
        self.is_closed = True


def started(engine, counts, **options):
    log, failures = [], []
    hosts = [Countdown(log, name, left, **options) for name, left in enumerate(counts)]
    engine.start(hosts, lambda index, error: failures.append((index, str(error))))
    return hosts, log, failures


ENGINES = {"threads": ThreadEngine, "simulation": lambda workers: SimulationEngine(workers, seed=3)}
every_engine = pytest.mark.parametrize("make", ENGINES.values(), ids=ENGINES.keys())


def finish(engine, hosts):
    def is_over():
        engine.notify()
        return all(host.left == 0 for host in hosts)

    assert engine.wait_for(is_over, 10.0)


@every_engine
def test_every_host_is_stepped_until_it_has_nothing_left(make):
    engine = make(3)
    hosts, log, failures = started(engine, [5, 0, 9])
    finish(engine, hosts)
    engine.close()
    assert sorted(log) == [0] * 5 + [2] * 9
    assert not failures
    assert all(host.is_closed for host in hosts)
    assert all(len(host.threads) <= 1 for host in hosts)


@every_engine
def test_a_failing_step_is_reported_with_the_host_and_the_host_is_stepped_on(make):
    engine = make(2)
    hosts, _, failures = started(engine, [4, 4], fails_at=2)
    finish(engine, hosts)
    engine.close()
    assert sorted(failures) == [(0, "0 at 2"), (1, "1 at 2")]


def test_threads_say_how_long_they_have_had_a_core():
    engine = ThreadEngine(2)
    hosts, _, _ = started(engine, [20_000, 0])
    finish(engine, hosts)
    busy, idle = engine.use()
    assert busy.busy_s > idle.busy_s > 0
    assert busy.sent_bytes is None
    engine.close()
    assert engine.use() == []


def test_threads_say_how_long_they_have_waited_for_others_and_not_how_long_they_had_nothing_to_do():
    engine = ThreadEngine(2)
    hosts, _, _ = started(engine, [0, 0])
    hosts[1].waits_for_others = True
    for _ in range(3):
        hosts[0].wake(), hosts[1].wake()
    assert engine.wait_for(lambda: engine.use()[1].waited_s > 0.6, 30.0)  # more than one wait
    idle, waiting = engine.use()
    assert idle.waited_s == 0.0
    assert waiting.waited_s > waiting.busy_s
    engine.close()


def test_threads_wait_until_woken_and_no_longer(monkeypatch):
    monkeypatch.setattr(threads, "_WAIT_S", 60.0)
    engine = ThreadEngine(1)
    hosts, _, _ = started(engine, [0])
    time.sleep(0.05)
    begun = time.monotonic()
    hosts[0].left = 1
    hosts[0].wake()
    while hosts[0].left:
        assert time.monotonic() - begun < 30
        time.sleep(0.001)
    engine.close()


def test_waiting_for_what_does_not_happen_ends_in_time():
    clock = ManualClock()
    engine = ThreadEngine(1, clock=clock)
    started(engine, [0])
    answers = []

    def wait():
        answers.append((engine.wait_for(lambda: False, 90.0), clock.monotonic()))

    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    for seconds in (89.0, 1.0):
        assert not answers
        until_s = time.monotonic() + 20
        while not clock.waiting():
            assert time.monotonic() < until_s
        clock.advance(seconds)
    waiting.join(20)
    assert answers == [(False, 90.0)]
    assert engine.wait_for(lambda: True, 0.0)
    engine.close()


def test_closing_ends_who_waits():
    engine = ThreadEngine(1)
    started(engine, [0])
    answers = []
    waiting = threading.Thread(target=lambda: answers.append(engine.wait_for(lambda: False, 600.0)))
    waiting.start()
    time.sleep(0.05)
    engine.close()
    waiting.join(60.0)
    assert answers == [False]


def schedule(seed):
    engine = SimulationEngine(4, seed=seed)
    hosts, log, _ = started(engine, [20, 20, 20, 20])
    finish(engine, hosts)
    return log


def test_a_seed_is_a_schedule():
    assert schedule(7) == schedule(7)
    assert len({tuple(schedule(seed)) for seed in range(10)}) == 10


def test_a_simulation_that_is_stuck_names_its_seed(monkeypatch):
    monkeypatch.setattr("tornado.engine.simulation_engine._PATIENCE", 50)
    engine = SimulationEngine(2, seed=41)
    started(engine, [3, 3])
    with pytest.raises(ProtocolViolation, match="seed 41: 2 workers did not get there in 50 steps"):
        engine.wait_for(lambda: False, None)


def test_time_of_a_simulation_passes_with_its_steps_and_runs_out_for_who_waits():
    def times(seed):
        engine = SimulationEngine(3, seed=seed)
        hosts, _, _ = started(engine, [20, 20, 20])
        assert not engine.wait_for(lambda: False, 0.0)
        assert all(host.left == 20 for host in hosts)
        began_s = engine.clock.monotonic()
        assert not engine.wait_for(lambda: False, 1e-4)
        assert 1e-4 <= engine.clock.monotonic() - began_s < 2e-4
        finish(engine, hosts)
        return engine.clock.now()

    assert times(7) == times(7)
    assert len({times(seed) for seed in range(10)}) > 1


def test_a_simulation_steps_only_when_told():
    engine = SimulationEngine(1, seed=1)
    hosts, log, _ = started(engine, [10])
    assert not log
    engine.step(4)
    assert log == [0] * 4
    assert hosts[0].left == 6
