"""What loops ask of a kind of vertex programs. They are blind to kinds themselves: what differs is behind these protocols."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Protocol, TypeVar, cast

from ..certificate import Certificate
from ..config import DelayBound
from ..engine import WireType
from ..errors import NotSupported
from ..graph import PartitionMap
from ..records.edge_batch import EdgeBatch
from .part import MainPart, StreamView
from .share import Share
from .vertex_program import VertexProgram

_PACKAGE = __package__.rpartition(".")[0]

Program_contra = TypeVar("Program_contra", bound=VertexProgram, contravariant=True)
# Of one fork, or of one plan, in types that the wire takes.
Fields = tuple[object, ...]


class PartPlan(Protocol):
    """What a worker's part of a main loop is made of, the same on all workers."""

    @property
    def kind(self) -> str:
        """The name of its kind."""
        ...

    def part(
        self, *, worker: int, workers: int, on_applied: Callable[[int], None], stream: StreamView | None
    ) -> MainPart:
        """The part of a worker. What can be refused is refused before, by `ProgramKind.plan`: an error here makes the start fail.

        The workers that have their parts let go of them, and other loops go on.

        Parameters
        ----------
        on_applied
            Told how many records were applied to the stream, again and again: of each share in all as many as it has
            (`Share.records`), or the stream would look as if it lagged.
        stream
            The `stream` of the part of another loop that reads the same one on this worker; None: there is none. A kind that
            does not share streams gets None.
        """
        ...

    def fields(self) -> Fields:
        """The plan as it travels; `PlanReader.plan` makes it again."""
        ...

    def fork_fields(self, arguments: tuple[object, ...]) -> Fields:
        """Arguments of a fork as they travel; `PlanReader.fork_arguments` makes them again."""
        ...

    def required(self) -> Fields | None:
        """What a worker must have at hand before it can be told to make its part, for `PlanReader.require`; None: nothing."""
        ...

    def preloaded(self) -> Fields | None:
        """What a worker that starts later on this machine had better have loaded, for `ProgramKind.preload`: numbers and names of files."""
        ...


class PlanReader(Protocol):
    """In a worker's process, what arrives there of one kind. Not for several threads at once."""

    def require(self, fields: Fields) -> None:
        """Have at hand what a plan requires.

        Raises
        ------
        InvalidArgument
            When it cannot be had here.
        """
        ...

    def plan(self, fields: Fields) -> PartPlan:
        """The plan that has these fields."""
        ...

    def fork_arguments(self, fields: Fields) -> tuple[object, ...]:
        """The arguments of a fork that have these fields."""
        ...

    def told(self, error: BaseException) -> BaseException:
        """An error of a loop as its owner is told of it."""
        ...


