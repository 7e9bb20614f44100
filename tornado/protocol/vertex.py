"""What a session remembers of a vertex of its own, and of a producer that it hears.

An `OwnedVertex` is a producer of updates and lives with the worker that owns it. A `Ghost` stands for a producer where it is
heard, on every worker with an edge from it, its own included; edges live with their consumer, so they hang on the ghost. The
three lists of the paper (Tornado, section 4.2) are `OwnedVertex.waiting`, `prepare_list` and `pending`.

Plain records: the rules are in `session.py`.
"""

from __future__ import annotations

from .clock import Stamp
from .legality import GhostPhase, VertexPhase
from .messages import Input, Subscribe, Subscribed, Unsubscribe, Update

HeldInput = Input | Subscribe | Unsubscribe
HeldValue = Update | Subscribed


class OwnedVertex:
    """A vertex where it lives.

    Attributes
    ----------
    id : int
        Its identity.
    reached : int
        The greatest iteration of a commit that the vertex made or gathered, or one below that of an input. Never falls.
    floor : int
        The greatest iteration that a consumer acknowledged in the present session.
    committed : int
        Iteration of its last commit; the start iteration if there is none.
    value : object
        What it committed last.
    dirty : bool
        Something it gathered matters: it has to commit.
    stamp : Stamp or None
        When it started to prepare; None while it does not.
    waiting : set of int
        Waiting list: workers whose ACKNOWLEDGE is missing.
    prepare_list : set of int
        Prepare list: producers that were acknowledged and whose UPDATE is missing.
    pending : list of int
        Pending list: producers whose PREPARE this vertex keeps waiting, in order of arrival.
    consumers : set of int
        Workers that consume it.
    held : list of Input, Subscribe, Unsubscribe
        Inputs that wait for the end of a session, in order of arrival.
    held_values : list of Update, Subscribed
        Commits at the delay bound that wait, in order of arrival.
    """

    __slots__ = (
        "committed",
        "consumers",
        "dirty",
        "floor",
        "held",
        "held_values",
        "id",
        "pending",
        "prepare_list",
        "reached",
        "stamp",
        "value",
        "waiting",
    )

    def __init__(self, identity: int, reached: int) -> None:
        self.id = identity
        self.reached = self.floor = self.committed = reached
        self.value: object = None
        self.dirty = False
        self.stamp: Stamp | None = None
        self.waiting: set[int] = set()
        self.prepare_list: set[int] = set()
        self.pending: list[int] = []
        self.consumers: set[int] = set()
        self.held: list[HeldInput] = []
        self.held_values: list[HeldValue] = []

    @property
    def next_iteration(self) -> int:
        """Where it would commit now: above all it has read, not before any consumer."""
        return max(self.reached + 1, self.floor)

    @property
    def phase(self) -> VertexPhase:
        """Its phase in the legality table."""
        if self.stamp is not None:
            return VertexPhase.WAITING if self.waiting else VertexPhase.COLLECTING
        return VertexPhase.DIRTY if self.dirty else VertexPhase.IDLE

    def copy(self) -> OwnedVertex:
        """A copy that shares nothing that changes."""
        twin = OwnedVertex(self.id, self.reached)
        twin.committed, twin.value = self.committed, self.value
        twin.floor, twin.dirty, twin.stamp = self.floor, self.dirty, self.stamp
        twin.waiting, twin.prepare_list = self.waiting.copy(), self.prepare_list.copy()
        twin.pending, twin.consumers, twin.held = self.pending.copy(), self.consumers.copy(), self.held.copy()
        twin.held_values = self.held_values.copy()
        return twin

    def key(self) -> tuple[object, ...]:
        """Everything that decides what the vertex does next, hashable."""
        return (
            self.id,
            self.reached,
            self.floor,
            self.committed,
            self.value,
            self.dirty,
            self.stamp,
            frozenset(self.waiting),
            frozenset(self.prepare_list),
            tuple(self.pending),
            frozenset(self.consumers),
            tuple(self.held),
            tuple(self.held_values),
        )


class Ghost:
    """A producer where it is heard.

    Attributes
    ----------
    producer : int
        Whom it stands for.
    edges : dict of int to list
        Data of the edges to each local consumer, oldest first; parallel edges are several entries.
    iteration, value : int or None, object
        The last commit of the producer, or the start iteration and None if it never committed. While `iteration` is None the
        edges are inert: SUBSCRIBE was not answered yet.
    awaiting : int
        SUBSCRIBEs not yet answered.
    phase : GhostPhase
        Its phase in the legality table.
    stamp : Stamp or None
        The PREPARE that is being dealt with.
    blockers : set of int
        Local consumers that keep it pended.
    readers : tuple of int
        Local consumers that have it in their prepare list.
    """

    __slots__ = (
        "awaiting",
        "blockers",
        "edges",
        "iteration",
        "phase",
        "producer",
        "readers",
        "stamp",
        "value",
    )

    def __init__(self, producer: int, phase: GhostPhase) -> None:
        self.producer = producer
        self.edges: dict[int, list[object]] = {}
        self.iteration: int | None = None
        self.value: object = None
        self.awaiting = 0
        self.phase = phase
        self.stamp: Stamp | None = None
        self.blockers: set[int] = set()
        self.readers: tuple[int, ...] = ()

    @property
    def is_subscribed(self) -> bool:
        """Whether commits that arrive are for its edges: there are some, and every SUBSCRIBE was answered."""
        return bool(self.edges) and self.awaiting == 0

    @property
    def is_needed(self) -> bool:
        """Whether anything would be lost by forgetting it."""
        resting = self.phase in (GhostPhase.QUIET, GhostPhase.SYNCHRONOUS)
        return bool(self.edges) or self.awaiting > 0 or not resting

    def consumers(self) -> list[int]:
        """Local consumers other than the producer itself, ascending: nobody waits for itself (self-loops)."""
        return sorted(consumer for consumer in self.edges if consumer != self.producer)

    def copy(self) -> Ghost:
        """A copy that shares nothing that changes."""
        twin = Ghost(self.producer, self.phase)
        twin.edges = {consumer: data.copy() for consumer, data in self.edges.items()}
        twin.iteration, twin.value = self.iteration, self.value
        twin.awaiting = self.awaiting
        twin.stamp, twin.blockers, twin.readers = self.stamp, self.blockers.copy(), self.readers
        return twin

    def key(self) -> tuple[object, ...]:
        """Everything that decides what happens here next, hashable."""
        return (
            self.producer,
            self.iteration,
            self.value,
            self.awaiting,
            self.phase.name,
            self.stamp,
            frozenset(self.blockers),
            self.readers,
            tuple((consumer, tuple(self.edges[consumer])) for consumer in sorted(self.edges)),
        )
