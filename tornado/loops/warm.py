"""Calling every compiled function of a program once, so that nothing is compiled while a worker has better things to do."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from .compile import compiled_arguments
from .edge_reader import EdgeReader
from .graph import EvolvingGraph
from .loop_columns import NEVER
from .selective_state import LoopState


def warm(kernel: ModuleType, arguments: tuple[Any, ...]) -> None:
    """Compile what is not on disk yet, and load the rest: on two rows and one edge."""
    if getattr(kernel, "is_warm", False):
        return
    arguments = compiled_arguments(arguments)
    graph = EvolvingGraph(kernel)
    graph.make_room(4)
    state, branch = (LoopState(worker=0, workers=1, delay_bound=64, rows=16, edges=16) for _ in range(2))
    ids, weights = np.array([1, 2], np.int64), np.ones(1)
    operations = np.ones(1, np.int8)
    loop = (graph.addresses, *state.addresses)
    kernel.owners_of(ids, 1, np.empty(2, np.int64))
    kernel.apply_mentions(*loop, arguments, ids[:1])
    kernel.apply_records(*loop, arguments, ids[:1], ids[1:], weights, operations, 0, 100)
    kernel.receive(*loop, arguments, 0, np.empty(0, np.uint8), ids[:0], weights[:0], ids[:0], 0, 100)
    kernel.advance(*loop, arguments, NEVER, NEVER, 1000)
    kernel.finish_scans(*loop, arguments, 100)
    kernel.finish_cursor(*loop)
    kernel.end_waves(state.addresses[1], 1)
    kernel.pending_least(state.addresses[1])
    kernel.fork(state.addresses[1], *branch.addresses)
    kernel.fork_fresh(graph.addresses, state.addresses[1], *branch.addresses, arguments)
    kernel.find_rows(graph.columns.ids, graph.columns.table, ids, np.empty(2, np.int64))
    reader = EdgeReader(kernel, graph, graph.sequence)
    while not reader.step():
        pass
    graph.edges()
    graph.compact()
    for free in (kernel.free_out_entries, kernel.free_in_entries):
        free(graph.addresses, 0, 0)
    kernel.is_warm = True  # type: ignore[attr-defined]
