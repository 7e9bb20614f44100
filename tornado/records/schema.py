"""What records of one kind have: columns with a name and a type, in the order in which they are stored.

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
        Whether its entries are ids of vertices, which a loop of names counts itself.
    is_optional : bool
        Whether a sender may leave it out, and each record then has what is usual.
    """

    name: str
    dtype: np.dtype[Any]
    has_ids: bool = False
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of a kind of records.

    Attributes
    ----------
    kind : str
        What the records are, for messages: `edges`.
    columns : tuple of RecordColumn
        In the order in which they are stored.

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
        """The names of the columns that have ids of vertices."""
        return tuple(column.name for column in self.columns if column.has_ids)

    @property
    def optional_names(self) -> frozenset[str]:
        """The names of the columns that a sender may leave out."""
        return frozenset(column.name for column in self.columns if column.is_optional)

    @property
    def record_bytes(self) -> int:
        """What a record takes where it is stored."""
        return sum(column.dtype.itemsize for column in self.columns)
