"""Lloyd's iterations as a method: centroids become the means of the points nearest to them, until they are so.

The rules: of centroids equally far the least has the point. A cluster without weight gets the point that is farthest from its own centroid,
of equally far ones the one of the least id. Several such clusters get as many farthest points, each where no other one of them is, in
their order; one for which none is left waits for the next pass. Where no point is away from its centroid, by more than the mean of equal
points is rounded, a cluster without weight stays where it is.

It ends where means are the centroids that they were made of, bit for bit: then no assignment changes any more. Points in no clusters may
take thousands of passes, each of which looks only at those that may change. The result is a function of the points and the first centroids:
not of workers, nor of bounds that were kept (`kept_bounds`).

Means have the rounding of a float64 sum, though a cluster may be far away from another one, or weigh far more. Where it ends it is looked whether units were so
fine (`ExactSums.coarseness`). Otherwise it goes on with units of each cluster: each pass then asks how great those of each cluster are, and
sums all points, which takes several times as long. Where means were hardly known, so that the passes led anywhere, it begins anew so.

In exact arithmetic no partition comes twice. Far from the origin roundings may decide which centroid is nearest, and then one might: that is
noticed (Brent, "An improved Monte Carlo factorization algorithm", 1980, section 7), and it ends, not converged.

Source: Lloyd (1982), as the Tornado paper has it; bounds and sums as `cluster_kernel` and `exact_sums` say.
"""

from __future__ import annotations

from collections.abc import Generator

import numpy as np
from numpy.typing import NDArray

from ....points import SHARDS
from ..rounds import Finished, Method, Round
from .exact_sums import ExactSums

Asking = Generator[Round, NDArray[np.float64], None]

MOST_ROUNDS = 1_000_000
"""Passes that are more than any points need: Gaussian ones take some thousands."""
LITTLE = 1e-6
"""The share of what is explained that is little."""
HOPE = 2.0
"""How many times what a pass brought each further one may bring on the average."""
_ROUNDING = 2.0**-49  # of the length of a point: the mean of points that equal it is no farther away
_MOST_FILLED = 64  # clusters without weight that get a point in one round
_FINE = 2.0**-53  # of sums, as a low unit: means are rounded by a quarter of what a check allows
_GROSS = 2.0**-30  # means are hardly known


def lloyd(
    centroids: NDArray[np.float64], *, most_rounds: int = MOST_ROUNDS, by_cluster: bool = False
) -> Method:
    """Go on to where no assignment changes.

    Parameters
    ----------
    centroids : float64[k, d]
        Where to begin; only read.
    most_rounds
        After so many passes it gives up.
    by_cluster
        Units of sums are of each cluster from the first pass on.

    Returns
    -------
    Finished
        Parameters: ``centroids`` float64[k, d], and ``sizes`` float64[k], the weight of each cluster. Findings: ``inertia``, the sum of
        weighted squares; ``moved``, how far a centroid would still go at most (0 where it is converged); ``rounds``; ``points``.
        Points are assigned to the nearest of these centroids.
    """
    partition = Partition(centroids, by_cluster=by_cluster)
    yield from partition.measure()
    yield from partition.settle(most_rounds)
    if partition.is_vain:
        return (yield from lloyd(centroids, most_rounds=most_rounds, by_cluster=True))
    yield from partition.weigh()
    return partition.finished()


