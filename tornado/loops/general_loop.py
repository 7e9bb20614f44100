"""The main loop of a general program, as its owner holds it: what differs from a compiled one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from ..engine import ClusterEngine
from ..errors import InvalidArgument, NotSupported
from ..ingest.records import EdgeBatch
from ..value_types import Worst
from .branch import Branch
from .general_main import GeneralMain
from .general_program import GeneralProgram
from .host import PartPlan
from .main_loop import MainLoop
from .program_modules import reference_of
from .share import Share
from .stored_snapshot import StoredSnapshot


class GeneralLoop(MainLoop):
    """See the module and `MainLoop`. Its snapshots are copies in memory; none are stored."""

    def checkpoint(self, *, before_write: Callable[[], None] | None = None) -> int:
        """Raise `NotSupported`: how a state of a general program is written is not defined.

        Raises
        ------
        NotSupported
            Always.
        """
        del before_write
        raise self._unsupported()

    def check_stored(self, stored: StoredSnapshot) -> None:
        """Raise `InvalidArgument`: a selective program left what is stored.

        Raises
        ------
        InvalidArgument
            Always.
        """
        raise InvalidArgument(
            f"loop {self.name!r} cannot go on from its snapshot of version {stored.snapshot.version}, which "
            f"{stored.described(self.name)} left: {type(self.program).__name__} is a general program",
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

    def _plan(self) -> PartPlan:
        return PartPlan(GeneralMain, {"program": self._general, "delay_bound": self.delay_bound})

    def _arguments(self, program: Any) -> tuple[Any, ...]:
        return (program,)

    def _fork(self, program: Any, **options: Any) -> Branch:
        if isinstance(self._engine, ClusterEngine):
            reference_of(program)  # refused before anything is put into the sequence
        return super()._fork(program, **options)

    def _fork_at(self, at: int, program: Any, max_iterations: int | None) -> Branch:
        del at, program, max_iterations
        raise self._unsupported()

    def shares(self, batch: EdgeBatch) -> list[Share]:
        """Each worker gets the records of which it owns an end: targets have their edges, sources know their targets."""
        nothing = batch.src[:0]
        consumers, producers = self.partition.owners_of(batch.dst), self.partition.owners_of(batch.src)
        shares = []
        for worker in range(self.workers):
            part = batch.take((consumers == worker) | (producers == worker))
            shares.append(Share(0, part.src, part.dst, part.weight, part.op, nothing))
        return shares

    @property
    def _worst(self) -> Worst:
        return self._general.worst
