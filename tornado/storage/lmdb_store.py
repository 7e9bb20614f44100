"""The store on disk, in LMDB: one version shows with one transaction.

The laws of `versioned_store` are kept by the layout (`layout`) and by LMDB's transactions (`lmdb`, the doorway): a version shows
when its transaction ends, which `kill -9` cannot do by halves. Chunks of a large version are written before, in transactions of their
own, because LMDB has one writer: whoever logs what is admitted must not wait until all of a snapshot is on the disk. Nobody sees chunks
to which no entry leads, and what is left of them where that fails goes at the next start, or with the next large version. A page that is
not what was written (length, CRC-32) is `StoreCorrupt`, not an answer.
"""

from __future__ import annotations

import zlib
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ..errors import StoreCorrupt, StoreError
from . import layout, versioned_store
from .layout import Header, LoopRecord
from .lmdb import INITIAL_MAP_SIZE_BYTES, LmdbFolder, Table, Transaction
from .versioned_store import SCAN_BATCH_KEYS, SCAN_BATCH_SIZE_BYTES, Changes, StoreStatistics

if TYPE_CHECKING:
    from typing_extensions import Buffer

_FORMAT_KEY = b"format"
_FORMAT = b"tornado-loops 2"
_OLDER_FORMAT = (
    b"tornado-loops 1"  # of which all chunks have one length; only the program that wrote it counts on that
)
_NEXT_LOOP_KEY = b"next loop"
_UNFINISHED_KEY = b"unfinished"  # the line and the version of which chunks may have been written
_ONE_TRANSACTION_SIZE_BYTES = 8 << 20  # of a version that is written at once, and waits for no larger one
_PORTION_SIZE_BYTES = 2 << 20  # of a larger one: some milliseconds, in which nobody else writes
# What an entry takes beside its page, at most: two keys, and the rest of a started page.
_OVERHEAD_SIZE_BYTES = 2048


