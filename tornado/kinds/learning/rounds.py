"""Rounds: what the coordinator of a branch asks of all shards, and how the sums that they answer with are put together.

A method (Newton's, dual ascent, Lloyd's) is a generator: it yields a `Round`, is sent the sums over all shards, and returns what it has
found. It knows nothing of workers. On each worker a `ShardWork` answers for its shards, one at a time.

The answers of shards are summed over a binary tree whose leaves are the shards, so the bits of a sum depend neither on how many workers
there are nor on who is done first. The children of node (level, residue) are the shards whose numbers are `residue` and
``residue + 2**level`` modulo ``2**(level + 1)``: workers that are 1, 2, 4, … have whole subtrees, and say a single sum each.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ...points import SHARDS

_LEVELS = SHARDS.bit_length() - 1


@dataclass(frozen=True, slots=True, eq=False)
class Round:
    """What every shard is asked.

    Attributes
    ----------
    task : str
        Which of the tasks that the `ShardWork` of the method knows.
    numbers : tuple of float
    arrays : tuple of ndarray
        Shared by all who read them: never written.
    """

    task: str
    numbers: tuple[float, ...] = ()
    arrays: tuple[NDArray[Any], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Finished:
    """What a method has found.

    Attributes
    ----------
    parameters : mapping of str to ndarray
        By name: what the main loop holds under the same names.
    findings : mapping of str to float
        What the certificate is made of.
    is_converged : bool
        Whether it ended because it found what was asked for.
    """

    parameters: Mapping[str, NDArray[Any]]
    findings: Mapping[str, float] = field(default_factory=dict)
    is_converged: bool = True


Method = Generator[Round, NDArray[np.float64], Finished]


class ShardWork(Protocol):
    """One worker's side of a method: what it keeps for each of its shards, and how these answer."""

    def width(self, asked: Round) -> int:
        """How many numbers a shard answers with."""
        ...

    def add(self, asked: Round, shard: int, total: NDArray[np.float64]) -> None:
        """Add the answer of a shard to `total`, float64[width]; shards are asked in the order of the tree."""
        ...


class Partial(NamedTuple):
    """The sum over the shards below a node of the tree."""

    level: int
    residue: int
    total: NDArray[np.float64]


def partial_sums(work: ShardWork, asked: Round, shards: Collection[int]) -> list[Partial]:
    """Return the sums over some shards, by the largest subtrees that have no others.

    Parameters
    ----------
    shards
        Those of a worker.
    """
    width, owned = work.width(asked), frozenset(shards)
    found: list[Partial] = []

    def total_of(level: int, residue: int) -> NDArray[np.float64]:
        if level == _LEVELS:
            total = np.zeros(width)
            work.add(asked, residue, total)
            return total
        total = total_of(level + 1, residue)
        total += total_of(level + 1, residue + (1 << level))
        return total

    def go_down(level: int, residue: int) -> None:
        below = range(residue, SHARDS, 1 << level)
        if owned.issuperset(below):
            found.append(Partial(level, residue, total_of(level, residue)))
        elif not owned.isdisjoint(below):
            go_down(level + 1, residue)
            go_down(level + 1, residue + (1 << level))

    go_down(0, 0)
    return found


def joined(partials: Iterable[Partial]) -> NDArray[np.float64]:
    """Return the sum over all shards, given the partial sums of all workers; it may be one of the given arrays, added to."""
    known = {(partial.level, partial.residue): partial.total for partial in partials}

    def total_of(level: int, residue: int) -> NDArray[np.float64]:
        if (level, residue) in known:
            return known[level, residue]
        total = total_of(level + 1, residue)
        total += total_of(level + 1, residue + (1 << level))
        return total

    return total_of(0, 0)


def run_alone(method: Method, work: ShardWork) -> Finished:
    """Run a method to its end where one worker has all shards; the simplest there is, and what others are held to."""
    try:
        asked = next(method)
        while True:
            asked = method.send(joined(partial_sums(work, asked, range(SHARDS))))
    except StopIteration as ended:
        finished: Finished = ended.value
        return finished
