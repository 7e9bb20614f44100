"""How a driver reaches its workers, and what of it runs beside: sockets of ZeroMQ and threads, or whatever a simulation has in their place.

`ClusterEngine` decides who is lost and what happens then; nothing of that is here. Source of the split: protocols without I/O (h11).
"""

from __future__ import annotations

import logging
import math
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol
from weakref import WeakValueDictionary

import zmq

from ..clock import Clock
from ..errors import WorkerLost
from .authenticator import Authenticator
from .sockets import Breaks, Context, connect, connected, keep_alive, listening, receive, send
from .waiting import Waiting
from .wire import FENCE_BYTES, Wire

_log = logging.getLogger(__name__)

LOOK_S = 0.1
_ENDS_WITHIN_S = 5.0  # what ZeroMQ does when nobody has a socket of a context any more
SILENT_S = 2.5  # a worker that gives no signs of life for so long is gone, see `keep_alive`


Answer = tuple[tuple[str, str, str] | None, Any]
"""What went wrong, as `described`, or None, and the answer."""


class Awaited:
    """An answer that is on its way: called, this waits for it. Who lets go of it before it has come gets none.

    Attributes
    ----------
    answer
        Set when it has come.
    """

    def __init__(self, wait: Callable[[Awaited], Answer]) -> None:
        self.answer: Answer | None = None
        self._wait = wait

    def __call__(self) -> Answer:
        """Wait for the answer.

        Raises
        ------
        WorkerLost
            When the worker is gone.
        """
        return self._wait(self)


class Asked:
    """What was asked over one link and has no answer yet, by the numbers that requests and answers go by.

    Attributes
    ----------
    count
        How many requests there were.
    """

    def __init__(self) -> None:
        self.count = 0
        self._awaited: WeakValueDictionary[int, Awaited] = WeakValueDictionary()

    def __len__(self) -> int:
        return len(self._awaited)

    def add(self, awaited: Awaited) -> int:
        """Number one more."""
        self.count += 1
        self._awaited[self.count] = awaited
        return self.count

    def answer(self, number: int, answer: Answer) -> None:
        """Give an answer to who waits for it, if anybody does."""
        awaited = self._awaited.pop(number, None)
        if awaited is not None:
            awaited.answer = answer

    def answer_all(self, answer: Answer) -> None:
        """Give the same to all."""
        for awaited in list(self._awaited.values()):
            awaited.answer = answer


class Link(Protocol):
    """The driver's end of the connections to one worker; from any thread.

    Attributes
    ----------
    is_dead
        Set when the worker is lost: nothing is sent any more, and whoever asks is told so.
    """

    is_dead: bool

    def send(self, *message: Any) -> None:
        """Send a command, unless the worker is gone."""
        ...

    def begin_asking(self, request: tuple[Any, ...]) -> Awaited:
        """Ask; what was asked before, and since, may be waited for first."""
        ...

    def broke_at(self) -> float:
        """When it was seen that a connection broke; infinity where none did."""
        ...

    def close(self) -> None:
        """Let go of the connections."""
        ...


class Inbox(Protocol):
    """Where messages of all workers come in.

    Attributes
    ----------
    address
        Where workers send them.
    """

    @property
    def address(self) -> str:
        """See the class."""
        ...

    def start(self) -> None:
        """Begin to take messages, and to look."""
        ...

    def close(self) -> None:
        """Take no more."""
        ...


class Alarm(Protocol):
    """What is done beside everything else whenever it is rung."""

    def start(self) -> None:
        """Begin to listen."""
        ...

    def ring(self) -> None:
        """Have it done, now or when what is being done has come to its end; from any thread."""
        ...

    def close(self) -> None:
        """Wait until what is being done has come to its end; nothing is done from then on."""
        ...


class Waits(Protocol):
    """See `Waiting`."""

    def wait_for(
        self, condition: Callable[[], bool], timeout_s: float | None, *, about: object = None
    ) -> bool:
        """Block until the condition holds; False when the time is over, or this was closed."""
        ...

    def notify(self, *about: object) -> None:
        """Have the conditions looked at again of who waits about one of these, or about anything; from any thread."""
        ...

    def close(self) -> None:
        """End every wait."""
        ...


class Transport(Protocol):
    """See the module."""

    @property
    def waiting(self) -> Waits:
        """Where whoever waits for workers does it."""
        ...

    def new_fence(self) -> bytes:
        """A secret for the next set of workers: who knows it is let in from now on."""
        ...

    def inbox(
        self,
        name: str,
        take: Callable[[Sequence[memoryview]], None],
        look: Callable[[float], None] = lambda _: None,
    ) -> Inbox:
        """An inbox whose messages are given to `take`, in their order for each worker.

        `look` is called every so often, with a time: what had come in by then has been taken.
        """
        ...

    def alarm(self, name: str, answer: Callable[[], bool]) -> Alarm:
        """What has `answer` called once for any number of rings, until it returns False."""
        ...

    def link(self, wire: Wire, commands: str, requests: str) -> Link:
        """The connections to a worker that said its addresses."""
        ...

    def linger(self, condition: Callable[[], bool], timeout_s: float) -> None:
        """Wait a moment for workers that were told to end."""
        ...

    def close(self) -> None:
        """Free what all of it takes, when links, inboxes and alarms are closed."""
        ...


