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
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet

from ..errors import InvalidArgument

STANDARD_OUTPUT = "-"
FORMATS = (".csv", ".parquet", ".arrow")
_ROWS_AT_ONCE = 1 << 18
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
    # Not pyarrow.csv: it quotes the header and either all strings or none.
    sink.write(b"vertex,value\n")
    # In slices: the numbers as text are larger than the numbers.
    for batch in table.to_batches(max_chunksize=_ROWS_AT_ONCE):
        columns = [_vertex_texts(batch["vertex"]), _number_texts(batch["value"])]
        rows = pa.compute.binary_join_element_wise(
            *columns, ",", null_handling="replace", null_replacement=""
        )
        lines = pa.compute.binary_join_element_wise(rows, "", "\n")
        # The texts of a fresh string array lie behind each other in its last buffer.
        _, offsets, texts = lines.buffers()
        sink.write(texts[: np.frombuffer(offsets, np.int32)[len(lines)]])


def _vertex_texts(vertices: pa.Array) -> pa.Array:
    """Return ids as text, with quotes around the strings that need them (RFC 4180)."""
    if not pa.types.is_string(vertices.type):
        return pa.compute.cast(vertices, pa.string())
    doubled = pa.compute.replace_substring(vertices, '"', '""')
    quoted = pa.compute.binary_join_element_wise('"', doubled, '"', "")
    return pa.compute.if_else(pa.compute.match_substring_regex(vertices, _MUST_BE_QUOTED), quoted, vertices)


def _number_texts(values: pa.Array) -> pa.Array:
    """Return shortest decimals that read back as the same bits, each recognisable as a float (3.0, not 3)."""
    texts = pa.compute.cast(values, pa.string())
    fractional = pa.compute.match_substring_regex(texts, r"[.e]")
    return pa.compute.if_else(fractional, texts, pa.compute.binary_join_element_wise(texts, "0", "."))


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
