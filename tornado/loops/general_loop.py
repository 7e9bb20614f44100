"""The main loop of a general program, as its owner holds it: what differs from a compiled one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

import numpy as np

from ..errors import InvalidArgument, NotSupported
from ..ingest.records import EdgeBatch
from .branch import Branch
from .general_branch import GeneralBranch
from .general_main import GeneralMain
from .general_program import GeneralProgram
from .host import MakePart
from .main_loop import MainLoop
from .main_processor import Share
from .part import BranchPart
from .partition import owners_of
from .restoration import Restored
from .stored_values import StoredValues
from .values import Values


class GeneralLoop(MainLoop):
    """See the module and `MainLoop`. Its snapshots are copies in memory; none are stored."""

    is_stored = False

    def checkpoint(self, *, before_write: Callable[[], None] | None = None) -> int:
        """Not for general programs: what a state is written as is not defined.

        Raises
        ------
        NotSupported
            Always.
        """
        del before_write
        raise self._unsupported()

    def restore(self) -> Restored | None:
        """Begin with nothing.

        Raises
        ------
        InvalidArgument
            When the store has snapshots of a selective program by this name.
        """
        stored = self._stored.newest()
        if stored is None:
            return None
        raise InvalidArgument(
            f"loop {self.name!r} cannot go on from its snapshot of version {stored.snapshot.version}, which "
            f"{stored.described} left: {type(self.program).__name__} is a general program",
            hint="Start the program that was stored, or name another loop or an empty store.",
        )

    def _unsupported(self) -> NotSupported:
        return NotSupported(
            f"loop {self.name!r} runs {type(self.program).__name__}, a general program, of which no snapshots are stored",
            hint="Fork without `at`; only selective programs are stored.",
        )

    @property
    def _general(self) -> GeneralProgram:
        return cast("GeneralProgram", self.program)

    def _maker(self) -> MakePart:
        return partial(GeneralMain, program=self._general, delay_bound=self.delay_bound)

    def _arguments(self, program: Any) -> tuple[Any, ...]:
        return (program,)

    def _fork_at(self, at: int, program: Any, max_iterations: int | None) -> Branch:
        del at, program, max_iterations
        raise self._unsupported()

    def _shares(self, batch: EdgeBatch) -> list[Share]:
        """Each worker gets the records of which it owns an end: targets have their edges, sources know their targets."""
        nothing = batch.src[:0]
        consumers, producers = owners_of(batch.dst, self.workers), owners_of(batch.src, self.workers)
        shares = []
        for worker in range(self.workers):
            part = batch.take((consumers == worker) | (producers == worker))
            shares.append(Share(0, part.src, part.dst, part.weight, part.op, nothing))
        return shares

    def _values_of(self, parts: Sequence[BranchPart]) -> Values:
        return self._values([(part, None) for part in parts])

    def _values(self, parts: Sequence[tuple[Any, int | None]]) -> Values:
        # Copying a dictionary is one step for other threads.
        seen = [
            part.vertices.values.copy() for part, _ in parts if isinstance(part, GeneralMain | GeneralBranch)
        ]
        count = sum(map(len, seen))
        ids = np.fromiter((vertex for values in seen for vertex in values), np.int64, count)
        found = np.fromiter((value for values in seen for value in values.values()), np.float64, count)
        return StoredValues(ids, found, rank=self.program.rank, worst=self._general.worst)
