"""A result in a file, ours or anybody's, with the columns `vertex` and `value`, or those of another table: `.csv`, `.parquet` or `.arrow`.

Other columns are passed over. An empty value, or a null, is a vertex that was not reached. A number is read with all its bits, and
where values are whole numbers they never become floats.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from ..errors import InvalidArgument
from ..ingest.arrow import left_behind
from .output import FORMATS

VerdictT = TypeVar("VerdictT")
# Of a broken file Arrow says that reading failed, and of the name of a column that is no text Python does.
_UNREADABLE = (pa.ArrowException, OSError, UnicodeDecodeError)


@dataclass(frozen=True, slots=True)
class CheckedFile(Generic[VerdictT]):
    """What a check of a result has found.

    Attributes
    ----------
    verdict
        Of the checker.
    called
        Returns what the id of a vertex or of a point is in files.
    rejected
        How many records of the input files were rejected.
    """

    verdict: VerdictT
    called: Callable[[int], int | str]
    rejected: int


def read_header(path: str) -> list[str]:
    """Return the names of the columns of a file.

    Parameters
    ----------
    path : str
        As of `read_columns`, which says what is raised.
    """
    ending = _ending(path)
    try:
        if ending != ".csv":
            return list(_table(path, ending, None).column_names)
        with pa.csv.open_csv(path) as reader:
            return list(reader.schema.names)
    except _UNREADABLE as error:
        raise InvalidArgument(f"{path} cannot be read as a result: {str(error).strip()}") from error


def read_result(path: str, *, vertex: pa.DataType, value: pa.DataType) -> tuple[pa.Array, pa.Array]:
    """Return the columns `vertex` and `value` of a file, in the order of its rows; see `read_columns`.

    Parameters
    ----------
    vertex, value : pyarrow.DataType
        What they are read as.
    """
    first, second = read_columns(path, {"vertex": vertex, "value": value})
    return first, second


def read_columns(path: str, types: Mapping[str, pa.DataType]) -> list[pa.Array]:
    """Return columns of a file, in the order of its rows.

    Parameters
    ----------
    path : str
        By its ending a CSV with a header (`.csv`, `.csv.gz`), a Parquet file, or an Arrow file or stream.
    types : mapping of str to pyarrow.DataType
        The columns, and what they are read as; the last one has what is said of the others, and may be empty.

    Raises
    ------
    InvalidArgument
        There is no such file, its ending or content is none of these, a column is missing, an entry is not of its type, or what it is
        said of is empty.
    """
    ending = _ending(path)
    try:
        table = _table(path, ending, types)
        table.validate(full=True)
        columns = [
            pa.concat_arrays(table[name].cast(kind).chunks or [pa.array([], kind)])
            for name, kind in types.items()
        ]
    except (*_UNREADABLE, KeyError) as error:
        needed = " and ".join(f"{name} ({kind})" for name, kind in types.items())
        raise InvalidArgument(
            f"{path} cannot be read as a result: {str(error).strip()}",
            hint=f"It needs the columns {needed}, by name.",
        ) from error
    for name, column in zip(types, columns[:-1], strict=False):
        if column.null_count:
            first = column.is_null().index(pa.scalar(value=True)).as_py()
            raise InvalidArgument(f"{path}: row {first + 1} names no {name}")
    return columns


def _ending(path: str) -> str:
    """Return the ending of a file that is there, and may be a result."""
    plain = path.removesuffix(".gz")
    ending = Path(plain).suffix.lower()
    if ending not in FORMATS or (plain != path and ending != ".csv"):
        raise InvalidArgument(
            f"{path}: the ending names no format of results",
            hint=f"Formats are {', '.join(FORMATS)}, and .csv.gz.",
        )
    if not Path(path).is_file():
        raise InvalidArgument(f"{path}: there is no such file")
    return ending


def _table(path: str, ending: str, types: Mapping[str, pa.DataType] | None) -> pa.Table:
    """Return these columns of a file; of a file that is no CSV all of them where none are named."""
    names = None if types is None else list(types)
    if ending == ".csv":
        # Only what is empty is null: "nan" is a wrong value, and "null" may be the name of a vertex.
        options = pa.csv.ConvertOptions(
            column_types=types,
            include_columns=names,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )
        return pa.csv.read_csv(path, convert_options=options)
    if ending == ".parquet":
        return pa.parquet.read_table(path, columns=names)
    with pa.memory_map(path) as source:
        try:
            return pa.ipc.open_file(source).read_all()
        except pa.ArrowInvalid:
            source.seek(0)
            table = pa.ipc.open_stream(source).read_all()
        if (left := left_behind(source, path)) is not None:
            raise InvalidArgument(left, hint="Write one result into a file.")
    return table
