"""Programs whose vertices pass on less than they have: their answers are within their bounds, of values that sums have room for."""

from dataclasses import dataclass

import numpy as np
import pytest

import tornado
from tornado import AccumulativeProgram

TIMEOUT_S = 60
VERTICES = 40


@dataclass(frozen=True)
class Lossy(AccumulativeProgram):
    """Passes on a part of what it is worth that may be nothing, all, or anything between."""

    passed_on: float = 0.85
    added: float = 1.0
    times: float = 1.0
    scale: float = 1.0

    @property
    def has_bases(self):
        return True

    @staticmethod
    def base(vertex, passed_on, added, times, scale):
        return scale * (vertex % 3)

    @staticmethod
    def divisor(out_weight, passed_on, added, times, scale):
        return max(out_weight * times, added)

    @staticmethod
    def factor(passed_on, added, times, scale):
        return passed_on


def exact(program, edges):
    """The normalised values, as a system of linear equations has them."""
    matrix = np.zeros((VERTICES, VERTICES))
    weights = np.zeros(VERTICES)
    for src, _, weight in edges:
        weights[src] += weight
    parameters = program.passed_on, program.added, program.times, program.scale
    for src, dst, weight in edges:
        matrix[dst, src] += program.passed_on * weight / program.divisor(weights[src], *parameters)
    bases = np.array([float(vertex % 3) for vertex in range(VERTICES)])
    values = np.linalg.solve(np.eye(VERTICES) - matrix, bases)
    return values / values.sum()


def asked(loop):
    result = loop.query().result(TIMEOUT_S)
    values = np.zeros(VERTICES)
    values[list(result.values)] = list(result.values.values())
    return values, result.certificate["bound"]


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize(("added", "times"), [(1.0, 1.0), (1.0, 3.0), (100.0, 1.0), (0.0, 1.0)])
def test_answers_are_within_their_bounds_whatever_is_kept_back(workers, added, times):
    random = np.random.default_rng([workers, int(added), int(times)])
    program = Lossy(added=added, times=times, tolerance=1e-9)
    edges = [(vertex, (vertex + 1) % VERTICES, 0.01) for vertex in range(VERTICES)]
    with tornado.open("memory:", workers=workers) as session:
        loop = session.start(program)
        loop.insert(*zip(*edges, strict=True))
        for _ in range(6):
            more = [
                (*random.integers(0, VERTICES, 2).tolist(), float(random.choice([0.01, 0.2, 3.0])))
                for _ in range(60)
            ]
            gone = [edges[at] for at in random.choice(len(edges), 20, replace=False)]
            loop.insert(*zip(*more, strict=True))
            loop.remove(*zip(*gone, strict=True))
            edges += more
            for edge in gone:
                edges.remove(edge)
            values, bound = asked(loop)
            assert np.abs(values - exact(program, edges)).sum() <= bound + 1e-13
            assert bound <= program.tolerance
        assert loop.wait_idle(TIMEOUT_S)
        near = np.array([loop.read().values.get(vertex, 0.0) for vertex in range(VERTICES)])
        assert np.abs(near / near.sum() - exact(program, edges)).sum() <= 0.01


@pytest.mark.parametrize("scale", [1e-100, 1e190, 1e250, 1e-290, 5e-324])
def test_bases_that_sums_have_no_room_for_end_with_a_bound_that_says_so(scale):
    edges = [(1, 2, 1.0), (2, 4, 1.0), (4, 5, 1.0), (5, 1, 1.0), (1, 4, 1.0), (3, 2, 1.0)]
    for passed_on in (0.0, 0.5):
        program = Lossy(passed_on=passed_on, scale=scale)
        with tornado.open("memory:") as session:
            loop = session.start(program)
            loop.insert(*zip(*edges, strict=True))
            values, bound = asked(loop)
        if 1e-200 <= scale <= 1e190:
            true = exact(program, edges)[:6]
            assert bound <= program.tolerance
            assert np.abs(values[:6] - true / true.sum()).sum() <= bound + 1e-13
        else:
            assert bound == 2.0
