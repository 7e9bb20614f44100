"""What loops and streams may be called, and what a loop is called where nobody names it."""

from __future__ import annotations

import re

from ..errors import InvalidArgument

LONGEST_NAME_BYTES = 120


def checked_loop_name(name: str) -> str:
    """Return the name where it can be part of a path and of a store's line.

    Raises
    ------
    InvalidArgument
        When it is empty, too long, or has a slash or what cannot be printed, or is `.` or `..`, which clients take out of a path.

    Examples
    --------
    >>> checked_loop_name("roads 2")
    'roads 2'
    """
    if (
        not 1 <= len(name.encode(errors="replace")) <= LONGEST_NAME_BYTES
        or "/" in name
        or name in {".", ".."}
        or not name.isprintable()
    ):
        raise InvalidArgument(
            f"the name of a loop is {name!r} but must have 1 to {LONGEST_NAME_BYTES} bytes and be printable, without a slash, and not be . or .."
        )
    return name


def loop_name(class_name: str) -> str:
    """Return what a loop is called by default.

    Examples
    --------
    >>> loop_name("ShortestPaths")
    'shortest_paths'
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", class_name).lower()
