"""One state of a whole store, as a backup copies it: every line with its versions, and what each version wrote.

Below the contract of `versioned_store`: a copy has the same views at all versions, since it has the same writes. Entries come one
by one, so nothing of a store need be in memory but one page.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from .versioned_store import StoreStatistics


class LoopHistory(NamedTuple):
    """A line of versions: its name in UTF-8, its number in this store, and the version that history begins at."""

    name: bytes
    number: int
    floor: int


class HistoryEntry(NamedTuple):
    """What one version wrote under a key; without a page the key ends there."""

    key: bytes
    version: int
    page: bytes | None


class StoreHistory(Protocol):
    """One state of a store; whoever writes to the store meanwhile is not seen."""

    def loops(self) -> list[LoopHistory]:
        """All lines."""
        ...

    def versions(self, loop: LoopHistory) -> Iterator[tuple[int, bytes]]:
        """The stored versions of a line, ascending, with their metadata."""
        ...

    def entries(self, loop: LoopHistory) -> Iterator[HistoryEntry]:
        """What is stored of a line, in any order of which each (key, version) is there once."""
        ...


class StorePlace(Protocol):
    """Where a store is, or may be."""

    @property
    def label(self) -> str:
        """Its address without a password."""
        ...

    def history(self) -> AbstractContextManager[StoreHistory]:
        """Look at one state of the store there, which may be another process's.

        Raises
        ------
        InvalidArgument
            There is no store.
        """
        ...

    def fill(self, history: StoreHistory) -> StoreStatistics:
        """Make a store with that history there, wholly or not at all, and return what it holds.

        Raises
        ------
        InvalidArgument
            Something is there already.
        StoreFull
            There is no room.
        """
        ...
