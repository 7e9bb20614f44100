"""The evolving graph against the plain model, at the newest version and at every version that is leased."""

import itertools
import random

import numpy as np
import pytest

import tornado.graph.bulk_load
import tornado.graph.evolving_graph
import tornado.graph.list_memory
from tornado import EdgeBatch
from tornado.arena import reserve
from tornado.graph import EvolvingGraph, PartitionMap
from tornado.graph import graph_columns as names
from tornado.graph.rows_kernel import next_slot, own_slot
from tornado.records.operations import INSERT, REMOVE
from tornado.testing import GraphModel


class Twin:
    """A graph on one worker and its model, given the same records one batch at a time."""

    def __init__(self, seed, vertices):
        self.random = random.Random(seed)
        self.vertices = [self.random.getrandbits(64) - (1 << 63) for _ in range(vertices)]
        self.graph = EvolvingGraph(PartitionMap.even(1))
        self.model = GraphModel()
        self.inserted = []
        self.leases = {}

    def apply(self, count, *, is_growing=False):
        rows = [self.row() for _ in range(count)]
        src, dst, weight, op = zip(*rows, strict=True)
        batch = EdgeBatch.of(src, dst, np.array(weight, np.float64), op=np.array(op, np.int8))
        self.model.apply(batch)
        first = 0
        while first < count:
            first = self.graph.apply(
                batch.src, batch.dst, batch.weight, batch.op, first, count, is_growing=is_growing
            )

    def row(self):
        chance = self.random
        if not self.inserted or chance.random() < 0.55:
            edge = chance.choice(self.vertices), chance.choice(self.vertices), float(chance.randrange(4))
            self.inserted.append(edge)
            return (*edge, 1)
        place = chance.randrange(len(self.inserted))
        src, dst, weight = self.inserted[place]
        kind = chance.random()
        if kind < 0.1:
            return src, dst, weight + 1, 2
        del self.inserted[place]
        return src, dst, weight if kind < 0.5 else np.nan, -1

    def lease(self):
        lease, version = self.graph.lease()
        assert version == len(self.model)
        self.leases[lease] = version

    def release(self, lease):
        del self.leases[lease]
        self.graph.release(lease)

    def check(self):
        self.compare(None)
        for version in set(self.leases.values()):
            self.compare(version)
        statistics = self.graph.statistics()
        assert statistics.edges == len(self.model.edges())
        assert statistics.missing_removals == self.model.missing_removals()
        assert statistics.sequence == len(self.model)
        assert statistics.leases == len(self.leases)
        assert self.leases or statistics.graves == 0

    def compare(self, version):
        found = self.graph.edges() if version is None else self.graph.edges(version)
        order = np.argsort(found[3], kind="stable")
        src, dst, weight = (column[order].tolist() for column in found[:3])
        expected = self.model.edges(prefix=version)
        assert src == expected.src.tolist(), version
        assert dst == expected.dst.tolist(), version
        assert weight == expected.weight.tolist(), version


@pytest.mark.parametrize("seed", range(40))
def test_the_graph_is_that_of_the_model_at_every_version_leased(seed, monkeypatch):
    monkeypatch.setattr(
        tornado.graph.evolving_graph, "_SLIDE_FUEL", 200
    )  # small graphs are compacted in several steps, too
    twin = Twin(seed, vertices=random.Random(seed).choice([2, 5, 20, 200]))
    for _ in range(60):
        kind = twin.random.random()
        if kind < 0.6:
            twin.apply(twin.random.choice([1, 3, 40]))
        elif kind < 0.75:
            twin.lease()
        elif kind < 0.9 and twin.leases:
            twin.release(twin.random.choice(list(twin.leases)))
        else:
            # Now and then in steps, with records between them.
            twin.graph.compact(steps=twin.random.choice([1, 2, None]))
        twin.check()