class Partition:
    """What the coordinator knows of a partition of the points, and the rounds that make it better.

    Parameters
    ----------
    centroids : float64[k, d]
        Copied.
    of
        Comes before each task: ``sample.`` where it is the points of the sample that are asked.
    by_cluster
        Whether units of sums are of each cluster: for any products and weights, and slower.

    Attributes
    ----------
    centroids : float64[k, d]
        Those that the points are assigned to.
    moved
        How far a centroid is at most from the mean of its points.
    rounds
        How many passes assigned points.
    is_settled
        Whether they are those means.
    is_vain
        Whether units were so coarse that all has to be done anew by cluster; good after `settle`.
    inertia : float64[k]
        Of each cluster; good after `weigh`.
    points, changes
        How many there are, and how many came or went since bounds were kept; good after `measure`.
    """

    def __init__(self, centroids: NDArray[np.float64], *, of: str = "", by_cluster: bool = False) -> None:
        self.centroids = np.array(centroids, np.float64)
        self.moved, self.rounds, self.points, self.changes = 0.0, 0, 0, 0
        self.is_settled = self.is_vain = False
        self._of, self._by_cluster = of, by_cluster
        self.inertia = np.zeros(len(centroids))
        self._sums: ExactSums
        self._sums_of_all: ExactSums
        self._sizes: NDArray[np.float64]
        self._is_counted = self._is_fine = False

    def measure(self) -> Asking:
        """Ask how great features are, so that sums can be exact."""
        answer = yield Round(f"{self._of}measure")
        self.points, self.changes = int(answer[-2]), int(answer[-1])
        self._sums = self._sums_of_all = ExactSums(len(self.centroids), answer[:-2], answer[-2:-1])

    def settle(self, most_rounds: int) -> Asking:
        """Assign points and move centroids until nothing changes, or they come back to where they were, in at most so many passes."""
        has_ended = yield from self._go_on(most_rounds)
        if not has_ended:
            return
        coarseness = yield from self._coarseness()
        self.is_vain = coarseness > _GROSS and not self._by_cluster
        if coarseness > _FINE and not (self.is_vain or self._by_cluster):
            self._by_cluster = True
            yield from self._go_on(most_rounds)
            coarseness = yield from self._coarseness()
        self._is_fine = coarseness <= _FINE

    def _go_on(self, most_rounds: int) -> Generator[Round, NDArray[np.float64], bool]:
        """See `settle`; returns whether more passes would bring nothing."""
        kept, kept_at = self.centroids, 1
        for done in range(1, most_rounds + 1):
            means = yield from self._assign()
            if self.is_settled or np.array_equal(means, kept):
                return True
            if done == most_rounds:
                break
            self.centroids = means
            if done == 2 * kept_at:
                kept, kept_at = means, done
        return False

    def _coarseness(self) -> Generator[Round, NDArray[np.float64], float]:
        """See `ExactSums.coarseness`; where the sums do not tell, it is asked how great products are."""
        found = 0.0 if self.points == 0 else self._sums.coarseness()
        if found > _FINE:
            if not self._by_cluster:
                yield from self._ask_sizes()
            found = self._sums.coarseness(self._sizes)
        return found

    def _ask_sizes(self) -> Generator[Round, NDArray[np.float64], ExactSums]:
        """Ask how great products and weights of each cluster are; returns no sums yet, of units that are fine for them."""
        clusters = len(self.centroids)
        answer = yield Round(f"{self._of}sizes", (float(clusters),))
        greatest, self._sizes = answer[:-clusters].reshape(2, clusters, -1)
        return ExactSums(clusters, greatest, answer[-clusters:])

    def approach(self, most_rounds: int, *, little: float = LITTLE, wanted: float = -np.inf) -> Asking:
        """Likewise until a pass explains but a little share more, or until it is not to be expected that `wanted` will be explained (`explained`).

        For that each pass would have to bring `HOPE` times what the last one brought.
        """
        before = np.inf
        for left in range(most_rounds - 1, -1, -1):
            means = yield from self._assign()
            gain, before = self.explained - before, self.explained
            is_in_vain = gain >= 0.0 and wanted - before > HOPE * gain * left
            if self.is_settled or left == 0 or is_in_vain or 0.0 <= gain < little * before:
                return
            self.centroids = means

    @property
    def explained(self) -> float:
        """See `ExactSums.explained`: what the inertia is less by where centroids are the means of their points."""
        return self._sums.explained

    def _assign(self) -> Generator[Round, NDArray[np.float64], NDArray[np.float64]]:
        """Assign points; returns the means."""
        sums = self._sums_of_all
        numbers = (float(not self._is_counted), float(sums.fine[0]))
        answer = yield Round(f"{self._of}assign", numbers, (self.centroids, sums.units))
        sums.add(answer[:-1])
        self._is_counted = True
        self.rounds += 1
        if self._by_cluster and self.points:
            sums = yield from self._ask_sizes()
            answer = yield Round(f"{self._of}sums", arrays=(self.centroids, sums.fine.ravel(), sums.units))
            sums.add(answer)
        self._sums = sums
        means = sums.means(self.centroids)
        is_empty = sums.weights <= 0.0
        if is_empty.any() and self.points:
            yield from self._fill(means, np.flatnonzero(is_empty))
        self.moved = float(np.sqrt(((means - self.centroids) ** 2).sum(1).max(initial=0.0)))
        self.is_settled = np.array_equal(means, self.centroids)
        return means

    def weigh(self) -> Asking:
        """Ask for the inertia of each cluster."""
        self.inertia = yield Round(f"{self._of}inertia", arrays=(self.centroids,))

    def with_centroid(self, cluster: int, point: NDArray[np.float64]) -> Partition:
        """Return another one, in which the centroid of a cluster is elsewhere; this one stays as it is."""
        other = Partition(self.centroids, of=self._of, by_cluster=self._by_cluster)
        other.centroids[cluster] = point
        other.rounds, other.points, other._is_counted = self.rounds, self.points, self._is_counted
        other._sums = other._sums_of_all = self._sums_of_all.copy()
        return other

    def finished(self) -> Finished:
        """What was found, see `lloyd`."""
        findings = {
            "inertia": float(self.inertia.sum()),
            "moved": self.moved,
            "rounds": float(self.rounds),
            "points": float(self.points),
        }
        parameters = {"centroids": self.centroids, "sizes": self._sums.weights}
        # Squares of features beyond 1e150 are none: nothing is known of which centroid is the nearest.
        is_known = self._is_fine and bool(np.isfinite(self.inertia).all())
        return Finished(parameters, findings, self.is_settled and is_known)

    def _fill(self, means: NDArray[np.float64], empty: NDArray[np.intp]) -> Asking:
        """Put clusters without weight to the points that are farthest from their centroids."""
        count = min(len(empty), _MOST_FILLED)
        answer = yield Round(f"{self._of}farthest", (float(count),), (self.centroids,))
        found = answer.reshape(SHARDS, count, -1)
        shards, places = np.nonzero(found[:, :, 0] > 0.0)
        squares, upper, lower, rows = found[shards, places].T
        order = np.lexsort((lower, upper, -squares))[:count]
        if not len(order):
            return
        named = np.column_stack([shards[order], rows[order]]).ravel()
        answer = yield Round(f"{self._of}fetch", tuple(named.tolist()))
        points = answer.reshape(len(order), -1) + 0.0
        elsewhere = {point.tobytes(): point for point in points if self._is_away(point)}
        for cluster, point in zip(empty, elsewhere.values(), strict=False):
            means[cluster] = point

    def _is_away(self, point: NDArray[np.float64]) -> bool:
        """Whether a point is farther from all centroids than roundings."""
        nearest = ((self.centroids - point) ** 2).sum(1).min()
        return bool(nearest > _ROUNDING**2 * (point**2).sum())
