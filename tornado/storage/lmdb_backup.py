"""A folder of LMDB as a place that is copied from, or to.

A copy is made in a folder of its own beside where it belongs, opened once as the store that it is to be, and moved to its place
in one step of the file system. So whatever ends it half-way, the place has no store.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import BinaryIO, TypeVar

from ..errors import InvalidArgument
from . import layout
from .history import HistoryEntry, LoopHistory, StoreHistory
from .lmdb import DATA_FILE_NAME, INITIAL_MAP_SIZE_BYTES, LmdbFolder, Table, Transaction, looking_into
from .lmdb_store import LmdbStore, has_format, make_record, put_entry, stored_page
from .owner import OWNER_FILE_NAME, FolderOwner, folder_error
from .versioned_store import SCAN_BATCH_SIZE_BYTES, StoreStatistics

UNFINISHED_NAME = "unfinished-copy"
"""The folder in which a copy is made; one that a killed backup has left is begun anew."""
_BATCH_ENTRIES = 4096
_DOING = "write the copy of a store"

_ItemT = TypeVar("_ItemT")


class LmdbHistory:
    """One state of the tables of a folder; see `StoreHistory`."""

    def __init__(self, transaction: Transaction, label: str, copy_to: Callable[[BinaryIO], None]) -> None:
        self._transaction, self._label = transaction, label
        self.copy_to = copy_to

    def loops(self) -> list[LoopHistory]:
        """See `StoreHistory.loops`."""
        records = (
            (name, layout.LoopRecord.unpack(raw)) for name, raw in self._transaction.walk(Table.LOOPS, b"")
        )
        found = [LoopHistory(name, record.number, record.floor) for name, record in records]
        # One whose first version is being written has none yet.
        return [
            loop for loop in found if self._transaction.keys(Table.VERSIONS, layout.loop_prefix(loop.number))
        ]

    def versions(self, loop: LoopHistory) -> Iterator[tuple[int, bytes]]:
        """See `StoreHistory.versions`."""
        for key, metadata in self._transaction.walk(Table.VERSIONS, layout.loop_prefix(loop.number)):
            yield layout.version_of(key), metadata

    def entries(self, loop: LoopHistory) -> Iterator[HistoryEntry]:
        """See `StoreHistory.entries`."""
        for at, raw in self._transaction.walk(Table.ENTRIES, layout.loop_prefix(loop.number)):
            header = layout.parse_header(raw)
            page = None if header is None else stored_page(self._transaction, at, header, self._label)
            yield HistoryEntry(layout.entry_key(at), layout.entry_version(at), page)


class LmdbPlace:
    """See `StorePlace`."""

    def __init__(self, folder: Path) -> None:
        self._folder = Path(os.path.realpath(folder))

    @property
    def label(self) -> str:
        """See `StorePlace.label`; links are followed."""
        return self._folder.as_uri().replace("file:", "lmdb:", 1)

    @contextmanager
    def history(self) -> Iterator[LmdbHistory]:
        """See `StorePlace.history`."""
        if not (self._folder / DATA_FILE_NAME).is_file():
            raise InvalidArgument(
                f"there is no store at {self.label}", hint="Name the one that a run was given with --store."
            )
        with looking_into(self._folder, "copy a store") as (transaction, copy_to):
            if not has_format(transaction, self.label):
                raise InvalidArgument(f"the store at {self.label} was never begun", hint="Name another one.")
            yield LmdbHistory(transaction, self.label, copy_to)

    def fill(self, history: StoreHistory) -> StoreStatistics:
        """See `StorePlace.fill`."""
        owner = FolderOwner(self._folder)
        try:
            self._require_empty()
            unfinished = self._folder / UNFINISHED_NAME
            try:
                shutil.rmtree(unfinished, ignore_errors=True)
                unfinished.mkdir()
                statistics = _made(unfinished, history)
                (unfinished / DATA_FILE_NAME).rename(self._folder / DATA_FILE_NAME)
                _make_durable(self._folder)
            except OSError as error:
                raise folder_error(self._folder, error) from error
            finally:
                shutil.rmtree(unfinished, ignore_errors=True)
            return statistics
        finally:
            owner.release()

    def _require_empty(self) -> None:
        there = sorted({path.name for path in self._folder.iterdir()} - {OWNER_FILE_NAME, UNFINISHED_NAME})
        if there:
            raise InvalidArgument(
                f"{self.label} is not empty, it has {there[0]}, and a copy takes the place of nothing",
                hint="Name a folder that is empty or not there yet.",
            )


def _made(folder: Path, history: StoreHistory) -> StoreStatistics:
    """Make the copy in an empty folder, durably, and open it as whoever uses it will."""
    if isinstance(history, LmdbHistory):
        with (folder / DATA_FILE_NAME).open("wb") as file:
            history.copy_to(file)
            os.fsync(file.fileno())
    else:
        _write(folder, history)
    with LmdbStore(folder) as store:
        return store.statistics()


def _write(folder: Path, history: StoreHistory) -> None:
    """Make a store of another one's history, some megabytes a transaction: nobody sees it before the last of them."""
    LmdbStore(folder).close()  # an empty one
    tables = LmdbFolder(folder, initial_map_size_bytes=INITIAL_MAP_SIZE_BYTES)
    try:
        for loop in history.loops():
            number = tables.change(partial(_begin, loop=loop), _DOING)
            for versions in _in_batches(history.versions(loop), lambda one: len(one[1])):
                tables.change(partial(_put_versions, number=number, versions=versions), _DOING)
            for entries in _in_batches(history.entries(loop), lambda one: len(one.page or b"")):
                size_bytes = 2 * sum(len(entry.page or b"") for entry in entries)
                tables.change(
                    partial(_put_entries, number=number, entries=entries), _DOING, size_bytes=size_bytes
                )
    finally:
        tables.close()


def _begin(transaction: Transaction, loop: LoopHistory) -> int:
    record = make_record(transaction, loop.name)._replace(floor=loop.floor)
    transaction.put(Table.LOOPS, loop.name, record.pack())
    return record.number


def _put_versions(transaction: Transaction, number: int, versions: list[tuple[int, bytes]]) -> None:
    for version, metadata in versions:
        transaction.put(Table.VERSIONS, layout.version_key(number, version), metadata)


def _put_entries(transaction: Transaction, number: int, entries: list[HistoryEntry]) -> None:
    for key, version, page in entries:
        put_entry(transaction, layout.entry(number, key, version), None if page is None else memoryview(page))


def _in_batches(items: Iterable[_ItemT], size_of: Callable[[_ItemT], int]) -> Iterator[list[_ItemT]]:
    batch: list[_ItemT] = []
    size_bytes = 0
    for item in items:
        batch.append(item)
        size_bytes += size_of(item)
        if size_bytes >= SCAN_BATCH_SIZE_BYTES or len(batch) >= _BATCH_ENTRIES:
            yield batch
            batch, size_bytes = [], 0
    yield batch


def _make_durable(folder: Path) -> None:
    """What was renamed in a folder is so after a loss of power, too."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
