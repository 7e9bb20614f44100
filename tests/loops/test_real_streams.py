"""The real graphs, streamed in order with removals mixed in: whenever a branch is forked, it is exact for its prefix.

A pairwise choice of workers, delay bounds, files and kinds of removals; all combinations are in the soak.
"""

import itertools
import random

import pytest

from apps.sssp import ShortestPaths
from tests.loops.streaming import bound_name, streaming
from tests.shortened import shortened
from tornado.testing import (
    bitcoin_ratings,
    college_messages,
    epinions_trust,
    mixed,
    root_of,
    sliding_window,
)

FILES = {"college": college_messages, "bitcoin": bitcoin_ratings, "epinions": epinions_trust}
WINDOWS = {"college": 12_000, "bitcoin": 12_000, "epinions": 150_000}
REMOVALS = ("window", "random")
WORKERS = (1, 2, 4)
BOUNDS = (1, 4, 64, None)
ALL = list(itertools.product(FILES, REMOVALS, WORKERS, BOUNDS))

# Every pair of values of any two columns occurs, except for some with the large file.
CHOSEN = [
    ("college", "window", 1, 1),
    ("college", "random", 2, 4),
    ("college", "window", 4, 64),
    ("college", "random", 1, None),
    ("bitcoin", "random", 1, 64),
    ("bitcoin", "window", 2, None),
    ("bitcoin", "random", 4, 1),
    ("bitcoin", "window", 1, 4),
    ("college", "window", 2, 1),
    ("bitcoin", "random", 2, 64),
    ("college", "random", 4, None),
    ("bitcoin", "window", 4, 4),
    ("epinions", "window", 2, 64),
    ("epinions", "random", 4, None),
    ("epinions", "random", 1, 4),
    ("epinions", "window", 4, 1),
]


def is_kept(row):
    """The large file once: it takes as long as all the others."""
    return row[0] != "epinions" or row == ("epinions", "window", 2, 64)


@pytest.fixture(scope="module")
def stream_of(data_dir):
    made = {}

    def make(name, removals):
        if (name, removals) not in made:
            edges = FILES[name](data_dir)
            records = sliding_window(edges, WINDOWS[name]) if removals == "window" else mixed(edges, seed=7)
            made[name, removals] = records, root_of(edges)
        return made[name, removals]

    return make


def check_stream(records, source, workers, bound, *, seed, forks, independent):
    chance = random.Random(seed)
    largest = 20_000 if len(records) > 200_000 else 4_000
    instants = sorted(chance.sample(range(len(records)), forks))
    running = []
    prefixes = set()
    with streaming(records, source, workers, bound) as stream:
        while stream.admit(max(1, int(largest ** chance.random()))) or instants:
            while instants and instants[0] <= stream.admitted:
                instants.pop(0)
                running.append(stream.loop.fork())
            while running and running[0].wait(0):
                prefixes.add(stream.check_branch(running.pop(0)))
        for branch in running:
            prefixes.add(stream.check_branch(branch))
        prefixes.add(stream.check_branch(stream.loop.fork(), independent=independent))
        stream.check_main()
    assert len(prefixes) > forks // 2


@pytest.mark.parametrize(("name", "removals", "workers", "bound"), shortened(CHOSEN, is_kept))
def test_branches_of_a_real_stream_are_exact_for_their_prefix(stream_of, name, removals, workers, bound):
    records, source = stream_of(name, removals)
    independent = name != "epinions"
    forks = 6 if independent else 4
    check_stream(records, source, workers, bound, seed=workers, forks=forks, independent=independent)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("name", "removals", "workers", "bound"), ALL)
def test_branches_of_every_real_stream_are_exact(stream_of, name, removals, workers, bound, seed):
    records, source = stream_of(name, removals)
    check_stream(records, source, workers, bound, seed=100 + seed, forks=25, independent=name != "epinions")


@pytest.mark.parametrize("removals", REMOVALS)
def test_branches_for_another_source_are_exact_while_the_stream_runs(stream_of, removals):
    records, source = stream_of("bitcoin", removals)
    other = int(records.src[0])
    assert other != source
    with streaming(records, other, 2, 64, program=ShortestPaths(source=source)) as stream:
        branches = []
        for _ in range(8):
            stream.admit(3000)
            branches.append(stream.loop.fork(parameters={"source": other}))
        for branch in branches:
            stream.check_branch(branch)


def test_the_combinations_chosen_cover_every_pair():
    for first, second in itertools.combinations(range(4), 2):
        wanted = {(one[first], one[second]) for one in ALL}
        covered = {(one[first], one[second]) for one in CHOSEN}
        missing = {pair for pair in wanted - covered if "epinions" not in pair}
        assert not missing, {
            bound_name(value) if value in BOUNDS else value for pair in missing for value in pair
        }
