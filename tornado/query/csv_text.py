"""Columns of tables as CSV text: the same in files of results and over HTTP.

Guarantees: a number that is read back has the same bits, a whole number all its digits, and a float is recognisable as one (3.0, not 3;
an infinity is `inf`); null is empty; only strings that need quotes have them (RFC 4180).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute

ROWS_AT_ONCE: Final = 1 << 15
_MUST_BE_QUOTED: Final = r'[",\r\n]'


def csv_header(table: pa.Table) -> bytes:
    """Return the names of the columns as a line."""
    names = _quoted(pa.array(table.column_names, pa.string()))
    return ",".join(names.to_pylist()).encode() + b"\n"


def csv_lines(
    table: pa.Table, *, separator: str = ",", texts_of: Callable[[pa.Array], pa.Array] | None = None
) -> Iterator[memoryview]:
    """Return the rows as lines, some at a time: the numbers as text are larger than the numbers.

    Parameters
    ----------
    table
        With columns of numbers and strings.
    texts_of
        What the last column is as text; left out, as the others.
    """
    for batch in table.to_batches(max_chunksize=ROWS_AT_ONCE):
        *others, last = batch.columns
        columns = [*map(csv_texts, others), (texts_of or csv_texts)(last)]
        # The last argument of a join is its separator: here first between the columns, and then before the line's end.
        rows = (
            pa.compute.binary_join_element_wise(
                *columns, separator, null_handling="replace", null_replacement=""
            )
            if others
            else pa.compute.fill_null(columns[0], "")
        )
        lines = pa.compute.binary_join_element_wise(rows, "", "\n")
        # The texts of a fresh string array lie behind each other in its last buffer.
        _, offsets, texts = lines.buffers()
        yield memoryview(texts)[: np.frombuffer(offsets, np.int32)[len(lines)]]


def csv_texts(column: pa.Array) -> pa.Array:
    """Return a column as text."""
    if pa.types.is_string(column.type):
        return _quoted(column)
    texts = pa.compute.cast(column, pa.string())
    return _recognisable(texts) if pa.types.is_floating(column.type) else texts


def _quoted(texts: pa.Array) -> pa.Array:
    """Return strings with quotes around those that need them."""
    doubled = pa.compute.replace_substring(texts, '"', '""')
    quoted = pa.compute.binary_join_element_wise('"', doubled, '"', "")
    return pa.compute.if_else(pa.compute.match_substring_regex(texts, _MUST_BE_QUOTED), quoted, texts)


def _recognisable(texts: pa.Array) -> pa.Array:
    """Return shortest decimals that read back as the same bits, each recognisable as a float."""
    is_float = pa.compute.match_substring_regex(texts, r"[.en]")
    return pa.compute.if_else(is_float, texts, pa.compute.binary_join_element_wise(texts, "0", "."))
