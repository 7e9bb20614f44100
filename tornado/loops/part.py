"""What a main loop, a branch and a worker's host ask of one worker's part of a loop, whatever kind of program it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..graph.edges_by_page import Edges, PageEdges
from ..timely import Scope
from .point_pages import PointPages, PointPagesView
from .share import Share
from .values import PartValues
from .ways import WaySteps


@dataclass(frozen=True, slots=True)
class Predicted:
    """Points that were predicted before they were learnt from, summed by their weights.

    Attributes
    ----------
    weight, loss
        Of all of them.
    mistakes
        The weight of those that were predicted to be of another class; NaN where there are no classes.
    distance, squares
        How far predictions were from the labels, and the squares of that; NaN where there are classes.
    """

    weight: float = 0.0
    loss: float = 0.0
    mistakes: float = 0.0
    distance: float = 0.0
    squares: float = 0.0

    def __add__(self, other: Predicted) -> Predicted:
        """Of both."""
        return Predicted(*(mine + others for mine, others in zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True, slots=True)
class PartStatistics:
    """One worker's part in numbers; see `LoopStatistics` for what they are.

    Attributes
    ----------
    size_bytes
        Memory in use, as far as it is known.
    predicted, predicted_recently
        The numbers of `Predicted`, in their order.
    """

    iteration: int
    updates: int
    prepares: int
    pending: int = 0
    vertices: int = 0
    edges: int = 0
    missing_removals: int = 0
    waves: int = 0
    invalidations: int = 0
    overtaken: int = 0
    size_bytes: int = 0
    predicted: tuple[float, ...] = (0.0,) * 5
    predicted_recently: tuple[float, ...] = (0.0,) * 5
    cut_edges: int = 0
    unplaced: int = 0


class Traffic(NamedTuple):
    """Whether nothing is waiting or pending on a worker, and how many bundles with messages it took in and sent so far."""

    is_idle: bool
    received: int
    sent: int


class PartView(Protocol):
    """One worker's part of a loop, as anybody may ask it from any thread; what it says is then a little old."""

    def progress(self) -> PartStatistics:
        """How far it is: the first three numbers, at little cost."""
        ...

    def statistics(self) -> PartStatistics:
        """All of the numbers."""
        ...

    def held_values(self) -> PartValues:
        """The values of this worker's vertices."""
        ...

    def history(self) -> NDArray[np.float64]:
        """float64[n, 4], a copy: iteration (-1 in rows without one), updates, prepares, residual."""
        ...


class MainPartView(PartView, Protocol):
    """One worker's part of a main loop, as anybody may ask it."""

    def traffic(self) -> Traffic:
        """The counts by which the owner knows whether the whole loop is idle.

        `received` is to be read first, as what comes in meanwhile must show as missing. Markers of forks are not counted.
        """
        ...


class BranchPartView(PartView, Protocol):
    """One worker's part of a branch that has recorded its state, as anybody may ask it.

    Attributes
    ----------
    first_iteration
        The greatest iteration that the main loop had committed here when its state was recorded.
    """

    first_iteration: int

    @property
    def is_converged(self) -> bool:
        """Whether it came to its end with nothing left to commit."""
        ...

    @property
    def findings(self) -> Mapping[str, float]:
        """What it has found of the worth of its values, for `ProgramKind.judge`; asked when it is over."""
        ...

    @property
    def reusable(self) -> object:
        """What a later branch can use again, for `Release`, before the part is freed."""
        ...

    def free(self) -> None:
        """Let go of what takes memory, when it is over and nobody reads it any more."""
        ...


PageVertices = tuple[NDArray[np.int64], dict[str, NDArray[Any]]]
"""Ids, and the columns that the kind stores by name; `values` are what answers show."""


class PagesView(Protocol):
    """One worker's part of a snapshot that is to be stored, by page; see `SnapshotPages`."""

    def sizes(self) -> tuple[int, int]:
        """How many vertices and edges there are."""
        ...

    def arrange(self, pages: int) -> bool:
        """Put some of the entries into their pages, a power of two; return whether that was all. Pages can be asked for then."""
        ...

    def page_vertices(self, page: int) -> Callable[[], PageVertices]:
        """Ask for the vertices of a page; what is returned gives them, so that other workers are asked before they are waited for."""
        ...

    def page_edges(self, page: int) -> Callable[[], PageEdges]:
        """Likewise the edges whose targets are of a page; those with one target are in the order of arrival."""
        ...

    def some_edges(self, first: int, stop: int) -> Edges:
        """A stretch of all edges, in no particular order; nothing need be arranged."""
        ...


class StepsView(BranchPartView, Protocol):
    """One worker's part of a branch whose values have come from other vertices, each from one; asked when it is over."""

    def steps_back(self, ids: NDArray[np.int64]) -> WaySteps:
        """From these vertices, those that are here, back over vertices that are here too: each step once."""
        ...

    def all_steps(self) -> WaySteps:
        """The steps to all vertices that are here."""
        ...


class StorableView(BranchPartView, Protocol):
    """One worker's part of a branch whose snapshot can be stored."""

    def pages(self) -> PagesView:
        """Its vertices and, where it was forked to read them, its edges; asked when it is over."""
        ...

    def point_pages(self) -> PointPagesView:
        """The points at its version, where it was forked to read them; asked when it is over."""
        ...

    def parameters(self) -> Mapping[str, NDArray[Any]]:
        """What is stored of its loop as a whole, by name; empty where that is by vertex, and on other workers than the first."""
        ...

    def drop_edges(self) -> None:
        """Let go of the edges that were read; its values stay."""
        ...