def load(twin, count):
    """Have edges between vertices of a twin come in bulk; returns them."""
    src, dst = (
        np.array([twin.random.choice(twin.vertices) for _ in range(count)], np.int64) for _ in range(2)
    )
    edges = EdgeBatch.insertions(src, dst, np.arange(count) % 4 / 1.0)
    twin.model.apply(edges)
    twin.inserted += zip(src.tolist(), dst.tolist(), edges.weight.tolist(), strict=True)
    first = count // 3
    for own in (0, first), (first, count):
        assert twin.graph.apply(edges.src, edges.dst, edges.weight, edges.op, *own, is_load=True) == own[1]
    return edges


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("stretch_bits", [0, 2, 11])
@pytest.mark.parametrize("expected", [0, 3_000])
def test_a_graph_that_comes_in_bulk_is_the_one_that_comes_edge_by_edge_and_goes_on_as_that(
    seed, stretch_bits, expected, monkeypatch
):
    monkeypatch.setattr(tornado.graph.evolving_graph, "FEW_EDGES", 0)
    monkeypatch.setattr(tornado.graph.bulk_load, "_STRETCH_BITS", stretch_bits)
    twin = Twin(seed, vertices=40)
    twin.graph.expect(expected)
    for _ in range(3):
        edges = load(twin, 1_000)
        assert twin.graph.columns.counters[names.DELTAS] == 0  # nobody is told
    assert twin.graph.is_loading
    twin.check()
    assert not twin.graph.is_loading
    for _ in range(20):
        twin.apply(twin.random.randrange(1, 200))
        if twin.random.random() < 0.5:
            twin.lease()
    twin.check()
    twin.graph.apply(edges.src, edges.dst, edges.weight, edges.op, 0, 1_000)
    assert twin.graph.columns.counters[names.DELTAS] == 1_000


READERS = {
    "records that loops hear of": lambda twin: twin.apply(1),
    "a lease": lambda twin: twin.lease(),
    "whoever asks for the edges": lambda twin: twin.graph.edges(),
    "a compaction": lambda twin: twin.graph.compact(),
}


@pytest.mark.parametrize("reader", READERS)
def test_whoever_reads_lists_of_a_graph_that_is_loaded_has_them_built_before(reader):
    twin = Twin(1, vertices=40)
    load(twin, 300)
    READERS[reader](twin)
    assert not twin.graph.is_loading
    twin.check()
    if twin.leases:
        twin.release(twin.leases[0] if isinstance(twin.leases, list) else next(iter(twin.leases)))
    load(twin, 10)  # into lists that are there
    assert twin.graph.is_loading
    twin.check()


def test_what_is_read_or_removed_is_never_loaded():
    src, dst = np.array([1, 1], np.int64), np.array([2, 2], np.int64)
    graph = EvolvingGraph(PartitionMap.even(1))
    graph.apply(src, dst, np.ones(2), np.array([INSERT, REMOVE], np.int8), 0, 2, is_load=True)
    assert not graph.is_loading
    assert graph.statistics().edges == 0
    graph = EvolvingGraph(PartitionMap.even(1))
    _, version = graph.lease()
    graph.apply(src, dst, np.ones(2), np.full(2, INSERT, np.int8), 0, 2, is_load=True)
    assert not graph.is_loading
    assert len(graph.edges(version)[0]) == 0
    graph = EvolvingGraph(PartitionMap.even(1))
    graph.apply(src, dst, np.array([3.0, 4.0]), np.full(2, INSERT, np.int8), 0, 2, is_load=True)
    graph.begin_weights_in()
    while not graph.weigh_in_lists(10):
        pass
    assert not graph.is_loading
    first = int(graph.columns.in_start[graph.rows_of(dst[:1])[0]])
    assert graph.columns.in_weight[first : first + 2].tolist() == [3.0, 4.0]


def test_lists_of_a_base_have_no_more_room_than_their_edges_need():
    graph = EvolvingGraph(PartitionMap.even(1))
    ids = np.arange(100, dtype=np.int64)
    for turn in range(64):  # an edge more from each vertex, every time
        graph.apply(ids, np.roll(ids, turn), np.ones(100), np.ones(100, np.int8), 0, 100, is_load=True)
    graph.end_load()
    assert graph.statistics().edges == graph.columns.counters[names.OUT_END] == 6_400
    assert graph.columns.out_capacity[:100].tolist() == [64] * 100


