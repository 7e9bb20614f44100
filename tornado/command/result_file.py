"""A result in a file, ours or anybody's, with the columns `vertex` and `value`: `.csv`, `.parquet` or `.arrow`.

Other columns are passed over. An empty value, or a null, is a vertex that was not reached. A number is read with all its bits, and
where values are whole numbers they never become floats.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from ..errors import InvalidArgument
from .output import FORMATS

COLUMNS = ("vertex", "value")


def read_result(path: str, *, vertex: pa.DataType, value: pa.DataType) -> tuple[pa.Array, pa.Array]:
    """Return the columns `vertex` and `value` of a file, in the order of its rows.

    Parameters
    ----------
    path : str
        By its ending a CSV with a header (`.csv`, `.csv.gz`), a Parquet file, or an Arrow file or stream.
    vertex, value : pyarrow.DataType
        What they are read as.

    Raises
    ------
    InvalidArgument
        There is no such file, its ending or content is none of these, a column is missing, an entry is not of its type, or a vertex
        is empty.
    """
    plain = path.removesuffix(".gz")
    ending = Path(plain).suffix.lower()
    if ending not in FORMATS or (plain != path and ending != ".csv"):
        raise InvalidArgument(
            f"{path}: the ending names no format of results",
            hint=f"Formats are {', '.join(FORMATS)}, and .csv.gz.",
        )
    if not Path(path).is_file():
        raise InvalidArgument(f"{path}: there is no such file")
    types = {"vertex": vertex, "value": value}
    try:
        table = _table(path, ending, types)
        columns = [
            pa.concat_arrays(table[name].cast(types[name]).chunks or [pa.array([], types[name])])
            for name in COLUMNS
        ]
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError, KeyError) as error:
        raise InvalidArgument(
            f"{path} cannot be read as a result: {str(error).strip()}",
            hint=f"It needs the columns vertex ({vertex}) and value ({value}), by name.",
        ) from error
    if columns[0].null_count:
        first = columns[0].is_null().index(pa.scalar(value=True)).as_py()
        raise InvalidArgument(f"{path}: row {first + 1} names no vertex")
    return columns[0], columns[1]


def _table(path: str, ending: str, types: dict[str, pa.DataType]) -> pa.Table:
    if ending == ".csv":
        # Only what is empty is null: "nan" is a wrong value, and "null" may be the name of a vertex.
        options = pa.csv.ConvertOptions(
            column_types=types,
            include_columns=list(COLUMNS),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )
        return pa.csv.read_csv(path, convert_options=options)
    if ending == ".parquet":
        return pa.parquet.read_table(path, columns=list(COLUMNS))
    with pa.memory_map(path) as source:
        try:
            return pa.ipc.open_file(source).read_all()
        except pa.ArrowInvalid:
            source.seek(0)
            return pa.ipc.open_stream(source).read_all()
