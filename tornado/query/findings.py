"""What a program has found beside values, kept with an answer: predictions are made of it, and tables other than that of the values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..errors import InvalidArgument
from ..records.point_batch import PointBatch
from .rows import AnswerForm, Columns

if TYPE_CHECKING:
    from ..loops.vertex_program import VertexProgram
    from ..records.point_schema import Points

Predictions = Mapping[str, NDArray[np.float64] | NDArray[np.int64]]
_ARROW_TYPES = {"int64": pa.int64(), "float64": pa.float64(), "string": pa.string()}


@dataclass(frozen=True, slots=True, eq=False)
class Findings:
    """See the module.

    Attributes
    ----------
    program
        With the parameters that the answer is for.
    arrays
        What it has found, by name; copies.
    predictions
        Of the points that the question named, if it did.
    """

    program: VertexProgram
    arrays: Mapping[str, NDArray[Any]]
    predictions: Predictions | None = None

    @classmethod
    def of(
        cls, program: VertexProgram, arrays: Mapping[str, NDArray[Any]], points: PointBatch | None
    ) -> Findings:
        """Keep what a loop has found, and predict the points of a question."""
        return cls(program, arrays, None if points is None else program.predictions(arrays, points))

    @property
    def size_bytes(self) -> int:
        """What keeping it costs."""
        return sum(array.nbytes for array in (*self.arrays.values(), *(self.predictions or {}).values()))

    def table(self, name: str, form: AnswerForm, columns: Callable[[], Columns]) -> pa.Table:
        """One of the tables of the program.

        Parameters
        ----------
        form, columns
            Of the answer.

        Raises
        ------
        InvalidArgument
            When it has none of that name.
        """
        known = {table.name: table for table in self.program.tables}
        if name not in known:
            raise InvalidArgument(f"table is {name!r}, but the tables are: {', '.join(['values', *known])}")

        def values() -> tuple[Any, Any]:
            whole = columns()
            return whole.vertex, whole.value

        rows = self.program.rows_of(name, self.arrays, values)
        described = zip(known[name].columns, rows, strict=True)
        return pa.table(
            {
                column: pa.array(found, _ARROW_TYPES[type_of(kind, form)])
                for (column, kind), found in described
            }
        )


def type_of(kind: str, form: AnswerForm) -> str:
    """The type of a column as it is outside."""
    if kind != "id":
        return kind
    return "int64" if form.codec.kind == "int" else "string"


def table_rows(table: pa.Table, limit: int | None, after: int | None) -> tuple[pa.Table, int | None]:
    """A page of a table: up to `limit` rows from row `after` on, and where the next one begins; None: there is none."""
    first = after or 0
    page = table.slice(first, limit)
    following = first + len(page)
    return page, following if following < len(table) else None


def predicted_rows(predictions: Predictions) -> list[dict[str, float | int | None]]:
    """Predictions as JSON content: null in place of what is not said."""
    columns = [[_plain(value) for value in column.tolist()] for column in predictions.values()]
    return [dict(zip(predictions, row, strict=True)) for row in zip(*columns, strict=True)]


def _plain(value: float) -> float | int | None:
    if isinstance(value, int):
        return value
    if not math.isfinite(value):
        return None
    return value


def points_to_predict(declared: Points | None, given: Sequence[Any]) -> PointBatch:
    """The points of a question: each a list of numbers, or numbers by the number or the name of their feature; others are 0.

    Raises
    ------
    InvalidArgument
        At the first bad entry, and where the loop has no points.
    """
    if declared is None:
        raise InvalidArgument("points are given, but the loop is about edges: it predicts nothing")
    places = {name: place for place, name in enumerate(declared.names or ())}
    rows = [_row(f"points[{index}]", entry, declared, places) for index, entry in enumerate(given)]
    if declared.sparse:
        return batch_to_predict(declared, rows)
    matrix = np.zeros((len(rows), declared.features), declared.value_type)
    for place, row in enumerate(rows):
        matrix[place, [*row]] = [*row.values()]
    return batch_to_predict(declared, matrix)


def batch_to_predict(declared: Points | None, features: Any) -> PointBatch:
    """A caller's features as points, see `PointBatch.of`."""
    if declared is None:
        raise InvalidArgument("features are given, but the loop is about edges: it predicts nothing")
    count: Callable[[], int] | None = getattr(features, "__len__", None)
    rows = features.shape[0] if hasattr(features, "shape") else count() if count else len(list(features))
    return PointBatch.of(declared, ids=np.arange(rows), features=features)


def _row(where: str, entry: Any, declared: Points, places: Mapping[str, int]) -> dict[int, float]:
    if isinstance(entry, list):
        if len(entry) != declared.features:
            raise InvalidArgument(
                f"{where} has {len(entry)} features, but points of this stream have {declared.features}"
            )
        return {place: value for place, value in enumerate(entry) if value or not declared.sparse}
    found = {}
    for name, value in entry.items():
        place = places.get(name, int(name) if name.isascii() and name.isdigit() and len(name) < 12 else -1)
        if not 0 <= place < declared.features:
            raise InvalidArgument(
                f"{where} has a feature {name!r}, but features are 0 to {declared.features - 1}"
                + (" or have a declared name" if places else "")
            )
        found[place] = value
    return found
