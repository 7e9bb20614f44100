"""The mean and the covariance of points, a learner in plain NumPy to copy: `tornado run ellipse.py:Ellipse --points points.csv`.

The main loop keeps the variance of each feature alone, in a few operations a number as points come and go; a branch goes over all points
for the whole covariance. `branch_parameters` and `main_parameters` are between the two.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tornado import LearningProgram
from tornado.learning import (
    DataShards,
    DenseShardPoints,
    EvolvingPoints,
    Finished,
    Method,
    Parameters,
    PointDeltas,
    Round,
    ShardPoints,
    ShardWork,
    Stopped,
)

Vector = NDArray[np.float64]


class Moments:
    """On one worker of the main loop: learns of the sums that data shards say."""

    def __init__(self, begin: Parameters, workers: int) -> None:
        self.parameters = begin
        self._workers = workers
        self._latest: dict[float, Vector] = {}

    @property
    def is_settled(self) -> bool:
        """Each worker was heard, and says by itself when points come or go: nobody need be asked again."""
        return len(self._latest) == self._workers

    def step(self, said: Sequence[Vector]) -> None:
        """A sum may be heard twice, or be left out where a later one is heard: so each is whole, and says whose it is."""
        for one in said:
            self._latest[float(one[0])] = one[1:]
        total = np.sum(list(self._latest.values()), axis=0)
        weight, sums, squares = total[0], *np.split(total[1:], 2)
        if weight > 0.0:
            mean = sums / weight
            self._set({"mean": mean, "variances": squares / weight - mean * mean})

    def take(self, parameters: Parameters) -> None:
        """What a branch has found is of points of some time ago, so it is of use only where shards have said nothing yet: after a restart."""
        if not self._latest:
            self._set(parameters)

    def _set(self, parameters: Parameters) -> None:
        """Parameters are other arrays each time, which nobody writes: they are read by all."""
        for array in parameters.values():
            array.flags.writeable = False
        self.parameters = parameters


class Sums:
    """On every worker of the main loop: what its points come to."""

    def __init__(self, points: EvolvingPoints) -> None:
        self.waiting = 0  # points that came and were not said yet: new ones wait where there are many
        self._points = points
        self._total = np.zeros(1 + 2 * points.points.features)

    def hear(self, deltas: PointDeltas) -> None:
        """Points came (sign 1) and went (-1)."""
        for shard in np.unique(deltas.shard).tolist():
            here = deltas.shard == shard
            self._add(self._points.view_shard(shard), deltas.row[here], deltas.sign[here])
        self.waiting += int(np.count_nonzero(deltas.sign > 0))

    def restore(self, parameters: Parameters) -> None:
        """After a restart: all points that were stored are there, and none was heard of."""
        self._total[:] = 0.0
        for points in self._points.read():
            self._add(points, points.rows, np.ones(len(points), np.int8))

    def _add(self, points: ShardPoints, row: NDArray[np.int32], sign: NDArray[np.int8]) -> None:
        assert isinstance(points, DenseShardPoints)
        weights, features = sign * points.weight[row], points.features[row].astype(np.float64)
        self._total += np.concatenate([[weights.sum()], weights @ features, weights @ features**2])

    def say(self, parameters: Parameters, step: int) -> Vector:
        """What the points make of parameters, in a step; here they do not depend on them."""
        self.waiting = 0
        return np.append(float(min(self._points.shards)), self._total)

    def take(self, work: ShardWork) -> None:
        """A branch whose answer is adopted has found nothing for shards that the next could begin with."""


class Products:
    """On every worker of a branch: how a shard answers a round. Sums over shards have the same bits on any number of workers."""

    def __init__(self, points: EvolvingPoints, version: int) -> None:
        self._points, self._version = points, version

    def width(self, asked: Round) -> int:
        """How many numbers an answer has."""
        features = self._points.points.features
        return 1 + features if asked.task == "mean" else features * features

    def add(self, asked: Round, shard: int, total: Vector) -> None:
        """Add the answer of a shard."""
        points = self._points.read_shard(shard, self._version)
        assert isinstance(points, DenseShardPoints)
        weights, features = points.weight[points.rows], points.features[points.rows].astype(np.float64)
        if asked.task == "mean":
            total += np.append(weights.sum(), weights @ features)
        else:
            apart = features - asked.arrays[0]
            total += ((apart.T * weights) @ apart).ravel()


@dataclass(frozen=True, kw_only=True)
class Ellipse(LearningProgram):
    """Values are the means by the number of the feature, and behind them the covariances, row by row.

    Parameters
    ----------
    ridge
        Added to each variance, so that the matrix has an inverse.
    """

    ridge: float = field(default=0.0)

    def begin(self) -> Parameters:
        """Before there are points."""
        features = self.declared.features
        return {"mean": np.zeros(features), "variances": np.zeros(features)}

    def parameter_block(self, workers: int) -> Moments:
        """The one of the main loop."""
        return Moments(self.begin(), workers)

    def data_shards(self, points: EvolvingPoints, workers: int) -> Sums:
        """Those of a worker of the main loop."""
        return Sums(points)

    def branch_parameters(self, parameters: Parameters) -> Parameters:
        """Features that vary each for itself."""
        return {"mean": parameters["mean"], "covariance": np.diag(parameters["variances"] + self.ridge)}

    def main_parameters(self, parameters: Parameters) -> Parameters:
        """And back."""
        variances = np.diagonal(parameters["covariance"]) - self.ridge
        return {"mean": parameters["mean"].copy(), "variances": variances}

    def method(self, parameters: Parameters, workers: int) -> Method:
        """Two rounds; stopped before, it has what the main loop had."""
        try:
            weight, *sums = (yield Round("mean")).tolist()
            if not weight > 0.0:
                return Finished(self.branch_parameters(self.begin()), {"weight": weight})
            mean = np.array(sums) / weight
            mean.flags.writeable = False
            products = yield Round("products", arrays=(mean,))
        except Stopped:
            return Finished(parameters, is_converged=False)
        size = len(mean)
        covariance = products.reshape(size, size) / weight + self.ridge * np.eye(size)
        return Finished({"mean": mean, "covariance": covariance}, {"weight": weight})

    def work(self, points: EvolvingPoints, version: int, shards: DataShards) -> Products:
        """That of a worker of a branch, at its version of the points."""
        return Products(points, version)

    def certificate(self, findings: Mapping[str, float], *, is_converged: bool) -> dict[str, Any]:
        """`exact` where it is that, but for roundings; `none` where nothing is known."""
        return {"kind": "exact"} if is_converged else {"kind": "none"}

    def values(self, parameters: Parameters) -> tuple[NDArray[np.int64], Vector]:
        """Numbers by ids, of the parameters of a branch."""
        values = np.concatenate([parameters["mean"], parameters["covariance"].ravel()])
        return np.arange(len(values)), values
