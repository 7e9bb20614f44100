"""Certificates of values that are not normalised, as shares of each: never violated in any schedule, and none where there is no answer."""

import math
from functools import partial
from random import Random

import numpy as np
import pytest

import tornado
from apps.absorbing_walk import AbsorbingWalk
from apps.connected_components import ConnectedComponents
from apps.katz import Katz
from tests.kinds.accumulative.test_conservation import check_conserved, records, values_of
from tests.kinds.accumulative.truth import Multigraph, share_off, spectral_radius, walks
from tornado.engine import SimulationEngine
from tornado.errors import InternalError
from tornado.kernel_modules import load_module
from tornado.kinds.accumulative import norms, program
from tornado.kinds.accumulative.bound import relative_bound_of
from tornado.kinds.accumulative.compile import generated_source
from tornado.kinds.accumulative.coordinator import Coordinator
from tornado.loops import BranchState, Master
from tornado.records.edge_batch import EdgeBatch

SOLVER = 1e-12  # of the solver itself, near the spectral radius 1
WAIT_S = 60


def oracle_of(loop_program):
    if isinstance(loop_program, Katz):
        return {"factor": loop_program.alpha, "base": loop_program.beta}
    return {"factor": 1.0, "absorption": loop_program.absorption}


def furthest(heard, sums, base):
    """The greatest difference of sums, in units of the base."""
    return max((abs(heard[vertex] - sums[vertex]) / base for vertex in sums), default=0.0)


def check_answer(branch, truth, tolerance):
    """What a branch says is right, whatever it says."""
    oracle = oracle_of(branch.program)
    matrix = {name: value for name, value in oracle.items() if name != "base"}
    radius = spectral_radius(truth.edges, truth.vertices, **matrix)
    certificate, found = branch.certificate, values_of(branch.values())
    assert all(math.isfinite(value) for value in found.values())
    if certificate["kind"] == "bound":
        assert certificate["norm"] == "relative"
        assert radius < 1
        solver = SOLVER / max(1 - radius, 1e-12)
        assert share_off(found, walks(truth.edges, truth.vertices, **oracle)) <= certificate["bound"] + solver
        assert (branch.state is BranchState.CONVERGED) == (certificate["bound"] <= tolerance)
        return "bound"
    assert branch.state is BranchState.STOPPED
    if "reason" in certificate:
        assert certificate == {"kind": "none", "reason": "diverged"}
        assert radius >= 1 - 1e-9
        return "diverged"
    assert certificate == {"kind": "none"}
    return "none"


def parameters_of(random, loop_program):
    if isinstance(loop_program, Katz):
        return {
            "alpha": random.choice([0.01, 0.1, 0.2, 0.5, 1.0]),
            "beta": random.choice([1.0, 1.0, 0.01, 50.0]),
        }
    return {"absorption": random.choice([0.1, 1.0, 10.0])}


def run(seed, *, batches=6, found=None):
    """One schedule: records, forks with and without an end, some of no iterations, some stopped."""
    random = Random(seed)
    workers, bound = random.choice([1, 1, 2, 2, 3]), random.choice([1, 2, 64, None])
    accuracy, tolerance = 10.0 ** -random.randrange(1, 6), 10.0 ** -random.randrange(3, 11)
    kind = Katz if seed % 3 else AbsorbingWalk
    said = [] if found is None else found
    alive, truth, asked = [], Multigraph(), []
    with Master(None, workers, SimulationEngine(workers, seed=seed)) as master:
        begun = kind(accuracy=accuracy, tolerance=tolerance, **({"alpha": 0.1} if kind is Katz else {}))
        loop = master.start(begun, "sums", delay_bound=bound)
        offset = 0
        for _ in range(batches):
            batch = records(random, alive)
            offset += len(batch)
            loop.admit(batch, "records", offset)
            truth.apply(batch)
            master.engine.step(random.randrange(60))
            then = Multigraph()
            then.vertices = set(truth.vertices)
            then.edges = {ends: list(weights) for ends, weights in truth.edges.items()}
            parameters = parameters_of(random, begun) if random.random() < 0.7 else {}
            options = {"max_iterations": random.choice([0, 1, 3])} if random.random() < 0.3 else {}
            branch = loop.fork(parameters, **options)
            asked.append((branch, then, options.get("max_iterations")))
            if random.random() < 0.15:
                master.engine.step(random.randrange(200))
                branch.stop()
            master.engine.step(random.randrange(60))
        for branch, then, iterations in asked:
            assert branch.wait(WAIT_S)
            assert branch.error is None
            if iterations == 0:
                check_conserved(
                    branch, then, partial(furthest, base=oracle_of(branch.program).get("base", 1.0))
                )
            said.append(check_answer(branch, then, tolerance))
        assert loop.wait_idle(WAIT_S)
        oracle = oracle_of(begun)
        matrix = {name: value for name, value in oracle.items() if name != "base"}
        approximation = values_of(loop.approximation())
        assert all(math.isfinite(value) for value in approximation.values())
        if spectral_radius(truth.edges, truth.vertices, **matrix) < 0.9:
            expected = walks(truth.edges, truth.vertices, **oracle)
            # What was added to sums and taken from them while values had no end has left roundings behind.
            assert share_off(approximation, expected) <= 2 * accuracy + 1e-4


