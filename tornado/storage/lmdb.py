"""The doorway to LMDB: a folder with ordered tables, changed by transactions.

LMDB is a copy-on-write B+ tree in one file: a transaction writes pages that nobody reads yet, and at its end one small root page.
So `kill -9` leaves what was before or what is after, never half of it, and readers never wait for a writer.

Nobody else imports lmdb, and its exceptions leave as ours. What this adds to LMDB:

- the memory map grows by itself, while nobody is inside (growing it under a reader would crash the process);
- a full disk is `StoreFull`, with everything older intact and the folder still usable;
- one process at a time has the folder.

It leaves out, on purpose, LMDB's ``writemap`` mode: it is faster, but a full disk would kill the process (SIGBUS). The price is
memory: a transaction holds a copy of what it writes until it ends.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, BinaryIO, Final, TypeVar

import lmdb

from ..errors import InternalError, StoreCorrupt, StoreError, StoreFull, StoreLocked
from .gate import Gate
from .owner import FolderOwner, folder_error
from .versioned_store import closed_error

if TYPE_CHECKING:
    from typing_extensions import Buffer

DATA_FILE_NAME: Final = "data.mdb"
INITIAL_MAP_SIZE_BYTES: Final = 256 << 20

_MAX_READERS = 1024
# A write of pages that stops short is reported as EIO by LMDB itself: the usual cause is a full disk.
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
_NO_PERMISSION = {errno.EACCES, errno.EPERM, errno.EROFS}

_T = TypeVar("_T")


class Table(Enum):
    """The tables of a folder, each ordered by its keys as bytes."""

    FACTS = b"facts"
    LOOPS = b"loops"
    VERSIONS = b"versions"
    ENTRIES = b"entries"
    CHUNKS = b"chunks"


_Tables = dict[Table, "lmdb._Database"]  # noqa: SLF001 - lmdb gives this type no public name


class Transaction:
    """A consistent state of all tables; in a change, the one place to write to.

    Memoryviews it returns end with it, and with the next write.
    """

    def __init__(self, inner: lmdb.Transaction[memoryview], tables: _Tables) -> None:
        self._inner = inner
        self._tables = tables

    def get(self, table: Table, key: bytes) -> memoryview | None:
        """Return the value of a key, or None."""
        return self._inner.get(key, db=self._tables[table])

    def put(self, table: Table, key: bytes, value: Buffer) -> None:
        """Set the value of a key."""
        self._inner.put(key, value, db=self._tables[table])

    def delete(self, table: Table, key: bytes) -> None:
        """Remove a key; one that is not there is no mistake."""
        self._inner.delete(key, db=self._tables[table])

    def delete_prefix(self, table: Table, prefix: bytes) -> None:
        """Remove all keys that begin with a prefix that is not empty."""
        with self._inner.cursor(self._tables[table]) as cursor:
            found = cursor.set_range(prefix)
            while found and bytes(cursor.key()).startswith(prefix):
                # Deleting leaves the cursor at the next key, which is empty at the end.
                found = cursor.delete()

    def walk(self, table: Table, prefix: bytes, start: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        """Yield the pairs whose key begins with a prefix, ascending from `start` on, while nothing is written."""
        with self._inner.cursor(self._tables[table]) as cursor:
            found = cursor.set_range(start or prefix)
            while found and (key := bytes(cursor.key())).startswith(prefix):
                yield key, bytes(cursor.value())
                found = cursor.next()

    def keys(self, table: Table, prefix: bytes) -> list[bytes]:
        """Return the keys that begin with a prefix, ascending; their values are not read."""
        found: list[bytes] = []
        with self._inner.cursor(self._tables[table]) as cursor:
            more = cursor.set_range(prefix)
            while more and (key := bytes(cursor.key())).startswith(prefix):
                found.append(key)
                more = cursor.next()
        return found

    def at_or_after(self, table: Table, key: bytes) -> tuple[bytes, bytes] | None:
        """Return the first pair not below a key, or None."""
        with self._inner.cursor(self._tables[table]) as cursor:
            return (bytes(cursor.key()), bytes(cursor.value())) if cursor.set_range(key) else None

    def at_or_before(self, table: Table, key: bytes) -> tuple[bytes, bytes] | None:
        """Return the last pair not above a key, or None."""
        with self._inner.cursor(self._tables[table]) as cursor:
            exact = cursor.set_range(key) and bytes(cursor.key()) == key
            # Behind the last key the cursor is nowhere, and its previous key is the last.
            return (bytes(cursor.key()), bytes(cursor.value())) if exact or cursor.prev() else None

    def count(self, table: Table) -> int:
        """Return how many keys a table has."""
        return self._inner.stat(self._tables[table])["entries"]


class LmdbFolder:
    """A folder with the tables, from construction to `close`; safe from every thread.

    Parameters
    ----------
    folder : Path
        Created with its parents where it is missing.
    initial_map_size_bytes : int
        Address space to begin with.

    Raises
    ------
    StoreLocked, StoreFull, InvalidArgument
        As `FolderOwner` does.
    StoreCorrupt
        When the files in it are none of LMDB's.
    """

    def __init__(self, folder: Path, *, initial_map_size_bytes: int) -> None:
        self.path = folder.absolute()
        self._gate = Gate()
        self._writing = Lock()
        self._next = Lock()
        self._owner = FolderOwner(self.path)
        self._environment: lmdb.Environment | None = None
        try:
            self._environment, self._tables = self._open_environment(initial_map_size_bytes)
        except BaseException:
            self._owner.release()
            raise

    @property
    def url(self) -> str:
        """The folder as `open_store` takes it."""
        return self.path.as_uri().replace("file:", "lmdb:", 1)

    @contextmanager
    def reading(self, doing: str) -> Iterator[Transaction]:
        """Give a transaction to read in; `doing` says in errors what for. Must not be entered in another one."""
        with self._gate.shared():
            try:
                with self._open().begin(buffers=True) as inner:
                    yield Transaction(inner, self._tables)
            except lmdb.Error as error:
                raise _translated(error, doing, self.path) from error

    def change(self, step: Callable[[Transaction], _T], doing: str, *, size_bytes: int = 0) -> _T:
        """Run `step` in a transaction that takes effect when it returns, and not at all when it raises.

        It runs once more from the start where the map was too small, which `size_bytes`, about what it will write, avoids.
        """
        with self._turn():
            if size_bytes > self._free_map_size_bytes():
                self._grow_map(size_bytes, doing)
            while True:
                try:
                    return self._transact(step)
                except lmdb.MapFullError:
                    self._grow_map(0, doing)
                except lmdb.PanicError as error:
                    # Writing the root failed, and LMDB refuses everything from now on. A fresh environment reads from the
                    # file the root that counts: the old one, as this transaction never ended.
                    self._reopen()
                    raise _translated(error, doing, self.path) from error
                except lmdb.Error as error:
                    raise _translated(error, doing, self.path) from error

    def _transact(self, step: Callable[[Transaction], _T]) -> _T:
        with self._gate.shared():
            inner = self._open_to_write().begin(write=True, buffers=True)
            try:
                done = step(Transaction(inner, self._tables))
            except BaseException as error:  # noqa: BLE001  whatever it is, it is raised below
                failure = error
            else:
                inner.commit()
                return done
        try:
            self._undo(inner)
            raise failure
        finally:
            del failure  # with this frame in its traceback it would keep what was to be written

    def _undo(self, inner: lmdb.Transaction[memoryview]) -> None:
        try:
            # lmdb does it when it finds nobody else at work in the environment: never, where two threads read one after the other.
            with self._gate.alone():
                inner.abort()
        except KeyboardInterrupt:
            inner.abort()  # if it is not yet: who writes next would wait for it
            raise

    def used_size_bytes(self) -> int:
        """Return how much of the file was ever used; pages that were freed are used again, the file never shrinks."""
        with self._gate.shared():
            return _used_size_bytes(self._open())

    def close(self) -> None:
        """Let the folder go, after the transactions under way."""
        with self._turn(), self._gate.alone():
            if self._environment is not None:
                self._environment.close()
                self._environment = None
                self._owner.release()

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Be the one who writes. Whoever has just written waits behind who waits already: a lock alone would let it go on."""
        with self._next:
            self._writing.acquire()
        try:
            yield
        finally:
            self._writing.release()

    def _open(self) -> lmdb.Environment:
        if self._environment is None:
            raise closed_error(self.url)
        return self._environment

    def _open_to_write(self) -> lmdb.Environment:
        """The folder, where nobody counts as a reader who was killed: pages that he saw would never be used again."""
        environment = self._open()
        environment.reader_check()
        return environment

    def _open_environment(self, map_size_bytes: int) -> tuple[lmdb.Environment, _Tables]:
        doing = "open the store"
        try:
            environment = lmdb.open(
                str(self.path), map_size=map_size_bytes, max_dbs=len(Table), max_readers=_MAX_READERS
            )
        except lmdb.Error as error:
            raise _translated(error, doing, self.path) from error
        try:
            self._cover_map(environment)
            return environment, _make_tables(environment)
        except lmdb.Error as error:
            environment.close()
            raise _translated(error, doing, self.path) from error
        except OSError as error:
            environment.close()
            raise folder_error(self.path, error) from error

    def _cover_map(self, environment: lmdb.Environment) -> None:
        """Make the file as long as the pages it should have.

        Reading a mapped page behind the end of the file kills the process (SIGBUS). A file that was cut short is lengthened
        with zeros instead, which reading recognises as damage. It may also be a few pages short rightly, when the last ones
        were not needed in the end; zeros do no harm there.
        """
        path = self.path / DATA_FILE_NAME
        if path.stat().st_size < _used_size_bytes(environment):
            os.truncate(path, _used_size_bytes(environment))

    def _free_map_size_bytes(self) -> int:
        with self._gate.shared():
            environment = self._open()
            return int(environment.info()["map_size"]) - _used_size_bytes(environment)

    def _grow_map(self, size_bytes: int, doing: str) -> None:
        with self._gate.alone():
            environment = self._open()
            wanted = 2 * max(environment.info()["map_size"], size_bytes)
            try:
                environment.set_mapsize(wanted)
            except (lmdb.Error, OverflowError) as error:
                raise StoreFull(
                    f"cannot {doing}: no address space for a map of {wanted} bytes ({error})",
                    hint="Raise the limit on virtual memory (ulimit -v); nothing stored earlier is lost.",
                ) from error

    def _reopen(self) -> None:
        with self._gate.alone():
            environment = self._open()
            map_size_bytes = environment.info()["map_size"]
            environment.close()
            self._environment = None
            try:
                self._environment, self._tables = self._open_environment(map_size_bytes)
            except BaseException:
                self._owner.release()
                raise


