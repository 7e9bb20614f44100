"""What travels between the workers of a loop of rounds: many messages at once, in order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .loop_columns import UPDATE


class RoundsMessages(NamedTuple):
    """Messages in columns: UPDATE says the value of a vertex at a round, the others who hears of whom."""

    kinds: NDArray[np.uint8]
    ids: NDArray[np.int64]
    rounds: NDArray[np.int32]
    values: NDArray[Any]

    @classmethod
    def of(cls, columns: Iterable[Any]) -> RoundsMessages:
        """Make messages of columns in the order of the fields."""
        return cls(*columns)

    def from_index(self, first: int) -> RoundsMessages:
        """The messages from an index on."""
        return RoundsMessages.of(column[first:] for column in self)

    def without_values(self) -> RoundsMessages:
        """The messages that say who hears of whom, for a branch that begins without values."""
        kept = self.kinds != UPDATE
        return RoundsMessages.of(column[kept] for column in self)


NO_MESSAGES = RoundsMessages(
    np.empty(0, np.uint8), np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.int64)
)


@dataclass(frozen=True, slots=True)
class RoundsBundle:
    """One sending of a worker to another.

    Attributes
    ----------
    sender
        The worker it comes from.
    messages
        In the order in which they were made.
    marker
        The number of the fork whose snapshot it delimits: everything after it comes from after the sender's record. -1: none.
    kept
        Of the sender's vertices, for `RoundsProgram.coefficients`: how many there are, and what those at which no edge begins
        have at each round. None: it says nothing of that.
    """

    sender: int
    messages: RoundsMessages = NO_MESSAGES
    marker: int = -1
    kept: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.messages.kinds)

    def from_index(self, first: int) -> RoundsBundle:
        """See `MessageBundle`."""
        return RoundsBundle(self.sender, self.messages.from_index(first))

    def without_values(self) -> RoundsBundle:
        """The messages that say who hears of whom, for a branch that begins without values."""
        return RoundsBundle(self.sender, self.messages.without_values())
