"""Result files: `.csv`, `.parquet`, `.arrow`, or `-` for CSV on standard output; or lines as LDBC Graphalytics validates them.

Guarantees: rows ascend by vertex id; a number read back has the same bits (Arrow writes the shortest decimal that does), and a
whole number all its digits; the value of a vertex that was not reached is empty in CSV and null elsewhere, an infinity that is a
value is `inf` in CSV; a file appears complete under its name or not at all.

*LDBC Graphalytics* has a line `vertex value` for each vertex, without a header. Counts
and labels are whole numbers, and 9223372036854775807 is a count that is not reached. Other numbers are decimals, and what is not
reached is `infinity`.
"""

from __future__ import annotations

import contextlib
import os
import sys
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet

from ..errors import InvalidArgument
from ..query.csv_text import csv_header, csv_lines, csv_texts
from ..value_types import Mask, ValueArray

STANDARD_OUTPUT = "-"
FORMATS = (".csv", ".parquet", ".arrow")
OutputFormat = Literal["ldbc"]
OUTPUT_FORMATS: Final = ("ldbc",)
_LDBC_UNREACHED_COUNT = 2**63 - 1


def check_output(target: str, *, output_format: OutputFormat | None = None) -> None:
    """Refuse a target that cannot be written, before any work is done.

    Raises
    ------
    InvalidArgument
        The ending is none of ours, the folder does not exist or cannot be written, or the target is a folder.
    """
    if target == STANDARD_OUTPUT:
        return
    path = Path(target)
    ending = path.suffix.lower()
    if output_format is not None and ending in FORMATS:
        raise InvalidArgument(
            f"--output {target}: {ending} names a format, and --output-format {output_format} is another",
            hint="Files of LDBC Graphalytics have no ending of their own.",
        )
    if output_format is None and ending not in FORMATS:
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


def check_written(table: str | None, predict: str | None) -> None:
    """Refuse what says in two ways what is written of one answer, and a file that is not there.

    Raises
    ------
    InvalidArgument
        See above.
    """
    if predict is None:
        return
    if table is not None:
        raise InvalidArgument(
            f"--table {table} and --predict {predict} each say what is written to --output",
            hint="Leave one of them out, or run twice on the same --store.",
        )
    if predict == STANDARD_OUTPUT:  # the same sign is standard input
        raise InvalidArgument(
            "--predict - names standard input, and its points are looked at twice", hint="Name a file."
        )
    if not Path(predict).is_file():
        raise InvalidArgument(f"--predict {predict}: there is no such file")


def require_nothing_written(table: str | None, predict: str | None) -> None:
    """Refuse what says what is written where nothing is.

    Raises
    ------
    InvalidArgument
        See above.
    """
    for option, given in (("--table", table), ("--predict", predict)):
        if given is not None:
            raise InvalidArgument(
                f"{option} {given} says what is written to --output, and there is none",
                hint="Add --output, or ask the service: tornado query.",
            )


def result_table(
    ids: npt.NDArray[np.int64],
    values: ValueArray,
    reached: Mask,
    *,
    labels: Sequence[str] | None = None,
    names: Sequence[str | None] | None = None,
) -> pa.Table:
    """Return the columns `vertex` and `value`.

    Parameters
    ----------
    ids : ndarray of int64, shape (n,)
        Vertices in ascending order. Not written.
    values : ndarray of float64 or int64, shape (n,)
        Their values. Not written.
    reached : ndarray of bool, shape (n,)
        Whether they have one; null where not. Not written.
    labels : sequence of str, optional
        What the vertices are called, in the order of `ids`, where ids were strings.
    names : sequence of str or None, optional
        What the values are called, where they are ids too; None where not reached.
    """
    vertices = pa.array(ids) if labels is None else pa.array(labels, type=pa.string())
    numbers = pa.array(values, mask=~reached) if names is None else pa.array(names, type=pa.string())
    return pa.table({"vertex": vertices, "value": numbers})


def write_result(
    target: str, table: pa.Table, *, output_format: OutputFormat | None = None, are_counts: bool = False
) -> None:
    """Write a result; a file takes its name only when it is complete and on the disk.

    Parameters
    ----------
    target : str
        A path that `check_output` accepts, or `-`.
    table : pyarrow.Table
        As `result_table` makes it.
    output_format : {"ldbc"}, optional
        How it is written; left out, as the name says.
    are_counts : bool
        Whether values count something, though they are floats: LDBC writes them as whole numbers.
    """
    if target == STANDARD_OUTPUT:
        if output_format is None:
            _write_csv(table, sys.stdout.buffer)
        else:
            _write_ldbc(table, sys.stdout.buffer, are_counts=are_counts)
        sys.stdout.buffer.flush()
        return
    path = Path(target)
    with _atomically(path) as sink:
        ending = path.suffix.lower()
        if output_format is not None:
            _write_ldbc(table, sink, are_counts=are_counts)
        elif ending == ".csv":
            _write_csv(table, sink)
        elif ending == ".parquet":
            pa.parquet.write_table(table, sink)
        else:
            with pa.ipc.new_file(sink, table.schema) as writer:
                writer.write_table(table)


def _write_csv(table: pa.Table, sink: BinaryIO) -> None:
    # Not pyarrow.csv: it quotes the header and either all strings or none.
    sink.write(csv_header(table))
    sink.writelines(csv_lines(table))


def _write_ldbc(table: pa.Table, sink: BinaryIO, *, are_counts: bool) -> None:
    sink.writelines(csv_lines(table, separator=" ", texts_of=_ldbc_counts if are_counts else _ldbc_texts))


def _ldbc_counts(column: pa.Array) -> pa.Array:
    """Return a column of counts as text."""
    counts = pa.compute.cast(column, pa.int64())
    return pa.compute.cast(pa.compute.fill_null(counts, _LDBC_UNREACHED_COUNT), pa.string())


def _ldbc_texts(column: pa.Array) -> pa.Array:
    """Return a column of other values as text."""
    if not pa.types.is_floating(column.type):
        return _ldbc_counts(column)
    texts = pa.compute.fill_null(csv_texts(column), "infinity")
    return pa.compute.if_else(pa.compute.equal(texts, "inf"), "infinity", texts)


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
