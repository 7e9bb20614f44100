"""What arrives is taken in by turns, a piece at a time, so that nobody's bytes hold the event loop that is there for all.

A body in chunks costs by its chunks and not by its bytes: one of a byte costs as much as one of a mebibyte, and a quarter of a mebibyte of
such, which is what the event loop hands over at once, would take a third of a second. So a piece is as much of a body as its length leaves
open, and else `PIECE_BYTES`, or what some of its chunks had on average, up to `_PIECE_OF_CHUNKS_BYTES`; whoever has more comes again behind the
others, and all of them together have `TURN_S` before the event loop does something else. Bodies that are hardly more than their framing are
refused (`too_small`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

import h11

from .problems import Problem

PIECE_BYTES: Final = 1024
_CHUNKS_AT_ONCE: Final = 8  # as large ones as there were so far
_PIECE_OF_CHUNKS_BYTES: Final = 16 << 10
TURN_S: Final = 0.002
_CHUNKS_BEFORE: Final = 10_000
_LEAST_BYTES: Final = 16  # a line of edges is a chunk with some clients


class CountedConnection(h11.Connection):
    """Counts what there is of the body of a request.

    Attributes
    ----------
    left_bytes : int
        How much of it is still to come, where its length is given; else 0.
    """

    left_bytes = 0
    _chunks = 0
    _in_chunks_bytes = 0

    def next_event(self) -> type[h11.NEED_DATA | h11.PAUSED] | h11.Event:
        """See h11."""
        event = super().next_event()
        if isinstance(event, h11.Request):
            headers = dict(event.headers)
            length = b"0" if b"transfer-encoding" in headers else headers.get(b"content-length", b"0")
            self.left_bytes, self._chunks, self._in_chunks_bytes = int(length), 0, 0
        elif isinstance(event, h11.Data):
            if self.left_bytes:
                self.left_bytes -= len(event.data)
            else:
                self._chunks += event.chunk_end
                self._in_chunks_bytes += len(event.data)
        return event

    @property
    def piece_bytes(self) -> int:
        """How much of what has arrived to take in at once."""
        of_chunks = self._in_chunks_bytes // max(1, self._chunks)
        return max(self.left_bytes, PIECE_BYTES, min(_CHUNKS_AT_ONCE * of_chunks, _PIECE_OF_CHUNKS_BYTES))

    @property
    def has_too_small_chunks(self) -> bool:
        """Whether the body is hardly more than what stands around it, and has been for long."""
        return self._chunks > _CHUNKS_BEFORE and self._in_chunks_bytes < _LEAST_BYTES * self._chunks

    def too_small(self) -> Problem:
        """Return the refusal of such a body."""
        return Problem(
            400,
            "chunks-too-small",
            "Chunks too small",
            f"the body has {self._chunks} chunks with {self._in_chunks_bytes} bytes in them, "
            f"but more than {_CHUNKS_BEFORE} must have {_LEAST_BYTES} bytes each on average",
            hint="Put more into each chunk, or send the body with its length; the connection is closed.",
            headers={"Connection": "close"},
        )


class Turns:
    """Who has something that is not taken in yet, each in its turn."""

    def __init__(self) -> None:
        self._waiting: dict[Callable[[], bool], None] = {}
        self._is_going = False

    def add(self, take_in: Callable[[], bool]) -> None:
        """Have a piece taken in soon, and again as long as there is more; one that is there already keeps its place.

        Parameters
        ----------
        take_in : callable
            Takes in one piece, and returns whether there is more.
        """
        self._waiting.setdefault(take_in)
        if not self._is_going:
            self._is_going = True
            asyncio.get_running_loop().call_soon(self._go)

    def remove(self, take_in: Callable[[], bool]) -> None:
        """Forget one."""
        self._waiting.pop(take_in, None)

    def __contains__(self, take_in: object) -> bool:
        return take_in in self._waiting

    def _go(self) -> None:
        loop = asyncio.get_running_loop()
        until_s = loop.time() + TURN_S
        self._is_going = False
        try:
            while self._waiting and loop.time() < until_s:
                take_in = next(iter(self._waiting))
                del self._waiting[take_in]
                if take_in():
                    self._waiting.setdefault(take_in)
        finally:
            if self._waiting and not self._is_going:
                self._is_going = True
                loop.call_soon(self._go)
