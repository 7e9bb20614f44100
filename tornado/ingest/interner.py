"""Strings as vertex ids: each different string gets the next dense int64, and can be asked back.

Inside the system a vertex is a number; strings exist at the edge only. An interner belongs to a graph, not to a source: the
same string means the same vertex wherever it comes from. It is part of what must be stored with a snapshot, since ids depend on
the order in which strings first arrived.

What nobody takes in the end must leave nothing behind. So a body's names are first put into a *draft*, and those that stand in
accepted records are given their ids when these are admitted: in the order of the records, whichever way they came in.

Guarantees: ids are 0, 1, 2, … in order of first appearance and never change; safe to share between threads.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any, Final, Protocol, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..errors import InvalidArgument, StoreCorrupt

_FIRST_DRAFTED: Final = 1 << 62
# What a name takes in a draft beside its characters.
_NAME_BYTES: Final = 200


class Names(Protocol):
    """What turns names into numbers: an `Interner`, or a `Draft` of what may become part of it."""

    def intern(self, names: Any) -> NDArray[np.int64]:
        """Numbers of strings; see `Interner.intern`."""


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
        distinct, indices = _distinct(names)
        with self._lock:
            # Told apart in bulk: a loop in Python over the new names would take as long as all the rest.
            found = list(map(self._ids.get, distinct))
            new = [name for name, known in zip(distinct, found, strict=True) if known is None]
            if new:
                self._ids.update(zip(new, range(len(self._names), len(self._names) + len(new)), strict=True))
                self._names.extend(new)
                found = list(map(self._ids.get, distinct))
        ids: NDArray[np.int64] = np.array(found, np.int64)[indices]
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
        """Put together what `snapshot` gave: pieces that follow each other; a whole one takes the place of those before it.

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
            before = interner._names[since:]
            if since > len(interner) or (since and before) or names[: len(before)] != before:
                raise StoreCorrupt(f"stored vertex names start at {since}, but {len(interner)} came before")
            interner._names.extend(names[len(before) :])
        interner._ids = {name: index for index, name in enumerate(interner._names)}
        if len(interner._ids) != len(interner._names):
            raise StoreCorrupt("the stored vertex names have one name twice")
        return interner


class Draft:
    """The names of one body: those that are known have their ids, and the others numbers for the time being.

    Parameters
    ----------
    interner : Interner
        Knows nothing of the others before `settle`.

    Examples
    --------
    >>> interner = Interner()
    >>> draft = Draft(interner)
    >>> numbers = draft.intern(["anna", "ben", "carl"])
    >>> len(interner), draft.settle(numbers[1:]).tolist(), interner.find(["anna", "ben"])
    (0, [0, 1], [None, 0])
    """

    def __init__(self, interner: Interner) -> None:
        self._interner = interner
        self._ids: dict[str, int] = {}
        self._names: list[str] = []
        self._size_bytes = 0

    @property
    def size_bytes(self) -> int:
        """About what the names take that are not known."""
        return self._size_bytes

    def intern(self, names: Any) -> NDArray[np.int64]:
        """Numbers of strings; raises as `Interner.intern`."""
        distinct, indices = _distinct(names)
        found = self._interner.find(distinct)
        for place, known in enumerate(found):
            if known is None:
                name = distinct[place]
                if name not in self._ids:
                    self._ids[name] = _FIRST_DRAFTED + len(self._names)
                    self._names.append(name)
                    self._size_bytes += len(name) + _NAME_BYTES
                found[place] = self._ids[name]
        numbers: NDArray[np.int64] = np.array(found, np.int64)[indices]
        return numbers

    def names(self, numbers: NDArray[np.int64]) -> list[str]:
        """The strings of numbers that `intern` gave."""
        return [
            self._names[one - _FIRST_DRAFTED]
            if one >= _FIRST_DRAFTED
            else self._interner.names(np.array([one]))[0]
            for one in numbers.tolist()
        ]

    def is_settled(self, numbers: NDArray[np.int64]) -> bool:
        """Whether all of them are ids."""
        return not (numbers >= _FIRST_DRAFTED).any()

    def settle(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Ids in place of numbers: the names that these stand for, and no others, are interned now, in the order of `numbers`.

        Not in the order in which they were drafted: a caller drafts column by column, and parts of a batch come before it is
        known which record is the first.
        """
        return self._replaced(numbers, self._interner)

    def redraft(self, numbers: NDArray[np.int64], draft: Draft) -> NDArray[np.int64]:
        """Numbers of another draft on the same interner in place of numbers: that of the names that these stand for."""
        return self._replaced(numbers, draft)

    def emptied(self) -> Draft:
        """A draft on the same interner, without names."""
        return Draft(self._interner)

    def _replaced(self, numbers: NDArray[np.int64], target: Names) -> NDArray[np.int64]:
        drafted = numbers >= _FIRST_DRAFTED
        if not drafted.any():
            return numbers
        places = numbers[drafted] - _FIRST_DRAFTED
        # Where each name stands first: of several writes to one place the last one stays, so from the end to the beginning.
        first = np.full(len(self._names), len(places))
        first[places[::-1]] = np.arange(len(places))[::-1]
        in_turn = np.argsort(first)[: np.count_nonzero(first < len(places))]
        ids = np.empty(len(self._names), np.int64)
        ids[in_turn] = target.intern([self._names[place] for place in in_turn.tolist()])
        replaced = numbers.copy()
        replaced[drafted] = ids[places]
        return replaced


def _distinct(names: Any) -> tuple[list[str], NDArray[np.int64]]:
    """The different names in order of first appearance, which alone cost Python time, and which of them each one is."""
    encoded = _string_array(names).dictionary_encode()
    distinct: list[str] = encoded.dictionary.to_pylist()
    if "" in distinct:
        _check_names(names)
    return distinct, encoded.indices.to_numpy(zero_copy_only=False)


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
