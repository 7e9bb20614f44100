"""The main loop on one worker: admits batches, keeps the approximation up to date, and lets branches be forked.

A vertex announces when its residual passes a threshold, times its out-degree; the threshold is such that all that waits is within
the accuracy of the program. What waits counts in a certificate like anything else that is not announced, so records never
wait for this loop: under load it is only less near.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import cast

import numpy as np

from ...graph import PartitionMap
from ...graph.graph_columns import ANY_VERSION
from ...loops.forks import Forks
from ...loops.loop_operator import NEVER
from ...loops.part import BranchPart, Traffic
from ...loops.stream_part import StreamPart
from ...timely import Scope
from ..local_values import LocalValues
from . import loop_columns as names
from .branch_processor import AccumulativeBranch
from .bundle import SumBundle
from .loop_state import SumState
from .norms import Norm
from .part_values import NormalisedValues
from .processor import FUEL, AccumulativeProcessor

_SPARE_STATES = 4
_HYSTERESIS = 2.0  # the threshold stays where it is not so many times too large or too small
_ADDED_UP_EVERY = 1 << 20  # announcements; what is only kept up gathers roundings


class AccumulativeMain(AccumulativeProcessor):
    """See the module.

    Parameters
    ----------
    accuracy, factor, has_bases, norm
        Of the program.
    on_applied
        Called with the number of records that were applied.
    commits
        False: nothing is announced here; branches do it.
    stream
        What it reads, where other loops read it already; None: a new one.

    Attributes
    ----------
    stream
        What it reads.
    branches
        Those that were recorded and are not over.
    hears_back
        See `ReadingPart`: never.
    holds
        Nobody announces, as values are to be placed.
    """

    def __init__(
        self,
        *,
        kernel: ModuleType,
        arguments: tuple[object, ...],
        accuracy: float,
        factor: float,
        has_bases: bool,
        norm: Norm,
        delay_bound: int | None,
        commits: bool,
        worker: int,
        workers: int,
        on_applied: Callable[[int], None],
        stream: StreamPart | None,
    ) -> None:
        self.stream = StreamPart(PartitionMap.even(workers), worker, on_applied) if stream is None else stream
        super().__init__(
            kernel=kernel,
            graph=self.stream.graph,
            arguments=arguments,
            delay_bound=delay_bound,
            worker=worker,
            workers=workers,
        )
        self.hears_back = 0
        self.state = SumState(worker=worker, workers=workers)
        self.state.counters[names.HAS_BASES] = has_bases
        self.branches: list[AccumulativeBranch] = []
        self._accuracy = accuracy
        self._factor = factor
        self._norm = norm
        self._commits = commits
        self.holds = False
        self._masses = np.zeros(workers)  # what the others said last
        self._told = np.zeros(workers)  # what each was told
        self._added_up_at = 0
        self._is_stepping = False  # what other threads see of the queues means nothing meanwhile
        self._forks = Forks(
            self.operator, marker=lambda number: SumBundle(worker, marker=number), deliver=self._accept
        )
        self._spare: list[SumState] = []  # columns of branches that are over
        self._failure: Exception | None = None
        self._add_up()
        if self.graph.rows:
            self.state.counters[names.FOLLOWING_ROW] = 0

    def build(self, scope: Scope) -> None:
        """Put it into a new dataflow, and have it hear of every change of the stream from now on."""
        super().build(scope)
        self.stream.join(self)

    def command(self, branch: BranchPart) -> None:
        """Record the state for a branch, when it is its turn in the sequence of the stream."""
        self.stream.fork(self, partial(self.record, cast("AccumulativeBranch", branch)))

    @property
    def has_branches(self) -> bool:
        """See `ReadingPart`."""
        return bool(self.branches)

    def activate(self) -> None:
        """Have `step` called soon."""
        self.operator.activate()

    def traffic(self) -> Traffic:
        """See `MainPartView`."""
        received = self.bundles_received  # first: a receipt that follows shows as one that is missing
        return Traffic(not self._is_at_work, received, self.bundles_sent)

    @property
    def _is_at_work(self) -> bool:
        return (
            self._is_stepping
            or self.stream.has_commands
            or self._is_taking_in
            or bool(self._arrived)
            or self._forks.is_holding
            or self._has_to_announce
        )

    @property
    def _has_to_announce(self) -> bool:
        return self.is_telling or bool(self.state.counters[names.QUEUE_LENGTH])

    def held_values(self) -> LocalValues:
        """The values of this worker's vertices, as they are at the time; normalised ones sum to 1 as nearly as parts know of each other."""
        held = NormalisedValues(self.kernel, self.state, self.arguments, self._all_mass)
        return LocalValues(self.graph, held)

    def _all_mass(self) -> float:
        if not self._norm.is_normalised:
            return 1.0
        return float(self.state.totals[names.MASS] + self._masses.sum())

    # Steps

    def step(self) -> None:
        """Take in messages, then go on in the stream, then let vertices announce, each up to its fuel."""
        self._is_stepping = True
        try:
            self._step()
        except BaseException:
            self.stream.leave(self)  # the others go on
            raise
        self._is_stepping = False

    def _step(self) -> None:
        if self._failure is not None:
            raise self._failure
        self.operator.pull(self._forks.take)
        self._receive()
        if self._is_taking_in:
            self.kernel.hear_rows(*self._loop, FUEL)
        more = self.stream.obey(self)
        self._aim()
        goes_on = self._commits and not self.holds
        if goes_on and self._has_to_announce and self.may_begin_turn():
            self._flush()
            self.operator.move_token(self.next_iteration, stays=True)
            # Branches go first, and records: what waits to be announced does no harm.
            self._announce(FUEL // 8 if more or self.branches else FUEL)
            self._add_up_sometimes()
        self._flush()
        self._tell_mass()
        is_waiting = self._has_to_announce and goes_on
        least = self.next_iteration if is_waiting else NEVER
        self.operator.move_token(min(least, self._held_least()), stays=True)
        if more or self._is_taking_in or (is_waiting and self.may_begin_turn()):
            self.operator.activate()

    @property
    def _is_taking_in(self) -> bool:
        return bool(self.state.counters[names.FOLLOWING_ROW] != ANY_VERSION)

    def _aim(self) -> None:
        """Keep the threshold where all that may wait comes to the accuracy; in L1, 2 * theta * edges / ((1 - d) * sum of x).

        Edges are those that begin at own vertices. So what waits on all workers together comes to it.
        """
        edges = int(self.state.counters[names.DEGREES])
        mass = float(self.state.totals[names.MASS])
        if not self._commits or self.holds or edges == 0 or not mass > 0:
            return
        wanted = self._norm.theta(self._norm.allowed(self._accuracy, self._factor, mass), edges)
        theta = float(self.state.totals[names.THETA])
        if wanted > theta * _HYSTERESIS:
            self.state.totals[names.THETA] = wanted
        elif wanted * _HYSTERESIS < theta:
            self.state.totals[names.THETA] = wanted
            self._add_up()
            self._find_active()

    def _add_up_sometimes(self) -> None:
        counters = self.state.counters
        updates = int(counters[names.UPDATES])
        limit = max(_ADDED_UP_EVERY, 4 * self.graph.rows)
        if updates - self._added_up_at > limit:
            self._added_up_at = updates
            self._add_up()

    def _take_notices(self, bundle: SumBundle) -> None:
        self._masses[bundle.sender] = bundle.mass

    def _send(self, target: int, bundle: SumBundle) -> None:
        super()._send(target, bundle)
        self._told[target] = bundle.mass

    def _tell_mass(self) -> None:
        """Tell the others what the values here sum to, where nothing is to be announced and they would be wrong about it."""
        mass = self._mass()
        if self._has_to_announce or self.stream.has_commands or not self._norm.is_normalised:
            return
        for target in range(self.workers):
            if target != self.worker and abs(mass - self._told[target]) > self._accuracy / 8 * abs(mass):
                self._send(target, SumBundle(self.worker, mass=mass))

    # The stream

    def is_behind(self) -> bool:
        """See `ReadingPart`: never, as what is not announced yet is in the certificate."""
        return False

    def is_catching_up(self) -> bool:
        """See `ReadingPart`."""
        return self._is_taking_in

    def stop_scans(self) -> None:
        """Tell all consumers that are left in the middle of a list, in this loop and its branches."""
        for processor in (self, *self.branches):
            processor.finish_cursor()

    def hear(self) -> None:
        """Take in the rows and edges that the last records changed, and have branches know which lists are not as they were."""
        self.state.expect(self.graph.rows)
        self.kernel.hear_edges(*self._loop)
        for branch in self.branches:
            branch.note_changes()

    def fail(self, error: Exception) -> None:
        """Raise this in the next step."""
        self._failure = error
        self.operator.activate()

    # Snapshots

    def drain(self) -> bool:
        """See `ReadingPart`: all edges must have been taken in."""
        return not self._is_taking_in

    def record(self, branch: AccumulativeBranch) -> None:
        """Record this worker's state for a branch, and what was delivered and is not in the state yet."""
        self.finish_cursor()
        self._flush()
        branch.record(self.state, self.operator.timestamp, self.next_iteration)
        self.branches.append(branch)
        for arrived in self._arrived:
            messages = arrived.bundle.messages.from_index(arrived.following)
            branch.keep(SumBundle(arrived.bundle.sender, messages), arrived.iteration)
        self._forks.record(branch)

    def fork(
        self, *, number: int, arguments: tuple[object, ...], fresh: bool, max_iterations: int | None
    ) -> AccumulativeBranch:
        """Make this worker's part of a new branch."""
        tolerance, top, factor, has_bases, *own = arguments
        return AccumulativeBranch(
            number=number,
            kernel=self.kernel,
            graph=self.graph,
            take_state=self._take_state,
            arguments=tuple(own),
            tolerance=cast("float", tolerance),
            top=cast("int", top),
            factor=cast("float", factor),
            has_bases=cast("bool", has_bases),
            norm=self._norm,
            delay_bound=self.delay_bound,
            worker=self.worker,
            workers=self.workers,
            fresh=fresh,
            max_iterations=max_iterations,
        )

    def _take_state(self) -> SumState:
        """Columns for a branch over the graph as it is now: used ones where they are large enough."""
        rows = self.graph.rows
        for place, state in enumerate(self._spare):
            if state.fits(rows):
                del self._spare[place]
                state.reset()
                return state
        self._spare.clear()
        room = 1.5  # so that the columns fit the next branches too while the graph grows
        state = SumState(worker=self.worker, workers=self.workers, rows=int(rows * room) + 2)
        state.expect(rows)
        return state

    def _held_least(self) -> int:
        return min(super()._held_least(), self._forks.held_least())

    # Leaving

    def take_back(self, reusable: object) -> None:
        """Keep the columns of a branch that is over, for the next ones."""
        if len(self._spare) < _SPARE_STATES:
            self._spare.append(cast("SumState", reusable))

    def free(self) -> None:
        """Let go of what takes memory, when this is over and nobody reads it any more."""
        self.stream.let_go(self)
        super().free()
        self._spare.clear()
        self.__dict__.pop("stream")

    def forget(self, branch: BranchPart) -> None:
        """End the lease of a branch that is over."""
        branch = cast("AccumulativeBranch", branch)
        if branch in self.branches:
            self.branches.remove(branch)
        if branch.lease is not None:
            self.graph.release(branch.lease)
            branch.lease = None
