"""Whether a stream was undirected from its first record on, which its store remembers.

Where it was, every record has come with the same one the other way round, so loops whose vertices hear along both directions need
no reverse lists. What came before is not told by how a stream is started again.
"""

from __future__ import annotations

import logging

from ..storage import VersionedStore

_log = logging.getLogger(__name__)


def stays_undirected(store: VersionedStore, stream: str, *, wanted: bool) -> bool:
    """Return whether a stream that starts with `wanted` is undirected: it must have been from the beginning.

    Examples
    --------
    >>> from tornado.storage import MemoryStore
    >>> store = MemoryStore()
    >>> [stays_undirected(store, "roads", wanted=wanted) for wanted in (True, True, False, True)]
    [True, True, False, False]
    """
    line = f"{stream}/undirected"
    said = store.versions(line)
    was = bool(said) and store.metadata(line, said[-1]) == b"yes"
    left = store.loops()  # by records: snapshots, numbers of versions, and what was pushed
    has_records = stream in left or f"{stream}/versions" in left
    has_records = has_records or any(line.startswith(f"{stream}/pushed/") for line in left)
    now = wanted and (was or not (said or has_records))
    is_other = has_records and (not said if wanted else was)
    if is_other:
        _log.warning(
            "stream %s was %s before, as far as its store says: what comes from now on is %s, and what came stays as it came",
            stream,
            *(("directed", "undirected") if wanted else ("undirected", "directed")),
        )
    if now != was or is_other:
        store.write(line, len(said) + 1, {}, metadata=b"yes" if now else b"no")
    return now


class ReverseListsGone(Exception):
    """Nobody hears along the reverse lists any more that a loop was to hear along; it can be begun again, with new ones."""
