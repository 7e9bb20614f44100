"""What a user writes that learns from points: a method for branches, and a cheaper one for the main loop.

The paper's words (Tornado, SIGMOD 2016, sections 2 and 6): parameters are blocks, points are shards. A data shard that hears parameters
says what its points make of them; a parameter block that hears shards takes a step, and says its new parameters. So it goes round
until the block has settled. A branch begins with the parameters of the main loop, at its own version of the points.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ...certificate import Certificate
from ...errors import InvalidArgument
from ...loops.vertex_program import VertexProgram
from ...points import EvolvingPoints, PointDeltas
from ...records.point_schema import Points
from ...value_types import Ids, ValueArray
from .rounds import Method, ShardWork

Parameters = Mapping[str, NDArray[Any]]
"""By name, and shared by all who read them: never written."""


class ParameterBlock(Protocol):
    """What learns in a main loop, of the sums that data shards say.

    Attributes
    ----------
    parameters
        As they are now: other arrays after each step.
    is_settled
        Whether more steps on the same points would hardly change them.
    """

    @property
    def parameters(self) -> Parameters:
        """See the class."""
        ...

    @property
    def is_settled(self) -> bool:
        """See the class."""
        ...

    def step(self, said: Sequence[NDArray[np.float64]]) -> None:
        """Take a step on what shards have said since the last one, in the order of their workers; one may be heard twice or not at all."""
        ...

    def take(self, parameters: Parameters) -> None:
        """Go on from what a branch has found, or from what is stored."""
        ...


@runtime_checkable
class RestorableBlock(Protocol):
    """A parameter block that rests when it has gone on from what is stored; another one `take`s that."""

    def restore(self, parameters: Parameters) -> None:
        """Go on from these parameters, which were those of the main loop and then what a branch has found, and be settled."""
        ...


class DataShards(Protocol):
    """The shards of one worker, in a main loop.

    Attributes
    ----------
    waiting
        How many points have come that no step has used yet.
    """

    @property
    def waiting(self) -> int:
        """See the class."""
        ...

    def hear(self, deltas: PointDeltas) -> None:
        """Note which points came and went; good until the next records are applied."""
        ...

    def say(self, parameters: Parameters, step: int) -> NDArray[np.float64]:
        """What some of the points make of parameters: new ones, and some drawn for this step."""
        ...

    def take(self, work: ShardWork) -> None:
        """Keep, for branches to come, what the work of one has found whose parameters are adopted."""
        ...


@runtime_checkable
class RestorableShards(Protocol):
    """Data shards that know something of each of their points, which are all there when a loop goes on from what is stored."""

    def restore(self, parameters: Parameters) -> None:
        """Know that again; `RestorableBlock.restore` has gone on from the same parameters."""
        ...


class HasPointValues(Protocol):
    """What knows a value of each point of a worker."""

    def point_values(self) -> tuple[Ids, ValueArray]:
        """The ids of points, and the value of each."""
        ...


@dataclass(frozen=True, kw_only=True)
class LearningProgram(VertexProgram):
    """A program that learns from the points of a stream: a frozen dataclass whose fields are its parameters.

    Attributes
    ----------
    needs_labels
        Whether it learns nothing from points without a label.
    values_of_points
        Whether values are of points: `DataShards` and `ShardWork` of the program are `HasPointValues` then.
    points
        What the points of its stream are declared to be. None: its stream says it (`Session.stream`, with a schema).
    """

    program_kind: ClassVar[str] = "learning"
    needs_labels: ClassVar[bool] = False
    values_of_points: ClassVar[bool] = False
    adopts_all: ClassVar[bool] = True
    fixed_parameters: ClassVar[frozenset[str]] = frozenset({"points"})

    points: Points | None = None

    def begin(self) -> Parameters:
        """The parameters of a main loop before any point has come."""
        raise NotImplementedError

    def parameter_block(self, workers: int) -> ParameterBlock:
        """What learns in a main loop, of so many workers; on one of them."""
        raise NotImplementedError

    def data_shards(self, points: EvolvingPoints, workers: int) -> DataShards:
        """The points of one of so many workers, as a main loop uses them."""
        raise NotImplementedError

    def method(self, parameters: Parameters, workers: int) -> Method:
        """How a branch on so many workers finds the answer, beginning with `branch_parameters` of a main loop, or of `begin`."""
        raise NotImplementedError

    def branch_parameters(self, parameters: Parameters) -> Parameters:
        """What a branch begins with where a main loop has come to these parameters, of which none are written: the same, unless a program says so.

        The method of a main loop may be a coarser one than that of branches (the paper's g and f, section 3.1), and its parameters others. With
        `main_parameters` this is the adapter between the two; what values are shown of is in the form of branches.
        """
        return parameters

    def main_parameters(self, parameters: Parameters) -> Parameters:
        """What a main loop goes on from (`ParameterBlock.take`) where a branch has found these parameters, of which none are written: the same."""
        return parameters

    def work(self, points: EvolvingPoints, version: int, shards: DataShards) -> ShardWork:
        """What a worker does for the method, with its points at a version that is leased, and with what its main loop keeps."""
        raise NotImplementedError

    def proof(self, work: ShardWork) -> Parameters:
        """What a checker of its answers is given of the work of a worker, when a branch that is to be checked is over; copies, by name.

        To the checker they come as ``NAME.WORKER``, of each worker. Nothing, unless a program says so.
        """
        del work
        return {}

    def certificate(self, findings: Mapping[str, float], *, is_converged: bool) -> Certificate:
        """What the values of a branch are worth that has found this."""
        raise NotImplementedError

    def values(self, parameters: Parameters) -> tuple[Ids, ValueArray]:
        """What is shown of parameters of a branch: ids and their values, in any order; where values are not those of points."""
        raise NotImplementedError

    def told(self, parameters: Parameters) -> Parameters:
        """Those of its parameters that it `tells`."""
        return {name: array for name, array in parameters.items() if name in self.tells}

    def warm(self) -> None:
        """Have everything compiled that its loops will call, before any worker has better things to do; nothing, unless a program says so."""

    # For loops

    @property
    def declared_points(self) -> Points | None:
        """See `VertexProgram`."""
        return self.points

    def reading(self, points: Points | None) -> Self:
        """See `VertexProgram`."""
        if self.points is not None and points is not None and self.points != points:
            raise InvalidArgument(
                f"{type(self).__name__} is for {self.points}, but its stream has {points}",
                hint="Leave `points` out: the stream says what its points are.",
            )
        declared = self.points if points is None else points
        if declared is None:
            raise InvalidArgument(
                f"{type(self).__name__} learns from points, but its stream does not say what these are",
                hint='Start it on a stream with a schema: session.stream("points", schema=tornado.Points(features=28)).',
            )
        return dataclasses.replace(self, points=declared)

    def parameters(self) -> dict[str, Any]:
        """See `VertexProgram`; what the points are is the stream's to say."""
        return {name: value for name, value in super().parameters().items() if name != "points"}

    @property
    def declared(self) -> Points:
        """What the points are, of a program that a loop runs."""
        assert self.points is not None
        return self.points
