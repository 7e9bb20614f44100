"""A worker that is slow is not lost, one that has stopped is; neither is a driver that is slow."""

import signal
import threading
import time

import pytest

from tests.engine import slow_worker
from tests.engine.places import Placed, end, eventually, master_at, pids_of, stream
from tests.engine.test_faults import admit_all
from tornado.engine import cluster
from tornado.loops import engines

SLOW_S = 1.5 * cluster._SILENT_S


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


def test_a_driver_that_is_slow_loses_no_worker(slow):
    """Neither takes it its own standing still for silence of theirs, nor they for its end."""
    with Placed(slow, "streamed", stream()) as streamed:
        streamed.admit(1000)
        pids = pids_of(slow)
        for _ in range(2):
            slow_worker.hold(max(SLOW_S, 2 * slow_worker.DRIVER_SILENT_S))
            admit_all(streamed)
            streamed.check_branch(streamed.loop.fork())
        time.sleep(2 * cluster._LOOK_S)
        assert (slow.engine.losses, pids_of(slow)) == (0, pids)
