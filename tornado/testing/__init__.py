"""Tools to test and to measure with: generated graphs, streams in which edges come and go, and exact oracles.

Part of the package, so that who writes a program of their own can test it the way ours are. Everything is a pure function of
its arguments, the seed among them; nothing here imports the loops it checks. `networkx` is imported by the one function that
needs it.

The simulations, which run and judge the loops themselves, have their public names here and are loaded when these are first used:
`simulate`, of whole loops, and `simulate_recovery`, of a stream whose store, driver, workers and connections fail, with `steps_of`
and `shrunk`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .components import Components, exact_components
from .datasets import bitcoin_ratings, college_messages, epinions_trust
from .edges import EdgeList, concatenated, edge_list
from .graphs import (
    chain,
    fed_cycle,
    parallel_edges,
    random_multigraph,
    rmat,
    root_of,
    star,
    with_self_loops,
)
from .model import EdgeHistory, GraphModel
from .oracle import (
    BuiltGraph,
    Distances,
    bucket_queue,
    build,
    exact_distances,
    heap_dijkstra,
    networkx_distances,
)
from .roads import closing, closures, opening, road_network
from .streams import Churn, Mix, batches, mixed, ragged_batches, sliding_window, without

__all__ = [
    "BuiltGraph",
    "Churn",
    "Components",
    "Distances",
    "EdgeHistory",
    "EdgeList",
    "GraphModel",
    "Mix",
    "batches",
    "bitcoin_ratings",
    "bucket_queue",
    "build",
    "chain",
    "closing",
    "closures",
    "college_messages",
    "concatenated",
    "edge_list",
    "epinions_trust",
    "exact_components",
    "exact_distances",
    "fed_cycle",
    "heap_dijkstra",
    "mixed",
    "networkx_distances",
    "opening",
    "parallel_edges",
    "ragged_batches",
    "random_multigraph",
    "rmat",
    "road_network",
    "root_of",
    "sliding_window",
    "star",
    "with_self_loops",
    "without",
]

_SIMULATIONS = {
    "SimulatedRecovery": "..recovery_simulation",
    "SimulatedRun": "..simulation",
    "shrunk": "..recovery_simulation",
    "simulate": "..simulation",
    "simulate_recovery": "..recovery_simulation",
    "steps_of": "..fault_schedule",
}


def __getattr__(name: str) -> Any:
    """Load the public name of a simulation when it is first used (PEP 562)."""
    if name not in _SIMULATIONS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_SIMULATIONS[name], __name__), name)
