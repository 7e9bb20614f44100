"""The main loop of a general program on one worker: admits batches, keeps the approximation up to date, lets branches be forked.

The ingress is part of the processor, as in `main_processor.py`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import cast

from ...errors import NotSupported
from ...loops.forks import Forks
from ...loops.part import BranchPart, PartStatistics, Traffic
from ...loops.share import Share
from ...protocol.messages import AddEdge, Input, RemoveEdge, Touch
from ..session_processor import Letter
from .branch_processor import GeneralBranch
from .edges import GeneralEdges
from .processor import GeneralProcessor
from .program import GeneralProgram, LoopView
from .vertices import GeneralVertices, Named, TargetAdded, TargetRemoved

_RECORDS = 512  # applied in one activation


class GeneralMain(GeneralProcessor):
    """See the module.

    Parameters
    ----------
    program
        What the user wrote.
    on_applied
        Called with the number of records that were applied.
    stream
        None: it has what it reads for itself.
    """

    def __init__(
        self,
        *,
        program: GeneralProgram,
        delay_bound: int | None,
        worker: int,
        workers: int,
        on_applied: Callable[[int], None],
        stream: object | None,
    ) -> None:
        if stream is not None:
            raise NotSupported("a general program reads a stream of its own")
        super().__init__(delay_bound=delay_bound, worker=worker, workers=workers)
        self.program = program
        self.edges = GeneralEdges(self.owns)
        self.applied_version = 0
        self.is_idle = True
        self._begin(GeneralVertices(program, LoopView("main", 0, 0)), 0)
        self._named: set[int] = set()
        self._commands: deque[Share | GeneralBranch] = deque()
        self._forks = Forks(self.operator, marker=self._marker_of, deliver=self._accept)
        self._on_applied = on_applied

    @property
    def stream(self) -> GeneralMain:
        """The part itself, which shares its vertices and edges with no other loop."""
        return self

    def tidy(self) -> None:
        """Do nothing: there is nothing to tidy up."""

    def admit(self, share: Share) -> None:
        """Apply a share, when it is its turn in the sequence."""
        self._put(share)

    def command(self, branch: BranchPart) -> None:
        """Record the state for a branch, when it is its turn in the sequence."""
        self._put(cast("GeneralBranch", branch))

    def _put(self, command: Share | GeneralBranch) -> None:
        self.is_idle = False
        self._commands.append(command)
        self.operator.activate()

    def traffic(self) -> Traffic:
        """See `MainPartView`."""
        received = self.bundles_received  # first: a receipt that follows shows as one that is missing
        return Traffic(self.is_idle, received, self.bundles_sent)

    def step(self) -> None:
        """Take in messages, then commands, then begin sessions."""
        self.operator.pull(self._take)
        more = self._obey()
        started, moved = self._go_on(stays=True)
        self.is_idle = not self._commands and not self._forks.is_holding and self.session.is_at_rest()
        if more or started or moved:
            self.operator.activate()

    def statistics(self) -> PartStatistics:
        """The part of this worker in numbers."""
        return replace(
            super().statistics(), edges=self.edges.count, missing_removals=self.edges.missing_removals
        )

    # Branches

    def fork(
        self, *, number: int, arguments: tuple[object, ...], fresh: bool, max_iterations: int | None
    ) -> GeneralBranch:
        """Make this worker's part of a new branch."""
        (program,) = cast("tuple[GeneralProgram]", arguments)
        return GeneralBranch(
            number=number,
            program=program,
            delay_bound=self.delay_bound,
            worker=self.worker,
            workers=self.workers,
            fresh=fresh,
            max_iterations=max_iterations,
        )

    def forget(self, branch: BranchPart) -> None:
        """Do nothing: a branch has copies of everything, and takes nothing of this part with it."""

    def take_back(self, reusable: object) -> None:
        """Do nothing: a branch leaves nothing that another could use."""

    # Commands

    def _obey(self) -> bool:
        """Apply shares and record forks; return whether there are more."""
        left = _RECORDS
        while self._commands:
            command = self._commands[0]
            if isinstance(command, Share):
                if not left:
                    return True
                left -= self._apply(command, left)
                if not command.is_applied:
                    return True
                self.applied_version = command.version
            else:
                self._record(command)
            self._commands.popleft()
        return False

    def _apply(self, share: Share, most: int) -> int:
        """Apply up to so many records of a share; return how many."""
        iteration = self._input_iteration()
        first = share.following
        last = min(len(share.batch), first + most)
        for source, target, weight, operation in zip(
            *(column[first:last].tolist() for column in share.batch.columns().values()), strict=True
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
                self._tell(Input(iteration, Touch(vertex, Named())))
        for begins, changed in self.edges.apply(source, target, weight, operation):
            if produces:
                said = TargetAdded(target, changed) if begins else TargetRemoved(target, changed)
                self._tell(Input(iteration, Touch(source, said)))
            if consumes:
                kind = AddEdge if begins else RemoveEdge
                self._tell(Input(iteration, kind(source, target, changed)))

    # Snapshots

    def _record(self, branch: GeneralBranch) -> None:
        """Record this worker's state for a branch."""
        self._flush()
        branch.record(
            version=self.applied_version,
            iteration=self.iteration,
            edges=self.edges,
            session=self.session,
            vertices=self.vertices,
        )
        self._forks.record(branch)

    def _marker_of(self, fork: int) -> Letter:
        return Letter(self.worker, marker=fork, iteration=self.iteration)

    def _take(self, letter: Letter, time: int) -> None:
        self.is_idle = False
        self._forks.take(letter, time)

    def _held_least(self) -> int:
        return self._forks.held_least()