@pytest.mark.parametrize("seed", range(12))
def test_a_graph_that_grows_much_is_that_of_the_model_and_what_came_while_it_is_compacted_stays(
    seed, monkeypatch
):
    monkeypatch.setattr(tornado.graph.evolving_graph, "_SLIDE_FUEL", 200)
    monkeypatch.setattr(tornado.graph.list_memory, "FEW_EDGES", 0)
    monkeypatch.setattr(tornado.graph.list_memory, "_AHEAD", 1 << 12)
    monkeypatch.setattr(tornado.graph.evolving_graph, "_ROWS_AT_ONCE", 3)
    twin = Twin(seed, vertices=200)
    for _ in range(30):
        kind = twin.random.random()
        if kind < 0.6:
            twin.apply(twin.random.choice([3, 40, 400]), is_growing=twin.random.random() < 0.7)
        elif kind < 0.7:
            twin.lease()
        elif kind < 0.8 and twin.leases:
            twin.release(twin.random.choice(list(twin.leases)))
        elif kind < 0.9:
            twin.graph.make_rows(np.array(twin.random.choices(twin.vertices, k=20), np.int64))
        else:
            twin.graph.compact(steps=twin.random.choice([1, 2, None]))
        twin.check()


def test_while_much_comes_short_lists_get_room_for_more_and_a_compaction_takes_back_what_is_idle():
    ids = np.arange(100, dtype=np.int64)
    moves, graphs = {}, {}
    for is_growing in (False, True):
        graph = graphs[is_growing] = EvolvingGraph(PartitionMap.even(1))
        starts = []
        for turn in range(33):  # an edge more from each vertex, every time
            weights, ops = np.ones(100), np.ones(100, np.int8)
            graph.apply(ids, np.roll(ids, turn), weights, ops, 0, 100, is_growing=is_growing)
            starts.append((graph.columns.out_start[:100].tolist(), graph.columns.in_start[:100].tolist()))
        moves[is_growing] = [
            turn for turn, (one, following) in enumerate(itertools.pairwise(starts), 1) if one != following
        ]
    assert [turn for turn in moves[True] if turn <= 8] == [2, 4, 8], moves
    assert [turn for turn in moves[False] if turn <= 8] == [2, 3, 4, 6, 8], moves
    assert [turn for turn in moves[True] if turn > 8] == [turn for turn in moves[False] if turn > 8], moves
    graphs[True].compact()
    assert graphs[True].waste() < 0.01


def test_memory_is_put_under_lists_ahead_while_they_grow_and_given_back_with_a_compaction(monkeypatch):
    monkeypatch.setattr(tornado.graph.list_memory, "FEW_EDGES", 1 << 10)
    graph = EvolvingGraph(PartitionMap.even(1))
    ids = np.arange(1 << 13, dtype=np.int64)
    asked = []
    putting = tornado.graph.list_memory.populate
    monkeypatch.setattr(
        tornado.graph.list_memory,
        "populate",
        lambda columns, stop, *, first, **how: (
            asked.append((first, stop)) or putting(columns, stop, first=first, **how)
        ),
    )
    for turn in range(3):
        weights, ops = np.ones(len(ids)), np.ones(len(ids), np.int8)
        graph.apply(ids, np.roll(ids, turn), weights, ops, 0, len(ids), is_growing=turn > 0)
    (first, stop) = asked[0]  # more is asked for only when half of that is used
    assert len(asked) == 1 and first >= 1 << 13 and stop == first + tornado.graph.list_memory._AHEAD
    assert graph.list_memory.stop == stop
    graph.compact()
    assert graph.list_memory.stop == 0
    assert graph.statistics().edges == 3 << 13


