"""What a stream knows of the main loops that read it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from ..records.edge_batch import EdgeBatch
from .branch import Branch
from .share import Share
from .vertex_program import VertexProgram


class ReadingLoop(Protocol):
    """A main loop that reads a stream."""

    @property
    def number(self) -> int:
        """What the workers tell it apart by."""
        ...

    @property
    def name(self) -> str:
        """What people tell it apart by."""
        ...

    @property
    def is_installed(self) -> bool:
        """Whether all workers were told to make their parts of it."""
        ...

    @property
    def hears_back(self) -> int:
        """Which reverse lists it hears along, counted from 1; 0: along none."""
        ...

    @property
    def is_removed(self) -> bool:
        """Whether it was, or is being, taken off the workers on purpose."""
        ...

    @property
    def app(self) -> str | None:
        """The name of the app by which it was started on the running stream, where it was."""
        ...

    @property
    def program(self) -> VertexProgram:
        """What it runs."""
        ...

    @property
    def error(self) -> BaseException | None:
        """What made it fail."""
        ...

    def raise_failure(self) -> None:
        """Raise what made it fail, if anything did."""
        ...

    def shares(self, batch: EdgeBatch) -> list[Share]:
        """What each worker gets of a batch."""
        ...

    def branch_numbers(self) -> Collection[int]:
        """The numbers of its branches that run."""
        ...

    def require_stored(self) -> None:
        """Raise `NotSupported` where of its kind of programs nothing is stored."""
        ...

    def fork_to_store(self, *, reads_edges: bool) -> Branch:
        """Fork with its own parameters, and with the edges or without; under the order."""
        ...

    def is_at_rest(self) -> bool:
        """Whether its parts have applied everything that was posted and have converged on it."""
        ...

    def withdraw(self) -> None:
        """Remove its parts from the workers."""
        ...


def have_failed(loops: Sequence[ReadingLoop]) -> bool:
    """Whether there are loops, and none is left that has not failed."""
    return bool(loops) and all(loop.error is not None for loop in loops)
