"""How the sources stand whose records are pushed: counted as they come in, with what only their sender knows beside it.

The service sees records, offsets and rates. What was sorted out before, and what still waits to be sent, it knows where the
sender says so (`PushedSources.report`), as a pipeline in Spark does.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

from ..ingest.ingester import IngesterState, IngesterStatistics

_RATE_WINDOW_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SenderReport:
    """What only the sender of a source knows.

    Attributes
    ----------
    rejected : int
        Records that it sorted out in this run, which the service never saw.
    lag_records : int or None
        How many records it has still to send, where that is known.
    last_error : str or None
        Why it ended.
    """

    rejected: int = 0
    lag_records: int | None = None
    last_error: str | None = None


@dataclass(slots=True)
class _Source:
    began_s: float
    accepted: int = 0
    rejected: int = 0
    offset: int = 0
    recent: deque[tuple[float, int]] = field(default_factory=deque)
    report: SenderReport = field(default_factory=SenderReport)


class PushedSources:
    """The sources of all loops of a service that records were pushed under, or reported of, since it started.

    Parameters
    ----------
    clock : callable
        Seconds, for rates only.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._sources: dict[tuple[str, str], _Source] = {}

    def took(self, loop: str, source: str, *, accepted: int, rejected: int, offset: int) -> None:
        """Count what one call brought."""
        with self._lock:
            found = self._source(loop, source)
            found.accepted += accepted
            found.rejected += rejected
            found.offset = offset
            found.recent.append((self._clock(), accepted + rejected))
            self._forget_old(found)

    def report(self, loop: str, source: str, report: SenderReport) -> None:
        """Take what the sender says, in place of what it said before."""
        with self._lock:
            self._source(loop, source).report = report

    def statistics(self, loop: str) -> list[IngesterStatistics]:
        """Return a record of each source of a loop, by name."""
        with self._lock:
            named = sorted((source, found) for (of, source), found in self._sources.items() if of == loop)
            return [self._statistics(source, found) for source, found in named]

    def _source(self, loop: str, source: str) -> _Source:
        return self._sources.setdefault((loop, source), _Source(self._clock()))

    def _statistics(self, source: str, found: _Source) -> IngesterStatistics:
        self._forget_old(found)
        seconds = min(_RATE_WINDOW_S, self._clock() - found.began_s)
        rejected = found.rejected + found.report.rejected
        return IngesterStatistics(
            source=source,
            state=IngesterState.RUNNING if found.report.last_error is None else IngesterState.FAILED,
            records=found.accepted + rejected,
            accepted=found.accepted,
            rejected=rejected,
            edges=found.accepted,
            offset=found.offset,
            rows_per_s=sum(records for _, records in found.recent) / max(seconds, 1e-9),
            read_ahead_batches=0,
            last_error=found.report.last_error,
            lag_records=found.report.lag_records,
        )

    def _forget_old(self, found: _Source) -> None:
        oldest_s = self._clock() - _RATE_WINDOW_S
        while found.recent and found.recent[0][0] < oldest_s:
            found.recent.popleft()
