"""What a selective program gives its kernel: shortest paths here, so that the kernel can be imported, read and checked.

`compile.py` puts the functions of the program in their place.
"""

import numba as nb
import numpy as np

WORST = np.inf


@nb.njit(cache=True)
def offer(value, weight):
    """What a producer's value is worth over an edge."""
    return value + weight


@nb.njit(cache=True)
def better(value, other):
    """Whether a value is to be preferred, strictly."""
    return value < other


@nb.njit(cache=True)
def priority(value):
    """The order in which vertices are processed: least first."""
    return value


@nb.njit(cache=True)
def initial(vertex, source):
    """A vertex's value without any offer."""
    return 0.0 if vertex == source else np.inf
