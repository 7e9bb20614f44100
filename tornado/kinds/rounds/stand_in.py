"""What a program of rounds gives its kernel: label propagation here, so that the kernel can be imported, read and checked.

`compile.py` puts the functions of the program in their place.
"""

import numba as nb
import numpy as np
from numpy.typing import NDArray

COUNTS_OUT = False  # whether it shares what it has among those that its edges end at, and so counts them


@nb.njit(cache=True)
def initial(vertex: int) -> int:
    """A vertex's value at round 0."""
    return vertex


@nb.njit(cache=True)
def coefficients(result: NDArray[np.float64], kept: NDArray[np.float64], vertices: int) -> None:
    """What each round counts for in an answer, where vertices share."""
    result[:] = kept / vertices
