"""Calling every compiled function of a program, and of the graph, once: nothing is compiled while a worker has better things to do."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from ...graph import EvolvingGraph, PartitionMap
from ...graph.warm import warm_graph
from ..compiled_functions import compiled_arguments
from .loop_state import SumState


def warm(kernel: ModuleType, arguments: tuple[Any, ...]) -> None:
    """Compile what is not on disk yet, and load the rest: on two rows and one edge."""
    if getattr(kernel, "is_warm", False):
        return
    arguments = compiled_arguments(arguments)
    warm_graph()
    graph = EvolvingGraph(PartitionMap.even(1))
    state, branch = (SumState(worker=0, workers=1, rows=16) for _ in range(2))
    ids, weights = np.array([1, 2], np.int64), np.ones(1)
    loop = (graph.addresses, state.addresses, arguments)
    kernel.add_up(*loop[1:])
    kernel.fill_bases(*loop)
    graph.apply(ids[:1], ids[1:], weights[:1], np.ones(1, np.int8), 0, 1)
    kernel.hear_edges(*loop)
    kernel.hear_rows(*loop, 0)
    kernel.weigh_rows(*loop, 0)
    kernel.receive(*loop, 0, np.empty(0, np.uint8), ids[:0], weights[:0], ids[:0], 0, 100)
    kernel.announce(*loop, 1000)
    kernel.finish_cursor(*loop)
    kernel.place_values(*loop, np.zeros(1), 0, 100)
    kernel.hear_placed(*loop[:2], 0, 100)
    kernel.find_active(*loop[1:])
    kernel.clear_queue(state.addresses)
    kernel.fork(graph.addresses, state.addresses, branch.addresses, True)
    kernel.note_changes(graph.addresses, branch.addresses)
    kernel.sweep(*loop, 0, 1, 1000)
    kernel.measure(graph.addresses, state.addresses, 0, 1, 1000)
    kernel.choose_threshold(*loop[1:])
    kernel.put_shares(*loop[:2], np.zeros(1), 0)
    kernel.announce_scaled(*loop[:2], 1.0, 0)
    kernel.compare_shares(*loop[1:], np.zeros(1), np.zeros(1))
    kernel.read_values(*loop[1:], np.zeros(1, np.int64), np.zeros(1))
    kernel.find_greatest(*loop[1:], np.zeros(1))
    kernel.is_warm = True  # type: ignore[attr-defined]
