"""Connections that cost a server little, whatever their other ends do: who neither asks nor reads is let go.

The framework bounds a body in time and leaves a request's head, and an answer that nobody reads, without any end. So whoever sends a byte
a second could hold connections until none is left for others. Here a head has so long to arrive and an answer to be read on
(`HttpLimits`), and when there are more connections than `most`, the one that has waited longest without asking makes room for the new one.
"""

from __future__ import annotations

import asyncio
import resource
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_CONNECTIONS: Final = 20_000
_FILES_BESIDE: Final = 512  # of stores, sources and workers
_FILES: Final = MOST_CONNECTIONS + _FILES_BESIDE


class Connections:
    """The connections of one server. To be called by the framework for each new one.

    Parameters
    ----------
    most : int
        How many there may be.
    head_s, read_s : float
        How long a head may take to arrive, and an answer to be read on.
    """

    def __init__(self, *, most: int | None = None, head_s: float, read_s: float) -> None:
        self.most = most_connections() if most is None else most
        self.head_s = head_s
        self.read_s = read_s
        # Those that have not asked, longest first.
        self._waiting: dict[BoundedConnection, None] = {}
        self._open: set[BoundedConnection] = set()

    @property
    def open(self) -> int:
        """How many there are."""
        return len(self._open)

    def __call__(self, *arguments: Any, **named: Any) -> BoundedConnection:
        """Make the protocol of a connection."""
        return BoundedConnection(self, *arguments, **named)

    def opened(self, connection: BoundedConnection) -> None:
        """Count one, and let another go where there are too many."""
        self._open.add(connection)
        if len(self._open) > self.most:
            longest = next(iter(self._waiting), connection)
            longest.let_go()
            self.closed(longest)  # it hears of it later, when others may have come

    def closed(self, connection: BoundedConnection) -> None:
        """Forget one."""
        self._open.discard(connection)
        self._waiting.pop(connection, None)

    def waits(self, connection: BoundedConnection) -> None:
        """Remember that one has nothing asked from now on."""
        self._waiting.setdefault(connection)

    def asks(self, connection: BoundedConnection) -> None:
        """Remember that one has asked."""
        self._waiting.pop(connection, None)


class BoundedConnection(H11Protocol):
    """The protocol of one connection."""

    def __init__(self, connections: Connections, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._all = connections
        self._head: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See `asyncio.Protocol`."""
        super().connection_made(transport)
        self._look()
        self._all.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.Protocol`."""
        super().connection_lost(exc)
        for timer in (self._head, self._unread):
            if timer is not None:
                timer.cancel()
        self._all.closed(self)

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        """See the framework: an answer is out."""
        super().on_response_complete()
        if self.conn.their_state is h11.IDLE:
            self._all.waits(self)  # for the time that the framework keeps it

    def pause_writing(self) -> None:
        """See `asyncio.Protocol`: the other end does not read as fast as it is answered."""
        super().pause_writing()
        if self._unread is None:
            self._unread = self.loop.call_later(self._all.read_s, self.let_go)

    def resume_writing(self) -> None:
        """See `asyncio.Protocol`."""
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def let_go(self) -> None:
        """Break it off."""
        self.transport.abort()

    def _look(self) -> None:
        """Begin or end to wait for a head."""
        waits = self.conn.their_state is h11.IDLE
        if waits and self._head is None:
            self._head = self.loop.call_later(self._all.head_s, self.let_go)
            self._all.waits(self)
        elif not waits and self._head is not None:
            self._head.cancel()
            self._head = None
        if not waits:
            self._all.asks(self)


def most_connections() -> int:
    """Return how many connections this process has files for."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(64, min(MOST_CONNECTIONS, soft - _FILES_BESIDE))


def make_room_for_connections() -> None:
    """Let this process have as many files as it may, where a shell gave it few: each connection takes one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < min(hard, _FILES):
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, _FILES), hard))
