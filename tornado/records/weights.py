"""Which weights no edge can have, and in which words a record of one is rejected, whatever it was read from."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

IS_NAN: Final = "weight is NaN"
NOT_FINITE: Final = "weight is not finite"
"""Why a record is rejected whose weight is infinite, or too large for a float64."""


def weight_faults(
    weight: NDArray[np.float64], *, left_out: NDArray[np.bool_]
) -> list[tuple[NDArray[np.bool_], str]]:
    """Which weights no edge can have, and why: NaN and infinite ones.

    Parameters
    ----------
    weight : float64[n]
    left_out : bool[n]
        Where there is none, whatever stands there.

    Returns
    -------
    list of (bool[n], str)
    """
    return [(np.isnan(weight) & ~left_out, IS_NAN), (np.isinf(weight) & ~left_out, NOT_FINITE)]
