"""A worker that is slow is not lost, one that has stopped is; neither is a driver that is slow."""

import re
import signal
import threading
import time

import pytest

from tests.engine import slow_worker
from tests.engine.places import Placed, end, master_at, pids_of, stream
from tests.engine.test_faults import admit_all
from tests.promised import eventually
from tornado.clock import ManualClock
from tornado.engine import cluster, transport
from tornado.errors import WorkerLost
from tornado.loops import engines

SLOW_S = 1.5 * transport.SILENT_S


@pytest.fixture
def slow(remote, monkeypatch):
    monkeypatch.setattr(engines, "_WORKER", slow_worker.__name__)
    with master_at(remote) as made:
        yield made


def test_a_worker_whose_answer_takes_longer_than_the_silence_of_a_dead_one_is_not_lost(slow):
    with Placed(slow, "streamed", stream()) as streamed:
        streamed.admit(1000)
        pids = pids_of(slow)
        asking = [
            threading.Thread(target=slow.engine.ask, args=(worker, ("hold", SLOW_S))) for worker in range(2)
        ]
        for thread in asking:
            thread.start()
        admit_all(streamed)
        for thread in asking:
            thread.join()
        streamed.check_branch(streamed.loop.fork())
        streamed.check_main()
        assert (slow.engine.losses, pids_of(slow)) == (0, pids)
        end(pids[0], signal.SIGSTOP)
        eventually(lambda: slow.engine.losses == 1)
        streamed.check_branch(streamed.loop.fork())


def test_a_worker_that_lives_and_finishes_no_step_for_a_minute_is_lost_and_the_other_is_not(
    remote, monkeypatch, caplog
):
    monkeypatch.setattr(engines, "_WORKER", slow_worker.__name__)
    clock, told = ManualClock(), []
    with master_at(remote, clock=clock) as master, Placed(master, "streamed", stream()) as streamed:
        streamed.admit(1000)
        engine = master.engine
        asked = engine._links[1]._asked.count

        def hold():
            try:
                engine.ask(1, ("hold", cluster._STUCK_S))
            except WorkerLost as error:
                told.append(error)

        holding = threading.Thread(target=hold, daemon=True)
        holding.start()
        eventually(lambda: engine._links[1]._asked.count > asked)
        began_s = clock.monotonic()
        while not engine.losses:
            assert clock.monotonic() - began_s <= cluster._STUCK_S + 20
            clock.advance(10)
            eventually(lambda: engine.losses or engine._stepped[0][1] == clock.monotonic())
        assert clock.monotonic() - began_s > cluster._STUCK_S
        holding.join(30)
        assert len(told) == 1
        said = r"worker 1 has not finished a step for \d\d s; the workers are started"
        eventually(lambda: re.search(said, caplog.text))
        streamed.check_branch(streamed.loop.fork())
        assert engine.losses == 1


def test_a_driver_that_is_slow_loses_no_worker(slow):
    """Neither takes it its own standing still for silence of theirs, nor they for its end."""
    with Placed(slow, "streamed", stream()) as streamed:
        streamed.admit(1000)
        pids = pids_of(slow)
        for _ in range(2):
            slow_worker.hold(max(SLOW_S, 2 * slow_worker.DRIVER_SILENT_S))
            admit_all(streamed)
            streamed.check_branch(streamed.loop.fork())
        time.sleep(2 * transport.LOOK_S)
        assert (slow.engine.losses, pids_of(slow)) == (0, pids)
