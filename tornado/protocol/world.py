"""A whole graph of sessions in one thread: channels, ingress and τ, with the schedule chosen from outside.

`World` holds one session a worker, FIFO channels between them, an ingress with a script of graph changes, and an exact τ. At
any moment it lists the actions that are enabled and performs the one it is told; the laws are judged after each. A random
schedule (`random_schedules.simulate`), every schedule (`exploration.explore`) and a recorded one (`random_schedules.replay`)
are three ways to choose.

The progress rules are those of the architecture: a worker's token is the least iteration of its pending work, a commit at k in
flight counts k + 1, the ingress holds the iteration it admits at, steps when it holds others up, and admits nothing at τ + B or
above. With `lag`, workers learn of τ one by one and late, as real progress tracking lets them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..errors import LawBroken
from .laws import Laws, Note, Witness
from .messages import (
    Change,
    Committed,
    Effect,
    Event,
    Frontier,
    Input,
    Message,
    Prepare,
    Send,
    Start,
    Touch,
    work_at,
)
from .program import SessionProgram
from .sample_programs import SampleProgram
from .session import ThreePhaseSession


@dataclass(frozen=True, slots=True)
class DeliverMessage:
    """The oldest message on the channel `sender -> receiver` arrives."""

    sender: int
    receiver: int


@dataclass(frozen=True, slots=True)
class BeginSession:
    """`vertex` starts its session."""

    vertex: int


@dataclass(frozen=True, slots=True)
class AdmitChange:
    """The next change of the script is admitted, at the ingress's iteration."""


@dataclass(frozen=True, slots=True)
class AdvanceIngress:
    """The ingress, which holds τ while work is there, steps."""


@dataclass(frozen=True, slots=True)
class InformWorker:
    """`worker` learns the frontier as it is now."""

    worker: int


Action = DeliverMessage | BeginSession | AdmitChange | AdvanceIngress | InformWorker


class SessionLike(Protocol):
    """What the world needs of a session; `ThreePhaseSession` has it, and so has whatever is compared with it."""

    def receive(self, event: Event) -> Sequence[Effect]:
        """Take in one event and return its effects; see `ThreePhaseSession.receive`."""
        ...

    def startable(self) -> list[int]:
        """Vertices that may start, ascending; see `ThreePhaseSession.startable`."""
        ...

    def pending(self) -> int | None:
        """The least iteration of pending work; see `ThreePhaseSession.pending`."""
        ...

    def is_at_rest(self) -> bool:
        """Whether nothing is left to do; see `ThreePhaseSession.is_at_rest`."""
        ...


SessionFactory = Callable[[int, SessionProgram], SessionLike]


@dataclass(frozen=True, slots=True)
class Setting:
    """What a run is about.

    Parameters
    ----------
    script : sequence of Change
        Changes of the graph, admitted in this order whenever the schedule says so.
    delay_bound : int or None
        B; None is unbounded.
    program : callable
        Makes the program of one worker.
    workers : int or None, default None
        How many there are; vertex v lives on v mod workers. None: every vertex is a worker of its own.
    established : sequence of Change, default ()
        Changes that have been dealt with when the run begins.
    lag : bool, default False
        Whether workers learn of τ late. Otherwise all know it at once.
    session_type : type, default ThreePhaseSession
        What plays the session. Tests put sessions in that break a rule.
    law_type : type, default Laws
        What judges them.
    """

    script: tuple[Change, ...]
    delay_bound: int | None
    program: Callable[[], SampleProgram]
    workers: int | None = None
    established: tuple[Change, ...] = ()
    lag: bool = False
    session_type: type[ThreePhaseSession] = ThreePhaseSession
    law_type: type[Laws] = Laws

    def owner(self, vertex: int) -> int:
        """Worker of a vertex."""
        return vertex if self.workers is None else vertex % self.workers

    def session(self, worker: int, program: SessionProgram) -> ThreePhaseSession:
        """A session for this setting."""
        return self.session_type(worker, program, delay_bound=self.delay_bound, owner=self.owner)

    def all_workers(self) -> list[int]:
        """Workers of all vertices that the script names, ascending."""
        named: set[int] = set()
        for change in (*self.established, *self.script):
            vertices = (change.vertex,) if isinstance(change, Touch) else (change.producer, change.consumer)
            named.update(map(self.owner, vertices))
        return sorted(named)


