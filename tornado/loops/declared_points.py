"""What the points of a stream are when it begins: as it is declared, and as its snapshot has them."""

from __future__ import annotations

from dataclasses import replace

from ..errors import InvalidArgument
from ..points.shards import require_workers
from ..points.warming import warm_points
from ..records.point_schema import Points
from ..storage import VersionedStore
from .admission_log import AdmissionLog
from .stored_snapshot import StoredSnapshot, StoredSnapshots
from .stream import RecordStream


def with_stored_width(points: Points, store: VersionedStore, stream: str) -> Points:
    """Return a declaration with as many features as the stream has in a store; as it is where that has none, or others in more than that.

    For sparse points of which nobody says how wide they are: files may have grown, and what was learnt from them is as wide as they were.

    Parameters
    ----------
    store
        Only read.
    stream
        Its name.

    Raises
    ------
    StoreCorrupt
        When what is stored cannot be read.
    """
    stored = StoredSnapshots(store, stream).newest()
    before = None if stored is None else stored.points
    if before is None:
        before = AdmissionLog(store, stream).points
    if before is None or not points.sparse or before != replace(points, features=before.features):
        return points
    return before


def declare_points(stream: RecordStream, stored: StoredSnapshot | None) -> None:
    """Have a stream that begins have the points that its snapshot has, or its log, and the workers ready for those that it has.

    Raises
    ------
    InvalidArgument
        When they are declared to be others, or there are more workers than share points.
    """
    if stored is not None and stored.points is not None:
        _require_same(stream, stored)
    elif stream.points is None and stream.log is not None:
        stream.points = stream.log.declared_points
    if stream.points is not None:
        require_workers(len(stream.workers))
        warm_points(stream.points.value_type.name)


def _require_same(stream: RecordStream, stored: StoredSnapshot) -> None:
    if stream.points is None:
        stream.points = stored.points
    elif stored.points != stream.points:
        raise InvalidArgument(
            f"stream {stream.name!r} cannot go on from its snapshot of version {stored.snapshot.version}: that has "
            f"{stored.points}, and the stream is declared to have {stream.points}",
            hint="Leave the declaration out, or name another stream or an empty store.",
        )
