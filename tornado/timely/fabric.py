"""How messages get from one worker to another.

A fabric is a set of lanes, one for each (sender, receiver, dataflow, channel), each FIFO; nothing is promised between lanes
(Naiad, section 3.1: reliable FIFO channels are all that progress tracking needs). `ThreadFabric` connects threads of one
process. `SimulatedFabric` runs everything in one thread and lets a seed decide how much of each lane shows, and in which order,
so that any interleaving that FIFO allows can happen; the same seed gives the same run.
"""

from __future__ import annotations

import threading
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol

from ..errors import InvalidDataflow
from .order import Time

PROGRESS = -1
"""The channel number of progress updates."""

Message = tuple[int, int, Time, Any]
"""(dataflow, channel, time, payload) on the way between two workers."""


@dataclass(frozen=True, slots=True)
class FabricStatistics:
    """What a fabric carried so far."""

    peers: int
    messages_sent: int
    messages_waiting: int


class Fabric(Protocol):
    """What a worker needs to reach the others. `send` and `wake` may be called from any thread."""

    peers: int
    loops_back: bool
    """Whether a worker's messages to itself go through the fabric too. They need not."""

    def send(self, sender: int, receiver: int, message: Message) -> None:
        """Append to a lane, and wake the receiver."""

    def receive(self, receiver: int) -> list[Message]:
        """Take what has arrived."""

    def wait(self, receiver: int, timeout_s: float | None) -> bool:
        """Block until something may have arrived or somebody calls `wake`; False when the time is over."""

    def wake(self, receiver: int) -> None:
        """Make `wait` return, now or when it is called next."""

    def agree(self, dataflow: int, shape: object) -> None:
        """Check that all workers install the same dataflow under the same number."""

    def waiting(self) -> int:
        """How many messages have been sent and not received."""


class _Agreement:
    """What the first worker installed under a number, until all have."""

    __slots__ = ("_lock", "_peers", "_shapes")

    def __init__(self, peers: int) -> None:
        self._peers = peers
        self._shapes: dict[int, tuple[object, int]] = {}
        self._lock = threading.Lock()

    def check(self, dataflow: int, shape: object) -> None:
        with self._lock:
            known, count = self._shapes.pop(dataflow, (shape, 0))
            if count + 1 < self._peers:
                self._shapes[dataflow] = (known, count + 1)
        if known != shape:
            raise InvalidDataflow(
                f"dataflow {dataflow} is not the same on all workers: {shape} here, {known} on another",
                hint="Every worker must build the same dataflows in the same order.",
            )


class ThreadFabric:
    """Lanes between threads: one inbox for each worker, in which the order of every sender is kept.

    Parameters
    ----------
    peers : int
        Number of workers.
    """

    loops_back = False

    def __init__(self, peers: int) -> None:
        self.peers = peers
        # append and popleft of a deque are atomic, so an inbox needs no lock.
        self._inboxes: list[deque[Message]] = [deque() for _ in range(peers)]
        # Each is held but while somebody is to be woken. An event would do the same, through four locks in place of one.
        self._sleeping = [threading.Lock() for _ in range(peers)]
        for lock in self._sleeping:
            lock.acquire()
        self._sent = [0] * peers
        self._agreement = _Agreement(peers)

    def send(self, sender: int, receiver: int, message: Message) -> None:
        """See `Fabric.send`."""
        self._inboxes[receiver].append(message)
        self._sent[sender] += 1
        self.wake(receiver)

    def receive(self, receiver: int) -> list[Message]:
        """See `Fabric.receive`."""
        inbox = self._inboxes[receiver]
        return [inbox.popleft() for _ in range(len(inbox))]

    def wait(self, receiver: int, timeout_s: float | None) -> bool:
        """See `Fabric.wait`."""
        return self._sleeping[receiver].acquire(timeout=-1 if timeout_s is None else timeout_s)

    def wake(self, receiver: int) -> None:
        """See `Fabric.wake`."""
        # The receiver takes the lock before it looks, so what came before it was given back will be seen.
        lock = self._sleeping[receiver]
        if lock.locked():
            with suppress(RuntimeError):  # another sender was first
                lock.release()

    def agree(self, dataflow: int, shape: object) -> None:
        """See `Fabric.agree`."""
        self._agreement.check(dataflow, shape)

    def waiting(self) -> int:
        """See `Fabric.waiting`."""
        return sum(map(len, self._inboxes))

    def statistics(self) -> FabricStatistics:
        """What it carried so far."""
        return FabricStatistics(self.peers, sum(self._sent), self.waiting())


class SimulatedFabric:
    """Lanes in one thread, delayed at random.

    Parameters
    ----------
    peers : int
        Number of workers.
    random : random.Random
        Decides, at each step of a worker, how many messages of each lane to it show, and how lanes interleave.

    Attributes
    ----------
    trace : list of tuple
        Every delivery: (receiver, sender, dataflow, channel). Who runs the workers may add its own choices.
    """

    loops_back = True

    def __init__(self, peers: int, random: Random) -> None:
        self.peers = peers
        self.trace: list[tuple[int, ...]] = []
        self._random = random
        self._lanes: list[dict[tuple[int, int, int], deque[Message]]] = [{} for _ in range(peers)]
        self._sent = 0
        self._agreement = _Agreement(peers)

    def send(self, sender: int, receiver: int, message: Message) -> None:
        """See `Fabric.send`."""
        self._sent += 1
        self._lanes[receiver].setdefault((sender, message[0], message[1]), deque()).append(message)

    def receive(self, receiver: int) -> list[Message]:
        """See `Fabric.receive`: a random prefix of each lane, the lanes merged at random."""
        lanes, random = self._lanes[receiver], self._random
        picks = [lane for lane, queue in lanes.items() for _ in range(random.randint(0, len(queue)))]
        random.shuffle(picks)
        messages = []
        for lane in picks:
            messages.append(lanes[lane].popleft())
            self.trace.append((receiver, *lane))
        for lane in set(picks):
            if not lanes[lane]:
                del lanes[lane]
        return messages

    def wait(self, receiver: int, timeout_s: float | None) -> bool:  # noqa: ARG002
        """Return at once: one thread cannot wait for itself."""
        return bool(self._lanes[receiver])

    def wake(self, receiver: int) -> None:
        """See `Fabric.wake`: nobody waits."""

    def agree(self, dataflow: int, shape: object) -> None:
        """See `Fabric.agree`."""
        self._agreement.check(dataflow, shape)

    def waiting(self) -> int:
        """See `Fabric.waiting`."""
        return sum(len(queue) for lanes in self._lanes for queue in lanes.values())

    def statistics(self) -> FabricStatistics:
        """What it carried so far."""
        return FabricStatistics(self.peers, self._sent, self.waiting())