@contextmanager
def looking_into(folder: Path, doing: str) -> Iterator[tuple[Transaction, Callable[[BinaryIO], None]]]:
    """Look at one state of a folder that another process may own, and disturb nobody.

    Parameters
    ----------
    folder : Path
        Has the files of LMDB.
    doing : str
        Says in errors what for.

    Yields
    ------
    A transaction to read in, and what copies all tables into an empty file, as they are when it is called, without free pages.

    Raises
    ------
    StoreCorrupt
        The files are none of LMDB's, or the tables are not ours.
    StoreError
        It cannot be read, or this process has it open already.
    """
    try:
        environment, inner = _opened_to_look(folder)
        with environment, inner:
            tables = {table: environment.open_db(table.value, txn=inner, create=False) for table in Table}

            def copy_to(file: BinaryIO) -> None:
                try:
                    environment.copyfd(file.fileno(), compact=True)
                except lmdb.Error as error:
                    raise _translated(error, "write the copy of a store", Path(file.name).parent) from error

            yield Transaction(inner, tables), copy_to
    except lmdb.NotFoundError as error:
        raise StoreCorrupt(f"the store in {folder} has not the tables of one: {error}") from error
    except lmdb.Error as error:
        raise _translated(error, doing, folder) from error


def _opened_to_look(folder: Path) -> tuple[lmdb.Environment, lmdb.Transaction[memoryview]]:
    while True:
        # Its lock file is that of the owner, which so knows which pages are still read.
        environment = lmdb.open(str(folder), readonly=True, max_dbs=len(Table), max_readers=_MAX_READERS)
        try:
            _lengthen(folder / DATA_FILE_NAME, _used_size_bytes(environment))
            return environment, environment.begin(buffers=True)
        except lmdb.MapResizedError:
            environment.close()  # the owner has just made it larger
        except BaseException:
            environment.close()
            raise


