"""What a counting program gives its kernel: the share of possible edges here, so that the kernel can be imported, read and checked.

`compile.py` puts the function of the program in its place.
"""

import numba as nb


@nb.njit(cache=True)
def value(neighbours: int, edges: int) -> float:
    """The value of a vertex."""
    return edges / max(1, neighbours * (neighbours - 1))
