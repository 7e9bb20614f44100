"""networkx beside live graphs: `nx.pagerank(G, backend="tornado")`, and `LiveGraph(G)`, which is converted once and follows its edits.

networkx finds this room by the entry points `networkx.backends` and `networkx.backend_info`, and is needed by nothing else of the
package. Only functions whose answers agree with networkx's definition are here; docs/networkx.md has the list and the differences.
"""

from importlib import import_module
from typing import Any

__all__ = ["LiveGraph"]


def __getattr__(name: str) -> Any:
    # networkx looks at `information` while it is being imported itself, and must not wait for compilers.
    if name != "LiveGraph":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(".live_graph", __name__).LiveGraph
