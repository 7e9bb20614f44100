"""The compiled session behind the interface of the plain one: one event at a time, for `tornado.protocol.random_schedules`.

Each worker owns one vertex, so (producer, worker) granularity is that of the paper. Vertex ids of the setting are replaced by
ids of the same order that the partition gives to the right worker. A touch is an edge of the weight of its distance from a
*root*, a vertex of the same worker that has committed 0 before the run and never commits again.

What the kernel does by itself and the plain session is told to do is kept apart: `advance` starts no vertex above the cap, so
with a cap below all iterations it only commits what is ready.

The two differ on purpose in how inputs count. The compiled loop admits at the iteration of the worker's token, which its own
pending work may hold below that of the ingress, and an input that changes nothing does not lift its vertex. `AdmitsAtItsToken`
is the plain session with this rule; while the ingress is at iteration 0 it is the plain session itself. They also differ in the
moment at which work is over that changes nothing (a held input, a consumer's floor): `KernelTwin` keeps the token where the
plain session has it, so that τ is the same at every action of a schedule.
"""

from collections import deque
from dataclasses import replace
from functools import lru_cache

import numpy as np

from tornado.graph import EvolvingGraph, PartitionMap
from tornado.kinds.selective import loop_columns as names
from tornado.kinds.selective.loop_columns import NEVER, OUTBOX, UNBOUNDED
from tornado.kinds.selective.loop_state import LoopState
from tornado.protocol.clock import Stamp
from tornado.protocol.legality import GhostPhase, Step, confirm, require
from tornado.protocol.messages import (
    Acknowledge,
    AddEdge,
    Committed,
    Frontier,
    Input,
    Prepare,
    Send,
    Start,
    Subscribe,
    Subscribed,
    Touch,
    Update,
    work_at,
)
from tornado.protocol.session import ThreePhaseSession
from tornado.protocol.session_kernel import CLOCK, OPEN_RECORDS

LEAST_FUEL = 9  # a step costs 8, and an edge is visited with what is left
_NOTHING_STARTS = -1


@lru_cache
def identities(workers):
    """A vertex id for every worker, and a root's, ascending from worker to worker."""
    found = []
    candidate = 0
    for worker in range(workers):
        own = []
        while len(own) < 2:
            if PartitionMap.even(workers).owner_of(candidate) == worker:
                own.append(candidate)
            candidate += 1
        found.append(tuple(own))
    return found


