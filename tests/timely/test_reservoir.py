"""Samples of what is not kept: each record as likely as any other, the same in any batches, and complete at each time."""

import numpy as np
import pytest
from scipy.stats import chi2

from tornado.errors import InvalidArgument
from tornado.timely.execute import run_threads
from tornado.timely.operators import inspect, new_input
from tornado.timely.reservoir import Reservoir, reservoir

RECORDS, SIZE, SEEDS = 120, 8, 4000


def drawn(seed, made=Reservoir):
    found = made(SIZE, seed=seed)
    found.add(np.arange(50))
    found.add(np.arange(50, RECORDS))
    return found.sample()


def unevenness(samples):
    """Of how often each record is in a sample, in the units of a chi-square of one degree less than there are records.

    Which are in one sample depends on each other: with k of n the variance of a count is that of a binomial one, times n / (n - 1).
    """
    counts = np.bincount(np.concatenate(samples), minlength=RECORDS)
    expected = len(samples) * SIZE / RECORDS
    return ((counts - expected) ** 2).sum() / expected * (RECORDS - 1) / (RECORDS - SIZE)


LEAST, MOST = chi2.ppf([1e-4, 1 - 1e-4], RECORDS - 1)


def test_each_record_is_in_a_sample_as_often_as_any_other():
    samples = [drawn(seed) for seed in range(SEEDS)]
    assert all(len(set(sample.tolist())) == SIZE for sample in samples)
    assert LEAST < unevenness(samples) < MOST
    # Places alike: the one at the first place is any record, too.
    firsts = np.bincount([int(np.sort(sample)[0]) < RECORDS // SIZE for sample in samples], minlength=2)
    inside = 1 - np.prod([(RECORDS - RECORDS // SIZE - one) / (RECORDS - one) for one in range(SIZE)])
    assert firsts[1] / SEEDS == pytest.approx(inside, abs=4 * np.sqrt(inside * (1 - inside) / SEEDS))


class Hasty(Reservoir):
    """Passes over one record too few."""

    def _pass_over(self):
        super()._pass_over()
        self._next = max(self._next - 1, self._size)


class Single(Reservoir):
    """Forgets that records get rarer."""

    def _pass_over(self):
        super()._pass_over()
        self._least = -1.0 / self._size


@pytest.mark.parametrize("made", [Hasty, Single])
def test_a_reservoir_that_is_not_even_is_seen(made):
    assert not LEAST < unevenness([drawn(seed, made) for seed in range(SEEDS)]) < MOST


@pytest.mark.parametrize("size", [1, 5, 300])
def test_batches_do_not_matter(size):
    records, samples = np.arange(200), []
    for cuts in ([], [1], [4, 5, 6, 199], range(200)):
        found = Reservoir(size, seed=7)
        for part in np.split(records, list(cuts)):
            found.add(part)
        samples.append(found.sample().tolist())
        assert found.seen == 200
    assert all(sample == samples[0] for sample in samples)
    assert len(samples[0]) == min(size, 200)


def test_another_seed_is_another_sample():
    assert len({tuple(drawn(seed).tolist()) for seed in range(20)}) == 20


def test_columns_and_lists_are_drawn_as_arrays_are_and_stay_as_they_were():
    array = np.arange(500)
    array.flags.writeable = False
    columns, listed = (array, array * 0.5), array.tolist()
    found = []
    for batch in (array, columns, listed):
        one = Reservoir(20, seed=3)
        one.add(batch)
        found.append(one.sample())
    assert found[0].tolist() == found[1][0].tolist() == found[2]
    assert (found[1][1] == found[1][0] * 0.5).all()
    found[0][:] = -1
    assert listed == list(range(500))


def test_a_long_stream_costs_little_for_what_does_not_enter():
    one, numbers = Reservoir(10, seed=1), np.zeros(1 << 20, np.int8)
    for _ in range(1 << 10):
        one.add(numbers)
    assert one.seen == 1 << 30
    assert one._blocks < 10  # some 200 records entered


def test_nothing_gives_nothing():
    one = Reservoir(3)
    assert one.sample() is None
    one.add(np.arange(0))
    assert one.sample() is None


@pytest.mark.parametrize(("size", "seed", "said"), [(0, 0, "size is 0"), (1, -1, "seed is -1")])
def test_what_makes_no_sense_is_refused(size, seed, said):
    with pytest.raises(InvalidArgument, match=said):
        Reservoir(size, seed=seed)


def test_as_an_operator_it_sends_a_sample_of_all_that_came_up_to_each_time():
    found = []

    def program(worker):
        def build(scope):
            handle, stream = new_input(scope)
            inspect(reservoir(stream, 4, seed=2), lambda time, batch: found.append((time, batch.tolist())))
            return handle

        handle = worker.dataflow(build).result
        for time in (0, 1, 2, 2, 4):
            handle.advance_to(time)
            handle.send(np.arange(10 * time, 10 * time + 10))
        handle.advance_to(9)  # nothing comes then
        handle.close()

    run_threads(program, 1)
    expected, one = {}, Reservoir(4, seed=2)
    for time in (0, 1, 2, 2, 4):
        one.add(np.arange(10 * time, 10 * time + 10))
        expected[time,] = one.sample().tolist()
    assert found == list(expected.items())
