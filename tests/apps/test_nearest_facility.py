"""The nearest of some facilities against networkx: how far it is, and which, while edges come and go."""

import networkx as nx
import pytest

import tornado
from apps.nearest_facility import NearestFacility
from tests.apps.test_selective_apps import graph_of
from tornado.loops import Master
from tornado.testing import EdgeHistory, mixed, random_multigraph

TIMEOUT_S = 120.0
FACILITIES = (31, 7, 45, 0)  # in no order


def nearest_by_networkx(graph):
    """The least distance of each vertex that one reaches, and the least id of those that are as near."""
    found = {}
    for facility in sorted(FACILITIES):
        if facility in graph:
            for vertex, distance in nx.single_source_dijkstra_path_length(graph, facility).items():
                if vertex not in found or distance < found[vertex][0]:
                    found[vertex] = distance, facility
    lengths = nx.multi_source_dijkstra_path_length(graph, [one for one in FACILITIES if one in graph])
    assert {vertex: distance for vertex, (distance, _) in found.items()} == lengths
    return found


@pytest.mark.parametrize("workers", [1, 2])
def test_distance_and_facility_are_right_at_every_prefix(workers):
    # Whole weights: many vertices are as far from several facilities.
    records = mixed(random_multigraph(60, 220, seed=31, max_weight=4, integral=True), seed=32)
    history, step = EdgeHistory.of(records), 70
    with Master(workers=workers) as master:
        loop = master.start(NearestFacility(facilities=FACILITIES), "nearest", 64)
        for first in range(0, len(records), step):
            batch = records.slice(first, min(first + step, len(records)))
            loop.admit(batch, "stream", first + len(batch))
            branch = loop.fork(reads_ways=True)
            assert branch.wait(TIMEOUT_S)
            graph = graph_of(history.at(first + len(batch)))
            expected = nearest_by_networkx(graph)
            for vertex, way in branch.ways(list(graph)).items():
                found = (way.value, int(way.vertices[0])) if way.is_reached else None
                assert found == expected.get(vertex), (first, vertex)
            branch.release()


def test_another_set_of_facilities_is_another_question_and_ids_may_be_strings():
    with tornado.open("memory:", workers=2) as session:
        towns = session.start(NearestFacility(facilities=("Rome", "Oslo")), name="towns", ids="string")
        towns.insert(["Rome", "Oslo", "Bern"], ["Bern", "Bern", "Nice"], [3.0, 2.0, 1.0])
        (way,) = towns.query(paths=["Nice"]).paths
        assert (way["value"], way["vertices"]) == (3.0, ["Oslo", "Bern", "Nice"])
        (other,) = towns.query(paths=["Nice"], facilities=("Rome",), check=True).paths
        assert (other["value"], other["vertices"][0]) == (4.0, "Rome")
