"""What records of one kind have: columns with a name and a type, in the order in which they are stored.

A column has one entry a record, or `width` of them, or as many as each record likes: a ragged column, whose entries of record i
are those from ``starts[i]`` to ``starts[i + 1]`` of the column that it names.

Guarantee: what was stored is read by the schema alone, so columns of a kind that has been stored are never changed or moved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class RecordColumn:
    """One column.

    Attributes
    ----------
    name : str
        What the field of the batch is called.
    dtype : dtype
        Of its entries.
    has_ids : bool
        Whether its entries are ids of vertices or points, which a loop of names counts itself.
    is_optional : bool
        Whether a sender may leave it out, and each record then has what is usual.
    width : int, optional
        How many entries each record has, where the column has two dimensions.
    is_starts : bool
        Whether it says where the entries of each record begin in ragged columns: n + 1 entries, of which the first is 0.
    starts : str, optional
        Of a ragged column: the column that says where the entries of each record begin.
    """

    name: str
    dtype: np.dtype[Any]
    has_ids: bool = False
    is_optional: bool = False
    width: int | None = None
    is_starts: bool = False
    starts: str | None = None

    def shape(self, records: int, entries: int = 0) -> tuple[int, ...]:
        """The shape of the column for so many records, with so many entries in all where it is ragged."""
        if self.is_starts:
            return (records + 1,)
        if self.starts is not None:
            return (entries,)
        return (records,) if self.width is None else (records, self.width)


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of a kind of records.

    Attributes
    ----------
    kind : str
        What the records are, for messages: `edges`.
    columns : tuple of RecordColumn
        In the order in which they are stored. The first has one entry a record; a column of starts stands before its ragged ones.

    Examples
    --------
    >>> vertices = Schema("vertices", (RecordColumn("id", np.dtype(np.int64), has_ids=True),))
    >>> vertices.names, vertices.record_bytes
    (('id',), 8)
    """

    kind: str
    columns: tuple[RecordColumn, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def id_names(self) -> tuple[str, ...]:
        """The names of the columns that have ids."""
        return tuple(column.name for column in self.columns if column.has_ids)

    @property
    def optional_names(self) -> frozenset[str]:
        """The names of the columns that a sender may leave out."""
        return frozenset(column.name for column in self.columns if column.is_optional)

    @property
    def is_ragged(self) -> bool:
        """Whether a record may be larger than another."""
        return any(column.is_starts for column in self.columns)

    @property
    def record_bytes(self) -> int:
        """What a record takes where it is stored; of ragged ones, one without entries."""
        return sum(
            column.dtype.itemsize * (1 if column.width is None else column.width)
            for column in self.columns
            if column.starts is None
        )
