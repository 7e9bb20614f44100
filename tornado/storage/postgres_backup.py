"""A PostgreSQL database as a place that is copied from, or to: one transaction of each."""

from __future__ import annotations

import secrets
import struct
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import psycopg2

from ..errors import InvalidArgument
from .history import HistoryEntry, LoopHistory, StoreHistory
from .postgres import SCHEMA, Cursor, PostgresDatabase, connected, meant, require_version
from .postgres_address import label_of
from .postgres_store import CopyRows, PostgresStore, checked_page, put_entries
from .versioned_store import SCAN_BATCH_KEYS, SCAN_BATCH_SIZE_BYTES, StoreStatistics

# Of four columns: the number of a loop, a version, and the length of its metadata.
_VERSION_HEAD = struct.Struct(">hiiiqi")
_DOING = "copy a store"


class PostgresHistory:
    """What one read transaction sees; see `StoreHistory`."""

    def __init__(self, connection: Any, label: str) -> None:
        self._connection, self._label = connection, label

    def loops(self) -> list[LoopHistory]:
        """See `StoreHistory.loops`."""
        with self._connection.cursor() as cursor:
            cursor.execute("SELECT name, number, floor FROM loops ORDER BY number")
            return [LoopHistory(bytes(name), number, floor) for name, number, floor in cursor.fetchall()]

    def versions(self, loop: LoopHistory) -> Iterator[tuple[int, bytes]]:
        """See `StoreHistory.versions`."""
        for version, metadata in self._rows(
            "SELECT version, metadata FROM versions WHERE loop = %s ORDER BY version", loop
        ):
            yield version, bytes(metadata)

    def entries(self, loop: LoopHistory) -> Iterator[HistoryEntry]:
        """See `StoreHistory.entries`. Sizes are read ahead of pages, so that these come some megabytes at a time."""
        wanted: list[tuple[memoryview, int]] = []
        size_bytes = 0
        for key, version, size in self._rows(
            "SELECT key, version, octet_length(page) FROM entries WHERE loop = %s ORDER BY key, version DESC",
            loop,
        ):
            if (wanted and size_bytes + (size or 0) > SCAN_BATCH_SIZE_BYTES) or len(
                wanted
            ) >= SCAN_BATCH_KEYS:
                yield from self._pages(loop, wanted)
                wanted, size_bytes = [], 0
            wanted.append((key, version))
            size_bytes += size or 0
        yield from self._pages(loop, wanted)

    def _rows(self, query: str, loop: LoopHistory) -> Iterator[tuple[Any, ...]]:
        """The rows of a query, some at a time."""
        with _as_ours(self._label), self._connection.cursor(secrets.token_hex(8)) as cursor:
            cursor.execute(query, (loop.number,))
            yield from cursor

    def _pages(self, loop: LoopHistory, wanted: list[tuple[memoryview, int]]) -> list[HistoryEntry]:
        with _as_ours(self._label), self._connection.cursor() as cursor:
            cursor.execute(
                "SELECT key, version, checksum, page FROM entries JOIN unnest(%s::bytea[], %s::bigint[]) AS wanted (key, version)"
                " USING (key, version) WHERE loop = %s",
                ([key for key, _ in wanted], [version for _, version in wanted], loop.number),
            )
            rows = [(bytes(key), *rest) for key, *rest in cursor.fetchall()]
        return [
            HistoryEntry(key, version, checked_page(key, version, checksum, page, self._label))
            for key, version, checksum, page in rows
        ]


class PostgresPlace:
    """See `StorePlace`."""

    def __init__(self, url: str) -> None:
        self._url, self.label = url, label_of(url)

    @contextmanager
    def history(self) -> Iterator[PostgresHistory]:
        """See `StorePlace.history`. Takes no lock of an owner."""
        with _as_ours(self.label), closing(connected(self._url)) as connection:
            connection.set_session(isolation_level="REPEATABLE READ", readonly=True)
            with connection.cursor() as cursor:
                cursor.execute("SELECT to_regclass(%s) IS NOT NULL", (f"{SCHEMA}.facts",))
                if not cursor.fetchall()[0][0]:
                    raise InvalidArgument(
                        f"there is no store at {self.label}: it has no tables of the schema {SCHEMA}",
                        hint="Name the one that a run was given with --store.",
                    )
                require_version(cursor, self.label)
            yield PostgresHistory(connection, self.label)

    def fill(self, history: StoreHistory) -> StoreStatistics:
        """See `StorePlace.fill`. Where nothing comes of it, an empty store is left."""
        with closing(PostgresDatabase(self._url)) as database:
            there = database.read(_any_loop, "look for a store")
            if there is not None:
                raise InvalidArgument(
                    f"{self.label} is not empty, it has the store of {there}, and a copy takes the place of nothing",
                    hint="Name another database: createdb NAME.",
                )
            database.change(
                lambda cursor: _write(cursor, history), "write the copy of a store", was_done=_any_loop
            )
        with PostgresStore(self._url) as store:
            return store.statistics()


def _write(cursor: Cursor, history: StoreHistory) -> str | None:
    for loop in history.loops():
        cursor.execute(
            "INSERT INTO loops (name, floor) VALUES (%s, %s) RETURNING number", (loop.name, loop.floor)
        )
        number = cursor.fetchall()[0][0]
        CopyRows(_version_rows(number, history.versions(loop))).copy_into(
            cursor, "COPY versions (loop, version, metadata, written) FROM STDIN WITH (FORMAT binary)"
        )
        put_entries(cursor, number, history.entries(loop))
    return None


def _any_loop(cursor: Cursor) -> str | None:
    """The name of a line of versions; None: there is none."""
    cursor.execute("SELECT name FROM loops LIMIT 1")
    rows = cursor.fetchall()
    return bytes(rows[0][0]).decode() if rows else None


def _version_rows(number: int, versions: Iterator[tuple[int, bytes]]) -> Iterator[bytes]:
    for version, metadata in versions:
        written = secrets.token_hex(16).encode()
        head = _VERSION_HEAD.pack(4, 4, number, 8, version, len(metadata))
        yield head + metadata + struct.pack(">i", len(written)) + written


@contextmanager
def _as_ours(label: str) -> Iterator[None]:
    try:
        yield
    except psycopg2.Error as error:
        raise meant(error, _DOING, label) from error
