"""The simplest program that learns: the weighted mean of all features; in plain NumPy, a shard at a time."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tornado.certificate import EXACT, NONE
from tornado.kinds.learning.program import LearningProgram
from tornado.kinds.learning.rounds import Finished, Method, Round, Stopped
from tornado.points import EvolvingPoints

MOST_STEPS = 20


class MeanBlock:
    """Moves by a tenth of the way to what it hears, a number of times after points have come."""

    def __init__(self, features: int) -> None:
        self.parameters = {"mean": np.zeros(features)}
        self._left = MOST_STEPS

    @property
    def is_settled(self) -> bool:
        return self._left <= 0

    def step(self, said: Sequence[NDArray[np.float64]]) -> None:
        total = np.sum(said, axis=0)
        self._left = MOST_STEPS if total[-1] else self._left - 1
        if total[-2]:
            mean = self.parameters["mean"]
            self.take({"mean": mean + 0.1 * (total[:-2] / total[-2] - mean)})

    def take(self, parameters) -> None:
        mean = parameters["mean"]
        mean.flags.writeable = False
        self.parameters = {"mean": mean}


class MeanShards:
    """Says the sum and the weight of all points, and how many were new."""

    def __init__(self, points: EvolvingPoints) -> None:
        self.waiting = 0
        self._points = points

    def take(self, work) -> None:
        assert isinstance(work, MeanWork)

    def hear(self, deltas) -> None:
        self.waiting += len(deltas)

    def say(self, parameters, step):
        assert set(parameters) == {"mean"}
        assert step >= 1
        total = sum(
            (weighed(shard) for shard in self._points.read()),
            start=np.zeros(self._points.points.features + 1),
        )
        new, self.waiting = self.waiting, 0
        return np.append(total, new)


class MeanWork:
    """Answers with the sum and the weight of a shard at a version."""

    def __init__(self, points: EvolvingPoints, version: int) -> None:
        self._points, self._version = points, version

    def width(self, asked: Round) -> int:
        return self._points.points.features + 1

    def add(self, asked: Round, shard: int, total) -> None:
        assert asked.task == "sum"
        total += weighed(self._points.read_shard(shard, self._version))


def weighed(shard):
    rows = shard.rows
    weights = shard.weight[rows]
    return np.append(weights @ shard.features[rows], weights.sum())


@dataclass(frozen=True, kw_only=True)
class MeanOfFeatures(LearningProgram):
    """Asks `rounds` times for the same."""

    rounds: int = 3

    def begin(self):
        return {"mean": np.zeros(self.declared.features)}

    def parameter_block(self, workers):
        return MeanBlock(self.declared.features)

    def data_shards(self, points, workers):
        return MeanShards(points)

    def method(self, parameters, workers) -> Method:
        mean, done = parameters["mean"], 0
        try:
            while done < self.rounds:
                total = yield Round("sum")
                done += 1
                mean = total[:-1] / total[-1] if total[-1] else mean
        except Stopped:
            pass
        return Finished({"mean": mean}, {"rounds": float(done)}, is_converged=done == self.rounds)

    def work(self, points, version, shards):
        assert isinstance(shards, MeanShards)
        return MeanWork(points, version)

    def certificate(self, findings, *, is_converged):
        assert findings["rounds"] == self.rounds or not is_converged
        return EXACT if is_converged else NONE

    def values(self, parameters):
        mean = parameters["mean"]
        return np.arange(len(mean)), mean
