"""What a Python program holds of a stream: it feeds what several loops read, and starts loops on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any, Protocol, Unpack

from ..config import AUTO_DELAY_BOUND, DelayBound
from ..errors import UnknownStream
from .handles import LoopHandle
from .pushed_points import PointArguments


class StreamOwner(Protocol):
    """The session that a stream is of."""

    @property
    def loops(self) -> Mapping[str, LoopHandle]:
        """All loops that run, by name."""
        ...

    def start(
        self, program: Any, name: str | None, delay_bound: DelayBound, *, stream: str | None
    ) -> LoopHandle:
        """Start a loop beside others on a stream."""
        ...


class StreamHandle:
    """A stream: it begins with its first loop, and ends when its last one is removed. Made by `Session.stream`.

    Parameters
    ----------
    session
        Whose loops read it.
    name : str
        What it is called.
    begin
        Starts its first loop.
    beginning
        Held by who does that, through whichever handle of the stream.
    """

    def __init__(
        self, session: StreamOwner, name: str, begin: Callable[..., LoopHandle], *, beginning: Lock
    ) -> None:
        self.name = name
        self._session = session
        self._begin = begin
        self._beginning = beginning

    @property
    def loops(self) -> dict[str, LoopHandle]:
        """The loops that read it, by name."""
        return {
            name: loop for name, loop in self._session.loops.items() if loop.loop.stream_name == self.name
        }

    def start(
        self, program: Any, name: str | None = None, delay_bound: DelayBound = AUTO_DELAY_BOUND
    ) -> LoopHandle:
        """Start a loop on it; the first one begins from what the store has of the stream. See `Session.start`."""
        with self._beginning:  # of two that come at once the second one joins
            if not self.loops:
                return self._begin(program, name, delay_bound, new_stream=self.name)
        return self._session.start(program, name, delay_bound, stream=self.name)

    def insert(
        self, src: Any = None, dst: Any = None, weight: Any = None, **points: Unpack[PointArguments]
    ) -> int:
        """Add edges or points; see `LoopHandle.insert`."""
        return self._reader().insert(src, dst, weight, **points)

    def remove(
        self, src: Any = None, dst: Any = None, weight: Any = None, *, ids: Any = None, times: Any = None
    ) -> int:
        """Remove edges or points; see `LoopHandle.remove`."""
        return self._reader().remove(src, dst, weight, ids=ids, times=times)

    def replace(
        self, src: Any = None, dst: Any = None, weight: Any = None, **points: Unpack[PointArguments]
    ) -> int:
        """Put edges or points in the place of others; see `LoopHandle.replace`."""
        return self._reader().replace(src, dst, weight, **points)

    def add_vertices(self, ids: Any) -> int:
        """Make vertices known that need not have an edge; see `LoopHandle.add_vertices`."""
        return self._reader().add_vertices(ids)

    def offsets(self) -> dict[str, int]:
        """How many records of each source are in."""
        return self._reader().offsets()

    def checkpoint(self) -> int:
        """Write a snapshot of all its loops to the store; return its version."""
        return self._reader().checkpoint()

    def _reader(self) -> LoopHandle:
        for loop in self.loops.values():
            return loop
        raise UnknownStream(
            f"no loop reads stream {self.name!r} yet", hint="Start one on it first: `stream.start(program)`."
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: {', '.join(self.loops) or 'no loops'}>"
