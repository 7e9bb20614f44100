"""The ways on which values came to vertices: each vertex came by its value from one producer, its parent, and so on back to where it began.

A parent says from whom a value came and not over which of several edges. That is the first whose offer is that value, to the bit; so
the weights of a way, combined in its order as the program combines them, give the value again. It is seen at each step that they do.

Guarantees: of a fixed point every vertex that was reached has a way, and what is no way is an error. Of what was stopped before, it has
one where its value is what the steps make of it. Left out on purpose: which of several ways that are as good. It is the one that was
found first, and another run may find another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from ..errors import InternalError, InvalidArgument
from ..value_types import Ids, reached_of, shown
from .vertex_program import VertexProgram

Entry = float | tuple[Any, ...]

MOST_VERTICES = 5_000_000
"""Of all ways of a question together: a way may pass every vertex, and each of a thousand ways may be such a one."""


class WaySteps(NamedTuple):
    """Some vertices, and from whom each of them has its value.

    Attributes
    ----------
    vertices : int64[n]
    parents : int64[n]
        The vertex itself where its value came from nobody.
    owners : int64[n]
        The worker that has the parent.
    values : numbers[n] or numbers[n, 2]
        As the loop has them.
    """

    vertices: Ids
    parents: Ids
    owners: NDArray[np.int64]
    values: NDArray[Any]


class WayReader(Protocol):
    """What has steps and edges of one version: the parts of a branch, or a stored snapshot."""

    def steps_back(self, ids: Ids) -> WaySteps:
        """All steps from these vertices back to where their values began; without those that were never seen."""
        ...

    def weights_between(
        self, producers: Ids, consumers: Ids
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """How many edges lead from each producer to the consumer at its place, and the weights of all of them, pair by pair."""
        ...


class OffersValues(Protocol):
    """A program whose values come along edges; see `SelectiveProgram`."""

    def arguments(self) -> tuple[Any, ...]:
        """Its parameters."""
        ...

    def initial(self, vertex: int, *parameters: Any) -> Any:
        """A vertex's value without any offer."""
        ...

    def offer(self, value: Any, weight: float) -> Any:
        """What a producer's value is worth over an edge."""
        ...

    def better(self, value: Any, other: Any) -> bool:
        """Whether a value is to be preferred."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Way:
    """How a vertex was reached.

    Attributes
    ----------
    value : number
        Of the vertex, as it is shown.
    is_reached
        Whether it has one.
    vertices : int64[n]
        From where the way begins to the vertex itself; none where there is no way.
    weights : float64[n - 1]
        Of the edges between them.
    """

    value: float
    is_reached: bool
    vertices: Ids
    weights: NDArray[np.float64]


def require_ways(program: VertexProgram) -> None:
    """Refuse a program whose values do not come along edges, each from one other vertex.

    Raises
    ------
    InvalidArgument
        With the reason.
    """
    if not program.finds_ways:
        raise InvalidArgument(
            f"paths are asked for, but a value of {type(program).__name__} does not come along one path",
            hint="Programs that choose among offers along edges have paths, such as sssp, bfs and widest_path. Leave paths out.",
        )


def find_ways(
    ids: Sequence[int], reader: WayReader, program: VertexProgram, *, is_exact: bool
) -> dict[int, Way]:
    """Return the ways to some vertices, without those that were never seen.

    Parameters
    ----------
    program
        That offers and chooses.
    is_exact
        Whether the values are a fixed point.

    Raises
    ------
    InternalError
        When a way is broken although they are, by a bug of ours or by a program that breaks its laws.
    InvalidArgument
        When the ways have more than `MOST_VERTICES` vertices in all.
    """
    steps = reader.steps_back(np.array(ids, np.int64))
    known = dict(zip(steps.vertices.tolist(), range(len(steps.vertices)), strict=True))
    entries = _entries(steps.values)
    weights = _weights_of(steps, known, entries, reader, program)
    values = shown(steps.values)
    reached = reached_of(values, program.worst)
    begins = _beginning(program)
    ways, passed = {}, 0
    for vertex in dict.fromkeys(ids):
        place = known.get(vertex)
        if place is None:
            continue
        is_reached = bool(reached[place])
        places = _places_back(place, steps.parents, known, weights) if is_reached else []
        if places and not begins(int(steps.vertices[places[0]]), entries[places[0]]):
            places = []
        passed += len(places)
        if passed > MOST_VERTICES:
            raise InvalidArgument(
                f"the paths to {len(ids)} vertices pass more than {MOST_VERTICES:,} vertices in all",
                hint="Ask for fewer of them at once.",
            )
        if is_reached and is_exact and not places:
            raise InternalError(
                f"vertex {vertex} has the value {values[place]} and no way by which it came",
                # Offers were made in compiled code, and are made in Python here: nobody can tell from outside which is at fault.
                hint=f"Where {type(program).__name__} is a program of yours, its `offer` or `better` may break a law, or compute "
                "something else once compiled: docs/extending.md has the laws. Otherwise this is a bug in tornado-loops: please "
                "report it with this message.",
            )
        ways[vertex] = Way(
            values[place].item(),
            is_reached,
            steps.vertices[places],
            np.array([weights[at] for at in places[1:]], np.float64),
        )
    return ways


def _weights_of(
    steps: WaySteps,
    known: Mapping[int, int],
    entries: Sequence[Entry],
    reader: WayReader,
    program: VertexProgram,
) -> list[float | None]:
    """The weight of the step to each vertex; None where there is none, or none that makes its value."""
    weights: list[float | None] = [None] * len(steps.vertices)
    taken = np.flatnonzero(steps.vertices != steps.parents)
    producers, consumers = steps.parents[taken], steps.vertices[taken]
    counts, found = reader.weights_between(producers, consumers)
    stops = np.cumsum(counts).tolist()
    offered = found.tolist()
    offer = cast("OffersValues", program).offer
    same = _sameness(program)
    first = 0
    for place, producer, stop in zip(taken.tolist(), producers.tolist(), stops, strict=True):
        source = known.get(producer)
        if source is not None:
            begun, wanted = entries[source], entries[place]
            for weight in offered[first:stop]:
                if same(offer(begun, weight), wanted):
                    weights[place] = weight
                    break
        first = stop
    return weights


def _sameness(program: VertexProgram) -> Callable[[Entry, Entry], bool]:
    better = cast("OffersValues", program).better

    def same(value: Entry, other: Entry) -> bool:
        return value == other and not better(value, other) and not better(other, value)

    return same


def _beginning(program: VertexProgram) -> Callable[[int, Entry], bool]:
    """Whether a value is that of a vertex without any offer."""
    offers, same = cast("OffersValues", program), _sameness(program)
    arguments = [
        np.array(given, np.int64) if isinstance(given, tuple) else given for given in offers.arguments()
    ]

    def begins(vertex: int, value: Entry) -> bool:
        return same(offers.initial(vertex, *arguments), value)

    return begins


def _entries(values: NDArray[Any]) -> list[Entry]:
    if values.ndim == 1:
        numbers: list[Entry] = values.tolist()
        return numbers
    return [tuple(entry) for entry in values.tolist()]


def _places_back(
    place: int, parents: Ids, known: Mapping[int, int], weights: Sequence[float | None]
) -> list[int]:
    """The places of the vertices of a way, from its beginning; none where it is broken."""
    places, passed = [place], {place}
    while True:
        producer = known.get(int(parents[place]))
        if producer == place:
            return places[::-1]
        if producer is None or producer in passed or weights[place] is None:
            return []
        places.append(producer)
        passed.add(producer)
        place = producer


def joined(parts: Sequence[WaySteps]) -> WaySteps:
    """All steps of several parts; of a vertex that is there twice, the first."""
    together = WaySteps(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    _, first = np.unique(together.vertices, return_index=True)
    if len(first) == len(together.vertices):
        return together
    return WaySteps(*(column[first] for column in together))
