"""A processor: one worker's part of an accumulative loop, whose kernel works inside a loop operator (`loop_operator.py`).

*The unit of the protocol is the part.* Within a part vertices announce in whatever order is best, and hear each other at once; towards
the other parts it is one vertex (a block, as in GRAPE and Blogel) that commits once an iteration: what it announces in a turn is
stamped with the iteration of the turn, what it hears of iteration i makes work at i + 1, and a turn is at most B - 1 iterations
ahead of the least one at which another part may still announce. With B = 1 a turn begins only when nothing of an earlier iteration
can still arrive. A block asks nobody before it commits, as nobody's answer would change which iteration is next: there is no
PREPARE. So rule 3 (what commits at j has gathered all commits below j) holds for B = 1 and is relaxed above, where values are no less
right for it: what is announced is absolute, and what is not heard yet is a residual of somebody.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from ...graph import EvolvingGraph
from ...loops.loop_operator import NEVER
from ..compiled_functions import compiled_arguments
from ..compiled_part import Arrived, CompiledPart
from . import loop_columns as names
from .bundle import SumBundle
from .loop_state import SumState

FUEL = 1 << 16  # edges visited in one call of a kernel: about a millisecond
DENSE_SHARE = 4  # one in so many edges that begin at a row that has to announce, and values are pulled


class AccumulativeProcessor(CompiledPart[SumBundle, SumState]):
    """What main loops and branches have in common: messages in and out, turns, statistics.

    Attributes
    ----------
    next_iteration
        Of the next turn.
    weigh_in_lists
        Goes on with putting weights into in-lists, up to its fuel; returns whether all are there.
    """

    def __init__(
        self,
        *,
        kernel: ModuleType,
        graph: EvolvingGraph,
        arguments: tuple[object, ...],
        delay_bound: int | None,
        worker: int,
        workers: int,
        weigh_in_lists: Callable[[int], bool],
    ) -> None:
        super().__init__(kernel=kernel, graph=graph, worker=worker, workers=workers)
        self.weigh_in_lists = weigh_in_lists
        self.arguments = compiled_arguments(arguments)
        self.delay_bound = delay_bound
        self.next_iteration = 1
        self._row: int | None = None  # of the sweep, or of the measuring, that is under way
        self._is_stale = False  # sums are older than what was announced

    def free(self) -> None:
        """Let go of what takes memory, and of the part that puts weights there."""
        super().free()
        self.__dict__.pop("weigh_in_lists", None)

    def _pending(self) -> int:
        """How many vertices are to announce."""
        return int(self.state.counters[names.QUEUE_LENGTH])

    # Receiving

    def _accept(self, bundle: SumBundle, iteration: int) -> None:
        """Take a bundle off the input, for `_receive`."""
        self.bundles_received += 1
        self._arrived.append(Arrived(bundle, iteration))

    def _receive(self) -> None:
        """Give the kernel the messages that have arrived, as far as its fuel goes."""
        while self._arrived:
            arrived = self._arrived[0]
            bundle = arrived.bundle
            if self._must_wait(bundle):
                return
            messages = bundle.messages
            if len(messages.kinds):
                self.next_iteration = max(self.next_iteration, arrived.iteration)
                # Vertices whose first record has not been applied here yet: a full table would be searched for ever.
                self.graph.make_room_for(messages.ids[arrived.following :])
                arrived.following = self.kernel.receive(
                    *self._loop, bundle.sender, *messages, arrived.following, FUEL
                )
                self._require_possible(bundle.sender, int(self.state.counters[names.IMPOSSIBLE]))
                if arrived.following < len(messages.kinds) or self.is_telling:
                    self.operator.activate()
                    return
            self._arrived.popleft()
            self._take_notices(bundle)

    def _take_notices(self, bundle: SumBundle) -> None:
        """Take in what stands behind the messages of a bundle, which are taken in."""
        raise NotImplementedError

    @property
    def _loop(self) -> tuple[object, object, tuple[object, ...]]:
        """What most entry points of the kernel begin with."""
        return self.graph.addresses, self.state.addresses, self.arguments

    def _add_up(self) -> None:
        self.kernel.add_up(self.state.addresses, self.arguments)

    def _find_active(self) -> None:
        self.kernel.find_active(self.state.addresses, self.arguments)

    @property
    def is_telling(self) -> bool:
        """Whether the consumers of some vertex were not all told yet what it announced."""
        return bool(self.state.counters[names.CURSOR_ROW])

    def finish_cursor(self) -> None:
        """Tell those that are left, so that the graph may change."""
        if self.is_telling:
            self.kernel.finish_cursor(*self._loop)

    # Pulling

    def _begin_pulling(self) -> None:
        """From now on sums are older than what is announced, until they are measured."""
        self.finish_cursor()
        self._is_stale = True
        self.state.begin_pulling()
        self.kernel.clear_queue(self.state.addresses)

    def _sweep_rows(self, fuel: int) -> bool:
        """Some of a sweep; return whether it is over."""
        if self._row is None:
            self.state.totals[[names.CHANGE, names.FLOW, names.SWEPT_MASS]] = 0.0
            self._row = 0
        if not self._has_weights(fuel):
            return False
        rows = self.state.rows_seen
        self._row = int(self.kernel.sweep(*self._loop, self._row, rows, fuel))
        if self._row < rows:
            return False
        self._row = None
        return True

    def _measure(self, fuel: int) -> bool:
        """Some of the measuring of all sums, of what is announced now; return whether it is over, and so the pulling, too."""
        if self._row is None:
            self._row = 0
        if not self._has_weights(fuel):
            return False
        rows = self.state.rows_seen
        self._row = int(
            self.kernel.measure(self.graph.addresses, self.state.addresses, self._row, rows, fuel)
        )
        if self._row < rows:
            return False
        self._row = None
        self._is_stale = False
        self.state.counters[names.PULLS] = 0
        return True

    def _has_weights(self, fuel: int) -> bool:
        """Whether in-lists have what their edges weigh, which is put there before a list is pulled, if some weight is not 1."""
        return self._row != 0 or not self.state.counters[names.WEIGHTED] or self.weigh_in_lists(fuel)

    # Turns

    def _catch_up(self) -> None:
        """Have the next turn be where the token is, which follows the others while there is nothing to do here."""
        self.next_iteration = max(self.next_iteration, self.operator.timestamp)

    def may_begin_turn(self) -> bool:
        """Whether the delay bound allows the next iteration now."""
        self._catch_up()
        if self.workers == 1 or self.delay_bound is None:
            return True
        held = self._held_least()
        if self.delay_bound == 1:
            return self.next_iteration < min(self.operator.arriving(), held)
        others = min(self.operator.sending(), held)
        return others == NEVER or self.next_iteration - others < self.delay_bound

    def _announce(self, fuel: int) -> None:
        """One turn of queued vertices; the token must be at its iteration."""
        counters, totals = self.state.counters, self.state.totals
        updates, totals[names.RESIDUAL] = int(counters[names.UPDATES]), 0.0
        self.kernel.announce(*self._loop, fuel)
        made = int(counters[names.UPDATES]) - updates
        if made:
            self.state.note(self.next_iteration, made, float(totals[names.RESIDUAL]))
            self.next_iteration += 1

    # Sending

    def _flush(self) -> None:
        """Send what the kernel has put into its outboxes, at the iteration of the token."""
        columns = self.state.columns
        for target in range(self.workers):
            if columns.out_length[target]:
                bundle = SumBundle(self.worker, self.state.outbox(target), mass=self._mass())
                self._send(target, bundle)
                columns.out_length[target] = 0

    def _send(self, target: int, bundle: SumBundle) -> None:
        self.operator.send(target, bundle)
        self.bundles_sent += 1

    def _mass(self) -> float:
        """What the values here sum to."""
        return float(self.state.totals[names.MASS])
