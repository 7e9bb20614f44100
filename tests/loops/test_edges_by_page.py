"""All edges of one version of a graph, read while the graph changes, and put by page: against sorting all of them."""

import gc
import weakref
from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest

from apps.sssp import ShortestPaths
from tornado import EdgeBatch
from tornado.graph import EdgeReader, EdgesByPage, edge_reader, edges_by_page, pages_of
from tornado.kinds import snapshot_pages
from tornado.kinds.snapshot_pages import SnapshotPages
from tornado.loops import Master
from tornado.testing import mixed, random_multigraph

SOURCE = 1
WAIT_S = 60


def unchanging_graph(records):
    """The graph that a loop made of these records, and the loop's values; its worker has ended, so this thread owns it."""
    with Master() as master:
        loop = master.start(ShortestPaths(source=SOURCE), "roads")
        loop.admit(records, "edges", len(records))
        assert loop.wait_idle(WAIT_S)
        main = master._hosts[0].loop(loop.number)
    return main.graph, main.state


def read_whole(graph, version):
    edges = EdgesByPage(graph, version)
    while not edges.step():
        pass
    return edges


def small_pages(monkeypatch, edges):
    """So small are pages of edges, and vertices make none."""
    monkeypatch.setattr(edges_by_page, "_EDGES", edges)
    monkeypatch.setattr(edges_by_page, "_ROWS", 1 << 20)


