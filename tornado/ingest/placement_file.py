"""A file that says which part each vertex belongs to, as a partitioner leaves it: a vertex and a part a line, plain or `.gz`.

They are separated by commas, semicolons, tabs or blanks; `#` and `%` begin a comment. A header names both columns, in whichever order, and
a file without one has the vertex first. A first row is a header where all of its fields begin with a letter.
"""

from __future__ import annotations

import gzip
import re
import zlib
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidArgument

_VERTEX, _PART = "vertex", "part"
_HINT: Final = "A row is vertex,part: whole numbers, each vertex once, and parts counted from 0."
_HEADER_HINT: Final = "A header is vertex,part or part,vertex, or there is none."
_COMMENTS: Final = ("#", "%")
_MOST_DIGITS: Final = 19
_MOST_SHOWN: Final = 80
_WHOLE: Final = re.compile(r"[+-]?[0-9]+")


def read_placement(path: Path) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return vertices and the part of each, int64[n] and int64[n], as they stand there.

    Raises
    ------
    InvalidArgument
        When it cannot be read, its header names other columns than `vertex` and `part`, or a row is anything but two whole numbers.
    """
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8-sig") as file:
            lines = [line.rstrip("\n") for line in file]
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise InvalidArgument(f"the placement {path} cannot be read: {error}", hint=_HINT) from error
    text = [line for line in lines if _is_row(line)]
    separator = next((one for one in ",;\t" if text and one in text[0]), None)
    names = _header_names(text[0], separator) if text else []
    if names and sorted(names) != [_PART, _VERTEX]:
        raise InvalidArgument(
            f"the placement {path} has the header {_shown(','.join(names))}, but its columns must be {_VERTEX} and {_PART}",
            hint=_HEADER_HINT,
        )
    if names:
        del text[0]
    if not text:
        raise InvalidArgument(f"the placement {path} has no row", hint=_HINT)
    try:
        rows = np.loadtxt(text, np.int64, delimiter=separator, comments=None, ndmin=2)
        is_whole = rows.shape[1] == 2
        reason = f"it has {rows.shape[1]} columns"
    except (ValueError, OverflowError) as error:
        is_whole, reason = False, str(error)
    if not is_whole:
        raise _no_row(path, lines, separator, reason, has_header=bool(names))
    vertex_at = names.index(_VERTEX) if names else 0
    return rows[:, vertex_at].copy(), rows[:, 1 - vertex_at].copy()


def _is_row(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith(_COMMENTS)


def _fields(line: str, separator: str | None) -> list[str]:
    # Not the line as a whole: a tab at its end is a separator, behind which NumPy finds a column.
    return [field.strip() for field in line.split(separator)]


def _header_names(line: str, separator: str | None) -> list[str]:
    """Return the names of a header; none where the line is a row."""
    names = [field.strip('"').lower() for field in _fields(line, separator)]
    return names if all(name[:1].isalpha() or name[:1] == "_" for name in names) else []


def _no_row(
    path: Path, lines: list[str], separator: str | None, reason: str, *, has_header: bool
) -> InvalidArgument:
    """Look for the first row that is none: NumPy counts without the header, comments and empty lines, and an editor counts all lines."""
    numbered = [(number, line) for number, line in enumerate(lines, 1) if _is_row(line)]
    for number, line in numbered[has_header:]:
        fields = _fields(line, separator)
        if len(fields) != 2:
            reason = f"has {len(fields)} columns, but must have 2"
        elif wrong := [field for field in fields if not _is_number(field)]:
            reason = f"has {_shown(wrong[0])}, which is no whole number of 64 bits"
        else:
            continue
        return InvalidArgument(f"the placement {path}, line {number}: {_shown(line)} {reason}", hint=_HINT)
    return InvalidArgument(f"the placement {path} has a row that is none: {reason}", hint=_HINT)


def _is_number(field: str) -> bool:
    # Python refuses to read thousands of digits.
    is_short = len(field.lstrip("+-0")) <= _MOST_DIGITS
    return _WHOLE.fullmatch(field) is not None and is_short and -(2**63) <= int(field) < 2**63


def _shown(text: str) -> str:
    return repr(text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + "…")