class World:
    """A graph of sessions between two actions.

    Parameters
    ----------
    setting : Setting
        The run.
    session_factory : callable, optional
        `(worker, program) -> session`. Left out, the setting's.

    Attributes
    ----------
    trace : list of Committed
        What was committed, in order.
    prepares : int
        PREPAREs that crossed a channel.
    admissions : list of int
        At which iteration each change of the script was admitted so far.
    """

    def __init__(self, setting: Setting, session_factory: SessionFactory | None = None) -> None:
        self.setting = setting
        factory: SessionFactory = setting.session if session_factory is None else session_factory
        self.notes: list[Note] = []
        self.programs: dict[int, SampleProgram] = {}
        self.sessions: dict[int, SessionLike] = {}
        for worker in setting.all_workers():
            self.programs[worker] = setting.program()
            self.sessions[worker] = factory(worker, Witness(self.programs[worker], self.notes))
        self.channels: dict[tuple[int, int], tuple[Message, ...]] = {}
        self.ingress = 0
        self.admissions: list[int] = []
        self.frontier = Frontier(0, 0)
        self.pending = {worker: session.pending() for worker, session in self.sessions.items()}
        self.informed = dict.fromkeys(self.sessions, self.frontier)
        self.laws = setting.law_type(setting.delay_bound)
        self.trace: list[Committed] = []
        self.prepares = 0
        self.is_young = True
        self._establish()

    @property
    def is_open(self) -> bool:
        """Whether the ingress still has something to admit; then it holds its iteration."""
        return self.is_young or len(self.admissions) < len(self.setting.script)

    def enabled(self) -> list[Action]:
        """Every action that could be next, in a fixed order."""
        actions: list[Action] = [DeliverMessage(*channel) for channel in sorted(self.channels)]
        for session in self.sessions.values():
            actions += [BeginSession(vertex) for vertex in session.startable()]
        if self.is_open:
            if self.ingress < self._limit():
                actions.append(AdmitChange())
            others = self._work()
            if others is not None and self.ingress <= others:
                actions.append(AdvanceIngress())
        if self.setting.lag:
            actions += [
                InformWorker(worker) for worker, known in self.informed.items() if known != self.frontier
            ]
        return actions

    def perform(self, action: Action) -> None:
        """Perform an action, and judge it by the laws.

        Raises
        ------
        LawBroken
            If the action made a session break a law.
        ProtocolViolation
            If a session was sent what the legality table forbids.
        """
        match action:
            case DeliverMessage(sender=sender, receiver=receiver):
                first, *rest = self.channels.pop((sender, receiver))
                if rest:
                    self.channels[sender, receiver] = tuple(rest)
                self._tell(receiver, first)
            case BeginSession(vertex=vertex):
                self._tell(self.setting.owner(vertex), Start(vertex))
            case AdmitChange():
                self._admit(self.setting.script[len(self.admissions)])
                self.admissions = [*self.admissions, self.ingress]
            case AdvanceIngress():
                self.ingress = max(self.ingress + 1, self._work() or 0)
            case InformWorker(worker=worker):
                self._inform(worker)
        self._move_frontier()

    def is_finished(self) -> bool:
        """Whether the script is through and nothing is left to do."""
        return (
            not self.is_open
            and not self.channels
            and all(session.is_at_rest() for session in self.sessions.values())
        )

    def _limit(self) -> float:
        bound = self.setting.delay_bound
        return float("inf") if bound is None else self.frontier.tau + bound

    def _work(self) -> int | None:
        """The least iteration of all work, in flight or pending, the ingress left out."""
        work = (*self.pending.values(), self._in_flight())
        return min((least for least in work if least is not None), default=None)

    def _in_flight(self) -> int | None:
        flight = (work_at(message) for channel in self.channels.values() for message in channel)
        return min((work for work in flight if work is not None), default=None)

    def _move_frontier(self) -> None:
        """Compute τ, and the least iteration that can still arrive; unbounded sessions never ask for them."""
        pending = [work for work in self.pending.values() if work is not None]
        arriving = [] if (flight := self._in_flight()) is None else [flight]
        if self.is_open:
            arriving.append(self.ingress)
        if not pending and not arriving:
            return
        tau = min(pending + arriving)
        # Pending work at i commits at i or later, which arrives at i + 1. Only a held input could cause an arrival at i itself, and
        # B=1, the one that asks for `closed`, never holds one.
        closed = min([work + 1 for work in pending] + arriving) if self.setting.delay_bound == 1 else tau
        if tau < self.frontier.tau or closed < self.frontier.closed:
            raise LawBroken("frontier", f"it moves back from {self.frontier} to ({tau}, {closed})")
        if (tau, closed) == (self.frontier.tau, self.frontier.closed):
            return
        self.frontier = Frontier(tau, closed)
        if not self.setting.lag and self.setting.delay_bound is not None:
            for worker in self.sessions:
                self._inform(worker)

    def _inform(self, worker: int) -> None:
        self.informed[worker] = self.frontier
        self._tell(worker, self.frontier)

    def _session(self, worker: int) -> SessionLike:
        """The session of a worker, to be changed."""
        return self.sessions[worker]

    def _admit(self, change: Change) -> None:
        vertex = change.vertex if isinstance(change, Touch) else change.consumer
        self._tell(self.setting.owner(vertex), Input(self.ingress, change))

    def _establish(self) -> None:
        """Deal with the established changes one by one, under a schedule of no interest."""
        for change in self.setting.established:
            self._admit(change)
            while self.channels:
                self.perform(DeliverMessage(*min(self.channels)))
        self.is_young = False
        self._move_frontier()
        self.trace.clear()
        self.prepares = 0

    def _tell(self, worker: int, event: Event) -> None:
        session = self._session(worker)
        effects = session.receive(event)
        self.pending[worker] = session.pending()
        commits = [effect for effect in effects if isinstance(effect, Committed)]
        for effect in effects:
            if isinstance(effect, Send):
                self._send(worker, effect)
        self.trace += commits
        self.laws.judge(self.notes, commits, self.frontier.tau)
        self.notes.clear()

    def _send(self, sender: int, send: Send) -> None:
        channel = (sender, send.worker)
        self.channels[channel] = (*self.channels.get(channel, ()), send.message)
        self.prepares += isinstance(send.message, Prepare)
