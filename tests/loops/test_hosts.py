"""A worker's host is asked from any thread while it works."""

from apps.bfs import BreadthFirstSearch
from tornado.engine import SimulationEngine
from tornado.loops import Master
from tornado.loops.commands import LookAround


class InTheWay:
    """A dataflow in a host: as soon as it is looked at, the worker enters others."""

    def __init__(self, host):
        self._host = host

    @property
    def failure(self):
        for entered in (self._host._dataflows, self._host._branches):
            entered[len(entered) + 100] = Forked(self._host)


class Forked(InTheWay):
    @property
    def dataflow(self):
        return InTheWay(self._host)


def test_what_failed_can_be_asked_for_while_loops_and_branches_are_installed():
    with Master(workers=1, engine=SimulationEngine(1, seed=5)) as master:
        master.start(BreadthFirstSearch(source=1), "hops")
        [host] = master._hosts
        ours = host._dataflows.copy()
        host._dataflows[100], host._branches[100] = InTheWay(host), Forked(host)
        try:
            assert host.failures() == []
            assert len(host._branches) > 1
        finally:
            host._branches.clear()
            host._dataflows.clear()
            host._dataflows.update(ours)


def test_a_worker_that_is_told_more_as_fast_as_it_obeys_goes_on_with_its_loops():
    with Master(workers=1, engine=SimulationEngine(1, seed=5)) as master:
        loop = master.start(BreadthFirstSearch(source=1), "hops")
        [host] = master._hosts
        looked = []

        def look_again(*_):
            looked.append(host._worker.statistics().steps)
            if len(looked) < 1_000:
                host.post(command)

        command = LookAround(loop.stream.number, 1, 1, look_again)
        host.post(command)
        while len(looked) < 1_000:
            host.step()
        assert max(looked.count(step) for step in looked) < 100
