"""A worker as the owner of loops sees it: what it is told, which is about one stream in the same order on all workers, and asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..graph import PartitionMap
from ..timely import Holder
from .kind import PartPlan
from .part import BranchPartView, MainPartView, Traffic
from .share import Share
from .surroundings import Surroundings


@dataclass(frozen=True, slots=True)
class StartLoop:
    """Install a main loop that reads a stream: a new one, or what others on the worker read already."""

    loop: int
    stream: int
    plan: PartPlan
    partition: PartitionMap
    on_installed: Callable[[int], None]  # worker
    on_refused: Callable[[int, BaseException], None]  # worker, why it has no part
    on_applied: Callable[[int, int, int], None]  # worker, records of the stream, edges and points then held


@dataclass(frozen=True, slots=True)
class Expect:
    """A stream is about to begin with so many edges here: have memory put under their lists. Of none, it does not begin after all."""

    stream: int
    partition: PartitionMap
    edges: int


@dataclass(frozen=True, slots=True)
class Admit:
    """Apply this worker's share of a batch."""

    stream: int
    share: Share


@dataclass(frozen=True, slots=True)
class UseBlocks:
    """Have blocks of ids belong to workers, before the first vertex is there; see `PartitionMap`."""

    stream: int
    block_bits: int


@dataclass(frozen=True, slots=True)
class Place:
    """Have this worker's parts of loops take over columns of a stored snapshot, at once and before anything is admitted."""

    ids: NDArray[np.int64]
    columns: Mapping[
        int, Mapping[str, NDArray[Any]] | None
    ]  # by loop, of those vertices; None: the loop begins anew
    is_behind_edges: bool  # all of these are there, see `StorableMain`; otherwise none
    on_placed: Callable[[int, Exception | None], None]  # worker, what went wrong


@dataclass(frozen=True, slots=True)
class Fork:
    """Install a branch and record the main loop's state for it."""

    loop: int
    number: int
    arguments: tuple[object, ...]
    fresh: bool
    max_iterations: int | None
    on_recorded: Callable[[int, BranchPartView], None]
    on_finished: Callable[[int, BranchPartView], None]
    reads_edges: bool = (
        False  # of a kind whose branches are `StorableBranch`: read the edges before the version is given up
    )
    reads_points: bool = False  # and those of the points; its part is a `StorableBranch`
    reads_ways: bool = False  # keep the version when it is over, until `GiveUp`; its part is a `WayPart`


@dataclass(frozen=True, slots=True)
class Weigh:
    """Read the edges from vertices to others, at the version of a branch that is over and has kept it."""

    number: int
    producers: NDArray[np.int64]
    consumers: NDArray[np.int64]  # of this worker
    on_weighed: Callable[
        [int, tuple[NDArray[np.int32], NDArray[np.float64]] | Exception], None
    ]  # worker, see `WayReader`


@dataclass(frozen=True, slots=True)
class LookAround:
    """Read the edges around a vertex of a stream, as they are when this is obeyed."""

    stream: int
    vertex: int
    most: int  # in each direction
    on_found: Callable[[int, Surroundings | Exception], None]  # worker


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Let go of the version that a branch has kept."""

    number: int


@dataclass(frozen=True, slots=True)
class Stop:
    """Bring a branch to an early, consistent end."""

    number: int


@dataclass(frozen=True, slots=True)
class Limit:
    """The iteration of a branch's snapshot, which the cap on its iterations is counted from."""

    number: int
    iteration: int


@dataclass(frozen=True, slots=True)
class Cancel:
    """Give a branch up."""

    number: int


@dataclass(frozen=True, slots=True)
class Release:
    """Take back what a finished branch leaves for later ones."""

    loop: int
    state: object  # `BranchPart.reusable`


@dataclass(frozen=True, slots=True)
class Adopt:
    """Have the main loop take over what a finished branch has found."""

    loop: int
    found: object | None  # `BranchPart.reusable`; None: it is gone here


@dataclass(frozen=True, slots=True)
class EndLoop:
    """Remove a main loop: when none of its branches is left here, or at once with them, where it failed on some worker."""

    loop: int
    at_once: bool = False


Command = (
    Expect
    | StartLoop
    | UseBlocks
    | Place
    | Admit
    | Fork
    | Weigh
    | LookAround
    | GiveUp
    | Stop
    | Limit
    | Cancel
    | Release
    | Adopt
    | EndLoop
)


class LoopHost(Protocol):
    """A worker as the owner of loops sees it, in this process or elsewhere."""

    def prepare(self, plan: PartPlan) -> None:
        """Have what a part is made of at hand, before any worker is told to make it: dataflows are installed by all or none.

        Raises
        ------
        NotSupported, InvalidArgument
            When the worker cannot have it.
        """
        ...

    def post(self, command: Command) -> None:
        """Hand over a command; from any thread, under the master's lock where order matters."""
        ...

    def loop(self, number: int) -> MainPartView | None:
        """A loop's part on this worker, when it is installed."""
        ...

    def traffic(self, number: int) -> Traffic | None:
        """Of a loop's part on this worker, when it is installed; not idle where it has been told to take over what it has not yet."""
        ...

    def holders(self, number: int) -> list[Holder]:
        """What holds back the frontier of a loop, as this worker knows; nothing where it has no part of it."""
        ...

    def branch_holders(self, number: int) -> list[Holder] | None:
        """What holds back the frontier of a branch, as this worker knows; None where it has not begun it, nothing where it is over."""
        ...

    def failures(self) -> list[tuple[int | None, int | None, BaseException]]:
        """(loop, branch, error) of what failed on this worker."""
        ...
