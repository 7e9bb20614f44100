"""The main loop of a general program on one worker: admits batches, keeps the approximation up to date, lets branches be forked.

The ingress is part of the processor, and forks are consistent cuts by markers, both as in `main_processor.py`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ..protocol.messages import AddEdge, RemoveEdge, Touch
from ..protocol.messages import Input as EdgeInput
from ..protocol.resumption import is_of_a_cut
from .general_branch import GeneralBranch
from .general_edges import GeneralEdges
from .general_processor import HOPS, GeneralProcessor, Letter
from .general_program import GeneralProgram, LoopView
from .general_vertices import GeneralVertices, Named, TargetAdded, TargetRemoved
from .loop_columns import NEVER
from .main_processor import Share
from .part import PartStatistics, Traffic

if TYPE_CHECKING:
    from .host import Fork
    from .selective_state import LoopState

_RECORDS = 512  # applied in one activation


class GeneralMain(GeneralProcessor):
    """See the module.

    Parameters
    ----------
    program
        What the user wrote.
    on_applied
        Called with the number of records that were applied.
    """

    def __init__(
        self,
        *,
        program: GeneralProgram,
        delay_bound: int | None,
        worker: int,
        workers: int,
        on_applied: Callable[[int], None],
    ) -> None:
        super().__init__(delay_bound=delay_bound, worker=worker, workers=workers)
        self.program = program
        self.edges = GeneralEdges(self.owns)
        self.applied_version = 0
        self.is_idle = True
        self._begin(GeneralVertices(program, LoopView("main", 0, 0)), 0)
        self._named: set[int] = set()
        self._commands: deque[Share | GeneralBranch] = deque()
        self._forking: deque[GeneralBranch] = deque()  # recorded here, markers still missing
        self._behind_markers: list[deque[tuple[Letter, int]]] = [deque() for _ in range(workers)]
        # By sender: a marker that came before this worker's own record.
        self._markers: list[Letter | None] = [None] * workers
        self._recorded = -1
        self._on_applied = on_applied

    def tidy(self) -> None:
        """Nothing to tidy up while nothing comes."""

    def command(self, command: Share | GeneralBranch) -> None:
        """A share to apply, or a branch to record the state for; in the order of admission."""
        self.is_idle = False
        self._commands.append(command)
        self._context.activate()

    def traffic(self) -> Traffic:
        """See `MainView`."""
        received = self.bundles_received  # first: a receipt that follows shows as one that is missing
        return Traffic(self.is_idle, received, self.bundles_sent)

    def step(self) -> None:
        """Take in messages, then commands, then begin sessions."""
        self._pull()
        more = self._obey()
        self._flush()
        moved = self._move_token(stays=True)
        self._inform()
        started = self._start()
        self._flush()
        moved = self._move_token(stays=True) or moved
        self.is_idle = not self._commands and self._held_least() == NEVER and self.session.is_at_rest()
        if more or started or moved:
            self._context.activate()

    def statistics(self) -> PartStatistics:
        """The part of this worker in numbers."""
        return replace(
            super().statistics(), edges=self.edges.count, missing_removals=self.edges.missing_removals
        )

    # Branches

    def fork(self, command: Fork, spare: list[LoopState]) -> GeneralBranch:
        """The part of this worker of a new branch."""
        del spare
        (program,) = command.arguments
        return GeneralBranch(
            number=command.number,
            program=program,
            delay_bound=self.delay_bound,
            worker=self.worker,
            workers=self.workers,
            fresh=command.fresh,
            max_iterations=command.max_iterations,
        )

    def forget(self, branch: GeneralBranch) -> None:
        """A branch is over; it has copies of everything."""

    # Commands

    def _obey(self) -> bool:
        """Apply shares and record forks; whether there are more."""
        left = _RECORDS
        while self._commands:
            command = self._commands[0]
            if isinstance(command, Share):
                if not left:
                    return True
                left -= self._apply(command, left)
                if command.following < len(command.sources):
                    return True
                self.applied_version = command.version
            else:
                self._record(command)
            self._commands.popleft()
        return False

    def _apply(self, share: Share, most: int) -> int:
        """Apply up to so many records of a share; how many."""
        time = self._token.time[1]
        iteration = self.session.first_iteration - (
            -time // HOPS
        )  # the first that begins at the token or later
        first = share.following
        last = min(len(share.sources), first + most)
        columns = (share.sources, share.targets, share.weights, share.operations)
        for source, target, weight, operation in zip(
            *(column[first:last].tolist() for column in columns), strict=True
        ):
            self._apply_record(iteration, source, target, weight, operation)
        share.following = last
        self._on_applied(last - first)
        return last - first

    def _apply_record(self, iteration: int, source: int, target: int, weight: float, operation: int) -> None:
        produces, consumes = self.owns(source), self.owns(target)
        for vertex, is_own in ((source, produces), (target, consumes)):
            if is_own and vertex not in self._named:
                self._named.add(vertex)
                self._tell(EdgeInput(iteration, Touch(vertex, Named())))
        for begins, changed in self.edges.apply(source, target, weight, operation):
            if produces:
                said = TargetAdded(target, changed) if begins else TargetRemoved(target, changed)
                self._tell(EdgeInput(iteration, Touch(source, said)))
            if consumes:
                kind = AddEdge if begins else RemoveEdge
                self._tell(EdgeInput(iteration, kind(source, target, changed)))

    # Snapshots

    def _record(self, branch: GeneralBranch) -> None:
        """Record this worker's state for a branch, and send the markers behind what was sent before."""
        self._flush()
        branch.record(self)
        self._recorded = branch.number
        for target in range(self.workers):
            if target != self.worker:
                marker = Letter(self.worker, marker=branch.number, iteration=self.iteration)
                self._send(target, marker, None)
        branch.missing_markers += self.workers - 1
        self._forking.append(branch)
        for sender, marker_before in enumerate(self._markers):
            if marker_before is not None and marker_before.marker == branch.number:
                self._markers[sender] = None
                branch.marker_came(sender, marker_before.iteration)
                self._take_waiting(sender)
        self.start_complete_forks()

    def _take_waiting(self, sender: int) -> None:
        """Take in what came behind a marker, up to the next one."""
        waiting, self._behind_markers[sender] = self._behind_markers[sender], deque()
        while waiting and self._markers[sender] is None:
            self._accept(*waiting.popleft())
        self._behind_markers[sender].extend(waiting)

    def _accept(self, letter: Letter, time: int) -> None:
        """A letter from another worker, in the order of its channel; markers say which snapshots it belongs to."""
        sender = letter.sender
        self.is_idle = False
        if self._markers[sender] is not None or self._behind_markers[sender]:
            self._behind_markers[sender].append((letter, time))  # from after a snapshot not recorded here yet
        elif letter.marker < 0:
            kept = [message for message in letter.messages if is_of_a_cut(message)]
            for branch in self._forking:
                if branch.awaits(sender):
                    branch.keep(kept)
            super()._accept(letter, time)
        elif letter.marker <= self._recorded:
            for branch in self._forking:
                if branch.number == letter.marker:
                    branch.marker_came(sender, letter.iteration)
            self.start_complete_forks()
        else:
            self._markers[sender] = letter

    def start_complete_forks(self) -> None:
        """Start the branches whose snapshots are complete."""
        while self._forking and self._forking[0].missing_markers == 0:
            self._forking.popleft().start()

    def _held_least(self) -> int:
        return min((time for waiting in self._behind_markers for _, time in waiting), default=NEVER)
