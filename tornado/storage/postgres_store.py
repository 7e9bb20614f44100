"""The store in PostgreSQL: one version is one transaction.

The laws of `versioned_store` are kept by one table of entries, (loop, key, version) → page, of which an index has the newest version of a key
first, and by transactions. A page that is not what was written is `StoreCorrupt`, not an answer.
"""

from __future__ import annotations

import io
import itertools
import secrets
import struct
import zlib
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self

import psycopg2

from ..errors import StoreCorrupt
from . import versioned_store
from .postgres import SCHEMA, Cursor, PostgresDatabase
from .versioned_store import SCAN_BATCH_KEYS, SCAN_BATCH_SIZE_BYTES, StoreStatistics

if TYPE_CHECKING:
    from typing_extensions import Buffer

_COPY_HEAD = b"PGCOPY\n\xff\r\n\x00" + struct.pack(">II", 0, 0)
_COPY_END = struct.pack(">h", -1)
_NULL = struct.pack(">i", -1)
# Of five columns: a number of 32 bits, then the length of the key.
_ROW_HEAD = struct.Struct(">hiii")
_ROW_MIDDLE = struct.Struct(">iq")


class PostgresStore:
    """A `VersionedStore` in the schema ``tornado_loops`` of a database, durable when `write` returns.

    Parameters
    ----------
    url : str
        See `PostgresDatabase`, also for what is raised.
    """

    durable = True

    def __init__(self, url: str) -> None:
        self._database = PostgresDatabase(url)

    @property
    def url(self) -> str:
        """See `VersionedStore.url`; without the password."""
        return self._database.label

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
        metadata, written = bytes(metadata), secrets.token_hex(16)
        is_rewritten = False

        def put_version(cursor: Cursor) -> bool:
            nonlocal is_rewritten
            number = _made_number(cursor, name)
            cursor.execute("SELECT max(version) FROM versions WHERE loop = %s", (number,))
            newest = cursor.fetchall()[0][0]
            versioned_store.check_order(loop, version, newest)
            is_rewritten = version == newest
            if is_rewritten:
                cursor.execute(
                    "DELETE FROM entries WHERE loop = %s AND version = %s AND key = ANY(%s)",
                    (number, version, [*changes]),
                )
            put_entries(cursor, number, ((key, version, page) for key, page in changes.items()))
            cursor.execute(
                "INSERT INTO versions VALUES (%s, %s, %s, %s) ON CONFLICT (loop, version) DO UPDATE"
                " SET metadata = excluded.metadata, written = excluded.written",
                (number, version, metadata, written),
            )
            return True

        def was_put(cursor: Cursor) -> bool | None:
            cursor.execute(
                "SELECT true FROM versions WHERE written = %s AND version = %s", (written, version)
            )
            return bool(cursor.fetchall()) or None

        def take_back(cursor: Cursor) -> None:
            if is_rewritten:
                return  # what stood there before is gone: whoever writes the newest version again may find it written
            cursor.execute(
                "DELETE FROM versions WHERE written = %s AND version = %s RETURNING loop", (written, version)
            )
            for (number,) in cursor.fetchall():
                cursor.execute("DELETE FROM entries WHERE loop = %s AND version = %s", (number, version))
                cursor.execute(
                    "DELETE FROM loops WHERE number = %s AND NOT EXISTS (SELECT FROM versions WHERE loop = number)",
                    (number,),
                )

        self._database.change(
            put_version, f"write version {version} of loop {loop!r}", was_done=was_put, take_back=take_back
        )

    def read(self, loop: str, key: bytes, version: int) -> bytes | None:
        """See `VersionedStore.read`."""
        versioned_store.checked_key(key)

        def found(cursor: Cursor) -> bytes | None:
            number = _remembered(cursor, loop, version)
            if number is None:
                return None
            cursor.execute(
                "SELECT version, checksum, page FROM entries WHERE loop = %s AND key = %s AND version <= %s"
                " ORDER BY version DESC LIMIT 1",
                (number, key, version),
            )
            rows = cursor.fetchall()
            if not rows:
                return None
            ((at, checksum, page),) = rows
            return checked_page(key, at, checksum, page, self.url)

        return self._database.read(found, f"read key {key!r} of loop {loop!r}")

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

        def found(cursor: Cursor) -> bytes | None:
            cursor.execute(
                "SELECT metadata FROM versions JOIN loops ON number = loop WHERE name = %s AND version = %s",
                (name, version),
            )
            rows = cursor.fetchall()
            return bytes(rows[0][0]) if rows else None

        return self._database.read(found, f"read the metadata of loop {loop!r}")

    def versions(self, loop: str) -> list[int]:
        """See `VersionedStore.versions`."""
        name = versioned_store.checked_loop(loop)
        return self._database.read(
            lambda cursor: _versions(cursor, name), f"list the versions of loop {loop!r}"
        )

    def loops(self) -> list[str]:
        """See `VersionedStore.loops`."""

        def found(cursor: Cursor) -> list[str]:
            cursor.execute("SELECT name FROM loops")
            return sorted(bytes(name).decode() for (name,) in cursor.fetchall())

        return self._database.read(found, "list the loops")

    def delete_before(self, loop: str, version: int) -> int:
        """See `VersionedStore.delete_before`."""
        name = versioned_store.checked_loop(loop)
        versioned_store.checked_version(version)

        def forget(cursor: Cursor) -> int:
            stored = _versions(cursor, name)
            forgotten = bisect_right(stored, version) - 1
            if forgotten <= 0:
                return 0
            floor = stored[forgotten]
            cursor.execute("UPDATE loops SET floor = %s WHERE name = %s RETURNING number", (floor, name))
            number = cursor.fetchall()[0][0]
            # The newest one at or below the floor is what reads at the floor see, unless it says that the key ended.
            cursor.execute(
                "DELETE FROM entries AS old USING (SELECT key, max(version) AS version FROM entries WHERE loop = %(loop)s"
                " AND version <= %(floor)s GROUP BY key) AS seen WHERE old.loop = %(loop)s AND old.key = seen.key"
                " AND (old.version < seen.version OR (old.version = seen.version AND old.page IS NULL))",
                {"loop": number, "floor": floor},
            )
            cursor.execute("DELETE FROM versions WHERE loop = %s AND version < %s", (number, floor))
            return forgotten

        return self._database.change(forget, f"delete what is before version {version} of loop {loop!r}")

    def drop(self, loop: str) -> None:
        """See `VersionedStore.drop`."""
        name = versioned_store.checked_loop(loop)

        def forget(cursor: Cursor) -> None:
            cursor.execute("DELETE FROM loops WHERE name = %s RETURNING number", (name,))
            for (number,) in cursor.fetchall():
                cursor.execute("DELETE FROM versions WHERE loop = %s", (number,))
                cursor.execute("DELETE FROM entries WHERE loop = %s", (number,))

        self._database.change(forget, f"drop loop {loop!r}")

    def statistics(self) -> StoreStatistics:
        """See `VersionedStore.statistics`. Room that was freed still counts until the server has vacuumed it."""

        def found(cursor: Cursor) -> StoreStatistics:
            cursor.execute(
                "SELECT (SELECT count(*) FROM loops), (SELECT count(*) FROM versions), (SELECT sum(pg_total_relation_size(oid))::bigint"
                " FROM pg_class WHERE relkind = 'r' AND relnamespace = %s::regnamespace)",
                (SCHEMA,),
            )
            loops, versions, size_bytes = cursor.fetchall()[0]
            return StoreStatistics(loops=loops, versions=versions, size_bytes=size_bytes)

        return self._database.read(found, "read the statistics")

    def close(self) -> None:
        """See `VersionedStore.close`."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _batches(
        self, loop: str, version: int, prefix: bytes, *, pages: bool
    ) -> Iterator[list[tuple[bytes, bytes]]]:
        versioned_store.checked_key(prefix)
        beyond = _beyond(prefix)
        after: bytes | None = None
        while True:

            def found(
                cursor: Cursor, after: bytes | None = after
            ) -> tuple[list[tuple[bytes, bytes]], bytes | None]:
                number = _remembered(cursor, loop, version)
                return (
                    ([], None)
                    if number is None
                    else self._batch(cursor, number, version, prefix, beyond, after, pages=pages)
                )

            batch, after = self._database.read(found, f"scan loop {loop!r} at version {version}")
            yield batch
            if after is None:
                return

    def _batch(
        self,
        cursor: Cursor,
        number: int,
        version: int,
        prefix: bytes,
        beyond: bytes | None,
        after: bytes | None,
        *,
        pages: bool,
    ) -> tuple[list[tuple[bytes, bytes]], bytes | None]:
        """The next pairs behind a key, and which key to go on behind; None at the end."""
        cursor.execute(
            "SELECT DISTINCT ON (key) key, version, octet_length(page) FROM entries WHERE loop = %(loop)s AND key >= %(first)s"
            " AND (%(beyond)s IS NULL OR key < %(beyond)s) AND (%(after)s IS NULL OR key > %(after)s) AND version <= %(version)s"
            " ORDER BY key, version DESC LIMIT %(limit)s",
            {
                "loop": number, "first": max(prefix, after or b""), "beyond": beyond, "after": after, "version": version, "limit": SCAN_BATCH_KEYS,
            },
        )  # fmt: skip
        rows = cursor.fetchall()
        taken, size_bytes = 0, 0
        while taken < len(rows) and (not taken or size_bytes < SCAN_BATCH_SIZE_BYTES):
            size_bytes += rows[taken][2] or 0
            taken += 1
        after = bytes(rows[taken - 1][0]) if taken < len(rows) or len(rows) == SCAN_BATCH_KEYS else None
        chosen = [(bytes(key), at) for key, at, size in rows[:taken] if size is not None]
        if not pages:
            return [(key, b"") for key, _ in chosen], after
        keys, versions = [key for key, _ in chosen], [at for _, at in chosen]
        cursor.execute(
            "SELECT key, version, checksum, page FROM entries JOIN unnest(%s::bytea[], %s::bigint[]) AS wanted (key, version)"
            " USING (key, version) WHERE loop = %s ORDER BY key",
            (keys, versions, number),
        )
        batch = []
        for raw, at, checksum, page in cursor.fetchall():
            key = bytes(raw)
            read = checked_page(key, at, checksum, page, self.url)
            if read is not None:
                batch.append((key, read))
        return batch, after


class CopyRows(io.RawIOBase):
    """Rows of COPY in its binary format, of which parts are made as they are read."""

    def __init__(self, rows: Iterator[bytes | memoryview]) -> None:
        self._parts = itertools.chain([_COPY_HEAD], rows, [_COPY_END])
        self._left = memoryview(b"")
        self._error: Exception | None = None

    def copy_into(self, cursor: Cursor, copy: str) -> None:
        """Carry out a COPY of these rows; what goes wrong as they are made is raised as it is."""
        try:
            cursor.copy_expert(copy, self)
        except psycopg2.Error:
            if self._error is not None:  # of which the server was told that the statement is cancelled
                raise self._error from None
            raise

    def readable(self) -> bool:
        """True."""
        return True

    def read(self, size: int = -1) -> bytes:
        """The next bytes, at most so many."""
        if not self._left:
            try:
                self._left = memoryview(next(self._parts, b""))
            except Exception as error:
                self._error = error
                raise
        if size < 0:
            size = len(self._left)
        taken, self._left = self._left[:size], self._left[size:]
        return bytes(taken)


def put_entries(
    cursor: Cursor, number: int, entries: Iterable[tuple[bytes, int, bytes | memoryview | None]]
) -> None:
    """Store pages of a loop, (key, version, page), where nothing is: pages are read from where they are."""
    CopyRows(_entry_rows(number, entries)).copy_into(
        cursor, "COPY entries (loop, key, version, checksum, page) FROM STDIN WITH (FORMAT binary)"
    )


def _entry_rows(
    number: int, entries: Iterable[tuple[bytes, int, bytes | memoryview | None]]
) -> Iterator[bytes | memoryview]:
    for key, version, page in entries:
        head = _ROW_HEAD.pack(5, 4, number, len(key)) + key + _ROW_MIDDLE.pack(8, version)
        if page is None:
            yield head + _NULL + _NULL
        else:
            yield head + _ROW_MIDDLE.pack(8, zlib.crc32(page)) + struct.pack(">i", len(page))
            if page:
                yield page


def checked_page(
    key: bytes, version: int, checksum: int | None, page: memoryview | None, label: str
) -> bytes | None:
    """Return a page that is what was written, or raise `StoreCorrupt`."""
    if page is None:
        return None
    if checksum != zlib.crc32(page):
        raise StoreCorrupt(f"the page of key {key!r} at version {version} in {label} is not what was written")
    return bytes(page)


def _number(cursor: Cursor, name: bytes) -> tuple[int, int] | None:
    """The number of a loop, and the version that its history begins at."""
    cursor.execute("SELECT number, floor FROM loops WHERE name = %s", (name,))
    rows = cursor.fetchall()
    return rows[0] if rows else None


def _made_number(cursor: Cursor, name: bytes) -> int:
    known = _number(cursor, name)
    if known is not None:
        return known[0]
    cursor.execute("INSERT INTO loops (name, floor) VALUES (%s, 0) RETURNING number", (name,))
    made: int = cursor.fetchall()[0][0]
    return made


def _remembered(cursor: Cursor, loop: str, version: int) -> int | None:
    name = versioned_store.checked_loop(loop)
    versioned_store.checked_version(version)
    known = _number(cursor, name)
    if known is None:
        return None
    versioned_store.check_remembered(loop, version, known[1])
    return known[0]


def _versions(cursor: Cursor, name: bytes) -> list[int]:
    cursor.execute(
        "SELECT version FROM versions JOIN loops ON number = loop WHERE name = %s ORDER BY version", (name,)
    )
    return [version for (version,) in cursor.fetchall()]


def _beyond(prefix: bytes) -> bytes | None:
    """The least key behind all that begin so; None: there is none."""
    cut = prefix.rstrip(b"\xff")
    return cut[:-1] + bytes([cut[-1] + 1]) if cut else None
