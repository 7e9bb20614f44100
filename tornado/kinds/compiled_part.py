"""What all parts of compiled loops have in common, of main loops and of branches: a kernel at work inside a loop operator.

Bundles that have come wait here until the kernel has taken them in, as far as its fuel goes.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import InternalError
from ..graph import EvolvingGraph
from ..loops.forks import Payload
from ..loops.loop_operator import NEVER, LoopOperator
from ..loops.part import PartStatistics
from ..timely import Scope
from .local_values import LocalValues, RowValues


class MessageBundle(Payload, Protocol):
    """One sending of a worker to another: messages, and what is said with them."""

    def __len__(self) -> int:
        """How many messages it has."""
        ...

    def from_index(self, first: int) -> Self:
        """The messages from an index on, as a bundle that says nothing else."""
        ...


class LoopColumnsState(Protocol):
    """The columns of a part, one entry a row."""

    @property
    def rows_seen(self) -> int:
        """How many rows it has columns for."""
        ...

    def progress(self) -> PartStatistics:
        """How far the part is."""
        ...

    def history(self) -> NDArray[np.float64]:
        """What the last iterations did, see `PartView`."""
        ...

    def size_bytes(self) -> int:
        """Memory in use."""
        ...


Bundle = TypeVar("Bundle", bound=MessageBundle)
State = TypeVar("State", bound=LoopColumnsState)


@dataclass(slots=True)
class Arrived(Generic[Bundle]):
    """A bundle that is being worked off."""

    bundle: Bundle
    iteration: int  # of the bundle's timestamp
    following: int = 0  # index of the first message that was not taken in


class CompiledPart(Generic[Bundle, State]):
    """See the module.

    Attributes
    ----------
    state
        Its columns; a branch has them as soon as it has recorded.
    bundles_sent, bundles_received
        Those with messages.
    """

    state: State

    def __init__(self, *, kernel: ModuleType, graph: EvolvingGraph, worker: int, workers: int) -> None:
        self.kernel = kernel
        self.graph = graph
        self.worker = worker
        self.workers = workers
        self.operator: LoopOperator[Bundle] = LoopOperator(worker, workers)
        self.bundles_sent = 0
        self.bundles_received = 0
        self._arrived: deque[Arrived[Bundle]] = deque()

    def build(self, scope: Scope) -> None:
        """Put the part into a loop context of a new dataflow."""
        self.operator.build(scope, self.step, follows=self._follows)

    @property
    def _follows(self) -> bool:
        """Whether it may have to do something because others are further, though they have sent nothing."""
        return True

    def step(self) -> None:
        """One activation; see the two kinds of loops."""
        raise NotImplementedError

    def free(self) -> None:
        """Let go of what takes memory, when this is over and nobody reads it any more."""
        # The dataflow that steps this is part of a cycle, which lives until the next collection.
        self.__dict__.pop("graph", None)
        self.__dict__.pop("state", None)

    # What anybody may ask, from any thread

    def progress(self) -> PartStatistics:
        """How far it is."""
        return self.state.progress()

    def history(self) -> NDArray[np.float64]:
        """What the last iterations did."""
        return self.state.history()

    def held_values(self) -> LocalValues:
        """The values of this worker's vertices, as they are at the time."""
        return LocalValues(self.graph, self._held())

    def _held(self) -> RowValues:
        """What answers read."""
        raise NotImplementedError

    def statistics(self) -> PartStatistics:
        """The part of this worker in numbers."""
        state, graph = self.state, self.graph.statistics()
        return replace(
            state.progress(),
            pending=self._pending(),
            vertices=graph.vertices,
            edges=graph.edges,
            cut_edges=graph.cut_edges,
            unplaced=graph.unplaced,
            missing_removals=graph.missing_removals,
            size_bytes=graph.size_bytes + state.size_bytes(),
        )

    def _pending(self) -> int:
        """How much is left to do here."""
        raise NotImplementedError

    def _has_pending(self) -> bool:
        """Whether what was taken in leaves something to be done; asked of main loops."""
        raise NotImplementedError

    # Bundles

    def _accept(self, bundle: Bundle, iteration: int) -> None:
        """Take a bundle off the input."""
        raise NotImplementedError

    def _must_wait(self, bundle: Bundle) -> bool:
        """Whether a bundle names vertices, and it is not decided which belong to this worker.

        Its sender has been told, and this worker will be: the command is under way on another connection.
        """
        return bool(len(bundle)) and not self.graph.is_placed

    def _flush(self) -> None:
        """Send what the kernel has put into its outboxes."""
        raise NotImplementedError

    def _require_possible(self, sender: int, impossible: int) -> None:
        """Refuse to go on, where the kernel has counted messages of a worker that no loop sends."""
        if impossible:
            raise InternalError(
                f"worker {self.worker} got {impossible} messages from worker {sender} that no loop sends: its values are not to "
                "be relied on"
            )

    def _held_least(self) -> int:
        """The least iteration of the bundles that are here and not taken in."""
        return min((arrived.iteration for arrived in self._arrived), default=NEVER)

    # Scans

    def finish_cursor(self) -> None:
        """Finish the scan that was cut short, if one was, so that the graph may change."""
        raise NotImplementedError
