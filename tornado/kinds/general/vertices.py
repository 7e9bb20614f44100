"""The vertices of a general program on one worker, between the program and the session: who was told what, who emitted what.

The session gathers absolute values and may repeat them; a program is told of every change once (see `general_program`). The
difference is made here: per vertex and producer, what the program heard last.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, TypeVar, cast

from ...errors import InvalidArgument
from ...protocol.resumption import ResumableSession
from .program import GeneralProgram, Heard, LoopView

_NEVER = -(1 << 62)

T = TypeVar("T")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Named:
    """Touch: a record names the vertex for the first time."""


@dataclass(frozen=True, slots=True)
class TargetAdded:
    """Touch: an edge to `target` begins."""

    target: int
    weight: float


@dataclass(frozen=True, slots=True)
class TargetRemoved:
    """Touch: the oldest edge to `target` with this weight ends."""

    target: int
    weight: float


class Said(NamedTuple):
    """A value, the iteration at which it was emitted, and whether to a single target: what was said once is known by these."""

    since: int
    value: Any
    to_one: bool = False

    def repeats(self, other: Said) -> bool:
        """Whether it is the same emission of the same vertex. Its value may be another object: it may have travelled."""
        return self.since == other.since and self.to_one == other.to_one


_NOTHING = Said(_NEVER, None)


@dataclass(frozen=True, slots=True)
class Emission:
    """What a vertex commits: all that it has said. Never changed once it is committed."""

    everyone: Said
    single: Mapping[int, Said]

    def to(self, target: int) -> Said:
        """What a target hears."""
        return self.single.get(target, self.everyone)


class _Memory(NamedTuple):
    """What a vertex was told of a producer, and by which commit."""

    commit: int
    said: Said
    weights: tuple[float, ...]


def _heard(memory: _Memory) -> Heard:
    return Heard(memory.said.value, memory.weights)


class _View(Mapping[int, V], Generic[T, V]):
    """A mapping shown to programs without copying it."""

    __slots__ = ("_of", "_show")

    def __init__(self, of: Mapping[int, T], show: Callable[[T], V]) -> None:
        self._of = of
        self._show = show

    def __getitem__(self, key: int) -> V:
        return self._show(self._of[key])

    def __iter__(self) -> Iterator[int]:
        return iter(self._of)

    def __len__(self) -> int:
        return len(self._of)


class GeneralVertex:
    """One vertex; see `general_program.Vertex` for what its program may use."""

    __slots__ = ("_edges", "_emission", "_host", "_is_scattering", "_memory", "committed", "id", "state")

    def __init__(self, host: GeneralVertices, identity: int) -> None:
        self.id = identity
        self.state: Any = None
        self.committed = 0.0  # what readers saw at the last commit
        self._host = host
        self._edges: dict[int, list[float]] = {}
        self._memory: dict[int, _Memory] = {}
        self._emission = Emission(_NOTHING, {})
        self._is_scattering = False

    @property
    def loop(self) -> LoopView:
        """The loop that it is in."""
        return self._host.loop

    @property
    def iteration(self) -> int:
        """The iteration at which it commits, or would."""
        return self._host.session.vertices[self.id].next_iteration

    @property
    def targets(self) -> Mapping[int, tuple[float, ...]]:
        """Weights of the edges to each consumer, oldest first."""
        return _View(self._edges, tuple)

    @property
    def heard(self) -> Mapping[int, Heard]:
        """What the program was told of each producer."""
        return _View(self._memory, _heard)

    def emit(self, value: Any) -> None:
        """Say a value to all targets."""
        self._check_scattering()
        self._emission = Emission(Said(self.iteration, copy.deepcopy(value)), {})

    def emit_to(self, target: int, value: Any) -> None:
        """Say a value to one target."""
        self._check_scattering()
        if target not in self._edges:
            raise InvalidArgument(
                f"vertex {self.id} emits to {target}, to which it has no edge",
                hint="vertex.targets has the targets; emit() speaks to all of them.",
            )
        single = {**self._emission.single, target: Said(self.iteration, copy.deepcopy(value), to_one=True)}
        self._emission = replace(self._emission, single=single)

    def _check_scattering(self) -> None:
        if not self._is_scattering:
            raise InvalidArgument(
                f"vertex {self.id} emits outside of scatter",
                hint="Return True where it matters: scatter is called when the vertex commits.",
            )

    # For the vertices of the worker.

    def add_target(self, target: int, weight: float) -> None:
        """Add the weight of a new edge to those of a target."""
        self._edges.setdefault(target, []).append(weight)

    def remove_target(self, target: int, weight: float) -> bool:
        """Take a weight off a target's; return whether it is gone and what was said to it alone is forgotten."""
        weights = self._edges[target]
        weights.remove(weight)
        if weights:
            return False
        del self._edges[target]
        if target not in self._emission.single:
            return False
        single = {other: said for other, said in self._emission.single.items() if other != target}
        self._emission = replace(self._emission, single=single)
        return True

    def scattered(self, program: GeneralProgram) -> Emission | None:
        """Let the program scatter; return what the vertex says then, None where it never said anything."""
        self._is_scattering = True
        try:
            program.scatter(self)
        finally:
            self._is_scattering = False
        emission = self._emission
        return emission if emission.single or emission.everyone is not _NOTHING else None

    def learn(self, producer: int, commit: int, said: Said, weights: tuple[float, ...]) -> bool:
        """Remember what is known of a producer; return whether that is news."""
        known = self._memory.get(producer)
        if known is not None:
            if commit < known.commit:  # held for a while, and a newer one was read with a new edge meanwhile
                commit, said = known.commit, known.said
            if said.repeats(known.said) and weights == known.weights:
                self._memory[producer] = known._replace(commit=commit)
                return False
        self._memory[producer] = _Memory(commit, said, weights)
        return True

    def unlearn(self, producer: int, weights: tuple[float, ...]) -> Said | None:
        """Leave `weights` of the edges from a producer; return what is known of it then, None where it was never heard of."""
        known = self._memory.pop(producer, None)
        if known is None:
            return None
        if not weights:
            return _NOTHING
        self._memory[producer] = known._replace(weights=weights)
        return known.said

    def copied(self, host: GeneralVertices) -> GeneralVertex:
        """A copy for another loop, before whose first iteration everything was committed."""
        twin = GeneralVertex(host, self.id)
        twin.state, twin.committed = copy.deepcopy(self.state), self.committed
        twin._edges = {target: weights.copy() for target, weights in self._edges.items()}
        twin._memory = {name: memory._replace(commit=_NEVER) for name, memory in self._memory.items()}
        twin._emission = self._emission
        return twin


