"""Making a failure small: of all that a run did, what is left when nothing more can be left out.

Source: Zeller and Hildebrandt, Simplifying and isolating failure-inducing input (IEEE TSE 2002), without complements: parts are left
out, halves first and single ones at last, for as long as any can be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .clock import SYSTEM_CLOCK, Clock


def shrink(
    steps: Sequence[int],
    fails: Callable[[Sequence[int]], bool],
    *,
    within_s: float,
    clock: Clock = SYSTEM_CLOCK,
) -> list[int]:
    """Leave out steps for as long as what is left fails.

    Parameters
    ----------
    steps
        With all of them it fails.
    fails
        Whether it does with some of them, in their order.
    within_s
        How long to look for a smaller one; what there is by then is returned.

    Returns
    -------
    What fails. Where there was time enough, each step is needed.

    Examples
    --------
    >>> shrink(range(100), lambda left: {7, 62} <= set(left), within_s=10)
    [7, 62]
    """
    until_s = clock.monotonic() + within_s
    left = list(steps)
    size = max(1, len(left) // 2)
    while True:
        begun = len(left)
        place = 0
        while place < len(left):
            if clock.monotonic() >= until_s:
                return left
            fewer = left[:place] + left[place + size :]
            if fails(fewer):
                left = fewer
            else:
                place += size
        if size == 1 and len(left) == begun:
            return left
        size = max(1, size // 2)
