"""Calling every compiled function of a counting program, and of the graph, once: nothing is compiled while a worker is at work."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from ...graph.warm import warm_graph
from ..compiled_functions import compiled_arguments


def warm(kernel: ModuleType, arguments: tuple[Any, ...]) -> None:
    """Compile what is not on disk yet, and load the rest: on one vertex with one neighbour."""
    if getattr(kernel, "is_warm", False):
        return
    warm_graph()
    ids, others, numbers = (np.ones(1, np.int64) for _ in range(3))
    holders, bits, counted = np.zeros(1, np.int32), np.ones(1, np.uint8), np.ones(1, np.uint8)
    offsets, starts, behind = (np.array([0, 1], np.int64) for _ in range(3))
    rows, degrees = np.zeros(1, np.int64), np.zeros(1, np.int32)
    kernel.count_entries(holders, np.zeros(2, np.int64))
    kernel.place_entries(holders, others, bits, np.zeros(2, np.int64), others.copy(), bits.copy())
    kernel.settle_lists(offsets, others, bits, holders, starts, 0, 0, 1)
    starts[1] = 1
    kernel.hear_degrees(rows, ids, numbers, starts, others, degrees)
    kernel.list_behind(
        starts, others, degrees, counted, ids, behind, others.copy(), counted.copy(), rows.copy(), 0, 0, 1
    )
    kernel.meet_lists(
        ids, offsets, rows, others, counted, rows, starts, others, offsets, others, counted, rows, numbers, numbers, 0, 1
    )  # fmt: skip
    kernel.hear_edges(rows, numbers, numbers)
    kernel.worths(starts, numbers, np.zeros(1), compiled_arguments(arguments))
    kernel.is_warm = True  # type: ignore[attr-defined]
