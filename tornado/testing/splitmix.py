"""Random numbers by counting: number k of a seed is a pure function of (seed, k).

SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014), read by position instead of
step by step. A generated graph is therefore the same on every platform and with every release of NumPy and Numba, whose own
generators make no such promise, and edge k can be drawn without the k-1 before it. Not for secrets.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..symbol_names import njit

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_S27 = np.uint64(27)
_S30 = np.uint64(30)
_S31 = np.uint64(31)
_S32 = np.uint64(32)
_LOW_32 = np.uint64(0xFFFFFFFF)

#: Streams of one seed are this far apart: no graph draws as many numbers as that.
_STREAM_LENGTH = 1 << 40


def stream(seed: int, number: int) -> np.uint64:
    """Return the position where an independent stream of a seed begins.

    Parameters
    ----------
    seed : int
        Any integer; taken modulo 2**64.
    number : int
        Which stream of that seed: 0 and up.

    Returns
    -------
    numpy.uint64
        To be given to `draw` and `below` as `start`.
    """
    mask = (1 << 64) - 1
    mixed = seed & mask
    # Neighbouring seeds must not be neighbouring positions, or graph 1 would be graph 0 moved by one draw.
    for multiplier in (int(_MIX_1), int(_MIX_2)):
        mixed = ((mixed ^ (mixed >> 29)) * multiplier + int(_GOLDEN)) & mask
    return np.uint64((mixed + number * _STREAM_LENGTH) & mask)


@njit(cache=True, inline="always")
def draw(start: np.uint64, index: int) -> np.uint64:
    """Return 64 random bits: number `index` of the stream that begins at `start`."""
    z = (start + np.uint64(index) + np.uint64(1)) * _GOLDEN
    z = (z ^ (z >> _S30)) * _MIX_1
    z = (z ^ (z >> _S27)) * _MIX_2
    return z ^ (z >> _S31)


@njit(cache=True, inline="always")
def below(start: np.uint64, index: int, bound: int) -> np.int64:
    """Return a random integer in [0, bound), bound at most 2**32 (bias below bound / 2**32)."""
    return np.int64(((draw(start, index) >> _S32) * np.uint64(bound)) >> _S32)


@njit(cache=True)
def shuffle(values: NDArray[np.generic], start: np.uint64) -> None:
    """Permute a vector in place (Fisher and Yates)."""
    for i in range(len(values) - 1, 0, -1):
        j = below(start, i, i + 1)
        kept = values[i]
        values[i] = values[j]
        values[j] = kept


@njit(cache=True)
def integers(count: int, low: int, high: int, start: np.uint64) -> NDArray[np.int64]:
    """Return `count` random int64 in [low, high], high - low below 2**32."""
    out = np.empty(count, np.int64)
    for i in range(count):
        out[i] = low + below(start, i, high - low + 1)
    return out


@njit(cache=True)
def fractions(count: int, start: np.uint64) -> NDArray[np.float64]:
    """Return `count` random float64 in [0, 1), 53 bits each."""
    out = np.empty(count, np.float64)
    for i in range(count):
        out[i] = np.float64(draw(start, i) >> np.uint64(11)) * 2.0**-53
    return out