class KernelSession:
    """One vertex on the compiled kernel; parameters as for `ThreePhaseSession`, the names of all workers beside them.

    With `asks` it prepares everywhere; without, it commits at the last allowed iteration where it can, as loops do by default.
    """

    held_inputs = ()  # iterations of inputs that wait for the end of the session; only the twin keeps them

    def __init__(self, worker, program, *, delay_bound, kernel, workers, fuel=1 << 15, owner=None, asks=True):
        self.kernel = kernel
        self.worker = worker
        self.workers = workers
        self.program = program
        self.delay_bound = delay_bound
        self.fuel = fuel
        pairs = identities(len(workers))
        self.ids = {name: pair[0] for name, pair in zip(workers, pairs, strict=True)}
        self.vertices = {identity: name for name, identity in self.ids.items()}
        self.root = pairs[workers.index(worker)][1]
        self.graph = EvolvingGraph(PartitionMap.even(len(workers)), workers.index(worker))
        self.state = LoopState(
            worker=workers.index(worker),
            workers=len(workers),
            delay_bound=delay_bound,
            always_prepares=asks,
            rows=64,
            edges=1024,
        )
        self.frontier = Frontier(0, 0)
        self.arrived = {name: deque() for name in workers}  # B=1: updates that wait for the own round
        self.arrivals = []  # iterations at which commits that are not gathered yet are work
        # Known differences that have come about. It held commits from below and from above its own, and gathers neither with it;
        self.splits_what_it_held = False
        # it gathers what it held before its commit, and held inputs with it;
        self.gathers_input_early = False
        # it held a commit and kept a producer pending, which it does not tell of it.
        self.acknowledges_below_held = False
        own = np.array([self.ids[worker], self.root], np.int64)
        self._set_floor(0)
        self.graph.mention(own)
        kernel.hear_edges(self.graph.addresses, *self.state.addresses, (self.root,))
        self._advance(others=NEVER, horizon=NEVER)
        self._know_limit()
        self.row = next(row for row in range(2) if self.graph.columns.ids[row] == own[0])
        self._take_commits()

    @property
    def overtaken(self):
        """Commits along single edges that came to a consumer that was further already."""
        return int(self.state.counters[names.OVERTAKEN])

    # What the world asks

    def receive(self, event):
        self._set_floor(self._token(event))
        match event:
            case Frontier():
                self.frontier = event
                if self.delay_bound == 1:
                    self.arrivals = [arrival for arrival in self.arrivals if arrival > event.tau]
                self._know_limit()
                return []
            case Start():
                self._start()
            case Input(change=Touch(vertex=vertex, data=data)):
                self._insert(self.root, self.ids[vertex], 0.0 if data is None else data)
            case Input(change=AddEdge(producer=producer, consumer=consumer, data=data)):
                self._insert(self.ids[producer], self.ids[consumer], data)
            case _:
                self._arrive(event)
        return self._effects()

    def startable(self):
        """The vertex, where the kernel would start it now."""
        columns, session = self.state.columns, self.state.session
        if not columns.flags[self.row] & names.DIRTY or session.record[self.row]:
            return []
        limit = self.frontier.closed if self.delay_bound == 1 else self.state.counters[names.LIMIT]
        return [self.worker] if columns.reached[self.row] + 1 < limit else []

    def pending(self):
        """Where the processor's token is: the least iteration of what the kernel has pending, and of what is kept here."""
        least = int(self.kernel.pending_least(self.state.addresses[1]))
        return min([least] * (least != NEVER) + self.arrivals, default=None)

    def is_at_rest(self):
        return self.pending() is None and self.state.session.counters[OPEN_RECORDS] == 0

    # Events

    def _token(self, event):
        """The least iteration that the worker holds while it deals with an event."""
        own = self.pending()
        if isinstance(event, Input):
            caused = event.iteration
        else:
            caused = None if isinstance(event, Start | Frontier) else work_at(event)
        return min((work for work in (own, caused) if work is not None), default=self.frontier.tau)

    def _set_floor(self, token):
        self.state.counters[names.FLOOR] = token - 1

    def _know_limit(self):
        bound = UNBOUNDED if self.delay_bound is None else self.delay_bound
        self.state.counters[names.LIMIT] = self.frontier.tau + bound

    def _insert(self, producer, consumer, weight):
        records = [np.array([item], np.int64) for item in (producer, consumer)]
        applied = self.graph.apply(*records, np.array([weight], np.float64), np.array([1], np.int8), 0, 1)
        assert applied == 1
        self.kernel.hear_edges(self.graph.addresses, *self.state.addresses, (self.root,))

    def _start(self):
        """What is dirty and inside the bound: with one vertex a worker that is the one that the schedule names."""
        clock = self.state.session.counters[CLOCK]
        before = self.state.counters[names.UPDATES]
        self._advance(others=self.frontier.tau, horizon=self.frontier.closed)
        if self.delay_bound == 1:
            self._take_arrived()
        elif self.state.session.counters[CLOCK] == clock:
            # Nobody was to be asked. The plain session takes a stamp all the same; a Lamport clock may tick at any event.
            assert self.state.counters[names.UPDATES] > before, "nothing was started"
            self.state.session.counters[CLOCK] += 1

    def _arrive(self, message):
        match message:
            case Prepare(producer=sender, stamp=stamp):
                content = names.PREPARE, sender, 0.0, stamp.clock
            case Acknowledge(worker=sender, producer=producer, reached=reached):
                # The kernel trusts its peers; one that is broken on purpose must not write where it likes.
                assert self.state.session.record[self.row], f"{message}, and no session is open"
                content = names.ACKNOWLEDGE, producer, 0.0, reached
            case Update(producer=sender, iteration=iteration, value=value):
                content = names.UPDATE, sender, value, iteration
                if self.delay_bound == 1 and iteration + 1 > self.frontier.tau:
                    self.arrivals.append(iteration + 1)
            case Subscribe(worker=sender, producer=producer):
                content = names.SUBSCRIBE, producer, 0.0, 0
            case Subscribed(producer=sender, committed=committed, value=value):
                value = self.kernel.WORST if value is None else value
                content = names.SUBSCRIBED_REPLY, sender, value, committed
        self.arrived[sender].append(content)
        self._take_arrived()
        is_held = isinstance(message, Update) and self.state.columns.reached[self.row] < message.iteration
        if is_held and self.delay_bound != 1 and self.state.session.record[self.row]:
            self.arrivals.append(message.iteration + 1)

    def _take_arrived(self):
        """Give the kernel what has come, up to what it does not want yet."""
        for sender, waiting in self.arrived.items():
            while waiting:
                kind, vertex, value, number = waiting[0]
                message = (
                    np.array([kind], np.uint8), np.array([self.ids[vertex]], np.int64),
                    np.array([value], np.float64), np.array([number], np.int64),
                )  # fmt: skip
                taken = self._receive(self.workers.index(sender), message)
                if not taken:
                    break
                waiting.popleft()

    def _receive(self, sender, message):
        graph, loop = self.graph.addresses, self.state.addresses
        taken = self.kernel.receive(graph, *loop, (self.root,), sender, *message, 0, self.fuel)
        assert self.kernel.finish_scans(graph, *loop, (self.root,), UNBOUNDED)
        return taken

    def _advance(self, *, others, horizon):
        self.state.counters[names.SENT_LEAST] = min(self.state.columns.out_least)
        addresses = (self.graph.addresses, *self.state.addresses)
        for _ in range(1000):
            if self.kernel.advance(*addresses, (self.root,), others, horizon, self.fuel) > 0:
                return
        raise AssertionError("the kernel has no end")

    # Effects

    def _effects(self):
        """Have the kernel commit what is ready, and read its outboxes."""
        if self.delay_bound != 1:
            self.state.counters[names.CAP] = _NOTHING_STARTS
            self._advance(others=self.frontier.tau, horizon=NEVER)
            self.state.counters[names.CAP] = UNBOUNDED
            self._know_limit()
        commits = self._take_commits()
        sends = self._take_messages()
        for commit in commits:
            self.program.touch(commit.vertex, commit.value)
            self.program.scatter(commit.vertex)  # noted by the judge's witness
            if self.delay_bound != 1:
                self._let_go(commit.iteration, sends)
        return [*commits, *sends]

    def _let_go(self, iteration, sends):
        """What was held is gathered with the commit or after it."""
        late = [arrival for arrival in self.arrivals if arrival > iteration]
        self.splits_what_it_held |= 0 < len(late) < len(self.arrivals)
        pended = any(isinstance(send.message, Acknowledge) for send in sends)
        self.acknowledges_below_held |= pended and any(arrival > iteration + 1 for arrival in late)
        self.gathers_input_early |= len(late) < len(self.arrivals) and bool(self.held_inputs)
        self.arrivals.clear()

    def _take_commits(self):
        """What was committed since, from the statistics by iteration: `reached` may have moved on already."""
        columns = self.state.columns
        made = {}
        if self.state.counters[names.UPDATES]:
            for place in np.flatnonzero(columns.history_updates):
                made[int(columns.history_iteration[place])] = int(columns.history_updates[place])
            columns.history_updates[:] = 0
            self.state.counters[names.UPDATES] = 0
        assert sum(made.values()) <= 1 or not hasattr(self, "row"), f"several commits at once: {made}"
        return [Committed(self.worker, iteration, float(columns.value[self.row])) for iteration in made]

    def _take_messages(self):
        columns = self.state.columns
        sends = []
        for target, name in enumerate(self.workers):
            first = target * OUTBOX
            places = range(first, first + int(columns.out_length[target]))
            sends += [Send(name, self._message(place)) for place in places]
            columns.out_length[target] = 0
            columns.out_least[target] = NEVER
        return sends

    def _message(self, place):
        columns, session = self.state.columns, self.state.session
        identity, number = int(columns.out_id[place]), int(columns.out_number[place])
        vertex = self.vertices[identity]
        value = float(columns.out_value[place])
        iteration = int(self.state.counters[names.FLOOR]) + 1
        match int(columns.out_kind[place]):
            case names.PREPARE:
                return Prepare(vertex, Stamp(number, vertex))
            case names.ACKNOWLEDGE:
                row = int(np.flatnonzero(self.graph.columns.ids[: self.graph.rows] == identity)[0])
                stamp = Stamp(int(session.clock[session.record[row] - 1]), vertex)
                return Acknowledge(self.worker, vertex, stamp, number)
            case names.UPDATE:
                return Update(vertex, number, value)
            case names.SUBSCRIBE:
                return Subscribe(self.worker, vertex, iteration)
            case names.SUBSCRIBED_REPLY:
                return Subscribed(vertex, number, None if value == self.kernel.WORST else value, iteration)
            case kind:
                raise AssertionError(f"message of kind {kind}")


