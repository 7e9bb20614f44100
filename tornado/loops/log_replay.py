"""A stream goes on where its log ends: behind its base it goes through what was admitted, under the same versions.

Nobody forks meanwhile, so what stands one behind the other in the log is admitted as one batch: a million pushes of one record
each are no slower than one of a million.
"""

from __future__ import annotations

from ..errors import InvalidArgument, StoreCorrupt
from ..records.record_batch import RecordBatch
from .admission_log import AdmissionLog, in_stretches
from .stream import RecordStream
from .vertex_program import first_refused


def go_on(stream: RecordStream) -> None:
    """Admit again what the log has behind the base that the stream began with.

    Raises
    ------
    InvalidArgument
        When a program cannot take a record, or points are not declared as they were.
    StoreCorrupt
        When the log cannot be read.
    """
    base, _, _ = stream.counts()
    if stream.log is not None:
        _require_log(stream, stream.log)
        for stretch in in_stretches(stream.log.replay(after=base, points=stream.points)):
            _require_possible(stream, stretch.batch)
            stream.admit_logged(stretch.batch, stretch.offsets, stretch.version)
    if base and stream.checkpointed is None and stream.counts()[0] == base:
        # Other values on the same graph are another version: what is stored stays what it is.
        with stream.pause(), stream.order:
            stream.begin_version()


def _require_log(stream: RecordStream, log: AdmissionLog) -> None:
    """Refuse a base whose log is gone: what was acknowledged behind the base would be missing in silence."""
    stored = stream.stored.newest()
    if stored is not None and log.newest < stored.logged:
        ends = f"ends at version {log.newest}" if log.groups else "is not there"
        raise StoreCorrupt(
            f"the log of stream {stream.name!r} {ends}, and was written up to version {stored.logged} when the snapshot of version "
            f"{stored.snapshot.version} was stored, which is intact",
            hint="Begin with a backup of the store (`tornado backup`), or with an empty store.",
        )


def _require_possible(stream: RecordStream, batch: RecordBatch) -> None:
    for loop in stream.running:
        found = first_refused(loop.program, batch)
        if found is not None:
            raise InvalidArgument(
                f"what was sent to stream {stream.name!r} before it was restarted has the record {found[1]}, which is nothing for "
                f"{type(loop.program).__name__} of loop {loop.name!r}: {found[2]}",
                hint="Start the stream without that program, remove such records, and start the program beside the others.",
            )
