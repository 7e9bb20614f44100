"""What ranks by rounds are worth: how many roundings an answer has been through, and how far they can have taken it from the exact one.

Every number is at least 0 from beginning to end, so nothing cancels out. Let u = 2^-53. A rounding then changes a number by a factor between
1 - u and 1 + u, a sum is off by no more than the worst of its terms and its own additions, and after E roundings a value x is
x* times E such factors or their inverses. Hence, where E u < 1 (Higham, Accuracy and Stability of Numerical Algorithms, lemma 3.1),

    |x - x*| <= E u / (1 - E u) x.

*Cells.* Let D be the most terms of a sum of shares. A sum of D terms in any order, which begins with 0, has D - 1 additions that round,
and its share of each edge a division. The cell of round 1 is one division of what a vertex has at first, which is exact. So that of
round j + 1 has at most 1 + j D roundings. `sum_kernel` adds without compensation, in the order of the lists; a cell is gathered
anew as a whole whenever a list or a term of it changes, so nothing is left behind by edges that have gone.

*Kept sums.* Of K cells of a worker, which no edge shares, and of W workers: K - 1 and W - 1 further additions.

*Answers.* With n rounds a value is a sum over j = 0 .. n of coefficient times cell, which begins with 0, times the number of edges: to
those of the cell and of the coefficient come one for the product, n for the sum and one for the last product. How many a coefficient
has been through says the program (`RoundsProgram.roundings`).

*Underflow.* A number below the least normal one is off by up to 2^-1075 in place of a share of itself. Shares of a round together
hand on no more than was brought, so at most 2^-1074 times all cells and edges come together at a vertex. A value is no less than what it
has at first times the coefficient of round 0, which is at least 2^-100; so all of that is far less than a rounding of it. One is counted
for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_ROUNDING = 2.0**-53
_OF_AN_ANSWER = 4  # two products, what underflow makes, and what is computed here


def kept_roundings(findings: Sequence[Mapping[str, float]]) -> int:
    """Return how many roundings the sum of what vertices keep has at most beside those of its terms, by what the parts have found."""
    return max((int(found["kept"]) for found in findings), default=0) + len(findings)


def relative_bound_of(coefficients: Sequence[int], terms: int) -> float:
    """Return how far each value is from the exact one, at most, as a share of it; infinity where nothing is known.

    Parameters
    ----------
    coefficients
        How many roundings those of rounds 0, 1 and so on have been through, at most.
    terms
        D.

    Examples
    --------
    >>> relative_bound_of([1], 5) == 6 * 2.0**-53 / (1.0 - 6 * 2.0**-53)
    True
    >>> relative_bound_of([2**53], 5)
    inf
    """
    of_terms = max(own + 1 + number * terms for number, own in enumerate(coefficients))
    rounded = _ROUNDING * (of_terms + len(coefficients) - 1 + _OF_AN_ANSWER)
    return rounded / (1.0 - rounded) if rounded < 1.0 else float("inf")
