"""Calling every compiled function of a program, and of the graph, once: nothing is compiled while a worker has better things to do."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from ...graph import EvolvingGraph, PartitionMap
from ...graph.warm import warm_graph
from ..compiled_functions import compiled_arguments
from .loop_columns import NEVER
from .loop_state import LoopState


def warm(kernel: ModuleType, arguments: tuple[Any, ...]) -> None:
    """Compile what is not on disk yet, and load the rest: on two rows and one edge."""
    if getattr(kernel, "is_warm", False):
        return
    arguments = compiled_arguments(arguments)
    warm_graph()
    graph = EvolvingGraph(PartitionMap.even(1))
    state, branch = (
        LoopState(worker=0, workers=1, delay_bound=64, worst=kernel.WORST, rows=16, edges=16)
        for _ in range(2)
    )
    ids, weights = np.array([1, 2], np.int64), np.ones(1)
    loop = (graph.addresses, *state.addresses)
    graph.apply(ids[:1], ids[1:], weights[:1], np.ones(1, np.int8), 0, 1)
    kernel.hear_edges(*loop, arguments)
    kernel.hear_rows(*loop, arguments, 0, 0, 100)
    kernel.receive(*loop, arguments, 0, np.empty(0, np.uint8), ids[:0], state.no_values(0), ids[:0], 0, 100)
    kernel.advance(*loop, arguments, NEVER, NEVER, 1000)
    kernel.finish_scans(*loop, arguments, 100)
    kernel.finish_cursor(*loop)
    kernel.end_waves(state.addresses[1], 1)
    kernel.pending_least(state.addresses[1])
    kernel.fork(state.addresses[1], *branch.addresses, 0, 0, 0)
    kernel.fork_fresh(graph.addresses, state.addresses[1], *branch.addresses, arguments)
    kernel.is_warm = True  # type: ignore[attr-defined]
