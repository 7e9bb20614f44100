"""The kinds of calls that routes make off the event loop; `/healthz` and `/readyz` make none.

Two calls are of one kind where they wait for the same and a caller can do without both: forks wait for the lock of the order,
looks for workers, pushes for loops that lag. So a loop that is restored stops forks, and whoever cancels or looks goes on.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Self

from .bulkhead import Bulkhead
from .http_requests import HttpLimits

_STARTED_WITHIN_S = 60.0
_RESCALED_WITHIN_S = 600.0
_MOVED = "It goes on; `GET /v1/loops` shows how many workers there are."
_PUSHED = "Whether it was admitted shows in the offsets of the loop, once it answers; send it again where it was not."


@dataclass(frozen=True, slots=True, kw_only=True)
class Bulkheads:
    """See the module.

    Attributes
    ----------
    looks
        How loops and sources stand, what is stored, metrics.
    progress
        How far queries are.
    listings
        Lists of queries as they are known: nobody is asked.
    forks
        Exact questions of now.
    loads
        Those of stored snapshots, which load what is stored: until the deadline of the question itself.
    reads
        Approximate ones.
    cancels
        Ends of queries.
    adoptions
        What queries have found, taken over by their loops.
    results
        Values of answers.
    admissions
        What is pushed, in bodies and batches.
    histories
        What those keep who follow a loop.
    starts
        Loops that are started, compiling included, and removed.
    rescales
        Loops that are put on other workers: a snapshot is stored, and loaded.
    """

    looks: Bulkhead
    progress: Bulkhead
    listings: Bulkhead
    forks: Bulkhead
    loads: Bulkhead
    reads: Bulkhead
    cancels: Bulkhead
    adoptions: Bulkhead
    results: Bulkhead
    admissions: Bulkhead
    histories: Bulkhead
    starts: Bulkhead
    rescales: Bulkhead

    @classmethod
    def of(cls, limits: HttpLimits) -> Self:
        """Return those of one server."""
        look_s, ask_s, read_s = limits.look_timeout_s, limits.ask_timeout_s, limits.read_timeout_s
        return cls(
            looks=Bulkhead("look at loops", threads=8, deadline_s=look_s),
            # Half of a look: what is known is answered where this does not come.
            progress=Bulkhead("look at queries", threads=8, deadline_s=look_s / 2),
            listings=Bulkhead("list of queries", threads=4, deadline_s=ask_s),
            forks=Bulkhead("fork of a branch", threads=16, deadline_s=ask_s),
            loads=Bulkhead("fork of a stored snapshot", threads=8, deadline_s=ask_s),
            reads=Bulkhead("approximate read", threads=8, deadline_s=ask_s),
            cancels=Bulkhead("end of a query", threads=8, deadline_s=ask_s),
            adoptions=Bulkhead("adoption of an answer", threads=8, deadline_s=ask_s),
            results=Bulkhead("read of a result", threads=16, deadline_s=read_s),
            admissions=Bulkhead("admission", threads=32, deadline_s=limits.admission_timeout_s, hint=_PUSHED),
            histories=Bulkhead("read of kept answers", threads=8, deadline_s=read_s),
            starts=Bulkhead("start of a loop", threads=2, deadline_s=_STARTED_WITHIN_S),
            rescales=Bulkhead("rescale of a stream", threads=4, deadline_s=_RESCALED_WITHIN_S, hint=_MOVED),
        )

    def close(self) -> None:
        """End the threads."""
        for one in fields(self):
            getattr(self, one.name).close()
