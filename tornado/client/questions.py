"""What is asked of a loop, as the document that a service takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .columns import plain_ids, point_rows
from .errors import InvalidInput
from .steps import Document

_EXAMPLES = {"parameters": "{'source': 3}", "min_offsets": "{'http': 17}"}


def question(
    loop: str,
    vertices: Iterable[int | str] | None = None,
    *,
    top: int | None = None,
    mode: str = "exact",
    parameters: Mapping[str, Any] | None = None,
    at: int | None = None,
    min_offsets: Mapping[str, int] | None = None,
    deadline_s: float | None = None,
    max_iterations: int | None = None,
    check: bool = False,
    points: Any = None,
    paths: Iterable[int | str] | None = None,
) -> Document:
    """Return a question without what is left out.

    Raises
    ------
    InvalidInput
        Vertices or ways are no list of ids, points no rows of numbers, parameters or offsets no mapping.

    Examples
    --------
    >>> question("sssp", [4, 5], check=True)
    {'loop': 'sssp', 'mode': 'exact', 'vertices': [4, 5], 'check': True}
    """
    asked = {
        "loop": loop,
        "mode": mode,
        "vertices": None if vertices is None else plain_ids("vertices", vertices),
        "top": top,
        "parameters": None if parameters is None else _named("parameters", parameters),
        "at": at,
        "min_offsets": None if min_offsets is None else _named("min_offsets", min_offsets),
        "deadline_s": deadline_s,
        "max_iterations": max_iterations,
        "check": None if check is False else check,
        "points": None if points is None else point_rows(points),
        "paths": None if paths is None else plain_ids("paths", paths),
    }
    return {name: value for name, value in asked.items() if value is not None}


def _named(name: str, given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise InvalidInput(
            f"{name} is {given!r} but must be values by their names", hint=f"Such as {_EXAMPLES[name]}."
        )
    return dict(given)
