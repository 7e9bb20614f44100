"""Strings as vertex ids: each different string gets the next dense int64, and can be asked back.

Inside the system a vertex is a number; strings exist at the edge only. An interner belongs to a graph, not to a source: the
same string means the same vertex wherever it comes from. It is part of what must be stored with a snapshot, since ids depend on
the order in which strings first arrived.

Guarantees: ids are 0, 1, 2, … in order of first appearance and never change; safe to share between threads.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..errors import InvalidArgument, StoreCorrupt


class Interner:
    """A two-way table of strings and dense ids.

    Examples
    --------
    >>> interner = Interner()
    >>> interner.intern(["anna", "ben", "anna"]).tolist()
    [0, 1, 0]
    >>> interner.names(np.array([1])), interner.find(["ben", "carl"])
    (['ben'], [1, None])
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ids: dict[str, int] = {}
        self._names: list[str] = []

    def __len__(self) -> int:
        return len(self._names)

    def intern(self, names: Any) -> NDArray[np.int64]:
        """Ids of strings, new ones for those never seen.

        Parameters
        ----------
        names : sequence of str, Arrow string array, NumPy array or pandas column of str
            The strings; all of them or, with an error, none.

        Returns
        -------
        int64[n]

        Raises
        ------
        InvalidArgument
            An entry is no string, is empty, or cannot be written as UTF-8; names the first.
        """
        # Only the different ones cost Python time; they come in order of first appearance.
        encoded = _string_array(names).dictionary_encode()
        distinct: list[str] = encoded.dictionary.to_pylist()
        if "" in distinct:
            _check_names(names)
        with self._lock:
            # Told apart in bulk: a loop in Python over the new names would take as long as all the rest.
            found = list(map(self._ids.get, distinct))
            new = [name for name, known in zip(distinct, found, strict=True) if known is None]
            if new:
                self._ids.update(zip(new, range(len(self._names), len(self._names) + len(new)), strict=True))
                self._names.extend(new)
                found = list(map(self._ids.get, distinct))
        table = np.array(found, np.int64)
        ids: NDArray[np.int64] = table[encoded.indices.to_numpy(zero_copy_only=False)]
        return ids

    def find(self, names: Iterable[str]) -> list[int | None]:
        """Ids of strings, None for those never seen."""
        with self._lock:
            return [self._ids.get(name) for name in names]

    def names(self, ids: NDArray[np.int64]) -> list[str]:
        """The strings of ids.

        Raises
        ------
        InvalidArgument
            An id was never given out.
        """
        with self._lock:
            count = len(self._names)
            for index, one in enumerate(ids.tolist()):
                if not 0 <= one < count:
                    raise InvalidArgument(
                        f"ids[{index}] is {one}, but only ids 0 to {count - 1} were given out"
                    )
            return [self._names[one] for one in ids.tolist()]

    def snapshot(self, *, since: int = 0, until: int | None = None) -> bytes:
        """The strings with ids from `since` on and below `until` (left out: all), as an Arrow IPC stream for a store."""
        with self._lock:
            names = self._names[since:until]
        sink = pa.BufferOutputStream()
        table = pa.table({"name": pa.array(names, pa.large_string())})
        table = table.replace_schema_metadata({"since": str(since)})
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        data: bytes = sink.getvalue().to_pybytes()
        return data

    @classmethod
    def restore(cls, *parts: bytes) -> Self:
        """Put together what `snapshot` gave: one whole, or pieces that follow each other.

        Raises
        ------
        StoreCorrupt
            A piece cannot be read, does not follow the one before, or repeats a string.
        """
        interner = cls()
        for part in parts:
            try:
                table = pa.ipc.open_stream(part).read_all()
                since, names = int(table.schema.metadata[b"since"]), table.column("name").to_pylist()
            except (pa.ArrowException, KeyError, TypeError, ValueError) as error:
                raise StoreCorrupt(f"the stored vertex names cannot be read: {error}") from error
            if since != len(interner):
                raise StoreCorrupt(f"stored vertex names start at {since}, but {len(interner)} came before")
            interner._names.extend(names)
        interner._ids = {name: index for index, name in enumerate(interner._names)}
        if len(interner._ids) != len(interner._names):
            raise StoreCorrupt("the stored vertex names have one name twice")
        return interner


def _string_array(names: Any) -> pa.Array:
    """The names as one Arrow array without nulls; clean Arrow columns pass without a look at each entry."""
    if isinstance(names, pa.Array | pa.ChunkedArray) and not names.null_count:
        if pa.types.is_dictionary(names.type):
            # Its dictionary may have names nobody uses, which must not get ids.
            names = names.cast(names.type.value_type)
        if pa.types.is_string(names.type) or pa.types.is_large_string(names.type):
            return (
                names
                if isinstance(names, pa.Array)
                else pa.concat_arrays([pa.array([], names.type), *names.chunks])
            )
    return pa.array(_check_names(names), pa.large_string())


def _check_names(names: Any) -> list[str]:
    entries = names.tolist() if hasattr(names, "tolist") else list(names)
    for index, entry in enumerate(entries):
        if not isinstance(entry, str) or not entry:
            raise InvalidArgument(
                f"names[{index}] is {entry!r}, but a vertex name is a string that is not empty"
            )
        if not _encodable(entry):
            raise InvalidArgument(f"names[{index}] is {entry!r}, which is no valid Unicode text")
    checked: list[str] = entries
    return checked


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