def _lengthen(path: Path, size_bytes: int) -> None:
    """As `LmdbFolder._cover_map`, while the owner may be writing: in no case does it become shorter."""
    if path.stat().st_size < size_bytes:
        with path.open("r+b") as file:
            os.posix_fallocate(file.fileno(), size_bytes - 1, 1)


def _translated(error: lmdb.Error, doing: str, folder: Path) -> StoreError | InternalError:
    """Return our error for one of LMDB's."""
    message = f"cannot {doing} in {folder}: {error}"
    code = getattr(error, "code", 0)
    if isinstance(error, lmdb.DiskError) or code in _NO_ROOM:
        return StoreFull(
            message, hint="The disk is full or failing: free some space. Nothing stored earlier is lost."
        )
    if isinstance(error, _NOT_OURS) or code in _NO_PERMISSION:
        return StoreLocked(
            message, hint="Make the folder and the files in it writable for this user, or choose another."
        )
    if isinstance(error, _DAMAGE):
        return StoreCorrupt(message)
    if isinstance(error, _MISUSE):
        return InternalError(message)
    return StoreError(message, hint="Check the disk and the memory limits of this machine.")


def _make_tables(environment: lmdb.Environment) -> _Tables:
    while True:
        try:
            with environment.begin(write=True) as transaction:
                return {table: environment.open_db(table.value, txn=transaction) for table in Table}
        except lmdb.MapFullError:
            environment.set_mapsize(2 * environment.info()["map_size"])


