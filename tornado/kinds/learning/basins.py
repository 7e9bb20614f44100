"""k-means as a whole: seeds, Lloyd's iterations, and out of a basin that is worse than another one nearby.

The rule: where no assignment changes any more, points are drawn by weight times squared distance to their centroid, and for each pair of such a
point and a cluster it is summed exactly what the inertia would be if the centroid of the cluster went to the point and all points to the
nearest of the centroids then. Of the pair with the least such sum (the first of several) the centroid goes there, if that is below a limit, and
Lloyd's iterations go on to where no assignment changes. That is kept where the inertia fell by more than a share of it, else all is as it was.
After so many moves that were not kept, one after the other, or so many in all, it ends.

Source: the local search of Lattanzi and Sohler, "A better k-means++ algorithm via local search" (2019), between fixed points.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...points import SHARDS
from .lloyd import MOST_ROUNDS, Asking, Partition
from .rounds import Method, Round
from .seeding import draw, seeds, uniforms

LEAST_GAIN = 1e-3
"""The share of the inertia that a move has to save."""
MOST_MOVES = 32
MOST_FAILURES = 2
CANDIDATES = 16
_LIMIT = 1.0
_DRAWS = 1 << 20  # draws of moves are told apart from those of seeds


def k_means(
    clusters: int,
    width: int,
    *,
    seed: int,
    centroids: NDArray[np.float64] | None = None,
    most_rounds: int = MOST_ROUNDS,
    most_moves: int = MOST_MOVES,
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
    most_rounds
        Of Lloyd's iterations between two moves.
    most_moves
        0: the first fixed point will do.

    Returns
    -------
    Finished
        As of `lloyd`, and the finding ``moves``: how many were kept.
    """
    if centroids is None:
        centroids = yield from seeds(clusters, width, seed=seed)
    search = _Search(Partition(centroids), width, seed, most_rounds)
    yield from search.settle()
    yield from search.leave_basins(most_moves)
    finished = search.partition.finished()
    findings = {**finished.findings, "moves": float(search.moves)}
    return replace(finished, findings=findings)


class _Search:
    def __init__(self, partition: Partition, width: int, seed: int, most_rounds: int) -> None:
        self.partition, self.moves = partition, 0
        self._width, self._seed, self._most_rounds = width, seed, most_rounds
        self._masses = np.zeros(SHARDS)

    def settle(self) -> Asking:
        yield from self.partition.measure()
        yield from self.partition.settle(self._most_rounds)
        yield from self._spread()

    def leave_basins(self, most_moves: int) -> Asking:
        failures = 0
        for number in range(most_moves):
            if failures == MOST_FAILURES or not self._masses.sum() > 0.0 or not self.partition.is_settled:
                return
            before = float(self.partition.inertia.sum())
            yield from self._move(number)
            failures = 0 if float(self.partition.inertia.sum()) < before else failures + 1

    def _move(self, number: int) -> Asking:
        """Move the centroid for which it looks best, and keep it where it is."""
        held = self.partition
        numbers = uniforms(self._seed, _DRAWS + number, CANDIDATES)
        candidates = yield from draw(self._masses, numbers, self._width)
        clusters = len(held.centroids)
        answer = yield Round("swaps", (float(clusters),), (candidates,))
        costs = answer.reshape(CANDIDATES, clusters + 1)
        sums = costs[:, :1] + costs[:, 1:]
        candidate, cluster = np.unravel_index(sums.argmin(), sums.shape)
        inertia = float(held.inertia.sum())
        if not sums[candidate, cluster] < _LIMIT * inertia:
            return
        yield Round("hold")
        masses = self._masses
        self.partition = held.with_centroid(int(cluster), candidates[candidate])
        yield from self.partition.settle(self._most_rounds)
        yield from self._spread()
        if self.partition.is_settled and self.partition.inertia.sum() < (1.0 - LEAST_GAIN) * inertia:
            self.moves += 1
        else:
            held.rounds = self.partition.rounds
            self.partition, self._masses = held, masses
            yield Round("go_back")

    def _spread(self) -> Asking:
        """Ask for the inertia of each cluster and of each shard."""
        answer = yield Round("spread", arrays=(self.partition.centroids,))
        self.partition.inertia, self._masses = answer[:-SHARDS], answer[-SHARDS:]
