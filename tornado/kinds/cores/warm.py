"""Calling every compiled function of core numbers, and of the graph, once: nothing is compiled while a worker is at work."""

from __future__ import annotations

from types import ModuleType

import numpy as np

from ...graph import EvolvingGraph, PartitionMap
from ...graph.warm import warm_graph
from .loop_state import CoreState


def warm(kernel: ModuleType) -> None:
    """Compile what is not on disk yet, and load the rest: on two rows and one edge."""
    if getattr(kernel, "is_warm", False):
        return
    warm_graph()
    graph = EvolvingGraph(PartitionMap.even(1))
    state, branch = (CoreState(worker=0, workers=1, rows=16) for _ in range(2))
    ids = np.array([1, 2], np.int64)
    loop = (graph.addresses, state.addresses)
    graph.apply(ids[:1], ids[1:], np.ones(1), np.ones(1, np.int8), 0, 1)
    kernel.hear_edges(*loop)
    kernel.hear_rows(*loop, 0, 100)
    kernel.receive(*loop, 0, *state.outbox(0), 0, 100)
    kernel.raise_all(*loop, 0, 100)
    kernel.lower(*loop, 1000)
    kernel.begin_wave(state.addresses)
    kernel.spread_wave(*loop, 1000)
    kernel.begin_raising(state.addresses)
    kernel.finish_scans(*loop, 100)
    kernel.finish_cursor(*loop)
    kernel.fork(state.addresses, branch.addresses)
    kernel.fork_fresh(state.addresses, branch.addresses)
    kernel.is_warm = True  # type: ignore[attr-defined]
