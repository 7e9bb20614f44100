"""Which sources of numbered batches a stream has: their names are chosen by clients, so there may only be so many."""

from __future__ import annotations

from collections.abc import Callable, Collection
from threading import Lock

from ..config import MOST_BATCH_SOURCES
from ..errors import InvalidArgument
from ..ingest.source_names import SourceKind, kind_of


class BatchSources:
    """See the module. From any thread.

    Parameters
    ----------
    stream : str
        Its name.
    logged
        Returns the sources of which the log has records; asked once, when a source comes.
    """

    def __init__(self, stream: str, logged: Callable[[], Collection[str]]) -> None:
        self._stream = stream
        self._logged = logged
        self._known: set[str] | None = None
        self._guard = Lock()

    def let_in(self, source: str) -> None:
        """Count a source of batches, or refuse it.

        Raises
        ------
        InvalidArgument
            When the stream has as many as it may, and this is none of them.
        """
        with self._guard:
            self._require_room(source, ())
            self._all().add(source)

    def require_room(self, source: str, others: Collection[str]) -> None:
        """Refuse a further source where there are as many as may be; `others` count as well.

        Raises
        ------
        InvalidArgument
            When there are.
        """
        with self._guard:
            self._require_room(source, others)

    def _require_room(self, source: str, others: Collection[str]) -> None:
        known = self._all()
        if source in known or source in others:
            return
        count = len(known) + sum(other not in known for other in others)
        if count >= MOST_BATCH_SOURCES:
            raise InvalidArgument(
                f"loop {self._stream!r} has {count} sources of batches, of {MOST_BATCH_SOURCES} that a loop may have, and "
                f"{source!r} is none of them",
                hint="Write with a streaming query, which is one source however often it runs (in Spark: a checkpointLocation "
                "that stays).",
            )

    def _all(self) -> set[str]:
        if self._known is None:
            self._known = {one for one in self._logged() if kind_of(one) is SourceKind.BATCHES}
        return self._known
