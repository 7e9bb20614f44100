"""What an accumulative program gives its kernel: PageRank here, so that the kernel can be imported, read and checked.

`compile.py` puts the functions of the program in their place.
"""

import numba as nb


@nb.njit(cache=True)
def base(vertex: int, damping: float) -> float:  # noqa: ARG001
    """What a vertex has of its own, times b."""
    return 1.0


@nb.njit(cache=True)
def divisor(out_weight: float, damping: float) -> float:  # noqa: ARG001
    """What a value is divided by when it is announced."""
    return out_weight


@nb.njit(cache=True)
def factor(damping: float) -> float:
    """What sums are multiplied by."""
    return damping
