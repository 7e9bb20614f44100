"""What travels between the workers of a loop: many messages at once, in order, and notices of the parts to each other behind them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class SumMessages(NamedTuple):
    """SumMessages in columns; `numbers` are differences of out-degrees, of a DEGREE."""

    kinds: NDArray[np.uint8]
    ids: NDArray[np.int64]
    values: NDArray[np.float64]
    numbers: NDArray[np.int64]

    @classmethod
    def of(cls, columns: Iterable[Any]) -> SumMessages:
        """Make messages of columns in the order of the fields."""
        return cls(*columns)

    def from_index(self, first: int) -> SumMessages:
        """The messages from an index on."""
        return SumMessages.of(column[first:] for column in self)


NO_VALUES = np.empty(0)
NO_MESSAGES = SumMessages(
    np.empty(0, np.uint8), np.empty(0, np.int64), np.empty(0, np.float64), np.empty(0, np.int64)
)


class Phase(IntEnum):
    """What the parts of a branch do."""

    SETTLE = 0  # nobody announces; when all that was announced is heard, totals are taken
    RUN = 1
    AIM = 2  # go on running, with another base from the next sweep on
    FINISH = 3
    TRY = 4  # all have settled: announce what a proof is tried with (`trial.py`), settle, and compare


class Trial(IntEnum):
    """What a part does for a proof that the values have no end; see `trial.py`."""

    NONE = 0
    WATCH = 1  # remember the values, and go on
    MOVED = 2  # announce by how much they have grown since
    VALUES = 3  # announce the values themselves
    EVEN = 4  # announce 1 of each
    MEAN = 5  # announce the mean of what there was and of what came back
    KEPT = 6  # announce what there was, but for vertices that did not get as much back


class Settled(NamedTuple):
    """The sender announces nothing more in an attempt: what it announced stands before this on the channel."""

    attempt: int


class Instruction(NamedTuple):
    """What the coordinator tells all parts.

    Attributes
    ----------
    base
        b, the same for all.
    theta
        To RUN: what the threshold is to come down to.
    pulls
        To RUN or SETTLE: sums have to be pulled anew, as they have drifted too far.
    mass
        To FINISH: what answers are divided by, the sum of all values where they are normalised.
    bound
        To FINISH: what the values are worth.
    trial
        To TRY, and to AIM: what is done for a proof that the values have no end.
    is_diverged
        To FINISH: whether that is proved.
    """

    phase: int
    attempt: int
    base: float
    theta: float = 0.0
    pulls: bool = False
    mass: float = 0.0
    bound: float = 0.0
    is_converged: bool = False
    trial: int = Trial.NONE
    is_diverged: bool = False


class Report(NamedTuple):
    """What a part tells the coordinator: of a sweep or of a pause in an attempt, or its exact totals when it is settled.

    Attributes
    ----------
    is_settled
        Whether these are the exact totals behind a SETTLE.
    is_idle
        Whether nothing here is above the threshold.
    is_capped
        Whether it may begin no further iteration.
    change
        How far the last sweep moved the values; for totals see `loop_columns`.
    greatest
        float64, in no order: of a branch that proves the order of so many, the greatest values of the part, and one more.
    kept, lost
        Of a trial: how many vertices got as much back as they announced, and how many did not.
    """

    attempt: int
    is_settled: bool = False
    is_idle: bool = False
    is_capped: bool = False
    change: float = 0.0
    absolute: float = 0.0
    signed: float = 0.0
    mass: float = 0.0
    flow: float = 0.0
    drift: float = 0.0
    bases: float = 0.0
    announcing: float = 0.0
    vertices: int = 0
    degrees: int = 0
    greatest: NDArray[np.float64] = NO_VALUES
    largest: float = 0.0
    unrest: float = 0.0
    kept: int = 0
    lost: int = 0


class Swept(NamedTuple):
    """A part of a main loop tells the others of a sweep: what it announced in it stands before this on the channel.

    Attributes
    ----------
    series, round
        Which sweep it is; see `pull_rounds.py`.
    change
        How far it moved the values; for totals see `loop_columns`.
    has_heard
        Whether records have come since the sweep before.
    """

    series: int
    round: int
    change: float
    mass: float
    flow: float
    bases: float
    has_heard: bool


Notice = Settled | Instruction | Report | Swept
NOTICES: tuple[type[Settled], type[Instruction], type[Report], type[Swept]] = (
    Settled,
    Instruction,
    Report,
    Swept,
)
"""By the number that stands for each on the wire."""


@dataclass(frozen=True, slots=True)
class SumBundle:
    """One sending of a worker to another.

    Attributes
    ----------
    sender
        The worker it comes from.
    messages
        In the order in which they were made.
    notices
        Behind the messages.
    mass
        Of a main loop: what the values of the sender's vertices sum to.
    marker
        The number of the fork whose snapshot it delimits: everything after it comes from after the sender's record. -1: none.
    """

    sender: int
    messages: SumMessages = NO_MESSAGES
    notices: tuple[Notice, ...] = ()
    mass: float = 0.0
    marker: int = -1

    def __len__(self) -> int:
        return len(self.messages.kinds)

    def from_index(self, first: int) -> SumBundle:
        """See `MessageBundle`."""
        return SumBundle(self.sender, self.messages.from_index(first))
