"""How far the frontier of a loop or a branch is, and who holds it back there: which worker and operator, by a token or by a message.

Each worker says what it knows of the pointstamps of all, and which of them are its own (`timely.holders`). Guarantees: a holder that a
worker is named with is its own; what no worker has is on its way between two of them, or has been handled since somebody heard of it.
Left out on purpose: an instant at which all of it holds. Workers are asked one after another, so of a loop that moves it is about now; of
one that stands still, which is when somebody asks, it is so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..timely import Holder, Time


@dataclass(frozen=True, slots=True)
class FrontierHolder:
    """Who keeps a frontier from passing.

    Attributes
    ----------
    holds
        Whether the frontier is where it is because of it, and not before because of others.
    worker
        None: it is on its way between workers.
    operator, port, time
        Where, and at which timestamp.
    is_token
        Whether by a timestamp token, and not by a message.
    count
        By how many of them.
    """

    holds: bool
    worker: int | None
    operator: str
    port: str
    time: Time
    is_token: bool
    count: int


@dataclass(frozen=True, slots=True)
class LoopFrontier:
    """The least timestamp at which something may still come in, for the operators of a loop.

    Attributes
    ----------
    waiting
        Which input it is at; empty where nothing is to come any more.
    time
        The timestamp: a generation, and what the program's kind counts, mostly iterations.
    holders
        What workers have at that timestamp or later, and what is on its way between them; the earliest first.
    not_begun
        The workers that have not come to a branch yet. What it begins with is theirs, at the earliest timestamp that there is.
    """

    waiting: str
    time: Time | None
    holders: tuple[FrontierHolder, ...]
    not_begun: tuple[int, ...] = ()


def frontier_of(said: Sequence[Sequence[Holder] | None]) -> LoopFrontier:
    """Return the frontier of a loop, whose timestamps are in total order, from what each worker says of all; None: it has not begun it."""
    absent = tuple(worker for worker, known in enumerate(said) if known is None)
    told = [known or () for known in said]
    found = [
        (holder, _holder(worker, holder, holder.here))
        for worker, known in enumerate(told)
        for holder in known
        if holder.here > 0
    ]
    found += [(holder, _holder(None, holder, count)) for holder, count in _under_way(told)]
    found += [(first, _holder(worker, first, 1)) for first in _first_token(told) for worker in absent]
    if not found:
        return LoopFrontier("", None, (), absent)
    found.sort(key=lambda one: one[0].until)  # stable: by worker
    first = found[0][0]
    return LoopFrontier(
        first.waiting,
        first.until,
        tuple(replace(held, holds=holder.until == first.until) for holder, held in found),
        absent,
    )


def _first_token(said: Sequence[Sequence[Holder]]) -> list[Holder]:
    """The earliest token that somebody knows of: where workers have not begun, it is the one that each of them will begin with."""
    return sorted((one for known in said for one in known if one.is_token), key=lambda one: one.time)[:1]


def _under_way(said: Sequence[Sequence[Holder]]) -> list[tuple[Holder, int]]:
    """Messages that somebody knows of and nobody has. A token that nobody has is none any more: tokens stay where they are."""
    known: dict[tuple[str, Time], Holder] = {}  # where the most are known of
    here: Counter[tuple[str, Time]] = Counter()
    for holder in (holder for each in said for holder in each if not holder.is_token):
        place = holder.port, holder.time
        here[place] += holder.here
        if place not in known or known[place].known < holder.known:
            known[place] = holder
    return [
        (holder, holder.known - here[place])
        for place, holder in sorted(known.items())
        if holder.known > here[place]
    ]


def _holder(worker: int | None, holder: Holder, count: int) -> FrontierHolder:
    return FrontierHolder(
        holder.holds, worker, holder.operator, holder.port, holder.time, holder.is_token, count
    )
