"""How workers in different processes reach each other: ZeroMQ over TCP, one connection for each pair and direction.

A connection is FIFO and loses nothing while it stands; one that breaks is not made again (`is_broken`), and takes the whole set of
workers with it, as an end that dies does. Sockets belong to the thread that steps the worker, but for `wake`.
"""

from __future__ import annotations

from collections.abc import Sequence

import zmq

from ..timely import Message
from .sockets import Breaks, Context, Socket, connected, listening, receive, send
from .waker import Waker
from .wire import Wire, WrongFence

_ENOUGH = 1 << 10  # messages taken in at once; the others are still there


class PeerFabric:
    """See the module and `tornado.timely.Fabric`.

    Parameters
    ----------
    index, peers
        Which worker, of how many.
    wire
        How messages are written.
    context, interface
        ZeroMQ's, and the address of this machine that others can reach.

    Attributes
    ----------
    address
        Where this worker listens.
    dropped
        Messages of other sets of workers.
    sent_bytes
        To the others, so far.
    """

    loops_back = False

    def __init__(self, index: int, peers: int, wire: Wire, context: Context, interface: str) -> None:
        self.peers = peers
        self.dropped = 0
        self.sent_bytes = 0
        self._index = index
        self._wire = wire
        self._context = context
        self._inbox, self.address = listening(context, zmq.PULL, interface)
        self._outlets: list[Socket | None] = [None] * peers
        self._breaks: list[Breaks] = []
        self._waker = Waker()
        self._poller = zmq.Poller()
        self._poller.register(self._inbox, zmq.POLLIN)
        self._poller.register(self._waker.fileno(), zmq.POLLIN)

    def connect(self, addresses: Sequence[str]) -> None:
        """Connect to all other workers; before the first message."""
        for peer, address in enumerate(addresses):
            if peer != self._index:
                self._outlets[peer], breaks = connected(self._context, zmq.PUSH, address, self._wire.fence)
                self._breaks.append(breaks)

    def is_broken(self) -> bool:
        """Whether a connection to another worker has broken since the last look; on one thread."""
        return any(breaks.taken() for breaks in self._breaks)

    def send(self, sender: int, receiver: int, message: Message) -> None:
        """See `Fabric.send`; on the worker's thread."""
        del sender
        outlet = self._outlets[receiver]
        assert outlet is not None
        frames = self._wire.write(message)
        self.sent_bytes += sum(map(len, frames))
        send(outlet, frames)

    def receive(self, receiver: int) -> list[Message]:
        """See `Fabric.receive`."""
        del receiver
        messages: list[Message] = []
        while len(messages) < _ENOUGH:
            try:
                frames = receive(self._inbox, zmq.NOBLOCK)
            except zmq.Again:
                break
            try:
                messages.append(self._wire.read(frames))
            except WrongFence:
                self.dropped += 1
        return messages

    def wait(self, receiver: int, timeout_s: float | None) -> bool:
        """See `Fabric.wait`."""
        del receiver
        ready = dict(self._poller.poll(None if timeout_s is None else int(timeout_s * 1000)))
        if self._waker.fileno() in ready:
            self._waker.take()
        return bool(ready)

    def wake(self, receiver: int) -> None:
        """See `Fabric.wake`; from any thread."""
        del receiver
        self._waker.wake()

    def agree(self, dataflow: int, shape: object) -> None:
        """Check nothing: workers run the same program on the same commands, and have no memory in common to compare in."""

    def waiting(self) -> int:
        """Return 0: what waits is in the system's buffers, and its number is not known."""
        return 0

    def close(self) -> None:
        """Close the sockets; when nobody looks at them any more."""
        for breaks in self._breaks:
            breaks.close()
        for outlet in self._outlets:
            if outlet is not None:
                outlet.close(linger=0)
        self._inbox.close(linger=0)
        self._waker.close()