class LmdbStore:
    """A `VersionedStore` in a folder of its own, durable when `write` returns.

    Parameters
    ----------
    folder : Path
        Created with its parents where it is missing.
    initial_map_size_bytes : int, optional
        Address space to begin with; it grows as needed.

    Raises
    ------
    StoreLocked
        When another process has the folder, or it cannot be written.
    StoreFull
        When its disk has no room for an empty store.
    StoreCorrupt
        When what is in the folder is no store of this format.
    InvalidArgument
        When the path cannot be a folder.
    """

    durable = True

    def __init__(self, folder: Path, *, initial_map_size_bytes: int = INITIAL_MAP_SIZE_BYTES) -> None:
        self._folder = LmdbFolder(folder, initial_map_size_bytes=initial_map_size_bytes)
        self._large = Lock()  # whoever writes a version in parts, or drops a loop
        try:
            self._check_format()
            with suppress(StoreError):  # as on a full disk: nobody sees them, and they go later
                self._clear_unfinished()
        except BaseException:
            self._folder.close()
            raise

    @property
    def url(self) -> str:
        """See `VersionedStore.url`."""
        return self._folder.url

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
        name = versioned_store.checked_loop(loop)
        versioned_store.checked_version(version)
        changes = versioned_store.checked_changes(items, deletes)
        metadata = bytes(metadata)
        size_bytes = len(metadata) + sum(_size_bytes(page) for page in changes.values())
        doing = f"write version {version} of loop {loop!r}"

        def put_version(transaction: Transaction, headers: Mapping[bytes, bytes] | None = None) -> None:
            record = make_record(transaction, name)
            newest = _newest(transaction, record.number)
            versioned_store.check_order(loop, version, newest)
            for key, page in changes.items():
                at = layout.entry(record.number, key, version)
                if version == newest:
                    _erase(transaction, at)
                if headers is None:
                    put_entry(transaction, at, page)
                else:
                    transaction.put(Table.ENTRIES, at, headers[key])
            transaction.put(Table.VERSIONS, layout.version_key(record.number, version), metadata)
            if headers is not None:
                transaction.delete(Table.FACTS, _UNFINISHED_KEY)

        if size_bytes <= _ONE_TRANSACTION_SIZE_BYTES or version in self.versions(loop)[-1:]:
            self._folder.change(put_version, doing, size_bytes=size_bytes)
            return
        with self._large:
            try:
                self._put_chunks(name, loop, version, changes, doing)
                # Not in the transaction, where these would take the longest, and whoever logs waits for its end.
                headers = {key: layout.header(page) for key, page in changes.items()}
                self._folder.change(partial(put_version, headers=headers), doing)
            except BaseException:
                with suppress(StoreError):
                    self._clear_unfinished()
                raise

    def _put_chunks(self, name: bytes, loop: str, version: int, changes: Changes, doing: str) -> None:
        """Write the chunks of a version, to which no entry leads yet, a few at a time."""
        self._clear_unfinished()

        def begin(transaction: Transaction) -> int:
            record = make_record(transaction, name)
            versioned_store.check_order(loop, version, _newest(transaction, record.number))
            transaction.put(Table.FACTS, _UNFINISHED_KEY, layout.version_key(record.number, version))
            return record.number

        number = self._folder.change(begin, doing)
        chunks = (
            (layout.chunk_key(layout.entry(number, key, version), place), chunk)
            for key, page in changes.items()
            for place, chunk in enumerate(layout.chunks(page) if page else ())
        )
        for some in _portions(chunks):

            def put(transaction: Transaction, some: list[tuple[bytes, memoryview]] = some) -> None:
                for key, chunk in some:
                    transaction.put(Table.CHUNKS, key, chunk)

            self._folder.change(put, doing, size_bytes=sum(_size_bytes(chunk) for _, chunk in some))

    def _clear_unfinished(self) -> None:
        """Let go of chunks of a version that was not written to its end."""
        with self._folder.reading("look for an unfinished version") as transaction:
            if transaction.get(Table.FACTS, _UNFINISHED_KEY) is None:
                return

        def clear(transaction: Transaction) -> None:
            unfinished = bytes(transaction.get(Table.FACTS, _UNFINISHED_KEY) or b"")
            if not unfinished:
                return
            version, loop = layout.version_of(unfinished), layout.loop_of(unfinished)
            for key in transaction.keys(Table.CHUNKS, loop):
                at = layout.chunk_entry(key)
                if layout.entry_version(at) == version and transaction.get(Table.ENTRIES, at) is None:
                    transaction.delete(Table.CHUNKS, key)
            for name, number in _loops(transaction):
                if layout.loop_prefix(number) == loop and _newest(transaction, number) is None:
                    transaction.delete(Table.LOOPS, name)  # it would have been the first one
            transaction.delete(Table.FACTS, _UNFINISHED_KEY)

        self._folder.change(clear, "clear away an unfinished version")

    def read(self, loop: str, key: bytes, version: int) -> bytes | None:
        """See `VersionedStore.read`."""
        versioned_store.checked_key(key)
        with self._folder.reading(f"read key {key!r} of loop {loop!r}") as transaction:
            record = _remembered(transaction, loop, version)
            if record is None:
                return None
            sought = layout.entry(record.number, key, version)
            found = transaction.at_or_after(Table.ENTRIES, sought)
            if found is None or not layout.same_key(found[0], sought):
                return None
            header = layout.parse_header(found[1])
            return None if header is None else stored_page(transaction, found[0], header, self.url)

    def scan(self, loop: str, version: int, prefix: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """See `VersionedStore.scan`."""
        for batch in self._batches(loop, version, prefix, pages=True):
            yield from batch

    def keys(self, loop: str, version: int, prefix: bytes = b"") -> Iterator[bytes]:
        """See `VersionedStore.keys`."""
        for batch in self._batches(loop, version, prefix, pages=False):
            yield from (key for key, _ in batch)

    def metadata(self, loop: str, version: int) -> bytes | None:
        """See `VersionedStore.metadata`."""
        name = versioned_store.checked_loop(loop)
        versioned_store.checked_version(version)
        with self._folder.reading(f"read the metadata of loop {loop!r}") as transaction:
            record = _record(transaction, name)
            if record is None:
                return None
            found = transaction.get(Table.VERSIONS, layout.version_key(record.number, version))
            return None if found is None else bytes(found)

    def versions(self, loop: str) -> list[int]:
        """See `VersionedStore.versions`."""
        name = versioned_store.checked_loop(loop)
        with self._folder.reading(f"list the versions of loop {loop!r}") as transaction:
            record = _record(transaction, name)
            return [] if record is None else _versions(transaction, record.number)

    def loops(self) -> list[str]:
        """See `VersionedStore.loops`."""
        with self._folder.reading("list the loops") as transaction:
            # One whose first version is being written has none yet.
            return sorted(
                name.decode()
                for name, number in _loops(transaction)
                if _newest(transaction, number) is not None
            )

    def delete_before(self, loop: str, version: int) -> int:
        """See `VersionedStore.delete_before`."""
        name = versioned_store.checked_loop(loop)
        versioned_store.checked_version(version)

        def forget(transaction: Transaction) -> int:
            record = _record(transaction, name)
            stored = [] if record is None else _versions(transaction, record.number)
            forgotten = bisect_right(stored, version) - 1
            if record is None or forgotten <= 0:
                return 0
            floor = stored[forgotten]
            for at in _unneeded(transaction, record.number, floor):
                _erase(transaction, at)
            for gone in stored[:forgotten]:
                transaction.delete(Table.VERSIONS, layout.version_key(record.number, gone))
            transaction.put(Table.LOOPS, name, record._replace(floor=floor).pack())
            return forgotten

        return self._folder.change(forget, f"delete what is before version {version} of loop {loop!r}")

    def drop(self, loop: str) -> None:
        """See `VersionedStore.drop`."""
        name = versioned_store.checked_loop(loop)

        def forget(transaction: Transaction) -> None:
            record = _record(transaction, name)
            if record is not None:
                for table in (Table.VERSIONS, Table.ENTRIES, Table.CHUNKS):
                    transaction.delete_prefix(table, layout.loop_prefix(record.number))
                transaction.delete(Table.LOOPS, name)

        with self._large:
            self._folder.change(forget, f"drop loop {loop!r}")

    def statistics(self) -> StoreStatistics:
        """See `VersionedStore.statistics`. Room that was freed still counts, as it is used again but not given back."""
        size_bytes = self._folder.used_size_bytes()
        with self._folder.reading("read the statistics") as transaction:
            return StoreStatistics(
                loops=transaction.count(Table.LOOPS),
                versions=transaction.count(Table.VERSIONS),
                size_bytes=size_bytes,
            )

    def close(self) -> None:
        """See `VersionedStore.close`."""
        self._folder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _check_format(self) -> None:
        with self._folder.reading("read the format of the store") as transaction:
            is_newest = has_format(transaction, self.url) and _stored_format(transaction) == _FORMAT
        if not is_newest:
            self._folder.change(
                lambda transaction: transaction.put(Table.FACTS, _FORMAT_KEY, _FORMAT), "begin a store"
            )

    def _batches(
        self, loop: str, version: int, prefix: bytes, *, pages: bool
    ) -> Iterator[list[tuple[bytes, bytes]]]:
        versioned_store.checked_key(prefix)
        after: bytes | None = None
        while True:
            with self._folder.reading(f"scan loop {loop!r} at version {version}") as transaction:
                record = _remembered(transaction, loop, version)
                if record is None:
                    return
                start = layout.key_prefix(record.number, prefix)
                batch, after = self._batch(transaction, start, after or start, version, pages=pages)
            yield batch
            if after is None:
                return

    def _batch(
        self, transaction: Transaction, prefix: bytes, start: bytes, version: int, *, pages: bool
    ) -> tuple[list[tuple[bytes, bytes]], bytes | None]:
        """Return the next pairs from `start` on, and where to go on, or None at the end."""
        batch: list[tuple[bytes, bytes]] = []
        size_bytes = 0
        found = transaction.at_or_after(Table.ENTRIES, start)
        while found is not None and found[0].startswith(prefix):
            at, raw = found
            # Then the map may grow, and pages that nobody reads any more are used again.
            if len(batch) >= SCAN_BATCH_KEYS or size_bytes >= SCAN_BATCH_SIZE_BYTES:
                return batch, at
            if layout.entry_version(at) > version:
                # Too new: on to what was before it, of this key or else of the next one.
                found = transaction.at_or_after(Table.ENTRIES, layout.at_version(at, version))
                continue
            header = layout.parse_header(raw)
            if header is not None:
                page = stored_page(transaction, at, header, self.url) if pages else b""
                batch.append((layout.entry_key(at), page))
                size_bytes += len(page)
            found = transaction.at_or_after(Table.ENTRIES, layout.beyond_key(at))
        return batch, None


def has_format(transaction: Transaction, url: str) -> bool:
    """Return whether a store was begun there; one of another format is `StoreCorrupt`."""
    found = _stored_format(transaction)
    if found not in (None, _OLDER_FORMAT, _FORMAT):
        raise StoreCorrupt(
            f"the store {url} has the format {found!r}, this program reads {_FORMAT!r}",
            hint="Open it with the program that wrote it, or choose another folder.",
        )
    return found is not None


def stored_page(transaction: Transaction, at: bytes, header: Header, url: str) -> bytes:
    """Return the page of an entry; one that is not what was written is `StoreCorrupt`."""
    page = b"".join(_chunks_of(transaction, at, header.size_bytes))
    if len(page) != header.size_bytes or zlib.crc32(page) != header.checksum:
        raise StoreCorrupt(
            f"the page of key {layout.entry_key(at)!r} at version {layout.entry_version(at)} in {url} is not what was written: "
            + (
                "its checksum is another"
                if len(page) == header.size_bytes
                else f"{len(page)} of {header.size_bytes} bytes are there"
            )
        )
    return page


def _stored_format(transaction: Transaction) -> bytes | None:
    stored = transaction.get(Table.FACTS, _FORMAT_KEY)
    return None if stored is None else bytes(stored)


def _chunks_of(transaction: Transaction, at: bytes, size_bytes: int) -> Iterator[memoryview]:
    """Yield the chunks of an entry's page of so many bytes, however long each of them is."""
    place = 0
    while size_bytes > 0:
        chunk = transaction.get(Table.CHUNKS, layout.chunk_key(at, place))
        if chunk is None or not chunk.nbytes:
            return
        yield chunk
        place += 1
        size_bytes -= chunk.nbytes


def put_entry(transaction: Transaction, at: bytes, page: memoryview | None) -> None:
    """Store a page, or that its key ends, where nothing is."""
    transaction.put(Table.ENTRIES, at, layout.header(page))
    for place, chunk in enumerate(layout.chunks(page) if page else ()):
        transaction.put(Table.CHUNKS, layout.chunk_key(at, place), chunk)


def _size_bytes(page: memoryview | None) -> int:
    return _OVERHEAD_SIZE_BYTES + (page.nbytes if page else 0)


def _portions(chunks: Iterable[tuple[bytes, memoryview]]) -> Iterator[list[tuple[bytes, memoryview]]]:
    """Put chunks together for one transaction each."""
    some: list[tuple[bytes, memoryview]] = []
    size_bytes = 0
    for key, chunk in chunks:
        if size_bytes + chunk.nbytes > _PORTION_SIZE_BYTES:
            yield some
            some, size_bytes = [], 0
        some.append((key, chunk))
        size_bytes += chunk.nbytes
    if some:
        yield some


def make_record(transaction: Transaction, name: bytes) -> LoopRecord:
    """Return the record of a loop, which is made where it is missing."""
    record = _record(transaction, name)
    if record is None:
        number = int.from_bytes(transaction.get(Table.FACTS, _NEXT_LOOP_KEY) or b"")
        transaction.put(Table.FACTS, _NEXT_LOOP_KEY, (number + 1).to_bytes(8))
        record = LoopRecord(number, 0)
        transaction.put(Table.LOOPS, name, record.pack())
    return record


def _record(transaction: Transaction, name: bytes) -> LoopRecord | None:
    raw = transaction.get(Table.LOOPS, name)
    return None if raw is None else LoopRecord.unpack(raw)


def _loops(transaction: Transaction) -> list[tuple[bytes, int]]:
    """The names of the loops that have a record, with their numbers."""
    return [(name, LoopRecord.unpack(raw).number) for name, raw in transaction.walk(Table.LOOPS, b"")]


def _remembered(transaction: Transaction, loop: str, version: int) -> LoopRecord | None:
    name = versioned_store.checked_loop(loop)
    versioned_store.checked_version(version)
    record = _record(transaction, name)
    if record is not None:
        versioned_store.check_remembered(loop, version, record.floor)
    return record


def _versions(transaction: Transaction, number: int) -> list[int]:
    prefix = layout.loop_prefix(number)
    return [layout.version_of(key) for key, _ in transaction.walk(Table.VERSIONS, prefix)]


def _newest(transaction: Transaction, number: int) -> int | None:
    found = transaction.at_or_before(Table.VERSIONS, layout.version_key(number, versioned_store.MAX_VERSION))
    if found is None or not found[0].startswith(layout.loop_prefix(number)):
        return None
    return layout.version_of(found[0])


def _erase(transaction: Transaction, at: bytes) -> None:
    transaction.delete_prefix(Table.CHUNKS, at)
    transaction.delete(Table.ENTRIES, at)


def _unneeded(transaction: Transaction, number: int, floor: int) -> list[bytes]:
    """Return the entries that no read at `floor` or above needs."""
    unneeded: list[bytes] = []
    newest_below = b""
    for at, raw in transaction.walk(Table.ENTRIES, layout.loop_prefix(number)):
        if layout.entry_version(at) > floor:
            continue
        # The newest one at or below the floor is what reads at the floor see, unless it says that the key ended.
        if layout.same_key(at, newest_below) or layout.parse_header(raw) is None:
            unneeded.append(at)
        newest_below = at
    return unneeded
