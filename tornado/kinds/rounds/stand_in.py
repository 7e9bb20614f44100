"""What a program of rounds gives its kernel: label propagation here, so that the kernel can be imported, read and checked.

`compile.py` puts the functions of the program in their place.
"""

import numba as nb

BOTH_WAYS = True  # whether a vertex hears of those that its edges end at, too


@nb.njit(cache=True)
def initial(vertex: int) -> int:
    """A vertex's value at round 0."""
    return vertex
