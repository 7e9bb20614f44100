"""What networkx is told of this backend when it is imported; nothing is loaded for it."""

from __future__ import annotations

from typing import Any, Final

FUNCTIONS: Final = {
    "clustering": "Of undirected graphs, without weights.",
    "connected_components": "Follows additions and removals.",
    "core_number": "Of undirected graphs.",
    "dijkstra_path_length": "Weights are numbers from 0, under a name.",
    "katz_centrality": "beta is one number above 0; no nstart.",
    "number_connected_components": "Follows additions and removals.",
    "pagerank": "No nstart and no dangling; the L1 distance from the exact ranks is at most tol, whatever max_iter is.",
    "single_source_dijkstra_path_length": "Weights are numbers from 0, under a name.",
    "single_source_shortest_path_length": "Follows additions and removals.",
    "weakly_connected_components": "Follows additions and removals.",
}


def get_info() -> dict[str, Any]:
    """Return what the entry point `networkx.backend_info` asks for."""
    return {
        "backend_name": "tornado",
        "project": "tornado-loops",
        "package": "tornado",
        "short_summary": "Exact answers on graphs that keep changing: converted once, then followed.",
        "functions": {name: {"additional_docs": words} for name, words in FUNCTIONS.items()},
    }
