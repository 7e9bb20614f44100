"""Tools to test and to measure with: generated graphs, streams in which edges come and go, and exact oracles.

Part of the package, so that who writes a program of their own can test it the way ours are. Everything is a pure function of
its arguments, the seed among them; nothing here imports the loops it checks. `networkx` is imported by the one function that
needs it.
"""

from __future__ import annotations

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
