"""Branches that find nothing to do on any worker are over with their cut, or with their record, and cost no dataflow."""

import numpy as np
import pytest

from apps.connected_components import ConnectedComponents
from apps.sssp import ShortestPaths
from tests.loops.test_frontier import Held
from tests.promised import eventually
from tornado.engine import SimulationEngine
from tornado.kinds.selective.branch_processor import BranchProcessor
from tornado.kinds.selective.bundle import Rest, all_came
from tornado.kinds.selective.main_processor import MainProcessor
from tornado.loops import BranchState, Master
from tornado.records.edge_batch import EdgeBatch
from tornado.testing import batches, exact_distances, mixed, random_multigraph

WAIT_S = 60
EDGES = random_multigraph(200, 1500, seed=3)


def installed(master):
    return [host._worker.statistics().installed for host in master._hosts]


def roads(master, program=None):
    loop = master.start(ShortestPaths(source=0) if program is None else program, "roads")
    loop.admit(EDGES.records(), "edges", len(EDGES))
    assert loop.wait_idle(WAIT_S)
    return loop


def is_exact(branch, edges=EDGES):
    ids = np.arange(edges.vertices)
    values, known = branch.values().lookup(ids)
    return bool((values[known] == exact_distances(edges, 0).lookup(ids[known])).all())


def nothing_is_left(master):
    return not any(host._branches or host._worker._reserved or host._worker._early for host in master._hosts)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_a_question_of_a_loop_at_rest_is_exact_and_has_no_dataflow(workers):
    with Master(workers=workers) as master:
        loop = roads(master)
        before = installed(master)
        for _ in range(10):
            branch = loop.fork()
            assert branch.wait(WAIT_S)
            assert branch.state is BranchState.CONVERGED
            assert branch.certificate == {"kind": "exact"}
            assert is_exact(branch)
            branch.release()
        assert installed(master) == before
        eventually(lambda: nothing_is_left(master))


@pytest.mark.parametrize("workers", [1, 2])
def test_one_that_is_kept_for_its_ways_goes_with_a_loop_that_fails_and_others_go_on(workers):
    with Master(workers=workers) as master:
        loop = roads(master)
        other = master.start(ShortestPaths(source=1), "other", stream="roads")
        branch = loop.fork(reads_ways=True)
        assert branch.wait(WAIT_S)
        loop.fail(ZeroDivisionError("broken on purpose"))
        eventually(lambda: not any(loop.number in host._loops for host in master._hosts))
        assert nothing_is_left(master)
        assert other.wait_idle(WAIT_S)


@pytest.mark.parametrize("workers", [1, 2])
def test_one_that_begins_anew_or_is_limited_has_a_dataflow_on_each_worker(workers):
    with Master(workers=workers) as master:
        loop = roads(master)
        before = installed(master)
        for branch in (loop.fork({"source": 1}), loop.fork(max_iterations=1)):
            assert branch.wait(WAIT_S)
            branch.release()
        assert installed(master) == [count + 2 for count in before]
        eventually(lambda: nothing_is_left(master))


@pytest.mark.parametrize("seed", range(24))
def test_one_that_is_cancelled_between_its_record_and_its_cut_is_not_kept_for_its_ways(seed):
    engine = SimulationEngine(2, seed=seed)
    with Master(workers=2, engine=engine) as master:
        loop = roads(master)
        branch = loop.fork(reads_ways=True)
        engine.step(seed % 12)
        branch.cancel()
        branch.release()
        engine.step(2000)
        assert nothing_is_left(master)
        loop.remove()
        engine.step(2000)
        assert not any(host._loops for host in master._hosts)


@pytest.mark.parametrize("ends", ["cancel", "stop"])
@pytest.mark.parametrize("workers", [1, 2])
def test_one_that_is_ended_at_any_moment_leaves_nothing(workers, ends):
    """Some are over before, some after their cut, and some have a dataflow, because edges come all the time."""
    with Master(workers=workers) as master:
        loop = master.start(ConnectedComponents(), "parts")
        offset = 0
        for batch in batches(mixed(EDGES, seed=4), 20):
            offset += len(batch)
            loop.admit(batch, "edges", offset)
            branch = loop.fork()
            getattr(branch, ends)()
            assert branch.wait(WAIT_S)
            assert branch.state is not BranchState.FAILED
            branch.release()
        eventually(lambda: nothing_is_left(master))
        assert loop.wait_idle(WAIT_S)
        again = loop.fork()
        assert again.wait(WAIT_S)
        assert again.state is BranchState.CONVERGED


