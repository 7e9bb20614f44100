"""What travels between the workers of a loop: many messages at once, in order, with the progress of waves on top."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...value_types import Worst
from .loop_columns import INVALIDATE, SUBSCRIBE, SUBSCRIBED_REPLY, UNSUBSCRIBE, UPDATE

_KEPT_BY_SNAPSHOTS = np.zeros(256, np.bool_)
_KEPT_BY_SNAPSHOTS[[UPDATE, INVALIDATE, SUBSCRIBE, UNSUBSCRIBE, SUBSCRIBED_REPLY]] = True


class Messages(NamedTuple):
    """Messages in columns; `numbers` are iterations, clocks or waves, by kind."""

    kinds: NDArray[np.uint8]
    ids: NDArray[np.int64]
    values: NDArray[Any]
    numbers: NDArray[np.int64]

    @classmethod
    def of(cls, columns: Iterable[Any]) -> Messages:
        """Make messages of columns in the order of the fields."""
        return cls(*columns)

    def from_index(self, first: int) -> Messages:
        """The messages from an index on."""
        return Messages.of(column[first:] for column in self)

    def for_snapshot(self) -> Messages:
        """The messages without those of sessions under way, which a snapshot leaves behind."""
        kept = _KEPT_BY_SNAPSHOTS[self.kinds]
        return self if kept.all() else Messages.of(column[kept] for column in self)

    def without_values(self, worst: Worst) -> Messages:
        """The messages that say who hears of whom, for a branch that begins without values."""
        kept = (self.kinds != UPDATE) & (self.kinds != INVALIDATE)
        kinds, ids, values, numbers = (column[kept] for column in self)
        return Messages(kinds, ids, np.full_like(values, worst), np.full_like(numbers, -1))

    def in_first_wave(self) -> Messages:
        """The messages with every invalidation in wave 1, the only one of a branch."""
        numbers = np.where(self.kinds == INVALIDATE, 1, self.numbers)
        return self._replace(numbers=numbers)


class Rest(NamedTuple):
    """What a worker says that has come to a fork with nothing left to do: how many bundles it had sent to each, and taken in of each."""

    fork: int
    sent: tuple[int, ...]
    received: tuple[int, ...]


def all_came(rests: Sequence[Rest]) -> bool:
    """Whether all that workers had sent had come, by what each of them says, in their order.

    Each channel counts for itself (Mattern, 1987): a sum of all could be even by what one worker took in and another sent since they said
    it. So it is true whenever each said it, and remains so, as nobody has anything to say who is told nothing.
    """
    return all(
        one.sent[receiver] == other.received[sender]
        for sender, one in enumerate(rests)
        for receiver, other in enumerate(rests)
    )


NO_MESSAGES = Messages(
    np.empty(0, np.uint8), np.empty(0, np.int64), np.empty(0, np.float64), np.empty(0, np.int64)
)


@dataclass(frozen=True, slots=True)
class Bundle:
    """One sending of a worker to another.

    Attributes
    ----------
    sender
        The worker it comes from.
    messages
        In the order in which they were made.
    wave
        The least wave of the invalidations in it, 0 if there are none; counted as under way until they are worked off.
    wave_changes
        What changed at the sender in the counts of waves: (wave, difference).
    marker
        The number of the fork whose snapshot it delimits: everything after it comes from after the sender's record. -1: none.
    rest
        The sender has come to a fork with nothing left to do.
    """

    sender: int
    messages: Messages = NO_MESSAGES
    wave: int = 0
    wave_changes: tuple[tuple[int, int], ...] = ()
    marker: int = -1
    rest: Rest | None = None

    def __len__(self) -> int:
        return len(self.messages.kinds)

    def from_index(self, first: int) -> Bundle:
        """See `MessageBundle`."""
        return Bundle(self.sender, self.messages.from_index(first))
