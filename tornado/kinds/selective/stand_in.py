"""What a selective program gives its kernel: shortest paths here, so that the kernel can be imported, read and checked.

`compile.py` puts the functions of the program in their place.
"""

import numba as nb
import numpy as np

WORST = np.inf


@nb.njit(cache=True)
def offer(value: float, weight: float) -> float:
    """What a producer's value is worth over an edge."""
    return value + weight


@nb.njit(cache=True)
def better(value: float, other: float) -> bool:
    """Whether a value is to be preferred, strictly."""
    return value < other


@nb.njit(cache=True)
def priority(value: float) -> float:
    """The order in which vertices are processed: least first."""
    return value


@nb.njit(cache=True)
def initial(vertex: int, source: int) -> float:
    """A vertex's value without any offer."""
    return 0.0 if vertex == source else np.inf
