"""What the log of pushes has when a stream begins again: whether its programs can take it, and how it is admitted once more."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..errors import InvalidArgument
from ..loop_views import RecordStreamView
from ..records.point_schema import Points
from ..records.record_batch import RecordBatch
from ..value_types import Mask
from .log_contract import PushLog


def has_refused(
    log: PushLog,
    stream: str,
    is_refused: Callable[[RecordBatch], Mask],
    *,
    after: Mapping[str, int],
    points: Points | None,
) -> bool:
    """Whether the log has a record that is refused, beyond these offsets of the sources; not while the log forgets."""
    return any(
        bool(is_refused(batch).any())
        for source in log.sources(stream)
        for _, batch in log.replay(stream, source, after=after.get(source, 0), points=points)
    )


def admit_again(stream: RecordStreamView, name: str, batch: RecordBatch, source: str, offset: int) -> None:
    """Admit a batch of the log, however long it takes; of an empty one the offset.

    Raises
    ------
    InvalidArgument
        When a program that was not there before cannot take it.
    """
    try:
        if len(batch):
            stream.admit(batch, source, offset, timeout_s=None)
        else:
            stream.advance(source, offset)
    except InvalidArgument as error:
        raise InvalidArgument(
            f"what was pushed to stream {name!r} before it was restarted cannot be taken: {error.message}",
            hint="Start the stream without that program, remove such records, and start the program beside the others.",
        ) from error
