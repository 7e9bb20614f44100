"""Records that repeat an earlier one, recognised by a key of theirs.

A record repeats another if one with the same key stands in the same message before it, or in one of the N messages before that
in its partition, N being the window; whether that one was a repetition itself makes no difference, and one that was rejected
does not count. So it is a law about the topic, not about what we have seen of it: N messages before any offset are all that must
be known to judge what comes from there, and a restart learns them by reading them again. Nothing of this is stored.

Keys are compared by digests of 128 bits. Memory: at most about 100 bytes for each record in the window.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...symbol_names import compiled
from .decoding import Decoded

_FIRST_ROOM: Final = 1 << 12
# Odd, and with bits all over; in one place, since a kernel would make signed numbers of them.
_FACTORS: Final = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F], np.uint64)
_SHIFTS: Final = np.array([8, 29, 32], np.uint64)
_FREE: Final = -1


class RecentKeys:
    """The keys of the last messages of one partition.

    Parameters
    ----------
    window : int
        How many messages before one are looked at.
    """

    def __init__(self, window: int) -> None:
        self._window = window
        self._digests = np.empty((_FIRST_ROOM, 2), np.uint64)
        self._offsets = np.full(_FIRST_ROOM, _FREE, np.int64)
        self._taken = 0

    @property
    def room(self) -> int:
        """How many keys there is memory for."""
        return len(self._offsets)

    def mark(self, decoded: Decoded) -> tuple[NDArray[np.bool_], int]:
        """Learn the keys of the good records of a chunk that comes next.

        Returns
        -------
        bool[len(decoded.parsed.batch)], int
            Which edges are of records that repeat one, and how many such records there are.
        """
        keys, positions = decoded.parsed.keys, decoded.parsed.positions
        assert keys is not None, "the decoder was not told of a key"
        if not len(positions):
            return np.zeros(0, np.bool_), 0
        # One edge of each record: an undirected one has two.
        first = np.flatnonzero(np.diff(positions, prepend=0))
        offsets = decoded.offsets[decoded.owners[positions[first] - 1]]
        repeated = self._mark(
            _digests_of(keys if len(first) == len(keys) else keys.take(pa.array(first))), offsets
        )
        edges = np.repeat(repeated, np.diff(first, append=len(positions)))
        return edges, int(repeated.sum())

    def _mark(self, digests: NDArray[np.uint64], offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
        self._make_room(len(digests), int(offsets[0]))
        repeated = np.empty(len(digests), np.bool_)
        self._taken += mark_all(digests, offsets, self._window, self._digests, self._offsets, repeated)
        return repeated

    def _make_room(self, count: int, offset: int) -> None:
        """Let so many keys find a place, those that are too old for `offset` go for it."""
        if self._taken + count <= 3 * self.room // 4:
            return
        live = self._offsets >= max(0, offset - self._window)
        digests, offsets = self._digests[live], self._offsets[live]
        room = _FIRST_ROOM
        while room < 2 * (len(offsets) + count):
            room *= 2
        self._digests = np.empty((room, 2), np.uint64)
        self._offsets = np.full(room, _FREE, np.int64)
        # They differ from each other, so none is marked.
        nothing = np.empty(len(offsets), np.bool_)
        self._taken = mark_all(digests, offsets, 0, self._digests, self._offsets, nothing)


def _digests_of(keys: pa.LargeStringArray) -> NDArray[np.uint64]:
    _, bounds, data = keys.buffers()
    offsets = np.frombuffer(bounds, np.int64)[keys.offset : keys.offset + len(keys) + 1]
    texts = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    digests = np.empty((len(keys), 2), np.uint64)
    digest_all(texts, offsets, _FACTORS, _SHIFTS, digests)
    return digests


@compiled
def digest_all(
    data: NDArray[np.uint8],
    bounds: NDArray[np.int64],
    factors: NDArray[np.uint64],
    shifts: NDArray[np.uint64],
    digests: NDArray[np.uint64],
) -> None:
    """Digest the texts between neighbouring bounds: two chains over words of eight bytes, each step one to one in both."""
    for index in range(len(digests)):
        low, high = bounds[index], bounds[index + 1]
        # The length first, or zeros at the end would be the same as none.
        one = np.uint64(high - low)
        other = ~one
        while low < high:
            word = np.uint64(0)
            stop = min(low + 8, high)
            for at in range(low, stop):
                word = (word << shifts[0]) | np.uint64(data[at])
            one = (one ^ word) * factors[0]
            one ^= one >> shifts[2]
            other = (other + word) * factors[1]
            other ^= other >> shifts[1]
            low = stop
        digests[index, 0] = one * factors[1]
        digests[index, 1] = other * factors[0]


@compiled
def mark_all(
    digests: NDArray[np.uint64],
    offsets: NDArray[np.int64],
    window: int,
    table: NDArray[np.uint64],
    newest: NDArray[np.int64],
    repeated: NDArray[np.bool_],
) -> int:
    """Look keys up in an open table with room for all of them, note their newest offset, and return how many are new there."""
    last = len(newest) - 1
    added = 0
    for index in range(len(digests)):
        one, other = digests[index, 0], digests[index, 1]
        slot = np.int64(other) & last
        while newest[slot] >= 0 and (table[slot, 0] != one or table[slot, 1] != other):
            slot = (slot + 1) & last
        repeated[index] = newest[slot] >= 0 and offsets[index] - newest[slot] <= window
        if newest[slot] < 0:
            table[slot, 0], table[slot, 1] = one, other
            added += 1
        newest[slot] = offsets[index]
    return added
