"""What an accumulative program and its norm give their kernel: PageRank here, so that the kernel can be imported, read and checked.

`compile.py` puts the functions of the program and of its norm (`norms.py`) in their place.
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


@nb.njit(cache=True)
def threshold(theta: float, degree: int, base: float) -> float:  # noqa: ARG001
    """What a residual may come to before it is announced."""
    return theta * degree


@nb.njit(cache=True)
def scaled(amount: float, base: float) -> float:  # noqa: ARG001
    """What an amount counts in the norm, at a vertex with a base."""
    return amount


@nb.njit(cache=True)
def joined(total: float, term: float) -> float:
    """The norm of two parts."""
    return total + term


@nb.njit(cache=True)
def most_worth(base: float, is_branch: int) -> float:  # noqa: ARG001
    """What a vertex announces at most."""
    return 1e200