class GeneralVertices:
    """The vertices of one worker, as the session's program.

    Parameters
    ----------
    program
        What the user wrote.
    loop
        Which loop this is.

    Attributes
    ----------
    values
        What readers see of each vertex that was named. Other threads copy it, so it is a plain dictionary.
    residual
        What the commits since the last look changed; the processor takes it away.
    """

    session: ResumableSession

    def __init__(self, program: GeneralProgram, loop: LoopView) -> None:
        self.program = program
        self.loop = loop
        self.vertices: dict[int, GeneralVertex] = {}
        self.values: dict[int, float] = {}
        self.residual = 0.0

    @property
    def title(self) -> str:
        """What the program is called."""
        return type(self.program).__name__

    def __iter__(self) -> Iterator[GeneralVertex]:
        return iter(self.vertices.values())

    def touch(self, vertex: int, data: object) -> bool:
        """Begin a vertex, or add or remove one of its targets, as a record says; return whether that matters."""
        match data:
            case Named():
                self.begin(vertex)
                return True
            case TargetAdded(target, weight):
                return self.add_target(vertex, target, weight)
            case TargetRemoved(target, weight):
                own = self.vertices[vertex]
                forgotten = own.remove_target(target, weight)
                matters = self._answer(own, "remove_target", self.program.remove_target(own, target, weight))
                return matters or forgotten
            case _:
                raise TypeError(f"vertex {vertex} was touched with {data!r}")

    def gather(
        self, vertex: int, producer: int, value: object, iteration: int, edges: Sequence[object]
    ) -> bool:
        """Tell the program of a producer's commit or new edge, if that is news; return whether it matters."""
        own = self.vertices[vertex]
        said = _NOTHING if value is None else cast("Emission", value).to(vertex)
        weights = cast("tuple[float, ...]", tuple(edges))
        if not own.learn(producer, iteration, said, weights):
            return False
        known = own.heard[producer]
        return self._answer(own, "gather", self.program.gather(own, producer, known.value, known.weights))

    def drop(self, vertex: int, producer: int, data: object, edges: Sequence[object]) -> bool:
        """Tell the program that an edge from a producer is gone; return whether it matters."""
        del data
        own = self.vertices[vertex]
        weights = cast("tuple[float, ...]", tuple(edges))
        said = own.unlearn(producer, weights)
        if said is None:
            return False
        return self._answer(own, "gather", self.program.gather(own, producer, said.value, weights))

    def scatter(self, vertex: int) -> object:
        """Let the program scatter, book what readers see from now on, and return what the vertex says."""
        own = self.vertices[vertex]
        emission = own.scattered(self.program)
        self.values[vertex] = after = self.program.value(own.state)
        self.residual += self.program.progress(own, own.committed, after)
        own.committed = after
        return emission

    def begin(self, vertex: int) -> None:
        """Make a vertex, with the state that the program gives it."""
        own = self.vertices[vertex] = GeneralVertex(self, vertex)
        own.state = self.program.init(own)
        self.values[vertex] = own.committed = self.program.value(own.state)

    def add_target(self, vertex: int, target: int, weight: float) -> bool:
        """Add an edge to a target and tell the program; return whether that matters."""
        own = self.vertices[vertex]
        own.add_target(target, weight)
        return self._answer(own, "add_target", self.program.add_target(own, target, weight))

    def copied(self) -> GeneralVertices:
        """A copy for a branch, which says later which loop it is."""
        twin = GeneralVertices(self.program, self.loop)
        twin.values = self.values.copy()
        twin.vertices = {name: vertex.copied(twin) for name, vertex in self.vertices.items()}
        return twin

    def take_residual(self) -> float:
        """Return how much the commits since the last call changed, and begin to count anew."""
        residual, self.residual = self.residual, 0.0
        return residual if math.isfinite(residual) else 0.0

    def _answer(self, own: GeneralVertex, name: str, matters: object) -> bool:
        if matters is None:
            raise InvalidArgument(
                f"{type(self.program).__name__}.{name} returned None, but has to say whether it matters",
                hint="Return True to have the vertex commit, False otherwise.",
            )
        self.values[own.id] = self.program.value(own.state)
        return bool(matters)
