"""What only a streaming query knows of itself, told to the service: lag, rejected records, and why it ended.

The service sees what is written, and by it shows records, offset and rows/s. What a pipeline sorted out before, and what still
lies in its source, it hears from here, after each batch. Nothing depends on it: a report that does not arrive is left out.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from threading import Lock
from typing import Any

from pyspark.sql.streaming.listener import StreamingQueryListener

from ...errors import TornadoError
from .remote_loop import RemoteLoop

_TIMEOUT_S = 1.0
_REJECTED = "rejected"
_ERROR_CHARACTERS = 500


class StreamingQueryReporter(StreamingQueryListener):
    """Tells one loop of some queries, named by their ids; see `report_spark`."""

    def __init__(self, queries: set[str], url: str, loop: str, token: str | None) -> None:
        self._queries = queries
        self._url = url
        self._loop = loop
        self._token = token
        self._rejected: dict[str, int] = {}
        self._lag: dict[str, int | None] = {}
        self._lock = Lock()

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802  Spark's name
        """Tell nothing: nothing is known yet."""

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802  as above
        """Tell nothing: nothing has changed."""

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802  as above
        """Tell what a batch brought."""
        progress = event.progress
        query = str(progress.id)
        if query not in self._queries:
            return
        observed = (row.asDict().get(_REJECTED) or 0 for row in progress.observedMetrics.values())
        late = (operator.numRowsDroppedByWatermark for operator in progress.stateOperators)
        with self._lock:
            self._rejected[query] = self._rejected.get(query, 0) + sum(observed) + sum(late)
            self._lag[query] = lag_of(
                [(source.endOffset, source.latestOffset) for source in progress.sources]
            )
        self._send(query, None)

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802  as above
        """Tell why it ended, if it failed."""
        query = str(event.id)
        if query in self._queries and event.exception:
            # On one line, as tables and metrics show it.
            self._send(query, " ".join(str(event.exception)[:_ERROR_CHARACTERS].split()))

    def _send(self, query: str, error: str | None) -> None:
        with (
            contextlib.suppress(TornadoError),
            RemoteLoop(self._url, self._loop, token=self._token, timeout_s=_TIMEOUT_S) as loop,
        ):
            loop.report(
                f"spark:{query}",
                rejected=self._rejected.get(query, 0),
                lag_records=self._lag.get(query),
                last_error=error,
            )


def lag_of(sources: Sequence[tuple[str | None, str | None]]) -> int | None:
    """Return how many records sources have that are not read, by Kafka's offsets (where they are and where they could be).

    Examples
    --------
    >>> lag_of([('{"t": {"0": 5, "1": 1}}', '{"t": {"0": 9, "1": 1}}')])
    4
    >>> lag_of([('{"logOffset": 3}', None)]) is None
    True
    """
    total = None
    for read, newest in sources:
        try:
            ends = json.loads(newest or "")
            begun = json.loads(read or "{}")
            lag = sum(
                end - begun.get(topic, {}).get(partition, 0)
                for topic, partitions in ends.items()
                for partition, end in partitions.items()
            )
        except (ValueError, TypeError, AttributeError):
            continue
        total = lag + (total or 0)
    return total
