"""What a Python program hands over with a question or with edges: lists in whatever form they come, taken as plain ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import InvalidArgument


def vertices_of_caller(vertices: Sequence[Any] | None, *, name: str = "vertices") -> tuple[Any, ...] | None:
    """Return a list, an array or a column as a tuple; None as it is.

    Raises
    ------
    InvalidArgument
        When it is none of these, which is said of `name`.
    """
    if vertices is None:
        return None
    plain: Callable[[], Any] | None = getattr(vertices, "tolist", None) or getattr(
        vertices, "to_pylist", None
    )
    listed: Any = vertices if plain is None else plain()
    if isinstance(listed, str | bytes) or not isinstance(listed, Iterable):
        # A scalar of NumPy has a `tolist` too, and gives no list.
        raise InvalidArgument(
            f"{name} is {vertices!r}, but must be a list of vertices", hint="Write [vertex]."
        )
    return tuple(listed)


def plain_number(number: Any) -> Any:
    """Return an integer of NumPy as one of Python, and anything else as it is."""
    return int(number) if isinstance(number, np.integer) else number


def columns_of_table(table: Any, weight: Any) -> tuple[Any, Any, Any]:
    """Take one table apart: an Arrow table, a DataFrame, or a mapping of columns."""
    if isinstance(table, Mapping):
        names = list(table)
    else:
        # Arrow says `column_names`; its `columns` are the columns themselves, those of a DataFrame are names.
        names = list(getattr(table, "column_names", getattr(table, "columns", ())))
    missing = [name for name in ("src", "dst") if name not in names]
    if missing:
        raise InvalidArgument(
            f"dst is left out, and src is {type(table).__name__} without a column {missing[0]!r}",
            hint="Give two columns, or one table with the columns src, dst and weight.",
        )
    if "weight" in names and weight is None:
        weight = table["weight"]
    return table["src"], table["dst"], weight
