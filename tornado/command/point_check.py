"""What `tornado check` does for programs that learn: reads a result and the points, and verifies the one against the others.

No loop is started. The points are those that the records of the files leave, put together by a plain rule: of each id the last record
counts. What is right is a definition of the checkers' own (`checking.linear_models`, `checking.learners`).

- *Weights* are right where their objective is within the bound of the least there is. That is proved by a dual point, of which the checker
  sums what it shows; dual points are those of the slopes at the weights, and those of a model that is learnt from the same points, whose
  word is not taken for anything. They are wrong where the learnt weights have an objective that is less by more than the bound. Where
  neither is so, nothing better is known: then they pass, and are said not to be proved.
- *Clusters* are right where they are stationary: each point is in the cluster of a nearest centroid, and centroids are the means of
  their points. From assignments the means follow, and from centroids the assignments. As many clusters have points as can have some.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..checking.learners import ClusterCheck, LearnedAnswer, PointVerdict
from ..checking.linear_models import LinearCheck, Measured
from ..checking.point_pages import Pages
from ..errors import InvalidArgument, NotSupported
from ..ingest.interner import Interner
from ..ingest.point_layout import PointFormat
from ..ingest.point_source import declared_by, open_point_files
from ..kinds.learning.linear.linear_program import LinearModel
from ..kinds.learning.program import LearningProgram
from ..kinds.learning.rounds import run_alone
from ..loops.answer_tables import INTERCEPT, coefficient_names
from ..points import EvolvingPoints
from ..query.proofs import page_of
from ..records.operations import REMOVE
from ..records.point_batch import PointBatch
from .result_file import CheckedFile, read_columns, read_header

_COEFFICIENTS: Final = ("feature", "value")
_CENTROIDS: Final = ("cluster", "feature", "value")
_ASSIGNMENTS: Final = ("id", "cluster")
_VALUES: Final = ("vertex", "value")
_PAGE_POINTS: Final = 1 << 16
_OF_MORE_CLASSES: Final = (
    "{}: weights of more than two classes are verified in a run or a question, and not in a file"
)
_CLOSER: Final = 0.25
"""The share of the bound that a model is learnt to."""
_PROVED: Final = (
    "the objective is summed anew, and a dual point proves that none is less by more than the bound"
)
_NOT_PROVED: Final = "the objective is summed anew, and none that is less by more than the bound is known"


def check_point_files(
    program: LearningProgram, options: Mapping[str, Any], *, bound: float | None
) -> CheckedFile[PointVerdict]:
    """Verify a result.

    Parameters
    ----------
    program
        Whose result it is to be.
    options
        Of `tornado check`, by name.
    bound
        By which share of it the objective may be above the least; None: by the program's tolerance.

    Raises
    ------
    InvalidArgument, NotSupported, SourceBroken
        When a file cannot be read, or nothing verifies results of the program.
    """
    checker = program.point_checker()
    if checker is None:
        raise NotSupported(
            f"{type(program).__name__} names no checker, so nothing can verify its answers",
            hint="Give the program a method `point_checker` (docs/checking.md).",
        )
    if isinstance(checker, ClusterCheck) and bound is not None:
        raise InvalidArgument(
            f"--bound {bound:g} is about an objective, and clusters are stationary or not",
            hint="Leave it out.",
        )
    interner = Interner() if options["ids"] == "string" else None
    wanted = PointFormat(label=options["label"], id=options["id"])
    read = program.reading(declared_by(options["points"], wanted=wanted))
    batch, rejected = _left(read, options["points"], wanted, interner)
    if isinstance(checker, ClusterCheck):
        verdict = _check_clusters(read, checker, options["result"], batch, interner)
    elif isinstance(checker, LinearCheck) and isinstance(read, LinearModel):
        verdict = _check_weights(
            read, checker, options["result"], batch, read.tolerance if bound is None else bound
        )
    else:
        raise NotSupported(
            f"results of {type(program).__name__} in a file are verified by nothing",
            hint="Ask for the check in the question or the run: --check.",
        )
    return CheckedFile(
        verdict, int if interner is None else lambda one: interner.names(np.array([one]))[0], rejected
    )


# Points


def _left(
    program: LearningProgram, paths: list[str], wanted: PointFormat, interner: Interner | None
) -> tuple[PointBatch, int]:
    """The points that the records of files leave, ascending by id, and how many records were rejected."""
    batches, rejected = [], 0
    declared = program.declared
    for source in open_point_files(paths, points=declared, wanted=wanted, interner=interner):
        try:
            for parsed in source.batches():
                taken = parsed.without(*program.check_points(parsed.batch)) if len(parsed.batch) else parsed
                rejected += len(taken.rejected)
                batches.append(taken.settled())
        finally:
            source.close()
    batch = PointBatch.kind_of(declared).concat(batches)
    _, from_the_end = np.unique(batch.id[::-1], return_index=True)
    last = len(batch) - 1 - from_the_end
    return batch.take(last[batch.op[last] != REMOVE]), rejected


def _pages(batch: PointBatch) -> Pages:
    def pages() -> Iterator[Any]:
        for first in range(0, len(batch), _PAGE_POINTS):
            yield page_of(batch.slice(first, first + _PAGE_POINTS))

    return pages


# Weights


def _check_weights(
    program: LinearModel, checker: LinearCheck, path: str, batch: PointBatch, bound: float
) -> PointVerdict:
    if len(program.classes) > 2:
        raise NotSupported(_OF_MORE_CLASSES.format(path), hint="Ask with --check.")
    weights = _weights_of(program, path)
    if isinstance(weights, str):
        return PointVerdict(_PROVED, len(batch), {}, weights)
    pages, classes = _pages(batch), _classes_of(program, batch)
    ids = np.arange(-1 if program.intercept else 0, program.declared.features)
    learnt, proof = _learnt(program, batch, bound * _CLOSER)
    given = checker.measured(LearnedAnswer(ids, weights, {"classes": classes, **proof}, {}), pages)
    best = _best(checker.measured(LearnedAnswer(ids, learnt, {"classes": classes}, {}), pages), given)
    measured: dict[str, float | bool] = {"primal": given.primal, "dual": best.dual, "least": best.primal}
    allowed = given.slack + bound * given.primal
    if given.primal - best.dual <= allowed:
        return PointVerdict(_PROVED, len(batch), measured | {"proved": True})
    fault = None
    if given.primal - best.primal > allowed + best.slack:
        fault = f"the objective is {given.primal!r}, but there are weights whose objective is {best.primal!r}"
    return PointVerdict(_NOT_PROVED, len(batch), measured | {"proved": False}, fault)


def _best(one: Measured, other: Measured) -> Measured:
    return Measured(
        one.points, min(one.primal, other.primal), max(one.dual, other.dual), max(one.slack, other.slack)
    )


def _weights_of(program: LinearModel, path: str) -> NDArray[np.float64] | str:
    """The intercept, if there is one, and the weights; or what is wrong with the rows."""
    columns = read_header(path)
    if "class" in columns:
        raise NotSupported(_OF_MORE_CLASSES.format(path), hint="Ask with --check.")
    names = coefficient_names(program.declared.features, program.declared.names)
    expected = [INTERCEPT, *names] if program.intercept else names
    if "feature" in columns:
        found, values = read_columns(path, dict(zip(_COEFFICIENTS, (pa.string(), pa.float64()), strict=True)))
    else:
        numbers, values = read_columns(path, dict(zip(_VALUES, (pa.int64(), pa.float64()), strict=True)))
        called = {-1: INTERCEPT} | dict(enumerate(names))
        found = [called.get(number, str(number)) for number in numbers.to_pylist()]
    rows: dict[str, float | None] = {}
    for name, value in zip(map(str, found), values.to_pylist(), strict=True):
        if name in rows:
            return f"feature {name!r} has two rows"
        rows[name] = value
    for name in rows:
        if name not in set(expected):
            return f"{name!r} has a row, but no feature is called so" + (
                ", and the model has no intercept" if name == INTERCEPT else ""
            )
    for name in expected:
        if rows.get(name) is None:
            return f"feature {name!r} has no {'value' if name in rows else 'row'}"
        if not math.isfinite(rows[name] or 0.0):
            return f"feature {name!r} has {rows[name]}"
    return np.array([rows[name] for name in expected], np.float64)


def _classes_of(program: LinearModel, batch: PointBatch) -> NDArray[np.float64]:
    """The negative and the positive class, NaN for one that no point has.

    Raises
    ------
    InvalidArgument
        Points have more.
    """
    if program.classes or program.loss == "squared":
        return np.array(program.classes or (math.nan, math.nan))
    found = np.unique(batch.label[(batch.weight > 0.0) & ~np.isnan(batch.label)])
    if len(found) > 2:
        raise InvalidArgument(
            f"points have the labels {found[0]:g}, {found[1]:g} and {found[2]:g}, but what is verified here is of two classes",
            hint="Name the two: --classes 0,1. Points of other labels are then rejected.",
        )
    if not len(found):
        return np.array([-1.0, 1.0])
    return found if len(found) > 1 else np.array([math.nan, found[0]])


def _learnt(
    program: LinearModel, batch: PointBatch, tolerance: float
) -> tuple[NDArray[np.float64], Mapping[str, NDArray[Any]]]:
    """The weights, as in results, of a model that is learnt from these points, and its dual variables."""
    program = replace(program, tolerance=max(tolerance, 1e-12))
    points = EvolvingPoints(program.declared)
    points.apply_all(batch)
    shards = program.data_shards(points, 1)
    lease, version = points.lease()
    work = program.work(points, version, shards)
    found = run_alone(program.method(program.branch_parameters(program.begin()), 1), work)
    proof = {f"{name}.0": array for name, array in program.proof(work).items()}
    points.release(lease)
    ids, values = program.values(found.parameters)
    return values[np.argsort(ids, kind="stable")].astype(np.float64), proof


# Clusters


def _check_clusters(
    program: LearningProgram, checker: ClusterCheck, path: str, batch: PointBatch, interner: Interner | None
) -> PointVerdict:
    pages, most = _pages(batch), int(getattr(program, "clusters", 0))
    if set(_CENTROIDS) <= set(read_header(path)):
        centroids = _centroids_of(program, path, most)
        if isinstance(centroids, str):
            return PointVerdict("every centroid has a row for each feature", len(batch), {}, centroids)
        clusters = _nearest(centroids, pages)
    else:
        found = _assignments_of(path, batch, interner, most)
        if isinstance(found, PointVerdict):
            return found
        clusters = found
        centroids = _means(clusters, pages, program.declared.features)
        # Numbers of clusters that have no point say nothing.
        clusters = np.unique(clusters, return_inverse=True)[1].astype(np.int64)
    answer = LearnedAnswer(
        batch.id, clusters, {"centroids": centroids}, {"inertia": _inertia(centroids, clusters, pages)}
    )
    verdict = checker.check(answer, pages)
    used = len(np.unique(clusters))
    if verdict.fault is None and used < most and used < _different(batch, most):
        return replace(
            verdict,
            fault=f"only {used} of {most} clusters have points, but there are more different points than that",
        )
    return verdict


def _centroids_of(program: LearningProgram, path: str, most: int) -> NDArray[np.float64] | str:
    """float64[k, d], or what is wrong with the rows."""
    types = dict(zip(_CENTROIDS, (pa.int64(), pa.string(), pa.float64()), strict=True))
    clusters, features, values = (column.to_pylist() for column in read_columns(path, types))
    names = coefficient_names(program.declared.features, program.declared.names)
    places = {name: place for place, name in enumerate(names)}
    count = max(clusters, default=-1) + 1
    if count > most:
        return f"cluster {count - 1} has a row, but there are {most}"
    found = np.full((count, len(names)), np.nan)
    for cluster, feature, value in zip(clusters, features, values, strict=True):
        if feature not in places:
            return f"cluster {cluster} has a row for {feature!r}, but no feature is called so"
        if cluster < 0 or value is None or not math.isfinite(value):
            return f"cluster {cluster} has {value!r} for feature {feature!r}"
        if not np.isnan(found[cluster, places[feature]]):
            return f"cluster {cluster} has two rows for feature {feature!r}"
        found[cluster, places[feature]] = value
    missing = np.argwhere(np.isnan(found))
    if len(missing):
        cluster, place = missing[0].tolist()
        return f"cluster {cluster} has no row for feature {names[place]!r}"
    return found


def _assignments_of(
    path: str, batch: PointBatch, interner: Interner | None, most: int
) -> NDArray[np.int64] | PointVerdict:
    """The cluster of each point, int64[n], or what is wrong with the rows."""
    columns = _ASSIGNMENTS if set(_ASSIGNMENTS) <= set(read_header(path)) else _VALUES
    kind = pa.int64() if interner is None else pa.string()
    names, given = read_columns(path, dict(zip(columns, (kind, pa.int64()), strict=True)))
    ids = names.to_numpy(zero_copy_only=False) if interner is None else interner.intern(names)
    found = np.asarray(given.fill_null(-1))

    def wrong(point: int, words: str) -> PointVerdict:
        return PointVerdict("each point has a row", len(batch), {}, words, point)

    order = np.argsort(ids, kind="stable")
    ids, found = ids[order], found[order]
    twice = np.flatnonzero(ids[1:] == ids[:-1])
    if len(twice):
        return wrong(int(ids[twice[0]]), "has two rows")
    strange = np.flatnonzero(~np.isin(ids, batch.id))
    if len(strange):
        return wrong(int(ids[strange[0]]), "has a row, but the files leave no such point")
    missing = np.flatnonzero(~np.isin(batch.id, ids))
    if len(missing):
        return wrong(int(batch.id[missing[0]]), "has no row")
    outside = np.flatnonzero((found < 0) | (found >= most))
    if len(outside):
        row = int(outside[0])
        return wrong(
            int(ids[row]),
            f"is in cluster {found[row]}, but there are {most}" if found[row] >= 0 else "is in no cluster",
        )
    return np.asarray(found, np.int64)


def _nearest(centroids: NDArray[np.float64], pages: Pages) -> NDArray[np.int64]:
    found = [np.empty(0, np.int64)]
    if len(centroids):
        found += [page.features.distances(centroids)[0].argmin(axis=1) for page in pages()]
    return np.concatenate(found)


def _means(clusters: NDArray[np.int64], pages: Pages, width: int) -> NDArray[np.float64]:
    """float64[k, d]: of the points of each cluster that has some, by their weights; of weights that are all 0 their plain mean."""
    _, compact = np.unique(clusters, return_inverse=True)
    count, first = int(compact.max(initial=-1)) + 1, 0
    sums, weights = np.zeros((2, count, width)), np.zeros((2, count))
    for page in pages():
        own, first = compact[first : first + len(page.ids)], first + len(page.ids)
        for place, shares in enumerate((page.weights, np.ones(len(page.ids)))):
            sums[place] += page.features.cluster_sums(own, shares, count)[0]
            weights[place] += np.bincount(own, shares, minlength=count)
    has_weight = (weights[0] > 0.0)[:, None]
    found: NDArray[np.float64] = np.where(has_weight, *sums) / np.where(
        has_weight, weights[:1].T, weights[1:].T
    )
    return found


def _inertia(centroids: NDArray[np.float64], clusters: NDArray[np.int64], pages: Pages) -> float:
    first, total = 0, 0.0
    for page in pages():
        own, first = clusters[first : first + len(page.ids)], first + len(page.ids)
        distances = page.features.distances(centroids)[0]
        total += float(page.weights @ distances[np.arange(len(own)), own])
    return total


def _different(batch: PointBatch, most: int) -> int:
    """How many different points there are, or `most` if that is less."""
    seen: set[bytes] = set()
    for page in _pages(batch)():
        for row in range(len(page.ids)):
            seen.add(_key(page.features, row))
            if len(seen) == most:
                return most
    return len(seen)


def _key(features: Any, row: int) -> bytes:
    if hasattr(features, "matrix"):
        return bytes((features.matrix[row] + 0.0).tobytes())  # -0 is 0
    entries = slice(features.starts[row], features.starts[row + 1])
    kept = features.values[entries] != 0.0
    return bytes(features.indices[entries][kept].tobytes() + features.values[entries][kept].tobytes())
