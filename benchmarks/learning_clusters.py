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
STARTS = ("from scratch", "from its centres before")
_REPEATS = 5
_SLACK = 1e-9


def measure_clusters(report: Report, settings: Settings, clock: Clock) -> None:
    """Measure ours, and after each question the rival on the same points, begun by k-means++ and at its centres before."""
    size, clusters = (_SMOKE_SIZE, _SMOKE_CLUSTERS) if settings.smoke else (SIZE, CLUSTERS)
    repeats = 1 if settings.smoke else _REPEATS
    step = max(1, size.points // 100)
    report.data["clusters"] = f"{size.points:,} points of {size.features} features, k = {clusters}"
    features = gathered(Sizes(size.points + repeats * step, size.features), clusters, seed=settings.seed)
    points = Labelled(features, np.zeros(len(features)))
    ours = {change: Runs() for change in CHANGES}
    rivals = {change: {(how, by): Runs() for how in STARTS for by in ALGORITHMS} for change in CHANGES}
    first, stop = 0, size.points
    with Learner(tornado.KMeans(clusters=clusters), features) as learner:
        learner.insert(0, points.part(0, stop), clock)
        learner.rest(clock)
        anew, answer = learner.ask(clock)
        require_stationary(answer, features[:stop])
        report.add(f"{NAME}, all of them new", anew, "s")
        for repeat in range(repeats):
            for change in CHANGES:
                before = features[first:stop]
                learner.rest(clock)
                if change == CHANGES[0]:
                    learner.insert(stop, points.part(stop, stop + step), clock)
                    stop += step
                else:
                    learner.remove(first, first + step)
                    first += step
                live = features[first:stop]
                taken, answer = learner.ask(clock)
                ours[change].add(taken, require_stationary(answer, live))
                learner.rest(clock)
                for (how, algorithm), runs in rivals[change].items():
                    begin = before if how == STARTS[1] else None
                    runs.add(*_rival(live, begin, clusters, algorithm, settings.seed + repeat))
                    clock.left_s()
    for change in CHANGES:
        name, found = f"{NAME}, {change}", ours[change]
        report.add(name, found.median_s, "s", of=found.seconds)
        for how in STARTS:
            best = min((rivals[change][how, algorithm] for algorithm in ALGORITHMS), key=_median_of)
            of = f"scikit-learn {how}, {name}"
            report.add(f"  {of}", best.median_s, "s", of=best.seconds)
            is_judged = change == CHANGES[0] and how == STARTS[0]
            ratio = best.median_s / found.median_s
            report.add(f"  over ours, {of}", ratio, "x", at_least=AT_LEAST if is_judged else None)
            at_most = 1.0 if how == STARTS[0] else None
            report.add(f"  inertia over that of {of}", found.inertia / best.inertia, "", at_most=at_most)


class Runs:
    """Several runs of one thing, each on points of its own: some look for a better basin, so medians are told."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self._inertia: list[float] = []

    def add(self, seconds: float, inertia: float) -> None:
        """Note one."""
        self.seconds.append(seconds)
        self._inertia.append(inertia)

    @property
    def median_s(self) -> float:
        """Of the seconds."""
        return float(np.median(self.seconds))

    @property
    def inertia(self) -> float:
        """The median."""
        return float(np.median(self._inertia))


def _median_of(runs: Runs) -> float:
    return runs.median_s


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
    features: Floats, before: Floats | None, clusters: int, algorithm: str, seed: int
) -> tuple[float, float]:
    """Return seconds and inertia of one start: by k-means++, or at the centres that it finds for the points before."""
    from sklearn.cluster import KMeans

    how = {"n_clusters": clusters, "algorithm": algorithm, "n_init": 1, "random_state": seed}
    begin = "k-means++" if before is None else KMeans(**how).fit(before).cluster_centers_
    start = time.perf_counter()
    model = KMeans(**how, init=begin).fit(features)
    return time.perf_counter() - start, float(model.inertia_)
