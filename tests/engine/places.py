"""Where workers can be: the engines by the names that the tests have for them, and streams that go into a master there."""

import contextlib
import os
import signal

import psutil

from apps.sssp import ShortestPaths
from tests.loops.streaming import Streaming
from tornado.clock import SYSTEM_CLOCK
from tornado.loops import Master
from tornado.testing import mixed, random_multigraph

WORKERS = 2
SOURCE = 1
# A Spark is one for a process, so its places have tests of their own process: test_on_spark.py.
PLACES = os.environ.get("TORNADO_TEST_PLACES", "threads processes").split()
REMOTE = [place for place in PLACES if place != "threads"]


def master_at(place, store=None, workers=WORKERS, clock=SYSTEM_CLOCK):
    """`spark:local[4]` is the engine spark with that master; the others are engines."""
    engine, _, spark = place.partition(":")
    return Master(store, workers, engine, spark or None, clock=clock)


def stream(seed=7, vertices=400, edges=4000):
    return mixed(random_multigraph(vertices, edges, seed=seed), seed=seed)


class Placed(Streaming):
    """A stream into a loop of a master that is there already."""

    def __init__(self, master, name, records, bound=64, source=SOURCE):
        super().__init__(records, source, master.workers, bound)
        self.master = master
        self.loop = master.start(ShortestPaths(source=source), name, bound)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def check_main(self):
        """As for others, but for removals that found no edge: they are counted from the snapshot that a loop was restored from."""
        self.wait_idle()
        self.check_values(self.loop.approximation(), self.admitted, "the main loop")
        assert self.loop.statistics().edges == len(self.history.at(self.admitted))


def pids_of(master):
    """The processes of the present set of workers, in their order."""
    return [pid for _, (*_, pid) in sorted(master.engine._hellos.items())]


def end(pid, number=signal.SIGKILL):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def lose(master, worker=0, number=signal.SIGKILL):
    """End a worker; `is_restored` is then false until others have taken over."""
    master.engine.recovered_s = None
    end(pids_of(master)[worker], number)


def is_restored(master):
    return master.engine.recovered_s is not None


def runs(pid):
    """Whether a process is there and is more than an entry in a table."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False
