"""k-means as a user starts it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ....certificate import NONE, Certificate
from ....checking.learners import ClusterCheck
from ....errors import InvalidArgument
from ....loops.answer_tables import AnswerTable, Column, feature_column
from ....points import EvolvingPoints
from ....records.point_batch import DensePointBatch, PointBatch, SparsePointBatch
from ....value_types import INT64, Ids, ValueArray
from ..program import DataShards, LearningProgram, Parameters
from ..rounds import Finished, Method, Round, Stopped
from ..shard_reading import ShardsAt
from .basins import k_means
from .cluster_block import ANEW, UNSEARCHED, ClusterBlock, ClusterShards, are_known
from .cluster_steps import SparseFeatures, assign_batch
from .cluster_warming import warm_clusters
from .cluster_work import ClusterWork
from .kept_bounds import KeptBounds

_MOST_CLUSTERS = 1 << 16
_OF_DRAWS = 1 << 63


@dataclass(frozen=True, kw_only=True)
class KMeans(LearningProgram):
    """Clusters of the points of a stream: values are the cluster of each point, from 0.

    A branch goes on with Lloyd's iterations until no assignment changes, and leaves a bad basin by the rule of `basins`; so its
    certificate says where it stays, never that this is the best there is. Begun from nothing it draws seeds as k-means++ does. Of
    centroids equally far the least has the point; a cluster without points gets the point that is farthest from its centroid.

    Attributes
    ----------
    clusters
        k. Where there are fewer different points, some clusters have none.
    seed
        Of all draws.
    batch
        How many points are looked at again in a step of the main loop, on all workers.
    """

    worst: ClassVar[tuple[int, int]] = (-1, 0)
    values_of_points: ClassVar[bool] = True
    values_are_of: ClassVar[Literal["vertex", "feature", "point"]] = "point"
    tells: ClassVar[frozenset[str]] = frozenset({"centroids"})
    fixed_parameters: ClassVar[frozenset[str]] = frozenset({"points"})

    clusters: int = 8
    seed: int = 0
    batch: int = 2048

    def check_parameters(self) -> None:
        """See `VertexProgram`."""
        super().check_parameters()
        if not 1 <= self.clusters <= _MOST_CLUSTERS:
            raise InvalidArgument(f"clusters is {self.clusters}, but there are 1 to {_MOST_CLUSTERS}")
        if not 0 <= self.seed < _OF_DRAWS:
            raise InvalidArgument(f"seed is {self.seed}, but it is 0 or more")
        if self.batch < 1:
            raise InvalidArgument(f"batch is {self.batch}, but it is 1 or more")

    # The main loop

    def begin(self) -> Parameters:
        """See `LearningProgram`: there are no centroids before there are points."""
        return {"centroids": np.empty((0, self.declared.features)), ANEW: np.zeros(1, np.int64)}

    def parameter_block(self, workers: int) -> ClusterBlock:
        """See `LearningProgram`."""
        del workers
        return ClusterBlock(self.begin(), clusters=self.clusters, seed=self.seed)

    def data_shards(self, points: EvolvingPoints, workers: int) -> ClusterShards:
        """See `LearningProgram`."""
        return ClusterShards(
            points, clusters=self.clusters, batch=max(1, self.batch // workers), seed=self.seed
        )

    def warm(self) -> None:
        """See `LearningProgram`."""
        warm_clusters(self.declared.value_type.name, sparse=self.declared.sparse)

    # Branches

    def branch_parameters(self, parameters: Parameters) -> Parameters:
        """See `LearningProgram`: Lloyd's method has centroids alone, however often mini-batches have begun to count points for them."""
        return {name: parameters[name] for name in ("centroids", UNSEARCHED) if name in parameters}

    def method(self, parameters: Parameters, workers: int) -> Method:
        """See `LearningProgram`."""
        del workers
        centroids, width = parameters["centroids"], self.declared.features
        begin = centroids if len(centroids) == self.clusters and are_known(centroids) else None
        try:
            unsearched = float(parameters[UNSEARCHED][0]) if UNSEARCHED in parameters else math.inf
            return (
                yield from k_means(
                    self.clusters, width, seed=self.seed, centroids=begin, unsearched=unsearched
                )
            )
        except Stopped:
            return Finished(parameters, is_converged=False)  # points are where the last pass has put them

    def work(self, points: EvolvingPoints, version: int, shards: DataShards) -> BranchWork:
        """See `LearningProgram`."""
        assert isinstance(shards, ClusterShards)
        return BranchWork(ShardsAt(points, version), shards.bounds)

    def certificate(self, findings: Mapping[str, float], *, is_converged: bool) -> Certificate:
        """See `LearningProgram`."""
        return {"kind": "stationary", "inertia": findings["inertia"]} if is_converged else NONE

    # What answers can be read as

    @property
    def tables(self) -> tuple[AnswerTable, ...]:
        """See `VertexProgram`."""
        _, kind = feature_column(0, self.declared.names)
        return (
            AnswerTable("centroids", (("cluster", "int64"), ("feature", kind), ("value", "float64"))),
            AnswerTable("assignments", (("id", "id"), ("cluster", "int64"))),
        )

    def point_checker(self) -> ClusterCheck:
        """See `VertexProgram`."""
        return ClusterCheck()

    def rows_of(
        self, table: str, found: Parameters, values: Callable[[], tuple[Column, Column]]
    ) -> tuple[Column, ...]:
        """See `VertexProgram`."""
        if table == "assignments":
            return values()
        if table != "centroids":
            return super().rows_of(table, found, values)
        centroids, (features, _) = (
            self._centroids_of(found),
            feature_column(self.declared.features, self.declared.names),
        )
        count = len(centroids)
        return np.repeat(np.arange(count), self.declared.features), [*features] * count, centroids.ravel()

    def _centroids_of(self, found: Parameters) -> NDArray[np.float64]:
        """Those that were found, float64[k, d]; none before there are points."""
        return found.get("centroids", np.empty((0, self.declared.features)))

    def predictions(
        self, found: Parameters, points: PointBatch
    ) -> dict[str, NDArray[np.float64] | NDArray[np.int64]]:
        """See `VertexProgram`: the cluster of the nearest centroid, the least of several, and how far that is."""
        centroids = self._centroids_of(found)
        if not len(centroids):
            raise InvalidArgument(
                f"there are no centroids yet: {self.clusters} clusters begin with as many different points",
                hint="Ask again when more points have come.",
            )
        clusters, distances = assign_batch(_features_of(points), centroids)
        return {"cluster": clusters, "distance": distances}


class BranchWork:
    """What a worker does for k-means; nothing is read before the first round."""

    def __init__(self, shards: ShardsAt, bounds: KeptBounds) -> None:
        self._shards = shards
        self._kept = bounds
        self._work: ClusterWork | None = None

    @property
    def bounds(self) -> KeptBounds:
        """Those that later branches may begin with."""
        return self._kept if self._work is None else self._work.bounds

    def width(self, asked: Round) -> int:
        """See `ShardWork`."""
        if self._work is None:
            self._work = ClusterWork(self._shards.values(), self._kept.copy())
        return self._work.width(asked)

    def add(self, asked: Round, shard: int, total: NDArray[np.float64]) -> None:
        """See `ShardWork`."""
        assert self._work is not None
        self._work.add(asked, shard, total)

    def point_values(self) -> tuple[Ids, ValueArray]:
        """The cluster of each point that was assigned."""
        if self._work is None:
            return np.empty(0, np.int64), np.empty(0, INT64)
        return self._work.assigned()


def _features_of(batch: PointBatch) -> NDArray[np.floating] | SparseFeatures:
    if isinstance(batch, DensePointBatch):
        return batch.features
    assert isinstance(batch, SparsePointBatch)
    return batch.starts, batch.indices, batch.values
