"""What networkx dispatches to (its backend interface): conversion there and back, and which calls are answered here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import networkx as nx

from . import functions
from .live_graph import LiveGraph

# networkx answers a smaller graph before this one has its first loop.
_WORTH_IT_EDGES: Final = 50_000


class Backend:
    """The object that the entry point `networkx.backends` names; its functions are attributes under networkx's names."""

    def __getattr__(self, name: str) -> Any:
        try:
            return functions.FUNCTIONS[name]
        except KeyError:
            raise AttributeError(name) from None

    @staticmethod
    def convert_from_nx(
        graph: Any, *, edge_attrs: Mapping[str, Any] | None = None, **wanted: Any
    ) -> LiveGraph:
        """Return a graph of networkx as a live one, with the one weight that the function asks for.

        Raises
        ------
        NotImplementedError
            A weight is no number from 0.
        """
        if isinstance(graph, LiveGraph):
            return graph
        weights = list(edge_attrs or ())
        if len(weights) > 1 or wanted.get("preserve_edge_attrs"):
            raise NotImplementedError("a live graph has one weight")
        return LiveGraph(graph, weight=weights[0] if weights else None)

    @staticmethod
    def convert_to_nx(result: Any, **_wanted: Any) -> Any:
        """Return a live graph as one of networkx, and anything else as it is."""
        if not isinstance(result, LiveGraph):
            return result
        return result.to_networkx()

    @staticmethod
    def can_run(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool | str:
        """Whether a call is answered here; else why not."""
        return functions.refusal(name, args, kwargs) or True

    @staticmethod
    def should_run(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool | str:  # noqa: ARG004
        """Whether that is worth a conversion, where nobody said which backend; else why not."""
        graph = args[0] if args else kwargs["G"]
        if isinstance(graph, nx.Graph) and graph.number_of_edges() < _WORTH_IT_EDGES:
            return f"networkx is faster than a conversion below {_WORTH_IT_EDGES:,} edges"
        return True


backend = Backend()
