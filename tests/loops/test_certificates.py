"""What a branch says of its values is true of them: exact at its end, on one side of the exact ones where it was stopped."""

from dataclasses import dataclass

import numpy as np
import pytest

from apps.bfs import BreadthFirstSearch
from apps.reachability import Reachability
from apps.sssp import ShortestPaths
from apps.widest_path import WidestPath
from tests.loops.general_programs import Paths
from tests.loops.test_programs import fixed_point
from tornado import SelectiveProgram
from tornado.engine import SimulationEngine
from tornado.loops import BranchState, Master
from tornado.testing import GraphModel, batches, mixed, random_multigraph
from tornado.testing.streams import Mix

WAIT_S = 120.0


@pytest.mark.parametrize(
    ("program", "side"),
    [
        (ShortestPaths(source=1), "upper"),
        (BreadthFirstSearch(source=1), "upper"),
        (Reachability(sources=(1,)), "upper"),
        (WidestPath(source=1), "lower"),
        (Paths(source=1), None),
    ],
    ids=lambda given: type(given).__name__,
)
def test_the_side_of_a_program_is_that_of_its_worse_values(program, side):
    assert program.stopped_side == side


@dataclass(frozen=True)
class LeastRoot(SelectiveProgram):
    """An order for numbers above 0 only."""

    @staticmethod
    def better(value, other):
        return 1 / value > 1 / other


def test_a_program_whose_order_is_not_that_of_numbers_claims_no_side():
    assert LeastRoot().stopped_side is None


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("bound", [1, 64, None])
@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("program", [ShortestPaths(source=0), WidestPath(source=0)], ids=["upper", "lower"])
def test_a_stopped_branch_is_on_the_side_that_it_says_whatever_was_removed(program, workers, bound, seed):
    records = mixed(random_multigraph(80, 400, seed=seed), seed=seed, mix=Mix(removal=0.8))
    model, admitted, worse = GraphModel(), 0, 0
    with Master(workers=workers, engine=SimulationEngine(workers, seed=seed)) as master:
        loop = master.start(program, "removals", bound)
        for number, batch in enumerate(batches(records, 60)):
            admitted += len(batch)
            loop.admit(batch, "stream", admitted)
            model.apply(batch)
            # At every other batch the main loop has announced nothing of what came since, and a branch has all of it to do.
            branches = [loop.fork(), loop.fork(max_iterations=1 + number % 3), loop.fork({"source": 1})]
            assert [branch.certificate for branch in branches] == [None, None, None]
            branches[0].stop()
            branches[2].stop()
            for branch, asked in zip(branches, (program, program, type(program)(source=1)), strict=True):
                assert branch.wait(WAIT_S)
                expected = fixed_point(asked, model.edges())
                ids, values = branch.values().arrays()
                initial = [asked.initial(vertex, *asked.arguments()) for vertex in ids.tolist()]
                exact = np.array(
                    [expected.get(vertex, alone) for vertex, alone in zip(ids.tolist(), initial, strict=True)]
                )
                if branch.state is BranchState.CONVERGED:
                    assert branch.certificate == {"kind": "exact"}
                    assert values.tolist() == exact.tolist()
                    continue
                assert branch.certificate == {"kind": "none", "side": program.stopped_side}
                beyond = values < exact if program.stopped_side == "upper" else values > exact
                assert not beyond.any(), (number, ids[beyond], values[beyond], exact[beyond])
                worse += int((values != exact).sum())
                branch.release()
            if number % 2:
                loop.wait_idle(WAIT_S)
    assert worse > 0


def test_a_branch_that_was_cancelled_has_no_certificate():
    with Master() as master:
        loop = master.start(ShortestPaths(source=0), "cancelled")
        branch = loop.fork()
        branch.cancel()
        assert branch.wait(WAIT_S)
        assert branch.certificate == ({"kind": "exact"} if branch.state is BranchState.CONVERGED else None)
