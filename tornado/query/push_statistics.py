"""What is pushed to a loop, counted by source, in the words that sources have which are pumped in."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Final

from ..errors import TornadoError
from ..ingest.ingester import IngesterState, IngesterStatistics

_RATE_WINDOW_S: Final = 5.0


class _Counts:
    def __init__(self, now_s: float) -> None:
        self.records = self.rejected = self.edges = self.offset = 0
        self.last_error: str | None = None
        self.began_s = now_s
        self.recent: deque[tuple[float, int]] = deque()


class PushedSources:
    """Counts what is pushed in this run.

    Parameters
    ----------
    clock : callable
        Seconds, for rates only.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._counts: dict[tuple[str, str], _Counts] = {}

    @contextmanager
    def noting(self, loop: str, source: str) -> Iterator[None]:
        """Note what makes a push fail; it goes on to whoever pushed."""
        try:
            yield
        except TornadoError as error:
            with self._lock:
                self._of(loop, source).last_error = str(error)
            raise

    def count(self, loop: str, source: str, *, records: int, rejected: int, edges: int, offset: int) -> None:
        """Count a push that is in."""
        with self._lock:
            one = self._of(loop, source)
            one.records += records
            one.rejected += rejected
            one.edges += edges
            one.offset = offset
            one.recent.append((self._clock(), records))
            self._forget_old(one)

    def statistics(self, loop: str) -> list[IngesterStatistics]:
        """Return a record of every source of a loop. None lags: what is not in was refused, and whoever sent it knows."""
        with self._lock:
            return [
                IngesterStatistics(
                    source=source,
                    state=IngesterState.RUNNING,
                    records=one.records,
                    accepted=one.records - one.rejected,
                    rejected=one.rejected,
                    edges=one.edges,
                    offset=one.offset,
                    rows_per_s=self._rows_per_s(one),
                    read_ahead_batches=0,
                    last_error=one.last_error,
                    lag_records=0,
                )
                for (name, source), one in sorted(self._counts.items())
                if name == loop
            ]

    def _of(self, loop: str, source: str) -> _Counts:
        return self._counts.setdefault((loop, source), _Counts(self._clock()))

    def _rows_per_s(self, one: _Counts) -> float:
        self._forget_old(one)
        seconds = min(_RATE_WINDOW_S, self._clock() - one.began_s)
        # What came in one push a moment ago is no measure of a rate yet.
        return sum(records for _, records in one.recent) / max(seconds, 1.0)

    def _forget_old(self, one: _Counts) -> None:
        oldest = self._clock() - _RATE_WINDOW_S
        while one.recent and one.recent[0][0] < oldest:
            one.recent.popleft()
