"""Every app at random instants of the real streams, with removals: on each engine, number of workers and delay bound.

The loops of all apps read one stream, and are forked at instants that a seed chooses while it goes on. Ranks are compared with power
iteration that goes below 1e-15 and, where the graph is small, with a direct solve: within their certificate always, and within 1e-9
where that is asked for. All else is compared exactly: components with a union-find, cores with networkx, labels and coefficients with
plain twins of what LDBC Graphalytics defines; ranks after rounds up to the order in which floats are added.

A choice of combinations is in the suite, with the beginnings of streams; the soak has all of them, with these and with whole streams.
Those on Spark are run by test_on_spark.py.
"""

import itertools
from dataclasses import dataclass, field
from random import Random

import numpy as np
import pytest

from apps.connected_components import ConnectedComponents
from apps.core_number import CoreNumber
from apps.label_propagation import LabelPropagation
from apps.local_clustering import LocalClustering
from apps.pagerank import PageRank, PageRankRounds
from tests.apps.test_core_number import cores_of
from tests.engine.places import master_at
from tests.kinds.accumulative.truth import pagerank, pagerank_by_powers
from tests.kinds.counting.naive import clustering, clustering_by_arrays
from tests.kinds.rounds.naive import pageranks_by_arrays, propagated_by_arrays
from tests.loops.streaming import TIMEOUT_S
from tornado.certificate import EXACT
from tornado.loops import BranchState
from tornado.testing import (
    EdgeHistory,
    bitcoin_ratings,
    college_messages,
    epinions_trust,
    exact_components,
    mixed,
    random_multigraph,
    sliding_window,
)

FILES = {"college": college_messages, "bitcoin": bitcoin_ratings, "epinions": epinions_trust}
REMOVALS = ("window", "random")
WORKERS = (1, 2, 4)
BOUNDS = (1, 4, 64, None)
ROUNDS = 10
SMALL = 600  # vertices, for a direct solve
SOLVER = 1e-14  # of the direct solve
POWERS = 2e-15  # of power iteration, and of its numbers as they are rounded
SUMMED = 1e-13  # of floats that are added in another order
INSTANTS = 12  # of a stream, of which each combination draws some
LARGEST = 1_500  # records of a batch in a small stream


@dataclass
class RealStream:
    """Records, and what is right after any prefix: each answer is computed once for all combinations that ask for it."""

    records: object
    instants: list
    """From which each combination draws some."""
    known: dict = field(default_factory=dict)

    def __post_init__(self):
        self.history = EdgeHistory.of(self.records)

    def seen(self, prefix):
        return self.right(prefix, "seen", lambda _, ids: ids)

    def right(self, prefix, name, oracle):
        """What an oracle says of the edges and the vertices after a prefix."""
        if (prefix, name) not in self.known:
            ids = np.unique(np.concatenate([self.records.src[:prefix], self.records.dst[:prefix]]))
            self.known[prefix, name] = oracle(self.history.at(prefix), ids)
        return self.known[prefix, name]


