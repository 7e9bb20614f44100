"""A processor: one worker's part of a loop of core numbers, whose kernel works inside a loop operator (`loop_operator.py`).

*The unit of the protocol is the part.* Within a part vertices hear each other at once; towards the other parts it is one vertex (a
block, as in GRAPE and Blogel) that commits once an iteration, a *turn*: what it tells is stamped with the iteration of the turn, and
what it hears of iteration i makes work at i + 1. A turn is at most B - 1 iterations ahead of the least one at which another part may
still tell something. With B = 1 one begins only when nothing of an earlier iteration can still arrive. Nobody is asked before a
turn: what is told is absolute, and whoever hears of it later does what is missing then.

Which turns are for falling and which for rising says the coordinator (`coordinator.py`).
"""

from __future__ import annotations

from types import ModuleType

from ...graph import EvolvingGraph
from ...graph.graph_columns import EDGES
from ...loops.loop_operator import NEVER
from ..compiled_part import Arrived, CompiledPart
from . import loop_columns as names
from .bundle import CoreBundle, Notice, PhaseOrder, PhaseReport
from .coordinator import PhaseCoordinator
from .loop_columns import FINISH, RAISE_ALL, REST, WAVE
from .loop_state import CoreState

FUEL = 1 << 15  # edges visited in one call of a kernel: about a millisecond
_COORDINATOR = 0


