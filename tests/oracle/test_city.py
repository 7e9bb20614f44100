"""The generated town: reproducible, with water that only bridges cross, and one town all the same."""

import networkx as nx
import numpy as np
import pytest

from tornado.testing.city import city


@pytest.fixture(scope="module")
def town():
    return city(160, 200, seed=7)


def test_a_seed_is_a_town(town):
    again, other = city(160, 200, seed=7), city(160, 200, seed=8)
    assert np.array_equal(again.roads.src, town.roads.src)
    assert np.array_equal(again.roads.weight, town.roads.weight)
    assert not np.array_equal(other.water, town.water)


def test_roads_have_two_directions_and_lead_between_dry_neighbours_but_for_bridges(town):
    src, dst = town.roads.src, town.roads.dst
    assert np.array_equal(src[0::2], dst[1::2])
    assert np.array_equal(dst[0::2], src[1::2])
    assert not town.water.ravel()[src].any()
    far = ~np.isin(np.abs(src - dst), [1, 200])
    bridges = {frozenset(ends) for ends in town.bridges.tolist()}
    assert {frozenset(ends) for ends in zip(src[far].tolist(), dst[far].tolist(), strict=True)} <= bridges
    assert 0 < len(bridges) < 40
    hundredths = town.roads.weight * 100
    assert np.abs(hundredths - np.round(hundredths)).max() < 1e-9


def test_without_its_bridges_the_town_falls_apart(town):
    graph = nx.Graph(zip(town.roads.src.tolist(), town.roads.dst.tolist(), strict=True))
    station = town.nearest_junction(80, 100)
    whole = len(nx.node_connected_component(graph, station))
    assert whole > 0.98 * town.junctions
    graph.remove_edges_from(town.bridges.tolist())
    assert len(nx.node_connected_component(graph, station)) < 0.8 * whole


def test_the_nearest_junction_is_a_dry_one(town):
    for row in range(0, 160, 20):
        for column in range(0, 200, 20):
            junction = town.nearest_junction(row, column)
            assert not town.water.ravel()[junction]
            assert np.hypot(junction // 200 - row, junction % 200 - column) < 40