@contextmanager
def no_collection():
    """What a cycle keeps alive stays alive meanwhile."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def by_arrival(edges):
    order = np.argsort(edges[3], kind="stable")
    return [column[order].tolist() for column in edges]


def test_edges_are_read_whole_while_the_graph_changes(monkeypatch):
    monkeypatch.setattr(edge_reader, "_ROWS", 16)
    records = mixed(random_multigraph(100, 3000, seed=5), seed=5)
    graph, _ = unchanging_graph(records.slice(0, 2000))
    lease, version = graph.lease()
    expected = by_arrival(graph.edges(version))
    reader, read = EdgeReader(graph, version, most=8), []
    following = 2000
    while not reader.is_over:
        read.append([column.copy() for column in reader.stretch()])
        part = records.slice(following, following + 40)
        following += 40
        assert graph.apply(part.src, part.dst, part.weight, part.op, 0, len(part)) == len(part)
    assert following > 2400
    producers, consumers, weights, born = map(np.concatenate, zip(*read, strict=True))
    ids = graph.columns.ids
    assert by_arrival((ids[producers], ids[consumers], weights, born)) == expected
    graph.release(lease)


@pytest.mark.parametrize("pages", [1, 2, 8, 64])
@pytest.mark.parametrize("changes", ["none", "removals", "insertions", "both"])
def test_edges_are_put_by_page_while_the_graph_changes(monkeypatch, pages, changes):
    small_pages(monkeypatch, edges=100)
    for name, number in {"_STRETCH_ROWS": 16, "_STRETCH_GRAVES": 16, "_STRETCH_EDGES": 8}.items():
        monkeypatch.setattr(edges_by_page, name, number)
    records = mixed(random_multigraph(100, 3000, seed=7), seed=7)
    graph, _ = unchanging_graph(records.slice(0, 2000))
    old_lease, _ = graph.lease()
    graph.apply(*(getattr(records, name)[2000:2300] for name in ("src", "dst", "weight", "op")), 0, 300)
    lease, version = graph.lease()
    sources, targets, weights, born = graph.edges(version)
    live = EdgeBatch(sources, targets, weights, np.full(len(sources), -1, np.int8))
    edges = EdgesByPage(graph, version)
    assert edges._pages >= 16
    following = 0
    while not edges.step():
        part = live.slice(following, following + 10)
        more = records.slice(2300 + following % 600, 2300 + following % 600 + 10)
        following += 10
        for batch in (part,) * (changes in ("removals", "both")) + (more,) * (
            changes in ("insertions", "both")
        ):
            graph.apply(batch.src, batch.dst, batch.weight, batch.op, 0, len(batch))
    assert following >= 250
    assert len(edges) == len(sources)
    some = [edges.some(first, min(first + 70, len(sources))) for first in range(0, len(sources), 70)]
    assert sorted(
        zip(*(np.concatenate(column).tolist() for column in zip(*some, strict=True)), strict=True)
    ) == sorted(zip(sources.tolist(), targets.tolist(), weights.tolist(), strict=True))
    for page in range(pages):
        order = np.flatnonzero(pages_of(targets, pages) == page)
        order = order[np.argsort(born[order])]
        found = edges.page(page, pages)
        assert sorted(zip(*(column.tolist() for column in found), strict=True)) == sorted(
            zip(sources[order].tolist(), targets[order].tolist(), weights[order].tolist(), strict=True)
        )
        for target in np.unique(found[1]):
            ours, own = found[1] == target, order[targets[order] == target]
            assert found[0][ours].tolist() == sources[own].tolist()
            assert found[2][ours].tolist() == weights[own].tolist()
    graph.release(lease)
    graph.release(old_lease)


def test_edges_that_are_no_longer_wanted_are_let_go_of_at_once_however_far_they_were_read(monkeypatch):
    monkeypatch.setattr(edges_by_page, "_STRETCH_EDGES", 100)
    graph, _ = unchanging_graph(mixed(random_multigraph(100, 3000, seed=8), seed=8))
    lease, version = graph.lease()
    for steps in range(5):
        edges = EdgesByPage(graph, version)
        for _ in range(steps):
            assert not edges.step()
        held = weakref.ref(edges)
        with no_collection():
            del edges
            assert held() is None
    graph.release(lease)


def test_what_is_being_arranged_lets_go_of_the_edges_at_once():
    graph, state = unchanging_graph(mixed(random_multigraph(100, 3000, seed=8), seed=8))
    lease, version = graph.lease()
    edges = read_whole(graph, version)
    arranged = SnapshotPages(graph, columns_of=state.stored_columns, vertices=graph.vertices, edges=edges)
    assert not arranged.arrange(8)
    held = weakref.ref(edges)
    with no_collection():
        del arranged, edges
        assert held() is None
    graph.release(lease)


def test_pages_of_the_same_graph_are_the_same_however_many_graves_there_are(monkeypatch):
    small_pages(monkeypatch, edges=100)
    graph, _ = unchanging_graph(mixed(random_multigraph(100, 3000, seed=9), seed=9))
    lease, version = graph.lease()
    before = [[column.tolist() for column in read_whole(graph, version).page(page, 4)] for page in range(4)]
    for op in (1, -1):
        ends = np.full(5000, 7)
        graph.apply(ends, ends, np.full(5000, 0.5), np.full(5000, op, np.int8), 0, 5000)
    assert graph.statistics().graves >= 5000
    for at in (version, graph.sequence):
        edges = read_whole(graph, at)
        assert [[column.tolist() for column in edges.page(page, 4)] for page in range(4)] == before
    graph.release(lease)


def test_pages_are_small_too_where_the_graph_has_lost_its_edges_since_the_version(monkeypatch):
    small_pages(monkeypatch, edges=10)
    graph, _ = unchanging_graph(mixed(random_multigraph(100, 3000, seed=10), seed=10))
    lease, version = graph.lease()
    sources, targets, weights, _ = graph.edges(version)
    count = len(sources)
    graph.apply(sources, targets, weights, np.full(count, -1, np.int8), 0, count)
    assert graph.statistics().edges == 0
    edges = read_whole(graph, version)
    assert len(edges) == count
    assert max(edges._following - edges._first) < count / 10
    graph.release(lease)


@pytest.mark.parametrize("pages", [1, 8])
def test_a_snapshot_by_page_is_what_sorting_all_of_it_would_give(monkeypatch, pages):
    monkeypatch.setattr(snapshot_pages, "_STRETCH", 100)
    graph, state = unchanging_graph(mixed(random_multigraph(300, 3000, seed=6), seed=6))
    lease, version = graph.lease()
    edges = read_whole(graph, version)
    arranged = SnapshotPages(
        graph,
        columns_of=partial(state.stored_columns, ids=graph.columns.ids),
        vertices=graph.vertices,
        edges=edges,
    )
    while not arranged.arrange(pages):
        pass
    ids = graph.columns.ids[: graph.rows]
    page_of = pages_of(ids, pages)
    sources, targets, weights, born = graph.edges(version)
    target_page = pages_of(targets, pages)
    assert arranged.sizes() == (graph.rows, len(targets))
    for page in range(pages):
        order = np.flatnonzero(target_page == page)
        order = order[np.argsort(born[order])]
        expected = sources[order], targets[order], weights[order]
        for found, column in zip(arranged.page_edges(page)(), expected, strict=True):
            assert found.tolist() == column.tolist()
        rows = np.flatnonzero(page_of == page)
        found, columns = arranged.page_vertices(page)()
        assert found.tolist() == ids[rows].tolist()
        assert columns["values"].tolist() == state.columns.value[rows].tolist()
        own = state.columns.parent[rows]
        assert columns["parents"].tolist() == np.where(own < 0, ids[rows], ids[own]).tolist()
    graph.release(lease)
