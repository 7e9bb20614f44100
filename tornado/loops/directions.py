"""Whether a stream is undirected, which it is from its first record on or never, as its store remembers.

Of an undirected stream every record has come with the same one the other way round, so loops whose vertices hear along both directions
need no reverse lists, and a window counts two edges as one record. With records of both sorts neither would be so any more.
"""

from __future__ import annotations

from ..errors import InvalidArgument
from ..storage import VersionedStore


def stays_undirected(store: VersionedStore, stream: str, *, wanted: bool) -> bool:
    """Return whether a stream that starts with `wanted` has been undirected from its first record on.

    Raises
    ------
    InvalidArgument
        When its records have come the other way. Of those that a store has from before it remembered this nothing is known.

    Examples
    --------
    >>> from tornado.storage import MemoryStore
    >>> store = MemoryStore()
    >>> [stays_undirected(store, "roads", wanted=wanted) for wanted in (True, False, True)]
    [True, False, True]
    """
    line = f"{stream}/undirected"
    said = store.versions(line)
    was = store.metadata(line, said[-1]) == b"yes" if said else None
    if not _has_records(store, stream):
        if was != wanted:
            store.write(line, len(said) + 1, {}, metadata=b"yes" if wanted else b"no")
        return wanted
    if was is None:
        return False
    if was != wanted:
        began, goes_on = ("undirected", "directed") if was else ("directed", "undirected")
        raise InvalidArgument(
            f"stream {stream!r} has records that came as {began} edges, and would go on with {goes_on} ones",
            hint=f"Start it {'with' if was else 'without'} --undirected, as before; or name another stream or an empty store.",
        )
    return was


def _has_records(store: VersionedStore, stream: str) -> bool:
    """Whether a store has snapshots of a stream, numbers of versions, or what was pushed."""
    left = store.loops()
    return (
        stream in left
        or f"{stream}/versions" in left
        or any(line.startswith(f"{stream}/pushed/") for line in left)
    )


class ReverseListsGone(Exception):
    """Nobody hears along the reverse lists any more that a loop was to hear along; it can be begun again, with new ones."""
