"""Losses against their definitions: conjugates by search, steps of dual ascent by search, exponentials by the standard library."""

import math

import numpy as np
import pytest

from tests.kinds.learning import linear_cases as cases
from tornado.kinds.learning.linear import hinge_kernel, logistic_kernel, squared_hinge_kernel, squared_kernel
from tornado.kinds.learning.linear.linear_objective import linear_module

KERNELS = {
    "hinge": hinge_kernel,
    "squared_hinge": squared_hinge_kernel,
    "logistic": logistic_kernel,
    "squared": squared_kernel,
}
SCORES = np.linspace(-60.0, 60.0, 240_001)


def duals_of(loss, goal):
    """Some that are feasible."""
    shares = {
        "hinge": (0.0, 1.0),
        "logistic": (0.0, 1.0),
        "squared_hinge": (0.0, 5.0),
        "squared": (-5.0, 5.0),
    }[loss]
    return goal * np.linspace(*shares, 21)


@pytest.mark.parametrize("loss", cases.LOSSES)
@pytest.mark.parametrize("goal", [-1.0, 1.0])
def test_a_conjugate_is_the_largest_value_of_its_definition(loss, goal):
    values = cases.losses_at(loss, SCORES, goal)
    for dual in duals_of(loss, goal):
        expected = (-dual * SCORES - values).max()
        assert KERNELS[loss].conjugate(dual, goal) == pytest.approx(expected, abs=2e-4)
    if loss != "squared":
        assert KERNELS[loss].conjugate(-0.1 * goal, goal) == math.inf


@pytest.mark.parametrize("loss", cases.LOSSES)
def test_values_and_slopes_are_those_of_the_definition(loss):
    for goal in (-1.0, 1.0):
        for score in (-50.0, -1.5, -1e-9, 0.0, 0.3, 0.999, 2.0, 800.0):
            value, dual = KERNELS[loss].value_and_dual(score, goal)
            assert value == pytest.approx(float(cases.losses_at(loss, score, goal)), rel=1e-14, abs=1e-300)
            high, low = (cases.losses_at(loss, score + apart, goal) for apart in (1e-6, -1e-6))
            assert dual == pytest.approx(float(low - high) / 2e-6, rel=1e-5, abs=1e-8)
        assert math.isnan(KERNELS[loss].value_and_dual(math.nan, goal)[0])


@pytest.mark.parametrize("loss", cases.LOSSES)
def test_a_step_of_dual_ascent_is_the_best_one(loss):
    random = np.random.default_rng(0)
    kernel = KERNELS[loss]
    for _ in range(100):
        goal = random.choice([-1.0, 1.0])
        old, score = random.choice(duals_of(loss, goal)), random.normal() * 3
        bend = 10.0 ** random.uniform(-4, 3)

        def worth(dual, old=old, score=score, bend=bend, goal=goal):
            return -kernel.conjugate(dual, goal) - score * (dual - old) - bend / 2 * (dual - old) ** 2

        found = kernel.ascend(old, score, bend, goal)
        assert math.isfinite(worth(found))
        others = [*duals_of(loss, goal), found * (1 - 1e-4), found * (1 + 1e-4)]
        assert worth(found) >= max(map(worth, others)) - 1e-12


def test_exponentials_and_logarithms_are_as_exact_as_those_of_the_standard_library():
    kernel = linear_module("logistic", False)
    random = np.random.default_rng(1)
    for power in [0.0, -1e-320, -700.0, *-(10.0 ** random.uniform(-17, 2.8, 3000))]:
        assert kernel.exp_below(power) == pytest.approx(math.exp(power), rel=5e-16)
    assert 0.0 < kernel.exp_below(-1e300) < 1e-307
    for share in [0.0, 1.0, 1e-300, *random.random(2000), *10.0 ** random.uniform(-17, 0, 2000)]:
        assert kernel.log_above(share) == pytest.approx(math.log1p(share), rel=5e-16)
    assert math.isnan(kernel.exp_below(math.nan))


def test_a_step_of_the_logistic_loss_is_found_however_far_off_it_begins():
    ascend = linear_module("logistic", sparse=False).ascend
    random = np.random.default_rng(0)
    cases_of = [(5.18e-29, -164.0, 569.0), (1.0, 3230.0, 5e11), (0.243, -16.1, 25.6)]
    cases_of += [
        (
            1.0 / (1.0 + math.exp(-random.normal() * 50.0)),
            random.normal() * 10.0 ** random.uniform(-2, 5),
            bend,
        )
        for bend in 10.0 ** random.uniform(-3, 12, 2000)
    ]
    for old, score, bend in cases_of:
        low, high = -score - bend * (1.0 - old) - 1.0, -score + bend * old + 1.0
        for _ in range(200):  # halves what holds the logit of the best one
            middle = 0.5 * (low + high)
            share = 0.5 * (1.0 + math.tanh(0.5 * middle))
            low, high = (low, middle) if middle + score + bend * (share - old) > 0.0 else (middle, high)
        expected = 0.5 * (1.0 + math.tanh(0.5 * middle))
        assert ascend(old, score, bend, 1.0) == pytest.approx(expected, rel=1e-6, abs=1e-14), (
            old,
            score,
            bend,
        )
