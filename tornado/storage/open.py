"""Which store an address means.

======================  ==========================================================
``memory:``             in memory, gone with the process
``lmdb:``               on disk, in the data folder of this user
``lmdb:///some/folder`` on disk, in that folder (three slashes, absolute)
``postgresql://…/NAME`` in a PostgreSQL database
======================  ==========================================================
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal
from urllib.parse import unquote

from ..config import data_dir
from ..errors import InvalidArgument
from .memory import MemoryStore
from .versioned_store import VersionedStore

STORE_FOLDER_NAME = "store"

_VALID = (
    "memory:, lmdb: (in your data folder), lmdb:///SOME/FOLDER or postgresql://USER:PASSWORD@HOST/DATABASE"
)


def open_store(url: str) -> VersionedStore:
    """Open the store at `url`, making it where it is missing.

    Parameters
    ----------
    url : str
        See the module. Percent signs encode, as in any URL.

    Raises
    ------
    InvalidArgument
        When the address is none of these.
    StoreError
        When there is a store, or room for one, that cannot be opened; see `LmdbStore`.

    Examples
    --------
    >>> with open_store("memory:") as store:
    ...     store.durable
    False
    """
    match scheme_of(url):
        case "memory":
            return MemoryStore()
        case "lmdb":
            # Here, as a run in memory need not load what it does not use.
            from .lmdb_store import LmdbStore

            return LmdbStore(lmdb_folder(url))
        case "postgresql":
            from .postgres_store import PostgresStore

            return PostgresStore(url)


def scheme_of(url: str) -> Literal["memory", "lmdb", "postgresql"]:
    """Return which kind of store an address means.

    Raises
    ------
    InvalidArgument
        None.
    """
    scheme, colon, rest = url.partition(":")
    match scheme.lower() if colon else "":
        case "memory" if rest in ("", "//"):
            return "memory"
        case "lmdb":
            return "lmdb"
        case "postgresql" | "postgres":
            return "postgresql"
        case _:
            # Who mistypes an address may have a password in it.
            user, at, place = rest.rpartition("@")
            kind = f"{scheme}://" if user.startswith("//") else ""
            shown = f"{kind}…@{place}" if at else url
            raise InvalidArgument(f"store {shown!r} is not known", hint=f"Use {_VALID}.")


def lmdb_folder(url: str) -> Path:
    """Return the folder of an address ``lmdb:…``.

    Raises
    ------
    InvalidArgument
        It names none, or no absolute one.
    """
    rest = url.partition(":")[2]
    if not rest:
        return data_dir() / STORE_FOLDER_NAME
    if not unquote(rest).strip("/"):
        raise InvalidArgument(f"store {url!r} names no folder", hint=f"Use {_VALID}.")
    if not rest.startswith("///"):
        raise InvalidArgument(
            f"store {url!r} names no absolute folder", hint="Write three slashes: lmdb:///SOME/FOLDER."
        )
    path = unquote(rest[2:])
    if "\x00" in path:
        raise InvalidArgument(f"store {url!r} has a zero byte in its path", hint=f"Use {_VALID}.")
    return Path(path)