def test_a_new_list_gets_room_for_more_than_a_pair_only_where_there_are_as_many_edges_as_vertices():
    graph = EvolvingGraph(PartitionMap.even(1))
    chain = np.arange(10, dtype=np.int64)
    for sources, targets, room in ((chain, chain + 1, 2), (chain, chain, 4), (chain + 20, chain, 4)):
        graph.apply(sources, targets, np.ones(10), np.ones(10, np.int8), 0, 10, is_growing=True)
        assert set(graph.columns.out_capacity[graph.rows_of(sources)].tolist()) == {room}
        graph.apply(sources, targets, np.ones(10), np.ones(10, np.int8), 0, 10, is_growing=True)


@pytest.mark.parametrize("spread", [1, 3, 1_000_000_007])
def test_rows_are_made_in_the_order_of_ids_each_once(spread):
    graph = EvolvingGraph(PartitionMap.even(1))
    chance = np.random.default_rng(1)
    graph.make_rows(chance.integers(0, 50, 100) * spread)
    before = graph.columns.ids[: graph.rows].copy()
    named = chance.integers(0, 30_000, 60_000) * spread
    graph.make_rows(named)
    graph.make_rows(named[:0])
    found = graph.columns.ids[: graph.rows]
    assert found[: len(before)].tolist() == before.tolist() == sorted(before.tolist())
    new = np.setdiff1d(named, before)
    assert found[len(before) :].tolist() == new.tolist()
    assert (graph.rows_of(found) == np.arange(graph.rows)).all()


def test_ids_whose_own_place_another_one_has_are_found_within_few_looks():
    graph = EvolvingGraph(PartitionMap.even(1))
    dense = np.arange(30_000)
    ids = np.concatenate([dense, dense + (1 << 40), -dense - 1, dense[:1000] << 20])
    for some in np.array_split(np.unique(ids), 7):  # the table grows between them
        graph.make_rows(some)
    ids = np.unique(ids)
    assert (graph.columns.ids[graph.rows_of(ids)] == ids).all()
    assert (graph.rows_of(ids + (1 << 50)) == -1).all()

    table, mask = graph.columns.table, int(graph.columns.counters[names.TABLE_MASK])
    most = 0
    for identifier in np.random.default_rng(1).choice(np.concatenate([ids, ids + (1 << 50)]), 20_000):
        slot, looks = own_slot(mask, identifier), 1
        while table[slot] and graph.columns.ids[table[slot] - 1] != identifier:
            slot, looks = next_slot(mask, identifier, looks), looks + 1
        most = max(most, looks)
    assert 1 < most < 40


def test_the_ring_of_graves_grows_while_somebody_reads_and_shrinks_when_nobody_does():
    twin = Twin(1, vertices=50)
    twin.apply(4000)
    first_size = twin.graph.columns.grave_died.size
    twin.lease()
    twin.apply(100)
    twin.lease()
    for _ in range(25):
        twin.apply(6000)
    assert twin.graph.columns.grave_died.size > 32 * first_size
    twin.check()
    oldest, newer = sorted(twin.leases)
    twin.release(oldest)
    twin.check()
    twin.apply(500)
    twin.check()
    twin.release(newer)
    twin.check()
    assert twin.graph.columns.grave_died.size == first_size


def test_graves_that_no_lease_needs_are_forgotten_from_the_oldest_on():
    twin = Twin(2, vertices=10)
    graves = []
    for _ in range(6):
        twin.apply(200)
        twin.lease()
    twin.apply(200)
    for lease in sorted(twin.leases):
        twin.release(lease)
        twin.check()
        graves.append(twin.graph.statistics().graves)
    assert graves == sorted(graves, reverse=True)
    assert graves[0] > graves[-1] == 0


