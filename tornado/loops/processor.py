"""A processor: one worker's part of a selective loop, as an operator of the timely core.

Its output feeds back to its own input over a loop context that adds one to the iteration. It holds one token, at the least
iteration at which it may still commit; iterations of single updates live inside the bundles, which are stamped with the least of
them ("Fine-grained timestamps", Timestamp tokens, section 6.2). So coordination costs per bundle, and who wants to know how far
the loop is asks the frontier.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..graph import EvolvingGraph
from ..timely import Antichain, Context, Input, OperatorBuilder, Output, Routed, Scope, Time, Token, Wake
from . import loop_columns as names
from .bundle import Bundle, Messages
from .loop_columns import INVALIDATE, NEVER, OUTBOX, UPDATE
from .part import PartStatistics
from .selective_state import LoopState
from .values import LocalValues
from .waves import WaveProgress

if TYPE_CHECKING:
    from collections.abc import Callable

FUEL = 1 << 15  # edges visited in one call of a kernel: about a millisecond
_GENERATION = 0


@dataclass(slots=True)
class _Arrived:
    """A bundle that is being worked off."""

    bundle: Bundle
    iteration: int  # of the bundle's timestamp
    following: int = 0  # index of the first message that was not taken in


class SelectiveProcessor:
    """What main loops and branches have in common: messages in and out, sessions, waves, and the one token."""

    def __init__(
        self,
        *,
        kernel: ModuleType,
        graph: EvolvingGraph,
        arguments: tuple[object, ...],
        worker: int,
        workers: int,
    ) -> None:
        self.kernel = kernel
        self.graph = graph
        self.arguments = arguments
        self.worker = worker
        self.workers = workers
        self.bundles_sent = 0  # those with messages
        self.bundles_received = 0
        self.waves = WaveProgress(workers) if workers > 1 else None
        self.state: LoopState
        self._inlet: Input
        self._outlet: Output
        self._token: Token
        self._context: Context
        self._arrived: deque[_Arrived] = deque()
        self._unfinished_waves: list[
            int
        ] = []  # of bundles taken in, whose invalidations are still being worked off

    def build(self, scope: Scope) -> SelectiveProcessor:
        """Put the processor into a loop context of a new dataflow."""
        loop = scope.loop("iterations", lexicographic=True)
        again = loop.feedback()
        builder = OperatorBuilder(loop, "processor")
        self._inlet = builder.input(again.stream, Routed())
        self._outlet, stream = builder.output()
        again.connect(stream)

        def construct(tokens: list[Token], context: Context) -> Callable[[], None]:
            self._token = tokens[0]
            self._context = context
            return self.step

        builder.build(construct, wake=Wake.POINTSTAMPS if self.workers > 1 else Wake.MESSAGES)
        return self

    def activate(self) -> None:
        """Have the processor called soon; from any thread."""
        self._context.activator.activate()

    def free(self) -> None:
        """Let go of what takes memory, when this is over and nobody reads it any more."""
        # The dataflow that this is the result of is part of a cycle, which lives until the next collection.
        self.__dict__.pop("graph", None)
        self.__dict__.pop("state", None)

    def step(self) -> None:
        """One activation; see the two kinds of loops."""
        raise NotImplementedError

    def progress(self) -> PartStatistics:
        """How far it is."""
        return self.state.progress()

    def history(self) -> NDArray[np.float64]:
        """What the last iterations did."""
        return self.state.history()

    def held_values(self) -> LocalValues:
        """The values of this worker's vertices, as they are at the time."""
        return LocalValues(self.graph, self.state)

    def statistics(self) -> PartStatistics:
        """The part of this worker in numbers."""
        state, graph = self.state, self.graph.statistics()
        counters = state.counters
        return replace(
            state.progress(),
            pending=int(counters[names.PENDING_INSIDE] + counters[names.PENDING_BEYOND]),
            vertices=graph.vertices,
            edges=graph.edges,
            missing_removals=graph.missing_removals,
            waves=int(counters[names.WAVES]),
            size_bytes=graph.size_bytes + state.size_bytes(),
        )

    # Receiving

    def _pull(self) -> None:
        """Take what has arrived off the input; the token goes back where a bundle needs it to."""
        for received, bundle in self._inlet.pull():
            if not self._token.is_live:
                self._token = received.retain()
            elif received.time < self._token.time:
                earlier = received.retain()
                self._token.drop()
                self._token = earlier
            self._accept(bundle, received.time[1])

    def _accept(self, bundle: Bundle, iteration: int) -> None:
        if self.waves is not None:
            self.waves.take(bundle.wave_changes)
        if len(bundle):
            self.bundles_received += 1
            self._arrived.append(_Arrived(bundle, iteration))

    def _receive(self) -> bool:
        """Give the kernel the messages that have arrived; whether all of them are taken in.

        A synchronous loop keeps updates of an iteration waiting until this worker has done its own round of it. They, and what
        the same sender sent after them, must not hold that round back, so they count for the iteration that they cause.
        """
        waiting: deque[_Arrived] = deque()
        kept: dict[int, int] = {}  # sender -> iteration of what is kept waiting
        while self._arrived:
            arrived = self._arrived.popleft()
            sender = arrived.bundle.sender
            if sender in kept:
                arrived.iteration = max(arrived.iteration, kept[sender])
                waiting.append(arrived)
                continue
            messages = arrived.bundle.messages
            first = arrived.following
            self._set_floor(arrived.iteration)
            # Vertices whose first record has not been applied here yet: a full table would be searched for ever.
            self.graph.make_room(len(messages.kinds) - first)
            arrived.following = self.kernel.receive(
                self.graph.addresses, *self.state.addresses, self.arguments, sender, *messages, first, FUEL
            )
            if arrived.following == len(messages.kinds):
                if arrived.bundle.wave:
                    self._unfinished_waves.append(arrived.bundle.wave)
                continue
            counters, following = self.state.counters, arrived.following
            is_update = counters[names.DELAY_BOUND] == 1 and messages.kinds[following] == UPDATE
            if is_update:
                arrived.iteration = max(arrived.iteration, int(messages.numbers[following]) + 1)
            kept[sender] = arrived.iteration
            waiting.append(arrived)
            # Either its round has to come first, and the commits of that call for more, or the fuel was used up.
            awaits_round = is_update and self.pending_least() <= min(
                messages.numbers[following], counters[names.CAP]
            )
            if following > first or not awaits_round:
                self._context.activate()
        self._arrived = waiting
        return not waiting

    def _held_least(self) -> int:
        """The least iteration of the bundles that are here and not taken in."""
        return min((arrived.iteration for arrived in self._arrived), default=NEVER)

    def _set_floor(self, iteration: int | None = None) -> None:
        """The kernel must cause no work before an iteration for which this worker has a token."""
        held = self._token.time[1] if self._token.is_live else iteration
        least = held if iteration is None else iteration if held is None else min(held, iteration)
        assert least is not None
        self.state.counters[names.FLOOR] = least - 1

    # Working

    def _advance(self, fuel: int = FUEL) -> bool:
        """Let the kernel work off what is pending; whether it has come to an end of what it may do now."""
        others = horizon = NEVER
        if self.workers > 1:
            own = [self._token] if self._token.is_live else []
            elsewhere = self._context.output_frontier_excluding(own)
            arriving = self._context.input_frontier_excluding(own)
            others = _iteration_of(elsewhere)
            horizon = _iteration_of(arriving)
            held = self._held_least()
            others = min(others, held)
            horizon = min(horizon, held)
        self._set_floor()
        self.state.counters[names.SENT_LEAST] = min(self.state.columns.out_least)
        updates = self.state.counters[names.UPDATES]
        left = self.kernel.advance(
            self.graph.addresses, *self.state.addresses, self.arguments, others, horizon, fuel
        )
        if self._arrived and self.state.counters[names.UPDATES] != updates:
            self._context.activate()  # a synchronous round may have kept messages of the next one waiting
        return bool(left > 0)

    def pending_least(self) -> int:
        """The least iteration at which a dirty vertex here can commit, or NEVER."""
        return int(self.kernel.pending_least(self.state.addresses[1]))

    def is_drained(self) -> bool:
        """Whether no scan and no invalidation is under way on this worker."""
        counters = self.state.counters
        return not (
            counters[names.CURSOR_KIND]
            or counters[names.SPREADS]
            or counters[names.RECHECKS]
            or counters[names.ROUND]
        )

    def has_no_invalidations(self) -> bool:
        """Whether all invalidations that this worker knows of are worked off."""
        counters = self.state.counters
        return not (
            counters[names.SPREADS]
            or counters[names.RECHECKS]
            or counters[names.CURSOR_KIND] in (names.SCAN_SPREAD, names.SCAN_GATHER)
        )

    def is_scanning(self) -> bool:
        """Whether the graph must not change, because a scan of one of its lists was cut short."""
        return bool(self.state.counters[names.CURSOR_KIND])

    def finish_cursor(self) -> None:
        """Finish that scan."""
        self.kernel.finish_cursor(self.graph.addresses, *self.state.addresses)

    # Sending

    def _flush(self) -> None:
        """Send what the kernel has put into its outboxes, each bundle stamped with the least iteration it can cause work at."""
        columns = self.state.columns
        for target in range(self.workers):
            length = int(columns.out_length[target])
            if length:
                first = target * OUTBOX
                messages = Messages.of(
                    column[first : first + length].copy()
                    for column in (
                        columns.out_kind,
                        columns.out_id,
                        columns.out_value,
                        columns.out_number,
                    )
                )
                invalidations = messages.numbers[messages.kinds == INVALIDATE]
                wave = int(invalidations.min()) if invalidations.size else 0
                if wave:
                    assert self.waves is not None
                    self.waves.add(wave, 1)
                self._send(target, Bundle(self.worker, messages, wave), int(columns.out_least[target]) - 1)
                columns.out_length[target] = 0
                columns.out_least[target] = NEVER
        self.state.counters[names.SENT_LEAST] = NEVER
        if self.waves is not None:
            changes = self.waves.unsent()
            if changes:
                for target in range(self.workers):
                    if target != self.worker:
                        self._send(target, Bundle(self.worker, wave_changes=changes), None)

    def _send(self, target: int, bundle: Bundle, iteration: int | None) -> None:
        time = self._token.time
        self.bundles_sent += bool(len(bundle))
        if iteration is not None and iteration > time[1]:
            token = self._token.delayed((time[0], iteration))
            self._outlet.send(token, bundle, target=target)
            token.drop()
        else:
            self._outlet.send(self._token, bundle, target=target)

    # Waves

    def _advance_waves(self, *, moves_on: bool) -> None:
        """Count off the invalidations that are worked off here, move the token of waves, settle what has ended.

        A worker's token moves to the next wave when all earlier ones have ended and somebody is waiting for this one.
        """
        waves = self.waves
        if waves is None or not self.has_no_invalidations():
            return
        for wave in self._unfinished_waves:
            waves.add(wave, -1)
        self._unfinished_waves.clear()
        counters = self.state.counters
        is_waited_for = counters[names.MARKS] or waves.beyond_token()
        if moves_on and is_waited_for and waves.token is not None and waves.frontier() == waves.token:
            waves.advance_token(waves.token + 1)
            counters[names.NEXT_WAVE] = waves.token
            self._context.activate()
        if counters[names.MARKS]:
            frontier = waves.frontier()
            ended = NEVER if frontier is None else frontier - 1
            if int(self.state.columns.wave[self.state.columns.marks[: counters[names.MARKS]]].min()) <= ended:
                self.kernel.end_waves(self.state.addresses[1], ended)
                self._context.activate()

    # The token

    def _move_token(self, *, stays: bool) -> None:
        """Downgrade the token to the least iteration that work is pending at.

        Without pending work a token that stays (more can come at any time) follows the others, so as not to hold them back,
        and one that need not stay is dropped.
        """
        if not self._token.is_live:
            return
        least = self.pending_least()
        if least > self.state.counters[names.CAP]:
            least = NEVER
        least = min(least, self._held_least())
        generation, iteration = self._token.time
        if least == NEVER:
            if not stays:
                self._token.drop()
                return
            if self.workers == 1:
                return
            waiting = self._context.output_frontier_beside(self._token)
            if waiting is None:
                return
            least = _iteration_of(waiting)
        if least > iteration:
            self._token.downgrade((generation, least))


def _iteration_of(time: Time | Antichain | None) -> int:
    """The iteration of a frontier of a loop, whose times are in total order."""
    if time is None:
        return NEVER
    assert isinstance(time, tuple)
    return time[1]


def concatenated(parts: list[Messages]) -> Messages:
    """All messages, in order."""
    return Messages.of(np.concatenate(columns) for columns in zip(*parts, strict=True))
