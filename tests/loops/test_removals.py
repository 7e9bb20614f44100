"""Removals chosen to do harm: what believes itself, what costs most, what is not there, and what is there twice."""

import numpy as np
import pytest

from tests.loops.streaming import bound_name, streaming
from tornado import EdgeBatch
from tornado.testing import (
    chain,
    concatenated,
    edge_list,
    fed_cycle,
    mixed,
    parallel_edges,
    random_multigraph,
    star,
    with_self_loops,
    without,
)

INSERT, REMOVE, REPLACE = 1, -1, 2
SPOKES = 100_000

everywhere = pytest.mark.parametrize(
    ("workers", "bound"),
    [(workers, bound) for workers in (1, 2) for bound in (1, 64, None)],
    ids=lambda value: str(value) if isinstance(value, int) else bound_name(value),
)


def joined(*batches):
    return EdgeBatch(*(np.concatenate(columns) for columns in zip(*map(columns_of, batches), strict=True)))


def columns_of(batch):
    return batch.src, batch.dst, batch.weight, batch.op


def records(*rows):
    """Rows of (src, dst, weight or None, op)."""
    src, dst, weight, op = zip(*rows, strict=True)
    weights = [np.nan if one is None else float(one) for one in weight]
    return EdgeBatch(
        np.array(src, np.int64), np.array(dst, np.int64), np.array(weights), np.array(op, np.int8)
    )


def check(before, after, workers, bound, *, source=0, size=None):
    """`after` takes back what `before` made: exact in between, with the loop idle or not, and in the end."""
    for waits in (True, False):
        stream = joined(before, after)
        with streaming(stream, source, workers, bound) as run:
            run.admit(len(before))
            if waits:
                run.check_main()
            first = run.loop.fork()
            while run.admit(size or len(after)):
                pass
            last = run.loop.fork()
            assert run.check_branch(first) == len(before)
            assert run.check_branch(last, independent=len(stream) < 5000) == len(stream)
            run.check_main()


@everywhere
@pytest.mark.parametrize("weight", [0.0, 1.0])
@pytest.mark.parametrize("length", [1, 2, 3, 50])
def test_a_cycle_whose_last_feeding_edge_goes_is_out_of_reach(workers, bound, length, weight):
    check(fed_cycle(length, weight=weight).records(), records((0, 1, None, REMOVE)), workers, bound)


@everywhere
def test_a_cycle_that_was_fed_twice_lives_on_the_other_edge(workers, bound):
    cycle = fed_cycle(20, weight=0.0)
    feeding = edge_list((0, 10, 3.0), (0, 15, 100.0))
    check(
        concatenated(cycle, feeding).records(),
        records((0, 1, None, REMOVE), (0, 10, 3.0, REMOVE)),
        workers,
        bound,
        size=1,
    )


@everywhere
def test_many_cycles_of_no_weight_that_share_vertices_are_out_of_reach_together(workers, bound):
    inner = random_multigraph(40, 300, seed=3, zero_share=1.0)
    shifted = edge_list(*((int(a) + 1, int(b) + 1, 0.0) for a, b in zip(inner.src, inner.dst, strict=True)))
    check(
        concatenated(edge_list((0, 5, 1.0)), shifted).records(), records((0, 5, 1.0, REMOVE)), workers, bound
    )


@pytest.mark.parametrize(("workers", "bound"), [(1, 64), (2, None), (2, 1)])
def test_a_hub_that_loses_its_own_edge_takes_all_its_spokes_with_it(workers, bound):
    hub = star(SPOKES)
    before = concatenated(edge_list((-1, 0, 2.0)), hub)
    check(before.records(), records((-1, 0, None, REMOVE), (-1, 7, 1.0, INSERT)), workers, bound, source=-1)


