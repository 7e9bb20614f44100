"""Edges of a base that wait for their out-lists; see `bulk_kernel`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..arena import reserve
from ..columns import addresses_of
from .bulk_columns import BULK_COUNTERS, CHUNK, SHIFT, BulkColumns
from .graph_columns import ROWS, SEQUENCE, GraphColumns
from .graph_module import graph_module

_STRETCH_BITS = 11  # of rows at least: their lists fit the cache
_MOST_STRETCHES_BITS = 10  # as long as there are not more rows than were expected


class BulkLoad:
    """Takes in the edges of a graph that has none yet.

    Parameters
    ----------
    graph
        Its columns, whose rows are most of those that there will be.
    addresses
        Of them, as they are from time to time.
    """

    def __init__(self, graph: GraphColumns, addresses: NDArray[np.int64]) -> None:
        most_rows, most_edges = graph.ids.size, graph.edge_consumer.size
        shift = max(_STRETCH_BITS, int(graph.counters[ROWS]).bit_length() - _MOST_STRETCHES_BITS)
        stretches = (most_rows >> shift) + 1
        self._graph = addresses
        self._columns = BulkColumns(
            bulk_ends=reserve(most_edges, np.int64),
            bulk_weight=reserve(most_edges, np.float64),
            bulk_places=reserve(most_edges, np.int64),
            next_chunk=reserve(most_edges // CHUNK, np.int32),
            first_chunk=reserve(stretches, np.int32),
            following_edge=reserve(stretches, np.int64),
            arriving=reserve(most_rows, np.int32),
            bulk_counters=np.zeros(BULK_COUNTERS, np.int64),
        )
        self._columns.bulk_counters[:] = shift, graph.counters[SEQUENCE], 1
        self._addresses = addresses_of(self._columns)

    def take(
        self, sources: NDArray[np.int64], targets: NDArray[np.int64], weights: NDArray[np.float64]
    ) -> None:
        """Take in some edges; the graph has room for their rows."""
        of_rows = (np.empty(len(sources), np.int32) for _ in range(3))
        graph_module().load_edges(self._graph, self._addresses, sources, targets, weights, *of_rows)

    def build_out_lists(self) -> None:
        """Build the out-lists of all that were taken in. Nothing is asked of it afterwards."""
        following = np.zeros(1 << int(self._columns.bulk_counters[SHIFT]), np.int64)
        graph_module().build_out_lists(self._graph, self._addresses, following)
