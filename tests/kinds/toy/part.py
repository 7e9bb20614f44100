"""What a main loop and a branch of the toy kind have in common on one worker: values, and what is said about them.

Edges live with their source. Each worker says to the owner of a target what its edges to that weigh together, and again when that
changes; so what is said twice does no harm. A vertex is worth the sum of what was said last by each worker.

Iteration n is the nth such sending of each worker. Timestamps mean nothing here: a token stays at the first one until there is nothing to say.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tornado.graph import PartitionMap
from tornado.loops.loop_operator import LoopOperator
from tornado.loops.part import PartStatistics
from tornado.loops.values import ColumnValues
from tornado.timely import Scope

_REMEMBERED = 256  # iterations


@dataclass(frozen=True, slots=True)
class Said:
    """What workers send each other; see `Payload`. It is not changed: who takes it in and a branch that keeps it share it.

    Attributes
    ----------
    sums
        By target, what the sender's edges to it weigh.
    """

    sender: int
    sums: Mapping[int, float] = field(default_factory=dict)
    iteration: int = 0
    marker: int = -1


class ToyPart:
    """See the module, and `PartView`. All of it belongs to the worker's thread, but for what other threads may ask.

    Attributes
    ----------
    values
        By vertex, of those that were ever named.
    heard
        What was said last, by target and sender.
    """

    def __init__(self, *, factor: float, worker: int, workers: int) -> None:
        self.factor = factor
        self.worker = worker
        self.workers = workers
        self.partition = PartitionMap.even(workers)
        self.operator: LoopOperator[Said] = LoopOperator(worker, workers)
        self.values: dict[int, float] = {}
        self.heard: dict[int, dict[int, float]] = {}
        self.iteration = 0
        self.updates = 0
        self.sent = 0
        self.received = 0
        self._sendings = 0
        self._history = np.zeros((_REMEMBERED, 4))
        self._history[:, 0] = -1

    def build(self, scope: Scope) -> None:
        """See `MainPart` and `BranchPart`."""
        self.operator.build(scope, self.step)

    def step(self) -> None:
        """One activation."""
        raise NotImplementedError

    # What anybody may ask, from any thread

    def progress(self) -> PartStatistics:
        """See `PartView`."""
        return PartStatistics(self.iteration, self.updates, 0)

    def held_values(self) -> ColumnValues:
        """See `PartView`."""
        seen = self.values.copy()  # one step for other threads
        return ColumnValues(
            np.fromiter(seen, np.int64, len(seen)), np.fromiter(seen.values(), np.float64, len(seen))
        )

    def history(self) -> NDArray[np.float64]:
        """See `PartView`."""
        return self._history.copy()

    # What is said

    def name(self, vertex: int) -> None:
        """Have a vertex be seen from now on."""
        self.values.setdefault(vertex, 0.0)

    def say(self, sums: Mapping[int, float]) -> None:
        """Tell the owners of targets what the edges from here to them weigh; one iteration."""
        self._sendings += 1
        to: list[dict[int, float]] = [{} for _ in range(self.workers)]
        for target, weight in sums.items():
            to[self.partition.owner_of(target)][target] = weight
        for worker, said in enumerate(to):
            if worker == self.worker:
                self.hear(Said(self.worker, said, self._sendings))
            elif said:
                self.operator.send(worker, Said(self.worker, said, self._sendings))
                self.sent += 1

    def take(self, said: Said, timestamp: int) -> None:
        """Take in what came from another worker."""
        del timestamp
        self.hear(said)
        self.received += 1

    def hear(self, said: Said) -> None:
        """Let own vertices be worth what they are now."""
        changes = []
        for target, weight in said.sums.items():
            by_sender = self.heard.setdefault(target, {})
            by_sender[said.sender] = weight
            before = self.values.get(target, 0.0)
            self.values[target] = self.factor * math.fsum(by_sender.values())
            changes.append(abs(self.values[target] - before))
        self.iteration = max(self.iteration, said.iteration)
        self.updates += len(changes)
        row = self._history[said.iteration % _REMEMBERED]
        if row[0] < said.iteration:
            row[:] = said.iteration, 0, 0, 0
        if row[0] == said.iteration:
            row[1] += len(changes)
            row[3] += math.fsum(changes)
