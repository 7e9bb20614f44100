"""What a question names, extracted from the values of its branch: a few rows that belong to the answer, or all of them, leased."""

from __future__ import annotations

from collections.abc import Mapping

from ..loop_views import ValuesView, WayView
from .answers import Answer, SharedValues, SmallAnswer, WholeAnswer, lookup, top
from .ids import Vertex
from .paths import FoundPaths
from .request import QueryRequest
from .rows import AnswerForm


def extracted(
    request: QueryRequest,
    values: ValuesView,
    shared: SharedValues,
    form: AnswerForm,
    ways: Mapping[int, WayView] | None = None,
) -> Answer:
    """Return the answer to a question.

    Parameters
    ----------
    shared
        The same values, to be leased.
    ways
        Those that were found, to the vertices that this question and others want them of.
    """
    k, named = request.top, request.named
    if request.is_whole:
        return WholeAnswer(shared, form=form)
    if named is None and k is None:
        return SmallAnswer(form.no_rows, [], form=form)
    paths = None if request.paths is None else FoundPaths.of(request.paths, ways or {}, form.codec)
    unknown: list[Vertex] = []
    if named is not None:
        rows, unknown = lookup(values, named, form)
        if k is None:
            return SmallAnswer(rows, unknown, form=form, paths=paths)
    # With the next one: it says whether the last is surely before all others.
    assert k is not None
    ranked = top(values, k + 1, form) if named is None else form.best(rows, k + 1)
    return SmallAnswer(ranked.first(k), unknown, form=form, ranked=ranked.values, paths=paths)
