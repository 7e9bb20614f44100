"""A start ends with a loop that runs or with an error; what could not be started is gone, and what ran before goes on."""

import threading

import pytest

from apps.pagerank import PageRank
from apps.reachability import Reachability
from tests.engine.places import lose
from tests.kinds.brittle import BRITTLE, Brittle
from tests.kinds.conformance import values_of
from tests.kinds.toy.main_part import ToyMain
from tests.kinds.toy.program import InWeights
from tests.promised import eventually
from tornado.engine import SimulationEngine
from tornado.errors import InternalError
from tornado.kinds import KINDS
from tornado.loops import BranchState, Master, engines
from tornado.loops.parts import Parts
from tornado.loops.stream import RecordStream
from tornado.records.edge_batch import EdgeBatch

WAIT_S = 60.0
STAR = EdgeBatch.of([1, 2, 3, 4], [5, 5, 5, 5], [1.0, 2.0, 3.0, 4.0])


@pytest.fixture(autouse=True)
def brittle(monkeypatch):
    for name, module in BRITTLE.items():
        monkeypatch.setitem(KINDS, name, module)
    monkeypatch.setattr(engines, "_WORKER", "tests.kinds.brittle_worker")


def master_of(engine, workers):
    return Master(
        workers=workers, engine=SimulationEngine(workers, seed=5) if engine == "one seed" else engine
    )


def ended(call):
    """What a call returns or raises, in a thread of its own: it might never end."""
    found = []

    def run():
        try:
            found.append(call())
        except Exception as error:  # noqa: BLE001  it is looked at
            found.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(WAIT_S)
    assert found, "the start does not end"
    return found[0]


def check(loop, factor=1.0, times=1):
    assert loop.wait_idle(WAIT_S)
    branch = loop.fork()
    assert branch.wait(WAIT_S)
    for values in (loop.approximation(), branch.values()):
        assert values_of(values)[5] == 10.0 * factor * times


@pytest.mark.parametrize("engine", ["one seed", "threads", "processes"])
@pytest.mark.parametrize("at_fault", [0, 1])
def test_a_part_that_cannot_be_made_ends_the_start_with_an_error_and_nothing_else(engine, at_fault):
    with master_of(engine, 2) as master:
        before = master.start(InWeights(2.0), "before")
        before.admit(STAR, "edges", 4)
        for _ in range(2):
            error = ended(lambda: master.start(Brittle(float(at_fault)), "brittle"))
            assert isinstance(error, InternalError)
            assert f"loop 'brittle' cannot run: worker {at_fault} could not make its part" in str(error)
            assert "there is no such part" in str(error)
        assert list(master.loops) == ["before"]
        assert [loop.name for loop in master._running.values()] == ["before"]
        assert before.error is None
        before.admit(STAR, "edges", 8)
        check(before, 2.0, times=2)
        after = ended(lambda: master.start(InWeights(3.0), "brittle"))
        after.admit(STAR, "edges", 4)
        check(after, 3.0)
        if engine != "processes":
            for host in master._hosts:
                eventually(
                    lambda host=host: (
                        set(host._dataflows) == set(host._loops) == {before.number, after.number}
                    )
                )
                assert len(host._streams) == 2
        assert master.engine.losses == 0


def test_a_part_that_fails_in_its_very_first_step_makes_the_start_fail(monkeypatch):
    def step(self, real=ToyMain.step):
        if self.factor == 9.0:
            raise ArithmeticError("the first step")
        real(self)

    monkeypatch.setattr(ToyMain, "step", step)
    with master_of("one seed", 2) as master:
        before = master.start(InWeights(2.0), "before")
        before.admit(STAR, "edges", 4)
        with pytest.raises(RuntimeError, match="loop fails failed: ArithmeticError"):
            master.start(InWeights(9.0), "fails")
        assert list(master.loops) == ["before"]
        assert [loop.name for loop in master._running.values()] == ["before"]
        check(before, 2.0)
        after = master.start(InWeights(3.0), "fails")
        after.admit(STAR, "edges", 4)
        check(after, 3.0)