def test_compaction_gives_idle_blocks_back_and_keeps_every_edge():
    twin = Twin(3, vertices=100)
    twin.apply(5000)
    twin.lease()
    for src, dst, weight in twin.inserted[: len(twin.inserted) * 9 // 10]:
        batch = EdgeBatch.of([src], [dst], [weight], op=-1)
        twin.model.apply(batch)
        assert twin.graph.apply(batch.src, batch.dst, batch.weight, batch.op, 0, 1) == 1
    assert twin.graph.waste() > 0.3
    before = twin.graph.waste()
    twin.graph.compact()
    assert twin.graph.waste() < before / 2
    twin.check()
    twin.apply(2000)
    twin.check()


def test_a_new_graph_is_empty_and_releasing_twice_is_an_error():
    graph = EvolvingGraph(PartitionMap.even(1))
    assert [len(column) for column in graph.edges()] == [0, 0, 0, 0]
    lease, version = graph.lease()
    assert version == 0
    graph.release(lease)
    with pytest.raises(KeyError):
        graph.release(lease)


def weights_along_in_lists(graph):
    """By in-list entry, its weight there and where its edge is."""
    columns = graph.columns
    for row in range(graph.rows):
        first = int(columns.in_start[row])
        for place in range(first, first + int(columns.in_length[row])):
            slot = columns.out_start[columns.in_producer[place]] + columns.in_position[place]
            yield columns.in_weight[place], columns.edge_weight[slot]


@pytest.mark.parametrize("seed", range(12))
def test_in_lists_have_the_weights_of_their_edges_from_when_somebody_wants_them(seed):
    twin = Twin(seed, vertices=1 + seed * 5)
    graph, chance = twin.graph, random.Random(seed)
    readers = 0
    for _ in range(80):
        twin.apply(chance.randrange(1, 30))
        if chance.random() < 0.2:
            graph.compact(steps=chance.randrange(1, 4))
        kind = chance.random()
        if kind < 0.2:
            graph.begin_weights_in()
            readers += 1
        elif kind < 0.3 and readers:
            graph.end_weights_in()
            readers -= 1
        # Lists change while weights are still put into others.
        if readers and graph.weigh_in_lists(chance.choice([1, 7, 1000])):
            assert all(there == wanted for there, wanted in weights_along_in_lists(graph))
    assert graph.columns.in_weight.size == 1 or readers


def test_what_lists_lie_in_is_joined_while_nothing_comes_until_something_does(monkeypatch):
    memory = tornado.graph.list_memory
    monkeypatch.setattr(memory, "FEW_EDGES", 1 << 10)
    count = 1 << 21
    columns = [reserve(1 << 24, np.int32), reserve(1 << 24, np.int64)]
    for column in columns:
        column[:count] = np.arange(count) % 1_000_003
    lists, joined, joining = memory.ListMemory(columns), [], memory.join_pages

    def join(column, first, stop):
        joined.append((column.itemsize, first, stop))
        if len(joined) == 2:
            lists.stop_joining()
        return joining(column, first, stop)

    monkeypatch.setattr(memory, "join_pages", join)
    lists.join(100)  # for so few it is not worth it
    assert not joined
    for _ in range(2):
        lists.join(count)
        lists._joining.join()
        assert len(joined) == 2 or joined[-1][2] == count
    assert {itemsize for itemsize, _, _ in joined} == {4, 8}
    lists.join(count + 100)
    assert lists._joined == [count, count]
    for column in columns:
        assert np.array_equal(column[:count], np.arange(count) % 1_000_003)
    lists.forget()
    assert lists._joined == [0, 0]


def test_a_graph_whose_lists_are_weighed_while_edges_come_in_bulk_has_all_weights(monkeypatch):
    monkeypatch.setattr(tornado.graph.evolving_graph, "_MOST_IN_BULK", 150)
    random, graph = np.random.default_rng(1), EvolvingGraph(PartitionMap.even(1))
    for turn in range(12):
        src, dst = random.integers(0, 30, (2, 100))
        graph.apply(src, dst, random.random(100), np.ones(100, np.int8), 0, 100, is_load=True)
        if turn == 3:
            graph.begin_weights_in()
        if turn in {5, 8}:
            while not graph.weigh_in_lists(7):
                pass
    graph.end_load()
    while not graph.weigh_in_lists(7):
        pass
    columns = graph.columns
    for row in range(graph.rows):
        first, length = int(columns.in_start[row]), int(columns.in_length[row])
        for slot in range(first, first + length):
            place = columns.out_start[columns.in_producer[slot]] + columns.in_position[slot]
            assert columns.edge_consumer[place] == row
            assert columns.in_weight[slot] == columns.edge_weight[place]
            assert columns.edge_back[place] == slot - first
