"""Ways as `tornado query --paths` prints them: a line each for people on a terminal, and as CSV elsewhere."""

from __future__ import annotations

import csv
import sys
from typing import Any

import click

from ..client.steps import Document


def print_paths(paths: list[Document]) -> None:
    """Print the `paths` of a JSON answer. As CSV there is a row for each vertex of a way, and none for one that was not reached."""
    if sys.stdout.isatty():
        for path in paths:
            click.echo(path_line(path))
        return
    lines = csv.writer(sys.stdout, lineterminator="\n")
    lines.writerow(("path", "step", "vertex", "weight"))
    for path in paths:
        weights = ["", *map(repr, path["weights"])]
        for step, (vertex, weight) in enumerate(zip(path["vertices"], weights, strict=False)):
            lines.writerow((path["vertex"], step, vertex, weight))
    sys.stdout.flush()


def path_line(path: Document) -> str:
    """A way as a line.

    Examples
    --------
    >>> path_line({"vertex": 5, "value": 9.0, "vertices": [1, 3, 5], "weights": [4.0, 5.0]})
    '5  9.0  1 -(4.0)-> 3 -(5.0)-> 5'
    >>> path_line({"vertex": 6, "value": None, "vertices": [], "weights": []})
    '6  unreachable'
    """
    vertices: list[Any] = path["vertices"]
    if path["value"] is None:
        return f"{path['vertex']}  unreachable"
    steps = [f" -({weight})-> {vertex}" for weight, vertex in zip(path["weights"], vertices[1:], strict=True)]
    return f"{path['vertex']}  {path['value']}  {''.join([*map(str, vertices[:1]), *steps]) or 'no way yet'}"
