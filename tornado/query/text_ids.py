"""Ids that are numbers, as strings: for those whose JSON numbers are doubles, which hold no id beyond 2^53 exactly.

With `?ids=string` every id goes out as the string of its digits, values that are ids too, and may come in as one, beside numbers.
It is a way of writing, not another kind of id: loops, results that are kept and `next` of a page are the same. Where ids are strings
anyway it changes nothing.
"""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from typing import Any

from ..errors import InvalidArgument
from .formats import vertex_of
from .ids import INT64_MAX, INT64_MIN
from .parameters import is_vertex
from .request import QueryRequest
from .rows import AnswerForm, Page, Rows


def with_numbers(request: QueryRequest, program: Any) -> QueryRequest:
    """Return a question with a number for every vertex that it names by digits: `vertices`, `paths`, and parameters that are vertices.

    Raises
    ------
    InvalidArgument
        For a string that is no whole number of 64 bits.
    """
    vertices, paths = _numbers("vertices", request.vertices), _numbers("paths", request.paths)
    parameters = dict(request.parameters)
    for field in dataclasses.fields(program):
        given = parameters.get(field.name)
        if is_vertex(field) and given is not None:
            several = isinstance(given, list | tuple)
            parameters[field.name] = (
                [_number(f"parameter {field.name}[{index}]", vertex) for index, vertex in enumerate(given)]
                if several
                else _number(f"parameter {field.name}", given)
            )
    return replace(request, vertices=vertices, paths=paths, parameters=parameters)


def page_as_text(page: Page, form: AnswerForm) -> Page:
    """Return a page with the ids as strings, and values that are ids."""
    following = None if page.next is None else str(page.next)
    paths = None if page.paths is None else page.paths.as_text()
    return Page(rows_as_text(page.rows, form), [str(vertex) for vertex in page.unknown], following, paths)


def rows_as_text(rows: Rows, form: AnswerForm) -> Rows:
    """Return rows with the ids as strings, and values that are ids."""
    names = rows.names
    if names is None and form.values_are_ids:
        numbers = zip(rows.values.tolist(), rows.reached.tolist(), strict=True)
        names = [str(number) if reached else None for number, reached in numbers]
    return replace(rows, ids=[str(vertex) for vertex in rows.ids], names=names)


def _numbers(name: str, given: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
    if given is None:
        return None
    return tuple(_number(f"{name}[{index}]", vertex) for index, vertex in enumerate(given))


def _number(name: str, given: Any) -> Any:
    if not isinstance(given, str):
        return given
    try:
        number = int(vertex_of(given, "int"))
    except ValueError:
        number = INT64_MAX + 1
    if not INT64_MIN <= number <= INT64_MAX:
        raise InvalidArgument(
            f"{name} is {given!r}, but the ids of this loop are 64-bit integers",
            hint=f"Ids run from {INT64_MIN} to {INT64_MAX}; with ids=string their digits may stand in quotes.",
        )
    return number
