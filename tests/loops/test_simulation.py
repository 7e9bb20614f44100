"""Whole loops under hundreds of seeds, each judged by the laws of `tornado.simulation`; `make soak` runs thousands."""

import os
import subprocess
import sys
from pathlib import Path
from random import Random

import numpy as np
import pytest

from apps.sssp import ShortestPaths
from tests.loops.interpreted import interpreted, judged, on_kernel
from tests.shortened import in_soak, shortened
from tornado.engine import SimulationEngine
from tornado.errors import LawBroken
from tornado.kinds.selective.processor import SelectiveProcessor
from tornado.loops import Master
from tornado.records.edge_batch import EdgeBatch
from tornado.simulation import LeastSums, simulate, synchronous_rounds
from tornado.testing import edge_list, exact_distances, random_multigraph

ROOT = Path(__file__).resolve().parents[2]
A_BLOCK = 50


def ran(seeds, **options):
    runs = [simulate(seed, **options) for seed in seeds]
    print(
        f"{seeds}: {sum(run.branches for run in runs)} branches, {sum(run.updates for run in runs)} commits, "
        f"{sum(run.prepares for run in runs)} prepares, {sum(run.waves for run in runs)} waves"
    )
    return runs


@pytest.mark.parametrize("block", shortened(range(5), 3))
def test_no_schedule_breaks_a_law(block):
    runs = ran(range(block * A_BLOCK, (block + 1) * A_BLOCK))
    assert {run.workers for run in runs} == {1, 2, 3, 4}
    assert {run.delay_bound for run in runs} == {1, 2, 4, 64, None, "auto"}
    assert sum(run.branches for run in runs) > A_BLOCK
    assert sum(run.prepares for run in runs) > A_BLOCK / 2
    assert sum(run.waves for run in runs) > 0


@pytest.mark.parametrize("seeds", [A_BLOCK, in_soak(4 * A_BLOCK)])
def test_loops_come_to_their_end_on_little_fuel(monkeypatch, seeds):
    """Scans are cut short everywhere, and messages find the fuel used up by what is to be finished before them."""
    monkeypatch.setattr("tornado.kinds.selective.processor.FUEL", 2)
    monkeypatch.setattr("tornado.kinds.selective.main_processor.FUEL", 256)
    monkeypatch.setattr(SelectiveProcessor._advance, "__defaults__", (64,))
    ran(range(seeds))


@pytest.mark.soak
@pytest.mark.parametrize("block", range(10, 410))
def test_no_schedule_breaks_a_law_in_the_long_run(block):
    ran(range(block * A_BLOCK, (block + 1) * A_BLOCK))


def test_synchronous_loops_prepare_nothing_and_the_others_do():
    prepares = {None: 0, 1: 0, 2: 0, 4: 0, 64: 0, "auto": 0}
    for run in ran(range(40)):
        prepares[run.delay_bound] += run.prepares
    assert prepares.pop(1) == 0
    assert all(prepares.values()), prepares


def test_the_same_seed_gives_the_same_run():
    for seed in (3, 5, 11):
        assert simulate(seed) == simulate(seed)
    assert len({simulate(seed).trace for seed in range(10)}) == 10


def instants(seed):
    """Of the snapshots of a run, which pauses here and there; and how long its branches took."""
    engine, random = SimulationEngine(3, seed=seed), Random(seed)
    with Master(workers=3, engine=engine) as master:
        loop = master.start(LeastSums(source=0), "timed")
        found = []
        for version in range(1, 8):
            src, dst = [random.randrange(20)], [random.randrange(20)]
            assert loop.admit(EdgeBatch.of(src, dst), "edges", version) == version
            engine.step(random.randrange(50))
            branch = loop.fork()
            branch.wait()
            found.append((branch.snapshot.instant, branch.progress().elapsed_s))
        loop.checkpoint()
        found.append((loop.snapshots()[-1].instant, 0.0))
        return found


def test_the_same_seed_gives_snapshots_of_the_same_instants():
    found = [instants(seed) for seed in range(6)]
    assert found == [instants(seed) for seed in range(6)]
    assert len({str(one) for one in found}) == 6
    for one in found:
        moments = [instant for instant, _ in one]
        assert moments == sorted(set(moments))
        assert all(elapsed_s > 0 for _, elapsed_s in one[:-1])


def test_the_same_seed_gives_the_same_run_in_another_process():
    program = "from tornado.simulation import simulate; print(simulate(6).trace)"
    traces = {
        subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
        ).stdout.strip()
        for hash_seed in ("1", "2")
    }
    assert traces == {simulate(6).trace}


def test_a_broken_law_names_its_seed():
    class TooLong(LeastSums):
        @staticmethod
        def offer(value, weight):
            return value + weight + 1.0

    with pytest.raises(LawBroken, match=r"seed 3: .* whose distance is"), np.errstate(over="ignore"):
        simulate(3, program=on_kernel(interpreted(program=TooLong)))


def test_the_program_of_the_simulation_is_that_of_the_app():
    assert LeastSums.kernel() is ShortestPaths.kernel()


def test_the_plain_synchronous_iteration_ends_with_the_distances():
    for seed in range(20):
        edges = random_multigraph(12, 40, seed=seed)
        values = {}
        for one in synchronous_rounds(edges, 3):
            assert all(value < values.get(vertex, np.inf) for vertex, value in one.items())
            values |= one
        right = exact_distances(edges, 3)
        assert [values.get(vertex, np.inf) for vertex in right.ids.tolist()] == right.values.tolist()


def test_the_plain_synchronous_iteration_works_round_by_round():
    edges = edge_list((1, 2, 5.0), (1, 3, 1.0), (3, 2, 1.0), (2, 4, 1.0))
    assert synchronous_rounds(edges, 1) == [{1: 0.0}, {2: 5.0, 3: 1.0}, {2: 2.0, 4: 6.0}, {4: 3.0}]


@pytest.mark.parametrize("seeds", [8, in_soak(20)])
def test_the_kernel_that_python_runs_does_the_same_as_the_compiled_one(seeds):
    program = on_kernel(interpreted())
    with np.errstate(over="ignore"):
        for seed in range(seeds):
            assert simulate(seed, program=program) == simulate(seed)


@pytest.mark.parametrize("block", shortened(range(2), 1))
def test_every_commit_and_gather_keeps_the_rules_of_the_protocol(block):
    program = on_kernel(judged(interpreted()))
    with np.errstate(over="ignore"):
        runs = ran(range(block * A_BLOCK, (block + 1) * A_BLOCK), program=program)
    assert sum(run.updates for run in runs) > 100