class BranchPart(BranchPartView, Protocol):
    """One worker's part of a branch, as the worker's host runs it.

    It records the state of the main loop here at its place in the sequence, and starts when the cut is complete on this worker
    (`forks.ForkedPart`). It is over when its dataflow is complete: every worker's part has given up its token, and nothing is
    under way.

    Attributes
    ----------
    number
        Of the fork: the same on all workers, growing.
    is_recorded, is_started, is_cancelled
        Where it is on its way. One that was cancelled records and starts all the same, for the others' sake.
    """

    number: int
    is_recorded: bool
    is_started: bool
    is_cancelled: bool

    @property
    def is_over_at_once(self) -> bool | None:
        """Whether nothing is left to do as it starts, on all workers alike, so that it has no dataflow.

        None: that turns out then, and its dataflow is not made before.
        """
        ...

    def build(self, scope: Scope) -> None:
        """Put it into a new dataflow."""
        ...

    def limit(self, iteration: int) -> None:
        """Set the iteration of the snapshot, which a cap on iterations is counted from."""
        ...

    def stop(self) -> None:
        """Come to an early, consistent end, also where it has not started yet."""
        ...

    def cancel(self) -> None:
        """Give it up: it ends as soon as all of the snapshot is here."""
        ...


class StorableBranch(BranchPart, StorableView, Protocol):
    """One worker's part of a branch whose snapshot can be stored, or through which the graph of a stream is looked at."""

    def read_edges(self) -> bool:
        """Read a stretch of the edges at its version, for `pages`; return whether that was all. It must be over."""
        ...

    def lend_points(self, pages: PointPages) -> None:
        """Have the points at its version for `point_pages`, until it is freed or gone."""
        ...


class WayPart(BranchPart, StepsView, Protocol):
    """One worker's part of a branch whose ways are read, as the worker's host runs it."""

    def weights_between(
        self, producers: NDArray[np.int64], consumers: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """See `WayReader`, at its version, as long as that is leased; the consumers are here."""
        ...


class StreamView(Protocol):
    """One worker's part of a stream, as the worker's host runs it."""

    def admit(self, share: Share) -> None:
        """Apply a share, when it is its turn in the sequence: its records, and `Share.mentioned`."""
        ...

    def tidy(self) -> None:
        """Do what can wait until nothing comes."""
        ...


class MainPart(MainPartView, Protocol):
    """One worker's part of a main loop, as the worker's host runs it.

    Attributes
    ----------
    stream
        What it reads.
    """

    @property
    def stream(self) -> StreamView:
        """Its part of the stream; the part itself, where the kind does not share streams."""
        ...

    def build(self, scope: Scope) -> None:
        """Put it into a new dataflow."""
        ...

    def free(self) -> None:
        """Let go of what takes memory, when it is over and nobody reads it any more."""
        ...

    def command(self, branch: BranchPart) -> None:
        """Record the state for a branch of `fork`, when it is its turn in the sequence."""
        ...

    def fork(
        self, *, number: int, arguments: tuple[object, ...], fresh: bool, max_iterations: int | None
    ) -> BranchPart:
        """The part of a new branch, that `command` is told of next; only such parts are handed to the other methods.

        Parameters
        ----------
        number
            Of the fork: the same on all workers, growing.
        arguments
            As of `ProgramKind.fork_arguments`.
        fresh
            Begin from the initial values, on the edges as they are recorded: the parameters are not those of the main loop.
        max_iterations
            How many iterations it may commit above the greatest of its snapshot, which `limit` tells, or if `fresh` above
            the first; None: as many as it takes. With something left to commit it is not converged.
        """
        ...

    def forget(self, branch: BranchPart) -> None:
        """End the lease of a branch that is over."""
        ...

    def take_back(self, reusable: object) -> None:
        """Keep, for later branches, what one that is over has left: its `reusable`."""
        ...


class AdoptingMain(MainPart, Protocol):
    """One worker's part of a main loop that can take over what a branch has found."""

    def adopt(self, found: object | None) -> None:
        """Begin to take over the values of a branch, its `reusable`, which is read now; None: they are gone here.

        Every worker's part is told.
        """
        ...


class WayMain(MainPart, Protocol):
    """One worker's part of a main loop whose branches are `WayPart`."""

    def retire(self, branch: BranchPart) -> None:
        """Ask nothing more of a branch that is over, and go on to lease its version; it may be freed before `forget`."""
        ...


class StorableMain(MainPart, Protocol):
    """One worker's part of a main loop that can begin where a stored snapshot ended."""

    def place(self, ids: NDArray[np.int64], columns: Mapping[str, NDArray[Any]] | None) -> None:
        """Make vertices of this worker known, before anything is admitted; with their columns where the fixed point is stored.

        Of a loop that stores what it has as a whole, `columns` are its `StorableView.parameters`; it is to compute nothing before
        `place_behind_edges`.

        Raises
        ------
        StoreCorrupt
            When a vertex is there twice, or a column is not of the type that the loop has.
        """
        ...

    def place_behind_edges(self, ids: NDArray[np.int64], columns: Mapping[str, NDArray[Any]]) -> None:
        """Take over what of the columns needs the edges and points of the snapshot, which are all there and heard of.

        Raises
        ------
        StoreCorrupt
            When it does not fit the edges.
        """
        ...
