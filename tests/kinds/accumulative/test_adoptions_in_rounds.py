"""A main loop takes over the values of a branch while its parts pull, measure or wait for each other, and records come in between."""

from random import Random

import pytest

from apps.pagerank import PageRank
from tests.kinds.accumulative.test_conservation import SOLVER, check_conserved, records, values_of
from tests.kinds.accumulative.truth import Multigraph, distance, pagerank
from tornado.engine import SimulationEngine
from tornado.kinds.accumulative import main_processor
from tornado.loops import Master
from tornado.records.edge_batch import EdgeBatch

WAIT_S = 60


def copy_of(truth):
    then = Multigraph()
    then.vertices = set(truth.vertices)
    then.edges = {ends: list(weights) for ends, weights in truth.edges.items()}
    return then


def run(seed, *, batches=8):
    """One schedule, in which all that is announced is pulled, a few edges at a time."""
    random = Random(seed)
    workers = random.choice([1, 2, 3, 4, 4])
    alive, truth, asked = [], Multigraph(), []
    with (
        pytest.MonkeyPatch.context() as patch,
        Master(None, workers, SimulationEngine(workers, seed=seed)) as master,
    ):
        patch.setattr(main_processor, "DENSE_SHARE", 1000)
        patch.setattr(main_processor, "FUEL", random.choice([1, 3, 8, 1 << 16, 1 << 16]))
        program = PageRank(accuracy=10.0 ** -random.randrange(2, 9), tolerance=1e-6)
        loop = master.start(program, "ranks", delay_bound=random.choice([1, 2, 4, None]))
        offset = 0

        def admit(batch):
            nonlocal offset
            offset += len(batch)
            loop.admit(batch, "records", offset)
            truth.apply(batch)

        admit(EdgeBatch.of([1, 2, 3], [2, 3, 1]))
        branch = loop.fork()
        assert branch.wait(WAIT_S)
        for _ in range(batches):
            admit(
                records(random, alive, vertices=random.choice([4, 12, 30]), size=random.choice([1, 10, 60]))
            )
            master.engine.step(random.randrange(200))
            for _ in range(random.randrange(3)):
                loop.adoption.adopt(branch)
                master.engine.step(random.randrange(80))
                asked.append((loop.fork(max_iterations=0), copy_of(truth)))
            if random.random() < 0.3:
                branch = loop.fork()
                assert branch.wait(WAIT_S)
        for certified, then in asked:
            assert certified.wait(WAIT_S)
            check_conserved(certified, then)
            expected = pagerank(then.edges, then.vertices, 0.85)
            assert (
                distance(values_of(certified.values()), expected) <= certified.certificate["bound"] + SOLVER
            )
        assert loop.wait_idle(WAIT_S)
        found = values_of(loop.approximation())
        assert distance(found, pagerank(truth.edges, truth.vertices, 0.85)) <= 2 * program.accuracy


@pytest.mark.parametrize("group", range(4))
def test_values_are_taken_over_in_the_middle_of_rounds(group):
    for seed in range(15 * group, 15 * (group + 1)):
        try:
            run(seed)
        except Exception as error:
            raise AssertionError(f"schedule {seed}") from error
