"""What travels between the workers of a loop: many messages at once, in order, and notices of the parts to each other behind them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .loop_columns import UPDATE


class CoreMessages(NamedTuple):
    """Messages in columns: UPDATE says the estimate of a vertex, the others who hears of whom."""

    kinds: NDArray[np.uint8]
    ids: NDArray[np.int64]
    values: NDArray[np.int32]

    @classmethod
    def of(cls, columns: Iterable[Any]) -> CoreMessages:
        """Make messages of columns in the order of the fields."""
        return cls(*columns)

    def from_index(self, first: int) -> CoreMessages:
        """The messages from an index on."""
        return CoreMessages.of(column[first:] for column in self)

    def without_values(self) -> CoreMessages:
        """The messages that say who hears of whom, for a branch that begins anew."""
        kept = self.kinds != UPDATE
        return CoreMessages.of(column[kept] for column in self)


NO_MESSAGES = CoreMessages(np.empty(0, np.uint8), np.empty(0, np.int64), np.empty(0, np.int32))


class PhaseOrder(NamedTuple):
    """What the coordinator tells all parts.

    Attributes
    ----------
    number
        How many instructions it gave so far.
    phase
        One of `loop_columns`.
    is_converged
        To FINISH: whether the estimates are the core numbers.
    """

    number: int
    phase: int
    is_converged: bool = False


class PhaseReport(NamedTuple):
    """What a part tells the coordinator when it has nothing left to do in a phase.

    Attributes
    ----------
    number
        Of the instruction that it is about.
    sent, received
        How many bundles with messages it has sent to each worker and taken in of each, so far.
    marks
        How many of its vertices are marked, or were raised and have not fallen.
    vertices, edges
        How many it has.
    visits
        Edges that it has visited so far.
    needs_all
        Whether all have to rise, as that was under way when this part was forked.
    is_capped
        Whether there is something left to do, and it may begin no further iteration.
    """

    number: int
    sent: tuple[int, ...]
    received: tuple[int, ...]
    marks: int
    vertices: int
    edges: int
    visits: int
    needs_all: bool = False
    is_capped: bool = False


Notice = PhaseOrder | PhaseReport


@dataclass(frozen=True, slots=True)
class CoreBundle:
    """One sending of a worker to another.

    Attributes
    ----------
    sender
        The worker it comes from.
    messages
        In the order in which they were made.
    notice
        Behind the messages.
    marker
        The number of the fork whose snapshot it delimits: everything after it comes from after the sender's record. -1: none.
    """

    sender: int
    messages: CoreMessages = NO_MESSAGES
    notice: Notice | None = None
    marker: int = -1

    def __len__(self) -> int:
        return len(self.messages.kinds)

    def from_index(self, first: int) -> CoreBundle:
        """See `MessageBundle`."""
        return CoreBundle(self.sender, self.messages.from_index(first))

    def without_values(self) -> CoreBundle:
        """The messages that say who hears of whom, for a branch that begins without values."""
        return CoreBundle(self.sender, self.messages.without_values())
