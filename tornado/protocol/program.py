"""What a session asks of the vertex program whose vertices it holds.

The session decides *when* a value is gathered and at which iteration a vertex commits; what the values mean is the program's
business. The words are those of the Tornado paper (gather, scatter); `tornado.loops` adapts its vertex programs to this.
A program answers deterministically, and its gathers of one iteration commute: the protocol orders commits by iteration and
promises no order inside one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class SessionProgram(Protocol):
    """The vertices' side of a session. Each method answers for one vertex of the worker."""

    def touch(self, vertex: int, data: object) -> bool:
        """Gather an input that is no edge; return whether it matters, so that the vertex must commit."""
        ...

    def gather(
        self, vertex: int, producer: int, value: object, iteration: int, edges: Sequence[object]
    ) -> bool:
        """Gather `producer`'s commit over all `edges` (their data) from it; return whether it matters.

        The first gather of an edge is what the producer committed last; `value` is None where it never has.
        The value is absolute, so gathering the same commit again (a parallel edge was added) does no harm.
        """
        ...

    def drop(self, vertex: int, producer: int, data: object, edges: Sequence[object]) -> bool:
        """Drop an edge with `data`, of which `edges` are left; return whether that matters."""
        ...

    def scatter(self, vertex: int) -> object:
        """Return the value that the vertex commits now."""
        ...
