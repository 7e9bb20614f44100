r"""The three-phase session, plain: events in, effects out, no I/O.

Iterations are logical: every vertex advances on its own, and consumers and producers agree, commit by commit, on the iteration
in which an update happens. Source: Tornado (SIGMOD 2016), section 4.2 (update, prepare, commit) and 4.4 (delay bound), read as
the text and not as Figure 3. What it guarantees, for every schedule on FIFO channels:

R1  Every commit of y at j reads only commits at iterations < j of its producers.
R2  The commits of a vertex have strictly increasing iterations.
R3  When y commits at j, it has gathered every commit at iterations < j of its producers: no update arrives in its consumer's
    past. Equivalently a commit is never *earlier* than the last commit of a consumer (it may be at the same iteration).
DB  k - τ < B for every commit at k, τ being the least iteration at which a commit can still happen.
L   While work is left something can be done (no deadlock), and a vertex that prepares commits under every fair schedule.

**Why R1, R2.** A vertex commits at `reached + 1` or above, and `reached` is at least the iteration of all it gathered and committed.

**Why R3.** x commits after each consumer acknowledged with the iteration it had reached, and at no smaller one (`floor`). From then
on the consumer has x in its prepare list and does not commit until x's update is there.

**Why the bound.** A dirty vertex starts only if `reached + 1 < τ + B`, and while it prepares this stays true: it gathers a commit at k
only if k + 1 < τ + B. One at the bound is *held* until the vertex has committed; the producer's session is over all the same.
Nothing is lost for R3: the vertex commits at j <= τ + B - 1 <= k, and R3 speaks of k < j. (Where an acknowledgement, sent at a later
τ, lifts j above a held k, that is gathered first.) An acknowledgement is the iteration of somebody's commit or just below that of
an input, and both were below τ + B at a τ not greater than now. Gathering at once breaks the bound: a producer that was
acknowledged before the vertex started can lift it to τ + B. Holding the *commit* instead deadlocks: the vertex would keep pending
those that pin τ. A vertex that does not prepare may gather what it likes; it starts when τ has moved, and its work counts for τ at
k + 1, never at k, or it would pin τ.

**Why the last iteration.** Where there is one it is a bound like τ + B that does not move. A vertex starts only if `reached` is below
it, and while it prepares it holds a commit of the last iteration, which alone could lift it above. An acknowledgement is the iteration
of somebody's commit, so never above it, and no input lifts `reached` above it.

**Why no deadlock.** A vertex is pended only by a smaller stamp, and waits in its prepare list only for smaller stamps: a
producer acknowledged before the vertex started was witnessed by the clock. So the smallest stamp is never kept from committing.

**B=1.** Every commit is at τ, so there is nothing to agree on and no PREPARE. All dirty vertices of round τ commit with what was
committed before it (Jacobi); what the round commits is held until τ has moved. A vertex must have everything of the earlier rounds,
which nobody tells it here: it starts below `Frontier.closed`, τ alone would not do.

Granularity: a session holds the vertices of one worker, and a consumer is a *worker* that holds a ghost of the producer. With
one vertex a worker this is the paper's protocol between vertices. What a worker sends itself is dealt with at once, inside
`receive`. Left out on purpose: committing without PREPARE at the last allowed iteration (section 4.4), which needs one τ common
to all and relaxes rule 3 where frontiers lag.
"""

from __future__ import annotations

import math

from ..errors import ProtocolViolation
from .clock import Stamp
from .gathering import Gathering, step_of
from .legality import GhostPhase, Step, confirm, require
from .messages import (
    Acknowledge,
    Committed,
    Effect,
    Event,
    Frontier,
    Input,
    Prepare,
    Start,
    Subscribe,
    Subscribed,
    Touch,
    Unsubscribe,
    Update,
)
from .vertex import Ghost, OwnedVertex


