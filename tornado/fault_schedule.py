"""What a run with faults does and what happens to it, step by step, under a seed; see `recovery_simulation.py`.

Each step has a seed of its own, so that the others are what they were where it is left out.
"""

from __future__ import annotations

from random import Random
from typing import NamedTuple

_FAULTY = 0.35  # chance that an operation has a fault before it

RESTART = "restart"
OPERATIONS = ("admit", "admit", "push", "advance", "ask", "fork", "judge", "look", "store", "trim")
FAULTS = (
    *("no room", "no room", "dies before", "dies after", "driver dies"),
    *("worker ends", "worker ends", "all workers end", "worker hangs", "connection breaks"),
    "driver stands still",
)


class ScheduledStep(NamedTuple):
    """One thing that a run does, or that happens to it.

    Attributes
    ----------
    number
        Its place in the run.
    kind
        `RESTART`, or one of `OPERATIONS` or `FAULTS`. A fault waits for its instant, in what the operations behind it do.
    seed
        All about it follows from that, and from what was before it.
    """

    number: int
    kind: str
    seed: int


def steps_of(seed: int) -> list[ScheduledStep]:
    """What a run of this seed does, in its order."""
    rng = Random(seed)
    kinds: list[str] = []
    for _ in range(rng.randint(1, 3)):
        kinds.append(RESTART)
        for _ in range(rng.randint(1, 9)):
            if rng.random() < _FAULTY:
                kinds.append(rng.choice(FAULTS))
            kinds.append(rng.choice(OPERATIONS))
    return [ScheduledStep(number, kind, rng.getrandbits(48)) for number, kind in enumerate(kinds)]
