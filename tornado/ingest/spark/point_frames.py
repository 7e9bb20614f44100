"""DataFrames of points: which columns are sent, and vectors of `pyspark.ml.linalg` as columns that Spark can hand over.

Spark hands no column of a user's own type to Python as Arrow, and vectors are of one. `unwrap_udt` is Spark's own expression for what
such a column is made of: a struct of `type`, `size`, `indices` and `values`. So sparse vectors stay as short as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.functions import col, unwrap_udt
from pyspark.sql.types import StructType, UserDefinedType

from ...errors import InvalidArgument
from .options import SourceOptions

FEATURES = "features"
_ENDS = frozenset({"src", "dst"})
_VECTORS = "pyspark.ml.linalg"


def unwrapped(frame: Any, features: str | None) -> Any:
    """Do what `tornado.spark_points` says."""
    vectors = [field.name for field in frame.schema.fields if _is_vector(field.dataType)]
    if features is None:
        if len(vectors) > 1:
            raise InvalidArgument(
                f"the DataFrame has the vectors {vectors}, of which one has the features",
                hint="Name it: spark_points(frame, features=…), and leave the others out with frame.drop(…).",
            )
        features = vectors[0] if vectors else None
    elif features not in frame.columns:
        raise InvalidArgument(
            f"the DataFrame has the columns {frame.columns}, but {features!r} must be among them"
        )
    return frame.select(
        *(
            (unwrap_udt(_column(name)) if name in vectors else _column(name)).alias(
                FEATURES if name == features else name
            )
            for name in frame.columns
        )
    )


def has_points(columns: Sequence[str]) -> bool:
    """Whether a DataFrame of these columns has points: it has neither end of an edge."""
    return not _ENDS & set(columns)


def checked_point_columns(columns: Sequence[str], options: SourceOptions) -> tuple[str, ...]:
    """Return the columns that are sent.

    Raises
    ------
    InvalidArgument
        When a column that an option names is missing, or one has a name that means something else.
    """
    named = [*options.order, *filter(None, (options.label, options.id))]
    if missing := [name for name in named if name not in columns]:
        raise InvalidArgument(
            f"the DataFrame has the columns {list(columns)}, but {missing} must be among them",
            hint="Points have columns of features, and id, label, weight and op where wanted; options name others. Edges have src and dst.",
        )
    for name, given in (("order", None), ("label", options.label), ("id", options.id)):
        if given not in {None, name} and name in columns:
            raise InvalidArgument(
                f"the option {name} is {given!r}, and the DataFrame has a column {name!r} beside it",
                hint="Rename or drop that column.",
            )
    if "order" in columns and "order" not in options.order:
        raise InvalidArgument(
            "the DataFrame has a column 'order', which would say which point comes first",
            hint='Rename it, or name it with .option("order", "order").',
        )
    return tuple(columns)


def require_no_vectors(schema: StructType) -> None:
    """Refuse columns that Spark does not hand over.

    Raises
    ------
    InvalidArgument
        When there is one.
    """
    for field in schema.fields:
        if isinstance(field.dataType, UserDefinedType):
            raise InvalidArgument(
                f"column {field.name!r} has type {field.dataType.simpleString()}, which Spark does not hand over as it is",
                hint="Write tornado.spark_points(frame): vectors are columns then that it does hand over.",
            )


def point_table(table: pa.Table, options: SourceOptions) -> pa.Table:
    """Return a table with the names that the service knows labels and ids by."""
    names = {options.label: "label", options.id: "id"}
    return table.rename_columns([names.get(name, name) for name in table.column_names])


def _is_vector(kind: Any) -> bool:
    return isinstance(kind, UserDefinedType) and type(kind).__module__ == _VECTORS


def _column(name: str) -> Any:
    # A name with a dot in it is not that of a field of a struct.
    return col("`" + name.replace("`", "``") + "`")