@pytest.mark.parametrize("outward", [True, False])
@pytest.mark.parametrize(("workers", "bound"), [(1, 64), (2, None)])
def test_all_edges_of_a_hub_are_removed(workers, bound, outward):
    hub = star(SPOKES // (1 if outward else 4), outward=outward)
    source = 0 if outward else 1
    check(hub.records(), without(hub, seed=2), workers, bound, source=source, size=20_000)


@everywhere
@pytest.mark.parametrize("by_weight", [False, True])
def test_every_edge_of_a_graph_is_removed(workers, bound, by_weight):
    graph = random_multigraph(300, 2500, seed=5)
    check(graph.records(), without(graph, seed=6, by_weight=by_weight), workers, bound, size=700)


@everywhere
def test_a_long_chain_is_cut_at_its_beginning(workers, bound):
    check(chain(400).records(), records((0, 1, None, REMOVE)), workers, bound)


@everywhere
def test_removals_of_edges_that_are_not_there_are_counted_and_change_nothing(workers, bound):
    before = edge_list((0, 1, 2.0), (1, 2, 2.0)).records()
    absent = records(
        (1, 0, None, REMOVE),
        (0, 1, 2.5, REMOVE),
        (7, 8, None, REMOVE),
        (0, 2, 4.0, REMOVE),
        (2, 2, None, REMOVE),
    )
    check(before, absent, workers, bound)
    with streaming(joined(before, absent), 0, workers, bound) as run:
        run.admit(100)
        run.wait_idle()
        assert run.loop.statistics().missing_removals == 5


@everywhere
def test_of_parallel_edges_the_oldest_goes_first(workers, bound):
    before = records((0, 1, 3, INSERT), (0, 1, 1, INSERT), (0, 1, 2, INSERT), (1, 2, 1, INSERT))
    check(before, records(*[(0, 1, None, REMOVE)] * 4), workers, bound, size=1)


@everywhere
def test_of_parallel_edges_one_of_the_weight_that_is_named_goes(workers, bound):
    before = records((0, 1, 3, INSERT), (0, 1, 1, INSERT), (0, 1, 3, INSERT), (1, 2, 1, INSERT))
    gone = records((0, 1, 1, REMOVE), (0, 1, 3, REMOVE), (0, 1, 1, REMOVE), (0, 1, 3, REMOVE))
    check(before, gone, workers, bound, size=1)


@everywhere
def test_chains_of_parallel_edges_are_taken_apart(workers, bound):
    edges = parallel_edges(30, 8, seed=4)
    check(edges.records(), without(edges, seed=5, by_weight=True), workers, bound, size=40)


@everywhere
def test_self_loops_neither_feed_nor_block_their_vertex(workers, bound):
    edges = with_self_loops(concatenated(chain(15), edge_list((0, 0, 0.0))))
    check(edges.records(), without(edges, seed=1), workers, bound, size=5)


@everywhere
def test_weights_that_are_raised_make_distances_longer_and_lowered_ones_shorter(workers, bound):
    before = concatenated(chain(20), edge_list((0, 12, 30.0))).records()
    changed = records(
        (0, 1, 5, REPLACE), (10, 11, 50, REPLACE), (0, 12, 1, REPLACE), (0, 12, 40, REPLACE), (10, 11, 0, REPLACE),
        (90, 91, 1, REPLACE),
    )  # fmt: skip
    check(before, changed, workers, bound, size=1)


@everywhere
def test_a_replacement_takes_all_parallel_edges_away(workers, bound):
    before = records(*[(0, 1, weight, INSERT) for weight in (4, 1, 2, 1)], (1, 2, 1, INSERT))
    check(before, records((0, 1, 9, REPLACE), (0, 1, None, REMOVE)), workers, bound, size=1)


@everywhere
def test_every_kind_of_record_at_once(workers, bound):
    stream = mixed(random_multigraph(120, 3000, seed=8), seed=9)
    with streaming(stream, 0, workers, bound) as run:
        branches = []
        while run.admit(400):
            branches.append(run.loop.fork())
        for branch in branches:
            run.check_branch(branch)
        run.check_main()