@pytest.fixture(scope="module")
def stream_of(data_dir):
    made = {}

    def make(name, removals, size):
        if (name, removals, size) not in made:
            edges = FILES[name](data_dir)
            if size:
                edges = edges[:size]
            records = sliding_window(edges, len(edges) // 3) if removals == "window" else mixed(edges, seed=7)
            chance = Random(f"{name} {removals}")
            instants = sorted(chance.sample(range(1, len(records) + 1), INSTANTS))
            made[name, removals, size] = RealStream(records, instants)
        return made[name, removals, size]

    return make


def exact(oracle, dtype=None):
    """What judges a branch whose values are exactly those of an oracle."""

    def judge(branch, stream, prefix, said):
        assert (branch.state, branch.certificate) == (BranchState.CONVERGED, EXACT), (said, branch.error)
        ids, found = branch.values().arrays()
        assert np.array_equal(ids, stream.seen(prefix)), said
        assert dtype is None or found.dtype == dtype
        wrong = np.flatnonzero(found != stream.right(prefix, oracle.__name__, oracle))
        assert not len(wrong), f"{said}: {len(wrong)} of {len(ids)} are wrong, as vertex {ids[wrong[0]]}"

    return judge


def components(edges, ids):
    return exact_components(edges).lookup(ids)


def labels(edges, ids):
    return propagated_by_arrays(edges.src, edges.dst, ids, ROUNDS)


def coefficients(edges, ids):
    return clustering_by_arrays(edges.src, edges.dst, ids)


def ranks_after_rounds(edges, ids):
    return pageranks_by_arrays(edges.src, edges.dst, ids, ROUNDS)


def cores(edges, ids):
    return cores_of(edges, ids)


def judge_rounds(branch, stream, prefix, said):
    assert branch.state is BranchState.CONVERGED, (said, branch.error)
    bound = branch.certificate["bound"]
    assert branch.certificate == {"kind": "bound", "norm": "relative", "bound": bound}, said
    assert 0 < bound < 1e-9, said
    ids, found = branch.values().arrays()
    assert np.array_equal(ids, stream.seen(prefix)), said
    assert np.abs(found - stream.right(prefix, "rounds", ranks_after_rounds)).sum() <= SUMMED, said


def by_ends(edges):
    """Weights by source and target, as plain oracles have them."""
    found = {}
    for source, target, weight in zip(
        edges.src.tolist(), edges.dst.tolist(), edges.weight.tolist(), strict=True
    ):
        found.setdefault((source, target), []).append(weight)
    return found


def true_ranks(edges, ids, program):
    """By power iteration; of a small graph by a direct solve too, and these are near each other."""
    named = program.damping, program.personalisation
    found = pagerank_by_powers(edges, ids, *named)
    if len(ids) <= SMALL:
        solved = pagerank(by_ends(edges), ids.tolist(), *named)
        direct = np.array([solved[vertex] for vertex in ids.tolist()])
        assert np.abs(found - direct).sum() <= SOLVER
    return found


def judge_ranks(branch, stream, prefix, said):
    assert branch.error is None
    program, bound = branch.program, branch.certificate["bound"]
    assert branch.certificate == {"kind": "bound", "norm": "l1", "bound": bound}
    assert (branch.state is BranchState.CONVERGED) == (bound <= program.tolerance), said
    ids, found = branch.values().arrays()
    assert np.array_equal(ids, stream.seen(prefix)), said
    asked = program.damping, program.personalisation
    expected = stream.right(prefix, asked, lambda edges, ids: true_ranks(edges, ids, program))
    off = np.abs(found - expected).sum()
    assert off <= bound + POWERS, f"{said}: {off} from the exact ranks, but certified to be within {bound}"
    if program.tolerance == 1e-9 and branch.state is BranchState.CONVERGED:
        assert off <= 1e-9


CERTIFIED = {"max_iterations": 0}
# An app with the delay bounds that it may have, what it is asked at each instant, and one of what it may be asked besides.
APPS = {
    "pagerank": (
        PageRank(),
        BOUNDS,
        [({"tolerance": 1e-9}, {}), ({}, CERTIFIED)],
        [
            ({}, {}),
            ({"tolerance": 1e-12}, {}),
            ({"tolerance": 1e-9, "damping": 0.5}, {}),
            ({"personalisation": (1, 5, 1), "tolerance": 1e-9}, {}),
            ({"tolerance": 1e-3}, {}),
            ({"tolerance": 1e-12}, {"max_iterations": 2}),
        ],
        judge_ranks,
    ),
    "components": (ConnectedComponents(), BOUNDS, [({}, {})], [], exact(components, np.int64)),
    "cores": (CoreNumber(), BOUNDS, [({}, {})], [], exact(cores, np.int64)),
    "clustering": (LocalClustering(), BOUNDS, [({}, {})], [], exact(coefficients)),
    "labels": (LabelPropagation(rounds=ROUNDS), (1,), [({}, {})], [], exact(labels, np.int64)),
    "rounds": (PageRankRounds(rounds=ROUNDS), (1,), [({}, {})], [], judge_rounds),
}


@pytest.fixture(scope="module")
def master_of(place):
    """Masters by their number of workers, of which one is there at a time: its workers load the kernels once."""
    made = {}

    def make(workers):
        if workers not in made:
            while made:
                made.popitem()[1].close()
            made[workers] = master_at(place, workers=workers)
        return made[workers]

    yield make
    while made:
        made.popitem()[1].close()


def check(stream, master, bound, *, seed, forks):
    """Feed the loops of all apps, fork them at random instants, and compare what they say with the oracles."""
    chance, records = Random(seed), stream.records
    largest = max(LARGEST, len(records) // 30)
    instants = sorted(chance.sample(stream.instants, forks))
    asked, admitted, loops, first = [], 0, {}, next(iter(APPS))
    for name, (program, bounds, *_) in APPS.items():
        others = {"stream": first} if loops else {}
        loops[name] = master.start(program, name, bound if bound in bounds else bounds[0], **others)
    for instant in instants:
        while admitted < instant:
            upto = min(admitted + max(1, int(largest ** chance.random())), instant)
            loops[first].admit(records.slice(admitted, upto), "stream", upto)
            admitted = upto
        for name, loop in loops.items():
            _, _, always, sometimes, judge = APPS[name]
            for parameters, options in always + chance.sample(sometimes, min(1, len(sometimes))):
                said = f"{name} {parameters} {options} after {instant} records, {master.workers} workers, bound {bound}"
                asked.append((loop.fork(parameters, **options), judge, said))
    for branch, judge, said in asked:
        assert branch.wait(TIMEOUT_S), said
        judge(branch, stream, branch.snapshot.offsets["stream"], said)
        branch.release()
    for name in reversed(loops):
        master.remove(name)


def test_the_twins_that_use_arrays_say_what_the_plain_ones_say():
    for seed in range(6):
        edges = random_multigraph(40, 200, seed=seed)
        ids = edges.ids()
        plain = clustering(by_ends(edges), ids.tolist())
        assert clustering_by_arrays(edges.src, edges.dst, ids).tolist() == [
            plain[one] for one in ids.tolist()
        ]
        for named in ((0.85, ()), (0.0, ()), (0.99, ()), (0.5, (3, int(ids[0]), 3)), (0.85, (-1,))):
            solved = pagerank(by_ends(edges), ids.tolist(), *named)
            expected = np.array([solved[one] for one in ids.tolist()])
            assert np.abs(pagerank_by_powers(edges, ids, *named) - expected).sum() <= SOLVER


# Every two values of any two columns but files are there once.
CHOSEN = [
    ("college", "random", 1, 64),
    ("bitcoin", "window", 1, 4),
    ("college", "window", 2, None),
    ("bitcoin", "random", 2, 1),
    ("bitcoin", "window", 4, 64),
    ("college", "random", 4, None),
]
BEGINNING = 4_000  # edges


@pytest.mark.parametrize(("name", "removals", "workers", "bound"), CHOSEN)
def test_every_app_is_right_at_random_instants_of_a_real_stream(
    place, master_of, stream_of, name, removals, workers, bound
):
    if place != "threads" and workers != 2:
        pytest.skip("workers elsewhere take seconds to start: the soak has all of them")
    stream = stream_of(name, removals, BEGINNING)
    check(stream, master_of(workers), bound, seed=workers, forks=3)


ALL = list(itertools.product(WORKERS, ("college", "bitcoin"), REMOVALS, BOUNDS))
# A large one takes as long as many of the others.
LARGE = [
    (1, "epinions", "window", 64),
    (2, "epinions", "random", None),
    (2, "epinions", "window", 1),
    (4, "epinions", "random", 4),
]


@pytest.mark.soak
@pytest.mark.parametrize(("workers", "name", "removals", "bound"), ALL)
def test_every_app_is_right_in_every_combination(master_of, stream_of, workers, name, removals, bound):
    stream = stream_of(name, removals, BEGINNING)
    check(stream, master_of(workers), bound, seed=f"{name} {removals} {workers} {bound}", forks=4)


@pytest.mark.soak
@pytest.mark.parametrize(
    ("workers", "name", "removals", "bound"), sorted(ALL + LARGE, key=lambda one: one[0])
)
def test_every_app_is_right_at_instants_of_whole_streams(
    master_of, stream_of, workers, name, removals, bound
):
    stream = stream_of(name, removals, None)
    forks = 3 if name == "epinions" else 5
    check(stream, master_of(workers), bound, seed=f"{name} {removals} {workers} {bound}", forks=forks)
