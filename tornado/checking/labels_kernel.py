"""The compiled loops behind `labels.py`: who is heard by whom, and one round of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..symbol_names import njit


@njit(cache=True, nogil=True)
def count_heard(hearers: NDArray[np.int32], offsets: NDArray[np.int64]) -> None:
    """Count, behind the place of each vertex, whom it hears."""
    for e in range(len(hearers)):
        offsets[hearers[e] + 1] += 1


@njit(cache=True, nogil=True)
def place_heard(
    hearers: NDArray[np.int32],
    heard: NDArray[np.int32],
    following: NDArray[np.int64],
    voices: NDArray[np.int32],
) -> None:
    """Write whom each vertex hears."""
    for e in range(len(hearers)):
        voices[following[hearers[e]]] = heard[e]
        following[hearers[e]] += 1


@njit(cache=True, nogil=True)
def go_round(
    offsets: NDArray[np.int64],
    voices: NDArray[np.int32],
    before: NDArray[np.int64],
    after: NDArray[np.int64],
    scratch: NDArray[np.int64],
) -> bool:
    """Write the label that most of those whom a vertex hears had before, the least of several; return whether any changed."""
    changed = False
    for v in range(len(before)):
        first, stop = offsets[v], offsets[v + 1]
        after[v] = before[v]
        if first == stop:
            continue
        labels = scratch[: stop - first]
        for at in range(first, stop):
            labels[at - first] = before[voices[at]]
        labels.sort()
        most, begin = 0, 0
        for at in range(1, len(labels) + 1):
            if at == len(labels) or labels[at] != labels[begin]:
                if at - begin > most:
                    most = at - begin
                    after[v] = labels[begin]
                begin = at
        changed |= after[v] != before[v]
    return changed
