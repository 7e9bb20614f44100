"""Sessions that can be recorded and resumed: what a consistent cut of a loop holds of one worker, and what begins from it.

A cut is taken by markers on the FIFO channels (Chandy and Lamport, "Distributed snapshots", 1985; the paper forks from one,
Tornado, section 5.2). It holds the vertices with their last commits, who consumes them, ghosts with their edges, what is held,
and the messages that were under way. Sessions under way are not in it: a vertex that prepared is dirty and prepares again, and
PREPAREs and ACKNOWLEDGEs under way are forgotten, everywhere alike.

Guarantees: all that was committed before the cut counts as committed just below the first iteration of the resumed loop; every
commit whose UPDATE had not come is gathered when the loop begins, and every input that was held. So nothing is lost and
nothing comes twice, and the laws of `session.py` hold from the first iteration on.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ..errors import ProtocolViolation
from .messages import Acknowledge, Effect, Message, Prepare, Subscribe, Subscribed, Unsubscribe, Update
from .session import ThreePhaseSession
from .vertex import Ghost, HeldInput, OwnedVertex


@dataclass(frozen=True, slots=True)
class RecordedState:
    """One worker's part of a consistent cut, without the messages that were under way.

    Attributes
    ----------
    vertices, ghosts
        Copies, ascending by name.
    """

    vertices: tuple[OwnedVertex, ...]
    ghosts: tuple[Ghost, ...]


def is_of_a_cut(message: Message) -> bool:
    """Whether a message under way belongs to a cut."""
    return not isinstance(message, Prepare | Acknowledge)


class ResumableSession(ThreePhaseSession):
    """A session that can be recorded, and begin from a record; parameters as for `ThreePhaseSession`."""

    def is_startable(self, name: int) -> bool:
        """Whether `Start(name)` is legal now."""
        vertex = self.vertices.get(name)
        return vertex is not None and self._is_startable(vertex)

    def dirty_count(self) -> int:
        """How many vertices have something to commit."""
        return len(self._dirty)

    def pending_up_to(self, last: int) -> int | None:
        """The least iteration of the work that is done here if no vertex starts that would commit above `last`.

        Sessions under way go on to their end.
        """
        if any(self.vertices[name].stamp is not None for name in self._dirty):
            return self.pending()
        work = [reached for name in self._dirty if (reached := self.vertices[name].next_iteration) <= last]
        work += [held.iteration for name in self._parked for held in self.vertices[name].held]
        return min(work, default=None)

    def record(self) -> RecordedState:
        """A copy of what a cut holds of this worker; between events."""
        return RecordedState(
            tuple(self.vertices[name].copy() for name in sorted(self.vertices)),
            tuple(self.ghosts[name].copy() for name in sorted(self.ghosts)),
        )

    def resume(self, cut: RecordedState, under_way: Iterable[Message]) -> list[Effect]:
        """Begin from a cut: `self` is new, its program as it was at the cut.

        Parameters
        ----------
        cut : RecordedState
            As recorded on the same worker; only read.
        under_way : iterable of Message
            What was sent to this worker before the sender's record and came after ours, each channel's in its order.

        Returns
        -------
        list of Effect
            What is to be sent.

        Raises
        ------
        ProtocolViolation
            When the session is not new.
        """
        if self.vertices or self.ghosts:
            raise ProtocolViolation(f"worker {self.worker} resumes a session that has begun already")
        before = self.first_iteration - 1
        for ghost in cut.ghosts:
            self._resume_ghost(ghost, before)
        for vertex in cut.vertices:
            twin = self.vertices[vertex.id] = OwnedVertex(vertex.id, before)
            twin.value, twin.consumers = vertex.value, vertex.consumers.copy()
            self._mark(twin, matters=vertex.dirty)
        # Held commits came before held inputs were gathered, and both before what was under way.
        for vertex in cut.vertices:
            for value in vertex.held_values:
                self._offer(self.vertices[vertex.id], value.producer, value.value, before)
        for vertex in cut.vertices:
            for held in vertex.held:
                renumbered: HeldInput = replace(held, iteration=self.first_iteration)
                self._gather_input(self.vertices[vertex.id], renumbered)
        effects = self._finish()
        for message in under_way:
            self._take(message, before)
            effects += self._finish()
        return effects

    def establish(self, vertices: Iterable[OwnedVertex], ghosts: Iterable[Ghost]) -> None:
        """Begin with a graph of which nothing was ever committed: edges alive, everybody subscribed, all vertices dirty."""
        for vertex in vertices:
            self.vertices[vertex.id] = vertex
            self._mark(vertex, matters=True)
        for ghost in ghosts:
            ghost.iteration = self.first_iteration - 1
            self.ghosts[ghost.producer] = ghost

    def new_vertex(self, name: int, consumers: Iterable[int]) -> OwnedVertex:
        """For `establish`: a vertex that these workers consume."""
        vertex = OwnedVertex(name, self.first_iteration - 1)
        vertex.consumers.update(consumers)
        return vertex

    def new_ghost(self, producer: int, edges: dict[int, list[object]]) -> Ghost:
        """For `establish`: a producer with its edges to vertices here."""
        ghost = Ghost(producer, self._resting_phase())
        ghost.edges = edges
        return ghost

    def _resume_ghost(self, ghost: Ghost, before: int) -> None:
        if not ghost.edges and not ghost.awaiting:
            return
        twin = ghost.copy()
        twin.phase, twin.stamp, twin.readers = self._resting_phase(), None, ()
        twin.blockers.clear()
        twin.iteration = None if ghost.iteration is None else before
        self.ghosts[ghost.producer] = twin

    def _take(self, message: Message, before: int) -> None:
        match message:
            case Update():
                ghost = self.ghosts.get(message.producer)
                if ghost is not None:
                    self._arrived(ghost, replace(message, iteration=before))
            case Subscribed():
                ghost = self._ghost(message.producer)
                ghost.awaiting -= 1
                self._arrived(ghost, replace(message, committed=before, iteration=self.first_iteration))
                self._forget_if_unused(ghost)
            case Subscribe() | Unsubscribe():
                self._dispatch(replace(message, iteration=self.first_iteration))
            case _:
                raise ProtocolViolation(f"{message} belongs to a session, and no session is part of a cut")

    def _finish(self) -> list[Effect]:
        while self._local:
            self._dispatch(self._local.popleft())
        effects, self._effects = self._effects, []
        return effects