@pytest.mark.parametrize("moment", [(Parts, "await_installed"), (Master, "_installed")])
def test_a_loop_runs_whose_workers_are_lost_in_the_last_moment_of_its_start(moment, monkeypatch):
    where, what = moment
    real = getattr(where, what)
    with master_of("processes", 2) as master:

        def loses(self, *arguments):
            found = real(self, *arguments)
            if breaks:
                breaks.clear()
                lose(master)
                eventually(lambda: master.engine.recovered_s is not None)
            return found

        breaks = []
        monkeypatch.setattr(where, what, loses)
        before = master.start(InWeights(2.0), "before")
        before.admit(STAR, "edges", 4)
        breaks.append(True)
        started = ended(lambda: master.start(InWeights(3.0), "last"))
        assert sorted(master.loops) == ["before", "last"]
        assert len(master._running) == 2
        started.admit(STAR, "edges", 4)
        check(started, 3.0)
        check(before, 2.0)


def test_a_loop_that_counts_edges_begins_beside_others_when_new_workers_have_the_whole_graph(monkeypatch):
    """Otherwise what they were still to get came twice into the reverse lists, in which its vertices count what begins at them."""
    is_begun, goes_on = threading.Event(), threading.Event()
    replay = RecordStream.replay

    def replayed_late(self):
        is_begun.set()
        goes_on.wait(WAIT_S)
        yield from replay(self)

    with master_of("processes", 2) as master:
        before = master.start(Reachability(sources=(1,)), "before")
        before.admit(EdgeBatch.of([1, 2, 2], [2, 1, 3], [1.0, 1.0, 1.0]), "edges", 3)
        monkeypatch.setattr(RecordStream, "replay", replayed_late)
        lose(master)
        assert is_begun.wait(WAIT_S)
        started, begun = [], before.stream.reverse
        beside = threading.Thread(
            target=lambda: started.append(master.start(PageRank(rounds=2), "ranks", stream="before"))
        )
        beside.start()
        eventually(lambda: before.stream._stands_still)
        is_early = master.engine.wait_for(lambda: before.stream.reverse > begun, 0.3)
        goes_on.set()
        assert not is_early
        beside.join(WAIT_S)
        branch = started[0].fork()
        assert branch.wait(WAIT_S)
        found = values_of(branch.values())
    ranks = dict.fromkeys([1, 2, 3], 1 / 3)
    for _ in range(2):
        anywhere = (0.15 + 0.85 * ranks[3]) / 3  # nothing begins at 3
        ranks = {1: ranks[2] / 2, 2: ranks[1], 3: ranks[2] / 2}
        ranks = {vertex: anywhere + 0.85 * heard for vertex, heard in ranks.items()}
    assert found == pytest.approx(ranks, rel=1e-12)


def test_an_error_that_is_no_operators_fails_the_loops_though_one_had_failed_before(monkeypatch):
    def step(self, real=ToyMain.step):
        if self.factor == 9.0 and self._sequence:
            raise ArithmeticError("in a step")
        real(self)

    def fork(self, **_):
        raise ArithmeticError("in a fork")

    monkeypatch.setattr(ToyMain, "step", step)
    with master_of("one seed", 2) as master:
        fails = master.start(InWeights(9.0), "fails")
        fails.admit(STAR, "edges", 4)
        with pytest.raises(RuntimeError, match="in a step"):
            fails.wait_idle(WAIT_S)
        other = master.start(InWeights(2.0), "other")
        other.admit(STAR, "edges", 4)
        check(other, 2.0)
        monkeypatch.setattr(ToyMain, "fork", fork)
        branch = other.fork()
        assert branch.wait(WAIT_S)
        assert branch.state is BranchState.FAILED
        assert "in a fork" in str(branch.error)
