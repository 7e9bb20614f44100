"""Mass is conserved at every cut, in whatever order workers step and hear of each other, and no certificate is ever violated.

At a branch of no iterations everything is heard that was under way at its cut, and nobody has announced since. So there W is the sum
of the weights of a vertex's live out-edges, and s the sum of w * c over its live in-edges: whatever was lost, heard twice or told as
a difference shows in one of them.
"""

import math
from contextlib import contextmanager
from copy import deepcopy
from random import Random

import numpy as np
import pytest

from apps.pagerank import PageRank
from tests.kinds.accumulative.truth import Multigraph, distance, pagerank
from tornado.engine import SimulationEngine
from tornado.kinds.accumulative import branch_processor, main_processor, processor
from tornado.kinds.accumulative import loop_columns as names
from tornado.loops import BranchState, Master
from tornado.records.edge_batch import EdgeBatch
from tornado.records.operations import INSERT, REMOVE, REPLACE

SOLVER = 1e-14


def records(random, alive, *, vertices=12, size=10):
    """Edges that come, go and are replaced; parallel ones and self-loops; what is not there; weights of 0."""
    rows = []
    for _ in range(size):
        ends = random.randrange(vertices), random.randrange(vertices)
        weight, kind = random.choice([1.0, 1.0, 1.0, 0.25, 3.0, 0.0]), random.random()
        if kind < 0.55 or not alive:
            rows.append((*ends, weight, INSERT))
            alive.append((*ends, weight))
        elif kind < 0.85:
            source, target, weight = alive.pop(random.randrange(len(alive)))
            rows.append((source, target, math.nan if random.random() < 0.3 else weight, REMOVE))
        else:
            rows.append((*ends, weight, REPLACE if random.random() < 0.6 else REMOVE))
    source, target, weight, operation = zip(*rows, strict=True)
    return EdgeBatch(np.array(source), np.array(target), np.array(weight), np.array(operation, np.int8))


def of_parts(branch, name):
    """By vertex, what the worker that owns it has in a column."""
    found = {}
    for part in branch.processors:
        state = part.state
        rows = np.arange(state.rows_seen)
        rows = rows[(state.columns.flags[rows] & names.OWN) != 0]
        values = getattr(state.columns, name)[rows]
        found |= dict(zip(part.graph.columns.ids[rows].tolist(), values.tolist(), strict=True))
    return found


def check_conserved(branch, truth, far=distance):
    """`far` is how far sums by vertex are apart, in the norm that the program's roundings are counted in."""
    weight, degree, share, heard = (of_parts(branch, one) for one in ("weight", "degree", "share", "heard"))
    assert weight.keys() == truth.vertices
    out_weight, out_degree, sums = (dict.fromkeys(truth.vertices, 0.0) for _ in range(3))
    for (source, target), weights in truth.edges.items():
        real = [one for one in weights if one]
        out_weight[source] += math.fsum(real)
        out_degree[source] += len(real)
        sums[target] += math.fsum(real) * share[source]
    assert degree == out_degree
    assert weight == pytest.approx(out_weight, rel=1e-14, abs=0)
    drift = math.fsum(part.state.totals[names.DRIFT] for part in branch.processors)
    assert far(heard, sums) <= 2.0**-52 * drift + 1e-15


def values_of(values):
    ids, found = values.arrays()
    return dict(zip(ids.tolist(), found.tolist(), strict=True))


