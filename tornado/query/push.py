"""Edges that are pushed (over HTTP, or by `insert`) instead of read from a source: numbering and admission, one call at a time.

A pushed source has no position of its own, so its offset is counted here: records accepted and quarantined since the loop
began, going on from what the loop's newest snapshot names. One lock per (loop, source) keeps offsets in the order of
admission. Where the store is durable a log takes the records first (`PushLog`), so that what was acknowledged outlives a
crash.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import Protocol

import numpy as np

from ..errors import InvalidArgument
from ..ingest.parsed import ParsedBatch
from ..ingest.quarantine import Quarantine
from ..ingest.records import SYMBOLS, EdgeBatch
from .contract import MainLoopView


class PushLog(Protocol):
    """Where pushed records are made durable before they are acknowledged."""

    def append(self, loop: str, source: str, offset: int, batch: EdgeBatch) -> None:
        """Make a batch durable under the offset that it reaches.

        Called before the batch is admitted, in order. A batch that is then refused is taken back with `retract`.
        """

    def retract(self, loop: str, source: str, offset: int) -> None:
        """Forget the last batch: the loop did not take it."""


@dataclass(frozen=True, slots=True)
class Pushed:
    """What became of one call: records in, records quarantined, and the offsets of the source after it."""

    accepted: int
    rejected: int
    offsets: dict[str, int]
    version: int | None


class Pusher:
    """Admits pushed edges into the loops of one service.

    Parameters
    ----------
    quarantine : Quarantine, optional
        Where malformed records go; without one the latest are kept in memory.
    log : PushLog, optional
        Where records are made durable first.
    timeout_s : float
        How long an admission waits for a loop that lags.
    """

    def __init__(
        self, *, quarantine: Quarantine | None = None, log: PushLog | None = None, timeout_s: float = 30.0
    ) -> None:
        self.quarantine = quarantine or Quarantine(None)
        self._log = log
        self._timeout_s = timeout_s
        self._locks: dict[tuple[str, str], Lock] = {}
        self._offsets: dict[tuple[str, str], int] = {}
        self._guard = Lock()

    def push(self, loop: MainLoopView, source: str, parsed: ParsedBatch) -> Pushed:
        """Admit the good records of a body and quarantine the others. Blocks while the loop lags.

        Raises
        ------
        QueueFull
            When the loop did not take them in time; nothing was admitted, and the same body may be sent again.
        """
        bad, reason = loop.program.check(parsed.batch)
        parsed = parsed.without(np.asarray(bad, dtype=np.bool_), reason)
        with self._lock(loop.name, source):
            before = self._offset(loop, source)
            offset = before + parsed.records
            # Before the admission: after a crash a record may stand in the quarantine twice, and is never missing.
            self.quarantine.write(source, parsed.shifted(before).rejected)
            version = self._admit(loop, source, parsed.batch, offset) if parsed.records else None
            return Pushed(parsed.accepted, len(parsed.rejected), {source: offset}, version)

    def insert(self, loop: MainLoopView, source: str, batch: EdgeBatch) -> int:
        """Admit a batch as a whole or, with an error that names the first bad entry, nothing of it; return the version.

        Raises
        ------
        InvalidArgument
            When the program refuses an entry.
        QueueFull
            When the loop lags for longer than the timeout.
        """
        bad, reason = loop.program.check(batch)
        refused = np.flatnonzero(bad)
        if len(refused):
            raise InvalidArgument(
                f"entry {refused[0]} is {describe(batch, int(refused[0]))}: {reason}",
                hint="Mend that entry and repeat the call: none of it was taken.",
            )
        with self._lock(loop.name, source):
            return self._admit(loop, source, batch, self._offset(loop, source) + len(batch))

    def _admit(self, loop: MainLoopView, source: str, batch: EdgeBatch, offset: int) -> int:
        if self._log is not None and len(batch):
            self._log.append(loop.name, source, offset, batch)
        try:
            if len(batch):
                version = loop.admit(batch, source, offset, timeout_s=self._timeout_s)
            else:
                loop.advance(source, offset)
                version = int(loop.statistics().version)
        except BaseException:
            if self._log is not None and len(batch):
                self._log.retract(loop.name, source, offset)
            raise
        self._offsets[loop.name, source] = offset
        return version

    def _offset(self, loop: MainLoopView, source: str) -> int:
        known = self._offsets.get((loop.name, source))
        return loop.offsets().get(source, 0) if known is None else known

    def _lock(self, loop: str, source: str) -> Lock:
        with self._guard:
            return self._locks.setdefault((loop, source), Lock())


def describe(batch: EdgeBatch, index: int) -> str:
    """Return one record as a person reads it.

    Examples
    --------
    >>> describe(EdgeBatch.of([1], [2], [-3.0]), 0)
    '+ 1 -> 2 (weight -3.0)'
    """
    weight = batch.weight[index].item()
    return f"{SYMBOLS[batch.op[index].item()]} {batch.src[index]} -> {batch.dst[index]} (weight {weight!r})"
