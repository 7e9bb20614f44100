"""The generated graphs are what their recipes say."""

import hashlib

import numpy as np
import pytest

from tornado.testing import (
    EdgeList,
    GraphModel,
    closing,
    closures,
    exact_distances,
    fed_cycle,
    graphs,
    opening,
    rmat,
    road_network,
    root_of,
    splitmix,
)


def digest(edges: EdgeList) -> str:
    columns = (edges.src.astype(np.int64), edges.dst.astype(np.int64), edges.weight.astype(np.float64))
    return hashlib.sha256(b"".join(column.tobytes() for column in columns)).hexdigest()[:16]


def test_rmat_has_the_size_of_the_recipe():
    edges = rmat(16)
    assert 950_000 < len(edges) < 960_000
    assert edges.vertices == 65_536


def test_rmat_has_no_loops_no_duplicates_and_weights_from_1_to_100():
    edges = rmat(12)
    keys = edges.src.astype(np.int64) << 32 | edges.dst
    assert len(np.unique(keys)) == len(keys)
    assert not (edges.src == edges.dst).any()
    assert edges.src.min() >= 0
    assert max(edges.src.max(), edges.dst.max()) < 4_096
    assert (edges.weight.min(), edges.weight.max()) == (1, 100)
    assert abs(edges.weight.mean() - 50.5) < 0.5


def test_rmat_draws_every_quadrant_at_every_level_with_its_chance():
    keys = graphs._draw_keys(7, 200_000, splitmix.stream(3, 0))
    src, dst = keys >> 32, keys & 0xFFFFFFFF
    for level in range(7):
        quadrant = 2 * (src >> level & 1) + (dst >> level & 1)
        shares = np.bincount(quadrant, minlength=4) / len(keys)
        assert np.abs(shares - [0.57, 0.19, 0.19, 0.05]).max() < 0.005
    # And levels do not know of each other: the heaviest quadrant three times in a row is 0.57 cubed.
    assert abs(((src & 7 == 0) & (dst & 7 == 0)).mean() - 0.57**3) < 0.005


def test_a_seed_names_one_graph_on_every_machine():
    # Written down: figures of two machines, or of two years, are about the same graph.
    assert digest(rmat(10, seed=1)) == "81bd251eccdaf0e2"
    assert digest(rmat(10, seed=1)) != digest(rmat(10, seed=2))
    assert digest(road_network(12, 9, seed=1)) == "1d6c39a2ecc4955d"


def test_edges_are_shuffled_and_names_permuted():
    edges = rmat(12)
    assert abs(np.corrcoef(np.arange(len(edges)), edges.src)[0, 1]) < 0.02
    assert root_of(edges) != 0


@pytest.mark.parametrize("scale", [0, 31])
def test_a_scale_beyond_memory_or_sense_is_refused(scale):
    with pytest.raises(ValueError, match="scale"):
        rmat(scale)


def test_every_junction_of_the_town_that_has_a_road_can_be_reached():
    roads = road_network(30, 30, seed=4)
    distances = exact_distances(roads, 0).lookup(roads.ids())
    assert np.isfinite(distances).mean() > 0.95


def test_roads_go_both_ways_and_close_and_open_both_ways():
    roads = road_network(10, 10, seed=2)
    assert (roads.src[0::2] == roads.dst[1::2]).all()
    assert (roads.dst[0::2] == roads.src[1::2]).all()
    closed = closures(roads, 7, seed=3)
    model = GraphModel()
    model.apply(roads.records())
    model.apply(closing(closed))
    assert len(model.edges()) == len(roads) - 14
    model.apply(opening(closed))
    assert len(model.edges()) == len(roads)
    assert model.missing_removals() == 0


def test_without_its_feeding_edge_a_cycle_is_unreachable():
    edges = fed_cycle(5)
    assert exact_distances(edges, 0).lookup(np.array([1, 5])).tolist() == [1.0, 1.0]
    assert exact_distances(edges[1:], 0).lookup(np.array([1, 5])).tolist() == [np.inf, np.inf]
