"""How the sources of a stream stand whose records are pushed: counted as they come in, with what only their sender knows beside it.

The service sees records, offsets and rates. What was sorted out before, and what still waits to be sent, it knows where the
sender says so (`PushedSources.report`), as a pipeline in Spark does.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock

from ..clock import Clock
from ..errors import TornadoError
from ..ingest.ingester import IngesterState, IngesterStatistics

_RATE_WINDOW_S = 5.0


@dataclass(frozen=True, slots=True)
class Pushed:
    """What became of one call: records in, records quarantined, and the offsets of the source after it."""

    accepted: int
    rejected: int
    offsets: dict[str, int]
    version: int | None
    is_repeated: bool = False


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
    records: int = 0
    rejected: int = 0
    edges: int = 0
    offset: int = 0
    last_error: str | None = None
    recent: deque[tuple[float, int]] = field(default_factory=deque)
    report: SenderReport | None = None


class PushedSources:
    """The sources of one stream that records were pushed under, or reported of, since it began.

    Parameters
    ----------
    clock : Clock
        For rates only.
    """

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._lock = Lock()
        self._sources: dict[str, _Source] = {}

    @contextmanager
    def noting(self, source: str) -> Iterator[None]:
        """Note the error of a push that fails in the context, and raise it again."""
        try:
            yield
        except TornadoError as error:
            with self._lock:
                self._source(source).last_error = str(error)
            raise

    def count(self, source: str, *, records: int, rejected: int, edges: int, offset: int) -> None:
        """Count a push that is in."""
        with self._lock:
            found = self._source(source)
            found.records += records
            found.rejected += rejected
            found.edges += edges
            found.offset = offset
            found.recent.append((self._clock.monotonic(), records))
            self._forget_old(found)

    def report(self, source: str, report: SenderReport) -> None:
        """Take what the sender says, in place of what it said before."""
        with self._lock:
            self._source(source).report = report

    def statistics(self) -> list[IngesterStatistics]:
        """Return a record of each source, by name."""
        with self._lock:
            return [self._statistics(source, self._sources[source]) for source in sorted(self._sources)]

    def _source(self, source: str) -> _Source:
        return self._sources.setdefault(source, _Source(self._clock.monotonic()))

    def _statistics(self, source: str, found: _Source) -> IngesterStatistics:
        self._forget_old(found)
        seconds = min(_RATE_WINDOW_S, self._clock.monotonic() - found.began_s)
        # Of what was not reported nothing lags: what is not in was refused, and whoever sent it knows.
        report = found.report or SenderReport(lag_records=0)
        return IngesterStatistics(
            source=source,
            state=IngesterState.RUNNING if report.last_error is None else IngesterState.FAILED,
            records=found.records + report.rejected,
            accepted=found.records - found.rejected,
            rejected=found.rejected + report.rejected,
            edges=found.edges,
            offset=found.offset,
            # What came in one push a moment ago is no measure of a rate yet.
            rows_per_s=sum(records for _, records in found.recent) / max(seconds, 1.0),
            read_ahead_batches=0,
            last_error=report.last_error or found.last_error,
            lag_records=report.lag_records,
        )

    def _forget_old(self, found: _Source) -> None:
        oldest_s = self._clock.monotonic() - _RATE_WINDOW_S
        while found.recent and found.recent[0][0] < oldest_s:
            found.recent.popleft()
