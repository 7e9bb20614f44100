"""A store copied to another place while a service runs on it.

What is copied is one state: that of one transaction of the store, which sees no write that comes later and lets every one of them
through. It needs no ownership of the store. The copy is there wholly or not at all, and is a store as any other.
"""

from __future__ import annotations

from ..errors import InvalidArgument
from .history import StorePlace
from .open import lmdb_folder, scheme_of
from .versioned_store import StoreStatistics


def back_up(store: str, to: str) -> tuple[str, str, StoreStatistics]:
    """Copy the state of a store.

    Parameters
    ----------
    store, to
        Addresses of durable stores; see `open_store`.

    Returns
    -------
    Both addresses without passwords, and what the copy holds.

    Raises
    ------
    InvalidArgument
        An address is none, both are the same, there is no store at `store`, or something is at `to`.
    StoreFull
        There is no room for the copy; what was begun of it is removed.
    StoreError
        As `open_store`.
    """
    source, target = _place(store), _place(to)
    if source.label == target.label:
        raise InvalidArgument(
            f"STORE and TO are the same store, {source.label}", hint="Name another place for the copy."
        )
    with source.history() as history:
        return source.label, target.label, target.fill(history)


def _place(url: str) -> StorePlace:
    """Where a store is; each kind is loaded where it is used."""
    match scheme_of(url):
        case "lmdb":
            from .lmdb_backup import LmdbPlace

            return LmdbPlace(lmdb_folder(url))
        case "postgresql":
            from .postgres_backup import PostgresPlace

            return PostgresPlace(url)
        case _:
            raise InvalidArgument(
                f"the store {url} is in the memory of one process, and no other can copy it or would find the copy",
                hint="Name stores as lmdb:///SOME/FOLDER or postgresql://USER:PASSWORD@HOST/DATABASE.",
            )