@contextmanager
def pulling_or_pushing(seed):
    """In small graphs most would be pulled: half of the schedules only push."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (main_processor, branch_processor):
            patch.setattr(module, "DENSE_SHARE", 0 if seed % 2 else processor.DENSE_SHARE)
        yield


def run(seed, *, batches=8):
    """One schedule, see `run_schedule`."""
    random = Random(seed)
    workers = random.choice([1, 2, 2, 3, 4])
    with pulling_or_pushing(seed):
        run_schedule(random, workers, seed, batches)


def run_schedule(random, workers, seed, batches):
    """Records, forks of no iterations and others, some of them stopped."""
    bound = random.choice([1, 2, 5, 64, None])
    alive, truth, asked = [], Multigraph(), []
    with Master(None, workers, SimulationEngine(workers, seed=seed)) as master:
        program = PageRank(
            accuracy=10.0 ** -random.randrange(1, 7), tolerance=10.0 ** -random.randrange(3, 11)
        )
        loop = master.start(program, "ranks", delay_bound=bound)
        offset = 0
        for _ in range(batches):
            batch = records(random, alive)
            offset += len(batch)
            loop.admit(batch, "records", offset)
            truth.apply(batch)
            master.engine.step(random.randrange(60))
            then = deepcopy(truth)
            kind = random.random()
            damping = random.choice([0.85, 0.85, 0.5])
            named = random.choice([(), (), (1,), (5, 2, 5), (99,)])
            options = {"max_iterations": random.choice([0, 0, 1, 3])} if kind < 0.6 else {}
            branch = loop.fork({"damping": damping, "personalisation": named}, **options)
            asked.append((branch, then, (damping, named), options.get("max_iterations")))
            if random.random() < 0.2:
                master.engine.step(random.randrange(30))
                branch.stop()
            master.engine.step(random.randrange(60))
        for branch, then, parameters, iterations in asked:
            assert branch.wait(60)
            assert branch.error is None
            expected = pagerank(then.edges, then.vertices, *parameters)
            if iterations == 0:
                check_conserved(branch, then)
            certificate, found = branch.certificate, values_of(branch.values())
            assert distance(found, expected) <= certificate["bound"] + SOLVER
            assert (branch.state is BranchState.CONVERGED) == (certificate["bound"] <= program.tolerance)
            if any(expected.values()):
                assert math.fsum(found.values()) == pytest.approx(1, abs=1e-14)
        assert loop.wait_idle(60)
        found = values_of(loop.approximation())
        assert distance(found, pagerank(truth.edges, truth.vertices, 0.85)) <= 2 * program.accuracy


def run_with_few_edges(seed, *, records=60):
    """Edges of one vertex to vertices on several workers come and go one by one: it begins and ends to announce again and again."""
    random, truth, alive, asked = Random(seed), Multigraph(), set(), []
    with pulling_or_pushing(seed), Master(None, 4, SimulationEngine(4, seed=seed)) as master:
        bound = random.choice([1, 2, 64, None])
        loop = master.start(PageRank(accuracy=1e-8, tolerance=1e-10), "ranks", delay_bound=bound)
        for offset in range(1, records):
            ends = 0, random.randrange(1, 5)
            operation = REMOVE if ends in alive else INSERT
            alive ^= {ends}
            batch = EdgeBatch(*np.array([ends]).T, np.ones(1), np.array([operation], np.int8))
            loop.admit(batch, "records", offset)
            truth.apply(batch)
            master.engine.step(random.choice([0, 0, 3, 10, 20]))
            if random.random() < 0.3:
                asked.append((loop.fork({"personalisation": (1,)}), deepcopy(truth)))
        for branch, then in asked:
            assert branch.wait(60)
            assert branch.state is BranchState.CONVERGED
            expected = pagerank(then.edges, then.vertices, 0.85, (1,))
            assert distance(values_of(branch.values()), expected) <= branch.certificate["bound"] + SOLVER


def run_all(seeds, run=run):
    for seed in seeds:
        try:
            run(seed)
        except Exception as error:
            raise AssertionError(f"schedule {seed}") from error


@pytest.mark.parametrize("group", range(4))
def test_mass_is_conserved_at_cuts_and_bounds_hold_in_every_schedule(group):
    run_all(range(15 * group, 15 * (group + 1)))


def test_bounds_hold_where_a_vertex_begins_and_ends_to_announce_again_and_again():
    run_all(range(150, 220), run_with_few_edges)


@pytest.mark.soak
@pytest.mark.parametrize("group", range(10))
def test_they_are_in_a_thousand_schedules(group):
    run_all(range(1000 + 100 * group, 1000 + 100 * (group + 1)))
