"""What is asked of a loop, as the document that a service takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .columns import plain_ids, point_rows
from .steps import Document


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
        "parameters": None if parameters is None else dict(parameters),
        "at": at,
        "min_offsets": None if min_offsets is None else dict(min_offsets),
        "deadline_s": deadline_s,
        "max_iterations": max_iterations,
        "check": check or None,
        "points": None if points is None else point_rows(points),
        "paths": None if paths is None else plain_ids("paths", paths),
    }
    return {name: value for name, value in asked.items() if value is not None}
