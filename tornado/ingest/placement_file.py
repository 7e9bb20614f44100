"""A file that says which part each vertex belongs to, as a partitioner leaves it: a vertex and a part a line, plain or `.gz`.

They are separated by commas, semicolons, tabs or blanks, with the header `vertex,part` or none; `#` and `%` begin a comment.
"""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidArgument

_HINT = "A row is vertex,part: whole numbers, each vertex once, and parts counted from 0."
_COMMENTS = ("#", "%")


def read_placement(path: Path) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return vertices and the part of each, int64[n] and int64[n], as they stand there.

    Raises
    ------
    InvalidArgument
        When it cannot be read, or a row is anything but two whole numbers.
    """
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8-sig") as lines:
            text = [line for line in lines if line.strip() and not line.lstrip().startswith(_COMMENTS)]
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise InvalidArgument(f"the placement {path} cannot be read: {error}", hint=_HINT) from error
    if text and not any(character.isdigit() for character in text[0]):
        del text[0]
    if not text:
        raise InvalidArgument(f"the placement {path} has no row", hint=_HINT)
    separator = next((one for one in ",;\t" if one in text[0]), None)
    try:
        rows = np.loadtxt(text, np.int64, delimiter=separator, comments=None, ndmin=2)
    except (ValueError, OverflowError) as error:
        raise InvalidArgument(f"the placement {path} has a row that is none: {error}", hint=_HINT) from error
    if rows.shape[1] != 2:
        raise InvalidArgument(f"the placement {path} has {rows.shape[1]} columns", hint=_HINT)
    return rows[:, 0].copy(), rows[:, 1].copy()
