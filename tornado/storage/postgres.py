"""The doorway to PostgreSQL: connections that come back, one owner at a time, and what its errors mean.

Two connections: one that writes, which holds the advisory lock by which a store has one owner, and one that reads, so that nobody
waits for a long write. A connection that is lost is made again, with growing pauses, until `PATIENCE_S` is over; then the call is a
`StoreUnreachable`, and the next one tries anew. Where that call may have taken place, as nobody heard the end of it, the next one first
takes it back: whoever was told that it failed goes by that.

Whoever takes the lock writes a token of its own, which every transaction looks at: so a service whose lock went with its connection
writes nothing any more once another one has begun. The server may notice only after a while that a connection is lost, or who had it
dead, and has the lock until then: that long it is waited for.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Iterator
from threading import Condition, RLock
from typing import Any, Final, Protocol, TypeVar

import psycopg2
import psycopg2.errors
import psycopg2.extensions
from psycopg2.extensions import make_dsn

from ..clock import SYSTEM_CLOCK, Clock, wait_until
from ..errors import InvalidArgument, StoreCorrupt, StoreError, StoreFull, StoreLocked, StoreUnreachable
from .postgres_address import label_of, without_password
from .versioned_store import closed_error

PATIENCE_S: Final = 5.0
"""How long a call tries to reach a server that is away."""
LOCK_PATIENCE_S: Final = 1.0
"""How long whoever begins waits for the lock: who had it may have been killed a moment ago."""
SCHEMA: Final = "tornado_loops"
VERSION: Final = 1
"""Of the tables; a store of an older one is migrated when it is opened."""

_LOCK: Final = 0x746F726E61646F  # the advisory lock of a store: one in each database
_FIRST_PAUSE_S, _LONGEST_PAUSE_S, _LOCK_PAUSE_S = 0.05, 1.0, 0.05
_OPTIONS: Final = {
    "connect_timeout": 4,
    "tcp_user_timeout": 4000,
    "keepalives_idle": 10,
    "application_name": "tornado-loops",
}
_TABLES: Final = f"""
CREATE SCHEMA IF NOT EXISTS {SCHEMA};
SET LOCAL search_path TO {SCHEMA};
CREATE TABLE IF NOT EXISTS facts (name text PRIMARY KEY, value text NOT NULL);
CREATE TABLE IF NOT EXISTS loops (number serial PRIMARY KEY, name bytea UNIQUE NOT NULL, floor bigint NOT NULL);
CREATE TABLE IF NOT EXISTS versions (
    loop int NOT NULL, version bigint NOT NULL, metadata bytea NOT NULL, written text NOT NULL, PRIMARY KEY (loop, version)
);
CREATE TABLE IF NOT EXISTS entries (loop int NOT NULL, key bytea NOT NULL, version bigint NOT NULL, checksum bigint, page bytea);
ALTER TABLE entries ALTER COLUMN page SET STORAGE EXTERNAL;
CREATE UNIQUE INDEX IF NOT EXISTS entries_newest_first ON entries (loop, key, version DESC);
"""

# Refused as often as it is asked for: no room on the disk, a configured limit, a limit of the program, a statement that was cancelled.
_REFUSED: Final = ("53100", "53400", "54", "57014")

ResultT = TypeVar("ResultT")
Cursor = psycopg2.extensions.cursor


class _Leave(Protocol):
    def __call__(self, *, is_lost: bool) -> None: ...


class PostgresDatabase:
    """A database that one store has for itself.

    Parameters
    ----------
    url
        ``postgresql://USER:PASSWORD@HOST:PORT/DATABASE``; what is left out is as libpq has it.

    Raises
    ------
    InvalidArgument
        The address is none.
    StoreLocked
        Another service has the store, or the server lets this user not in.
    StoreUnreachable
        No server answers.
    StoreCorrupt
        The tables are of a newer version of this program.
    """

    def __init__(self, url: str, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self.url, self.label, self._clock = url, label_of(url), clock
        self._token = secrets.token_hex(16)
        self._writer: Any = None
        self._reader: Any = None
        self._is_closed = False
        self._in_doubt: list[Callable[[Cursor], object]] = []
        self._writing, self._reading = RLock(), RLock()
        try:
            with self._writing:
                self._connected_writer(is_first=True)
        except psycopg2.Error as error:
            raise meant(error, "open the store", self.label) from error

    def close(self) -> None:
        """Give the store back. Closing twice is no mistake."""
        self._is_closed = True
        with self._writing, self._reading:
            for connection in (self._writer, self._reader):
                if connection is not None:
                    connection.close()
            self._writer = self._reader = None

    def change(
        self,
        work: Callable[[Cursor], ResultT],
        what: str,
        *,
        was_done: Callable[[Cursor], ResultT | None] | None = None,
        take_back: Callable[[Cursor], object] | None = None,
    ) -> ResultT:
        """Do something in a transaction of its own, once.

        Parameters
        ----------
        work
            Is called again where the connection was lost before the end.
        what
            For messages.
        was_done
            Looks up whether a transaction took place whose end nobody heard of, and what it gave; where it is left out, `work` may be
            done twice without harm.
        take_back
            Takes back what was done, if it was, and may be called twice: for a call that failed without anybody knowing. Where it is left
            out, what took place stays.
        """
        is_unsure, until_s = False, self._until_s()

        def once() -> ResultT:
            nonlocal is_unsure
            connection = self._connected_writer()
            with connection.cursor() as cursor:
                self._require_ours(cursor)
                for take_one_back in self._in_doubt:
                    take_one_back(cursor)
                found = was_done(cursor) if is_unsure and was_done is not None else None
                result = work(cursor) if found is None else found
            is_unsure = True
            connection.commit()
            self._in_doubt.clear()
            return result

        with self._writing:
            try:
                return self._tried(once, what, self._leave_writer, until_s)
            except StoreError:
                if is_unsure and take_back is not None:
                    self._in_doubt.append(take_back)
                raise

    def read(self, work: Callable[[Cursor], ResultT], what: str) -> ResultT:
        """Read something in a transaction of its own, that sees one state."""
        until_s = self._until_s()
        if self._in_doubt:
            self.change(lambda _: None, what)

        def once() -> ResultT:
            connection = self._connected_reader()
            with connection.cursor() as cursor:
                result = work(cursor)
            connection.commit()
            return result

        with self._reading:
            return self._tried(once, what, self._leave_reader, until_s)

    def _until_s(self) -> float:
        """How long a call that begins now is tried; who waits behind others meanwhile has waited for the server, too."""
        return self._clock.monotonic() + PATIENCE_S

    def _tried(self, once: Callable[[], ResultT], what: str, leave: _Leave, until_s: float) -> ResultT:
        """Call it until it is through. A connection that was lost is left; of any other the transaction is taken back."""
        for is_last in _attempts(self._clock, until_s):
            try:
                return once()
            except psycopg2.Error as error:
                leave(is_lost=is_loss(error))
                if is_last or not is_loss(error):
                    raise meant(error, what, self.label) from error
            except BaseException:
                leave(is_lost=False)
                raise
        raise AssertionError

    def _leave_writer(self, *, is_lost: bool) -> None:
        self._writer = _left(self._writer, is_lost=is_lost)

    def _leave_reader(self, *, is_lost: bool) -> None:
        self._reader = _left(self._reader, is_lost=is_lost)

    def _connected_reader(self) -> Any:
        self._require_open()
        if self._reader is None:
            self._reader = self._connect()
            self._reader.set_session(isolation_level="REPEATABLE READ", readonly=True)
        return self._reader

    def _require_open(self) -> None:
        if self._is_closed:
            raise closed_error(self.label)

    def _connect(self) -> Any:
        return connected(self.url)

    def _connected_writer(self, *, is_first: bool = False) -> Any:
        self._require_open()
        if self._writer is None:
            connection = self._connect()
            try:
                with connection.cursor() as cursor:
                    self._take(cursor, is_first=is_first)
                connection.commit()
            except BaseException:
                connection.close()
                raise
            self._writer = connection
        return self._writer

    def _take(self, cursor: Cursor, *, is_first: bool) -> None:
        """Become the owner. After a loss only where nobody else has been it meanwhile."""
        if not is_first:
            self._require_ours(cursor)
        if not self._has_lock(cursor, LOCK_PATIENCE_S if is_first else PATIENCE_S):
            raise StoreLocked(
                f"the store {self.label} is used by another service",
                hint="End that one, or give this one a database of its own.",
            )
        if is_first:
            cursor.execute(_TABLES)
            cursor.execute("INSERT INTO facts VALUES ('version', %s) ON CONFLICT DO NOTHING", (str(VERSION),))
            require_version(cursor, self.label)
            cursor.execute(
                "INSERT INTO facts VALUES ('owner', %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                (self._token,),
            )
        else:
            self._require_ours(cursor)

    def _has_lock(self, cursor: Cursor, patience_s: float) -> bool:
        until_s, never = self._clock.monotonic() + patience_s, Condition()
        while True:
            cursor.execute("SELECT pg_try_advisory_lock(%s)", (_LOCK,))
            again_s = self._clock.monotonic() + _LOCK_PAUSE_S
            if _one(cursor)[0]:
                return True
            if again_s >= until_s:
                return False
            with never:
                wait_until(self._clock, never, lambda: False, again_s)

    def _require_ours(self, cursor: Cursor) -> None:
        cursor.execute("SELECT value FROM facts WHERE name = 'owner' FOR SHARE")
        if _one(cursor)[0] != self._token:
            raise StoreLocked(
                f"another service has taken the store {self.label} while this one was cut off from it",
                hint="End one of the two; nothing more is written by this one.",
            )


def connected(url: str, *, schema: str | None = SCHEMA) -> Any:
    """Return a new connection that sees the tables of a schema, left out those of a store; what goes wrong is psycopg2's, see `meant`.

    Raises
    ------
    InvalidArgument
        When the address has something that libpq does not know.
    """
    seen = {} if schema is None else {"options": f"-c search_path={schema}"}
    try:
        dsn = make_dsn(url, **seen, **_OPTIONS)
    except psycopg2.ProgrammingError as error:
        raise InvalidArgument(
            f"the address of a Postgres database cannot be read: {without_password(str(error), url)}",
            hint="Look at the settings behind the question mark.",
        ) from None  # its text may have the address
    connection = psycopg2.connect(dsn)
    connection.set_client_encoding("UTF8")
    return connection


def require_version(cursor: Cursor, label: str) -> None:
    """Refuse tables of another version of this program."""
    cursor.execute("SELECT value FROM facts WHERE name = 'version'")
    found = _one(cursor)[0]
    if found != str(VERSION):
        raise StoreCorrupt(
            f"the store {label} has tables of version {found}, and this program reads version {VERSION}",
            hint="Open it with the program that wrote it, or choose another database.",
        )


ENCODING_HINT: Final = "Use a database that takes every text: createdb -E UTF8 -l C -T template0 NAME."
_READ_ONLY: Final = "Name the primary server where this is a standby, or let the user write: default_transaction_read_only = off."
_TIMEOUT: Final = "Where a statement_timeout did it, let the user have a longer one, or none."
_PERMISSION: Final = f"Let the user create a schema and tables, or make the schema {SCHEMA} its own."


def meant(error: psycopg2.Error, what: str, label: str, *, permission: str = _PERMISSION) -> StoreError:
    """What an error of the server is to whoever uses the store. Its text has no password in it, and is of one line here.

    Parameters
    ----------
    error
        Whose text is told.
    what
        Could not be done.
    label
        Where.
    permission
        What to do where the user may not.
    """
    said = " ".join(str(error).split()) or type(error).__name__
    told = f"could not {what} in {label}: {said}"
    match error:
        case psycopg2.errors.DiskFull() | psycopg2.errors.OutOfMemory():
            return StoreFull(told)
        case psycopg2.errors.InsufficientPrivilege():
            return StoreLocked(told, hint=permission)
        case psycopg2.errors.ReadOnlySqlTransaction():
            return StoreLocked(told, hint=_READ_ONLY)
        case psycopg2.errors.UntranslatableCharacter():
            return StoreError(told, hint=ENCODING_HINT)
        case psycopg2.errors.QueryCanceled():
            return StoreUnreachable(told, hint=_TIMEOUT)
    if said.startswith("invalid "):
        return StoreLocked(told, hint="Look at the settings in the address.")
    if "password authentication failed" in said or "no password supplied" in said or "pg_hba.conf" in said:
        return StoreLocked(told, hint="Look at the user and the password in the address.")
    if "database" in said and "does not exist" in said:
        return StoreLocked(told, hint="Make it: createdb NAME.")
    if is_loss(error):
        return StoreUnreachable(told)
    return StoreError(told)


def _attempts(clock: Clock, until_s: float) -> Iterator[bool]:
    """Whether it is the last attempt, with growing pauses between them; there is one at least."""
    pause_s, never = _FIRST_PAUSE_S, Condition()
    while True:
        again_s = clock.monotonic() + pause_s
        is_last = again_s >= until_s
        yield is_last
        if is_last:
            return
        with never:
            wait_until(clock, never, lambda: False, again_s)
        pause_s = min(2.0 * pause_s, _LONGEST_PAUSE_S)


def is_loss(error: psycopg2.Error) -> bool:
    """Whether a connection could not be made or was lost, and not refused for good."""
    said = str(error)
    if isinstance(error, psycopg2.InterfaceError):
        return True
    lasting = ("password", "pg_hba.conf", "does not exist", "permission denied", "disk")
    is_refused = (
        said.startswith("invalid ")
        or any(word in said for word in lasting)
        or (error.pgcode or "").startswith(_REFUSED)
    )
    return isinstance(error, psycopg2.OperationalError) and not is_refused


def _left(connection: Any, *, is_lost: bool) -> Any:
    """The connection after a call that failed: none where it was lost."""
    if connection is not None and not is_lost:
        try:
            connection.rollback()
        except psycopg2.Error:
            is_lost = True
    if connection is not None and is_lost:
        with contextlib.suppress(psycopg2.Error):
            connection.close()
    return None if is_lost else connection


def _one(cursor: Cursor) -> tuple[Any, ...]:
    row = cursor.fetchone()
    assert row is not None
    return row
