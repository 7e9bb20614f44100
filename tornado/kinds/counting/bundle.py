"""What travels between the workers of a counting branch: a page of something at once. Main loops send markers only."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class CountPhase(IntEnum):
    """What is said, one after the other; a branch counts its iterations by these, from 1."""

    EDGES = 0  # ids have an edge to others
    DEGREES = 1  # others, who are neighbours of ids, have so many neighbours of their own
    LISTS = 2  # ids have lists of so many neighbours: others, with how many edges are between both
    FOUND = 3  # so many edges among the neighbours of ids were found
    OVER = 4


class CountMessages(NamedTuple):
    """Messages in columns; what they mean says the phase."""

    ids: NDArray[np.int64]
    others: NDArray[np.int64]
    numbers: NDArray[np.int64]
    counted: NDArray[np.uint8]


_NO_IDS, _NO_COUNTS = np.empty(0, np.int64), np.empty(0, np.uint8)


def messages_of(
    ids: NDArray[np.int64],
    others: NDArray[np.int64] = _NO_IDS,
    numbers: NDArray[np.int64] = _NO_IDS,
    counted: NDArray[np.uint8] = _NO_COUNTS,
) -> CountMessages:
    """Return messages with some of the columns."""
    return CountMessages(ids, others, numbers, counted)


@dataclass(frozen=True, slots=True)
class CountBundle:
    """One sending of a worker to another.

    Attributes
    ----------
    sender
        The worker it comes from.
    phase
        What is said; OVER in a marker.
    messages
        In the order in which they were made.
    marker
        The number of the fork whose snapshot it delimits; -1: none.
    """

    sender: int
    phase: int = int(CountPhase.OVER)
    messages: CountMessages = field(default_factory=lambda: messages_of(_NO_IDS))
    marker: int = -1