class SocketTransport:
    """See `Transport`.

    Parameters
    ----------
    interface
        The address of this machine that workers can reach.
    clock
        By which it says when connections broke, and whoever waits gives up.
    """

    def __init__(self, interface: str, clock: Clock) -> None:
        self.waiting = Waiting(clock)
        self._interface = interface
        self._clock = clock
        self._context: Context = zmq.Context()
        self._authenticator = Authenticator(self._context, secrets.token_bytes(FENCE_BYTES))

    def new_fence(self) -> bytes:
        """See `Transport`."""
        fence = secrets.token_bytes(FENCE_BYTES)
        self._authenticator.let_in(fence)
        return fence

    def inbox(
        self,
        name: str,
        take: Callable[[Sequence[memoryview]], None],
        look: Callable[[float], None] = lambda _: None,
    ) -> Inbox:
        """See `Transport`."""
        return _SocketInbox(self._context, self._interface, name, take, look, clock=self._clock)

    def alarm(self, name: str, answer: Callable[[], bool]) -> Alarm:
        """See `Transport`."""
        return _ThreadAlarm(name, answer)

    def link(self, wire: Wire, commands: str, requests: str) -> Link:
        """See `Transport`."""
        return _SocketLink(self._context, wire, commands, requests, clock=self._clock)

    def linger(self, condition: Callable[[], bool], timeout_s: float) -> None:
        """See `Transport`."""
        deadline = time.monotonic() + timeout_s
        while not condition() and time.monotonic() < deadline:
            time.sleep(0.01)

    def close(self) -> None:
        """See `Transport`. ZeroMQ has been seen to wait for ever behind workers that were lost, which nobody else is to."""
        ending = threading.Thread(target=self._context.term, name="tornado-sockets-end", daemon=True)
        ending.start()
        ending.join(_ENDS_WITHIN_S)
        if ending.is_alive():
            _log.warning("connections to workers have not ended within %g s, and are left", _ENDS_WITHIN_S)


class _SocketLink:
    """See `Link`. Each socket is used under its lock."""

    def __init__(self, context: Context, wire: Wire, commands: str, requests: str, *, clock: Clock) -> None:
        self._clock = clock
        self._wire = wire
        self.is_dead = False
        self._sending, self._asking = threading.Lock(), threading.Lock()
        self._commands = context.socket(zmq.PUSH)
        self._commands.set_hwm(0)
        keep_alive(self._commands, SILENT_S)
        breaks = Breaks(self._commands)
        self._broke_at = math.inf
        connect(self._commands, commands, wire.fence)
        self._requests, requests_breaks = connected(context, zmq.DEALER, requests, wire.fence)
        self._breaks = [breaks, requests_breaks]
        self._asked = Asked()

    def send(self, *message: Any) -> None:
        """See `Link`."""
        frames = self._wire.write(message)
        with self._sending:
            if not self.is_dead:
                send(self._commands, frames)

    def broke_at(self) -> float:
        """See `Link`."""
        with self._sending:
            if self._broke_at == math.inf and not self.is_dead and any(one.taken() for one in self._breaks):
                self._broke_at = self._clock.monotonic()
        return self._broke_at

    def begin_asking(self, request: tuple[Any, ...]) -> Awaited:
        """See `Link`."""
        awaited = Awaited(self._wait)
        with self._asking:
            number = self._asked.add(awaited)
            if not self.is_dead:
                send(self._requests, self._wire.write((number, request)))
        return awaited

    def _wait(self, awaited: Awaited) -> Answer:
        while awaited.answer is None:
            with self._asking:
                if awaited.answer is None:  # nor has another thread taken it meanwhile
                    if self.is_dead:
                        raise WorkerLost("a worker was lost while it was asked")
                    if self._requests.poll(50):
                        self._take()
        return awaited.answer

    def _take(self) -> None:
        """Take an answer, whosever it is."""
        try:
            number, failure, reply = self._wire.read(receive(self._requests))
        except BaseException as error:
            # It may have been anybody's, and nobody is to wait for ever.
            failure = "InternalError", f"an answer of a worker could not be read: {error!r}", ""
            self._asked.answer_all((failure, None))
            raise
        self._asked.answer(number, (failure, reply))

    def close(self) -> None:
        """See `Link`."""
        self.is_dead = True
        with self._sending, self._asking:
            for breaks in self._breaks:
                breaks.close()
            self._commands.close(linger=100)
            self._requests.close(linger=0)


class _SocketInbox:
    """See `Inbox`: a socket, and the thread that takes what comes in there."""

    def __init__(
        self,
        context: Context,
        interface: str,
        name: str,
        take: Callable[[Sequence[memoryview]], None],
        look: Callable[[float], None],
        *,
        clock: Clock,
    ) -> None:
        self._clock = clock
        self._socket, self.address = listening(context, zmq.PULL, interface)
        self._take = take
        self._look = look
        self._is_closing = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """See `Inbox`."""
        self._thread.start()

    def close(self) -> None:
        """See `Inbox`."""
        self._is_closing = True
        if self._thread.is_alive():
            self._thread.join()
        self._socket.close(linger=0)

    def _run(self) -> None:
        while not self._is_closing:
            now = self._clock.monotonic()  # before: time that this process stood still is nobody's silence
            self._socket.poll(int(LOOK_S * 1000))
            for _ in range(1 << 10):
                try:
                    frames = receive(self._socket, zmq.NOBLOCK)
                except zmq.Again:
                    break
                self._take(frames)
            self._look(now)


class _ThreadAlarm:
    """See `Alarm`: a thread that waits for it."""

    def __init__(self, name: str, answer: Callable[[], bool]) -> None:
        self._answer = answer
        self._rung = threading.Event()
        self._is_closing = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """See `Alarm`."""
        self._thread.start()

    def ring(self) -> None:
        """See `Alarm`."""
        self._rung.set()

    def close(self) -> None:
        """See `Alarm`."""
        self._is_closing = True
        self._rung.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while True:
            self._rung.wait()
            if self._is_closing:
                return
            self._rung.clear()
            if not self._answer():
                return
