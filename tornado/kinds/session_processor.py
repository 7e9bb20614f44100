"""One worker's part of a loop of plain sessions (`protocol/session.py`) inside a loop operator (`loop_operator.py`).

A timestamp is not an iteration here. An UPDATE committed at k is work at k + 1, and the feedback adds that one. SUBSCRIBE and its answer are work at the iteration of the input
that caused them, and a message that goes round a loop must advance. So an iteration has `HOPS` timestamps: iteration i begins at
timestamp ``HOPS * i``, a SUBSCRIBE arrives at the first after that, its answer at the second. PREPARE and ACKNOWLEDGE are no work
of their own (whoever prepares holds a token for it) and travel at any time.

Source: the coordination of Tornado (SIGMOD 2016, section 4) over timestamp tokens (Lattuada and McSherry).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import NotSupported
from ..loops.loop_operator import NEVER, LoopOperator
from ..loops.part import PartStatistics
from ..protocol.messages import (
    Committed,
    Event,
    Frontier,
    Message,
    Prepare,
    Send,
    Start,
    Subscribe,
    Subscribed,
    Unsubscribe,
    Update,
    work_at,
)
from ..protocol.program import SessionProgram
from ..protocol.resumption import ResumableSession
from ..timely import Scope

HOPS = 4
HISTORY = 1 << 10  # iterations whose statistics are kept
_STARTS = 256  # sessions begun in one activation


@dataclass(frozen=True, slots=True)
class Letter:
    """One sending of a worker to another: messages in order, or the marker of a fork.

    Attributes
    ----------
    marker
        The number of the fork; -1: none. Everything after it comes from after the sender's record.
    iteration
        With a marker: the greatest iteration committed at the sender.
    """

    sender: int
    messages: tuple[Message, ...] = ()
    marker: int = -1
    iteration: int = -1


class SessionVertices(SessionProgram, Protocol):
    """What the vertices of one worker do in a session.

    Attributes
    ----------
    session
        The one that they are in.
    title
        What their program is called.
    """

    session: ResumableSession

    @property
    def title(self) -> str:
        """What their program is called."""
        ...

    def take_residual(self) -> float:
        """How much the commits since the last call changed."""
        ...


Vertices = TypeVar("Vertices", bound=SessionVertices)


class SessionProcessor(Generic[Vertices]):
    """What loops of plain sessions have in common.

    Parameters
    ----------
    owner
        Which worker a vertex lives on.

    Attributes
    ----------
    cap
        No vertex starts a session that would commit above this iteration. Those under way end; it is the session that keeps them
        from being lifted above its last iteration.
    iteration, updates, prepares
        Greatest iteration committed here, commits, and sessions that needed a PREPARE to another worker.
    letters_sent, letters_received
        Those with messages.
    """

    session: ResumableSession
    vertices: Vertices

    def __init__(
        self, *, delay_bound: int | None, worker: int, workers: int, owner: Callable[[int], int]
    ) -> None:
        self.delay_bound = delay_bound
        self.worker = worker
        self.workers = workers
        self.owner = owner
        self.operator: LoopOperator[Letter] = LoopOperator(worker, workers)
        self.cap = NEVER
        self.iteration = 0
        self.updates = 0
        self.prepares = 0
        self.bundles_sent = 0
        self.bundles_received = 0
        self._history = np.zeros((HISTORY, 4))
        self._history[:, 0] = -1
        self._outbox: list[list[Message]] = [[] for _ in range(workers)]

    def build(self, scope: Scope) -> None:
        """Put the processor into a loop context of a new dataflow."""
        self.operator.build(scope, self.step)

    def step(self) -> None:
        """One activation; see the two kinds of loops."""
        raise NotImplementedError

    def history(self) -> NDArray[np.float64]:
        """float64[HISTORY, 4], a copy: iteration (-1 in rows without one), updates, prepares, residual."""
        return self._history.copy()

    def progress(self) -> PartStatistics:
        """How far it is."""
        return PartStatistics(self.iteration, self.updates, self.prepares)

    def free(self) -> None:
        """Let go of what takes memory, when this is over and nobody reads it any more."""
        # The dataflow that steps this is part of a cycle, which lives until the next collection.
        self.__dict__.pop("session", None)
        self.__dict__.pop("vertices", None)

    def owns(self, vertex: int) -> bool:
        """Whether a vertex lives here."""
        return self.owner(vertex) == self.worker

    def _begin(self, vertices: Vertices, first_iteration: int, *, last_iteration: int | None = None) -> None:
        self.vertices = vertices
        self.session = vertices.session = ResumableSession(
            self.worker,
            vertices,
            delay_bound=self.delay_bound,
            owner=self.owner,
            first_iteration=first_iteration,
            last_iteration=last_iteration,
        )

    # Receiving

    def _accept(self, letter: Letter, time: int) -> None:
        """Tell the session what a letter says."""
        del time
        self.bundles_received += bool(letter.messages)
        for message in letter.messages:
            self._tell(message)

    def _tell(self, event: Event) -> bool:
        """Tell the session, and keep what is to be sent; return whether the event began a session that needs a PREPARE."""
        prepares = False
        for effect in self.session.receive(event):
            if isinstance(effect, Send):
                self._post(effect)
                prepares = prepares or isinstance(effect.message, Prepare)
            else:
                self._count(effect)
        return prepares

    def _post(self, effect: Send) -> None:
        self._outbox[effect.worker].append(effect.message)

    def _count(self, commit: Committed) -> None:
        iteration = commit.iteration
        self.iteration = max(self.iteration, iteration)
        self.updates += 1
        row = self._row(iteration)
        row[1] += 1
        row[3] += self.vertices.take_residual()

    def _row(self, iteration: int) -> NDArray[np.float64]:
        row: NDArray[np.float64] = self._history[iteration % HISTORY]
        if row[0] < iteration:
            row[:] = iteration, 0, 0, 0
        return row

    # Working

    def _go_on(self, *, stays: bool, starts: bool = True) -> tuple[bool, bool]:
        """Send what there is and begin sessions, with the token where the work is; return whether any began, and whether it moved."""
        self._flush()
        moved = self._move_token(stays=stays)
        self._inform()
        started = starts and self._start()
        self._flush()
        return started, self._move_token(stays=stays) or moved

    def _inform(self) -> None:
        """Tell the session how far the loop is. What is to be sent was sent, and the token is where the work is."""
        if self.delay_bound is None:
            return
        operator, held = self.operator, self._held_least()
        own = operator.timestamp if operator.token.is_live else NEVER
        least = min(own, held, operator.sending())
        if least == NEVER:
            return
        first, known = self.session.frontier, self.session.first_iteration
        tau = max(first.tau, least // HOPS + known)
        closed = tau
        if self.delay_bound == 1:
            arriving = min(held, operator.arriving())
            closed = max(first.closed, min(tau + 1, _round_of(arriving) + known))
        if (tau, closed) != (first.tau, first.closed):
            self._tell(Frontier(tau, closed))

    def _start(self) -> bool:
        """Begin sessions, of the earliest work first; return whether any began."""
        session = self.session
        vertices = session.vertices
        names = [name for name in session.startable() if vertices[name].next_iteration <= self.cap]
        names.sort(key=lambda name: (vertices[name].next_iteration, name))
        started = False
        for name in names[:_STARTS]:
            iteration = vertices[name].next_iteration
            if iteration > self.cap or not session.is_startable(name):
                continue
            started = True
            if self._tell(Start(name)):
                self.prepares += 1
                self._row(iteration)[2] += 1
        return started

    def _work_least(self) -> int | None:
        """The least iteration of what is to be done here."""
        return self.session.pending() if self.cap == NEVER else self.session.pending_up_to(self.cap)

    def _held_least(self) -> int:
        """The least timestamp of letters that are here and not taken in."""
        return NEVER

    def _input_iteration(self) -> int:
        """The first iteration that begins at the token or later: of what comes from outside now."""
        return self.session.first_iteration - (-self.operator.timestamp // HOPS)

    # Sending

    def _time_of(self, message: Message) -> int | None:
        """Return the timestamp at which a message has to arrive, None where that does not matter."""
        work = work_at(message)
        if work is None:
            return None
        hop = 0
        match message:
            case Subscribe() | Unsubscribe():
                hop = 1
            case Subscribed():
                hop = 2
            case Update():
                pass
        return HOPS * (work - self.session.first_iteration) + hop

    def _flush(self) -> None:
        """Send what there is, each letter stamped with the least time of its messages."""
        for target, messages in enumerate(self._outbox):
            if messages:
                arrivals = [time for message in messages if (time := self._time_of(message)) is not None]
                letter = Letter(self.worker, tuple(messages))
                try:
                    self.operator.send(target, letter, min(arrivals) - 1 if arrivals else None)
                except NotSupported as error:
                    name = self.vertices.title
                    raise NotSupported(
                        f"{name} said what others cannot hear: {error.message}", hint=error.hint
                    ) from error
                self.bundles_sent += 1
                messages.clear()

    # The token

    def _move_token(self, *, stays: bool) -> bool:
        """Downgrade the token to where work is pending; return whether it moved.

        With a delay bound a token that stays is kept below it also when the work waits beyond: what is admitted at it must not be
        beyond the bound.
        """
        least = self._held_least()
        work = self._work_least()
        if work is not None:
            least = min(least, HOPS * (work - self.session.first_iteration))
        if stays and least != NEVER and self.delay_bound is not None and self.delay_bound > 1:
            sending = self.operator.sending()
            if sending != NEVER:
                least = min(least, HOPS * (sending // HOPS + self.delay_bound - 1))
        return self.operator.move_token(least, stays=stays)


def _round_of(time: int) -> int:
    """The least round in which an update that arrives because of `time` can be work.

    At the beginning of an iteration stands what its round gathers. Later in it are tokens and subscriptions: they can make
    commits of this round, which are work for the next.
    """
    return -(-time // HOPS)