def run_all(seeds, found=None):
    for seed in seeds:
        try:
            run(seed, found=found)
        except Exception as error:
            raise AssertionError(f"schedule {seed}") from error


@pytest.mark.parametrize("group", range(4))
def test_bounds_hold_in_every_schedule_and_what_has_no_end_is_said_to_have_none(group):
    found = []
    run_all(range(15 * group, 15 * (group + 1)), found)
    assert {"bound", "diverged"} <= set(found)


@pytest.mark.soak
@pytest.mark.parametrize("group", range(10))
def test_they_do_in_a_thousand_schedules(group):
    run_all(range(1000 + 100 * group, 1000 + 100 * (group + 1)))


def finds_something(schedules=45):
    for seed in range(schedules):
        try:
            run(seed)
        except (AssertionError, InternalError):
            return True
    return False


def test_a_bound_that_does_not_count_what_waits_is_found(monkeypatch):
    def less(*, absolute, **others):
        return relative_bound_of(absolute=absolute / 20, **others)

    monkeypatch.setattr(norms, "relative_bound_of", less)
    assert finds_something()


@pytest.mark.soak
def test_a_proof_that_takes_less_than_it_must_is_found(monkeypatch):
    def load(functions):
        text = generated_source(functions)
        assert text.count("MOST_SURE = 1.0 - 1e-10") == 1
        return load_module(text.replace("MOST_SURE = 1.0 - 1e-10", "MOST_SURE = 0.5"))

    monkeypatch.setattr(program, "load_kernel", load)
    monkeypatch.setattr("tornado.kinds.accumulative.coordinator._FIRST_TRIAL", 1)
    assert finds_something()


def test_residuals_of_vertices_that_weigh_much_elsewhere_count_in_full(monkeypatch):
    """The norm is the greatest residual over the base: the least one is no bound."""
    joined = norms.norm_named("relative").joined_in_kernel
    assert joined(1.0, 2.0) == 2.0
    monkeypatch.setattr(
        type(norms.norm_named("relative")), "joined", lambda _, numbers: min(numbers, default=0.0)
    )
    assert finds_something()


# Values without an end


def cycle(length, weight=1.0):
    ids = np.arange(length)
    return EdgeBatch.of(ids, (ids + 1) % length, np.full(length, weight))


def answer(loop, wait_s=WAIT_S, **parameters):
    branch = loop.fork(parameters)
    assert branch.wait(wait_s)
    assert branch.error is None
    found = branch.state, branch.certificate, values_of(branch.values())
    branch.release()
    return found


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("backwards", [False, True], ids=["with the rows", "against the rows"])
@pytest.mark.parametrize("alpha", [1.0, 1.0 + 1e-12, 1.01, 2.0, 1e6, 1e100])
def test_a_cycle_that_gives_back_what_it_gets_has_no_values(workers, backwards, alpha):
    """Also where the spectral radius is 1 to the last digit, and values would grow by as much in each round for ever."""
    with Master(workers=workers) as master:
        loop = master.start(Katz(), "katz")
        edges = cycle(40)
        loop.admit(EdgeBatch.of(edges.dst, edges.src) if backwards else edges, "edges", len(edges))
        loop.admit(
            EdgeBatch.of([100, 5, 200], [0, 101, 201]), "edges", len(edges) + 3
        )  # to it, from it, beside it
        state, certificate, _ = answer(loop, alpha=alpha)
        assert (state, certificate) == (BranchState.STOPPED, {"kind": "none", "reason": "diverged"})


@pytest.mark.parametrize("workers", [1, 2])
def test_just_below_there_are_values_and_they_are_found(workers):
    with Master(workers=workers) as master:
        loop = master.start(Katz(tolerance=1e-4), "katz")
        edges = cycle(5)
        loop.admit(edges, "edges", len(edges))
        for alpha in (0.9, 0.99, 0.999):
            state, certificate, found = answer(loop, alpha=alpha)
            assert state is BranchState.CONVERGED
            assert found == pytest.approx(
                dict.fromkeys(range(5), 1 / (1 - alpha)), rel=certificate["bound"] + 1e-12
            )
        assert answer(loop, alpha=1 - 1e-12)[1] == {"kind": "none", "reason": "diverged"}


