"""Records of any kind in columns: cut, put together, compared, written and read by their schema.

Whatever only carries records (a log, parts of a batch that wait, what a source is parsed into) works with what is here, and
knows no column. A kind of records is a subclass: a frozen dataclass with a field for each column of its schema.

Guarantees: records keep their order; what was written is read with the same bits. Left out on purpose: whether what the columns hold
is allowed; that is looked at once, where a record comes in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import prod
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from .schema import Schema

_COUNT: Final = np.dtype(np.int64)  # of records, in front of a page of ragged ones


class RecordBatch:
    """Records in equally long columns, in the order in which they came. The arrays are not written after construction."""

    __slots__ = ()

    schema: ClassVar[Schema]

    op: NDArray[np.int8]

    def __len__(self) -> int:
        return len(getattr(self, self.schema.columns[0].name))

    @property
    def size_bytes(self) -> int:
        """What the columns take."""
        return sum(values.nbytes for values in self.columns().values())

    @classmethod
    def of_columns(cls, columns: Mapping[str, NDArray[Any]]) -> Self:
        """Make a batch of columns by their names; they are trusted."""
        make: Callable[..., Self] = cls
        return make(**columns)

    @classmethod
    def empty(cls) -> Self:
        """A batch of no records."""
        return cls.of_columns(
            {column.name: np.zeros(column.shape(0), column.dtype) for column in cls.schema.columns}
        )

    @classmethod
    def concat(cls, batches: Iterable[Self]) -> Self:
        """The records of all batches, one after the other, as one batch (a copy)."""
        parts = list(batches)
        if not parts:
            return cls.empty()
        columns = {}
        for column in cls.schema.columns:
            values = [getattr(part, column.name) for part in parts]
            columns[column.name] = _chained(values) if column.is_starts else np.concatenate(values)
        return cls.of_columns(columns)

    def columns(self) -> dict[str, NDArray[Any]]:
        """The columns by their names, in the order of the schema."""
        return {name: getattr(self, name) for name in self.schema.names}

    def slice(self, start: int, stop: int) -> Self:
        """Records `start` to `stop` (excluded), as views on the same memory (where entries begin is counted anew)."""
        start, stop, _ = slice(start, stop).indices(len(self))
        stop = max(start, stop)
        columns = {}
        for column in self.schema.columns:
            values = getattr(self, column.name)
            if column.is_starts:
                values = values[start : stop + 1]
                values = values - values[0] if values[0] else values
            elif column.starts is not None:
                starts = getattr(self, column.starts)
                values = values[starts[start] : starts[stop]]
            else:
                values = values[start:stop]
            columns[column.name] = values
        return self.of_columns(columns)

    def take(self, which: NDArray[np.bool_] | NDArray[np.int64]) -> Self:
        """The records that a mask or an index array chooses (a copy)."""
        if not self.schema.is_ragged:
            return self.of_columns({name: values[which] for name, values in self.columns().items()})
        rows = np.flatnonzero(which) if which.dtype == np.bool_ else which
        columns: dict[str, NDArray[Any]] = {}
        for column in self.schema.columns:
            values = getattr(self, column.name)
            if column.is_starts:
                columns[column.name] = np.zeros(len(rows) + 1, column.dtype)
                np.cumsum(np.diff(values)[rows], out=columns[column.name][1:])
            elif column.starts is not None:
                places = _places(getattr(self, column.starts)[rows], columns[column.starts])
                columns[column.name] = values[places]
            else:
                columns[column.name] = values[rows]
        return self.of_columns(columns)

    def equals(self, other: Self) -> bool:
        """Whether both hold the same records, floats compared bit by bit (so NaN equals NaN, 0.0 not -0.0)."""
        return self.schema == other.schema and all(
            np.array_equal(_bits(values), _bits(getattr(other, name)))
            for name, values in self.columns().items()
        )

    def described(self, record: int) -> str:
        """What a record says, for an error that refuses it."""
        raise NotImplementedError

    def ids(self) -> NDArray[np.int64]:
        """The ids: all of a record in the order of its columns, one record after the other (a copy)."""
        return np.stack([getattr(self, name) for name in self.schema.id_names], axis=1).ravel()

    def with_ids(self, ids: NDArray[np.int64]) -> Self:
        """The same records with other ids, in the order in which `ids` gives them."""
        names = self.schema.id_names
        changed = {name: ids[place :: len(names)].copy() for place, name in enumerate(names)}
        return self.of_columns(self.columns() | changed)

    def encode(self) -> bytes:
        """Write the records: one column behind the other.

        A page of ragged records begins with their number, and of where their entries begin it lacks the first, which is 0.
        """
        pages = [np.array(len(self), _COUNT).tobytes()] if self.schema.is_ragged else []
        for column in self.schema.columns:
            values = np.ascontiguousarray(getattr(self, column.name), column.dtype)
            pages.append((values[1:] if column.is_starts else values).tobytes())
        return b"".join(pages)

    @classmethod
    def decode(cls, page: bytes) -> Self:
        """Read what `encode` wrote.

        Raises
        ------
        ValueError
            When it is not a whole number of records.
        """
        start = _COUNT.itemsize if cls.schema.is_ragged else 0
        if cls.schema.is_ragged and len(page) >= start:
            count, left = int(np.frombuffer(page, _COUNT, 1)[0]), 0
        else:
            count, left = divmod(len(page), cls.schema.record_bytes)
        columns: dict[str, NDArray[Any]] = {}
        for column in cls.schema.columns:
            entries = 0 if column.starts is None else int(columns[column.starts][-1])
            shape = column.shape(count, entries)
            first = 1 if column.is_starts else 0  # what is not stored
            written = prod(shape) - first
            if left or count < 0 or entries < 0 or len(page) - start < written * column.dtype.itemsize:
                raise _not_whole(cls.schema, page)  # before any memory is asked for
            values = np.empty(shape, column.dtype)
            values[:first] = 0
            stored = np.frombuffer(page, column.dtype, written, start)
            values[first:] = stored.reshape(shape[0] - first, *shape[1:])
            start += written * column.dtype.itemsize
            columns[column.name] = values
        if start != len(page):
            raise _not_whole(cls.schema, page)
        return cls.of_columns(columns)


def _not_whole(schema: Schema, page: bytes) -> ValueError:
    size = f"{schema.record_bytes} bytes each" + (" and their entries" if schema.is_ragged else "")
    return ValueError(f"{len(page)} bytes are no {schema.kind} of {size}")


def _chained(starts: list[NDArray[Any]]) -> NDArray[Any]:
    """Where entries begin when the entries of several batches stand one after the other."""
    ends = np.cumsum([part[-1] for part in starts])
    moved = [part[1:] + end for part, end in zip(starts[1:], ends[:-1], strict=True)]
    return np.concatenate([starts[0], *moved])


def _places(begins: NDArray[np.int64], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Which entries records have that begin at `begins`, one record after the other, so that they begin at `starts` there."""
    places: NDArray[np.int64] = np.repeat(begins - starts[:-1], np.diff(starts))
    places += np.arange(len(places))
    return places


def _bits(values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype.kind != "f":
        return values
    return np.ascontiguousarray(values).view(f"i{values.dtype.itemsize}")