class ThreePhaseSession(Gathering):
    """The sessions of one worker's vertices.

    Parameters
    ----------
    worker : int
        Name of the worker.
    program : SessionProgram
        What values mean. Called during `receive`.
    delay_bound : int or None
        B, at least 1; None is unbounded.
    owner : callable, optional
        Worker of a vertex. Left out, every vertex is a worker of its own.
    first_iteration : int, default 0
        The first iteration of the loop; `reached` starts one below.
    last_iteration : int, optional
        Nothing commits above it. Left out, there is no last one.

    Raises
    ------
    InvalidArgument
        If `delay_bound` is below 1.

    Examples
    --------
    Two vertices that are workers of their own; see `world.py` for a whole graph.

    >>> from tornado.protocol.messages import AddEdge
    >>> from tornado.protocol.sample_programs import CountProgram
    >>> one, two = (ThreePhaseSession(worker, CountProgram(), delay_bound=None) for worker in (1, 2))
    >>> [subscribe] = two.receive(Input(0, AddEdge(producer=1, consumer=2)))
    >>> [subscribed] = one.receive(subscribe.message)
    >>> two.receive(subscribed.message), one.receive(Input(0, Touch(1)))
    ([], [])
    >>> [prepare] = one.receive(Start(1))
    >>> [acknowledge] = two.receive(prepare.message)
    >>> one.receive(acknowledge.message)[0]
    Committed(vertex=1, iteration=0, value=1)
    """

    # What the worker asks and tells.

    def receive(self, event: Event) -> list[Effect]:
        """Take in one event and return its effects.

        Parameters
        ----------
        event : Event
            A message from the channel of another worker (in its order), or an `Input`, a `Start`, a `Frontier`.

        Returns
        -------
        list of Effect
            What was committed and what is to be sent, in this order.

        Raises
        ------
        ProtocolViolation
            If the event is illegal now. The session has not changed.
        """
        self._dispatch(event)
        while self._local:
            self._dispatch(self._local.popleft())
        effects, self._effects = self._effects, []
        return effects

    def startable(self) -> list[int]:
        """Vertices for which `Start` is legal now, ascending: dirty, not preparing, and inside the delay bound.

        A vertex with held inputs gathers them first; they wait for one UPDATE at most.
        """
        return [name for name in sorted(self._dirty) if self._is_startable(self.vertices[name])]

    # Decisions. Each is a rule of its own, and the tests break them one by one.

    def _is_startable(self, vertex: OwnedVertex) -> bool:
        if not vertex.dirty or vertex.stamp is not None or vertex.held:
            return False
        if vertex.reached >= self.last_iteration:
            return False
        return vertex.reached + 1 < (self.frontier.closed if self.delay_bound == 1 else self._limit())

    def _goes_first(self, own: Stamp, other: Stamp) -> bool:
        """Whether the own session comes before the other one."""
        return own < other

    def _may_commit(self, vertex: OwnedVertex) -> bool:
        """Whether its waiting list and its prepare list are empty. Tested whenever one of them shrinks."""
        return vertex.stamp is not None and not vertex.waiting and not vertex.prepare_list

    def _acknowledged(self, vertex: OwnedVertex, reached: int) -> None:
        """Raise the floor of the commit to what a consumer has reached (rule 3)."""
        vertex.floor = max(vertex.floor, reached)

    # Events.

    def _dispatch(self, event: Event) -> None:
        match event:
            case Prepare():
                self._on_prepare(event)
            case Acknowledge():
                self._on_acknowledge(event)
            case Update():
                self._on_update(event)
            case Subscribe() | Unsubscribe():
                self._on_subscription(event)
            case Subscribed():
                self._on_subscribed(event)
            case Input():
                self._on_input(event)
            case Start():
                self._on_start(self._own(event.vertex))
            case Frontier():
                self._on_frontier(event)

    def _on_start(self, vertex: OwnedVertex) -> None:
        """Take a stamp and ask all consumers; with nobody to ask or wait for, commit."""
        before = vertex.phase
        require(before, Step.START, f"vertex {vertex.id}")
        if not self._is_startable(vertex):
            raise ProtocolViolation(
                f"vertex {vertex.id} would commit at {vertex.next_iteration} or holds inputs ({len(vertex.held)}); "
                f"B={self.delay_bound} at {self.frontier} does not let it start"
            )
        if self.delay_bound == 1:
            self._commit(vertex)
        else:
            vertex.stamp = self.clock.tick(vertex.id)
            vertex.waiting = vertex.consumers.copy()
            for consumer in sorted(vertex.consumers):
                self._send(consumer, Prepare(vertex.id, vertex.stamp))
            self._commit_if_ready(vertex)
        confirm(before, Step.START, vertex.phase, f"vertex {vertex.id}")

    def _on_prepare(self, message: Prepare) -> None:
        """Acknowledge, or keep the producer pending while a consumer prepares with a smaller stamp."""
        before = self._ghost_phase(message.producer)
        require(before, Step.PREPARE, f"ghost {message.producer}")
        self.clock.witness(message.stamp)
        # No ghost, no edge: our UNSUBSCRIBE is on its way, and until it arrives the producer waits for us.
        ghost = self._ghost(message.producer)
        ghost.stamp = message.stamp
        for name in ghost.consumers():
            consumer = self.vertices[name]
            if consumer.stamp is not None and self._goes_first(consumer.stamp, message.stamp):
                ghost.blockers.add(name)
                consumer.pending.append(ghost.producer)
        if ghost.blockers:
            ghost.phase = GhostPhase.PENDED
        else:
            self._acknowledge(ghost)
        confirm(before, Step.PREPARE, ghost.phase, f"ghost {ghost.producer}")

    def _on_acknowledge(self, message: Acknowledge) -> None:
        """Note what a consumer has reached, and commit if it was the last to wait for."""
        vertex = self._own(message.producer)
        before = vertex.phase
        require(before, Step.ACKNOWLEDGE, f"vertex {vertex.id}")
        if message.worker not in vertex.waiting or message.stamp != vertex.stamp:
            raise ProtocolViolation(
                f"vertex {vertex.id} prepares with {vertex.stamp} and waits for {sorted(vertex.waiting)}; "
                f"{message} answers something else"
            )
        vertex.waiting.discard(message.worker)
        self._acknowledged(vertex, message.reached)
        self._commit_if_ready(vertex)
        confirm(before, Step.ACKNOWLEDGE, vertex.phase, f"vertex {vertex.id}")

    def _on_update(self, message: Update) -> None:
        """Gather or hold the value; the producer's session is over either way."""
        before = self._ghost_phase(message.producer)
        require(before, Step.UPDATE, f"ghost {message.producer}")
        ghost = self._ghost(message.producer)
        if ghost.iteration is not None and message.iteration <= ghost.iteration:
            raise ProtocolViolation(
                f"{message} follows a commit at {ghost.iteration}; a producer's iterations increase"
            )
        ghost.phase, ghost.stamp = self._resting_phase(), None
        readers, ghost.readers = ghost.readers, ()
        self._arrived(ghost, message)
        confirm(before, Step.UPDATE, ghost.phase, f"ghost {ghost.producer}")
        for name in readers:
            vertex = self.vertices[name]
            phase = vertex.phase
            vertex.prepare_list.discard(ghost.producer)
            self._commit_if_ready(vertex)
            confirm(phase, Step.UPDATE, vertex.phase, f"vertex {name}")
        for name in sorted(self._parked):
            self._gather_inputs(self.vertices[name])
        self._forget_if_unused(ghost)

    def _on_subscription(self, message: Subscribe | Unsubscribe) -> None:
        """Gather that a consumer comes or goes, which is input of the producer."""
        vertex = self._own(message.producer)
        begins = isinstance(message, Subscribe)
        require(vertex.phase, step_of(message), f"vertex {vertex.id}")
        if begins == self._will_consume(vertex, message.worker):
            raise ProtocolViolation(
                f"{message}, but worker {message.worker} {'already' if begins else 'never'} consumes"
            )
        self.vertices[vertex.id] = vertex
        if self._must_wait(vertex, None):
            self._park(vertex, message)
        else:
            self._gather_input(vertex, message)

    def _on_subscribed(self, message: Subscribed) -> None:
        """Bring the edges of a ghost to life with the answer to the last SUBSCRIBE."""
        before = self._ghost_phase(message.producer)
        require(before, Step.SUBSCRIBED, f"ghost {message.producer}")
        ghost = self.ghosts.get(message.producer)
        if ghost is None or ghost.awaiting == 0:
            raise ProtocolViolation(f"{message}, but worker {self.worker} has no SUBSCRIBE under way there")
        ghost.awaiting -= 1
        self._arrived(ghost, message)
        confirm(before, Step.SUBSCRIBED, ghost.phase, f"ghost {ghost.producer}")
        self._forget_if_unused(ghost)

    def _on_input(self, event: Input) -> None:
        """Gather or hold a change of the graph, for the vertex that owns it: an edge belongs to its consumer."""
        change = event.change
        vertex = self._own(change.vertex if isinstance(change, Touch) else change.consumer)
        producer = None if isinstance(change, Touch) else change.producer
        require(vertex.phase, Step.INPUT, f"vertex {vertex.id}")
        if producer is not None:
            before = self._ghost_phase(producer)
            require(before, Step.INPUT, f"ghost {producer}")
        self.vertices[vertex.id] = vertex
        if self._must_wait(vertex, producer):
            self._park(vertex, event)
        else:
            self._gather_input(vertex, event)
        if producer is not None:
            confirm(before, Step.INPUT, self._ghost_phase(producer), f"ghost {producer}")

    def _on_frontier(self, event: Frontier) -> None:
        """Take over the frontier, which never moves back; with B=1 gather what the last round committed."""
        if event.tau < self.frontier.tau or event.closed < self.frontier.closed:
            raise ProtocolViolation(f"the frontier moves back from {self.frontier} to {event}")
        self.frontier = event
        if self.delay_bound == 1:
            for name in sorted(self._holding):
                self._gather_held(self.vertices[name], self._limit())

    # Sessions.

    def _acknowledge(self, ghost: Ghost) -> None:
        """Let the producer go first: it joins the prepare lists here, and only now, and is told how far we are."""
        if ghost.stamp is None:
            raise ProtocolViolation(f"ghost {ghost.producer} is acknowledged without PREPARE")
        ghost.phase = GhostPhase.PREPARED
        ghost.readers = tuple(ghost.consumers())
        reached = self.first_iteration - 1
        for name in ghost.readers:
            consumer = self.vertices[name]
            before = consumer.phase
            require(before, Step.PREPARE, f"vertex {name}")
            consumer.prepare_list.add(ghost.producer)
            confirm(before, Step.PREPARE, consumer.phase, f"vertex {name}")
            reached = max(reached, consumer.reached)
        self._send(self.owner(ghost.producer), Acknowledge(self.worker, ghost.producer, ghost.stamp, reached))

    def _commit_if_ready(self, vertex: OwnedVertex) -> None:
        if self._may_commit(vertex):
            self._commit(vertex)

    def _commit(self, vertex: OwnedVertex) -> None:
        """Commit and tell everybody, changed or not; then comes what waited for the end of the session."""
        iteration = vertex.next_iteration
        # An acknowledgement may have lifted the commit above a held one, which R3 wants read: `reached` stays below `iteration`.
        self._gather_held(vertex, iteration + 1)
        vertex.value = self.program.scatter(vertex.id)
        vertex.reached = vertex.committed = iteration
        vertex.floor, vertex.dirty, vertex.stamp = self.first_iteration - 1, False, None
        self._dirty.discard(vertex.id)
        self._effects.append(Committed(vertex.id, iteration, vertex.value))
        for consumer in sorted(vertex.consumers):
            self._send(consumer, Update(vertex.id, iteration, vertex.value))
        if self.delay_bound != 1:
            self._gather_held(vertex, math.inf)
        # Inputs before pended producers: these are not acknowledged yet, so that their edges may still change.
        self._gather_inputs(vertex)
        self._release_pended(vertex)

    def _release_pended(self, vertex: OwnedVertex) -> None:
        pending, vertex.pending = vertex.pending, []
        for producer in pending:
            ghost = self.ghosts[producer]
            ghost.blockers.discard(vertex.id)
            if not ghost.blockers:
                require(ghost.phase, Step.RELEASE, f"ghost {producer}")
                self._acknowledge(ghost)
                confirm(GhostPhase.PENDED, Step.RELEASE, ghost.phase, f"ghost {producer}")
