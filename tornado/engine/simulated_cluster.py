"""Workers in other processes, all in one thread: a seed chooses what happens next, and what breaks is broken by hand.

The driver's `ClusterEngine` is the real one; what is served by a worker is handed in, and is the real one too. Here are the
processes, the connections between them and the time: every message is written to bytes and read again (`wire.py`), and waits on its
connection until the seed lets its receiver see it. What runs in threads elsewhere is a turn here: of a worker, of who takes beats and
reports, of the supervisor. Whoever waits has turns taken meanwhile, those of others, one inside the other.

What can break is what can break of TCP: a connection delivers a beginning of what was sent, in order and once, and is gone then; it
does not repeat or exchange anything. Processes end at any instant, hang, and of those that were given up some go on for a while and
still send.

Left out: two threads of the driver in the middle of the same function, since a turn that begins inside another ends first.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Any

from ..clock import ManualClock, after
from ..errors import ProtocolViolation, WorkerLost
from .cluster import ClusterEngine
from .member import MemberConfig
from .simulated_worker import Serve, SimulatedWorker
from .transport import Alarm, Answer, Asked, Awaited, Inbox, Link
from .wire import FENCE_BYTES, Wire, WireType

_TURN_S = 1e-4
_PATIENCE = 50_000  # turns of one wait
_IDLE_ROUNDS = 64  # in which time passes and nothing happens: nothing ever will
_SHORT_S, _LONG_S = 0.05, 10.0
_OUTLIVES = 0.3  # chance that a process which is ended goes on for a while


class SimulatedCluster:
    """See the module. It is the launcher and the transport of its engine.

    Parameters
    ----------
    workers
        How many.
    serve
        What each of them serves.
    types
        What travels, see `Wire`.
    seed
        What chooses. The same seed and the same calls give the same run.
    survivors
        Workers of a driver that is gone, which still run.

    Attributes
    ----------
    engine
        The driver's.
    clock
        Goes on with every turn, and in leaps where all wait for it.
    members
        The present set of workers.
    turns
        How many were taken.
    on_turn
        Called before each turn: to break something, or to end the driver by raising what nobody catches.
    can_restore
        Says whether what the supervisor needs is free; else it waits, as its thread would.
    is_dead
        Set when the driver is gone: nothing it does has any effect from then on.
    """

    def __init__(
        self,
        workers: int,
        serve: Serve,
        types: tuple[WireType, ...],
        *,
        seed: int,
        survivors: Iterable[SimulatedWorker] = (),
    ) -> None:
        self.clock = ManualClock()
        self.on_turn: Callable[[], None] = lambda: None
        self.can_restore: Callable[[], bool] = lambda: True
        self.is_dead = False
        self.random = Random(seed)
        self.members: list[SimulatedWorker] = []
        self.waiting = _Waits(self)
        self._old = list(survivors)
        self._serve = serve
        self._types = types
        self.turns = 0
        self._idle_rounds = 0
        self._asking = 0
        self._inboxes: dict[str, _Inbox] = {}
        self._supervisor: _Alarm
        self._digest = hashlib.blake2b(digest_size=16)
        for member in self._old:
            member.world, member.turns_left = self, self.random.randint(0, 20)
        self.engine = ClusterEngine(workers, self, clock=self.clock, transport=self)

    # What a simulation does with it

    def reseed(self, seed: int) -> None:
        """Have another seed choose from now on."""
        self.random.seed(seed)

    def step(self, turns: int = 1) -> None:
        """Let so many things happen, or as many as there are without time passing."""
        for _ in range(turns):
            if not self._turn():
                return

    def trace(self) -> str:
        """A digest of every turn and every message that was seen."""
        return self._digest.hexdigest()

    def survivors(self) -> list[SimulatedWorker]:
        """The workers that still run."""
        return [member for member in (*self.members, *self._old) if member.is_alive]

    def end_worker(self, index: int) -> None:
        """End a process, at once and with what it had not sent yet."""
        if index < len(self.members):
            self.members[index].end()

    def hang_worker(self, index: int) -> None:
        """Have a process stand still for ever."""
        if index < len(self.members):
            self.members[index].is_hung = True

    def stand_still(self, seconds: float) -> None:
        """Have the driver stand still, as a laptop that is closed: workers go on, and count their steps."""
        if all(member.has_joined for member in self.members):
            self.clock.advance(seconds)
            for member in self.members:
                member.look_around()

    def cut(self, index: int, connection: str) -> None:
        """Break a connection of a worker (`CONNECTIONS`), with a part of what is under way."""
        if index < len(self.members):
            self.members[index].cut(connection, self.random)

    # `Launcher`

    def launch(self, configs: Sequence[MemberConfig]) -> None:
        """See `Launcher.launch`."""
        self._old += [member for member in self.members if member.is_alive or member.has_sent()]
        self.members = [SimulatedWorker(self, config, self._serve, self._types) for config in configs]

    def ended(self) -> str | None:
        """See `Launcher.ended`; it takes a while until it is known."""
        for member in self.members:
            if not member.is_alive and self.turns > member.known_at:
                return f"worker {member.config.index} ended"
        return None

    def require(self, workers: int) -> None:
        """See `Launcher.require`: there is room for any number."""

    def kill(self, pids: Sequence[int]) -> None:
        """See `Launcher.kill`; some of them go on for a while, as where they are ended by somebody else, by and by."""
        if self.is_dead:
            return
        for member in self.members:
            if member.pid not in pids or self.random.random() >= _OUTLIVES:
                member.end()
            elif member.is_alive:
                member.turns_left = self.random.randint(0, 20)

    def close(self) -> None:
        """See `Launcher.close` and `Transport.close`."""

    # `Transport`

    def new_fence(self) -> bytes:
        """See `Transport`."""
        return self.random.randbytes(FENCE_BYTES)

    def inbox(
        self,
        name: str,
        take: Callable[[Sequence[memoryview]], None],
        look: Callable[[float], None] | None = None,
    ) -> Inbox:
        """See `Transport`."""
        del name
        address = "reports" if look is None else "beats"
        self._inboxes[address] = inbox = _Inbox(address, take, look)
        return inbox

    def alarm(self, name: str, answer: Callable[[], bool]) -> Alarm:
        """See `Transport`."""
        del name
        self._supervisor = _Alarm(answer)
        return self._supervisor

    def link(self, wire: Wire, commands: str, requests: str) -> Link:
        """See `Transport`."""
        assert commands == requests  # a process has one name here
        pid = int(commands)
        return _Link(self, wire, next(member for member in self.members if member.pid == pid))

    def linger(self, condition: Callable[[], bool], timeout_s: float) -> None:
        """See `Transport`: those that can still end by themselves, do."""
        del condition, timeout_s
        if not self.is_dead:
            self.step(self.random.randint(0, 20))

    # Turns

    def _turn(self) -> bool:
        """Have one thing happen; return whether anything could."""
        self.turns += 1
        self.on_turn()
        self.clock.advance(_TURN_S)
        ready: list[Callable[[], None]] = [
            member.turn for member in (*self.members, *self._old) if member.is_ready()
        ]
        for inbox in self._inboxes.values():
            if not inbox.is_busy and any(member.sent[inbox.address] for member in self._senders()):
                ready += [self._beats_turn if inbox.address == "beats" else self._reports_turn]
        supervisor = self._supervisor
        is_stopped = supervisor.is_busy or self._asking or self._inboxes["reports"].is_busy
        if supervisor.is_rung and not is_stopped and self.can_restore():
            ready.append(supervisor.turn)
        if not ready:
            return False
        self._idle_rounds = 0
        chosen = self.random.randrange(len(ready))
        self.note(len(ready), chosen)
        ready[chosen]()
        return True

    def wait_turn(self) -> None:
        """Have one thing happen, or let time pass where nothing can.

        Raises
        ------
        ProtocolViolation
            Where nothing happens however much time passes.
        """
        if self._turn():
            return
        self._idle_rounds += 1
        if self._idle_rounds > _IDLE_ROUNDS:
            raise ProtocolViolation(
                f"{len(self.members)} workers and their driver wait for each other",
                hint="Run the simulation with this seed again: it is a deadlock.",
            )
        self.clock.advance(min(_LONG_S, _SHORT_S * 2**self._idle_rounds))
        for member in self.members:
            member.look_around()
        if not self._inboxes["beats"].is_busy:
            self._beats_turn()

    def _senders(self) -> list[SimulatedWorker]:
        return [*self.members, *self._old]

    def _reports_turn(self) -> None:
        self._receive(self._inboxes["reports"])

    def _beats_turn(self) -> None:
        inbox = self._inboxes["beats"]
        now = self.clock.monotonic()
        self._receive(inbox)
        assert inbox.look is not None
        if inbox.is_started:
            inbox.look(now)

    def _receive(self, inbox: _Inbox) -> None:
        """Take some of what is on its way: a part of each connection, and one at least where there is any."""
        if not inbox.is_started:
            return
        inbox.is_busy = True
        try:
            for member in self._senders():
                sent = member.sent[inbox.address]
                for _ in range(self.random.randint(min(1, len(sent)), len(sent))):
                    if not sent:
                        break  # it was cut meanwhile: whoever takes a report may ask, and wait
                    frames = sent.popleft()
                    self.note(inbox.address, member.pid, frames)
                    inbox.take([memoryview(frame) for frame in frames])
        finally:
            inbox.is_busy = False
        self._old = [member for member in self._old if member.is_alive or member.has_sent()]

    def note(self, *facts: object) -> None:
        """Put facts into the trace."""
        self._digest.update(repr(facts).encode())


class _Link:
    """See `Link`."""

    def __init__(self, cluster: SimulatedCluster, wire: Wire, member: SimulatedWorker) -> None:
        self.is_dead = False
        self._cluster = cluster
        self._wire = wire
        self._member = member
        self._asked = Asked()
        self._broke_at = math.inf

    def send(self, *message: Any) -> None:
        """See `Link`."""
        frames, member = self._wire.write(message), self._member
        if self.is_dead or self._cluster.is_dead or not member.is_alive or "commands" in member.broken:
            return
        member.commands.append(frames)
        member.wake()

    def begin_asking(self, request: tuple[Any, ...]) -> Awaited:
        """See `Link`."""
        member, awaited = self._member, Awaited(self._wait)
        number = self._asked.add(awaited)
        if not self.is_dead and member.is_alive and "requests" not in member.broken:
            member.requests.append(self._wire.write((number, request)))
            member.wake()
        return awaited

    def _wait(self, awaited: Awaited) -> Answer:
        cluster, member = self._cluster, self._member
        cluster._asking += 1  # noqa: SLF001
        try:
            while awaited.answer is None:
                if self.is_dead or cluster.is_dead:
                    raise WorkerLost("a worker was lost while it was asked")
                if not member.replies:
                    cluster.wait_turn()
                    continue
                frames = member.replies.popleft()
                cluster.note("replies", member.pid, frames)
                number, failure, reply = self._wire.read(frames)
                self._asked.answer(number, (failure, reply))
        finally:
            cluster._asking -= 1  # noqa: SLF001
        return awaited.answer

    def broke_at(self) -> float:
        """See `Link`."""
        if self._broke_at == math.inf and {"commands", "requests"} & self._member.broken:
            self._broke_at = self._cluster.clock.monotonic()
        return self._broke_at

    def close(self) -> None:
        """See `Link`."""
        self.is_dead = True


class _Inbox:
    """See `Inbox`."""

    def __init__(
        self,
        address: str,
        take: Callable[[Sequence[memoryview]], None],
        look: Callable[[float], None] | None,
    ) -> None:
        self.address = address
        self.take = take
        self.look = look
        self.is_started = False
        self.is_busy = False

    def start(self) -> None:
        """See `Inbox`."""
        self.is_started = True

    def close(self) -> None:
        """See `Inbox`."""
        self.is_started = False


class _Alarm:
    """See `Alarm`."""

    def __init__(self, answer: Callable[[], bool]) -> None:
        self.is_rung = False
        self.is_busy = False
        self._is_over = False
        self._answer = answer

    def start(self) -> None:
        """See `Alarm`."""

    def ring(self) -> None:
        """See `Alarm`."""
        self.is_rung = not self._is_over

    def turn(self) -> None:
        """Have it answered."""
        self.is_rung, self.is_busy = False, True
        try:
            self._is_over = not self._answer()
        finally:
            self.is_busy = False

    def close(self) -> None:
        """See `Alarm`."""
        self.is_rung, self._is_over = False, True


class _Waits:
    """See `Waits`: whoever waits has turns taken meanwhile."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        self._cluster = cluster
        self._is_closed = False

    def wait_for(
        self,
        condition: Callable[[], bool],
        timeout_s: float | None,
        *,
        about: object = None,  # noqa: ARG002  conditions are looked at before each turn
    ) -> bool:
        """See `Waits`.

        Raises
        ------
        ProtocolViolation
            When it does not hold after very many turns, or nothing happens any more.
        """
        cluster = self._cluster
        until_s = after(cluster.clock, timeout_s)
        for _ in range(_PATIENCE):
            if condition():
                return True
            if (
                self._is_closed
                or cluster.is_dead
                or (until_s is not None and cluster.clock.monotonic() >= until_s)
            ):
                return False
            cluster.wait_turn()
        raise ProtocolViolation(f"something did not come about in {_PATIENCE} turns")

    def notify(self, *about: object) -> None:
        """See `Waits`: conditions are looked at before each turn."""

    def close(self) -> None:
        """See `Waits`."""
        self._is_closed = True
