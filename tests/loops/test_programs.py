"""Other selective programs than shortest paths come to the fixed point of a plain relaxation."""

from collections import defaultdict

import numpy as np
import pytest

from apps.sssp import ShortestPaths
from apps.widest_path import WidestPath
from tests.loops.lowest import Lowest
from tests.loops.streaming import TIMEOUT_S
from tornado import EdgeBatch
from tornado.engine import SimulationEngine
from tornado.errors import ConnectionLost, InvalidArgument, UnknownField
from tornado.loops import BranchState, Master
from tornado.testing import GraphModel, batches, mixed, random_multigraph


def fixed_point(program, edges):
    """The plainest of all: relax every edge until nothing changes."""
    triples = list(zip(edges.src.tolist(), edges.dst.tolist(), edges.weight.tolist(), strict=True))
    values = defaultdict(lambda: program.worst)
    for vertex in {end for src, dst, _ in triples for end in (src, dst)}:
        values[vertex] = program.initial(vertex, *program.arguments())
    changed = True
    while changed:
        changed = False
        for src, dst, weight in triples:
            if values[src] != program.worst:
                offer = program.offer(values[src], weight)
                if program.better(offer, values[dst]):
                    values[dst] = offer
                    changed = True
    return values


PROGRAMS = [WidestPath(source=0), Lowest()]


@pytest.mark.parametrize("bound", [1, 64, None])
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: type(program).__name__)
def test_a_program_comes_to_its_fixed_point(program, workers, bound):
    model = GraphModel()
    stream = mixed(random_multigraph(60, 500, seed=workers), seed=4)
    with Master(workers=workers) as master:
        loop = master.start(program, "of a test", bound)
        records = 0
        for batch in batches(stream, 100):
            loop.admit(batch, "stream", records := records + len(batch))
            model.apply(batch)
            branch = loop.fork()
            assert branch.wait(TIMEOUT_S)
            assert branch.state is BranchState.CONVERGED, branch.error
            expected = fixed_point(program, model.edges())
            ids, values = branch.values().arrays()
            wanted = [
                expected[vertex] if vertex in expected else program.initial(vertex, *program.arguments())
                for vertex in ids.tolist()
            ]
            assert values.tolist() == wanted
            check_top(branch.values(), ids, values, program)
            branch.release()


def check_top(found, ids, values, program):
    reached = values != program.worst
    sign = -1 if program.rank == "highest" else 1
    order = np.lexsort((ids[reached], sign * values[reached]))[:10]
    top_ids, top_values = found.top(10)
    assert top_ids.tolist() == ids[reached][order].tolist()
    assert top_values.tolist() == values[reached][order].tolist()


def test_a_branch_with_other_parameters_has_its_own_answer():
    stream = random_multigraph(40, 200, seed=3)
    with Master(workers=2) as master:
        loop = master.start(WidestPath(source=0), "widest")
        loop.admit(stream.records(), "stream", len(stream))
        for source in (1, 2, 3):
            branch = loop.fork(parameters={"source": source})
            assert branch.wait(TIMEOUT_S)
            expected = fixed_point(WidestPath(source=source), stream)
            ids, values = branch.values().arrays()
            assert values.tolist() == [expected[vertex] for vertex in ids.tolist()]
        with pytest.raises(UnknownField, match="WidestPath has no parameter 'target'"):
            loop.fork(parameters={"target": 2})


def test_a_delay_bound_below_one_is_refused():
    with Master() as master, pytest.raises(InvalidArgument, match="delay bound 0 is not possible"):
        master.start(WidestPath(source=0), "widest", 0)


@pytest.mark.parametrize("delay_bound", [2**70, 1.5, True, "4"])
def test_a_delay_bound_that_is_no_whole_number_of_iterations_is_refused_before_anything_starts(delay_bound):
    with Master() as master, pytest.raises(InvalidArgument, match="must be a whole number from 1 to"):
        master.start(WidestPath(source=0), "widest", delay_bound)


@pytest.mark.parametrize("source", [2**64, -(2**63) - 1, 1.5, True, "1"])
def test_a_parameter_that_is_not_what_its_field_declares_is_refused_before_anything_starts(source):
    with Master() as master, pytest.raises(InvalidArgument, match=r"source is .* but must be an integer"):
        master.start(WidestPath(source=source), "widest")


def test_a_closed_loop_admits_nothing_and_says_so():
    with Master() as master:
        loop = master.start(WidestPath(source=0), "widest")
    with pytest.raises(ConnectionLost, match="stream widest was closed"):
        loop.admit(EdgeBatch.of([0], [1], [1.0]), "pushed", 1)


def test_a_branch_that_ends_on_a_worker_while_it_is_cancelled_is_cancelled():
    engine = SimulationEngine(1, seed=1)
    with Master(workers=1, engine=engine) as master:
        loop = master.start(ShortestPaths(source=0), "chain")
        length = 200_000
        loop.admit(EdgeBatch.of(np.arange(length), np.arange(1, length + 1)), "chain", length)
        loop.wait_idle()
        branch = loop.fork(parameters={"source": 1})
        while not branch.processors:
            engine.step(1)
        assert branch.state is BranchState.RUNNING
        part = branch.processors[0]
        branch.add_done_callback(lambda ended: ended.finished(0, part))  # what a worker may do at this moment
        branch.cancel()
        assert branch.state is BranchState.CANCELLED
        assert branch.progress().updates >= 0
        branch.release()
