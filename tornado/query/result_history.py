"""Exact results that a reader has been told of, kept until it has read what changed between them.

Whoever follows a loop asks for an exact answer now and then, and wants only what is new in it; after a crash it asks again for
the same stretch, and must get the same rows. So what it is told by each answer that it will refer to is stored first, whole, as one
version of a line of its own (`LOOP/readers/COMPUTES/READER`), under the version of the loop that it is for: the value that it was told of
each vertex last, and the names of groups (`following.py`). Both depend on what it was told before, which is said when an answer is kept.
The difference of two answers is computed when it is read, and one is let go of when the reader says that it has read beyond it.

Guarantees: the changes between two versions are the same whenever they are read, after a restart on a durable store too; a
version that is no longer there is an error, never another answer, nor one of another loop that had the name before; a reader is of the
token that made it, and another one that only reads neither adds to it nor takes from it. Left out on purpose: storing differences. They
would be smaller, and could not be read from anywhere but the version before.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from threading import Lock

import numpy as np

from ..clock import Clock
from ..errors import InvalidArgument, StoreCorrupt
from ..storage.versioned_store import VersionedStore
from ..value_types import FLOAT64, INT64, Ids, ValueArray
from .callers import ANYBODY, Caller
from .following import Difference, Told
from .group_names import Grouping
from .rows import AnswerForm

READERS = 16
# The key says of what type the values are; a version has one of the two.
_KEYS = {FLOAT64: b"values", INT64: b"values/int64"}
# What groups are called whose name is not their label: labels, then names.
_NAMES = b"names"
# Of which version the reader was told before.
_AFTER = b"after"
# The hash of the token whose reader it is.
_OWNER = b"owner"
_ROW_BYTES = 16


_BEGIN_ANEW = "The loop began anew, or others read it since. Begin anew too: a Spark query with a new checkpointLocation."


class ResultHistory:
    """Results in a store, by loop and reader.

    Parameters
    ----------
    store : VersionedStore
        Not ours to close.
    readers : int
        So many readers a loop may have; beyond it, of those of the token that has the most the one that asked last the longest ago loses its
        results.
    clock : Clock
        By whose calendar, which survives a restart, that is.
    """

    def __init__(self, store: VersionedStore, *, readers: int = READERS, clock: Clock) -> None:
        self._store = store
        self._readers = readers
        self._clock = clock
        self._lock = Lock()

    def keep(
        self,
        loop: str,
        reader: str,
        version: int,
        ids: Ids,
        values: ValueArray,
        *,
        form: AnswerForm,
        after: int | None = None,
        moved_by: float = 0.0,
        by: Caller = ANYBODY,
    ) -> None:
        """Store what a reader is told by an exact result. One that is kept already, behind the same one, stays as it is.

        Parameters
        ----------
        version : int
            Of the loop, that it is for.
        ids, values : int64[n], float64[n] or int64[n]
            Every vertex once, ascending.
        form : AnswerForm
            Of the loop.
        after : int, optional
            What the reader was told before: the version of a result that is kept, or 0 for nothing; left out, the newest before
            this one.
        moved_by : float
            By how much a number must have moved from what was told to be told again.
        by : Caller
            Whose the reader is from now on, where it is nobody's.

        Raises
        ------
        Forbidden
            When it is another's.
        InvalidArgument
            When the reader has one of a later version, as `after` or otherwise: the loop began anew. Or `after` is not kept.
        StoreError
            When it cannot be stored.
        """
        line = _line(loop, reader, form)
        with self._lock:
            kept = self._store.versions(line)
            owner = self._checked_owner(line, kept, reader, by)
            if after is not None and after > version:
                raise InvalidArgument(
                    f"the answer is of version {version} of loop {loop!r}, but the reader {reader!r} was told of version {after}",
                    hint=_BEGIN_ANEW,
                )
            if version in kept and (after in (None, version) or after == self._after(line, version)):
                return
            if after is None:
                after = max((other for other in kept if other < version), default=0)
            told = Told.first(ids, values, form)
            if after:
                told = self._read(loop, reader, after, form).next(ids, values, form, moved_by=moved_by)
            if not kept:
                self._make_room(loop, owner)
            moment = repr(self._clock.now().timestamp()).encode()
            items, deletes = _pages(told)
            items[_AFTER] = str(after).encode()
            if owner is not None:
                items[_OWNER] = owner
            self._store.write(line, version, items, deletes=deletes, metadata=moment)

    def changes(self, loop: str, reader: str, after: int, up_to: int, *, form: AnswerForm) -> Difference:
        """Return what is new at `up_to` for a reader that was told of `after`. Version 0 is the loop before its first record.

        Raises
        ------
        InvalidArgument
            When one of the two results is not kept.
        """
        now = self._read(loop, reader, up_to, form)
        return Difference(self._read(loop, reader, after, form) if after else None, now, form)

    def forget(self, loop: str, reader: str, before: int, *, form: AnswerForm, by: Caller = ANYBODY) -> None:
        """Delete the results before a version.

        Raises
        ------
        Forbidden
            When the reader is another's.
        """
        line = _line(loop, reader, form)
        with self._lock:
            kept = self._store.versions(line)
            self._checked_owner(line, kept, reader, by)
            if kept:
                self._store.delete_before(line, before)

    def forget_loop(self, loop: str) -> None:
        """Delete what all readers of a loop were told, and of those that had its name before.

        Raises
        ------
        StoreError
            When it cannot be deleted.
        """
        with self._lock:
            for line in self._lines(loop):
                self._store.drop(line)

    def _read(self, loop: str, reader: str, version: int, form: AnswerForm) -> Told:
        line = _line(loop, reader, form)
        kept = self._store.versions(line)
        if version not in kept:
            raise InvalidArgument(
                f"the result of loop {loop!r} at version {version} is not kept for the reader {reader!r}, which has "
                + (", ".join(map(str, kept)) or "none"),
                hint=_BEGIN_ANEW,
            )
        for dtype, key in _KEYS.items():
            page = self._store.read(line, key, version)
            if page is not None and not len(page) % _ROW_BYTES:
                count = len(page) // _ROW_BYTES
                ids = np.frombuffer(page, np.int64, count)
                values: ValueArray = np.frombuffer(page, dtype, count, 8 * count)
                told = Told.first(ids, values, form)
                names = self._store.read(line, _NAMES, version)
                return told if told.grouping is None or not names else _renamed(told, told.grouping, names)
        raise StoreCorrupt(f"the line {line} has no result at version {version}")

    def _after(self, line: str, version: int) -> int | None:
        page = self._store.read(line, _AFTER, version)
        return None if page is None else int(page)

    def _checked_owner(self, line: str, kept: Sequence[int], reader: str, by: Caller) -> bytes | None:
        """Return whose a reader is, once `by` may change it: whose it becomes, where it is nobody's."""
        owner = self._owner(line, kept)
        if owner is None:
            return by.digest
        by.require_own(owner, f"the reader {reader!r}")
        return owner

    def _owner(self, line: str, kept: Sequence[int]) -> bytes | None:
        return self._store.read(line, _OWNER, kept[-1]) if kept else None

    def _make_room(self, loop: str, owner: bytes | None) -> None:
        lines = self._lines(loop)
        if len(lines) < self._readers:
            return
        owners = {line: self._owner(line, self._store.versions(line)) for line in lines}
        held = Counter([*owners.values(), owner])
        most = max(held.values())
        # Whoever makes one reader after another costs itself the oldest, and nobody else.
        self._store.drop(min((line for line in lines if held[owners[line]] == most), key=self._last_s))

    def _lines(self, loop: str) -> list[str]:
        return [line for line in self._store.loops() if line.startswith(_lines_of(loop))]

    def _last_s(self, line: str) -> float:
        return float(self._store.metadata(line, max(self._store.versions(line))) or 0)


