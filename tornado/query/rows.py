"""Rows of an answer, as those who asked see them: ids and values as the loop's ids are written, and what was not reached.

A value is a float64 or an int64, as the program says (`value_types.py`). Where values are ids themselves (the label of a component)
and ids are strings outside, a value is written as the string that it stands for. It is ranked as the number that it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np

from ..loops.answer_tables import AnswerTable
from ..value_types import INT64, Ids, Mask, ValueArray, Worst, dtype_of, ranked, reached_of
from .ids import IdCodec, Vertex
from .paths import FoundPaths

Names = Sequence[str | None]
VALUES: Final = "values"
"""The table of ids and their values, which every answer has."""
PATHS: Final = "paths"
"""The table of the ways that a question asked for."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Some rows of an answer.

    Attributes
    ----------
    ids : sequence
        As the caller writes them.
    values : float64[n] or int64[n]
        As the loop has them; what stands there for a vertex that was not reached is the program's business.
    reached : bool[n]
        Whether the vertex has a value.
    names : sequence of str or None, optional
        The strings that the values stand for, None where not reached; left out where they stand for themselves.
    seconds : float64[n], optional
        Where values are pairs of which a table has both: the second ones.
    """

    ids: Sequence[Vertex]
    values: ValueArray
    reached: Mask
    names: Names | None = None
    seconds: ValueArray | None = None

    def first(self, k: int) -> Rows:
        """Return the first `k`; values are not named yet."""
        return self.at(range(min(k, len(self.ids))))

    def at(self, places: Sequence[int]) -> Rows:
        """Return those at some places; values are not named yet."""
        chosen = np.array(places, np.int64)
        return Rows(
            [self.ids[place] for place in places],
            self.values[chosen],
            self.reached[chosen],
            seconds=None if self.seconds is None else self.seconds[chosen],
        )


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """All rows of an answer: int64 ids or strings; values, what they are called and seconds as in `Rows`."""

    vertex: Ids | list[Vertex]
    value: ValueArray
    reached: Mask
    names: Names | None = None
    seconds: ValueArray | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """Rows that fit in memory, the vertices nobody has seen, and where the next page starts after; the first page has the ways."""

    rows: Rows
    unknown: Sequence[Vertex]
    next: Vertex | None
    paths: FoundPaths | None = None


EMPTY = Page(Rows([], np.empty(0), np.empty(0, np.bool_)), (), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerForm:
    """What all answers of a loop have in common: how values rank, and how ids and values are read and written.

    Attributes
    ----------
    rank : str
        The program's ranking, "nearest" or "highest".
    codec : IdCodec
        Between the ids of the loop and those outside.
    worst : float or pair
        The program's: the value of what was not reached.
    values_are_ids : bool
        Whether the program's values are ids of vertices.
    further_tables : tuple of AnswerTable
        What an answer can be read as beside its values.
    values_are_of : str
        What an id names: see `VertexProgram`.
    finds_ways : bool
        Whether an answer can have ways, likewise.
    has_seconds : bool
        Whether values are pairs of which a table has both.
    computes : str
        Of which stream, and what, where it matters: another loop that takes the name of this one has another.
    """

    rank: str
    codec: IdCodec
    worst: Worst = math.inf
    values_are_ids: bool = False
    further_tables: tuple[AnswerTable, ...] = ()
    values_are_of: str = "vertex"
    finds_ways: bool = False
    has_seconds: bool = False
    computes: str = ""

    @property
    def value_type(self) -> Literal["float64", "int64", "string"]:
        """What a value is outside."""
        if self._are_named:
            return "string"
        return "int64" if dtype_of(self.worst) == INT64 else "float64"

    @property
    def tables(self) -> list[dict[str, Any]]:
        """The tables of an answer with the names and types of their columns, as JSON; the first is what is read unless one is named.

        Of a program that learns, `values` is the last one; where there are ways, `paths` is behind all.
        """
        vertex = {"name": "vertex", "type": self._type_of_ids}
        values = {"name": VALUES, "columns": [vertex, {"name": "value", "type": self.value_type}]}
        others = [
            {
                "name": table.name,
                "columns": [
                    {"name": name, "type": self._type_of_ids if kind == "id" else kind}
                    for name, kind in table.columns
                ],
            }
            for table in self.further_tables
        ]
        own = [values, *others] if self.first_table == VALUES else [*others, values]
        return [*own, *([self._ways] if self.finds_ways else [])]

    @property
    def first_table(self) -> str:
        """What all of an answer is read as, unless a table is named."""
        learns = self.further_tables and self.values_are_of != "vertex"
        return self.further_tables[0].name if learns else VALUES

    @property
    def has_groups(self) -> bool:
        """Whether values are labels of groups: ids of vertices, each of which has one."""
        return self.values_are_ids and dtype_of(self.worst) == INT64

    @property
    def followed_tables(self) -> list[dict[str, Any]]:
        """The tables that are told who follows a loop, as `tables`; none of a program that learns, see `require_followed`."""
        if self.values_are_of != "vertex":
            return []
        of_id = self._type_of_ids
        groups = [("vertex", of_id), ("group", of_id)]
        events = [
            ("kind", "string"),
            ("from", f"list<{of_id}>"),
            ("into", f"list<{of_id}>"),
            ("sizes", "list<int64>"),
        ]
        of_groups = [
            {"name": name, "columns": [{"name": column, "type": kind} for column, kind in columns]}
            for name, columns in (("groups", groups), ("group_events", events))
        ]
        values = [table for table in self.tables if table["name"] == VALUES]
        return values + (of_groups if self.has_groups else [])

    @property
    def no_rows(self) -> Rows:
        """No row, of the types that rows have."""
        empty = Rows([], np.empty(0, dtype_of(self.worst)), np.empty(0, np.bool_))
        return self.named(empty)

    def decoded(self, ids: Ids, values: ValueArray) -> Rows:
        """Return the rows of vertices that a loop has numbers for; values are not named yet."""
        return self.rows(self.codec.decode(ids), values)

    def rows(self, ids: Sequence[Vertex], values: ValueArray) -> Rows:
        """Return the rows of vertices by their ids outside; values are not named yet."""
        return Rows(ids, values, reached_of(values, self.worst))

    def best(self, rows: Rows, k: int) -> Rows:
        """Return the best `k` of some rows, best first; equal ones keep their order, those not reached are left out."""
        places, values = ranked(np.arange(len(rows.ids)), rows.values, rows.reached, k, self.rank)
        return replace(rows.at(places.tolist()), values=values)

    def named(self, rows: Rows) -> Rows:
        """Return rows with what their values are called, where values are ids and ids are strings."""
        return replace(rows, names=self.names(rows.values, rows.reached)) if self._are_named else rows

    def names(self, values: ValueArray, reached: Mask) -> Names | None:
        """Return the strings that values stand for, None where not reached; None where they stand for themselves."""
        if not self._are_named:
            return None
        found: list[str | None] = [None] * len(values)
        for place, name in zip(
            np.flatnonzero(reached).tolist(),
            self.codec.decode(np.ascontiguousarray(values[reached], np.int64)),
            strict=True,
        ):
            found[place] = str(name)
        return found

    @property
    def _ways(self) -> dict[str, Any]:
        of_id = self._type_of_ids
        columns = (("path", of_id), ("step", "int64"), ("vertex", of_id), ("weight", "float64"))
        return {"name": PATHS, "columns": [{"name": name, "type": kind} for name, kind in columns]}

    @property
    def _type_of_ids(self) -> Literal["int64", "string"]:
        return "int64" if self.codec.kind == "int" else "string"

    @property
    def _are_named(self) -> bool:
        return self.has_groups and self.codec.kind == "string"
