"""A table of results in PostgreSQL, for people who join it with their own: (vertex, value, version, answered_at).

A renewal is one transaction: what changed is copied into a temporary table and put over the rows of the same vertices, rows of vertices
that are no more go, and a row of ``TABLE_snapshots`` says what the table is the answer to. So whoever reads sees one answer, and
never half of one.

After an error the connection is given up: the next renewal begins with a new one, and has to be of all rows (`is_anew`), whatever has
become of the transaction before. One service at a time renews a table: an advisory lock on it goes with the connection. A table that
somebody else has dropped and made anew, altered or truncated is another one: that is looked for before each renewal, and at its end,
when nobody can do it any more.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal
from urllib.parse import unquote, urlunsplit

import psycopg2
import psycopg2.errors
from psycopg2.sql import SQL, Composed, Identifier

from ..errors import InvalidArgument, StoreError, StoreLocked
from .postgres import ENCODING_HINT, LOCK_PATIENCE_S, Cursor, connected, meant
from .postgres_address import address_parts, label_of

KEPT_SNAPSHOTS: Final = 10_000
"""How many of the newest rows of ``TABLE_snapshots`` are left; a table does not grow for ever."""

ColumnType = Literal["int64", "float64", "string"]

_SNAPSHOTS: Final = "_snapshots"
# An entry of the index of vertices has 2704 bytes at most, those that go with the text included, and nobody knows what compresses.
_LONGEST_VERTEX_BYTES: Final = 2600
_LONGEST_NAME_BYTES: Final = 63  # PostgreSQL cuts off what is longer
# Temporary tables come before all others of their name: these have one that is longer than that of a table of results may be.
_CHANGED: Final = Identifier("tornado_loops_rows_that_were_changed_since_the_last_renewal")
_REMOVED: Final = Identifier("tornado_loops_rows_that_were_removed_since_the_last_renewal")
_LOCK: Final = 0x7265736C << 32  # beside the lock of a store; below it is the number of the table
_TYPES: Final = {"int64": "bigint", "float64": "double precision", "string": "text"}
_OF_EVERY_TEXT: Final = ("UTF8", "SQL_ASCII")  # which takes any bytes for what they are
_STAMP: Final = ("version bigint", "answered_at timestamp with time zone")
_OF_SNAPSHOTS: Final = (
    "number bigint",
    *_STAMP,
    *("loop text", "stream text", "offsets jsonb", "certificate jsonb"),
    *("vertices bigint", "changed bigint", "removed bigint"),
)
# To make a table anew gives it another number; to truncate or rewrite it another file.
_SHAPE: Final = """
SELECT relkind, array(
    SELECT attname || ' ' || format_type(atttypid, atttypmod) FROM pg_attribute
    WHERE attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped ORDER BY attnum
), EXISTS (
    SELECT FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0]
    WHERE indrelid = pg_class.oid AND indisunique AND indpred IS NULL AND indnkeyatts = 1 AND attname = %(key)s
), oid, relfilenode, array(
    SELECT pg_relation_filenode(relid) FROM pg_partition_tree(pg_class.oid) ORDER BY relid
) FROM pg_class WHERE oid = to_regclass(quote_ident(%(name)s))
"""
_WHAT: Final = "a table of results"
_VALID: Final = "Use postgresql://USER:PASSWORD@HOST:PORT/DATABASE/TABLE."
_PERMISSION: Final = "Let the user create tables in the schema, and temporary ones in the database."


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredSnapshot:
    """What a table is the answer to.

    Attributes
    ----------
    version
        Of the stream.
    answered_at
        When the answer was there; aware.
    loop, stream
        What was asked, and what it reads.
    offsets, certificate
        As JSON.
    vertices
        How many rows the table has.
    """

    version: int
    answered_at: datetime
    loop: str
    stream: str
    offsets: str
    certificate: str
    vertices: int


@dataclass(frozen=True, slots=True)
class ResultsAddress:
    """Where a table of results is.

    Attributes
    ----------
    database
        The address of the database, with its password.
    table
        What the table is called.
    label
        The address of the table without the password, for messages.
    """

    database: str
    table: str
    label: str

    @classmethod
    def of(cls, url: str) -> ResultsAddress:
        """Read ``postgresql://USER:PASSWORD@HOST:PORT/DATABASE/TABLE``.

        Raises
        ------
        InvalidArgument
            It is none, or the name of the table is too long for PostgreSQL.

        Examples
        --------
        >>> ResultsAddress.of("postgresql://ann:secret@db:5433/loops/paths").label
        'postgresql://ann@db:5433/loops/paths'
        """
        parts = address_parts(url, of=_WHAT, form=_VALID)
        database, _, quoted = parts.path.rstrip("/").rpartition("/")
        table = unquote(quoted)
        if not database.strip("/") or not table or "\x00" in table:
            raise InvalidArgument(f"the address of {_WHAT} names no table", hint=_VALID)
        longest = _LONGEST_NAME_BYTES - len(_SNAPSHOTS)
        if len(table.encode()) > longest:
            raise InvalidArgument(
                f"the table of results is called {table!r}, but its name may have {longest} bytes at most",
                hint=f"PostgreSQL cuts off what is longer than {_LONGEST_NAME_BYTES}, and {_SNAPSHOTS} comes behind it.",
            )
        address = urlunsplit(parts._replace(path=database))
        return cls(address, table, f"{label_of(address, of=_WHAT, form=_VALID)}/{quoted}")


def has_row(vertex: str) -> bool:
    """Return whether a table can have a row of a vertex of this name: it is a text for PostgreSQL, and its index has room for it.

    Examples
    --------
    >>> has_row("Zürich"), has_row("Zürich" + chr(0)), has_row("ü" * 1300), has_row("ü" * 1301)
    (True, False, True, False)
    """
    return "\0" not in vertex and len(vertex.encode()) <= _LONGEST_VERTEX_BYTES


class PostgresResults:
    """See the module. Connects with the first renewal, or `open`.

    Parameters
    ----------
    address
        Where the table is; made where there is none.
    vertex_type, value_type
        What its first two columns are; a value may be NULL.
    """

    def __init__(self, address: ResultsAddress, *, vertex_type: ColumnType, value_type: ColumnType) -> None:
        self.label = address.label
        self._address = address
        self._types = {"vertex": _TYPES[vertex_type], "value": _TYPES[value_type]}
        self._texts = [name for name, kind in self._types.items() if kind == "text"]
        self._table, self._snapshots = Identifier(address.table), Identifier(address.table + _SNAPSHOTS)
        self._connection: Any = None
        self._has_all = False
        self._shapes: list[list[Any]] = []  # of both tables, as they were when this connected

    @property
    def is_anew(self) -> bool:
        """Whether the next renewal has to be of all rows: nobody knows what is there."""
        return not self._has_all

    def compare_all(self) -> None:
        """Have the next renewal be of all rows: what somebody else has changed is put right by it."""
        self._has_all = False

    def open(self) -> None:
        """Connect, and make the table where there is none. Where that was done, and the table is another one now, do it anew.

        Raises
        ------
        InvalidArgument
            The table has other columns; or it has texts, and the encoding of the database lacks characters.
        StoreLocked
            The server lets this user not in or make no tables, there is no such database, or another service keeps the table.
        StoreUnreachable
            No server answers.
        """
        with self._as_ours("look at the results"):
            if self._connection is not None and not self._is_as_it_was():
                self.close()
        if self._connection is not None:
            return
        with self._as_ours("open the table of results"):
            self._connection = connected(self._address.database, schema=None)
            self._require_every_text(self._connection.get_parameter_status("server_encoding"))
            with self._connection.cursor() as cursor:
                self._take(cursor)
            self._connection.commit()

    def renew(
        self,
        changed: Iterable[bytes | memoryview],
        removed: Iterable[bytes | memoryview],
        of: AnsweredSnapshot,
    ) -> int:
        """Make the table the answer to a snapshot.

        Parameters
        ----------
        changed
            Lines of CSV, ``vertex,value``, of the rows that are new or have another value; where it `is_anew`, of all. A value that is
            empty is NULL, unless it is text.
        removed
            Such lines, of which only the vertex counts, of rows that go; where it is anew none, and whatever is not among the others goes.
        of
            What goes into the row of ``TABLE_snapshots``.

        Returns
        -------
        How many rows were put or removed.

        Raises
        ------
        StoreError
            As `open`; or the server could not do it, or the table has become another one since this was opened. Then nothing is
            renewed, unless the end of the transaction was not heard of.
        """
        if self._connection is None:
            self.open()
        with self._as_ours("renew the results"):
            with self._connection.cursor() as cursor:
                cursor.execute("SET LOCAL lock_timeout = '5s'")
                self._copy(cursor, _CHANGED, changed)
                gone = self._remove_others(cursor) if self.is_anew else self._remove(cursor, removed)
                put = self._put(cursor, of)
                self._note(cursor, of, put, gone)
                # The locks of what was written keep both tables as they are until the end.
                if self._found_shapes(cursor) != self._shapes:
                    raise StoreError(
                        f"somebody else has made the table {self.label} anew, altered or truncated it",
                        hint="The next renewal is of all rows.",
                    )
            self._connection.commit()
            self._has_all = True
            return put + gone

    def close(self) -> None:
        """Give the table back. Closing twice is no mistake."""
        connection, self._connection, self._has_all = self._connection, None, False
        if connection is not None:
            with contextlib.suppress(psycopg2.Error):
                connection.close()

    @contextlib.contextmanager
    def _as_ours(self, what: str) -> Iterator[None]:
        """Whatever goes wrong, the connection is given up: so nothing is taken for known that may not be there."""
        try:
            yield
        except psycopg2.errors.LockNotAvailable as error:
            self.close()
            raise StoreLocked(
                f"could not {what} in {self.label}: somebody holds a lock of the table, or of one of its rows",
                hint="End the transaction that holds it; the next renewal is of all rows.",
            ) from error
        except psycopg2.Error as error:
            self.close()
            raise meant(error, what, self.label, permission=_PERMISSION) from error
        except BaseException:
            self.close()
            raise

    def _require_every_text(self, encoding: str) -> None:
        """Nobody knows the names that will come, and one that does not fit would hold up all others for good."""
        if self._texts and encoding not in _OF_EVERY_TEXT:
            raise InvalidArgument(
                f"the table {self.label} has texts ({', '.join(self._texts)}), and the encoding of its database is {encoding}, which lacks "
                "characters that names may have",
                hint=ENCODING_HINT,
            )

    def _is_as_it_was(self) -> bool:
        with self._connection.cursor() as cursor:
            found = self._found_shapes(cursor)
        self._connection.commit()
        return found == self._shapes

    def _found_shapes(self, cursor: Cursor) -> list[list[Any]]:
        found = []
        cursor.execute("SET LOCAL lock_timeout = '5s'")
        for name, key in ((self._table, "vertex"), (self._snapshots, "number")):
            cursor.execute(_SHAPE, {"name": name.string, "key": key})
            found.append(cursor.fetchall())
        return found

    def _take(self, cursor: Cursor) -> None:
        """Make the tables, become the only one that renews them, and look whether they are what they should be."""
        columns = tuple(f"{name} {kind}" for name, kind in self._types.items()) + _STAMP
        self._make(cursor, self._table, SQL("{} , PRIMARY KEY (vertex)").format(SQL(", ".join(columns))))
        snapshots = SQL(", ".join(_OF_SNAPSHOTS)[len(_OF_SNAPSHOTS[0]) :])
        self._make(
            cursor,
            self._snapshots,
            SQL("number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY{}").format(snapshots),
        )
        cursor.execute("SET LOCAL lock_timeout = %s", (f"{LOCK_PATIENCE_S * 1e3:.0f}ms",))
        try:
            cursor.execute(
                "SELECT pg_advisory_lock(%s | to_regclass(quote_ident(%s))::oid::bigint)",
                (_LOCK, self._table.string),
            )
        except psycopg2.errors.LockNotAvailable as error:
            raise StoreLocked(
                f"the table {self.label} is kept by another service",
                hint="End that one, or name another table.",
            ) from error
        self._shapes = self._found_shapes(cursor)
        of_results, of_snapshots = self._shapes
        self._require_columns(self._table, of_results, columns, key="vertex")
        self._require_columns(self._snapshots, of_snapshots, _OF_SNAPSHOTS, key="number")
        made = SQL(", ".join(columns[:2]))
        for name in (_CHANGED, _REMOVED):
            cursor.execute(SQL("CREATE TEMPORARY TABLE {} ({}) ON COMMIT DELETE ROWS").format(name, made))

    def _make(self, cursor: Cursor, name: Identifier, columns: Composed) -> None:
        """Only where it is not there: to look needs no permission to make one."""
        cursor.execute("SELECT to_regclass(quote_ident(%s)) IS NULL", (name.string,))
        if cursor.fetchall()[0][0]:
            cursor.execute(SQL("CREATE TABLE {} ({})").format(name, columns))

    def _require_columns(
        self, name: Identifier, shape: list[Any], columns: tuple[str, ...], *, key: str
    ) -> None:
        ((kind, found, has_key, *_),) = shape
        if kind not in {"r", "p"} or tuple(found) != columns or not has_key:
            raise InvalidArgument(
                f"{name.string} in {self.label} is no table of these results: it has ({', '.join(found)})"
                f"{'' if has_key else f' and no unique index of {key}'}, and these are ({', '.join(columns)})",
                hint="Name another table, or drop that one: it is made when it is missing.",
            )

    def _copy(self, cursor: Cursor, name: Identifier, lines: Iterable[bytes | memoryview]) -> None:
        # An empty text is one; any other empty value is NULL.
        texts = SQL(", FORCE_NOT_NULL ({})").format(SQL(", ").join(map(Identifier, self._texts)))
        copy = SQL("COPY pg_temp.{} FROM STDIN WITH (FORMAT csv{})").format(
            name, texts if self._texts else SQL("")
        )
        cursor.copy_expert(copy, io.BytesIO(b"".join(lines)))

    def _remove(self, cursor: Cursor, removed: Iterable[bytes | memoryview]) -> int:
        self._copy(cursor, _REMOVED, removed)
        if cursor.rowcount == 0:
            return 0
        cursor.execute(SQL("ANALYZE pg_temp.{}").format(_REMOVED))
        cursor.execute(
            SQL("DELETE FROM {} AS old USING pg_temp.{} AS gone WHERE old.vertex = gone.vertex").format(
                self._table, _REMOVED
            )
        )
        return cursor.rowcount

    def _remove_others(self, cursor: Cursor) -> int:
        """Remove the rows of which no vertex is among all, and take from among these the rows that are there as they are."""
        cursor.execute(SQL("ANALYZE pg_temp.{}").format(_CHANGED))
        cursor.execute(
            SQL(
                "DELETE FROM {} AS old WHERE NOT EXISTS"
                " (SELECT FROM pg_temp.{} AS new WHERE new.vertex = old.vertex)"
            ).format(self._table, _CHANGED)
        )
        removed = cursor.rowcount
        cursor.execute(
            SQL(
                "DELETE FROM pg_temp.{} AS new USING {} AS old"
                " WHERE new.vertex = old.vertex AND new.value IS NOT DISTINCT FROM old.value"
            ).format(_CHANGED, self._table)
        )
        return removed

    def _put(self, cursor: Cursor, of: AnsweredSnapshot) -> int:
        cursor.execute(
            SQL(
                "INSERT INTO {} SELECT vertex, value, %s, %s FROM pg_temp.{} ON CONFLICT (vertex) DO UPDATE"
                " SET value = excluded.value, version = excluded.version, answered_at = excluded.answered_at"
            ).format(_beside_parameters(cursor, self._table), _CHANGED),
            (of.version, of.answered_at),
        )
        return cursor.rowcount

    def _note(self, cursor: Cursor, of: AnsweredSnapshot, changed: int, removed: int) -> None:
        snapshots = _beside_parameters(cursor, self._snapshots)
        cursor.execute(
            SQL(
                "INSERT INTO {} (version, answered_at, loop, stream, offsets, certificate, vertices, changed, removed)"
                " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s) RETURNING number"
            ).format(snapshots),
            (
                *(of.version, of.answered_at, of.loop, of.stream, of.offsets, of.certificate),
                *(of.vertices, changed, removed),
            ),
        )
        newest = cursor.fetchall()[0][0]
        cursor.execute(SQL("DELETE FROM {} WHERE number <= %s").format(snapshots), (newest - KEPT_SNAPSHOTS,))


def _beside_parameters(cursor: Cursor, name: Identifier) -> SQL:
    """A name as it stands in a statement with parameters, which begin with a percent sign."""
    return SQL(name.as_string(cursor).replace("%", "%%"))
