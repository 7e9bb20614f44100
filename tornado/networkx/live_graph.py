"""A graph of networkx that is converted once and then follows its edits, with the loops that answer questions about it.

Nodes become whole numbers in their order, edges go into one stream, and each kind of question has a main loop on it. An edit waits
until the next question, and goes in with all others before it; the question forks a branch from there.

Guarantees: an answer is for the graph with exactly the edits that were made before it. Edits of other threads have to be kept apart by
the caller, as those of networkx. Leaves out attributes other than one weight, and nodes that go while a graph is live: then what is
there is brought to new loops at the next question.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from numbers import Integral, Real
from types import TracebackType
from typing import Any, Final, Self

import networkx as nx
import numpy as np

from ..clock import SYSTEM_CLOCK
from ..errors import InvalidArgument
from ..query.programs import load_program
from ..query.session import Session
from ..query.session import open as open_session
from .abandoned import AbandonedSessions

logger = logging.getLogger(__name__)

_STREAM: Final = "graph"
_ONE_WORKER_EDGES: Final = 200_000  # below, what workers say to each other costs more than they save
_SESSIONS: Final = AbandonedSessions()


@dataclass(frozen=True, slots=True)
class Conversion:
    """What it cost to bring a graph of networkx here.

    Attributes
    ----------
    seconds : float
        To read its nodes and edges.
    nodes, edges : int
        How many it had.
    """

    seconds: float
    nodes: int
    edges: int


@dataclass(frozen=True, slots=True)
class _Edit:
    is_added: bool
    src: int
    dst: int
    weight: float


class LiveGraph:
    """A graph whose questions are answered by loops. A context manager; `close` ends the loops, as does its end.

    Parameters
    ----------
    graph : Graph of networkx, optional
        What it begins with; it is read once and not held. An empty one where it is left out.
    weight : str, optional
        The attribute that is the weight of an edge, 1 where an edge has none; None: edges have no weights.
    directed : bool
        Of a graph that begins empty.
    workers : int, optional
        How many; left out, one for small graphs, else one for every core.

    Attributes
    ----------
    conversion : Conversion
        What it cost to convert.

    Raises
    ------
    NotImplementedError
        A weight is no number from 0.
    """

    __networkx_backend__ = "tornado"

    def __init__(
        self,
        graph: Any = None,
        *,
        weight: str | None = "weight",
        directed: bool = False,
        workers: int | None = None,
    ) -> None:
        began_s = SYSTEM_CLOCK.monotonic()
        self.graph: dict[str, Any] = {}
        self.weight = weight
        self._workers = workers
        self._directed = directed if graph is None else graph.is_directed()
        self._multigraph = False if graph is None else graph.is_multigraph()
        self._nodes: list[Hashable] = [] if graph is None else list(graph)
        self._index: dict[Hashable, int] = {node: place for place, node in enumerate(self._nodes)}
        self._edges: dict[tuple[int, int], list[float]] = {}
        self._whole = True
        self._unit = True
        self._loops = 0
        self._session: Session | None = None
        self._programs: dict[str, Any] = {}  # by app, as its loop was started
        self._number = -1  # of the session, among those that are watched
        self._edits: list[_Edit] = []
        self._new_nodes: list[int] = []
        self._unweighted: LiveGraph | None = None
        if graph is not None:
            self._read(graph)
        edges = sum(map(len, self._edges.values()))
        self.conversion = Conversion(SYSTEM_CLOCK.monotonic() - began_s, len(self._nodes), edges)
        logger.debug(
            "converted %d nodes and %d edges in %.3f s", len(self._nodes), edges, self.conversion.seconds
        )

    def is_directed(self) -> bool:
        """Whether edges have a direction."""
        return self._directed

    def is_multigraph(self) -> bool:
        """Whether there may be several edges between two nodes."""
        return self._multigraph

    def number_of_nodes(self) -> int:
        """How many nodes there are."""
        return len(self._nodes)

    def number_of_edges(self) -> int:
        """How many edges there are."""
        return sum(map(len, self._edges.values()))

    @property
    def nodes(self) -> list[Hashable]:
        """All nodes, in the order in which they came."""
        return list(self._nodes)

    @property
    def has_loops(self) -> bool:
        """Whether some node has an edge to itself."""
        return self._loops > 0

    @property
    def is_whole(self) -> bool:
        """Whether all weights that ever came are whole numbers, so that sums of them are."""
        return self._whole

    @property
    def is_unit(self) -> bool:
        """Whether all weights that ever came are 1."""
        return self._unit

    def __len__(self) -> int:
        return len(self._nodes)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._nodes)

    def __contains__(self, node: object) -> bool:
        try:
            return node in self._index
        except TypeError:  # what cannot be hashed is no node
            return False

    def has_edge(self, u: Hashable, v: Hashable) -> bool:
        """Whether there is an edge from u to v."""
        return u in self._index and v in self._index and self._key(u, v) in self._edges

    def add_node(self, node: Hashable, **attributes: Any) -> None:  # noqa: ARG002  # as networkx has it; they are not kept
        """Add a node, if it is not there."""
        if node is None:
            raise ValueError("None cannot be a node")
        if node not in self._index:
            self._index[node] = len(self._nodes)
            self._nodes.append(node)
            self._new_nodes.append(self._index[node])
            if self._unweighted is not None:
                self._unweighted.add_node(node)

    def add_nodes_from(self, nodes: Iterable[Any]) -> None:
        """Add nodes."""
        for node in nodes:
            self.add_node(node)

    def add_edge(self, u: Hashable, v: Hashable, **attributes: Any) -> None:
        """Add an edge, or give one that is there the weight that is named, as networkx does.

        Raises
        ------
        NotImplementedError
            The graph may have several edges between two nodes, or the weight is no number from 0.
        """
        if self._multigraph:
            raise NotImplementedError("a live multigraph is not edited; convert it again")
        name = self.weight
        named = name is not None and name in attributes
        weight = self._checked(attributes[name]) if name is not None and named else 1.0
        self.add_node(u)
        self.add_node(v)
        key = self._key(u, v)
        before = self._edges.get(key)
        if before is not None and (not named or before[0] == weight):
            return
        if before is not None:
            self._edits.append(_Edit(False, *key, before[0]))
        else:
            self._loops += key[0] == key[1]
            if self._unweighted is not None:
                self._unweighted.add_edge(u, v)
        self._edges[key] = [weight]
        self._edits.append(_Edit(True, *key, weight))

    def add_edges_from(self, edges: Iterable[tuple[Any, ...]], **attributes: Any) -> None:
        """Add edges: pairs of nodes, or these with a mapping of attributes."""
        for u, v, *more in edges:
            self.add_edge(u, v, **(attributes | dict(*more)))

    def add_weighted_edges_from(self, edges: Iterable[tuple[Any, Any, Any]], weight: str = "weight") -> None:
        """Add edges with weights."""
        for u, v, value in edges:
            self.add_edge(u, v, **{weight: value})

    def remove_edge(self, u: Hashable, v: Hashable) -> None:
        """Remove an edge.

        Raises
        ------
        NetworkXError
            There is none.
        """
        if not self.has_edge(u, v):
            raise nx.NetworkXError(f"The edge {u}-{v} is not in the graph")
        if self._multigraph:
            raise NotImplementedError("a live multigraph is not edited; convert it again")
        key = self._key(u, v)
        (weight,) = self._edges.pop(key)
        self._loops -= key[0] == key[1]
        self._edits.append(_Edit(False, *key, weight))
        if self._unweighted is not None:
            self._unweighted.remove_edge(u, v)

    def remove_edges_from(self, edges: Iterable[tuple[Any, ...]]) -> None:
        """Remove edges; those that are not there are passed over."""
        for u, v, *_ in edges:
            if self.has_edge(u, v):
                self.remove_edge(u, v)

    def remove_node(self, node: Hashable) -> None:
        """Remove a node with its edges. The next question begins with new loops, which is as dear as the first one.

        Raises
        ------
        NetworkXError
            There is none.
        """
        if node not in self._index:
            raise nx.NetworkXError(f"The node {node} is not in the graph.")
        gone = self._index[node]
        self.close()
        kept = {key: weights for key, weights in self._edges.items() if gone not in key}
        self._edges = {tuple(end - (end > gone) for end in key): weights for key, weights in kept.items()}  # type: ignore[misc]
        self._loops = sum(len(weights) for key, weights in self._edges.items() if key[0] == key[1])
        del self._nodes[gone]
        self._index = {other: place for place, other in enumerate(self._nodes)}

    def ask(self, app: str, parameters: Mapping[str, Any], **question: Any) -> Any:
        """Return the exact answer of an app on the graph as it is now, a `QueryResult` whose vertices are `place_of` nodes.

        Parameters
        ----------
        app
            By name. Its first question starts a loop, and the further ones ask that.
        parameters
            Fields of its program; the others have their defaults, whatever was asked before.
        question
            What else `LoopHandle.query` takes.

        Raises
        ------
        NotImplementedError
            The app takes no such weights.
        """
        try:
            program = load_program(app).kind(**parameters)
            session = self._opened(app, program)
            with self._closed_where_it_fails():
                self._admit(session)
        except InvalidArgument as error:
            raise NotImplementedError(str(error)) from error
        started = self._programs[app]
        others = {
            field.name: getattr(program, field.name)
            for field in fields(program)
            if field.init and getattr(program, field.name) != getattr(started, field.name)
        }
        return session.loop(app).query(parameters=others or None, **question).result()

    def without_weights(self) -> LiveGraph:
        """Return the same graph without weights, which follows the edits of this one; made when it is first asked for."""
        if self.is_unit or self.weight is None:
            return self
        if self._unweighted is None:
            self._unweighted = LiveGraph(self.to_networkx(), weight=None, workers=self._workers)
        return self._unweighted

    def place_of(self, node: Hashable) -> int:
        """Return the number that stands for a node."""
        return self._index[node]

    def node_at(self, place: int) -> Hashable:
        """Return the node that a number stands for."""
        return self._nodes[place]

    def to_networkx(self) -> Any:
        """Return a copy as a graph of networkx."""
        kinds = {
            (False, False): nx.Graph,
            (True, False): nx.DiGraph,
            (False, True): nx.MultiGraph,
            (True, True): nx.MultiDiGraph,
        }
        graph = kinds[self._directed, self._multigraph]()
        graph.graph.update(self.graph)
        graph.add_nodes_from(self._nodes)
        for (src, dst), weights in self._edges.items():
            for weight in weights:
                attributes = {self.weight: int(weight) if self._whole else weight} if self.weight else {}
                graph.add_edge(self._nodes[src], self._nodes[dst], **attributes)
        return graph

    def close(self) -> None:
        """End the loops; the graph can be asked further, by new ones."""
        if self._unweighted is not None:
            self._unweighted.close()
        self._unweighted = None
        if self._session is not None:
            _SESSIONS.close(self._number)
        self._session = None
        self._programs.clear()
        self._edits.clear()
        self._new_nodes.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        kind = "directed" if self._directed else "undirected"
        return f"<{type(self).__name__}, {kind}: {len(self._nodes)} nodes, {self.number_of_edges()} edges>"

    def _read(self, graph: Any) -> None:
        edges, index, directed = self._edges, self._index, self._directed
        unit = True
        for u, v, value in graph.edges(data=self.weight, default=1):
            # Most weights are such, and the walk over all edges is what a conversion costs.
            if type(value) is int and 0 <= value < 2**53:
                unit = unit and value == 1
                weight = float(value)
            else:
                weight = self._checked(value)
            src, dst = index[u], index[v]
            if dst <= src:
                self._loops += src == dst
                if not directed:
                    src, dst = dst, src
            if (src, dst) in edges:
                edges[src, dst].append(weight)
            else:
                edges[src, dst] = [weight]
        self._unit = self._unit and unit

    def _checked(self, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, Real) or not (0 <= float(value) < math.inf):
            raise NotImplementedError(f"a weight is {value!r}, and must be a finite number from 0 here")
        self._unit = self._unit and value == 1
        self._whole = self._whole and isinstance(value, Integral)
        return float(value)

    def _key(self, u: Hashable, v: Hashable) -> tuple[int, int]:
        src, dst = self._index[u], self._index[v]
        return (src, dst) if self._directed or src <= dst else (dst, src)

    def _opened(self, app: str, program: Any) -> Session:
        """Return the session with a loop of that app; the first one brings the whole graph."""
        session = self._session
        if session is None:
            with self._closed_where_it_fails():
                session = self._begun(program, app)
        elif app not in self._programs:
            session.stream(_STREAM).start(program, app)
        self._programs.setdefault(app, program)
        return session

    @contextmanager
    def _closed_where_it_fails(self) -> Iterator[None]:
        """End loops to which a part of the edges may not have come: the next question brings all of them to new ones."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def _begun(self, program: Any, app: str) -> Session:
        workers = self._workers or (1 if self.number_of_edges() < _ONE_WORKER_EDGES else None)
        session = self._session = open_session("memory:", workers=workers)
        self._number = _SESSIONS.watch(self, session)
        stream = session.stream(_STREAM)
        stream.start(program, app)
        stream.add_vertices(np.arange(len(self._nodes)))
        self._edits.clear()
        self._new_nodes.clear()
        rows = [(*key, weight) for key, weights in self._edges.items() for weight in weights]
        if rows:
            stream.insert(*self._both_ways(rows))
        return session

    def _admit(self, session: Session) -> None:
        """Bring the edits that wait, in their order."""
        stream = session.stream(_STREAM)
        if self._new_nodes:
            stream.add_vertices(np.array(self._new_nodes))
            self._new_nodes.clear()
        edits, self._edits = self._edits, []
        for is_added, rows in _runs(edits):
            (stream.insert if is_added else stream.remove)(*self._both_ways(rows))

    def _both_ways(self, rows: list[tuple[int, int, float]]) -> tuple[Any, Any, Any]:
        src, dst, weight = (np.array(column) for column in zip(*rows, strict=True))
        if not self._directed:
            back = src != dst
            src, dst = np.concatenate([src, dst[back]]), np.concatenate([dst, src[back]])
            weight = np.concatenate([weight, weight[back]])
        return src, dst, weight


def _runs(edits: list[_Edit]) -> Iterator[tuple[bool, list[tuple[int, int, float]]]]:
    """Yield edits of one kind that follow each other, together."""
    rows: list[tuple[int, int, float]] = []
    for place, edit in enumerate(edits):
        rows.append((edit.src, edit.dst, edit.weight))
        if place + 1 == len(edits) or edits[place + 1].is_added is not edit.is_added:
            yield edit.is_added, rows
            rows = []
