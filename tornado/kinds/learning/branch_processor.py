"""A branch of a program that learns, on one worker: the first one asks rounds, all answer for their shards at a version of the points.

Between two rounds every worker waits for the coordinator, so nothing depends on who is faster, and the sums not on how many they are
(`rounds.py`). A round is asked at timestamp 2n and answered at 2n + 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ...graph import EvolvingGraph
from ...loops.loop_operator import NEVER, LoopOperator
from ...loops.part import PartStatistics
from ...loops.values import ColumnValues
from ...points import EvolvingPoints
from ...timely import Scope
from ...value_types import Ids, ValueArray
from ..edge_reading import ColumnsOf, ReadsEdges
from ..session_processor import Letter
from .program import DataShards, HasPointValues, LearningProgram, Parameters
from .rounds import Finished, Method, Partial, Round, ShardWork, Stopped, joined, summing
from .spoken import RoundLetter

_COORDINATOR = 0
_TURN = 1 << 23  # numbers of features that a turn goes over, between others of the worker: some milliseconds
_LEAST = 1 << 12  # what a shard counts for at least
_AT_ONCE = 64  # numbers that are worked on in the time that one takes to be read


class Found(NamedTuple):
    """What a branch leaves to its main loop: the parameters, on the first worker, and what its work was on each."""

    parameters: Parameters | None
    work: ShardWork


class LearningBranch(ReadsEdges):
    """See the module, `StorableBranch` and `ForkedPart`.

    Parameters
    ----------
    number
        Of the fork.
    program
        With the parameters of the branch.
    fresh
        Begin with the parameters that every loop begins with.
    max_iterations
        How many rounds may be asked; of none it ends with what the main loop has.
    on_turn
        Called when it has worked as long as it may between others, which go on now.

    Attributes
    ----------
    lease, points_lease
        Of its versions of the graph and of the points; None: it has none, or it is over.
    """

    def __init__(
        self,
        *,
        number: int,
        program: LearningProgram,
        worker: int,
        workers: int,
        fresh: bool,
        max_iterations: int | None,
        on_turn: Callable[[], None],
    ) -> None:
        self.number = number
        self.worker = worker
        self.workers = workers
        self.operator: LoopOperator[RoundLetter] = LoopOperator(worker, workers)
        self.points_lease: int | None = None
        self.first_iteration = 0
        self.is_recorded = False
        self.is_started = False
        self.is_cancelled = False
        self.is_over_at_once = False
        self._program = program
        self._fresh = fresh
        self._rounds_left = max_iterations
        self._on_turn = on_turn
        self._rounds = 0
        self._is_stopping = False
        self._method: Method | None = None  # of the coordinator
        self._work: ShardWork
        self._points: EvolvingPoints
        self._summing: Iterator[list[Partial] | None] | None = None  # what is left to do of a round
        self._said: list[Partial] = []
        self._speakers = 0
        self._parameters: Parameters | None = None
        self._began_with: Parameters = {}
        self._shard_cost = self._round_cost = _TURN
        self._finished: Finished | None = None
        # Kept as they are at the end: the points may go when the lease is released.
        self._values: tuple[Ids, ValueArray] = np.empty(0, np.int64), np.empty(0)
        self._told: Parameters = {}

    def build(self, scope: Scope) -> None:
        """See `BranchPart`."""
        self.operator.build(scope, self.step)

    # The cut

    def record(
        self,
        graph: EvolvingGraph,
        points: EvolvingPoints,
        parameters: Parameters | None,
        iteration: int,
        shards: DataShards,
    ) -> None:
        """Lease the versions after the last records applied, and keep the parameters, where the main loop has them here."""
        self.graph, self.vertices = graph, graph.vertices
        self.lease, self.version = graph.lease()
        self.points_lease, version = points.lease()
        self.first_iteration = iteration
        self._points = points
        self._shard_cost = max(_LEAST, points.features_live // len(points.shards))
        self._work = self._program.work(points, version, shards)
        if parameters is not None:
            self._began_with = self._program.begin() if self._fresh else parameters
            self._parameters = self._program.branch_parameters(self._began_with)
        self.is_recorded = True

    def keep(self, letter: Letter, timestamp: int) -> None:
        """See `ForkedPart`: a step that was under way is of no use to a method."""

    def cut_is_complete(self, markers: tuple[Letter, ...]) -> None:
        """See `ForkedPart`: the coordinator begins; others are asked."""
        del markers
        self.is_started = True
        if self.worker == _COORDINATOR:
            assert self._parameters is not None
            self._method = self._program.method(self._parameters, self.workers)
        self.operator.activate()

    # Working

    def step(self) -> None:
        """Take in what has come, and go on with the round; give the token up when nothing is to come of this worker."""
        if not self.is_started:
            return  # a round that was asked already waits in the inlet
        self.operator.pull(self._take)
        if self._method is not None and self._summing is None and not self._rounds:
            self._ask(first=True)
        fuel = _TURN
        while self._summing is not None and fuel > 0:
            said = next(self._summing)
            fuel -= self._round_cost
            if said is not None:
                self._summing = None
                self._answer(said)
        if self._summing is not None:
            self.operator.activate()
            self._on_turn()
        elif self._method is None:
            self.operator.move_token(NEVER, stays=False)

    def _take(self, letter: RoundLetter, timestamp: int) -> None:
        del timestamp
        if letter.finished is not None:
            self._end(letter.finished)
        elif letter.asked is not None:
            self._begin(letter.asked)
        else:
            self._hear(letter.partials)

    def _begin(self, asked: Round) -> None:
        self._rounds += 1
        self._round_cost = self._shard_cost * self._numbers_a_feature(asked)
        self._summing = summing(self._work, asked, self._points.shards)
        self.operator.activate()

    def _numbers_a_feature(self, asked: Round) -> int:
        """About how often a feature of a point is looked at, for what is given and what is answered."""
        numbers = self._work.width(asked) + sum(array.size for array in asked.arrays)
        return max(1, numbers // (_AT_ONCE * self._points.points.features))

    def _answer(self, said: list[Partial]) -> None:
        if self.worker == _COORDINATOR:
            self._hear(tuple(said))
        else:
            self.operator.send(_COORDINATOR, RoundLetter(self.worker, partials=tuple(said)))

    def _hear(self, partials: tuple[Partial, ...]) -> None:
        """Of the coordinator: take in the sums of a worker, and go on when it has those of all."""
        self._said += partials
        self._speakers += 1
        if self._speakers == self.workers:
            said, self._said, self._speakers = self._said, [], 0
            self._ask(joined(said))

    def _ask(self, total: NDArray[np.float64] | None = None, *, first: bool = False) -> None:
        method = self._method
        assert method is not None
        is_over = self._is_stopping or self.is_cancelled or self._rounds_left == 0
        try:
            if first:
                asked = next(method)
                if is_over:
                    asked = method.throw(Stopped())
            else:
                assert total is not None
                asked = method.send(total)
                if is_over:
                    asked = method.throw(Stopped())
        except StopIteration as ended:
            finished: Finished = ended.value
            self.operator.send_to_others(RoundLetter(self.worker, finished=replace(finished, parameters={})))
            self._end(finished)
            return
        if self._rounds_left is not None:
            self._rounds_left -= 1
        self.operator.move_token(2 * self._rounds, stays=True)
        self.operator.send_to_others(RoundLetter(self.worker, asked=asked))
        self._begin(asked)

    def _end(self, finished: Finished) -> None:
        self._finished = finished
        self._method = None
        self._on_turn = _nothing  # which may belong to a stream that ends before this is given up
        if self._parameters is not None:
            self._parameters = finished.parameters
        if self._program.values_of_points:
            self._values = cast("HasPointValues", self._work).point_values()
        elif self._parameters is not None:
            self._values = self._program.values(self._parameters)
        if self._parameters is not None:
            self._told = self._program.told(self._parameters)
        if self._lent is not None:  # points are read, by whoever checks the answer or stores it
            proof = self._program.proof(self._work)
            self._told = {**self._told, **{f"{name}.{self.worker}": array for name, array in proof.items()}}

    # What anybody may ask, from any thread

    @property
    def is_converged(self) -> bool:
        """See `BranchPartView`."""
        return self._finished is not None and self._finished.is_converged

    @property
    def findings(self) -> Mapping[str, float]:
        """See `BranchPartView`: the coordinator's."""
        if self._finished is None or self.worker != _COORDINATOR:
            return {}
        return self._finished.findings

    @property
    def reusable(self) -> Found:
        """See `BranchPartView`."""
        return Found(self._parameters, self._work)

    def progress(self) -> PartStatistics:
        """See `PartView`: an iteration is a round."""
        return PartStatistics(self.first_iteration + self._rounds, self._rounds, 0)

    def statistics(self) -> PartStatistics:
        """See `PartView`."""
        return self.progress()

    def history(self) -> NDArray[np.float64]:
        """See `PartView`."""
        done = self.progress()
        return np.array([[done.iteration if done.updates else -1, done.updates, 0, 0]], np.float64)

    def held_values(self) -> ColumnValues:
        """See `PartView`: of parameters, which the first worker has, or of the points of each; the branch must be over."""
        return ColumnValues(*self._values, beside=self._told)

    # Storing

    def _stored(self) -> ColumnsOf:
        """See `ReadsEdges`: of vertices nothing is stored."""
        return lambda _: {}

    def parameters(self) -> Mapping[str, NDArray[Any]]:
        """See `StorableView`: what the branch has found, and what else the main loop knew."""
        if self._parameters is None:
            return {}
        return {**self._began_with, **self._program.main_parameters(self._parameters)}

    # Ending

    def limit(self, iteration: int) -> None:
        """See `BranchPart`: it counts its rounds from the first one."""

    def stop(self) -> None:
        """See `BranchPart`: the method ends with the best that it has."""
        self._is_stopping = True

    def cancel(self) -> None:
        """See `BranchPart`."""
        self.is_cancelled = True

    def free(self) -> None:
        """Let go of what takes memory, when this is over and nobody reads it any more."""
        # What was found stays: the main loop may be about to adopt it on another thread.
        for name in ("_points", "_method", "_summing", "_values", "_told", "graph"):
            self.__dict__.pop(name, None)
        self.drop_edges()
        self._on_turn = _nothing
        self._said.clear()


def _nothing() -> None:
    """What a branch that is over calls in place of its stream."""
