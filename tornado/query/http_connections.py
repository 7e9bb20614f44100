"""Connections that cost a server little, whatever their other ends do: who neither asks nor reads is let go.

The framework leaves a request's head, the rest of a body behind its answer, and an answer that nobody reads, without any end. So whoever
sends a byte a second could hold connections until none is left for others. Here a head has so long to arrive and an answer to be read on
(`HttpLimits`), and a request that is answered before its body is there ends its connection, soon (`http_lingering.py`). When there are more
connections than `most`, the one that has waited longest without asking, or with its answer behind it, makes room for the new one; where there is
none, the one whose request has been under way the longest and has no answer yet. All of that begins where a connection is accepted: the
handshake of TLS is a part of the time that the first head has. What comes is taken in by turns (`http_arrivals.py`).
"""

from __future__ import annotations

import asyncio
import logging
import resource
import ssl
from asyncio.sslproto import SSLProtocol
from typing import Any, Final

import h11
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from .http_arrivals import CountedConnection, Turns
from .http_lingering import LINGER_S, LingeringTransport
from .problems import ProblemError

MOST_CONNECTIONS: Final = 20_000
_FILES_BESIDE: Final = 512  # of stores, sources and workers
_FILES: Final = MOST_CONNECTIONS + _FILES_BESIDE
_SAY_AGAIN_S: Final = 60.0
_NOT_ACCEPTED: Final = "socket.accept() out of system resource"  # in the words of asyncio

_log = logging.getLogger(__name__)


