"""Random numbers by a counter: the same wherever and whenever they are asked for (SplitMix64; Steele, Lea and Flood 2014)."""

import numba as nb
import numpy as np


@nb.njit(cache=True)
def random_word(seed, shard, number, place):
    """64 random bits, of four whole numbers."""
    word = np.uint64(seed)
    for part in (shard, number, place):
        word = (word ^ np.uint64(part)) + np.uint64(0x9E3779B97F4A7C15)
        word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        word ^= word >> np.uint64(31)
    return word


@nb.njit(cache=True)
def random_below(seed, shard, number, place, most):
    """A random whole number from 0 to below `most`, which is less than 2**32."""
    word = random_word(seed, shard, number, place) >> np.uint64(32)
    return np.int64((word * np.uint64(most)) >> np.uint64(32))


@nb.njit(cache=True, nogil=True)
def draw_evenly(rows, seed, shard, number, drawn):
    """Draw rows, one of each of as many stretches of equal length.

    Parameters
    ----------
    rows : int32[n]
        Only read.
    drawn : int32[k]
        Written.
    """
    for place in range(len(drawn)):
        first = place * len(rows) // len(drawn)
        stop = (place + 1) * len(rows) // len(drawn)
        chosen = first + random_below(seed, shard, number, place, max(1, stop - first))
        drawn[place] = rows[chosen]
