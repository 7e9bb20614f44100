"""What a user's loss gives to the kernels of one, so that they can be imported, read and checked; `own_loss` puts the user's in their place."""

import numba as nb


@nb.njit(cache=True)
def own_value(place):
    """The loss at a margin or a residual."""
    return 0.5 * place * place


@nb.njit(cache=True)
def own_slope(place):
    """Its derivative there."""
    return place


@nb.njit(cache=True)
def own_bend(_place):
    """The derivative of that."""
    return 1.0
