"""Calling every compiled function of a program of rounds, and of the graph, once: nothing is compiled while a worker is at work."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from ...graph import EvolvingGraph, PartitionMap
from ...graph.warm import warm_graph
from ...value_types import Worst
from ..compiled_functions import compiled_arguments
from .loop_columns import NEVER
from .loop_state import RoundsState


def warm(kernel: ModuleType, arguments: tuple[Any, ...], worst: Worst) -> None:
    """Compile what is not on disk yet, and load the rest: on two rows and one edge."""
    if getattr(kernel, "is_warm", False):
        return
    arguments = compiled_arguments(arguments)
    warm_graph()
    graph = EvolvingGraph(PartitionMap.even(1))
    state, branch = (RoundsState(worker=0, workers=1, rounds=2, worst=worst, rows=16) for _ in range(2))
    ids = np.array([1, 2], np.int64)
    loop = (graph.addresses, state.addresses)
    graph.apply(ids[:1], ids[1:], np.ones(1), np.ones(1, np.int8), 0, 1)
    kernel.hear_edges(*loop, arguments)
    kernel.hear_rows(*loop, arguments, 0, 100)
    kernel.receive(*loop, arguments, 0, *state.outbox(0), 0, 100)
    kernel.advance(*loop, NEVER, 1000)
    kernel.finish_scans(*loop, 100)
    kernel.finish_cursor(*loop)
    kernel.pending_least(state.addresses)
    kernel.fork(state.addresses, branch.addresses)
    kernel.fork_fresh(graph.addresses, state.addresses, branch.addresses, arguments)
    if kernel.COUNTS_OUT:
        kernel.weigh_rounds(np.zeros(2), np.zeros(2), 1, arguments)
    kernel.is_warm = True  # type: ignore[attr-defined]
