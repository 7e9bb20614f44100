"""The store in memory: the contract at its plainest, and the twin that the others are compared with.

Guarantees the laws of `versioned_store` by one lock around plain dictionaries. Leaves out durability: it ends with its process.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Self

from . import versioned_store
from .versioned_store import StoreStatistics

if TYPE_CHECKING:
    from typing_extensions import Buffer


@dataclass(slots=True)
class _History:
    """One loop: its versions ascending with their metadata, and every key's pages by ascending version (None: ended)."""

    floor: int = 0
    versions: list[int] = field(default_factory=list)
    metadata: dict[int, bytes] = field(default_factory=dict)
    pages: dict[bytes, list[tuple[int, bytes | None]]] = field(default_factory=dict)


class MemoryStore:
    """A `VersionedStore` for one process.

    Examples
    --------
    >>> with MemoryStore() as store:
    ...     store.write("sssp", 1, {b"page 0": b"near"})
    ...     store.write("sssp", 4, {b"page 0": b"nearer"}, metadata=b"{}")
    ...     store.read("sssp", b"page 0", 3), store.versions("sssp")
    (b'near', [1, 4])
    """

    url = "memory:"
    durable = False

    def __init__(self) -> None:
        self._lock = Lock()
        self._histories: dict[str, _History] | None = {}

    def write(
        self,
        loop: str,
        version: int,
        items: Mapping[bytes, Buffer],
        *,
        deletes: Collection[bytes] = (),
        metadata: bytes = b"",
    ) -> None:
        """See `VersionedStore.write`."""
        versioned_store.checked_loop(loop)
        versioned_store.checked_version(version)
        changes = versioned_store.checked_changes(items, deletes)
        # Copied before the lock is taken: all that can fail has happened when the first page is put in.
        copies = {key: None if page is None else bytes(page) for key, page in changes.items()}
        metadata = bytes(metadata)
        with self._lock:
            histories = self._open_histories()
            known = histories.get(loop)
            versioned_store.check_order(loop, version, known.versions[-1] if known else None)
            history = histories.setdefault(loop, _History())
            for key, page in copies.items():
                line = history.pages.setdefault(key, [])
                if line and line[-1][0] == version:
                    line.pop()
                line.append((version, page))
            if version not in history.metadata:
                history.versions.append(version)
            history.metadata[version] = metadata

    def read(self, loop: str, key: bytes, version: int) -> bytes | None:
        """See `VersionedStore.read`."""
        versioned_store.checked_key(key)
        with self._lock:
            return _page_at(self._history(loop, version), key, version)

    def scan(self, loop: str, version: int, prefix: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """See `VersionedStore.scan`."""
        for key in self.keys(loop, version, prefix):
            page = self.read(loop, key, version)
            # A key can only be missing here when this very version was rewritten meanwhile.
            if page is not None:
                yield key, page

    def keys(self, loop: str, version: int, prefix: bytes = b"") -> Iterator[bytes]:
        """See `VersionedStore.keys`."""
        versioned_store.checked_key(prefix)
        with self._lock:
            history = self._history(loop, version)
            found = sorted(
                key
                for key in history.pages
                if key.startswith(prefix) and _page_at(history, key, version) is not None
            )
        yield from found

    def metadata(self, loop: str, version: int) -> bytes | None:
        """See `VersionedStore.metadata`."""
        versioned_store.checked_loop(loop)
        versioned_store.checked_version(version)
        with self._lock:
            return self._open_histories().get(loop, _History()).metadata.get(version)

    def versions(self, loop: str) -> list[int]:
        """See `VersionedStore.versions`."""
        versioned_store.checked_loop(loop)
        with self._lock:
            return list(self._open_histories().get(loop, _History()).versions)

    def loops(self) -> list[str]:
        """See `VersionedStore.loops`."""
        with self._lock:
            return sorted(self._open_histories())

    def delete_before(self, loop: str, version: int) -> int:
        """See `VersionedStore.delete_before`."""
        versioned_store.checked_loop(loop)
        versioned_store.checked_version(version)
        with self._lock:
            history = self._open_histories().get(loop)
            forgotten = bisect_right(history.versions, version) - 1 if history else 0
            if history is None or forgotten <= 0:
                return 0
            history.floor = history.versions[forgotten]
            for gone in history.versions[:forgotten]:
                del history.metadata[gone]
            del history.versions[:forgotten]
            for key, line in list(history.pages.items()):
                history.pages[key] = kept = _remembered(line, history.floor)
                if not kept:
                    del history.pages[key]
            return forgotten

    def drop(self, loop: str) -> None:
        """See `VersionedStore.drop`."""
        versioned_store.checked_loop(loop)
        with self._lock:
            self._open_histories().pop(loop, None)

    def statistics(self) -> StoreStatistics:
        """See `VersionedStore.statistics`."""
        with self._lock:
            histories = self._open_histories().values()
            pages = (
                page for history in histories for line in history.pages.values() for _, page in line if page
            )
            return StoreStatistics(
                loops=len(histories),
                versions=sum(len(history.versions) for history in histories),
                size_bytes=sum(map(len, pages)),
            )

    def close(self) -> None:
        """See `VersionedStore.close`."""
        with self._lock:
            self._histories = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _open_histories(self) -> dict[str, _History]:
        if self._histories is None:
            raise versioned_store.closed_error(self.url)
        return self._histories

    def _history(self, loop: str, version: int) -> _History:
        versioned_store.checked_loop(loop)
        versioned_store.checked_version(version)
        history = self._open_histories().get(loop, _History())
        versioned_store.check_remembered(loop, version, history.floor)
        return history


def _page_at(history: _History, key: bytes, version: int) -> bytes | None:
    line = history.pages.get(key, [])
    place = bisect_right(line, version, key=lambda entry: entry[0])
    return line[place - 1][1] if place else None


def _remembered(line: list[tuple[int, bytes | None]], floor: int) -> list[tuple[int, bytes | None]]:
    """Return what of one key's pages reads at `floor` and above need."""
    first = bisect_right(line, floor, key=lambda entry: entry[0]) - 1
    kept = line[max(first, 0) :]
    # An end that nothing precedes says no more than no entry at all.
    return kept[1:] if kept[0][0] <= floor and kept[0][1] is None else kept
