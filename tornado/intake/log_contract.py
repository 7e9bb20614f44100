"""What makes pushed records durable, as those who take them in see it; `StorePushLog` is one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from ..ingest.interner import Interner
from ..records.point_schema import Points
from ..records.record_batch import RecordBatch
from .batch_columns import BatchColumns


class NameLog(Protocol):
    """Where the names of a stream's vertices are made durable before records that count on them; see `StoredNames`."""

    def load(self) -> Interner:
        """Return the names as they were saved last."""

    def save(self, interner: Interner) -> None:
        """Make durable what is new."""

    def refuse(self) -> None:
        """Raise `InvalidArgument` where the stream has names for its vertices."""


class PushLog(Protocol):
    """Where pushed records are made durable before they are acknowledged; see `StorePushLog`."""

    def names(self, stream: str) -> NameLog:
        """Return where the names of a stream's vertices go."""

    def columns(self, stream: str) -> BatchColumns:
        """Return where the columns of a stream's numbered batches go."""

    def append(
        self, stream: str, source: str, offset: int, batch: RecordBatch, *, number: int | None = None
    ) -> None:
        """Make a batch durable under the offset that it reaches."""

    def retract(self, stream: str, source: str, offset: int, *, number: int | None = None) -> None:
        """Empty the batch appended last; `offset` and `number` are where the source was before it."""

    def number(self, stream: str, source: str) -> int | None:
        """Return the number of the newest batch of a source, None where it has none."""

    def sources(self, stream: str) -> list[str]:
        """Return the sources of a stream that have a log."""

    def reached(self, stream: str) -> dict[str, int]:
        """Return those sources with the offset that each has reached."""

    def replay(
        self, stream: str, source: str, *, after: int, points: Points | None = None
    ) -> Iterator[tuple[int, RecordBatch]]:
        """Iterate over the batches that reach beyond an offset; `points` is what those of the stream are."""

    def forget(self, stream: str, source: str, *, up_to: int) -> None:
        """Drop batches that reach no further than an offset, but for the newest: it has the number."""
