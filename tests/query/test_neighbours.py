"""What is around a vertex: as the edges that were pushed say, on the fake master and on real workers that have a part each."""

from collections import Counter

import numpy as np
import pytest

from tests.query.conftest import start_roads
from tornado.errors import Unresponsive
from tornado.graph import EvolvingGraph, PartitionMap
from tornado.loops.edge_shares import shares_of
from tornado.loops.stream_workers import StreamWorkers
from tornado.loops.surroundings import surroundings_in, together
from tornado.records.edge_batch import EdgeBatch

LIMIT = 7


@pytest.fixture
def client(fake, open_service, serve):
    start_roads(fake)
    return serve(open_service(fake))


def test_around_a_vertex_are_the_edges_that_lead_away_and_those_that_come(client):
    lines = '{"src": 3, "dst": 40, "weight": 2.5}\n{"src": 41, "dst": 3}\n{"src": 3, "dst": 3}\n'
    pushed = client.post(
        "/v1/loops/roads/edges", content=lines, headers={"content-type": "application/x-ndjson"}
    )
    assert pushed.status_code == 202
    found = client.get("/v1/loops/roads/neighbours?vertex=3&ids=string").json()
    assert (found["vertex"], found["known"]) == ("3", True)
    assert {"vertex": "40", "weight": 2.5} in found["out"]
    assert {"vertex": "41", "weight": 1.0} in found["into"]
    assert {"vertex": "3", "weight": 1.0} in found["out"]
    assert {"vertex": "3", "weight": 1.0} in found["into"]
    few = client.get("/v1/loops/roads/neighbours?vertex=3&limit=1").json()
    assert (len(few["out"]), few["edges_out"]) == (1, found["edges_out"])
    assert few["edges_out"] == len(found["out"]) >= 2
    assert few["vertex"] == 3


def test_a_vertex_that_was_never_seen_is_told_and_no_error(client):
    found = client.get("/v1/loops/roads/neighbours?vertex=12345").json()
    assert found == {
        "vertex": 12345,
        "known": False,
        "out": [],
        "edges_out": 0,
        "into": [],
        "edges_into": 0,
    }


@pytest.mark.parametrize(
    ("asked", "status", "said"),
    [
        ("", 422, "vertex"),
        ("?vertex=", 422, "64-bit"),
        ("?vertex=north", 422, "'north'"),
        ("?vertex=99999999999999999999", 422, "64-bit"),
        ("?vertex=9999999999999999999", 422, "64-bit"),
        ("?vertex=3&limit=0", 422, "limit"),
        ("?vertex=3&limit=1001", 422, "limit"),
        ("?vertex=3&depth=2", 422, "depth"),
    ],
)
def test_what_is_asked_wrongly_is_refused_with_the_value_and_the_rule(client, asked, status, said):
    refused = client.get(f"/v1/loops/roads/neighbours{asked}")
    assert refused.status_code == status
    assert said in refused.text
    assert client.get("/v1/loops/nowhere/neighbours?vertex=3").status_code == 404


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("both_ways", [False, True])
def test_workers_have_together_what_a_list_of_edges_has(workers, both_ways):
    random = np.random.default_rng(workers)
    partition = PartitionMap.even(workers)
    graphs = [EvolvingGraph(partition, worker) for worker in range(workers)]
    if both_ways:
        for graph in graphs:
            graph.begin_reverse()
    edges = list[tuple[int, int, float]]()
    for _ in range(30):
        added = random.integers(0, 12, (20, 2))
        weights = random.integers(1, 4, 20).astype(float)
        removed = [edges.pop(int(random.integers(len(edges)))) for _ in range(min(8, len(edges)))]
        edges += zip(*added.T.tolist(), weights.tolist(), strict=True)
        columns = [*zip(*removed, strict=True)] if removed else [[], [], []]
        batch = EdgeBatch(
            np.concatenate([np.array(columns[0], np.int64), added[:, 0]]),
            np.concatenate([np.array(columns[1], np.int64), added[:, 1]]),
            np.concatenate([np.array(columns[2], float), weights]),
            np.repeat(np.array([-1, 1], np.int8), [len(removed), 20]),
        )
        for graph, share in zip(graphs, shares_of(batch, partition, both_ways=both_ways), strict=True):
            graph.mention(share.mentioned)
            edges_in = share.batch
            columns = (edges_in.src, edges_in.dst, edges_in.weight, edges_in.op)
            following = 0
            while following < len(edges_in):
                following = graph.apply(*columns, following, len(edges_in), is_both_ways=share.is_both_ways)
    for vertex in range(13):
        whole = together([surroundings_in(graph, vertex, 1_000) for graph in graphs], 1_000)
        assert Counter(zip(whole.consumers.tolist(), whole.weights_out.tolist(), strict=True)) == Counter(
            (consumer, weight) for producer, consumer, weight in edges if producer == vertex
        )
        assert Counter(zip(whole.producers.tolist(), whole.weights_in.tolist(), strict=True)) == Counter(
            (producer, weight) for producer, consumer, weight in edges if consumer == vertex
        )
        assert (whole.edges_out, whole.edges_in) == (len(whole.consumers), len(whole.producers))
        assert whole.is_known == (vertex < 12)
        some = together([surroundings_in(graph, vertex, LIMIT) for graph in graphs], LIMIT)
        assert len(some.consumers) == min(LIMIT, whole.edges_out)
        assert (some.edges_out, some.edges_in) == (whole.edges_out, whole.edges_in)


def test_while_a_snapshot_is_loaded_nobody_is_told_of_a_part_of_it():
    graph, ids = EvolvingGraph(PartitionMap.even(1)), np.array([1, 2], np.int64)
    graph.apply(ids[:1], ids[1:], np.ones(1), np.ones(1, np.int8), 0, 1, is_load=True)
    with pytest.raises(Unresponsive, match="is loaded just now"):
        surroundings_in(graph, 1, 10)
    graph.end_load()
    assert surroundings_in(graph, 1, 10).edges_out == 1


def test_a_worker_that_does_not_answer_is_told_of():
    class Deaf:
        def post(self, command):
            pass

    with pytest.raises(Unresponsive, match="0 of 2 workers"):
        StreamWorkers(0, [Deaf(), Deaf()], PartitionMap.even(2)).around(5, most=3, timeout_s=0.01)