class ProgramKind(Protocol[Program_contra]):
    """A kind of vertex programs. A room of `tornado.kinds` has one, as `KIND`.

    Attributes
    ----------
    name
        In the registry, and on the wire.
    described
        What one of its programs is called in a sentence: "a selective program".
    shares_streams
        Whether its loops read a stream, and its graph, beside others; then the parts of its branches are `StorableBranch`, as
        the graph is looked at through them.
    adopts
        Whether its main loops take over what their branches have found; then their parts are `AdoptingMain`.
    certifies
        Whether a branch of no iterations states a bound of its values.
    proves_order
        Whether a branch may end as soon as the order of the best is certain; then it is an `OrderingKind`.
    is_stored
        Whether snapshots of its loops are stored; then their parts are `StorableMain`, and those of their branches
        `StorableBranch`.
    """

    name: str
    described: str
    shares_streams: bool
    adopts: bool
    certifies: bool
    proves_order: bool
    is_stored: bool

    def plan(
        self, program: Program_contra, *, delay_bound: DelayBound, hears_back: int, commits: bool = True
    ) -> PartPlan:
        """What the parts of a main loop are made of.

        Parameters
        ----------
        delay_bound
            See `VertexProgram.chosen_bound`: `auto` comes to kinds of programs only that need no bound.
        hears_back
            See `MainLoop`.
        commits
            False: the loop is there for the graph that its branch reads, and computes nothing itself.
        """
        ...

    def fork_arguments(self, program: Program_contra) -> tuple[object, ...]:
        """What the workers get of a program whose parameters a branch has."""
        ...

    def require_travels(self, program: Program_contra) -> None:
        """Refuse a program that workers in other processes cannot have.

        Raises
        ------
        NotSupported
            With what of it cannot travel.
        """
        ...

    def shares(self, batch: EdgeBatch, partition: PartitionMap, *, both_ways: bool) -> list[Share]:
        """What each worker gets of a batch, by worker.

        A record is in the share of an owner of its ends, once and in the order of the batch; of which one, or of both, is
        the kind's to say. And the owner of a vertex hears of it: by a record of its share, or by `Share.mentioned`.
        """
        ...

    def identity(self, program: Program_contra) -> str:
        """What a program computes, as a digest: its functions as they are written, and its parameters.

        Two programs of one identity have the same fixed point, so an edited program does not take over what it computed before.
        Asked only where snapshots are stored.
        """
        ...

    def judge(
        self, program: Program_contra, findings: Sequence[Mapping[str, float]], *, is_converged: bool
    ) -> Certificate:
        """What the values of a branch that is over are worth.

        Parameters
        ----------
        findings
            Of its parts, by worker (`BranchPartView.findings`); none where the answer was stored without.
        is_converged
            Whether it came to its end, and was not stopped or capped before.
        """
        ...

    def wire_types(self) -> Sequence[WireType]:
        """The types of what its parts say to each other between processes."""
        ...

    def reader(self) -> PlanReader:
        """What reads plans in a worker's process."""
        ...

    def preload(self, *fields: object) -> None:
        """In a process that workers are forked from: load what they will need; see `PartPlan.preloaded`."""
        ...


class OrderingKind(ProgramKind[Program_contra], Protocol[Program_contra]):
    """A kind of programs whose branches may end before their values have converged, when the order of the best is certain."""

    def ordering_arguments(self, program: Program_contra, top: int) -> tuple[object, ...]:
        """As `fork_arguments`, of a branch of which only the best so many are wanted."""
        ...


def arguments_of_fork(
    kind: ProgramKind[VertexProgram], program: VertexProgram, top: int | None
) -> tuple[object, ...]:
    """Return what the workers get of the program of a branch of which only the best so many are wanted; None: all values."""
    if top is None or not kind.proves_order:
        return kind.fork_arguments(program)
    return cast("OrderingKind[VertexProgram]", kind).ordering_arguments(program, top)


def kind_of_program(program: VertexProgram) -> ProgramKind[VertexProgram]:
    """Return the kind of a program.

    Raises
    ------
    NotSupported
        When it is derived from none, or from one that is not there.
    """
    name, known = program.program_kind, _registry()
    if name not in known:
        found = f"the kind {name!r}, which is not there" if name else "no kind of programs"
        raise NotSupported(
            f"{type(program).__name__} is of {found}",
            hint=f"Derive it from the class of a kind ({', '.join(sorted(known))}), such as SelectiveProgram.",
        )
    return kind_named(name)


def kind_named(name: str) -> ProgramKind[VertexProgram]:
    """Return the kind with a name, which is one of the registry."""
    # A kind gets only programs that say its name.
    return cast("ProgramKind[VertexProgram]", import_module(_registry()[name]).KIND)


def computed_by(program: VertexProgram) -> str:
    """Return what a program computes: the identity under which it is stored; of one that is not stored, its class and attributes."""
    kind = kind_of_program(program)
    if kind.is_stored:
        return kind.identity(program)
    of = type(program)
    return f"{of.__module__}.{of.__qualname__} {vars(program)}"


def kinds() -> list[ProgramKind[VertexProgram]]:
    """Return all kinds, in the order of the registry."""
    return [kind_named(name) for name in _registry()]


def stored_kinds() -> str:
    """Return the names of the kinds of which snapshots are stored, for a message."""
    return ", ".join(kind.name for kind in kinds() if kind.is_stored)


def _registry() -> dict[str, str]:
    # By name: what is above this room is loaded when it is needed.
    registry: dict[str, str] = import_module(f"{_PACKAGE}.kinds").KINDS
    return registry
