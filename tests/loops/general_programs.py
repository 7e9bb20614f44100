"""General programs that tests run, in a module that worker processes import quickly."""

import math
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np

from tornado import GeneralProgram


@dataclass(frozen=True)
class Paths(GeneralProgram):
    """Shortest paths that keep the last offer of each producer; `hops` ends the counting on cycles."""

    source: int
    hops: int = 40

    def init(self, vertex):
        return {"distance": self._own(vertex), "offers": {}}

    def _own(self, vertex):
        return (0.0, 0) if vertex.id == self.source else (math.inf, 0)

    def gather(self, vertex, producer, value, weights):
        state = vertex.state
        state["offers"].pop(producer, None)
        if weights and value is not None:
            distance, hops = value
            if hops < self.hops and distance < math.inf:
                state["offers"][producer] = (distance + min(weights), hops + 1)
        best = min([self._own(vertex), *state["offers"].values()])
        changed = best != state["distance"]
        state["distance"] = best
        return changed

    def scatter(self, vertex):
        vertex.emit(vertex.state["distance"])

    def value(self, state):
        return state["distance"][0]


@dataclass(frozen=True)
class Ranks(GeneralProgram):
    """PageRank without normalisation: (1 - d) + d times what the producers send, split over their targets."""

    damping: float = 0.7
    tolerance: float = 1e-9

    def init(self, vertex):
        return {"rank": 1 - self.damping, "sent": None}

    def gather(self, vertex, producer, value, weights):
        del producer, value, weights
        shares = (one.value * len(one.weights) for one in vertex.heard.values() if one.value is not None)
        vertex.state["rank"] = 1 - self.damping + self.damping * math.fsum(shares)
        return self._matters(vertex)

    def add_target(self, vertex, target, weight):
        return self._matters(vertex)

    def remove_target(self, vertex, target, weight):
        return self._matters(vertex)

    def _share(self, vertex):
        targets = sum(map(len, vertex.targets.values()))
        return vertex.state["rank"] / targets if targets else 0.0

    def _matters(self, vertex):
        sent = vertex.state["sent"]
        return sent is None or abs(self._share(vertex) - sent) > self.tolerance

    def scatter(self, vertex):
        vertex.state["sent"] = self._share(vertex)
        vertex.emit(vertex.state["sent"])

    def value(self, state):
        return state["rank"]


@dataclass(frozen=True)
class Labels(GeneralProgram):
    """Synchronous label propagation: so many rounds, each vertex takes the commonest label, the least of several."""

    rounds: int = 4
    delay_bounds = (1, 1)

    def init(self, vertex):
        return vertex.id

    def gather(self, vertex, producer, value, weights):
        del producer, value, weights
        if vertex.iteration > vertex.loop.first_iteration + self.rounds:
            return False
        votes = Counter()
        for one in vertex.heard.values():
            if one.value is not None:
                votes[one.value] += len(one.weights)
        if not votes:
            return False
        most = max(votes.values())
        label = min(label for label, count in votes.items() if count == most)
        changed = label != vertex.state
        vertex.state = label
        return changed

    def scatter(self, vertex):
        vertex.emit(vertex.state)


@dataclass(frozen=True)
class Parcels(GeneralProgram):
    """Every vertex sends each target a value of its own, and sums what it is sent."""

    def init(self, vertex):
        return {"sum": 0.0, "parcels": {}}

    def gather(self, vertex, producer, value, weights):
        vertex.state["parcels"].pop(producer, None)
        if value is not None:
            vertex.state["parcels"][producer] = value * sum(weights)
        vertex.state["sum"] = math.fsum(vertex.state["parcels"].values())
        return True

    def add_target(self, vertex, target, weight):
        return True

    def scatter(self, vertex):
        for target in vertex.targets:
            if target % 3 == 0:
                vertex.emit_to(target, float(vertex.id * target))

    def value(self, state):
        return state["sum"]


