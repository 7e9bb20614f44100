"""Proofs: what is known of an answer, and who verifies it: a checker that knows nothing of loops, on the branch's version of the graph.

All values are verified, whatever part of them a question names: a wrong value anywhere may be why another one is wrong. What is
verified is what is given out, so values are taken as answers show them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, cast

import numpy as np

from ..checking import AnswerToCheck, Checker
from ..checking.learners import LearnedAnswer
from ..checking.point_pages import DenseFeatures, PointPage, SparseFeatures
from ..clock import Clock
from ..errors import CheckFailed, InvalidArgument, NotSupported
from ..loop_views import BranchView, MainLoopView
from ..loops.kind import kind_of_program
from ..loops.vertex_program import VertexProgram
from ..records.point_batch import DensePointBatch, PointBatch, SparsePointBatch
from ..value_types import reached_of
from .given_answers import GivenAnswer
from .ids import IdCodec

# Certificates that claim what can be verified.
CLAIMS = frozenset({"exact", "bound"})
CLAIMS_OF_POINTS = frozenset({"gap", "stationary"})
"""Those of programs that learn."""


def require_checker(program: VertexProgram) -> Checker:
    """Return the checker of a program.

    Raises
    ------
    NotSupported
        When it names none.
    """
    checker = program.checker()
    if checker is None:
        raise NotSupported(
            f"{type(program).__name__} names no checker, so nothing can verify its answers",
            hint="Ask without check, or give the program a method `checker` (docs/checking.md).",
        )
    return checker


def require_checked(program: VertexProgram) -> None:
    """Refuse a check of a program that names no checker, be it of graphs or of points; raises as `require_checker`."""
    if program.point_checker() is None:
        require_checker(program)


def require_certifying(loop: MainLoopView, parameters: Mapping[str, Any]) -> None:
    """Refuse a certified question where a branch of no iterations would say nothing of its values.

    Raises
    ------
    InvalidArgument
        When values of its kind have no bound without an iteration, or the loop has no values for such parameters.
    """
    program, kind = loop.program, kind_of_program(loop.program)
    if not kind.certifies:
        raise InvalidArgument(
            f"mode is certified, but loop {loop.name!r} runs {type(program).__name__}, {kind.described}, whose values have no bound "
            "before they are exact",
            hint="Ask with mode exact, or with mode approximate for the values as they are.",
        )
    if program.with_parameters(parameters).begins_anew(program):
        raise InvalidArgument(
            f"mode is certified, but loop {loop.name!r} has the parameters {program.parameters()}, and the question has "
            f"{dict(parameters)}",
            hint="Leave out what changes the values (a tolerance does not), or ask with mode exact.",
        )


def proved(
    branch: BranchView, codec: IdCodec, clock: Clock, *, given: GivenAnswer | None = None
) -> Mapping[str, Any]:
    """Verify the values of a branch that is over and was forked with its edges; return its certificate, which says so.

    Parameters
    ----------
    given
        Of a program that learns: verify this answer on the points of the branch, in place of the branch's own.

    Raises
    ------
    CheckFailed
        When they are wrong; names the first wrong vertex.
    ResultUnavailable
        When the branch is of another version than the answer that is given.
    WorkerLost
        When a worker is lost that has some of them.
    """
    certificate = (branch.certificate if given is None else given.certificate) or {"kind": "none"}
    is_of_points = branch.program.point_checker() is not None
    if certificate["kind"] not in (CLAIMS_OF_POINTS if is_of_points else CLAIMS):
        return {**certificate, "checked": False}
    begun_s = clock.monotonic()
    if is_of_points:
        return _proved_of_points(branch, certificate, codec, clock, given)
    values = branch.values()
    ids, shown = values.arrays()
    # What is no number was not reached as far as answers show it; to the checker it is wrong.
    reached = reached_of(shown, values.worst) | np.isnan(shown)
    bound = float(certificate.get("bound", 0.0))
    has_beside = getattr(branch.program, "beside", None) is not None
    beside = values.seconds(ids).astype(np.float64) if has_beside else None
    answer = AnswerToCheck(ids, shown, reached, bound, branch.is_undirected, beside)
    verdict = require_checker(branch.program).check(answer, branch.edges())
    if verdict.fault is not None:
        called = partial(vertex_called, codec=codec)
        raise CheckFailed(
            f"the check of the answer at version {branch.snapshot.version} failed: {verdict.fault.told(called)}",
            vertex=called(verdict.fault.vertex),
        )
    looked_at = {**verdict.described(), "elapsed_s": round(clock.monotonic() - begun_s, 6)}
    return {**certificate, "checked": True, "check": looked_at}


def _proved_of_points(
    branch: BranchView,
    certificate: Mapping[str, Any],
    codec: IdCodec,
    clock: Clock,
    given: GivenAnswer | None,
) -> Mapping[str, Any]:
    checker, begun_s = branch.program.point_checker(), clock.monotonic()
    assert checker is not None
    values = branch.values()
    claimed = {name: number for name, number in certificate.items() if isinstance(number, float)}
    if given is None:
        answer = LearnedAnswer(*values.arrays(), values.found(), claimed)
    else:
        given.require_version(int(branch.snapshot.version))
        # Dual variables of the branch prove a dual of these points, whoever claims it.
        answer = LearnedAnswer(given.ids, given.values, {**values.found(), **given.found}, claimed)
    verdict = checker.check(answer, lambda: map(page_of, branch.points()))
    if verdict.fault is not None:
        point = None if verdict.point is None else vertex_called(verdict.point, codec=codec)
        told = verdict.fault if point is None else f"point {point} {verdict.fault}"
        raise CheckFailed(
            f"the check of the answer at version {branch.snapshot.version} failed: {told}", vertex=point
        )
    looked_at = {"method": verdict.method, "points": verdict.points, **verdict.measured}
    elapsed_s = round(clock.monotonic() - begun_s, 6)
    return {**certificate, "checked": True, "check": {**looked_at, "elapsed_s": elapsed_s}}


def page_of(batch: PointBatch) -> PointPage:
    """Points as checkers read them; nothing is copied."""
    features: DenseFeatures | SparseFeatures
    if isinstance(batch, SparsePointBatch):
        features = SparseFeatures(batch.starts, batch.indices, batch.values, batch.points.features)
    else:
        features = DenseFeatures(cast("DensePointBatch", batch).features)
    return PointPage(batch.id, batch.label, batch.weight, features)


def vertex_called(vertex: int, *, codec: IdCodec) -> int | str:
    """Return what the id of a vertex is outside; of a wrong value that is no vertex's, the number."""
    try:
        (name,) = codec.decode(np.array([vertex], np.int64))
    except InvalidArgument:
        return vertex
    return name
