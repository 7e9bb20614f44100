"""The main loop of a program that learns, on one worker: data shards and parameter block in plain sessions, beside others on a stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import astuple, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ...errors import StoreCorrupt
from ...graph import PartitionMap
from ...loops.forks import Forks
from ...loops.part import BranchPart, PartStatistics, Predicted, Traffic
from ...loops.stream_part import StreamPart
from ...loops.values import ColumnValues
from ...points import PointDeltas
from ...protocol.messages import AddEdge, Input, Touch
from ...timely import Scope
from ..session_processor import Letter, SessionProcessor
from ..stream_reading import ReadsStream
from .branch_processor import Found, LearningBranch
from .program import HasPointValues, LearningProgram, RestorableBlock, RestorableShards
from .spoken import Spoken
from .validation import Validating
from .vertices import LearningVertices, edges_of, owner_of

_MOST_WAITING = 1 << 15  # points that no step has used; others wait until then
_WORTH_A_STEP = 1 << 14  # such points, while more come at once
_COORDINATOR = 0


class LearningMain(ReadsStream[LearningBranch], SessionProcessor[LearningVertices]):
    """See the module, `ReadingPart` and `AdoptingMain`. An iteration is a step of the block, or what shards made of one.

    Parameters
    ----------
    program
        Which knows what its points are.
    on_applied
        Called with the number of records that were applied.
    stream
        What it reads, where other loops read it already; None: a new one.
    """

    def __init__(
        self,
        *,
        program: LearningProgram,
        delay_bound: int | None,
        worker: int,
        workers: int,
        on_applied: Callable[[int], None],
        stream: StreamPart | None,
    ) -> None:
        SessionProcessor.__init__(
            self,
            delay_bound=delay_bound,
            worker=worker,
            workers=workers,
            owner=lambda vertex: owner_of(vertex, workers),
        )
        self.stream = StreamPart(PartitionMap.even(workers), worker, on_applied) if stream is None else stream
        self.graph = self.stream.graph
        self.points = self.stream.points_of(program.declared)
        self.program = program
        self.declared_points = program.declared
        self.branches = []
        self._forks = Forks(self.operator, marker=self._marker_of, deliver=self._accept)
        self._is_loading = False
        self._is_resting = False  # as other threads see the session, which only this worker's may look into
        self._shards = program.data_shards(self.points, workers)
        self._block = program.parameter_block(workers) if worker == _COORDINATOR else None
        begin = Spoken(0, is_asking=True, arrays=program.begin())
        vertices = LearningVertices(
            title=type(program).__name__,
            worker=worker,
            workers=workers,
            shards=self._shards,
            block=self._block,
            begin=begin,
        )
        self._begin(vertices, 0)

    def build(self, scope: Scope) -> None:
        """Put it into a new dataflow, and have it hear of every change of the stream from now on."""
        SessionProcessor.build(self, scope)
        for producer, consumer in edges_of(self.workers):
            if self.owns(consumer):
                self._tell(Input(0, AddEdge(producer, consumer, None)))
        self.stream.join(self)
        self._hear_of(self.points.standing())  # to a loop that begins later all points are new
        self.operator.activate()

    def _step(self) -> None:
        self.operator.pull(self._forks.take)
        more = self.stream.obey(self)
        if more and not self.has_branches and self._shards.waiting < _WORTH_A_STEP:
            self.operator.activate()
            return
        started, moved = self._go_on(stays=True, starts=not self.stream.gives_way(self))
        self._is_resting = self.session.is_at_rest()
        if started or moved or (more and not self.is_behind()):
            self.operator.activate()

    # The stream

    def activate(self) -> None:
        """Have `step` called soon."""
        self.operator.activate()

    def stop_scans(self) -> None:
        """See `ReadingPart`: nothing of a graph is read."""

    def hear(self) -> None:
        """Note which points came and went, and have a step made of them; not while what was stored is loaded."""
        if not self._is_loading:
            self._hear_of(self.points.deltas())

    def _hear_of(self, deltas: PointDeltas) -> None:
        if len(deltas):
            self._shards.hear(deltas)
            self._touch(self.worker)

    def is_behind(self) -> bool:
        """See `ReadingPart`; not where another worker has recorded a fork: what it says is held until this one has come to it too."""
        return self._shards.waiting > _MOST_WAITING and not self._forks.is_awaited

    def _touch(self, vertex: int) -> None:
        self._is_resting = False  # also outside of a step
        self._tell(Input(self._input_iteration(), Touch(vertex, None)))
        self.operator.activate()

    # What anybody may ask, from any thread

    def traffic(self) -> Traffic:
        """See `MainPartView`."""
        received = self.bundles_received  # first: a receipt that follows shows as one that is missing
        is_idle = (
            not self._is_stepping
            and not self.stream.has_commands
            and not self._forks.is_holding
            and self._is_resting
        )
        return Traffic(is_idle, received, self.bundles_sent)

    def statistics(self) -> PartStatistics:
        """See `PartView`: its vertices are points."""
        points, shards = self.points.statistics(), self._shards
        if isinstance(shards, Validating):
            predicted, recently = astuple(shards.validation.all), astuple(shards.validation.recent)
        else:
            predicted = recently = astuple(Predicted())
        return replace(
            self.progress(),
            pending=self._shards.waiting,
            vertices=points.points,
            missing_removals=points.missing_removals,
            size_bytes=points.size_bytes,
            predicted=predicted,
            predicted_recently=recently,
        )

    def held_values(self) -> ColumnValues:
        """See `PartView`: of the parameters, which the first worker has."""
        shown = {} if self._block is None else self.program.branch_parameters(self._block.parameters)
        if self.program.values_of_points:
            values = cast("HasPointValues", self._shards).point_values()
        elif self._block is None:
            values = np.empty(0, np.int64), np.empty(0)
        else:
            values = self.program.values(shown)
        return ColumnValues(*values, is_final=False, beside=self.program.told(shown))

    # Branches

    def record(self, branch: LearningBranch) -> None:
        """Record this worker's state for a branch: a version of points and edges, and on the first worker the parameters."""
        self._flush()
        parameters = None if self._block is None else self._block.parameters
        branch.record(self.graph, self.points, parameters, self.iteration, self._shards)
        self.branches.append(branch)
        self._forks.record(branch)

    def fork(
        self, *, number: int, arguments: tuple[object, ...], fresh: bool, max_iterations: int | None
    ) -> LearningBranch:
        """See `MainPart`."""
        (program,) = cast("tuple[LearningProgram]", arguments)
        return LearningBranch(
            number=number,
            program=program,
            worker=self.worker,
            workers=self.workers,
            fresh=fresh,
            max_iterations=max_iterations,
            on_turn=self.stream.end_giving_way,
        )

    def forget(self, branch: BranchPart) -> None:
        """End the leases of a branch that is over."""
        branch = cast("LearningBranch", branch)
        ReadsStream.forget(self, branch)
        if branch.points_lease is not None:
            self.points.release(branch.points_lease)
            branch.points_lease = None

    def take_back(self, reusable: object) -> None:
        """See `MainPart`: a branch leaves nothing that another could use."""

    def adopt(self, found: object | None) -> None:
        """See `AdoptingMain`: the block goes on from the parameters that a branch has found, and shards keep what helps the next."""
        if found is None:
            return
        parameters, work = cast("Found", found)
        self._shards.take(work)
        if self._block is not None:
            assert parameters is not None
            self._block.take(self.program.main_parameters(parameters))
            self._touch(self.workers)

    def _marker_of(self, fork: int) -> Letter:
        return Letter(self.worker, marker=fork, iteration=self.iteration)

    # Beginning where a stored snapshot ended

    def place(self, ids: NDArray[np.int64], columns: Mapping[str, NDArray[Any]] | None) -> None:
        """See `StorableMain`: the block has its parameters at once, and points that come meanwhile are nothing new."""
        self._make_known(ids)
        if columns is None:
            return
        self._is_loading = True
        if self._block is None or not columns:
            return
        missing = self.program.begin().keys() - columns.keys()
        if missing:
            raise StoreCorrupt(
                f"a stored loop of {type(self.program).__name__} has no {', '.join(sorted(missing))}"
            )
        if isinstance(self._block, RestorableBlock):
            self._block.restore(columns)
        else:
            self._block.take(columns)

    def place_behind_edges(self, ids: NDArray[np.int64], columns: Mapping[str, NDArray[Any]]) -> None:
        """See `StorableMain`: points that come from now on are new."""
        del ids
        self._is_loading = False
        if isinstance(self._shards, RestorableShards):
            self._shards.restore(columns)
        if self._block is not None and self._block.is_settled:
            self._touch(self.workers)

    # Leaving

    def free(self) -> None:
        """Let go of what takes memory, when this is over and nobody reads it any more."""
        self.stream.let_go(self)
        SessionProcessor.free(self)
        for name in ("graph", "points", "stream", "_shards", "_block"):
            self.__dict__.pop(name, None)
