"""Which prefix of the input a state belongs to, and how far its loop was."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A named cut.

    Attributes
    ----------
    stream
        The name of the stream whose prefix it is.
    offsets
        Records of each source that are in or quarantined.
    instant
        When it was asked for (UTC).
    version
        Its number: of two prefixes of a loop the greater is the later one, also after a restart.
    iteration
        The greatest iteration that the main loop had committed.
    delay_bound
        B of the loop; None is unbounded.
    is_durable
        Whether the prefix was in a store that outlives the process when it was named.
    """

    stream: str
    offsets: dict[str, int]
    instant: datetime
    version: int
    iteration: int
    delay_bound: int | None
    is_durable: bool = False
