"""A processor: one worker's part of a loop of rounds, whose kernel works inside a loop operator (`loop_operator.py`).

A timestamp is an iteration: the token is at the least one at which this worker may still compute a cell.
"""

from __future__ import annotations

from types import ModuleType

from ...graph import EvolvingGraph
from ...loops.loop_operator import NEVER
from ..compiled_functions import compiled_arguments
from ..compiled_part import Arrived, CompiledPart
from . import loop_columns as names
from .bundle import RoundsBundle
from .kept_sums import KeptSums
from .loop_state import RoundsState

FUEL = 1 << 15  # edges visited in one call of a kernel: about a millisecond


class RoundsProcessor(CompiledPart[RoundsBundle, RoundsState]):
    """What main loops and branches have in common: messages in and out, and the rounds that are computed."""

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
        self.kept = KeptSums(kernel, self.arguments, worker, workers)

    def _held(self) -> RoundsState:
        """What answers read."""
        return self.state

    def _pending(self) -> int:
        """How many cells."""
        return int(self.state.counters[names.PENDING]) + int(self.is_scanning())

    # Receiving

    def _accept(self, bundle: RoundsBundle, iteration: int) -> None:
        """Take a bundle off the input, for `_receive`."""
        if bundle.kept is not None:
            self.bundles_received += 1
            self.kept.hear(bundle.sender, bundle.kept, self.state)
        elif len(bundle):
            self.bundles_received += 1
            self._arrived.append(Arrived(bundle, iteration))

    def _receive(self) -> None:
        """Give the kernel the messages that have arrived, as far as its fuel goes."""
        while self._arrived:
            arrived = self._arrived[0]
            bundle = arrived.bundle
            if self._must_wait(bundle):
                return
            self._set_floor(arrived.iteration)
            # Vertices whose first record has not been applied here yet: a full table would be searched for ever.
            self.graph.make_room_for(bundle.messages.ids[arrived.following :])
            arrived.following = self.kernel.receive(
                self.graph.addresses, self.state.addresses, self.arguments, bundle.sender, *bundle.messages,
                arrived.following, FUEL,
            )  # fmt: skip
            self._require_possible(bundle.sender, int(self.state.counters[names.IMPOSSIBLE]))
            if arrived.following < len(bundle):
                self.operator.activate()
                return
            self._arrived.popleft()

    def _set_floor(self, iteration: int | None = None) -> None:
        """Have the kernel cause no work before an iteration for which this worker has a token."""
        held = self.operator.timestamp if self.operator.token.is_live else iteration
        least = held if iteration is None else iteration if held is None else min(held, iteration)
        assert least is not None
        self.state.counters[names.FLOOR] = least - 1

    # Working

    def _advance(self, fuel: int) -> bool:
        """Let the kernel compute what is dirty; return whether it has come to an end of what it may do now."""
        horizon = NEVER
        if self.workers > 1:
            horizon = min(self.operator.arriving(), self._held_least())
        self._set_floor()
        self.state.counters[names.SENT_LEAST] = min(self.state.columns.out_least)
        left = self.kernel.advance(self.graph.addresses, self.state.addresses, horizon, fuel)
        return bool(left > 0)

    def pending_least(self) -> int:
        """The least iteration at which there is work here, or NEVER."""
        return int(self.kernel.pending_least(self.state.addresses))

    def is_scanning(self) -> bool:
        """Whether the graph must not change, because a scan of one of its lists was cut short."""
        return bool(self.state.counters[names.CURSOR_KIND])

    def finish_cursor(self) -> None:
        """See `CompiledPart`."""
        if self.is_scanning():
            self.kernel.finish_cursor(self.graph.addresses, self.state.addresses)

    # Sending

    def _flush(self) -> None:
        """Send what the kernel has put into its outboxes, each bundle stamped with the least iteration it can cause work at."""
        columns = self.state.columns
        for target in range(self.workers):
            if columns.out_length[target]:
                # What is no work of its own has the floor that it was made at, and the token may have moved on since.
                iteration = max(self.operator.timestamp, int(columns.out_least[target]) - 1)
                self.operator.send(target, RoundsBundle(self.worker, self.state.outbox(target)), iteration)
                self.bundles_sent += 1
                columns.out_length[target] = 0
                columns.out_least[target] = NEVER
        self.state.counters[names.SENT_LEAST] = NEVER

    def _tell_kept(self, vertices: int) -> None:
        """Tell all others what those of this worker's vertices keep at which no edge begins."""
        own = self.kept.sum_own(self.graph, self.state, vertices)
        if self.workers > 1:
            self.operator.send_to_others(RoundsBundle(self.worker, kept=own))
            self.bundles_sent += self.workers - 1

    # The token

    def _move_token(self, *, stays: bool, last: int = NEVER) -> None:
        """Downgrade the token to the least iteration that work is pending at, or to `last` where that is before.

        Without work, see `LoopOperator.move_token`.
        """
        least = self.pending_least()
        if least > self.state.counters[names.CAP]:
            least = NEVER
        self.operator.move_token(min(least, self._held_least(), last), stays=stays)