def _used_size_bytes(environment: lmdb.Environment) -> int:
    return int((environment.info()["last_pgno"] + 1) * environment.stat()["psize"])


def _kinds(*names: str) -> tuple[type[lmdb.Error], ...]:
    # By name, since some came with LMDB 1.0.
    return tuple(kind for name in names if (kind := getattr(lmdb, name, None)) is not None)


# What each kind of LMDB's errors means; a test holds that none is forgotten. MapFullError and DiskError are dealt with above.
_NOT_OURS = _kinds("LockError", "ReadonlyError")
_DAMAGE = _kinds(
    "BadChecksumError",
    "CorruptedError",
    "CryptoFailError",
    "EnvEncryptionError",
    "IncompatibleError",
    "InvalidError",
    "PageNotFoundError",
    "ProblemError",
    "VersionMismatchError",
)
_MISUSE = _kinds(
    "BadDbiError",
    "BadRslotError",
    "BadTxnError",
    "BadValsizeError",
    "CursorFullError",
    "DbsFullError",
    "InvalidParameterError",
    "KeyExistsError",
    "NotFoundError",
    "PageFullError",
    "TxnFullError",
)
_LIMITS = _kinds("MapResizedError", "MemoryError", "PanicError", "ReadersFullError", "TlsFullError")
