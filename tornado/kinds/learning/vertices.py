"""The vertices of a main loop that learns: a worker's data shards are one, the parameter block is another one on the first worker.

Each data vertex consumes the block, and the block consumes each of them (`edges_of`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from ...protocol.resumption import ResumableSession
from .program import DataShards, ParameterBlock
from .spoken import Spoken

_SUM = "sum"


def owner_of(vertex: int, workers: int) -> int:
    """The worker of a vertex: data vertices are numbered as their workers are, and the block comes behind them."""
    return vertex if vertex < workers else 0


def edges_of(workers: int) -> Iterator[tuple[int, int]]:
    """All edges, as (producer, consumer)."""
    for data in range(workers):
        yield workers, data
        yield data, workers


class LearningVertices:
    """Those of one worker, as the session's program.

    Parameters
    ----------
    shards
        The points of this worker.
    block
        Where it is on this worker.
    begin
        What the block says before it has heard anything.

    Attributes
    ----------
    heard
        What the data vertex knows of the block.
    """

    session: ResumableSession

    def __init__(
        self,
        *,
        title: str,
        worker: int,
        workers: int,
        shards: DataShards,
        block: ParameterBlock | None,
        begin: Spoken,
    ) -> None:
        self.heard = begin
        self._title = title
        self._data, self._block = worker, workers
        self._shards = shards
        self._parameters = block
        self._said = {self._data: 0, self._block: begin.number}
        self._numbers = dict.fromkeys(range(workers), 0)  # of what the block heard last, by producer
        self._unused: dict[int, list[Spoken]] = {}
        self._residual = 0.0

    @property
    def title(self) -> str:
        """What the program is called."""
        return self._title

    def touch(self, vertex: int, data: object) -> bool:
        """Points came or went, or the block goes on from what a branch has found: it commits."""
        del vertex, data
        return True

    def gather(
        self, vertex: int, producer: int, value: object, iteration: int, edges: Sequence[object]
    ) -> bool:
        """Hear what a producer says; return whether it is to be answered."""
        del iteration, edges
        if value is None:
            return False  # it has said nothing yet
        spoken = cast("Spoken", value)
        if vertex == self._data:
            if spoken.number > self.heard.number:
                self.heard = spoken
                return spoken.is_asking
            return False
        if spoken.number <= self._numbers[producer]:
            return False
        self._numbers[producer] = spoken.number
        self._unused.setdefault(producer, []).append(spoken)
        return True

    def drop(self, vertex: int, producer: int, data: object, edges: Sequence[object]) -> bool:
        """Never: edges stay."""
        del data, edges
        raise AssertionError(f"an edge from {producer} to {vertex} was dropped")

    def scatter(self, vertex: int) -> Spoken:
        """Commit: the block takes a step, shards say what their points make of its parameters."""
        self._said[vertex] += 1
        number = self._said[vertex]
        if vertex == self._data:
            said = self._shards.say(self.heard.arrays, number)
            said.flags.writeable = False
            return Spoken(number, is_asking=True, arrays={_SUM: said})
        block = self._parameters
        assert block is not None
        unused = [spoken.arrays[_SUM] for _, one in sorted(self._unused.items()) for spoken in one]
        self._unused.clear()
        if unused:
            block.step(unused)
        return Spoken(number, is_asking=not block.is_settled, arrays=block.parameters)

    def take_residual(self) -> float:
        """Nothing is counted."""
        return self._residual
