"""The window that a stream begins with: whether it can have one, and whether it had another before it was restarted."""

from __future__ import annotations

from ..clock import Clock
from ..errors import InvalidArgument, NotSupported
from ..records.window_width import WindowWidth
from ..storage import VersionedStore
from .admission_log import AdmissionLog
from .stream import RecordStream
from .window import Window


def window_of(
    stream: RecordStream,
    width: WindowWidth | None,
    store: VersionedStore,
    clock: Clock,
    *,
    is_undirected: bool,
) -> Window | None:
    """Make the window of a stream that begins; None where it is to have none.

    Parameters
    ----------
    width
        How wide it is to be; another one than before the restart will do, in the same kind of unit.
    store
        Of the stream. In one that is gone with the process the log is kept for the window alone.
    is_undirected
        Whether each record is two edges from now on, whatever those before it were.

    Raises
    ------
    InvalidArgument
        When edges are stored of which the window would not know when they came, or that would never leave without one.
    NotSupported
        When the stream has points.
    """
    if width is None:
        if stream.log is not None and stream.log.window is not None:
            raise InvalidArgument(
                f"stream {stream.name!r} had a window before it was restarted, and its edges would stay for ever without one",
                hint="Name a window (--window; another width of the same kind will do), or another stream or an empty store.",
            )
        return None
    if stream.points is not None:
        raise NotSupported(
            f"stream {stream.name!r} has points, and a window ({width}) is one of edges",
            hint="Leave the window out; a program that learns can forget by its own parameters.",
        )
    newest = stream.stored.newest()
    # One of version 0 is of a service that ended before anything came.
    is_stored = newest is not None and newest.snapshot.version > 0
    log = stream.log
    if log is None:
        store.drop(f"{stream.name}/log")
        log = AdmissionLog(store, stream.name)
    if is_stored and not log.groups:
        raise InvalidArgument(
            f"stream {stream.name!r} has a snapshot without a log, so when its edges came is not known, and its window is {width}",
            hint="Name another stream or an empty store.",
        )
    return Window(
        width, log, clock, stream.name, is_durable=stream.log is not None, is_undirected=is_undirected
    )
