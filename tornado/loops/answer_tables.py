"""What an answer can be read as, beside vertices and their values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

Column = NDArray[Any] | Sequence[Any]
TableColumn = tuple[str, Literal["int64", "float64", "string", "id"]]
"""The name and the type of a column."""


@dataclass(frozen=True, slots=True)
class AnswerTable:
    """A table: its name, and the names and types of its columns. Of the type ``id`` is what is an id outside: int64 or string."""

    name: str
    columns: tuple[TableColumn, ...]


INTERCEPT: Final = "intercept"
"""What the intercept of a model is called among its features."""


def coefficient_names(features: int, names: Sequence[str] | None) -> list[str]:
    """What features are called where an intercept is beside them: their names where they have some, else their numbers as text."""
    return [str(number) for number in range(features)] if names is None else list(names)


def feature_column(features: int, names: Sequence[str] | None) -> tuple[Column, Literal["int64", "string"]]:
    """What features are called, and of which type that is: their names where they have some, else their numbers."""
    if names is None:
        return np.arange(features), "int64"
    return list(names), "string"
