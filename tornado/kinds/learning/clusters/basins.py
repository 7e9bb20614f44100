"""k-means as a whole: a sample says where to begin, and whether another basin is better than the one that is at hand.

The rule: of each shard every s-th point in the order in which they came is in the sample, so that there are some ten thousands; of few points
all are. Seeds are drawn from it, where no centroids are given, and Lloyd's iterations go on over it for some passes. Then points are drawn
from it by weight times squared distance to their centroid, and for each pair of such a point and another cluster than its own, which did not go in vain from here, it is summed what the inertia
would be if the centroid of the cluster went to the point and all points to the nearest of the centroids then. Of the pair with the
least such sum (the first of several) the centroid goes there, if that is below a limit, and Lloyd's iterations go on for some passes, as long as they may
save enough. That is kept where the inertia fell by more than a share of it, else all is as it was. After so many draws, one after the other, that brought
nothing, or so many in all, it ends. Where the sample is small against `SEARCHED`, all of it is begun anew several times, with other seeds, and
where centroids were given that a move made better, once at least: of these the best is taken. Then Lloyd's iterations go on over all points to where no assignment changes:
from the centroids that were given, where no move was kept and nothing begun anew was better by that share, else from those of the sample.

Nothing is searched for where centroids are given that a search has found, and since then no more points came and went than a cluster has
on the average.

Source: the local search of Lattanzi and Sohler, "A better k-means++ algorithm via local search" (2019), on a sample and between fixed points.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ....points import SHARDS
from ..rounds import Method, Round
from .lloyd import MOST_ROUNDS, Asking, Partition
from .seeding import draw, seeds, uniforms

GAIN_OF_SEEDS, GAIN_OF_CENTROIDS = 1e-3, 2e-3
"""The share of the inertia that a move has to save: where seeds were drawn, and where centroids were given."""
LIMIT = 1.05
"""How many times the inertia the sum of a pair may be for its move to be tried."""
MOST_MOVES = 100
FAILURES_OF_SEEDS, FAILURES_OF_CENTROIDS = 4, 2
"""After how many draws in vain it ends: where seeds were drawn, and where centroids were given, which a search has found before."""
FAILURES_ANEW = 2
"""Likewise where there is one to compare with."""
CANDIDATES = 64
SAMPLE_POINTS = 1 << 14
SAMPLE_POINTS_OF_CLUSTER = 256
SAMPLE_ROUNDS = 30
MOST_STARTS = 16
SEARCHED = 1 << 22
"""How many features of points of the sample, times clusters, fit in once for another start: twice for four, and so on."""
_DRAWS = 1 << 40  # draws of moves are told apart from those of seeds
_STARTS = 1 << 20  # and those of starts


def k_means(
    clusters: int,
    width: int,
    *,
    seed: int,
    centroids: NDArray[np.float64] | None = None,
    unsearched: float = math.inf,
    most_rounds: int = MOST_ROUNDS,
    most_moves: int = MOST_MOVES,
    tolerance: float = 0.0,
    by_cluster: bool = False,
) -> Method:
    """Find clusters.

    Parameters
    ----------
    clusters
        k.
    width
        d.
    seed
        Not negative; the result is a function of it, of the points and of where it begins.
    centroids : float64[k, d], optional
        Where to begin; left out: by k-means++.
    unsearched
        How many points had come and gone between the last search and when bounds were kept; infinite: there was none.
    most_rounds
        Of Lloyd's iterations over all points.
    most_moves
        0: the basin that is at hand will do.
    tolerance
        Above 0: it ends where a pass explains less than this share more than the one before (`ExactSums.explained`), which is not
        converged unless no assignment changes. Points that are in no clusters may take hundreds of passes beyond.
    by_cluster
        Units of sums are of each cluster from the first pass on; see `lloyd`.

    Returns
    -------
    Finished
        As of `lloyd`, with the finding ``moves``: how many were kept, and the parameter ``unsearched``, float64[1].
    """
    whole = Partition(np.zeros((clusters, width)) if centroids is None else centroids, by_cluster=by_cluster)
    yield from whole.measure()
    moves = 0
    unsearched = known = unsearched + whole.changes if centroids is not None else math.inf
    is_searched = clusters * unsearched > whole.points
    if centroids is None or (most_moves and is_searched):
        unsearched = 0.0
        wanted = max(SAMPLE_POINTS, SAMPLE_POINTS_OF_CLUSTER * clusters)
        stride = max(1, whole.points // wanted)
        yield Round("sample", (float(stride),))
        of_sample = partial(Partition, of="sample.", by_cluster=by_cluster)
        begin = centroids
        if begin is None:
            begin = yield from seeds(clusters, width, seed=seed, of="sample.")
            search = _Search(of_sample(begin), width, seed, GAIN_OF_SEEDS)
            yield from search.leave_basins(most_moves, FAILURES_OF_SEEDS)
        else:
            search = _Search(of_sample(begin), width, seed, GAIN_OF_CENTROIDS)
            yield from search.leave_basins(most_moves, FAILURES_OF_CENTROIDS)
        moves, best, least = search.moves, search.partition.centroids, search.inertia
        has_changed = centroids is None or moves > 0
        fits = SEARCHED // max(1, clusters * width * (whole.points // stride))
        starts = min(MOST_STARTS - 1, fits**2)  # few points have more basins, and take less time
        starts = max(starts, int(centroids is not None and moves > 0)) if most_moves and least > 0.0 else 0
        for number in range(1, 1 + starts):
            begin = yield from seeds(clusters, width, seed=seed, of="sample.", first=number * _STARTS)
            other = _Search(of_sample(begin), width, seed, GAIN_OF_SEEDS, number * _STARTS)
            yield from other.leave_basins(most_moves, FAILURES_ANEW)
            moves += other.moves
            if other.inertia < (1.0 - GAIN_OF_SEEDS) * least:
                best, least, has_changed = other.partition.centroids, other.inertia, True
        if has_changed:
            whole.centroids = best
    if tolerance > 0.0:
        yield from whole.approach(most_rounds, little=tolerance)
    if tolerance <= 0.0 or whole.is_settled:
        yield from whole.settle(most_rounds)
    if whole.is_vain:
        return (
            yield from k_means(
                clusters, width, seed=seed, centroids=centroids, unsearched=known, most_rounds=most_rounds, most_moves=most_moves,
                tolerance=tolerance, by_cluster=True,
            )
        )  # fmt: skip
    yield from whole.weigh()
    finished = whole.finished()
    return replace(
        finished,
        parameters={**finished.parameters, "unsearched": np.array([unsearched])},
        findings={**finished.findings, "moves": float(moves)},
    )


class _Search:
    """From basin to basin of the sample."""

    def __init__(self, partition: Partition, width: int, seed: int, gain: float, first: int = 0) -> None:
        self.partition, self.moves, self._first = partition, 0, first
        self._width, self._seed, self._gain = width, seed, gain
        self._masses = np.zeros(SHARDS)
        self._tried: list[int] = []  # clusters whose centroids went in vain from where all are now

    @property
    def inertia(self) -> float:
        """Of the sample."""
        return float(self.partition.inertia.sum())

    def leave_basins(self, most_moves: int, most_failures: int) -> Asking:
        yield from self.partition.measure()
        yield from self._settle()
        failures = 0
        for number in range(most_moves):
            if failures == most_failures or not self._masses.sum() > 0.0:
                return
            kept = self.moves
            found = yield from self._best_move(number)
            if found is not None:
                yield from self._try_move(*found)
            if self.moves == kept:
                failures += 1
            else:
                failures = 0
                self._tried.clear()

    def _best_move(
        self, number: int
    ) -> Generator[Round, NDArray[np.float64], tuple[int, NDArray[np.float64]] | None]:
        """Ask for the cluster and the point of the pair with the least sum; None: it is not below the limit."""
        numbers = uniforms(self._seed, _DRAWS + self._first + number, CANDIDATES)
        candidates = yield from draw(self._masses, numbers, self._width, of="sample.")
        clusters = len(self.partition.centroids)
        answer = yield Round("sample.swaps", (float(clusters),), (candidates,))
        costs = answer.reshape(CANDIDATES, clusters + 1)
        sums = costs[:, :1] + costs[:, 1:]
        sums[:, self._tried] = np.inf
        for place, point in enumerate(candidates):  # whose own centroid would only come back
            sums[place, ((self.partition.centroids - point) ** 2).sum(1).argmin()] = np.inf
        candidate, cluster = divmod(int(sums.argmin()), clusters)
        if not sums[candidate, cluster] < LIMIT * self.partition.inertia.sum():
            return None
        return cluster, candidates[candidate]

    def _try_move(self, cluster: int, point: NDArray[np.float64]) -> Asking:
        """Let the centroid of a cluster go to a point, and keep it where the inertia falls."""
        held, masses = self.partition, self._masses
        self._tried.append(cluster)
        yield Round("sample.hold")
        self.partition = held.with_centroid(cluster, point)
        yield from self._settle(held.explained + self._gain * float(held.inertia.sum()))
        if self.partition.inertia.sum() < (1.0 - self._gain) * held.inertia.sum():
            self.moves += 1
        else:
            self.partition, self._masses = held, masses
            yield Round("sample.go_back")

    def _settle(self, wanted: float = -np.inf) -> Asking:
        """Go on for some passes, and ask for the inertia of each cluster and of each shard."""
        yield from self.partition.approach(SAMPLE_ROUNDS, wanted=wanted)
        answer = yield Round("sample.spread", arrays=(self.partition.centroids,))
        self.partition.inertia, self._masses = answer[:-SHARDS], answer[-SHARDS:]
