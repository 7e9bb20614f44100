"""Edges that came in bulk and wait for their lists; see `bulk_kernel`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..arena import reserve
from ..columns import addresses_of
from .bulk_columns import BULK_COUNTERS, CHUNK, SHIFT, BulkColumns
from .graph_columns import ROWS, SEQUENCE, GraphColumns
from .graph_module import graph_module
from .list_memory import ListMemory

_STRETCH_BITS = 11  # of rows at least: their lists fit the cache
_MOST_STRETCHES_BITS = 10  # as long as there are not more rows than there were at first


class BulkLoad:
    """Takes in edges of a graph of which nobody reads a list.

    Parameters
    ----------
    graph
        Its columns.
    addresses
        Of them, as they are from time to time.

    Attributes
    ----------
    edges
        How many wait.
    """

    def __init__(self, graph: GraphColumns, addresses: NDArray[np.int64]) -> None:
        most_rows, most_edges = graph.ids.size, graph.edge_consumer.size
        shift = max(_STRETCH_BITS, int(graph.counters[ROWS]).bit_length() - _MOST_STRETCHES_BITS)
        stretches = (most_rows >> shift) + 1
        self.edges = 0
        self._graph = addresses
        self._columns = BulkColumns(
            to_ends=reserve(most_edges, np.int64),
            to_position=reserve(most_edges, np.int32),
            to_weight=reserve(most_edges, np.float64),
            to_next=reserve(most_edges // CHUNK, np.int32),
            to_first=reserve(stretches, np.int32),
            to_following=reserve(stretches, np.int64),
            from_ends=reserve(most_edges, np.int64),
            from_weight=reserve(most_edges, np.float64),
            from_places=reserve(most_edges, np.int64),
            from_next=reserve(most_edges // CHUNK, np.int32),
            from_first=reserve(stretches, np.int32),
            from_following=reserve(stretches, np.int64),
            bulk_counters=np.zeros(BULK_COUNTERS, np.int64),
        )
        self._columns.bulk_counters[:] = shift, graph.counters[SEQUENCE]
        self._addresses = addresses_of(self._columns)
        columns = self._columns
        self._memory = ListMemory(
            [
                columns.to_ends,
                columns.to_position,
                columns.from_ends,
                columns.from_weight,
                columns.from_places,
            ]
        )

    def take(
        self, sources: NDArray[np.int64], targets: NDArray[np.int64], weights: NDArray[np.float64]
    ) -> None:
        """Take in some edges; the graph has room for their rows."""
        graph_module().load_edges(self._graph, self._addresses, sources, targets, weights)
        self.edges += len(sources)
        chunks = max(int(self._columns.to_next[0]), int(self._columns.from_next[0]))
        self._memory.put_ahead((chunks + 1) * CHUNK)

    @property
    def size_bytes(self) -> int:
        """What those that wait take."""
        return 36 * self.edges

    def build_lists(self) -> None:
        """Put all that were taken in into the lists. Nothing is asked of it afterwards."""
        came = np.zeros(1 << int(self._columns.bulk_counters[SHIFT]), np.int64)
        graph_module().build_in_lists(self._graph, self._addresses, came)
        del self._memory
        self._columns = self._columns._replace(  # the others need memory for what they are put into
            to_ends=np.empty(0, np.int64), to_position=np.empty(0, np.int32), to_weight=np.empty(0)
        )
        graph_module().build_out_lists(self._graph, self._addresses, came)