class CoreProcessor(CompiledPart[CoreBundle, CoreState]):
    """What main loops and branches have in common: messages in and out, turns, phases, statistics.

    Parameters
    ----------
    rests
        Whether more may come when all is done.

    Attributes
    ----------
    next_iteration
        Of the next turn.
    needs_all
        All have to rise: there are vertices that were never raised.
    """

    def __init__(
        self,
        *,
        kernel: ModuleType,
        graph: EvolvingGraph,
        delay_bound: int | None,
        worker: int,
        workers: int,
        rests: bool,
    ) -> None:
        super().__init__(kernel=kernel, graph=graph, worker=worker, workers=workers)
        self.delay_bound = delay_bound
        self.next_iteration = 1
        self.needs_all = False
        self._coordinator = PhaseCoordinator(workers=workers, rests=rests) if worker == _COORDINATOR else None
        self._instruction = PhaseCoordinator(workers=workers, rests=rests).instruction
        self._reported: PhaseReport | None = None  # the last report on that
        self._sent = [0] * workers  # bundles with messages, by worker
        self._received = [0] * workers
        self._row: int | None = None  # the first that is to be raised next, where all are

    def _held(self) -> CoreState:
        """What answers read."""
        return self.state

    def _pending(self) -> int:
        """How many vertices."""
        return self.state.pending

    # Receiving

    def _accept(self, bundle: CoreBundle, iteration: int) -> None:
        """Take a bundle off the input, for `_receive`."""
        self.bundles_received += 1
        if len(bundle):
            self._received[bundle.sender] += 1
        self._arrived.append(Arrived(bundle, iteration))

    def _receive(self) -> None:
        """Give the kernel the messages that have arrived, as far as its fuel goes."""
        while self._arrived:
            arrived = self._arrived[0]
            bundle = arrived.bundle
            if self._must_wait(bundle):
                return
            if len(bundle):
                self.next_iteration = max(self.next_iteration, arrived.iteration)
                # Vertices whose first record has not been applied here yet: a full table would be searched for ever.
                self.graph.make_room_for(bundle.messages.ids[arrived.following :])
                arrived.following = self.kernel.receive(
                    *self._loop, bundle.sender, *bundle.messages, arrived.following, FUEL
                )
                self._require_possible(bundle.sender, int(self.state.counters[names.IMPOSSIBLE]))
                if arrived.following < len(bundle) or self.is_scanning():
                    self.operator.activate()
                    return
            self._arrived.popleft()
            self._take_notice(bundle)

    @property
    def _loop(self) -> tuple[object, object]:
        """What most entry points of the kernel begin with."""
        return self.graph.addresses, self.state.addresses

    def is_scanning(self) -> bool:
        """Whether the graph must not change, because a scan of one of its lists was cut short."""
        return bool(self.state.counters[names.CURSOR_KIND])

    def finish_cursor(self) -> None:
        """See `CompiledPart`."""
        if self.is_scanning():
            self.kernel.finish_cursor(*self._loop)

    # Turns

    def has_work(self) -> bool:
        """Whether there is something to do in the phase."""
        counters, phase = self.state.counters, self._instruction.phase
        if phase == FINISH:
            return False
        if phase == RAISE_ALL:
            return self._row is not None
        waiting = counters[names.WAVE_LENGTH if phase == WAVE else names.DIRTY_LENGTH]
        return bool(waiting) or self.is_scanning()

    def may_begin_turn(self) -> bool:
        """Whether the delay bound allows the next iteration now."""
        # The next turn is where the token is, which follows the others while there is nothing to do here.
        self.next_iteration = max(self.next_iteration, self.operator.timestamp)
        if self.workers == 1 or self.delay_bound is None:
            return True
        held = self._held_least()
        if self.delay_bound == 1:
            return self.next_iteration < min(self.operator.arriving(), held)
        others = min(self.operator.sending(), held)
        return others == NEVER or self.next_iteration - others < self.delay_bound

    def _turn(self, fuel: int) -> None:
        """Do some of what there is to do in the phase, in one iteration."""
        self._flush()
        self.operator.move_token(self.next_iteration, stays=True)
        counters, phase = self.state.counters, self._instruction.phase
        updates = int(counters[names.UPDATES])
        if phase == RAISE_ALL:
            row = int(self.kernel.raise_all(*self._loop, self._row, fuel))
            self._row = row if row < self.state.rows_seen else None
            self.needs_all = self._row is not None
        elif phase == WAVE:
            self.kernel.spread_wave(*self._loop, fuel)
        else:
            self.kernel.lower(*self._loop, fuel)
        made = int(counters[names.UPDATES]) - updates
        if made:
            self.state.note(self.next_iteration, made)
            self.next_iteration += 1
        self._flush()

    # Sending

    def _flush(self) -> None:
        """Send what the kernel has put into its outboxes, at the iteration of the token."""
        columns = self.state.columns
        for target in range(self.workers):
            if columns.out_length[target]:
                self._sent[target] += 1
                self._send(target, CoreBundle(self.worker, self.state.outbox(target)))
                columns.out_length[target] = 0

    def _send(self, target: int, bundle: CoreBundle) -> None:
        self.operator.send(target, bundle)
        self.bundles_sent += 1

    # Phases

    def _report_when_done(self, *, is_capped: bool = False) -> None:
        """Tell the coordinator, where it waits for that, that there is nothing left to do in the phase; all must have been sent."""
        instruction, counters = self._instruction, self.state.counters
        if instruction.phase == FINISH or (instruction.phase == REST and not self._needs_rise()):
            return
        report = PhaseReport(
            number=instruction.number,
            sent=tuple(self._sent),
            received=tuple(self._received),
            marks=self.state.marks,
            vertices=self.graph.vertices,
            edges=int(self.graph.columns.counters[EDGES]),
            visits=int(counters[names.EDGES_VISITED]),
            needs_all=self.needs_all,
            is_capped=is_capped,
        )
        if report == self._reported:
            return
        self._reported = report
        if self._coordinator is not None:
            self._tell_all(self._coordinator.hear(self.worker, report))
        else:
            self._tell(_COORDINATOR, report)

    def _needs_rise(self) -> bool:
        return self.needs_all or self.state.marks > 0

    def _take_notice(self, bundle: CoreBundle) -> None:
        """Take in what stands behind the messages of a bundle, which are taken in."""
        notice = bundle.notice
        if isinstance(notice, PhaseOrder):
            self._obey(notice)
        elif isinstance(notice, PhaseReport):
            assert self._coordinator is not None
            self._tell_all(self._coordinator.hear(bundle.sender, notice))

    def _tell_all(self, instruction: PhaseOrder | None) -> None:
        """Of the coordinator: have all parts obey."""
        if instruction is not None:
            for target in range(self.workers):
                if target != self.worker:
                    self._tell(target, instruction)
            self._obey(instruction)

    def _obey(self, instruction: PhaseOrder) -> None:
        self.finish_cursor()
        self._instruction = instruction
        self._reported = None
        self._row = None
        self.state.counters[names.PHASE] = instruction.phase
        if instruction.phase == WAVE:
            self.kernel.begin_wave(self.state.addresses)
        elif instruction.phase == RAISE_ALL:
            self.kernel.begin_raising(self.state.addresses)
            self._row = 0
            self.needs_all = True
        self.operator.activate()

    def _tell(self, target: int, notice: Notice) -> None:
        self._flush()  # what was told before stands before it
        self._send(target, CoreBundle(self.worker, notice=notice))
