"""Graphs with long ways: vertices go by their values, nobody is asked, and what is to be repaired is repaired once."""

import numpy as np
import pytest

from apps.sssp import ShortestPaths
from tornado.engine import SimulationEngine
from tornado.errors import InvalidArgument
from tornado.kinds.selective import main_processor, processor
from tornado.loops import Master
from tornado.loops.share import Share
from tornado.records.operations import REMOVE
from tornado.testing import EdgeList, chain, exact_distances, road_network

ROADS = road_network(60, 60, missing_share=0.0)
ROADS = ROADS[np.random.default_rng(1).permutation(len(ROADS))]


def filled(master, edges, batch=2_000, **options):
    loop = master.start(ShortestPaths(source=0), "roads", **options)
    for at, records in enumerate(edges.batches(batch)):
        loop.admit(records, "roads", at + 1)
    return loop


def exact(branch, edges):
    assert branch.wait(60)
    ids, values = branch.values().arrays()
    assert np.array_equal(values, exact_distances(edges, 0).lookup(ids))
    return branch.progress()


def test_a_loop_without_a_named_bound_has_none_and_asks_nobody():
    with Master(workers=2) as master:
        loop = filled(master, ROADS)
        branch = loop.fork()
        assert exact(branch, ROADS).prepares == 0
        assert branch.snapshot.delay_bound is None
        assert (loop.delay_bound, loop.statistics().prepares) == (None, 0)
        with pytest.raises(InvalidArgument, match="delay bound is 'fast'"):
            master.start(ShortestPaths(source=0), "other", delay_bound="fast")


@pytest.mark.parametrize("delay_bound", [None, 1, 64, "auto"])
def test_what_a_loop_has_left_to_do_its_branch_does_not_do_again(delay_bound):
    closed = ROADS[np.arange(0, len(ROADS), 97)]
    left = ROADS[np.setdiff1d(np.arange(len(ROADS)), np.arange(0, len(ROADS), 97))]
    with Master(workers=1) as master:
        loop = filled(master, ROADS, delay_bound=delay_bound)
        assert exact(loop.fork(), ROADS).updates == 0
        loop.admit(closed.records(op=REMOVE), "closures", 1)
        assert exact(loop.fork(), left).updates == 0
        elsewhere = loop.fork({"source": 7})
        assert elsewhere.wait(60)
        assert elsewhere.progress().updates > 0


def test_a_graph_that_is_filled_is_propagated_in_the_end_and_on_one_worker_in_the_order_of_values():
    with Master(workers=1, engine=SimulationEngine(1, seed=1)) as master:
        loop = filled(master, ROADS, batch=500)
        exact(loop.fork(), ROADS)
        assert loop.statistics().updates < 1.5 * ROADS.vertices


def test_a_large_graph_that_is_filled_is_propagated_whenever_it_is_four_times_as_large(monkeypatch):
    monkeypatch.setattr(main_processor, "_FILLS_BY", 500)
    edges_at_rest, step = [0], main_processor.MainProcessor._step

    def noting(part):
        step(part)
        if part._edges_at_rest != edges_at_rest[-1]:
            edges_at_rest.append(part._edges_at_rest)

    monkeypatch.setattr(main_processor.MainProcessor, "_step", noting)
    monkeypatch.setattr(Share, "goes_with", lambda *_: False)  # a look behind each batch, small as it is
    with Master(workers=1, engine=SimulationEngine(1, seed=1)) as master:
        exact(filled(master, ROADS, batch=500).fork(), ROADS)
    assert edges_at_rest == [0, 500, 2_000, 8_000, len(ROADS)]


def test_a_long_chain_ends_on_several_workers():
    edges = chain(20_000)
    edges = edges[np.random.default_rng(1).permutation(len(edges))]
    with Master(workers=2) as master:
        exact(filled(master, edges, batch=20_000).fork(), edges)


@pytest.mark.parametrize("workers", [1, 2])
def test_gathers_all_at_once_choose_what_gathers_with_a_cursor_choose(workers, monkeypatch):
    # Few lengths, so that many a vertex has a choice of parents that are as good; and of what is left to it, one is the best.
    random = np.random.default_rng(2)
    even = EdgeList(
        ROADS.src, ROADS.dst, random.integers(1, 4, len(ROADS)).astype(np.float64), ROADS.vertices
    )
    closed = (random.random(len(even)) < 0.3) & (even.src >= 1_800)
    found = []
    for fuel in (main_processor.FUEL, 3):
        monkeypatch.setattr(main_processor, "FUEL", fuel)
        monkeypatch.setattr(processor, "FUEL", fuel)
        with Master(workers=workers, engine=SimulationEngine(workers, seed=1)) as master:
            loop = filled(master, even)
            assert loop.wait_idle(60)
            before = loop.statistics().updates
            loop.admit(even[closed].records(op=REMOVE), "closures", 1)
            assert loop.wait_idle(60)
            exact(loop.fork(), even[~closed])
            found.append(loop.statistics().updates - before)
    assert min(found) > 300
    assert workers > 1 or found[0] == found[1]
