"""A branch loop on one worker: starts from what the main loop recorded, reads the graph at that version, and comes to an end.

It has come to its fixed point when its dataflow is complete: no token and no message is left on any worker.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from ...graph import EvolvingGraph
from ...loops.ways import WaySteps
from ..compiled_branch import CompiledBranch
from ..edge_reading import ColumnsOf
from . import loop_columns as names
from .bundle import Bundle, Rest, all_came
from .loop_columns import NEVER
from .loop_state import LoopState
from .processor import SelectiveProcessor, concatenated
from .ways_kernel import walk_back


class BranchProcessor(CompiledBranch[Bundle, LoopState], SelectiveProcessor):
    """See the module.

    Parameters
    ----------
    number
        Of the fork: the same on all workers, growing.
    take_state
        Gives columns to copy into, as `LoopState.reset` leaves them, when the state is recorded.
    fresh
        Begin from the initial values, not from what the main loop has found: for other parameters.
    fuel
        Gives for how many edges a step may go on.

    Attributes
    ----------
    patience
        How many edges the main loop may have visited in all before the state is recorded even though more is left to do; None: not
        known yet.
    rest
        What its main loop said at its record here; None: something was left to do.
    """

    patience: int | None = None
    rest: Rest | None = None

    def __init__(
        self,
        *,
        number: int,
        kernel: ModuleType,
        graph: EvolvingGraph,
        take_state: Callable[..., LoopState],
        arguments: tuple[object, ...],
        worker: int,
        workers: int,
        fresh: bool,
        max_iterations: int | None,
        fuel: Callable[[], int],
    ) -> None:
        super().__init__(kernel=kernel, graph=graph, arguments=arguments, worker=worker, workers=workers)
        self.number = number
        self._take_state = take_state
        self._fresh = fresh
        self._max_iterations = max_iterations
        self._fuel = fuel
        self._goes_on = not fresh and max_iterations is None
        self.is_over_at_once = None if self._goes_on else False
        self._kept = []

    @property
    def is_converged(self) -> bool:
        """Whether this worker's part came to its end with nothing left to commit."""
        return self.pending_least() == NEVER

    @property
    def is_of_now(self) -> bool:
        """Whether it does what its main loop would do, to the end."""
        return self._goes_on and not self.was_stopped

    def is_needless(self, said: Mapping[int, Rest | None]) -> bool:
        """Whether nothing was left to do before this fork, on any worker and between them, by what each has said: then it remains so."""
        rests = [rest for _, rest in sorted(said.items()) if rest is not None and rest.fork == self.number]
        return len(rests) == self.workers and all_came(rests)

    def take_rests(self, said: Mapping[int, Rest | None]) -> None:
        """Be over with the record, before the cut is complete, where it is known to be needless: all will find that it is."""
        if self.is_over_at_once is None and self.is_needless(said):
            self.is_over_at_once = True

    def cut_is_complete(self, markers: tuple[Bundle, ...]) -> None:
        """See `CompiledBranch`: where it is needless it is over, if it was not before."""
        if self.is_over_at_once is None:
            said = {marker.sender: marker.rest for marker in markers} | {self.worker: self.rest}
            self.is_over_at_once = self.is_needless(said)
        super().cut_is_complete(markers)

    def record(self, graph: EvolvingGraph, main: LoopState, iteration: int) -> None:
        """Copy the main loop's state, as it is after the last batch applied, and lease that version of the graph.

        `iteration` is that of the main loop's token: what is committed there is not far behind, so the branch begins there.
        """
        self.state = self._take_state(fresh=self._fresh)
        if self.was_stopped:
            self.state.counters[names.CAP] = -1
        self._begins_at = 0 if self._fresh else iteration
        self.state.counters[names.FLOOR] = self._begins_at - 1
        if self._max_iterations is not None:
            self._awaits_limit = True
        self.lease, self.version = graph.lease()
        counters = self.state.counters
        counters[names.VERSION] = self.version
        self.first_iteration = int(main.counters[names.ITERATION])
        if self._fresh:
            self.state.is_no_copy()
            self.kernel.fork_fresh(graph.addresses, main.addresses[1], *self.state.addresses, self.arguments)
        else:
            missing = self.state.copy_begins(main)
            self.kernel.fork(main.addresses[1], *self.state.addresses, *missing)
            counters[names.ITERATION] = main.counters[names.ITERATION]
        self.vertices = graph.vertices
        self.is_recorded = True

    def _kept_of(self, bundle: Bundle) -> Bundle:
        """See `CompiledBranch`: nothing of sessions under way, and all in the first wave."""
        return Bundle(bundle.sender, bundle.messages.for_snapshot().in_first_wave())

    def _first_bundles(self) -> list[Bundle]:
        """See `CompiledBranch`: one of each worker."""
        bundles = []
        for sender in reversed(range(self.workers)):
            parts = [bundle.messages for bundle in self._kept if bundle.sender == sender]
            if parts:
                messages = concatenated(parts)
                if self._fresh:
                    messages = messages.without_values(self.kernel.WORST)
                bundles.append(Bundle(sender, messages))
        return bundles

    def _stored(self) -> ColumnsOf:
        """See `ReadsEdges`."""
        return partial(self.state.stored_columns, ids=self.graph.columns.ids)

    def steps_back(self, ids: NDArray[np.int64]) -> WaySteps:
        """See `StepsView`."""
        rows = self.graph.rows_of(ids)
        return self._steps(rows[(rows >= 0) & (rows < self.state.rows_seen)])

    def all_steps(self) -> WaySteps:
        """See `StepsView`."""
        return self._steps(np.arange(self.state.rows_seen))

    def _steps(self, rows: NDArray[np.int64]) -> WaySteps:
        columns, seen = self.state.columns, self.state.rows_seen
        passed, found = np.zeros(seen, np.bool_), np.empty(seen, np.int32)
        walked = found[: walk_back(columns.parent, columns.flags, rows, passed, found)]
        walked = walked[self.graph.are_known(walked.astype(np.int64), self.vertices)]
        graph = self.graph.columns
        parents = columns.parent[walked]
        parents = np.where(parents >= 0, parents, walked)
        owners = graph.owner[parents].astype(np.int64)
        return WaySteps(graph.ids[walked], graph.ids[parents], owners, self.state.values_of(walked))

    def weights_between(
        self, producers: NDArray[np.int64], consumers: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """See `WayPart`."""
        rows_of = self.graph.rows_of
        return self.graph.weights_between(rows_of(producers), rows_of(consumers), self.version)

    def _set_cap(self, iteration: int) -> None:
        """See `CompiledBranch`; one that was stopped has a lower one."""
        counters = self.state.counters
        counters[names.CAP] = min(int(counters[names.CAP]), iteration)

    def stop(self) -> None:
        """Commit nothing more; what is under way arrives, and then the values are a consistent cut."""
        super().stop()
        if self.is_recorded:
            self.state.counters[names.CAP] = -1

    def step(self) -> None:
        """Take in messages and work off what is pending; give the token up when there is nothing to come of this worker."""
        self.operator.pull(self._accept)
        if not self.is_started:
            return
        if not self.operator.token.is_live and not self._arrived:
            return
        self.operator.move_token(self._begins_at, stays=True)
        received = self._receive()
        finished = self._advance(self._fuel())
        # Of pairs a commit may begin a wave as well (`recheck_if_left`), so tokens move on in place of being dropped.
        waves, begins_waves = self.waves, self.kernel.HAS_LABELS
        has_ended = self._flush_and_settle(
            moves_on=begins_waves and received, is_last=received and not begins_waves
        )
        waves_open = waves is not None and waves.frontier() is not None
        if waves is not None and begins_waves:
            waves_open = not waves.are_at_rest()
        unsettled = not self._is_settled()
        self._move_token(stays=waves_open or unsettled or bool(self._arrived))
        if not finished or has_ended or (unsettled and self.workers == 1):
            self.operator.activate()