class Connections:
    """The connections of one server. To be called by the framework for each new one.

    Parameters
    ----------
    most : int
        How many there may be.
    head_s, read_s : float
        How long a head may take to arrive, and an answer to be read on.
    context : ssl.SSLContext, optional
        With which they speak TLS; what is loaded into it holds for those that begin from then on.
    """

    def __init__(
        self,
        *,
        most: int | None = None,
        head_s: float,
        read_s: float,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self.most = most_connections() if most is None else most
        self.head_s = head_s
        self.read_s = read_s
        self.turns = Turns()
        self._context = context
        # Those that have not asked or are answered for good, and those whose body is under way: longest first.
        self._waiting: dict[BoundedConnection, None] = {}
        self._sending: dict[BoundedConnection, None] = {}
        self._open: set[BoundedConnection] = set()

    @property
    def open(self) -> int:
        """How many there are."""
        return len(self._open)

    def __call__(self, *arguments: Any, **named: Any) -> asyncio.BaseProtocol:
        """Make the protocol of a connection."""
        connection = BoundedConnection(self, *arguments, **named)
        return connection if self._context is None else _Encrypted(connection, self._context)

    def opened(self, connection: BoundedConnection) -> None:
        """Count one, and let another go where there are too many."""
        self._open.add(connection)
        if len(self._open) > self.most:
            unanswered = (one for one in self._sending if not one.is_being_answered)
            longest = next(iter(self._waiting), None) or next(unanswered, connection)
            longest.let_go()
            self.closed(longest)  # it hears of it later, when others may have come

    def closed(self, connection: BoundedConnection) -> None:
        """Forget one."""
        self._open.discard(connection)
        self._waiting.pop(connection, None)
        self._sending.pop(connection, None)

    def waits(self, connection: BoundedConnection) -> None:
        """Remember that one has nothing asked from now on."""
        self._sending.pop(connection, None)
        if connection in self._open:
            self._waiting.setdefault(connection)

    def sends(self, connection: BoundedConnection) -> None:
        """Remember that one has asked, and that the body of that is under way."""
        self._waiting.pop(connection, None)
        if connection in self._open:
            self._sending.setdefault(connection)

    def asks(self, connection: BoundedConnection) -> None:
        """Remember that one has asked, and sent all of it."""
        self._waiting.pop(connection, None)
        self._sending.pop(connection, None)


class BoundedConnection(H11Protocol):
    """The protocol of one connection."""

    conn: CountedConnection
    transport: LingeringTransport
    cycle: RequestResponseCycle | None  # type: ignore[assignment]  # there is none before the first request

    def __init__(self, connections: Connections, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.bounds = connections
        self.conn = CountedConnection(h11.SERVER)
        self._arrived = bytearray()  # and not taken in yet; nothing is read meanwhile
        self._is_refused = False
        self._head: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        self._accepted: asyncio.Transport | None = None
        self._is_made = False  # it is accepted before that, and there is a `transport` from then on
        self._answer: ASGIApp = self.app
        self.app = self._answer_within_bounds

    @property
    def is_being_answered(self) -> bool:
        """Whether an answer has begun and is not at its end."""
        return self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete

    def accepted(self, transport: asyncio.Transport) -> None:
        """Count it, and have its first head come in time."""
        self._accepted = transport
        self.bounds.opened(self)
        self._look()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See `asyncio.Protocol`."""
        super().connection_made(LingeringTransport(transport, self._close, self._may_read))
        self._is_made = True
        if self._accepted is None:
            self.accepted(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.Protocol`."""
        super().connection_lost(exc)
        self.transport.end()
        self.gone()

    def gone(self) -> None:
        """Forget it; a second call does nothing."""
        for timer in (self._head, self._unread):
            if timer is not None:
                timer.cancel()
        self.bounds.turns.remove(self._take_in)
        self.bounds.closed(self)

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        if self._is_refused or self.transport.is_closing():
            self.transport.drop(data)
            return
        self._arrived += data
        if self._take_in not in self.bounds.turns and self._take_in():
            self.bounds.turns.add(self._take_in)
        if self._arrived:
            self.transport.pause_reading()

    def eof_received(self) -> None:
        """See `asyncio.Protocol`: the other end sends no more, and may read no more either."""
        self._wait_to_be_read()

    def on_response_complete(self) -> None:
        """See the framework: an answer is out."""
        super().on_response_complete()
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self.bounds.waits(self)  # for the time that the framework keeps it
        else:
            self._look()

    def send_400_response(self, msg: str) -> None:
        """See the framework: what came is no HTTP."""
        if self.conn.our_state not in {h11.IDLE, h11.SEND_RESPONSE}:
            self.let_go()  # in the middle of an answer there is no place for another one
            return
        super().send_400_response(msg)
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True  # what is under way has nobody to tell it any more
            self.cycle.message_event.set()

    def shutdown(self) -> None:
        """See the framework: the server ends."""
        super().shutdown()
        if self.transport.is_closing():
            self.transport.end()

    def pause_writing(self) -> None:
        """See `asyncio.Protocol`: the other end does not read as fast as it is answered."""
        super().pause_writing()
        self._wait_to_be_read()

    def resume_writing(self) -> None:
        """See `asyncio.Protocol`."""
        super().resume_writing()
        if self._unread is not None and not self.transport.is_closing():
            self._unread.cancel()
            self._unread = None

    def let_go(self) -> None:
        """Break it off."""
        if self._accepted is not None:
            self._accepted.abort()

    async def _answer_within_bounds(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, refuse a body of too small chunks, and say `Connection: close` where a body is not there yet: nobody reads it then."""

        async def heard() -> Message:
            message = await receive()
            if self._is_refused and message["type"] == "http.request":
                if self.is_being_answered:
                    return {"type": "http.disconnect"}
                raise ProblemError(self.conn.too_small())
            return message

        async def said(message: Message) -> None:
            if message["type"] == "http.response.start" and self.conn.their_state is h11.SEND_BODY:
                MutableHeaders(scope=message)["connection"] = "close"
            await send(message)

        await self._answer(scope, heard, said)

    def _take_in(self) -> bool:
        """Take in a piece of what has arrived; return whether there is more that may be."""
        if self._wants_no_more() or not self._arrived:
            return False
        size = self.conn.piece_bytes
        piece = bytes(self._arrived[:size])
        del self._arrived[:size]
        super().data_received(piece)
        if self.conn.has_too_small_chunks and not self.transport.is_closing():
            self._refuse()
        self._look()
        if self._is_refused or self.transport.is_closing():
            self._arrived.clear()
        if self._wants_no_more():
            return False
        if not self._arrived:
            self.transport.resume_reading()
        return bool(self._arrived)

    def _wants_no_more(self) -> bool:
        """Return whether the framework waits for what it has to be used; then `_may_read` is asked."""
        return self.flow.read_paused

    def _may_read(self) -> bool:
        """Return whether all that has arrived is taken in; else go on with that."""
        if self._arrived:
            self.bounds.turns.add(self._take_in)
        return not self._arrived

    def _refuse(self) -> None:
        """Take in no more of a body, and have whoever reads it say so (`_answer_within_bounds`)."""
        self._is_refused = True
        if self.is_being_answered:
            self.let_go()
        elif self.cycle is not None:
            self.cycle.message_event.set()

    def _close(self) -> None:
        """Come to an end: at once, or when the rest of a body that nobody reads is there."""
        self._wait_to_be_read()
        self._look()
        self._arrived.clear()
        if self.conn.their_state in {h11.SEND_BODY, h11.ERROR}:
            self.transport.linger(min(LINGER_S, self.bounds.head_s))
        else:
            self.transport.end()

    def _wait_to_be_read(self) -> None:
        if self._unread is None:
            self._unread = self.loop.call_later(self.bounds.read_s, self.let_go)

    def _look(self) -> None:
        """Begin or end to wait for a head, and say what may make room."""
        state = self.conn.their_state
        is_closing = self._is_made and self.transport.is_closing()
        waits = state is h11.IDLE and not is_closing
        if waits and self._head is None:
            self._head = self.loop.call_later(self.bounds.head_s, self.let_go)
        elif not waits and self._head is not None:
            self._head.cancel()
            self._head = None
        if waits or is_closing:
            self.bounds.waits(self)
        elif state is h11.SEND_BODY:
            self.bounds.sends(self)
        else:
            self.bounds.asks(self)


class _Encrypted(SSLProtocol):
    """TLS of one connection, which counts from before its handshake: asyncio's own servers tell of it only behind that."""

    def __init__(self, connection: BoundedConnection, context: ssl.SSLContext) -> None:
        bounds = connection.bounds
        super().__init__(
            connection.loop,
            connection,
            context,
            None,  # type: ignore[arg-type]  # nobody waits for it
            server_side=True,
            ssl_handshake_timeout=bounds.head_s,  # type: ignore[arg-type]  # it goes to `call_later`
            ssl_shutdown_timeout=bounds.read_s,
        )
        self._connection = connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See `asyncio.Protocol`."""
        super().connection_made(transport)
        self._connection.accepted(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        """See `asyncio.Protocol`."""
        super().connection_lost(exc)
        self._connection.gone()


class AcceptFailures:
    """Says once in a while, and not at each try, that there is no file for who comes: the event loop's handler of exceptions.

    The event loop tries again by itself, some dozens of times a second, and would log a traceback each time.
    """

    def __init__(self) -> None:
        self._said_s = -_SAY_AGAIN_S

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """See `asyncio.AbstractEventLoop.set_exception_handler`."""
        if context.get("message") != _NOT_ACCEPTED:
            loop.default_exception_handler(context)
        elif loop.time() - self._said_s >= _SAY_AGAIN_S:
            self._said_s = loop.time()
            _log.error(
                "a connection cannot be accepted: %s; it is tried again each second, and said again in %g s. Give this process more files "
                "(ulimit -n, now %d).",
                context.get("exception"),
                _SAY_AGAIN_S,
                resource.getrlimit(resource.RLIMIT_NOFILE)[0],
            )


def most_connections() -> int:
    """Return how many connections this process has files for."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(64, min(MOST_CONNECTIONS, soft - _FILES_BESIDE))


def make_room_for_connections() -> None:
    """Let this process have as many files as it may, where a shell gave it few: each connection takes one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < min(hard, _FILES):
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, _FILES), hard))
