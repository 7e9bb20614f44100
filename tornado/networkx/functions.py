"""The functions of networkx that are answered here, under its names and signatures, with its exceptions.

Guarantee: what is returned agrees with the definition of networkx, in the same Python types but for whole numbers that are floats where
any weight of the graph is one. Leaves out what stands in the way of that: `refusal` says why, and networkx takes another backend.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Hashable, Iterator, Mapping
from numbers import Real
from typing import Any, Final

import networkx as nx

from .live_graph import LiveGraph

_TIGHTEST: Final = 1e-12
_LOOSEST: Final = 1e-6


def pagerank(
    G: LiveGraph,  # noqa: N803  # the names of networkx
    alpha: float = 0.85,
    personalization: Mapping[Any, float] | None = None,
    max_iter: int = 100,
    tol: float = 1.0e-6,
    nstart: Any = None,  # noqa: ARG001
    weight: str | None = "weight",
    dangling: Any = None,  # noqa: ARG001
) -> dict[Hashable, float]:
    """Where a random surfer is found; at most `tol` from the exact ranks, all differences together."""
    if len(G) == 0:
        return {}
    _require_iterations(max_iter)
    graph = _weighed(G, weight)
    parameters: dict[str, Any] = {"damping": alpha, "tolerance": _tolerance(tol)}
    if personalization is not None:
        shares = {
            graph.place_of(node): float(share)
            for node, share in personalization.items()
            if node in graph and share
        }
        if not shares:
            raise ZeroDivisionError
        parameters |= {"personalisation": tuple(shares), "shares": tuple(shares.values())}
    return _by_node(graph, graph.ask("pagerank", parameters))


def katz_centrality(
    G: LiveGraph,  # noqa: N803
    alpha: float = 0.1,
    beta: float = 1.0,
    max_iter: int = 1000,
    tol: float = 1.0e-6,
    nstart: Any = None,  # noqa: ARG001
    normalized: bool = True,  # noqa: FBT001, FBT002  # as networkx has it
    weight: str | None = None,
) -> dict[Hashable, float]:
    """How many walks end at a node; each value at most `tol` of itself from the exact one."""
    if len(G) == 0:
        return {}
    _require_iterations(max_iter)
    graph = _weighed(G, weight)
    answer = graph.ask("katz", {"alpha": alpha, "beta": beta, "tolerance": _tolerance(tol)})
    if (answer.certificate or {}).get("reason") == "diverged":
        raise nx.PowerIterationFailedConvergence(max_iter)
    found = _by_node(graph, answer)
    scale = 1.0 / math.hypot(*found.values()) if normalized else 1.0
    return {node: value * scale for node, value in found.items()}


def single_source_dijkstra_path_length(
    G: LiveGraph,  # noqa: N803
    source: Hashable,
    cutoff: float | None = None,
    weight: str = "weight",
) -> dict[Hashable, float]:
    """Distances from a node, nearest first."""
    _require_node(G, source, f"Node {source} not found in graph")
    graph = _weighed(G, weight)
    return _distances(graph, graph.ask("sssp", {"source": graph.place_of(source)}), cutoff)


def dijkstra_path_length(
    G: LiveGraph,  # noqa: N803
    source: Hashable,
    target: Hashable,
    weight: str = "weight",
) -> float:
    """The distance between two nodes."""
    _require_node(G, source, f"Node {source} not found in graph")
    graph = _weighed(G, weight)
    if source == target:
        return 0
    if target in graph:
        found = _distances(
            graph,
            graph.ask("sssp", {"source": graph.place_of(source)}, vertices=[graph.place_of(target)]),
            None,
        )
        if found:
            return next(iter(found.values()))
    raise nx.NetworkXNoPath(f"Node {target} not reachable from {source}")


def single_source_shortest_path_length(
    G: LiveGraph,  # noqa: N803
    source: Hashable,
    cutoff: int | None = None,
) -> dict[Hashable, int]:
    """Hops from a node, nearest first."""
    _require_node(G, source, f"Source {source} is not in G")
    found = _reached(G, G.ask("bfs", {"source": G.place_of(source)}))
    return {node: int(hops) for node, hops in found if cutoff is None or hops <= cutoff}


def connected_components(G: LiveGraph) -> Iterator[set[Hashable]]:  # noqa: N803
    """Yield the nodes of each component, in the order of their first nodes."""
    if len(G) == 0:
        return
    components: dict[Any, set[Hashable]] = {}
    for node, label in _by_node(G, G.ask("connected_components", {})).items():
        components.setdefault(label, set()).add(node)
    yield from components.values()


weakly_connected_components = connected_components


def number_connected_components(G: LiveGraph) -> int:  # noqa: N803
    """How many components there are."""
    return sum(1 for _ in connected_components(G))


def core_number(G: LiveGraph) -> dict[Hashable, int]:  # noqa: N803
    """The largest k of a k-core that a node is in."""
    if G.has_loops:
        raise nx.NetworkXNotImplemented(
            "Input graph has self loops which is not permitted; "
            "Consider using G.remove_edges_from(nx.selfloop_edges(G))."
        )
    if len(G) == 0:
        return {}
    return {node: int(core) for node, core in _by_node(G, G.ask("core_number", {})).items()}


def clustering(
    G: LiveGraph,  # noqa: N803
    nodes: Any = None,
    weight: str | None = None,  # noqa: ARG001
) -> Any:
    """The share of the edges among the neighbours of a node that are there."""
    if len(G) == 0:
        return {}
    found = _by_node(G, G.ask("local_clustering", {}))
    if nodes is None:
        return found
    if nodes in G:
        return found[nodes]
    return {node: found[node] for node in nodes if node in G}


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    function: globals()[function]
    for function in (
        "clustering",
        "connected_components",
        "core_number",
        "dijkstra_path_length",
        "katz_centrality",
        "number_connected_components",
        "pagerank",
        "single_source_dijkstra_path_length",
        "single_source_shortest_path_length",
        "weakly_connected_components",
    )
}


def refusal(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str | None:
    """Return why a call is not answered here; None: it is."""
    try:
        given = inspect.signature(FUNCTIONS[name]).bind(*args, **kwargs).arguments
    except TypeError as error:
        return str(error)
    graph = given["G"]
    if given.get("nstart") is not None:
        return "nstart has no part in an answer that does not depend on where it begins"
    if given.get("dangling") is not None:
        return "nodes without edges lead wherever personalization says"
    weight = given.get("weight")
    if weight is not None and not isinstance(weight, str):
        return "weights are an attribute of edges under a name"
    refused = _REFUSALS.get(name)
    return None if refused is None else refused(graph, given)


def _refused_ranks(_graph: Any, given: Mapping[str, Any]) -> str | None:
    alpha, wanted = given.get("alpha", 0.85), given.get("personalization")
    if not (isinstance(alpha, Real) and 0 < float(alpha) < 1):
        return f"alpha is {alpha!r}, and must be between 0 and 1"
    if wanted is not None and not (
        isinstance(wanted, Mapping) and all(0 <= one < math.inf for one in wanted.values())
    ):
        return "personalization must be a dict of numbers from 0"
    return None


def _refused_katz(_graph: Any, given: Mapping[str, Any]) -> str | None:
    for name, usual in (("alpha", 0.1), ("beta", 1.0)):
        value = given.get(name, usual)
        if not (isinstance(value, Real) and 0 < float(value) < math.inf):
            return f"{name} is {value!r}, and must be one number above 0"
    return None


def _refused_directed(graph: Any, given: Mapping[str, Any]) -> str | None:
    if graph.is_directed():
        return "networkx counts the two edges between two nodes of a directed graph apart"
    if graph.is_multigraph():
        return "networkx has no triangles and cores of multigraphs"
    return None if given.get("weight") is None else "weights of triangles are not known here"


def _refused_cutoff(_graph: Any, given: Mapping[str, Any]) -> str | None:
    cutoff = given.get("cutoff")
    return None if cutoff is None or isinstance(cutoff, Real) else f"cutoff is {cutoff!r}"


_REFUSALS: Final[dict[str, Callable[[Any, Mapping[str, Any]], str | None]]] = {
    "pagerank": _refused_ranks,
    "katz_centrality": _refused_katz,
    "core_number": _refused_directed,
    "clustering": _refused_directed,
    "single_source_dijkstra_path_length": _refused_cutoff,
    "single_source_shortest_path_length": _refused_cutoff,
}


def _tolerance(tol: float) -> float:
    return min(max(tol, _TIGHTEST), _LOOSEST)


def _require_iterations(max_iter: int) -> None:
    if max_iter < 1:
        raise nx.PowerIterationFailedConvergence(max_iter)


def _require_node(graph: LiveGraph, node: Hashable, message: str) -> None:
    if node not in graph:
        raise nx.NodeNotFound(message)


def _weighed(graph: LiveGraph, weight: str | None) -> LiveGraph:
    if weight is None:
        return graph.without_weights()
    if weight != graph.weight and not graph.is_unit:
        raise nx.NetworkXError(
            f"the weights of this live graph are {graph.weight!r} and not {weight!r}; make another one with weight={weight!r}"
        )
    return graph


def _by_node(graph: LiveGraph, answer: Any) -> dict[Hashable, Any]:
    table = answer.to_numpy()
    nodes = map(graph.node_at, table["vertex"].tolist())
    return dict(zip(nodes, table["value"].tolist(), strict=True))


def _reached(graph: LiveGraph, answer: Any) -> list[tuple[Hashable, Any]]:
    table = answer.to_numpy()[answer.reached]
    table = table[table["value"].argsort(kind="stable")]
    return list(zip(map(graph.node_at, table["vertex"].tolist()), table["value"].tolist(), strict=True))


def _distances(graph: LiveGraph, answer: Any, cutoff: float | None) -> dict[Hashable, float]:
    found = _reached(graph, answer)
    return {
        node: int(way) if graph.is_whole else way for node, way in found if cutoff is None or way <= cutoff
    }
