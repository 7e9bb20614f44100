"""Calling every compiled function of the graph once, so that nothing is compiled while a worker has better things to do."""

from __future__ import annotations

from functools import cache

import numpy as np

from .edges_by_page import EdgesByPage
from .evolving_graph import EvolvingGraph
from .graph_module import graph_module
from .near_sources import by_near_sources
from .partition import PartitionMap, pages_of


@cache
def warm_graph() -> None:
    """Compile what is not on disk yet, and load the rest: on two rows and one edge."""
    partition = PartitionMap.even(2)
    graph = EvolvingGraph(partition)
    ids, weights = np.array([1, 2], np.int64), np.ones(1)
    partition.owners_of(ids)
    pages_of(ids, 2)
    graph.mention(ids)
    graph.make_rows(ids + 2)
    by_near_sources(ids, ids, np.ones(2), np.ones(2, np.int8))
    graph.apply(ids[:1], ids[1:], weights, np.ones(1, np.int8), 0, 1)
    loaded = EvolvingGraph(partition)
    loaded.apply(ids[:1], ids[1:], weights, np.ones(1, np.int8), 0, 1, is_load=True)
    loaded.end_load()
    graph.begin_reverse()
    graph.apply(ids[:1], ids[1:], weights, np.ones(1, np.int8), 0, 1)
    graph.end_reverse()
    graph.begin_weights_in()
    graph.weigh_in_lists(1)
    graph.end_weights_in()
    graph.rows_of(ids)
    edges = EdgesByPage(graph, graph.sequence)
    while not edges.step():
        pass
    edges.page(0, 1)
    graph.edges()
    graph.compact()
    kernel = graph_module()
    pages, counts = np.zeros(1, np.uint16), np.zeros(1, np.int64)
    kernel.count_graves(graph.addresses, graph.sequence, pages, 0, 0, counts)
    kernel.count_by_page(pages, counts)
    kernel.order_by_page(pages, 0, np.zeros(1, np.int64), counts)
    kernel.fill_table(graph.columns.ids, np.zeros_like(graph.columns.table), 0)
    for free in (kernel.free_out_entries, kernel.free_in_entries):
        free(graph.addresses, 0, 0)
