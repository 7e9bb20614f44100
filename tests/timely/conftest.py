"""What the tests of the core share."""

import pytest

from tornado.timely.execute import run_simulated, run_threads

SEEDS = range(20)


@pytest.fixture
def everywhere():
    """Run a program under threads once and under many seeds, and give the results of each run."""

    def runs(program, peers):
        yield run_threads(program, peers)
        for seed in SEEDS:
            print(f"seed {seed}, peers {peers}")
            yield run_simulated(program, peers, seed).results

    return runs
