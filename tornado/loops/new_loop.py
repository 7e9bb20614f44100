"""A loop that is to be started: what it is made of, and who is told where it cannot be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ..config import AUTO_DELAY_BOUND, DelayBound
from ..errors import CallerError, NotSupported
from .kind import kind_of_program
from .stored_snapshot import StoredSnapshot
from .stream import RecordStream
from .vertex_program import VertexProgram

Started = TypeVar("Started")


@dataclass(frozen=True, slots=True)
class NewLoop:
    """See the module.

    Attributes
    ----------
    program, name, delay_bound
        As of `Master.start`.
    app
        The name of the app by which it was started on a running stream, where it was.
    on_refused
        Told why it cannot be started; the others are. None: nothing is started then.
    """

    program: VertexProgram
    name: str
    delay_bound: DelayBound = AUTO_DELAY_BOUND
    app: str | None = None
    on_refused: Callable[[CallerError], None] | None = None

    @property
    def bound(self) -> DelayBound:
        """The delay bound that it gets; see `VertexProgram.chosen_bound`."""
        return self.program.chosen_bound(self.delay_bound)

    def is_in(self, stored: StoredSnapshot) -> bool:
        """Whether a stored snapshot has what it would compute on its graph."""
        kind = kind_of_program(self.program)
        return kind.is_stored and stored.fixed_point(kind.identity(self.program), self.name) is not None

    def check(self) -> None:
        """Refuse parameters that are none of the program, and a delay bound that it does not converge for.

        Raises
        ------
        InvalidArgument
            When there is one.
        """
        self.program.check_delay_bound(self.bound)
        self.program.check_parameters()

    def refuse(self, error: CallerError) -> None:
        """Tell of an error, or raise it where nobody is told."""
        if self.on_refused is None:
            raise error
        self.on_refused(error)


def not_refused(wanted: Sequence[NewLoop], start: Callable[[NewLoop], Started]) -> list[Started]:
    """Start loops one after another; one that is refused is told why, and the others go on."""
    started = []
    for other in wanted:
        try:
            started.append(start(other))
        except CallerError as error:
            other.refuse(error)
    return started


def require_shared(stream: RecordStream, wanted: NewLoop) -> None:
    """Refuse a loop beside others where its kind, or theirs, reads a stream of its own.

    Raises
    ------
    NotSupported
        With the kind that does.
    """
    keeper = stream.keeper()
    programs = [wanted.program, *([] if keeper is None else [keeper.program])]
    alone = next((kind for kind in map(kind_of_program, programs) if not kind.shares_streams), None)
    if alone is not None:
        raise NotSupported(
            f"{type(wanted.program).__name__} cannot be started on stream {stream.name!r}: {alone.described} reads a stream "
            "of its own",
            hint="Start it on a stream of its own: in a run of its own, not behind --and.",
        )
