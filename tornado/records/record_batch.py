"""Records of any kind in columns: cut, put together, compared, written and read by their schema.

Whatever only carries records (a log, parts of a batch that wait, what a source is parsed into) works with what is here, and
knows no column. A kind of records is a subclass: a frozen dataclass with a field for each column of its schema.

Guarantees: records keep their order; what was written is read with the same bits. Left out on purpose: whether what the columns hold
is allowed; that is looked at once, where a record comes in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .schema import Schema


class RecordBatch:
    """Records in equally long columns, in the order in which they came. The arrays are not written after construction."""

    __slots__ = ()

    schema: ClassVar[Schema]

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
        return cls.of_columns({column.name: np.empty(0, column.dtype) for column in cls.schema.columns})

    @classmethod
    def concat(cls, batches: Iterable[Self]) -> Self:
        """The records of all batches, one after the other, as one batch (a copy)."""
        parts = list(batches)
        if not parts:
            return cls.empty()
        return cls.of_columns(
            {name: np.concatenate([getattr(part, name) for part in parts]) for name in cls.schema.names}
        )

    def columns(self) -> dict[str, NDArray[Any]]:
        """The columns by their names, in the order of the schema."""
        return {name: getattr(self, name) for name in self.schema.names}

    def slice(self, start: int, stop: int) -> Self:
        """Records `start` to `stop` (excluded), as views on the same memory."""
        return self.of_columns({name: values[start:stop] for name, values in self.columns().items()})

    def take(self, which: NDArray[np.bool_] | NDArray[np.int64]) -> Self:
        """The records that a mask or an index array chooses (a copy)."""
        return self.of_columns({name: values[which] for name, values in self.columns().items()})

    def equals(self, other: Self) -> bool:
        """Whether both hold the same records, floats compared bit by bit (so NaN equals NaN, 0.0 not -0.0)."""
        return self.schema == other.schema and all(
            np.array_equal(_bits(values), _bits(getattr(other, name)))
            for name, values in self.columns().items()
        )

    def ids(self) -> NDArray[np.int64]:
        """The ids of vertices: all of a record in the order of its columns, one record after the other (a copy)."""
        return np.stack([getattr(self, name) for name in self.schema.id_names], axis=1).ravel()

    def with_ids(self, ids: NDArray[np.int64]) -> Self:
        """The same records with other ids of vertices, in the order in which `ids` gives them."""
        names = self.schema.id_names
        changed = {name: ids[place :: len(names)].copy() for place, name in enumerate(names)}
        return self.of_columns(self.columns() | changed)

    def encode(self) -> bytes:
        """Write the records: one column behind the other."""
        return b"".join(
            np.ascontiguousarray(getattr(self, column.name), column.dtype).tobytes()
            for column in self.schema.columns
        )

    @classmethod
    def decode(cls, page: bytes) -> Self:
        """Read what `encode` wrote.

        Raises
        ------
        ValueError
            When it is not a whole number of records.
        """
        count, left = divmod(len(page), cls.schema.record_bytes)
        if left:
            raise ValueError(
                f"{len(page)} bytes are no {cls.schema.kind} of {cls.schema.record_bytes} bytes each"
            )
        columns: dict[str, NDArray[Any]] = {}
        start = 0
        for column in cls.schema.columns:
            columns[column.name] = np.frombuffer(page, column.dtype, count, start).copy()
            start += count * column.dtype.itemsize
        return cls.of_columns(columns)


def _bits(values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype.kind != "f":
        return values
    return np.ascontiguousarray(values).view(f"i{values.dtype.itemsize}")
