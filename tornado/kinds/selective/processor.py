"""A processor: one worker's part of a selective loop, whose kernel works inside a loop operator (`loop_operator.py`).

A timestamp is an iteration: the token is at the least one at which this worker may still commit.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from types import ModuleType
from typing import NamedTuple

import numpy as np

from ...graph import EvolvingGraph
from ...loops.part import PartStatistics
from ..compiled_functions import compiled_arguments
from ..compiled_part import Arrived, CompiledPart
from . import loop_columns as names
from .bundle import NO_MESSAGES, Bundle, Messages, Rest
from .loop_columns import NEVER, UPDATE
from .loop_state import LoopState
from .waves import WaveProgress

FUEL = 1 << 15  # edges visited in one call of a kernel: about a millisecond
# Edges, between two exchanges with other workers: fewer cost more to exchange than they save.
_LEAST_TURN = 1 << 13
_TOO_MANY = 8  # one in so many commits corrects another: who goes ahead works in vain


class _Outgoing(NamedTuple):
    """What is sent to a worker: with the least wave of its invalidations, 0 without, and at which iteration; None: at any."""

    messages: Messages
    wave: int
    iteration: int | None


_NOTHING = _Outgoing(NO_MESSAGES, 0, None)


class SelectiveProcessor(CompiledPart[Bundle, LoopState]):
    """What main loops and branches have in common: messages in and out, sessions and waves.

    Attributes
    ----------
    is_patient
        Of a main loop: whether forks of now wait until what is left has been done there. A simulation has some that do not, so that forks
        come anywhere.
    """

    is_patient: bool = True

    def __init__(
        self,
        *,
        kernel: ModuleType,
        graph: EvolvingGraph,
        arguments: tuple[object, ...],
        worker: int,
        workers: int,
    ) -> None:
        super().__init__(kernel=kernel, graph=graph, worker=worker, workers=workers)
        self.arguments = compiled_arguments(arguments)
        self.sent_to, self.received_from = [0] * workers, [0] * workers  # bundles, as the totals
        self.waves = WaveProgress(workers) if workers > 1 else None
        # Edges that are visited before others are heard, where nobody is asked.
        self._turn = max(1, FUEL // 4)
        self._unfinished_waves: list[
            int
        ] = []  # of bundles taken in, whose invalidations are still being worked off

    def _held(self) -> LoopState:
        """What answers read."""
        return self.state

    def _pending(self) -> int:
        """How many vertices are dirty."""
        counters = self.state.counters
        return int(counters[names.PENDING_INSIDE] + counters[names.PENDING_BEYOND])

    def statistics(self) -> PartStatistics:
        """The part of this worker in numbers."""
        counters = self.state.counters
        return replace(
            super().statistics(),
            waves=int(counters[names.WAVES]),
            invalidations=int(counters[names.INVALIDATIONS]),
            overtaken=int(counters[names.OVERTAKEN]),
        )

    # Receiving

    def _accept(self, bundle: Bundle, iteration: int) -> None:
        """Take a bundle off the input, for `_receive`."""
        if self.waves is not None:
            self.waves.take(bundle.wave_changes)
        if len(bundle):
            self.bundles_received += 1
            self.received_from[bundle.sender] += 1
            self._arrived.append(Arrived(bundle, iteration))

    def _receive(self) -> bool:
        """Give the kernel the messages that have arrived; return whether all of them are taken in.

        A synchronous loop keeps updates of an iteration waiting until this worker has done its own round of it. They, and what
        the same sender sent after them, must not hold that round back, so they count for the iteration that they cause.
        """
        if self._arrived and self._must_wait(self._arrived[0].bundle):
            return False
        waiting: deque[Arrived[Bundle]] = deque()
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
            self.graph.make_room_for(messages.ids[first:])
            arrived.following = self.kernel.receive(
                self.graph.addresses, *self.state.addresses, self.arguments, sender, *messages, first, FUEL
            )
            self._require_possible(sender, int(self.state.counters[names.IMPOSSIBLE]))
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
                self.operator.activate()
        self._arrived = waiting
        return not waiting

    def _set_floor(self, iteration: int | None = None) -> None:
        """Have the kernel cause no work before an iteration for which this worker has a token."""
        held = self.operator.timestamp if self.operator.token.is_live else iteration
        least = held if iteration is None else iteration if held is None else min(held, iteration)
        assert least is not None
        self.state.counters[names.FLOOR] = least - 1

    # Working

    def _advance(self, fuel: int = FUEL) -> bool:
        """Let the kernel work off what is pending; return whether it has come to an end of what it may do now."""
        if self.state.is_free and not (self._has_pending() or self.state.counters[names.HEAP]):
            return True  # behind a kernel this thread would have to wait for the interpreter lock
        others = horizon = NEVER
        is_free = self.workers > 1 and self.state.is_free
        if self.workers > 1 and not is_free:
            held = self._held_least()
            others = min(self.operator.sending(), held)
            horizon = min(self.operator.arriving(), held)
        self._set_floor()
        self.state.counters[names.SENT_LEAST] = min(self.state.columns.out_least)
        updates, corrections = (
            int(self.state.counters[names.UPDATES]),
            int(self.state.counters[names.CORRECTIONS]),
        )
        left = self.kernel.advance(
            self.graph.addresses,
            *self.state.addresses,
            self.arguments,
            others,
            horizon,
            min(fuel, self._turn) if is_free else fuel,
        )
        if is_free and left <= 0:
            self._adapt_turn(
                int(self.state.counters[names.UPDATES]) - updates,
                int(self.state.counters[names.CORRECTIONS]) - corrections,
            )
        if self._arrived and self.state.counters[names.UPDATES] != updates:
            self.operator.activate()  # a synchronous round may have kept messages of the next one waiting
        return bool(left > 0)

    def _adapt_turn(self, updates: int, corrections: int) -> None:
        """Exchange sooner where much is done in vain, because others have something better, and later where that costs more than it saves."""
        if corrections * _TOO_MANY > updates:
            self._turn = max(self._turn // 2, min(_LEAST_TURN, FUEL))
        elif corrections * _TOO_MANY * 4 < updates:
            self._turn = min(self._turn * 2, FUEL)

    def pending_least(self) -> int:
        """The least iteration at which a dirty vertex here can commit, or NEVER."""
        # Behind a kernel this thread would have to wait for the interpreter lock, to learn that nothing is pending.
        if not self._pending():
            return NEVER
        return int(self.kernel.pending_least(self.state.addresses[1]))

    def _has_pending(self) -> bool:
        """See `CompiledPart`."""
        return bool(self._pending()) or not self._is_settled()

    def _is_settled(self) -> bool:
        """Whether no vertex here is in the middle of anything: of a scan, an invalidation or a wave."""
        return self.is_drained() and not self.state.counters[names.MARKS]

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
        """See `CompiledPart`."""
        if self.is_scanning():
            self.kernel.finish_cursor(self.graph.addresses, *self.state.addresses)

    # Sending

    def _flush(self) -> None:
        """Send what the kernel has put into its outboxes, and what changed in the counts of waves: one bundle to each worker."""
        self._send(self._take_outgoing())

    def _flush_and_settle(self, *, moves_on: bool, is_last: bool = False) -> bool:
        """Flush, with what `_advance_waves` changes, and return what it does: whether there is more to do because a wave has ended."""
        outgoing = self._take_outgoing()
        has_ended = self._advance_waves(moves_on=moves_on, is_last=is_last)
        if outgoing or not has_ended:  # else what changed is told with what is found now
            self._send(outgoing)
        return has_ended

    def _take_outgoing(self) -> dict[int, _Outgoing]:
        """What there is for each worker. It counts as sent, so `_send` has to follow."""
        columns = self.state.columns
        now = self.operator.timestamp
        outgoing = {}
        for target in range(self.workers):
            length = int(columns.out_length[target])
            if length:
                wave = int(columns.out_wave[target])
                if wave == NEVER:
                    wave = 0
                else:
                    assert self.waves is not None
                    self.waves.add(wave, 1)
                # What is no work of its own has the floor that it was made at, and the token may have moved on since.
                iteration = max(now, int(columns.out_least[target]) - 1)
                outgoing[target] = _Outgoing(self.state.outbox(target), wave, iteration)
                self.bundles_sent += 1
                self.sent_to[target] += 1
                columns.out_length[target] = 0
                columns.out_least[target] = columns.out_wave[target] = NEVER
        self.state.counters[names.SENT_LEAST] = NEVER
        return outgoing

    def _send(self, outgoing: dict[int, _Outgoing], rest: Rest | None = None) -> None:
        """Send what was taken, with what changed in the counts of waves, and to everybody where there is something of these to say."""
        changes = () if self.waves is None else self.waves.unsent()
        for target in range(self.workers):
            if target == self.worker or not (target in outgoing or changes or rest):
                continue
            own = outgoing.get(target, _NOTHING)
            bundle = Bundle(self.worker, own.messages, own.wave, wave_changes=changes, rest=rest)
            self.operator.send(target, bundle, own.iteration)

    # Waves

    def _advance_waves(self, *, moves_on: bool, is_last: bool = False) -> bool:
        """Count off the invalidations that are worked off here, move the token of waves, settle what has ended.

        A worker's token moves to the next wave when all earlier ones have ended and somebody is waiting for this one. What was made here
        must have been counted.

        Parameters
        ----------
        moves_on
            Whether the token may move.
        is_last
            Whether it is dropped, as this worker begins no wave any more.

        Returns
        -------
        bool
            Whether vertices may choose anew, as their wave has ended.
        """
        waves, counters = self.waves, self.state.counters
        if waves is None or not self.has_no_invalidations():
            return False
        for wave in self._unfinished_waves:
            waves.add(wave, -1)
        self._unfinished_waves.clear()
        if is_last and waves.token is not None:
            waves.advance_token(None)
        while True:
            frontier = waves.frontier()
            if counters[names.MARKS]:
                ended = NEVER if frontier is None else frontier - 1
                marks = self.state.columns.marks[: counters[names.MARKS]]
                if int(self.state.columns.wave[marks].min()) <= ended:
                    self.kernel.end_waves(self.state.addresses[1], ended)
                    return True
            is_waited_for = counters[names.MARKS] or waves.beyond_token()
            if not (moves_on and is_waited_for and waves.token is not None and frontier == waves.token):
                return False
            waves.advance_token(waves.token + 1)
            counters[names.NEXT_WAVE] = waves.token

    # The token

    def _move_token(self, *, stays: bool) -> None:
        """Downgrade the token to the least iteration that work is pending at; without work, see `LoopOperator.move_token`."""
        if not self.operator.token.is_live:
            return
        least = self.pending_least()
        if least > self.state.counters[names.CAP]:
            least = NEVER
        self.operator.move_token(min(least, self._held_least()), stays=stays)


def concatenated(parts: list[Messages]) -> Messages:
    """All messages, in order."""
    return Messages.of(np.concatenate(columns) for columns in zip(*parts, strict=True))
