"""A worker process of a simulation: what it serves is real, its connections are queues of bytes, and it takes turns.

See `simulated_cluster.py` for who lets it take them, and for what can break.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Protocol

from ..timely import Fabric, Message
from .member import MemberConfig, Membership, Served, described
from .wire import Wire, WireType

Frames = list[bytes]
Serve = Callable[[int, int, Membership], Served]
"""Makes what a worker serves, of its index, how many there are, and its connections."""
CONNECTIONS = ("peers", "commands", "requests", "reports", "beats")
"""What of a worker can be cut: to the others, and between it and the driver."""


class SimulatedWorld(Protocol):
    """What a worker is in; see `SimulatedCluster`."""

    members: list[SimulatedWorker]
    random: Random
    turns: int

    def note(self, *facts: object) -> None:
        """Put facts into the trace."""
        ...


class SimulatedWorker:
    """One worker process: what it serves, and what is on its way to it and from it. A `Membership`."""

    def __init__(
        self, world: SimulatedWorld, config: MemberConfig, serve: Serve, types: tuple[WireType, ...]
    ) -> None:
        self.world = world
        self.config = config
        self.pid = world.random.getrandbits(40)
        self.wire = Wire(bytes.fromhex(config.fence), types)
        self.peers = _Peers(self)
        self.commands: deque[Frames] = deque()
        self.requests: deque[Frames] = deque()
        self.replies: deque[Frames] = deque()
        self.sent: dict[str, deque[Frames]] = {"beats": deque(), "reports": deque()}
        self.broken: set[str] = set()
        self.is_alive = True
        self.is_hung = False
        self.known_at = 0
        self.turns_left = math.inf
        self._serve = serve
        self._served: Served | None = None
        self._is_awake = True
        self.has_joined = False
        self._has_complaint = False
        self._steps = 0

    @property
    def fabric(self) -> Fabric:
        """See `Membership`."""
        return self.peers

    def report(self, *message: Any) -> None:
        """See `Membership`."""
        self._say("reports", "report", *message)

    def wake(self) -> None:
        """Have it take a turn."""
        self._is_awake = True

    def has_sent(self) -> bool:
        """Whether anything of it is still on its way to the driver."""
        return any(self.sent.values())

    def is_ready(self) -> bool:
        """Whether there is anything to do for it."""
        return self.is_alive and not self.is_hung and self._is_awake

    def end(self) -> None:
        """End, at any place; what it had said last is lost with its connections."""
        if not self.is_alive:
            return
        self.is_alive = False
        random = self.world.random
        self.known_at = self.world.turns + random.randint(0, 20)
        for kind in CONNECTIONS:
            self.cut(kind, random)
        self._served = None

    def cut(self, connection: str, random: Random) -> None:
        """Break a connection: a part of what is under way never comes."""
        self.broken.add(connection)
        if connection == "peers":
            for peer in self.peers.outlets.values():
                _lose_end(peer.peers.lanes.get(self.pid, deque()), random)
                peer.complain()
            self._has_complaint = True
        elif connection == "commands":
            _lose_end(self.commands, random)
            self.turns_left = min(self.turns_left, random.randint(0, 20))  # it sees that the driver is gone
        elif connection == "requests":
            _lose_end(self.requests, random)
            _lose_end(self.replies, random)
        else:
            _lose_end(self.sent[connection], random)
            self._has_complaint = self._has_complaint or connection == "reports"
        self.wake()

    def complain(self) -> None:
        """Say that a connection to another worker is broken."""
        self._has_complaint = True
        self.wake()

    def look_around(self) -> None:
        """Count the steps that it makes while nothing happens."""
        if self.is_alive and not self.is_hung and self.has_joined:
            assert self._served is not None
            self._steps += 1
            self._say("beats", "beat", self._steps, 0.0, 0.0, 0)
            self._served.host.idle()

    def turn(self) -> None:
        """Take some of what has come in, and make a step of what it serves."""
        self._is_awake = False
        self.turns_left -= 1
        if self.turns_left < 0:
            self.end()
            return
        random = self.world.random
        if self._served is None:
            self._served = self._serve(self.config.index, self.config.workers, self)
            self._say("beats", "hello", str(self.pid), str(self.pid), str(self.pid), self.pid)
            return
        self._obey(random.randint(0, len(self.commands)))
        if not self.is_alive or not self.has_joined:
            self._is_awake = bool(self.commands)
            return
        if self.requests and random.random() < 0.7:
            self._answer()
        if self._has_complaint:
            self._has_complaint = False
            self._say("beats", "broken")
        self._step()
        if random.random() < 0.02:
            self._say("beats", "beat", self._steps, 0.0, 0.0, 0)
        self._is_awake = self._is_awake or bool(self.commands or self.requests or self.peers.has_any())

    def _step(self) -> None:
        assert self._served is not None
        self._steps += 1
        try:
            self._is_awake = self._served.host.step() or self._is_awake
        except Exception as error:  # noqa: BLE001  reported as by `Member`
            self.report("failure", *described(error))

    def _obey(self, count: int) -> None:
        assert self._served is not None
        for _ in range(count):
            frames = self.commands.popleft()
            self.world.note("commands", self.pid, frames)
            kind, *body = self.wire.read(frames)
            if kind == "command":
                self._served.obey(body[0])
            elif kind == "peers":
                self.peers.connect([int(address) for address in body[0]])
                self.has_joined = True
            elif kind == "stop":
                self.end()
                return

    def _answer(self) -> None:
        assert self._served is not None
        frames = self.requests.popleft()
        self.world.note("requests", self.pid, frames)
        number, request = self.wire.read(frames)
        failure = result = None
        try:
            result = self._served.answer(request)
        except Exception as error:  # noqa: BLE001  for whoever asked
            failure = described(error)
        if "requests" not in self.broken:
            self.replies.append(self.wire.write((number, failure, result)))

    def _say(self, address: str, *message: Any) -> None:
        frames = self.wire.write((self.config.index, *message))
        if self.is_alive and address not in self.broken:
            self.sent[address].append(frames)


class _Peers:
    """A worker's connections to the others: one queue for each sender, of which a beginning shows. A `Fabric`."""

    loops_back = False

    def __init__(self, owner: SimulatedWorker) -> None:
        self.peers = owner.config.workers
        self.outlets: dict[int, SimulatedWorker] = {}
        self.lanes: dict[int, deque[Frames]] = {}  # by the process that sends
        self._owner = owner

    def connect(self, pids: Sequence[int]) -> None:
        """Connect to all others, by their processes in the order of their indices."""
        by_pid = {member.pid: member for member in self._owner.world.members}
        self.outlets = {
            index: by_pid[pid] for index, pid in enumerate(pids) if pid != self._owner.pid and pid in by_pid
        }

    def has_any(self) -> bool:
        """Whether anything is on its way here."""
        return any(self.lanes.values())

    def send(self, sender: int, receiver: int, message: Message) -> None:
        """See `Fabric.send`."""
        del sender
        frames = self._owner.wire.write(message)
        peer = self.outlets.get(receiver)
        if peer is None or not peer.is_alive or {"peers"} & (self._owner.broken | peer.broken):
            return
        peer.peers.lanes.setdefault(self._owner.pid, deque()).append(frames)
        peer.wake()

    def receive(self, receiver: int) -> list[Message]:
        """See `Fabric.receive`: a random beginning of each queue, merged at random."""
        del receiver
        world, lanes = self._owner.world, self.lanes
        picks = [pid for pid, lane in lanes.items() for _ in range(world.random.randint(0, len(lane)))]
        world.random.shuffle(picks)
        found = []
        for pid in picks:
            frames = lanes[pid].popleft()
            world.note("peers", self._owner.pid, frames)
            found.append(self._owner.wire.read(frames))
        return found

    def wait(self, receiver: int, timeout_s: float | None) -> bool:
        """See `Fabric.wait`: nobody waits."""
        del receiver, timeout_s
        return self.has_any()

    def wake(self, receiver: int) -> None:
        """See `Fabric.wake`."""
        del receiver
        self._owner.wake()

    def agree(self, dataflow: int, shape: object) -> None:
        """See `Fabric.agree`; as between processes, nothing is compared."""

    def waiting(self) -> int:
        """See `Fabric.waiting`."""
        return sum(map(len, self.lanes.values()))

    def close(self) -> None:
        """See `PeerFabric.close`."""


def _lose_end(queue: deque[Frames], random: Random) -> None:
    """Lose a part of what is on a connection, which had been sent last."""
    for _ in range(random.randint(0, len(queue))):
        queue.pop()