def _pages(told: Told) -> tuple[dict[bytes, bytes], list[bytes]]:
    """Return the pages of what was told, and which ones of earlier versions end here."""
    key = _KEYS[told.values.dtype]
    items = {key: np.ascontiguousarray(told.ids).tobytes() + np.ascontiguousarray(told.values).tobytes()}
    if told.grouping is not None:
        renamed = told.grouping.names != told.grouping.own_labels
        items[_NAMES] = told.grouping.own_labels[renamed].tobytes() + told.grouping.names[renamed].tobytes()
    return items, [other for other in (*_KEYS.values(), _NAMES) if other not in items]


def _renamed(told: Told, grouping: Grouping, page: bytes) -> Told:
    """Return what was told, with the names that groups had which are not their labels."""
    count = len(page) // _ROW_BYTES
    labels, names = np.frombuffer(page, np.int64, count), np.frombuffer(page, np.int64, count, 8 * count)
    own = grouping.own_labels.copy()
    own[np.searchsorted(grouping.own_labels, labels)] = names
    return replace(told, grouping=replace(grouping, names=own))


def _lines_of(loop: str) -> str:
    return f"{loop}/readers/"


def _line(loop: str, reader: str, form: AnswerForm) -> str:
    computes = hashlib.sha256(form.computes.encode()).hexdigest()[:32]
    return f"{_lines_of(loop)}{computes}/{reader}"
