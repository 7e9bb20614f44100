"""Sums over shards: the same bits, whoever has which shard and whoever is heard first."""

import numpy as np
import pytest

from tornado.kinds.learning.rounds import Finished, Method, Round, joined, partial_sums, run_alone
from tornado.points import SHARDS, shards_of_worker

WIDTH = 5


class Draws:
    """Every shard answers with numbers of its own, of which no two orders of adding agree."""

    def width(self, asked: Round) -> int:
        return WIDTH

    def add(self, asked, shard, total):
        total += np.random.default_rng((int(asked.numbers[0]), shard)).lognormal(0.0, 9.0, WIDTH)


@pytest.mark.parametrize("workers", range(1, SHARDS + 1))
def test_a_sum_has_the_same_bits_on_any_number_of_workers(workers):
    random = np.random.default_rng(workers)
    for number in range(20):
        asked = Round("draw", (number,))
        whole = joined(partial_sums(Draws(), asked, range(SHARDS)))
        said = [
            partial
            for worker in range(workers)
            for partial in partial_sums(Draws(), asked, shards_of_worker(worker, workers))
        ]
        heard = joined([said[place] for place in random.permutation(len(said))])
        assert heard.tobytes() == whole.tobytes()


def test_workers_that_are_a_power_of_two_say_one_sum_each():
    for workers in (1, 2, 4, 8, SHARDS):
        for worker in range(workers):
            assert len(partial_sums(Draws(), Round("draw", (1,)), shards_of_worker(worker, workers))) == 1


def test_a_method_is_sent_the_sums_and_returns_what_it_has_found():
    def method() -> Method:
        first = yield Round("draw", (1,))
        second = yield Round("draw", (2,))
        return Finished({"sum": first + second})

    expected = sum(
        joined(partial_sums(Draws(), Round("draw", (number,)), range(SHARDS))) for number in (1, 2)
    )
    assert np.array_equal(run_alone(method(), Draws()).parameters["sum"], expected)