def test_with_schedules_that_are_random_some_are_over_with_their_cut_and_some_are_not():
    """So the simulation, which judges every answer, judges both."""
    had = set()
    for seed in range(20):
        with Master(workers=3, engine=SimulationEngine(3, seed=seed)) as master:
            loop = master.start(ShortestPaths(source=0), "roads")
            before = installed(master)
            for first in range(0, 300, 100):
                loop.admit(EDGES[first : first + 100].records(), "edges", first + 100)
                for main in (host._loops[loop.number] for host in master._hosts):
                    main.is_patient = seed % 2 == 0
                branch = loop.fork()
                assert branch.wait(WAIT_S)
                assert is_exact(branch, EDGES[: first + 100])
                now = installed(master)
                had.add(now == before)
                before = now
                branch.release()
    assert had == {True, False}


def test_who_knows_that_nothing_is_left_anywhere_is_through_with_its_record_and_awaits_no_marker(monkeypatch):
    """And all know the same: else one would wait for a dataflow that another has never made."""
    complete, record = BranchProcessor.cut_is_complete, MainProcessor._record_state
    at_record, at_cut = {}, {}

    def recorded(main, branch):
        record(main, branch)
        at_record[branch.number, main.worker] = branch.is_over_at_once

    def cut(branch, markers):
        complete(branch, markers)
        at_cut[branch.number, branch.worker] = branch.is_over_at_once

    monkeypatch.setattr(MainProcessor, "_record_state", recorded)
    monkeypatch.setattr(BranchProcessor, "cut_is_complete", cut)
    early = late = 0
    for seed in range(20):
        with Master(workers=3, engine=SimulationEngine(3, seed=seed)) as master:
            loop = master.start(ShortestPaths(source=0), "roads")
            for first in range(0, 300, 100):
                loop.admit(EDGES[first : first + 100].records(), "edges", first + 100)
                branch = loop.fork()
                assert branch.wait(WAIT_S)
                assert is_exact(branch, EDGES[: first + 100])
                branch.release()
                found = [at_cut.pop((branch.id, worker), True) for worker in range(3)]
                assert len(set(found)) == 1, (seed, found)
                early += any(at_record.pop((branch.id, worker)) for worker in range(3))
                late += not found[0]
    assert early >= 10, (early, late)


def test_a_question_is_answered_before_the_records_behind_it_are_applied():
    with Master(workers=1, engine=SimulationEngine(1, seed=1)) as master:
        loop = roads(master)
        branch = loop.fork()
        loop.admit(EDGES[:1000].records(), "edges", len(EDGES) + 1000)
        assert branch.wait(WAIT_S)
        assert loop.stream.workers.backlog() == 1000
        assert is_exact(branch)
        assert loop.wait_idle(WAIT_S)


def test_all_has_come_where_as_much_was_taken_in_as_was_sent_on_each_channel():
    assert all_came([Rest(5, (0, 3), (0, 1)), Rest(5, (1, 0), (3, 0))])
    assert not all_came([Rest(5, (0, 3), (0, 1)), Rest(5, (1, 0), (2, 0))])
    # Worker 1 said it before it took in a bundle and sent another, which worker 0 has taken in: the sums are even, and it may go on.
    assert not all_came([Rest(5, (0, 4), (0, 2)), Rest(5, (1, 0), (3, 0))])


def test_what_comes_behind_a_marker_is_taken_in_though_nothing_comes_after_it(compiled_paths):
    """Nobody calls a loop that asks nobody when others are further: who is let in by a record has to be seen to there."""
    with Master(workers=2) as master:
        loop = master.start(ShortestPaths(source=0), "roads")
        near, far = (
            [int(one) for one in np.flatnonzero(loop.partition.owners_of(np.arange(1, 200)) == owner) + 1]
            for owner in (loop.partition.owner_of(0), 1 - loop.partition.owner_of(0))
        )
        loop.admit(EdgeBatch.of([0, near[0]], [near[0], far[0]], [9.0, 1.0]), "edges", 2)
        assert loop.wait_idle(WAIT_S)
        for host in master._hosts:
            host.idle = lambda: None  # which would call the loop, to compact so small a graph
        first = loop.partition.owner_of(0)
        master._hosts[first]._loops[loop.number].is_patient = False
        with Held(master._hosts[1 - first]), Held(master._hosts[first]) as begins:
            loop.admit(EdgeBatch.of([0], [near[0]], [2.0]), "edges", 3)
            branch = loop.fork()
            begins.go_on()  # to record, and then to do what is left
            eventually(lambda: branch.processors)
            eventually(lambda: master._hosts[first]._loops[loop.number].traffic().is_idle)
        assert branch.wait(WAIT_S)
        assert branch.values().lookup(np.array(far[:1]))[0].tolist() == [3.0]
        assert loop.wait_idle(5)
        assert loop.approximation().lookup(np.array(far[:1]))[0].tolist() == [3.0]
