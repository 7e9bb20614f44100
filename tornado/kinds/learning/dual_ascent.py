"""Stochastic dual coordinate ascent (Hsieh et al. 2008; Shalev-Shwartz and Zhang 2013), without an intercept and without l1.

Each point has a dual variable t, which begins at 0. `sum` = sum a_i t_i x_i is kept undivided, so points may come and go: w is it
divided by l2 and the sum of weights. A pass is determined by (seed, shard, pass), by SplitMix64 as a counter-based generator.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from .losses import Loss
from .shard import Shard, add, dot, square

BLOCK_ROWS = 64
_LARGE_BYTES = 16 << 20  # beyond the cache neighbours are visited together: many times faster


@njit
def random_word(seed: int, shard: int, number: int, place: int) -> int:
    """Return 64 random bits for a counter."""
    word = np.uint64(seed)
    for part in (shard, number, place):
        word = (word ^ np.uint64(part)) + np.uint64(0x9E3779B97F4A7C15)
        word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        word = word ^ (word >> np.uint64(31))
    return word


@njit(nogil=True)
def _ascend(features, labels, weights, rows, duals, total, factor, ascend, block, seed, shard, number):  # type: ignore[no-untyped-def]
    blocks = (len(rows) + block - 1) // block
    order = np.arange(blocks)
    for place in range(blocks - 1, 0, -1):
        other = np.int64(random_word(seed, shard, number, place) % np.uint64(place + 1))
        order[place], order[other] = order[other], order[place]
    for chosen in order:
        for place in range(chosen * block, min(len(rows), (chosen + 1) * block)):
            row = rows[place]
            curvature = factor * weights[row] * square(features, row)
            if curvature > 0.0:
                old = duals[row]
                new = ascend(old, factor * dot(features, row, total), curvature, labels[row])
                if new != old:
                    duals[row] = new
                    add(features, row, weights[row] * (new - old), total)


@njit(nogil=True)
def _subtract(features, weights, rows, duals, total):  # type: ignore[no-untyped-def]
    for row in rows:
        if duals[row] != 0.0:
            add(features, row, -weights[row] * duals[row], total)
            duals[row] = 0.0


class DualAscent:
    """Duals of some shards and their sum; `visit` is a step, between two of which anything may happen.

    Parameters
    ----------
    columns
        d.
    l2
        Above 0.
    duals
        float64 [n] of each shard; written. `total` is sum a_i t_i x_i of them, 0 where not given.
    """

    def __init__(
        self,
        loss: Loss,
        columns: int,
        l2: float,
        duals: list[NDArray[np.float64]],
        *,
        seed: int = 0,
        total: NDArray[np.float64] | None = None,
    ) -> None:
        self.loss, self.l2, self.seed, self.duals = loss, l2, seed, duals
        self.total = np.zeros(columns) if total is None else total.copy()
        self.mean_total, self._means = self.total.copy(), 0

    def visit(
        self,
        shard: Shard,
        place: int,
        number: int,
        weight: float,
        *,
        rows: NDArray[np.int64] | None = None,
    ) -> None:
        """Visit the live rows of a shard once, or only these (such as new ones), in pass `number`; `weight` is W of all shards."""
        visited = shard.live if rows is None else rows
        features = shard.features
        values: Any = features if isinstance(features, np.ndarray) else features[2]
        block = BLOCK_ROWS if values.nbytes > _LARGE_BYTES else 1
        columns = features, shard.labels, shard.weights, visited, self.duals[place], self.total
        factor = 1.0 / (self.l2 * weight)
        _ascend(*columns, factor, self.loss.ascend, block, self.seed, place, number)

    def remove(self, shard: Shard, place: int, rows: NDArray[np.int64]) -> None:
        """Take away what removed rows are in the sum."""
        _subtract(shard.features, shard.weights, rows, self.duals[place], self.total)

    def end_pass(self) -> None:
        """Take the last iterate into the mean, which for the hinge is much nearer in the primal."""
        self._means += 1
        self.mean_total += (self.total - self.mean_total) / self._means

    def vector(self, weight: float, *, mean: bool = False) -> NDArray[np.float64]:
        """Return w, of the last iterate or of the mean."""
        return (self.mean_total if mean else self.total) / (self.l2 * weight)
