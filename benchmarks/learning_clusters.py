"""k-means after some points came or went, beside scikit-learn: see `learning.py`."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import tornado

from .harness import Clock, Report, Settings, WrongAnswer
from .learning_data import Floats, Labelled, Sizes, gathered, inertia
from .learning_system import Learner

SIZE = Sizes(200_000, 16)
CLUSTERS = 20
_SMOKE_SIZE = Sizes(3_000, 16)
_SMOKE_CLUSTERS = 5
AT_LEAST = 8.0
NAME = "k-means"
ALGORITHMS = ("lloyd", "elkan")
CHANGES = ("1 % new", "1 % gone")
_REPEATS = 5
_STARTS = 5
_SLACK = 1e-9


def measure_clusters(report: Report, settings: Settings, clock: Clock) -> None:
    """Measure ours, and the rival on the last points of each kind, begun by k-means++ and at its centres before."""
    size, clusters = (_SMOKE_SIZE, _SMOKE_CLUSTERS) if settings.smoke else (SIZE, CLUSTERS)
    repeats = 1 if settings.smoke else _REPEATS
    step = max(1, size.points // 100)
    report.data["clusters"] = f"{size.points:,} points of {size.features} features, k = {clusters}"
    features = gathered(Sizes(size.points + repeats * step, size.features), clusters, seed=settings.seed)
    points = Labelled(features, np.zeros(len(features)))
    seconds: dict[str, list[float]] = {change: [] for change in CHANGES}
    found: dict[str, float] = {}
    first, stop = 0, size.points
    with Learner(tornado.KMeans(clusters=clusters), features) as learner:
        learner.insert(0, points.part(0, stop), clock)
        learner.rest(clock)
        anew, answer = learner.ask(clock)
        require_stationary(answer, features[:stop])
        report.add(f"{NAME}, all of them new", anew, "s")
        for _ in range(repeats):
            for change in CHANGES:
                learner.rest(clock)
                if change == CHANGES[0]:
                    learner.insert(stop, points.part(stop, stop + step), clock)
                    stop += step
                else:
                    learner.remove(first, first + step)
                    first += step
                taken, answer = learner.ask(clock)
                seconds[change].append(taken)
                found[change] = require_stationary(answer, features[first:stop])
    live = {CHANGES[0]: features[first - step : stop], CHANGES[1]: features[first:stop]}
    before = features[first - step : stop - step]
    for change in CHANGES:
        name = f"{NAME}, {change}"
        ours = float(np.median(seconds[change]))  # as of the rival: some questions look for a better basin
        report.add(name, ours, "s", of=seconds[change])
        for how, centres in (("from scratch", False), ("from its centres before", True)):
            theirs, others = _rival(live[change], before if centres else None, clusters, settings, clock)
            of = f"scikit-learn {how}, {name}"
            report.add(f"  {of}", theirs, "s")
            is_judged = change == CHANGES[0] and not centres
            report.add(f"  over ours, {of}", theirs / ours, "x", at_least=AT_LEAST if is_judged else None)
            at_most = None if centres else 1.0
            report.add(f"  inertia over that of {of}", found[change] / others, "", at_most=at_most)


def require_stationary(answer: Any, features: Floats) -> float:
    """Return the inertia of an answer in plain NumPy.

    Raises
    ------
    WrongAnswer
        It is not what the certificate says.
    """
    table = answer.table("centroids")
    centroids = table.column("value").to_numpy().reshape(-1, features.shape[1])
    counted, certificate = inertia(features, centroids), answer.certificate
    if certificate["kind"] != "stationary" or abs(certificate["inertia"] - counted) > _SLACK * counted:
        raise WrongAnswer(f"{NAME}: the inertia is {counted!r}, but the certificate is {certificate}")
    return counted


def _rival(
    features: Floats, before: Floats | None, clusters: int, settings: Settings, clock: Clock
) -> tuple[float, float]:
    """Return seconds and inertia of the better algorithm: the medians of several starts, each by its own seed."""
    from sklearn.cluster import KMeans

    best = (np.inf, np.inf)
    for algorithm in ALGORITHMS:
        taken, reached = [], []
        for seed in range(1 if settings.smoke else _STARTS):
            clock.left_s()
            how = {"n_clusters": clusters, "algorithm": algorithm, "n_init": 1, "random_state": seed}
            begin = "k-means++" if before is None else KMeans(**how).fit(before).cluster_centers_
            start = time.perf_counter()
            model = KMeans(**how, init=begin).fit(features)
            taken.append(time.perf_counter() - start)
            reached.append(float(model.inertia_))
        best = min(best, (float(np.median(taken)), float(np.median(reached))))
    return best
