"""Phase one of a session: gather values and inputs, or hold them until they may be gathered.

Source: Tornado (SIGMOD 2016), section 4.2 (update phase) and 4.4 (delay bound). Two things are not gathered when they come:

* a commit at the delay bound, by a vertex that prepares: it would lift the vertex's own commit beyond the bound, and is gathered
  right after that commit (a vertex that does not prepare gathers it, and waits for τ before it starts); and a commit of the last
  iteration, where there is one, for the same reason;
* an input (edge, subscription, touch) of a vertex that prepares, and an edge of a producer whose session was acknowledged here:
  they would change who consumes whom in the middle of a session.

What is gathered raises `reached`, so that the next commit lies after it. Everything that a worker remembers is here; phases two
and three are in `session.py`.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import Self

from ..errors import InvalidArgument, ProtocolViolation
from .clock import LamportClock
from .legality import GhostPhase, Step, confirm, require
from .messages import (
    AddEdge,
    Effect,
    Frontier,
    Input,
    Message,
    RemoveEdge,
    Send,
    Subscribe,
    Subscribed,
    Touch,
    Unsubscribe,
    arrival,
    committed_at,
)
from .program import SessionProgram
from .vertex import Ghost, HeldInput, HeldValue, OwnedVertex


def _own_worker(vertex: int) -> int:
    return vertex


class Gathering:
    """The vertices and ghosts of one worker; parameters and errors as for `ThreePhaseSession`."""

    def __init__(
        self,
        worker: int,
        program: SessionProgram,
        *,
        delay_bound: int | None,
        owner: Callable[[int], int] = _own_worker,
        first_iteration: int = 0,
        last_iteration: int | None = None,
    ) -> None:
        if delay_bound is not None and delay_bound < 1:
            raise InvalidArgument(
                f"delay_bound is {delay_bound} but must be at least 1", hint="None means unbounded."
            )
        self.worker = worker
        self.program = program
        self.delay_bound = delay_bound
        self.owner = owner
        self.first_iteration = first_iteration
        self.last_iteration: float = math.inf if last_iteration is None else last_iteration
        self.clock = LamportClock()
        self.frontier = Frontier(first_iteration, first_iteration)
        self.vertices: dict[int, OwnedVertex] = {}
        self.ghosts: dict[int, Ghost] = {}
        self.missing_removals = 0
        self._dirty: set[int] = set()
        self._parked: set[int] = set()  # vertices with held inputs
        self._holding: set[int] = set()  # vertices with held values
        self._local: deque[Message] = deque()
        self._effects: list[Effect] = []

    def pending(self) -> int | None:
        """The least iteration of all work that waits here: the worker's token; None where there is none."""
        work = [self.vertices[name].next_iteration for name in self._dirty]
        work += [held.iteration for name in self._parked for held in self.vertices[name].held]
        work += [arrival(value) for name in self._holding for value in self.vertices[name].held_values]
        return min(work, default=None)

    def is_at_rest(self) -> bool:
        """Whether nothing is left to do here, and no session is known that has not ended."""
        resting = self._resting_phase()
        return self.pending() is None and all(ghost.phase is resting for ghost in self.ghosts.values())

    def copy(self, program: SessionProgram) -> Self:
        """A copy that shares nothing that changes, on a copy of the program."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(
            self.__dict__,
            program=program,
            clock=LamportClock(self.clock.time),
            vertices={name: vertex.copy() for name, vertex in self.vertices.items()},
            ghosts={name: ghost.copy() for name, ghost in self.ghosts.items()},
            _dirty=self._dirty.copy(),
            _parked=self._parked.copy(),
            _holding=self._holding.copy(),
            _local=deque(),
            _effects=[],
        )
        return twin

    def key(self) -> tuple[object, ...]:
        """Everything that decides what the session does next, hashable; two sessions with equal keys behave alike."""
        return (
            self.clock.time,
            self.frontier,
            self.missing_removals,
            tuple(self.vertices[name].key() for name in sorted(self.vertices)),
            tuple(self.ghosts[name].key() for name in sorted(self.ghosts)),
        )

    # Decisions.

    def _limit(self) -> float:
        """The iteration from which on work waits: τ + B."""
        return math.inf if self.delay_bound is None else self.frontier.tau + self.delay_bound

    def _must_hold(self, vertex: OwnedVertex, value: HeldValue) -> bool:
        """Whether a commit lies at the delay bound, or is of the last iteration, and the vertex has to commit before it gathers that.

        With B=1 all commits of a round are at the bound, and nobody gathers one before the round is over.
        """
        if self.delay_bound == 1:
            return arrival(value) >= self._limit()
        return vertex.stamp is not None and arrival(value) >= min(self._limit(), self.last_iteration + 1)

    def _must_wait(self, vertex: OwnedVertex, producer: int | None) -> bool:
        """Whether an input is held: nothing changes under a session.

        Neither that of the vertex itself (its consumers are fixed) nor that of a producer whose edge it is (the
        iteration acknowledged to it stands for the consumers it had then).
        """
        if vertex.stamp is not None or vertex.held:
            return True
        ghost = self.ghosts.get(producer) if producer is not None else None
        return ghost is not None and ghost.phase is GhostPhase.PREPARED

    # Values.

    def _arrived(self, ghost: Ghost, value: HeldValue) -> None:
        """Gather or hold a commit of the producer over its live edges; inert ones get theirs with the answer to SUBSCRIBE."""
        if not ghost.is_subscribed:
            return
        ghost.iteration = committed_at(value)
        ghost.value = value.value
        for name in sorted(ghost.edges):
            vertex = self.vertices[name]
            if self._must_hold(vertex, value):
                vertex.held_values.append(value)
                self._holding.add(name)
            else:
                self._gather(vertex, value)

    def _gather_held(self, vertex: OwnedVertex, limit: float) -> None:
        """Gather what is held as work below `limit`, in order of arrival."""
        held, vertex.held_values = vertex.held_values, []
        for value in held:
            if arrival(value) < limit:
                self._gather(vertex, value)
            else:
                vertex.held_values.append(value)
        if not vertex.held_values:
            self._holding.discard(vertex.id)

    def _gather(self, vertex: OwnedVertex, value: HeldValue) -> None:
        """Let one consumer gather a commit over all its edges from the producer."""
        before = vertex.phase
        require(before, Step.GATHER, f"vertex {vertex.id}")
        vertex.reached = max(vertex.reached, arrival(value) - 1)
        self._offer(vertex, value.producer, value.value, committed_at(value))
        confirm(before, Step.GATHER, vertex.phase, f"vertex {vertex.id}")

    def _offer(self, vertex: OwnedVertex, producer: int, value: object, iteration: int) -> None:
        edges = tuple(self.ghosts[producer].edges[vertex.id])
        self._mark(vertex, matters=self.program.gather(vertex.id, producer, value, iteration, edges))

    def _mark(self, vertex: OwnedVertex, *, matters: bool) -> None:
        if matters:
            vertex.dirty = True
            self._dirty.add(vertex.id)

    # Inputs.

    def _park(self, vertex: OwnedVertex, event: HeldInput) -> None:
        vertex.held.append(event)
        self._parked.add(vertex.id)
        confirm(vertex.phase, step_of(event), vertex.phase, f"vertex {vertex.id}")

    def _gather_inputs(self, vertex: OwnedVertex) -> None:
        """Gather held inputs in order, up to the first that must still wait."""
        held, vertex.held = vertex.held, []
        while held and not self._must_wait(vertex, _edge_of(held[0])):
            self._gather_input(vertex, held.pop(0))
        vertex.held = held
        if not held:
            self._parked.discard(vertex.id)

    def _gather_input(self, vertex: OwnedVertex, event: HeldInput) -> None:
        before, step = vertex.phase, step_of(event)
        vertex.reached = max(vertex.reached, event.iteration - 1)
        match event:
            case Subscribe():
                vertex.consumers.add(event.worker)
                answer = Subscribed(vertex.id, vertex.committed, vertex.value, event.iteration)
                self._send(event.worker, answer)
            case Unsubscribe():
                vertex.consumers.discard(event.worker)
            case Input(change=Touch(data=data)):
                self._mark(vertex, matters=self.program.touch(vertex.id, data))
            case Input(change=AddEdge(producer=producer, data=data)):
                self._add_edge(vertex, producer, data, event.iteration)
            case Input(change=RemoveEdge(producer=producer, data=data)):
                self._remove_edge(vertex, producer, data, event.iteration)
        confirm(before, step, vertex.phase, f"vertex {vertex.id}")

    def _add_edge(self, vertex: OwnedVertex, producer: int, data: object, iteration: int) -> None:
        ghost = self._ghost(producer)
        if not ghost.edges:
            ghost.awaiting += 1
            self._send(self.owner(producer), Subscribe(self.worker, producer, iteration))
        ghost.edges.setdefault(vertex.id, []).append(data)
        if ghost.iteration is not None:
            vertex.reached = max(vertex.reached, ghost.iteration)
            self._offer(vertex, producer, ghost.value, ghost.iteration)

    def _remove_edge(self, vertex: OwnedVertex, producer: int, data: object, iteration: int) -> None:
        ghost = self.ghosts.get(producer)
        edges = ghost.edges.get(vertex.id, []) if ghost is not None else []
        if ghost is None or not edges or (data is not None and data not in edges):
            self.missing_removals += 1
            return
        gone = edges.pop(0 if data is None else edges.index(data))
        if not edges:
            del ghost.edges[vertex.id]
            vertex.held_values = [value for value in vertex.held_values if value.producer != producer]
            if not vertex.held_values:
                self._holding.discard(vertex.id)
        self._mark(vertex, matters=self.program.drop(vertex.id, producer, gone, tuple(edges)))
        if not ghost.edges:
            ghost.iteration, ghost.value = None, None
            self._send(self.owner(producer), Unsubscribe(self.worker, producer, iteration))
            self._forget_if_unused(ghost)

    def _will_consume(self, vertex: OwnedVertex, worker: int) -> bool:
        """Whether `worker` consumes the vertex once all held inputs are gathered."""
        for held in reversed(vertex.held):
            if not isinstance(held, Input) and held.worker == worker:
                return isinstance(held, Subscribe)
        return worker in vertex.consumers

    # Records.

    def _own(self, name: int) -> OwnedVertex:
        """A vertex that lives here; a new one is not kept before it has gathered an input."""
        vertex = self.vertices.get(name)
        if vertex is not None:
            return vertex
        if self.owner(name) != self.worker:
            raise ProtocolViolation(f"vertex {name} lives on worker {self.owner(name)}, not on {self.worker}")
        return OwnedVertex(name, self.first_iteration - 1)

    def _resting_phase(self) -> GhostPhase:
        return GhostPhase.SYNCHRONOUS if self.delay_bound == 1 else GhostPhase.QUIET

    def _ghost_phase(self, producer: int) -> GhostPhase:
        ghost = self.ghosts.get(producer)
        return self._resting_phase() if ghost is None else ghost.phase

    def _ghost(self, producer: int) -> Ghost:
        ghost = self.ghosts.get(producer)
        if ghost is None:
            ghost = self.ghosts[producer] = Ghost(producer, self._resting_phase())
        return ghost

    def _forget_if_unused(self, ghost: Ghost) -> None:
        # It may have been forgotten and begun anew in between (the last edge goes, another comes).
        if not ghost.is_needed and self.ghosts.get(ghost.producer) is ghost:
            del self.ghosts[ghost.producer]

    def _send(self, worker: int, message: Message) -> None:
        if worker == self.worker:
            self._local.append(message)
        else:
            self._effects.append(Send(worker, message))


def _edge_of(event: HeldInput) -> int | None:
    """The producer of the edge that an input changes; None where it changes none of the vertex's own."""
    if isinstance(event, Input) and not isinstance(event.change, Touch):
        return event.change.producer
    return None


def step_of(event: HeldInput) -> Step:
    """What an input is called in the legality table."""
    match event:
        case Subscribe():
            return Step.SUBSCRIBE
        case Unsubscribe():
            return Step.UNSUBSCRIBE
        case Input():
            return Step.INPUT
