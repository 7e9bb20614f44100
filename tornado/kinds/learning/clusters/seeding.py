"""Where centroids begin: k-means++ (Arthur and Vassilvitskii, 2007), greedy, by draws from a seed.

The rule: the first centroid is a point drawn by weight. For each further one 2 + log k points are drawn by weight times squared distance to
the nearest centroid so far, and of them the one is taken that leaves the least sum of these; the first of several such. Where no point is
away from a centroid, the further ones are where the first is.

Draws are Philox's by (seed, place), of shards and of points in the order in which they came: on any number of workers the same.
"""

from __future__ import annotations

from collections.abc import Generator

import numpy as np
from numpy.typing import NDArray

from ....points import SHARDS
from ..rounds import Finished, Method, Round

Drawing = Generator[Round, NDArray[np.float64], NDArray[np.float64]]

_KEEP, _APPROACH, _BEGIN = 0.0, 1.0, 2.0  # before a draw: what is done about distances


def plus_plus(clusters: int, width: int, *, seed: int) -> Method:
    """Find where to begin.

    Parameters
    ----------
    clusters
        k.
    width
        d.
    seed
        Not negative.

    Returns
    -------
    Finished
        Parameters: ``centroids`` float64[k, d]; zeros where there are no points of weight.
    """
    return Finished({"centroids": (yield from seeds(clusters, width, seed=seed))})


def seeds(clusters: int, width: int, *, seed: int, of: str = "", first: int = 0) -> Drawing:
    """Ask as `plus_plus` does; returns the centroids, float64[k, d]. `of` comes before each task; draws are those from `first` on."""
    centroids = np.zeros((clusters, width))
    masses = yield Round(f"{of}masses")
    if not masses.sum() > 0.0:
        return centroids
    trials = 2 + int(np.log(clusters))
    chosen = yield from draw(masses, uniforms(seed, first, 1), width, of=of)
    centroids[:] = chosen
    answer, before = (yield Round(f"{of}trial", (1.0,), (chosen,))), _BEGIN
    for place in range(1, clusters):
        totals = answer.reshape(-1, SHARDS)
        best = int(totals.sum(1).argmin())
        chosen = chosen[best : best + 1]
        centroids[place - 1] = chosen
        masses = totals[best]
        if not masses.sum() > 0.0:
            break
        chosen = yield from draw(
            masses, uniforms(seed, first + place, trials), width, before=before, nearer=chosen, of=of
        )
        answer, before = (yield Round(f"{of}trial", (0.0,), (chosen,))), _APPROACH
    else:
        best = int(answer.reshape(-1, SHARDS).sum(1).argmin())
        centroids[-1] = chosen[best]
    return centroids


def uniforms(seed: int, place: int, count: int) -> NDArray[np.float64]:
    """Return numbers of [0, 1) that depend on nothing but (seed, place)."""
    return np.random.Generator(np.random.Philox(key=seed, counter=[0, 0, place, 0])).random(count)


def draw(
    masses: NDArray[np.float64],
    numbers: NDArray[np.float64],
    width: int,
    *,
    of: str = "",
    before: float = _KEEP,
    nearer: NDArray[np.float64] | None = None,
) -> Drawing:
    """Draw points by their weight times what they are away from centroids.

    Parameters
    ----------
    masses : float64[SHARDS]
        The sum of these of each shard, after what is to be done before.
    numbers : float64[n]
        Of [0, 1).
    of
        Comes before the task.
    before, nearer
        To note first that there is another centroid, float64[1, d].

    Returns
    -------
    float64[n, d]
    """
    ends = np.cumsum(masses)
    targets = numbers * ends[-1]
    has_mass = np.flatnonzero(masses > 0.0)
    shards = np.minimum(np.searchsorted(ends, targets, side="right"), has_mass[-1])
    starts = ends - masses
    inside = np.minimum(np.maximum(targets - starts[shards], 0.0), np.nextafter(masses[shards], 0.0))
    named = np.column_stack([shards, inside]).ravel()
    arrays = () if nearer is None else (nearer,)
    answer = yield Round(f"{of}draw", (before, *named.tolist()), arrays)
    return answer.reshape(len(numbers), width)