class KernelTwin(KernelSession):
    """Says that work is pending wherever the plain session does."""

    def receive(self, event):
        session = self.state.session
        if isinstance(event, Input) and session.record[self.row]:
            self.held_inputs += (min(event.iteration, self.pending()),)
        effects = super().receive(event)
        if not session.record[self.row]:
            self.held_inputs = ()
        return effects

    def pending(self):
        columns, session = self.state.columns, self.state.session
        own = []
        if columns.flags[self.row] & names.DIRTY:
            entry = session.record[self.row] - 1
            floor = session.reached[entry] if entry >= 0 else -1
            own.append(max(int(columns.reached[self.row]) + 1, int(floor)))
        return min([*own, *self.arrivals, *self.held_inputs], default=None)


class AdmitsAtItsToken(ThreePhaseSession):
    """The plain session with inputs as the compiled loop counts them."""

    def _on_input(self, event):
        token = self.pending()
        super()._on_input(event if token is None else replace(event, iteration=min(event.iteration, token)))

    def _gather_input(self, vertex, event):
        reached, was_dirty = vertex.reached, vertex.dirty
        super()._gather_input(vertex, event)
        if isinstance(event, Input) and isinstance(event.change, Touch) and (was_dirty or not vertex.dirty):
            vertex.reached = reached


class CommitsAtTheLast(AdmitsAtItsToken):
    """Nobody is asked: with consumers elsewhere, a vertex commits at the last allowed iteration (Tornado, section 4.4).

    None of them can be beyond it, so their iterations need not be known, and updates come without PREPARE, as where B is 1. A
    consumer can be further than what is on its way to it: `overtaken` counts that along edges.
    """

    overtaken = 0

    def _on_start(self, vertex):
        before = vertex.phase
        require(before, Step.START, f"vertex {vertex.id}")
        assert self._is_startable(vertex), f"{vertex.id} starts at {vertex.next_iteration}, {self.frontier}"
        if vertex.consumers - {self.worker}:
            vertex.floor = self._limit() - 1
        self._commit(vertex)
        confirm(before, Step.START, vertex.phase, f"vertex {vertex.id}")

    def _resting_phase(self):
        return GhostPhase.SYNCHRONOUS

    def _gather(self, vertex, value):
        is_late = (
            isinstance(value, Update) and value.producer != vertex.id and value.iteration < vertex.reached
        )
        self.overtaken += is_late * len(self.ghosts[value.producer].edges[vertex.id])
        super()._gather(vertex, value)
