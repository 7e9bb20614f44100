"""What main loops that share a stream have in common, whatever else they do: steps that can fail, and branches and their leases."""

from __future__ import annotations

from functools import partial
from typing import Generic, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from ..errors import StoreCorrupt
from ..graph import EvolvingGraph
from ..loops.part import BranchPart
from ..loops.stream_part import StreamPart
from ..records.point_schema import Points


class LeasingBranch(BranchPart, Protocol):
    """A branch that leases its version of the graph.

    Attributes
    ----------
    lease
        None: it has recorded nothing yet, or is over.
    """

    lease: int | None


Branch = TypeVar("Branch", bound=LeasingBranch)


class ReadsStream(Generic[Branch]):
    """Of a main loop; see the module and `ReadingPart`.

    Attributes
    ----------
    stream
        What it reads.
    hears_back
        Which reverse lists of the graph it hears along, counted from 1; 0: along none.
    awaits_edges
        Whether edges of a snapshot are coming that it takes in when all are there.
    branches
        Those that were recorded and are not over.
    """

    graph: EvolvingGraph
    stream: StreamPart
    hears_back: int = 0
    awaits_edges: bool = False
    declared_points: Points | None = None
    branches: list[Branch]
    _is_stepping: bool = False  # what other threads see of the queues means nothing meanwhile
    _failure: Exception | None = None

    def command(self, branch: BranchPart) -> None:
        """Record the state for a branch, when it is its turn in the sequence of the stream."""
        forked = cast("Branch", branch)
        self.stream.fork(self, partial(self.record, forked), is_ready=partial(self._is_ready_for, forked))

    def _is_ready_for(self, branch: Branch) -> bool:
        """Do some of what has to be done before the state is recorded for a branch; return whether it can be recorded now."""
        del branch
        return self.drain()

    def record(self, branch: Branch) -> None:
        """Record this worker's state for a branch, and what was delivered and is not in the state yet."""
        raise NotImplementedError

    @property
    def has_branches(self) -> bool:
        """See `ReadingPart`."""
        return bool(self.branches)

    @property
    def awaits_cut(self) -> bool:
        """See `ReadingPart`."""
        return any(not branch.is_started for branch in self.branches)

    def activate(self) -> None:
        """Have `step` called soon."""
        raise NotImplementedError

    def step(self) -> None:
        """Take in messages, then go on in the stream, then with what there is to do, each up to its fuel."""
        self._is_stepping = True
        try:
            self._require_sound()
            self._step()
        except BaseException:
            self.stream.leave(self)  # the others go on
            raise
        self._is_stepping = False

    def _step(self) -> None:
        raise NotImplementedError

    def _require_sound(self) -> None:
        """Raise what has failed outside of its steps."""
        if self._failure is not None:
            raise self._failure

    def fail(self, error: Exception) -> None:
        """Raise this in the next step."""
        self._failure = error
        self.activate()

    def stop_scans(self) -> None:
        """Finish the scans under way in this loop and its branches: none may be while the graph changes."""
        raise NotImplementedError

    def hear(self) -> None:
        """Take in the rows and edges that the last records changed."""
        raise NotImplementedError

    def may_fill(self) -> bool:
        """See `ReadingPart`: never, where each edge has to be heard of."""
        return False

    def take_in_edges(self, version: int) -> None:
        """See `ReadingPart`: there are none."""

    def is_behind(self) -> bool:
        """See `ReadingPart`: never, where a branch does what is left."""
        return False

    def is_catching_up(self) -> bool:
        """See `ReadingPart`: never, where there is nothing to take in."""
        return False

    def drain(self) -> bool:
        """See `ReadingPart`: it can record at any time."""
        return True

    def retire(self, branch: BranchPart) -> None:
        """Ask nothing more of a branch that is over, whose lease goes on until it is forgotten: its owner may free it before."""
        self._end(cast("Branch", branch))

    def forget(self, branch: BranchPart) -> None:
        """End the lease of a branch that is over."""
        branch = cast("Branch", branch)
        if branch in self.branches:
            self._end(branch)
        if branch.lease is not None:
            self.graph.release(branch.lease)
            branch.lease = None

    def _end(self, branch: Branch) -> None:
        self.branches.remove(branch)
        self.stream.end_giving_way()

    def _make_known(self, ids: NDArray[np.int64]) -> None:
        """Have the vertices of a stored snapshot be the rows of the graph.

        Raises
        ------
        StoreCorrupt
            When a vertex is there twice.
        """
        if self.graph.rows != len(ids):  # no other loop of the stream has made them known
            self.stream.mention(ids)
        if self.graph.rows != len(ids):
            raise StoreCorrupt(
                f"{len(ids)} vertices of a stored snapshot are only {self.graph.rows} different ones"
            )
