"""Sockets between processes: how they are made, and how a message of any size goes through them in small frames.

A message is cut into frames (`wire.py`), of which ZeroMQ delivers all or none. So no call that keeps the interpreter lock
copies more than one frame, and a socket that listens accepts nothing larger: whoever announces more is cut off before a byte of it
is taken in. Queues have no bound here, since whoever blocked would be waited for by others.

Every connection is encrypted, and both ends prove who they are (CurveZMQ, RFC 26). A socket that listens has a key of its own, which its address
names, so that nobody else can take its place; a socket that connects has the key of its set of workers, which comes of the *fence*.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import zmq
from zmq.utils import z85
from zmq.utils.monitor import recv_monitor_message

from .wire import FRAME_BYTES

_BROKEN = (
    zmq.EVENT_DISCONNECTED
    | zmq.EVENT_CONNECT_RETRIED
    | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
    | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
    | zmq.EVENT_HANDSHAKE_FAILED_AUTH
)

_ENCRYPTED_BYTES = 33  # by so much is a frame longer: a command's name, a counter, a flag, and what shows that it was not changed

Context = zmq.Context[zmq.Socket[bytes]]
Socket = zmq.Socket[bytes]


class Breaks:
    """Which connections of a socket broke: the other end closed them, ended, or gave no signs of life. To be made before any is.

    Parameters
    ----------
    socket
        Whose.
    """

    def __init__(self, socket: Socket) -> None:
        self._socket = socket
        self.events = socket.get_monitor_socket(_BROKEN)

    def taken(self) -> list[int]:
        """What broke since the last call: the file descriptor of a connection, -1 of one that was not made yet."""
        found = []
        while self.events.poll(0):
            event = recv_monitor_message(self.events)
            found.append(int(event["value"]) if event["event"] == zmq.EVENT_DISCONNECTED else -1)
        return found

    def close(self) -> None:
        """Stop watching; to be called before the socket is closed: ZeroMQ's own thread would wait for ever for who takes an event."""
        self._socket.disable_monitor()
        self.events.close(linger=0)


def listening(
    context: Context, kind: int, interface: str, *, silent_s: float | None = None
) -> tuple[Socket, str]:
    """A socket at a free port, and its address, `HOST:PORT/KEY`; `silent_s` as in `keep_alive`."""
    socket = context.socket(kind)
    socket.set_hwm(0)
    socket.maxmsgsize = FRAME_BYTES + _ENCRYPTED_BYTES
    public, secret = zmq.curve_keypair()
    socket.curve_server = True  # only who has the key of the set gets in, see `Authenticator`
    socket.curve_secretkey = secret
    socket.zap_domain = b"tornado"
    if silent_s is not None:
        keep_alive(socket, silent_s)
    port = socket.bind_to_random_port(f"tcp://{interface}")
    return socket, f"{interface}:{port}/{z85.decode(public).hex()}"


def connected(context: Context, kind: int, address: str, fence: bytes) -> tuple[Socket, Breaks]:
    """A socket that sends to an address, where somebody listens, and what says whether its connection broke.

    It is not made again then: what was under way is lost, and nothing may come behind a gap.
    """
    socket = context.socket(kind)
    socket.set_hwm(0)
    socket.reconnect_ivl = -1
    breaks = Breaks(socket)
    connect(socket, address, fence)
    return socket, breaks


def connect(socket: Socket, address: str, fence: bytes) -> None:
    """Connect to an address as one of a set of workers, and to nobody but who has the key that the address names."""
    place, _, key = address.partition("/")
    secret = z85.encode(_secret_key_of_set(fence))
    socket.curve_serverkey = z85.encode(bytes.fromhex(key))
    socket.curve_secretkey, socket.curve_publickey = secret, zmq.curve_public(secret)
    socket.connect(f"tcp://{place}")


def public_key_of_set(fence: bytes) -> bytes:
    """Return what shows that somebody is of a set of workers."""
    return z85.decode(zmq.curve_public(z85.encode(_secret_key_of_set(fence))))


def _secret_key_of_set(fence: bytes) -> bytes:
    return hashlib.blake2b(fence, digest_size=32, person=b"tornado-set").digest()


def keep_alive(socket: Socket, silent_s: float) -> None:
    """Ask the other end of each connection for signs of life, and break off those that give none for so long.

    ZeroMQ's own thread asks, and that of the other process answers (ZMTP 3.1, PING and PONG). Neither needs the interpreter: a
    process that computes, imports or compiles for long is alive, one that was stopped is not. To be called before connections are
    made.
    """
    socket.heartbeat_ivl = int(silent_s * 200)
    socket.heartbeat_timeout = int(silent_s * 800)
    socket.handshake_ivl = int(silent_s * 1000)


def send(socket: Socket, frames: Sequence[bytes]) -> None:
    """Send a message, or lose it where the connection broke, as what was under way then: nobody waits for one that is not made again.

    Whoever has to know looks at `Breaks`.
    """
    try:
        for frame in frames[:-1]:
            socket.send(frame, zmq.NOBLOCK | zmq.SNDMORE, copy=False)
        socket.send(frames[-1], zmq.NOBLOCK, copy=False)
    except zmq.Again:
        pass


def receive(socket: Socket, flags: int = 0) -> list[memoryview]:
    """Take the frames of a message.

    Raises
    ------
    zmq.Again
        When there is none, where `flags` say not to wait.
    """
    frame = socket.recv(flags, copy=False)
    frames = [frame.buffer]
    while frame.more:
        frame = socket.recv(copy=False)
        frames.append(frame.buffer)
    return frames
