"""A transport whose end lets the other side hear the answer: what it still sends is read for a while, and dropped.

A socket that is closed while something unread is in it resets the connection, and the answer that was just written can be lost on its way
(RFC 9112, section 9.6). So whoever is in the middle of a body when it is answered gets a little time, and room for so much, to come to its
end and to read. Both are bounded: one that sends on is cut off.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

LINGER_S: Final = 5.0
LINGER_BYTES: Final = 16 << 20


class LingeringTransport(asyncio.Transport):
    """What the framework writes to and closes.

    Parameters
    ----------
    transport : asyncio.Transport
        The connection's own.
    on_close : callable
        Called once, where the framework closes: to end `transport`, now or by `linger`. Nothing is written from then on.
    may_read : callable
        Asked where the framework wants more: whether to read it, or there is some already.
    """

    def __init__(
        self, transport: asyncio.Transport, on_close: Callable[[], None], may_read: Callable[[], bool]
    ) -> None:
        super().__init__()
        self._transport = transport
        self._on_close = on_close
        self._may_read = may_read
        self._is_closing = self._is_ended = False
        self._end: asyncio.TimerHandle | None = None
        self._left_bytes = LINGER_BYTES

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """See `asyncio.BaseTransport`."""
        return self._transport.get_extra_info(name, default)

    def is_closing(self) -> bool:
        """See `asyncio.BaseTransport`."""
        return self._is_closing or self._transport.is_closing()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """See `asyncio.WriteTransport`."""
        if not self._is_closing:
            self._transport.write(data)

    def close(self) -> None:
        """See `asyncio.BaseTransport`."""
        if not self._is_closing:
            self._is_closing = True
            self._on_close()

    def abort(self) -> None:
        """See `asyncio.WriteTransport`."""
        self._is_closing = True
        self.end()
        self._transport.abort()

    def pause_reading(self) -> None:
        """See `asyncio.ReadTransport`."""
        if not self._is_closing:
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """See `asyncio.ReadTransport`."""
        if not self._is_closing and self._may_read():
            self._transport.resume_reading()

    def linger(self, at_most_s: float) -> None:
        """End when the other side does, after so long, or when it has sent `LINGER_BYTES`."""
        if self._transport.is_closing():
            return
        self._end = asyncio.get_running_loop().call_later(at_most_s, self.end)
        self._transport.resume_reading()
        if self._transport.can_write_eof():
            with suppress(OSError):  # the other side has broken it off
                self._transport.write_eof()

    def drop(self, data: bytes) -> None:
        """Take in what came behind the answer."""
        self._left_bytes -= len(data)
        if self._left_bytes < 0:
            self.end()

    def end(self) -> None:
        """Read no longer, and close when what was written is out."""
        if self._end is not None:
            self._end.cancel()
            self._end = None
        if not self._is_ended:  # one of TLS may not be closed twice
            self._is_ended = True
            self._transport.close()
