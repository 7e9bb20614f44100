"""What an answer says of its gap, held to an objective that is known."""

from __future__ import annotations

from collections.abc import Mapping


def fault_of(claimed: Mapping[str, float], primal: float, slack: float) -> str | None:
    """What is wrong with the `primal`, `dual` and `bound` that are claimed; None: nothing."""
    if not abs(claimed["primal"] - primal) <= slack:
        return f"the objective is said to be {claimed['primal']!r}, but the points make it {primal!r}"
    if not claimed["dual"] <= primal + slack:
        return f"the dual is {claimed['dual']!r}, above the objective {primal!r}"
    if not claimed["bound"] * primal >= primal - claimed["dual"] - slack:
        return f"the bound is {claimed['bound']!r}, but the objective {primal!r} is further from the dual {claimed['dual']!r}"
    return None
