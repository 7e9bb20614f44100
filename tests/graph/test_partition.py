"""Which worker has which vertex: by the hash of its id, or in blocks of ids where the first edges show that these are local."""

import numpy as np
import pytest

import tornado
from apps.sssp import ShortestPaths
from tornado.errors import InvalidArgument
from tornado.graph import EvolvingGraph, PartitionMap
from tornado.loops import Master
from tornado.records.edge_batch import EdgeBatch
from tornado.testing import chain, exact_distances, rmat, road_network


def cut_share(partition, edges):
    owners = [partition.owners_of(ends.astype(np.int64)) for ends in (edges.src, edges.dst)]
    return (owners[0] != owners[1]).mean()


def settled(edges, workers):
    batch = edges.records()
    return PartitionMap.by("auto", workers).settled(batch.src, batch.dst)


@pytest.mark.parametrize("workers", [2, 3, 8])
@pytest.mark.parametrize("roads", [road_network(300, 300), chain(5_000)], ids=["roads", "chain"])
def test_vertices_of_local_ids_are_placed_in_blocks_that_few_edges_leave_and_no_worker_has_more_than_others(
    roads, workers
):
    partition = settled(roads, workers)
    assert cut_share(partition, roads) < 0.2
    counts = np.bincount(partition.owners_of(np.arange(roads.vertices)), minlength=workers)
    assert counts.max() < 1.5 * counts.mean()


def test_other_ids_are_placed_by_their_hash_and_so_are_those_of_a_few_edges():
    skewed = rmat(12)
    assert settled(skewed, 2).block_bits == 0
    assert settled(chain(500), 2).block_bits == 0
    far = EdgeBatch.of(np.full(2_000, -(1 << 63)), np.full(2_000, (1 << 63) - 1))
    assert PartitionMap.by("auto", 2).settled(far.src, far.dst).block_bits == 0


def test_a_graph_asks_the_same_map_as_whoever_shares_records_out():
    partition = settled(chain(5_000), 3)
    graph = EvolvingGraph(PartitionMap.even(3))
    graph.settle(partition)
    ids = np.arange(-50, 5_050, dtype=np.int64)
    graph.make_room(len(ids))
    graph.mention(ids)
    assert np.array_equal(graph.columns.owner[graph.rows_of(ids)], partition.owners_of(ids))


@pytest.mark.parametrize("engine", ["threads", "processes"])
def test_loops_on_blocks_are_exact_and_go_on_so_on_another_number_of_workers(engine):
    roads = road_network(60, 60)
    with Master(workers=2, engine=engine) as master:
        loop = master.start(ShortestPaths(source=0), "roads")
        loop.admit(roads.records(), "roads", len(roads))
        assert loop.partition.block_bits > 0
        for workers in (2, 3):
            if workers != loop.workers:
                master.rescale("roads", workers)
            branch = loop.fork()
            assert branch.wait(60)
            ids, values = branch.values().arrays()
            assert np.array_equal(np.sort(ids), np.arange(roads.vertices))
            assert np.array_equal(values, exact_distances(roads, 0).lookup(ids))
            branch.release()
            owners = [loop.partition.owners_of(ends) for ends in (roads.src, roads.dst)]
            assert loop.statistics().cut_edges == (owners[0] != owners[1]).sum() > 0
            assert loop.partition.block_bits > 0


def test_a_placement_that_there_is_not_is_refused_and_the_hash_can_be_had():
    with pytest.raises(
        InvalidArgument,
        match=r"the placement is 'block', but it must be one of auto, blocks, hash, or a file",
    ):
        tornado.open(workers=2, placement="block")
    with tornado.open(workers=2, placement="hash") as session:
        loop = session.start(ShortestPaths(source=0), "roads")
        edges = chain(3_000)
        loop.insert(edges.src, edges.dst, edges.weight)
        assert loop.query(vertices=[2_999]).result().values == {2_999: 2_999.0}


def test_blocks_can_be_had_whatever_the_edges_are():
    skewed = rmat(12)
    batch = skewed.records()
    assert PartitionMap.by("blocks", 2).settled(batch.src, batch.dst).block_bits > 0
    with tornado.open(workers=2, placement="blocks") as session:
        loop = session.start(ShortestPaths(source=0), "roads")
        loop.insert(skewed.src, skewed.dst, skewed.weight)
        table = loop.query().result().to_numpy()
        ids, values = table["vertex"], table["value"]
        assert np.array_equal(values, exact_distances(skewed, 0).lookup(ids))


def test_a_stream_that_began_on_one_worker_is_placed_by_the_same_choice_when_there_are_more_and_all_of_them_get_blocks():
    roads = road_network(120, 120)
    with Master(workers=1) as master:
        loop = master.start(ShortestPaths(source=0), "roads")
        loop.admit(roads.records(), "roads", len(roads))
        for workers in (2, 8, 2, 8):
            master.rescale("roads", workers)
            assert cut_share(loop.partition, roads) < 0.35
            counts = np.bincount(loop.partition.owners_of(np.arange(roads.vertices)), minlength=workers)
            assert counts.max() < 1.6 * counts.mean()
        branch = loop.fork()
        assert branch.wait(60)
        ids, values = branch.values().arrays()
        assert np.array_equal(values, exact_distances(roads, 0).lookup(ids))
