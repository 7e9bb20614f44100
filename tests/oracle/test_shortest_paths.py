"""The compiled oracles against networkx, bit for bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tornado.testing import (
    Distances,
    EdgeList,
    bitcoin_ratings,
    bucket_queue,
    build,
    chain,
    college_messages,
    edge_list,
    epinions_trust,
    exact_distances,
    fed_cycle,
    heap_dijkstra,
    networkx_distances,
    parallel_edges,
    random_multigraph,
    rmat,
    road_network,
    root_of,
    star,
    with_self_loops,
)


def assert_same_bits(ours: Distances, reference: Distances, edges: EdgeList) -> None:
    ids = edges.ids()
    mine, theirs = ours.lookup(ids), reference.lookup(ids)
    differ = np.flatnonzero(mine.view(np.int64) != theirs.view(np.int64))
    assert not len(differ), (
        f"vertex {ids[differ[0]]}: {mine[differ[0]]!r} but networkx says {theirs[differ[0]]!r}"
    )


def assert_all_agree(edges: EdgeList, source: int) -> None:
    reference = networkx_distances(edges, source)
    graph = build(edges)
    assert_same_bits(heap_dijkstra(graph, source), reference, edges)
    assert_same_bits(bucket_queue(graph, source), reference, edges)


weights = st.one_of(
    st.integers(0, 5).map(float),
    st.floats(0, 1e3),
    st.sampled_from([0.1, 0.2, 0.30000000000000004, 1e-300, 5e-324, 1e16, 1e300]),
)


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8), weights), max_size=40))
@settings(max_examples=300, deadline=None)
def test_all_agree_on_any_small_multigraph(edges):
    assert_all_agree(edge_list(*edges), 0)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("integral", [True, False])
def test_all_agree_on_random_multigraphs(seed, integral):
    edges = random_multigraph(200, 150 + 60 * seed, seed=seed, integral=integral, zero_share=0.3)
    assert_all_agree(edges, 0)


@pytest.mark.parametrize(
    "edges",
    [
        star(5_000),
        star(5_000, outward=False),
        chain(3_000, weight=0.1),
        fed_cycle(50),
        fed_cycle(50, weight=0.1),
        parallel_edges(40, 8),
        with_self_loops(parallel_edges(40, 3)),
        road_network(30, 40),
    ],
    ids=["star", "star-inward", "chain", "zero-cycle", "cycle", "parallel", "self-loops", "roads"],
)
def test_all_agree_on_adversarial_graphs(edges):
    assert_all_agree(edges, 0)


def test_all_agree_on_a_skewed_graph_from_its_root():
    edges = rmat(11)
    assert_all_agree(edges, root_of(edges))


@pytest.mark.parametrize("width", [0.03, 0.5, 1.0, 7.0, 1e6])
def test_the_width_of_a_bucket_never_changes_the_answer(width):
    edges = random_multigraph(300, 2_000, seed=3)
    ours = bucket_queue(build(edges), 5, width=width)
    assert_same_bits(ours, networkx_distances(edges, 5), edges)


def test_the_first_of_the_real_graphs_agrees_with_networkx(data_dir):
    edges = college_messages(data_dir)
    assert len(edges) == 59_835
    assert_all_agree(edges, 1)


def test_the_weighted_real_graph_agrees_with_networkx(data_dir):
    edges = bitcoin_ratings(data_dir)
    assert len(edges) == 35_592
    assert set(np.unique(edges.weight)) <= set(range(1, 11))
    assert_all_agree(edges, 6)


def test_the_largest_real_graph_agrees_with_networkx(data_dir):
    edges = epinions_trust(data_dir)
    assert len(edges) == 405_739
    assert_all_agree(edges, 0)


def test_a_source_that_no_edge_names_is_at_distance_zero_and_reaches_nothing():
    edges = edge_list((1, 2, 1.0))
    for distances in (exact_distances(edges, 7), networkx_distances(edges, 7)):
        assert distances.lookup(np.array([7, 1, 2, 99])).tolist() == [0.0, np.inf, np.inf, np.inf]


def test_no_edges_at_all_are_a_graph_too():
    assert exact_distances(edge_list(), 3).lookup(np.array([3, 4])).tolist() == [0.0, np.inf]


def test_ids_at_the_ends_of_int64_survive():
    low, high = -(2**63), 2**63 - 1
    edges = edge_list((low, high, 2.0), (high, 0, 3.0))
    assert exact_distances(edges, low).lookup(np.array([high, 0])).tolist() == [2.0, 5.0]
    assert_all_agree(edges, low)


def test_a_width_that_would_need_a_million_buckets_is_refused():
    with pytest.raises(ValueError, match="width"):
        bucket_queue(build(edge_list((0, 1, 1e9))), 0, width=1e-6)
