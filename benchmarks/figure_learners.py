"""The two learners of the figures, a support vector machine and k-means, each with what is beside it and how its answers are judged.

A *live* loop learns as points come. A *cold* one has the points and gives its branches nothing to begin with: it is what a system
costs that computes each answer anew. In a *slowed* one a worker takes a while longer for each step.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tornado
from tornado.kinds.learning.clusters.cluster_program import BranchWork
from tornado.kinds.learning.clusters.kept_bounds import KeptBounds
from tornado.kinds.learning.linear.linear_block import LinearShards
from tornado.kinds.learning.linear.linear_program import ProgramWork
from tornado.kinds.learning.program import DataShards, Parameters
from tornado.kinds.learning.shard_reading import ShardsAt
from tornado.points import EvolvingPoints

from .harness import Clock
from .learning import require_optimal
from .learning_clusters import require_stationary
from .learning_data import Labelled, Sizes, dense, gathered
from .learning_rivals import Solved, solve, solvers_of, soonest

TOLERANCE = 1e-3
L2 = 1e-4
CLASSES = (-1.0, 1.0)


@dataclass(frozen=True, kw_only=True)
class ColdModel(tornado.LinearModel):
    """A linear model whose branches begin with nothing."""

    def branch_parameters(self, parameters: Parameters) -> Parameters:
        """See `LearningProgram`."""
        return self.begin() | {"classes": parameters["classes"]}

    def work(self, points: EvolvingPoints, version: int, shards: DataShards) -> ProgramWork:
        """See `LearningProgram`."""
        del shards
        return ProgramWork(self, ShardsAt(points, version), self.data_shards(points, 1))


@dataclass(frozen=True, kw_only=True)
class ColdClusters(tornado.KMeans):
    """k-means whose branches draw centroids anew."""

    def branch_parameters(self, parameters: Parameters) -> Parameters:
        """See `LearningProgram`."""
        return {"centroids": parameters["centroids"][:0]}

    def work(self, points: EvolvingPoints, version: int, shards: DataShards) -> BranchWork:
        """See `LearningProgram`."""
        del shards
        return BranchWork(ShardsAt(points, version), KeptBounds())


@dataclass(frozen=True, kw_only=True)
class SlowedModel(tornado.LinearModel):
    """A linear model of which one worker pauses before it says anything.

    Attributes
    ----------
    pause_s
        For how long: of each worker but the first one, which has the parameters.
    """

    pause_s: float = 0.0

    def data_shards(self, points: EvolvingPoints, workers: int) -> LinearShards:
        """See `LearningProgram`."""
        shards = super().data_shards(points, workers)
        if self.pause_s and 0 not in points.shards:
            shards.__class__ = _SlowedShards
            shards.pause_s = self.pause_s
        return shards


class _SlowedShards(LinearShards):
    pause_s = 0.0

    def say(self, parameters: Parameters, step: int) -> NDArray[np.float64]:
        time.sleep(self.pause_s)
        return super().say(parameters, step)


class Case(ABC):
    """A learner in figures.

    Attributes
    ----------
    name, rival
        In names of figures.
    points
        All that there are.
    """

    name: str
    rival: str
    points: Labelled

    @abstractmethod
    def live(self) -> Any:
        """Return the program that learns as points come."""

    @abstractmethod
    def cold(self) -> Any:
        """Return the program whose branches begin with nothing."""

    @abstractmethod
    def recompute(self, points: Labelled) -> float:
        """Return the seconds that the rival takes."""

    @abstractmethod
    def require_right(self, answer: Any, points: Labelled) -> None:
        """Raise a WrongAnswer where an answer is not what it says."""


class Machine(Case):
    """A linear support vector machine to a gap of a thousandth, without an intercept, as the rival would penalise it."""

    name = "SVM"
    rival = "LinearSVC"

    def __init__(self, sizes: Sizes, *, seed: int, clock: Clock) -> None:
        self.points = dense(sizes, seed=seed)
        some = self.points.part(0, len(self.points) // 2)
        self._solved = self._near_enough(some, clock)

    def live(self) -> tornado.LinearModel:
        """See `Case`."""
        return tornado.LinearModel(**self._how)

    def cold(self) -> ColdModel:
        """See `Case`."""
        return ColdModel(**self._how)

    def recompute(self, points: Labelled) -> float:
        """See `Case`: with the iterations that are enough for half of the points."""
        solved = solve(self._solved.solver, self._solved.iterations, points, l2=L2)
        return solved.seconds[0]

    def require_right(self, answer: Any, points: Labelled) -> None:
        """See `Case`."""
        require_optimal(self.name, answer, points, "hinge", L2, TOLERANCE)

    @property
    def _how(self) -> dict[str, Any]:
        return {"loss": "hinge", "l2": L2, "intercept": False, "tolerance": TOLERANCE, "classes": CLASSES}

    def _near_enough(self, points: Labelled, clock: Clock) -> Solved:
        from .learning_system import Learner

        with Learner(self.live(), points.features) as learner:
            learner.insert(0, points, clock)
            _, answer = learner.ask(clock)
        target = answer.certificate["primal"] / (1.0 - TOLERANCE)
        solvers = solvers_of("hinge", is_sparse=False)
        solved = soonest(solvers, points, loss="hinge", l2=L2, target=target, clock=clock, repeats=1)
        assert solved is not None
        return solved


class Clusters(Case):
    """k-means, to where no assignment changes."""

    name = "k-means"
    rival = "KMeans"

    def __init__(self, sizes: Sizes, clusters: int, *, seed: int) -> None:
        features = gathered(sizes, clusters, seed=seed)
        self.points = Labelled(features, np.zeros(len(features)))
        self._clusters = clusters

    def live(self) -> tornado.KMeans:
        """See `Case`."""
        return tornado.KMeans(clusters=self._clusters)

    def cold(self) -> ColdClusters:
        """See `Case`."""
        return ColdClusters(clusters=self._clusters)

    def recompute(self, points: Labelled) -> float:
        """See `Case`: by Lloyd's method from one start."""
        from sklearn.cluster import KMeans

        model = KMeans(self._clusters, n_init=1, random_state=0)
        start = time.perf_counter()
        model.fit(points.features)
        return time.perf_counter() - start

    def require_right(self, answer: Any, points: Labelled) -> None:
        """See `Case`."""
        require_stationary(answer, points.features)
