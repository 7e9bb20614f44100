"""What a program has found beside values, kept with an answer: predictions are made of it, and tables other than that of the values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..errors import InvalidArgument, NotSupported, ResultUnavailable
from ..records.point_batch import PointBatch
from ..value_types import Ids
from .rows import VALUES, AnswerForm, Columns

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
        known = {table.name: table for table in self.program.tables_of(self.arrays)}
        if name not in known:
            raise InvalidArgument(f"table is {name!r}, but the tables are: {', '.join([*known, VALUES])}")
        if form.has_seconds:
            return _with_seconds(columns(), [column for column, _ in known[name].columns], form)

        def values() -> tuple[Any, Any]:
            whole = columns()
            if self.predictions is not None and not len(whole.value):
                raise ResultUnavailable(
                    f"table {name!r} is of values, but this answer has predictions only",
                    hint="Ask the question without points, or name the points of the stream that are wanted as vertices.",
                )
            return whole.vertex, whole.value

        rows = self.program.rows_of(name, self.arrays, values)
        described = zip(known[name].columns, rows, strict=True)
        return pa.table(
            {
                column: pa.array(found, _ARROW_TYPES[type_of(kind, form)])
                for (column, kind), found in described
            }
        )


def _with_seconds(whole: Columns, names: Sequence[str], form: AnswerForm) -> pa.Table:
    """Vertices, their values, and the vertices that the seconds of these are; null where there are none."""
    assert whole.seconds is not None
    there = whole.reached & np.isfinite(whole.seconds)
    decoded = iter(form.codec.decode(whole.seconds[there].astype(np.int64)))
    ids = pa.string() if form.codec.kind == "string" else pa.int64()
    columns = (
        pa.array(whole.vertex, ids),
        pa.array(whole.value, mask=~whole.reached),
        pa.array([next(decoded) if is_there else None for is_there in there.tolist()], ids),
    )
    return pa.table(dict(zip(names, columns, strict=True)))


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
    return _of_rows("points", declared, given)


def batch_to_predict(declared: Points | None, features: Any) -> PointBatch:
    """A caller's features as points: see `PointBatch.of`; or dictionaries of features by number or name, the others being 0.

    Raises
    ------
    InvalidArgument
        At the first bad entry, and where the loop has no points.
    """
    if declared is None:
        raise InvalidArgument("features are given, but the loop is about edges: it predicts nothing")
    if isinstance(features, list | tuple) and any(isinstance(entry, Mapping) for entry in features):
        return _of_rows("features", declared, features)
    shape = getattr(features, "shape", None)
    if not shape and not hasattr(features, "__len__"):
        raise InvalidArgument(
            f"features is {features!r}, but points to predict are rows of features",
            hint="Write [point], also for a single one.",
        )
    rows = shape[0] if shape else len(features)
    return PointBatch.of(declared, ids=np.arange(rows), features=features)


def assigned(predictions: Predictions) -> tuple[Ids, NDArray[np.float64]]:
    """The clusters that points are assigned to, int64[n], and their distances from the centroids.

    Raises
    ------
    NotSupported
        When what was predicted are no clusters.
    """
    if "cluster" not in predictions:
        raise NotSupported(
            f"points are assigned to clusters, but what this loop predicts is: {', '.join(predictions)}",
            hint="Ask with predict.",
        )
    return predictions["cluster"].astype(np.int64), predictions["distance"].astype(np.float64)


def _of_rows(called: str, declared: Points, given: Sequence[Any]) -> PointBatch:
    places = {name: place for place, name in enumerate(declared.names or ())}
    rows = [_row(f"{called}[{index}]", entry, declared, places) for index, entry in enumerate(given)]
    features: Any = rows
    if not declared.sparse:
        features = np.zeros((len(rows), declared.features), declared.value_type)
        for place, row in enumerate(rows):
            features[place, [*row]] = [*row.values()]
    return PointBatch.of(declared, ids=np.arange(len(rows)), features=features)


def _row(where: str, entry: Any, declared: Points, places: Mapping[str, int]) -> dict[int, float]:
    if isinstance(entry, list):
        if len(entry) != declared.features:
            raise InvalidArgument(
                f"{where} has {len(entry)} features, but points of this stream have {declared.features}"
            )
        return {place: value for place, value in enumerate(entry) if value or not declared.sparse}
    if not isinstance(entry, Mapping):
        raise InvalidArgument(f"{where} is {entry!r}, but a point is a list or a dictionary of its features")
    found: dict[int, float] = {}
    called: dict[int, Any] = {}
    for name, value in entry.items():
        place = places.get(name, _number_of(name))
        if place in called:
            raise InvalidArgument(
                f"{where} has the feature {place} twice, as {called[place]!r} and as {name!r}"
            )
        called[place] = name
        if not 0 <= place < declared.features:
            raise InvalidArgument(
                f"{where} has a feature {name!r}, but features are 0 to {declared.features - 1}"
                + (" or have a declared name" if places else "")
            )
        found[place] = _number(value, f"{where} has {value!r} for {name!r}")
    return found


def _number_of(name: Any) -> int:
    """The number of a feature that is called by it; -1 where it is none."""
    if isinstance(name, int | np.integer) and not isinstance(name, bool):
        return int(name)
    is_number = isinstance(name, str) and name.isascii() and name.isdigit() and len(name) < 12
    return int(name) if is_number else -1


def _number(value: Any, told: str) -> float:
    try:
        if isinstance(value, int | float | np.number) and not isinstance(value, bool):
            return float(value)
    except OverflowError:
        pass
    raise InvalidArgument(f"{told}, but a feature is a finite number")