@pytest.mark.parametrize("workers", [1, 2])
def test_a_small_part_without_end_is_found_beside_a_large_one_that_converges_slowly(workers):
    with Master(workers=workers) as master:
        loop = master.start(Katz(alpha=0.5), "katz")
        slow, fast = cycle(300, 1.99), EdgeBatch.of([1000, 1001, 3], [1001, 1000, 1000], [2.1, 2.1, 1.0])
        loop.admit(slow, "edges", len(slow))
        loop.admit(fast, "edges", len(slow) + len(fast))
        assert answer(loop)[1] == {"kind": "none", "reason": "diverged"}
        loop.admit(
            EdgeBatch(np.array([1000]), np.array([1001]), np.array([2.1]), np.array([-1], np.int8)),
            "edges",
            304,
        )
        state, certificate, found = answer(loop)
        assert state is BranchState.CONVERGED
        assert found[7] == pytest.approx(1 / (1 - 0.995), rel=certificate["bound"] + 1e-12)


def test_values_that_are_only_too_large_are_not_said_to_have_no_end():
    """A chain has an end whatever its weights are; but near 1e30 of the base nothing is certain."""
    with Master(workers=2) as master:
        loop = master.start(Katz(alpha=1.0), "katz")
        chain = EdgeBatch.of([1, 2, 3], [2, 3, 4], [1e10, 1e10, 1e10])
        loop.admit(chain, "edges", 3)
        state, certificate, _ = answer(loop)
        assert (state, certificate) == (BranchState.STOPPED, {"kind": "none"})
        state, certificate, found = answer(loop, alpha=1e-10)
        assert state is BranchState.CONVERGED
        assert found == pytest.approx({1: 1.0, 2: 2.0, 3: 3.0, 4: 4.0}, rel=certificate["bound"] + 1e-14)


@pytest.mark.parametrize("workers", [1, 2])
def test_the_main_loop_is_near_again_when_the_edges_have_gone_that_gave_no_end(workers):
    with Master(workers=workers) as master:
        loop = master.start(Katz(alpha=0.5), "katz")
        edges = cycle(20)
        loop.admit(edges, "edges", len(edges))
        more = EdgeBatch.of(edges.src, edges.dst, np.full(20, 9.0))
        loop.admit(more, "edges", 40)
        assert loop.wait_idle(WAIT_S)
        assert all(1e9 <= value <= 1e11 for value in values_of(loop.approximation()).values())
        assert answer(loop)[1] == {"kind": "none", "reason": "diverged"}
        less = EdgeBatch(more.src, more.dst, more.weight, np.full(20, -1, np.int8))
        loop.admit(less, "edges", 60)
        assert loop.wait_idle(WAIT_S)
        assert values_of(loop.approximation()) == pytest.approx(dict.fromkeys(range(20), 2.0), rel=1e-2)
        state, certificate, found = answer(loop)
        assert state is BranchState.CONVERGED
        assert found == pytest.approx(dict.fromkeys(range(20), 2.0), rel=certificate["bound"] + 1e-14)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("walk", [AbsorbingWalk(), Katz(alpha=0.02)])
def test_a_loop_that_begins_on_a_graph_that_is_there_comes_to_rest_near_its_values(workers, walk):
    random, truth = np.random.default_rng(1), Multigraph()
    batch = EdgeBatch.of(*random.integers(15, size=(2, 200)))
    truth.apply(batch)
    with tornado.open("memory:", workers=workers) as session:
        components = session.start(ConnectedComponents(), "components")
        components.insert(batch.src, batch.dst)
        assert components.wait_idle(WAIT_S)
        loop = session.start(walk, "walk", stream="components")
        assert loop.wait_idle(WAIT_S)
        assert loop.statistics().pending == 0
        found = loop.read().values
    assert share_off(found, walks(truth.edges, truth.vertices, **oracle_of(walk))) <= walk.accuracy


def test_a_stop_in_the_middle_of_a_trial_leaves_the_values_that_there_were(monkeypatch):
    """However many steps were made: the values are some that sweeps came to, and the bound holds."""
    monkeypatch.setattr("tornado.kinds.accumulative.coordinator._FIRST_TRIAL", 1)
    truth, edges = Multigraph(), cycle(30, 1.9)
    truth.apply(edges)
    truth.apply(EdgeBatch.of([3, 7], [11, 2]))
    expected = walks(truth.edges, truth.vertices, 0.5)
    trials = 0
    begun = Coordinator._try

    def counted(self, trial):
        nonlocal trials
        trials += 1
        return begun(self, trial)

    monkeypatch.setattr(Coordinator, "_try", counted)
    for steps in range(0, 400, 9):
        with Master(None, 2, SimulationEngine(2, seed=steps)) as master:
            loop = master.start(Katz(alpha=0.5, accuracy=10.0), "katz")
            loop.admit(edges, "edges", 30)
            loop.admit(EdgeBatch.of([3, 7], [11, 2]), "edges", 32)
            branch = loop.fork({"tolerance": 1e-12})
            master.engine.step(steps)
            branch.stop()
            assert branch.wait(WAIT_S)
            if branch.certificate["kind"] == "bound":
                assert share_off(values_of(branch.values()), expected) <= branch.certificate["bound"] + SOLVER
            assert all(0.9 <= value <= 1000 for value in values_of(branch.values()).values())
            branch.release()
    assert trials > 50
