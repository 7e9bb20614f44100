"""What data shards and parameter blocks say to each other in a main loop, and what is asked and answered in a branch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from ...engine import WireType
from .rounds import Finished, Partial, Round


@dataclass(frozen=True, slots=True, eq=False)
class Spoken:
    """What a vertex commits: a parameter block its parameters, a data shard one array.

    Attributes
    ----------
    number
        Counts what the vertex said, from 1: who gathers it twice knows it by that.
    is_asking
        Whether whoever hears it is to answer.
    arrays
        By name. They are shared by all who hear them, and never written.
    """

    number: int
    is_asking: bool
    arrays: Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class RoundLetter:
    """One sending of a worker to another in a branch: the coordinator asks a round or says the end, others answer.

    Attributes
    ----------
    sender
        The worker it comes from.
    asked
        What all are asked.
    partials
        The sums of the sender, of what was asked last.
    finished
        What was found; nothing is asked any more.
    """

    sender: int
    asked: Round | None = None
    partials: tuple[Partial, ...] = ()
    finished: Finished | None = None


WIRE_TYPES = (
    WireType(
        Spoken, lambda one: (one.number, one.is_asking, dict(one.arrays)), lambda fields: Spoken(*fields)
    ),
    WireType(Round, lambda one: (one.task, one.numbers, one.arrays), lambda fields: Round(*fields)),
    WireType(
        Finished,
        lambda one: (dict(one.parameters), dict(one.findings), one.is_converged),
        lambda fields: Finished(*fields),
    ),
    WireType(
        RoundLetter,
        lambda one: (one.sender, one.asked, tuple(map(tuple, one.partials)), one.finished),
        lambda fields: RoundLetter(
            fields[0], fields[1], tuple(Partial(*each) for each in fields[2]), fields[3]
        ),
    ),
)