@dataclass(frozen=True)
class Carried(GeneralProgram):
    """Every vertex says a value of a kind, and keeps what it hears: its value is how many said exactly the right thing."""

    kind: str = "list"

    def init(self, vertex):
        return 0.0

    def gather(self, vertex, producer, value, weights):
        heard = [one.value for one in vertex.heard.values() if one.value is not None]
        vertex.state = float(sum(map(partial(same, VALUES[self.kind]), heard)))
        return False

    def scatter(self, vertex):
        vertex.emit(VALUES[self.kind])


class Pair(NamedTuple):
    """A tuple of another type."""

    left: int
    right: int


VALUES = {
    "list": [1, [2.5, None, True], (3, "ü"), b"bytes"],
    "dict": {1: "one", "two": [2], (3, 4): {"five": math.inf}, None: ()},
    "wide": [1 << 70, -(1 << 90), 1 << 63, -(1 << 63)],
    "vector": np.array([1.5, math.inf, -0.0]),
    "matrix": np.arange(6, dtype=np.float32).reshape(2, 3).T,
    "nothing": np.zeros((0, 3), np.int16),
    "scalars": [np.float32(0.1), np.uint64(1 << 63), np.bool_(True), {np.int8(1): 1.0}],
    "set": {1, 2},
    "pair": (1, [Pair(1, 2)]),
    "objects": np.array([None, "x"]),
    "dates": np.array(["2020-01-01"], "datetime64[D]"),
}


def same(value, other):
    """Whether both are the same, to the type and the sign of zero."""
    if type(value) is not type(other):
        return False
    if isinstance(value, list | tuple):
        return len(value) == len(other) and all(map(same, value, other))
    if isinstance(value, dict):
        return same(list(value.items()), list(other.items()))
    if isinstance(value, np.ndarray | np.generic):
        return (value.dtype, value.shape, value.tobytes()) == (other.dtype, other.shape, other.tobytes())
    return value == other


class Shop:
    """Where a class can be, too."""

    @dataclass(frozen=True)
    class Counter(Parcels):
        """Of a class inside of a class, with parameters of all kinds."""

        tags: tuple = ()
        limits: dict = field(default_factory=dict)
        doubled: list = field(default_factory=list, init=False)

        def value(self, state):
            return float(len(self.tags) + sum(self.limits.get("list", [])))


@dataclass(frozen=True)
class Once(GeneralProgram):
    """Says something at its first commit and nothing at later ones, and counts how often it is told something."""

    def init(self, vertex):
        return {"said": False, "told": 0}

    def gather(self, vertex, producer, value, weights):
        vertex.state["told"] += 1
        return False

    def add_target(self, vertex, target, weight):
        return True

    def scatter(self, vertex):
        if not vertex.state["said"]:
            vertex.emit([vertex.id])
            vertex.state["said"] = True

    def value(self, state):
        return float(state["told"])


@dataclass(frozen=True)
class Restless(GeneralProgram):
    """On a cycle, without rest, it never comes to an end."""

    rests: bool = True

    def init(self, vertex):
        return 0.0

    def gather(self, vertex, producer, value, weights):
        return not self.rests

    def scatter(self, vertex):
        vertex.emit(vertex.iteration)


@dataclass(frozen=True)
class Broken(Once):
    """Divides by zero."""

    def gather(self, vertex, producer, value, weights):
        return weights[0] / 0 > 1


@dataclass(frozen=True)
class LeastId(GeneralProgram):
    """The least id that a path leads from, as a whole number of 64 bits; or half of it, which is none."""

    is_whole: bool = True
    worst = (2**63 - 1, 0)

    def init(self, vertex):
        return vertex.id

    def gather(self, vertex, producer, value, weights):
        del producer, value, weights
        before = vertex.state
        vertex.state = min(
            [vertex.id, *(one.value for one in vertex.heard.values() if one.value is not None)]
        )
        return vertex.state != before

    def scatter(self, vertex):
        vertex.emit(vertex.state)

    def value(self, state):
        return state if self.is_whole else state / 2
