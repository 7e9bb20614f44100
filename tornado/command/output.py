"""Result files: `.csv`, `.parquet`, `.arrow`, or `-` for CSV on standard output.

Guarantees: rows ascend by vertex id; a number read back has the same bits (Arrow writes the shortest decimal that does);
a value that is not finite (an unreachable vertex) is empty in CSV and null elsewhere; a file appears complete under its
name or not at all.
"""

from __future__ import annotations

import contextlib
import os
import sys
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from ..errors import InvalidArgument

STANDARD_OUTPUT = "-"
FORMATS = (".csv", ".parquet", ".arrow")
_MUST_BE_QUOTED = r'[",\r\n]'


def check_output(target: str) -> None:
    """Refuse a target that cannot be written, before any work is done.

    Raises
    ------
    InvalidArgument
        The ending is none of ours, the folder does not exist or cannot be written, or the target is a folder.
    """
    if target == STANDARD_OUTPUT:
        return
    path = Path(target)
    if path.suffix.lower() not in FORMATS:
        raise InvalidArgument(
            f"--output {target}: the ending {path.suffix or '(none)'} names no format",
            hint=f"Formats are {', '.join(FORMATS)}, and - for CSV on standard output.",
        )
    if path.is_dir():
        raise InvalidArgument(f"--output {target} is a folder", hint="Name a file in it.")
    folder = path.resolve().parent
    if not folder.is_dir():
        raise InvalidArgument(f"--output {target}: there is no folder {folder}", hint="Create it first.")
    if not os.access(folder, os.W_OK):
        raise InvalidArgument(f"--output {target}: the folder {folder} cannot be written")


def result_table(
    ids: npt.NDArray[np.int64],
    values: npt.NDArray[np.float64],
    *,
    labels: Sequence[str] | None = None,
) -> pa.Table:
    """Return the columns `vertex` and `value`.

    Parameters
    ----------
    ids : ndarray of int64, shape (n,)
        Vertices in ascending order. Not written.
    values : ndarray of float64, shape (n,)
        Their values; one that is not finite becomes null. Not written.
    labels : sequence of str, optional
        What the vertices are called, in the order of `ids`, where ids were strings.
    """
    vertices = pa.array(ids) if labels is None else pa.array(labels, type=pa.string())
    return pa.table({"vertex": vertices, "value": pa.array(values, mask=~np.isfinite(values))})


def write_result(target: str, table: pa.Table) -> None:
    """Write a result; a file takes its name only when it is complete and on the disk.

    Parameters
    ----------
    target : str
        A path that `check_output` accepts, or `-`.
    table : pyarrow.Table
        As `result_table` makes it.
    """
    if target == STANDARD_OUTPUT:
        _write_csv(table, sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    path = Path(target)
    with _atomically(path) as sink:
        ending = path.suffix.lower()
        if ending == ".csv":
            _write_csv(table, sink)
        elif ending == ".parquet":
            pa.parquet.write_table(table, sink)
        else:
            with pa.ipc.new_file(sink, table.schema) as writer:
                writer.write_table(table)


def _write_csv(table: pa.Table, sink: BinaryIO) -> None:
    # Arrow would quote the header, and every string, where only some need it.
    sink.write(b"vertex,value\n")
    style = "none"
    if pa.types.is_string(table.schema.field("vertex").type):
        risky = pa.compute.any(pa.compute.match_substring_regex(table["vertex"], _MUST_BE_QUOTED)).as_py()
        style = "needed" if risky else "none"
    options = pa.csv.WriteOptions(include_header=False, quoting_style=style)
    pa.csv.write_csv(table, pa.PythonFile(sink, mode="w"), options)


@contextlib.contextmanager
def _atomically(path: Path) -> Iterator[BinaryIO]:
    # In the same folder: a rename is atomic only inside one file system.
    unfinished = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.unfinished")
    try:
        with unfinished.open("xb") as sink:
            yield sink
            sink.flush()
            os.fsync(sink.fileno())
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def number_text(value: Any) -> str:
    """Return a value for people: the shortest digits that give the same bits; unreachable is said so.

    Examples
    --------
    >>> number_text(0.1), number_text(3.0), number_text(None)
    ('0.1', '3.0', 'unreachable')
    """
    return "unreachable" if value is None or not np.isfinite(value) else repr(float(value))
