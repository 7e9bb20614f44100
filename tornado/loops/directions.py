"""Whether a stream was undirected from its first record on, which its store remembers.

Where it was, every record has come with the same one the other way round, so loops whose vertices hear along both directions need
no reverse lists. What came before is not told by how a stream is started again.
"""

from __future__ import annotations

import logging

from ..storage import VersionedStore

# What a line says of the newest start: that it and all before it were undirected, that it alone was, or that it was not.
_UNDIRECTED, _NOW_UNDIRECTED, _DIRECTED = b"yes", b"now", b"no"

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
    left = store.loops()  # by records: snapshots, numbers of versions, and what was pushed
    has_records = stream in left or f"{stream}/versions" in left
    has_records = has_records or any(line.startswith(f"{stream}/pushed/") for line in left)
    before = store.metadata(line, said[-1]) if said else _DIRECTED if has_records else None
    now = _DIRECTED if not wanted else _UNDIRECTED if before in {_UNDIRECTED, None} else _NOW_UNDIRECTED
    if now != (before or _DIRECTED):
        store.write(line, len(said) + 1, {}, metadata=now)
    if has_records and wanted != (before in {_UNDIRECTED, _NOW_UNDIRECTED}):
        _log.warning(
            "stream %s was started as %s before: records that come from now on are %s, and those before them stay as they came",
            stream,
            *(("directed", "undirected") if wanted else ("undirected", "directed")),
        )
    return now == _UNDIRECTED


class ReverseListsGone(Exception):
    """Nobody hears along the reverse lists any more that a loop was to hear along; it can be begun again, with new ones."""
