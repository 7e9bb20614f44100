"""The laws of the protocol, judged from outside: what was gathered, what was committed, and at which τ.

`Laws` knows nothing of prepare lists and stamps. A `Witness` stands between every session and its program and notes each gather
and scatter; after every event the notes are read in order and compared with the rules (R1, R2, R3 and the delay bound, stated in
`session.py`). R3 is judged twice: when a vertex commits, everything it was owed must be gathered; when it gathers, nothing may be
older than its own last commit. What a vertex is owed counts from the moment its edge carries a value to the moment its last edge
from that producer is gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import LawBroken
from .messages import Committed
from .sample_programs import SampleProgram


@dataclass(frozen=True, slots=True)
class Gathered:
    """`vertex` gathered what `producer` committed at `iteration`."""

    vertex: int
    producer: int
    iteration: int


@dataclass(frozen=True, slots=True)
class Dropped:
    """`vertex` has no edge from `producer` any more."""

    vertex: int
    producer: int


@dataclass(frozen=True, slots=True)
class Scattered:
    """`vertex` gave its value for a commit; the session's next `Committed` says at which iteration."""

    vertex: int


Note = Gathered | Dropped | Scattered


class Witness:
    """A program that takes notes.

    Parameters
    ----------
    program : SampleProgram
        Answers every question.
    notes : list of Note
        Appended to.
    """

    def __init__(self, program: SampleProgram, notes: list[Note]) -> None:
        self.program = program
        self.notes = notes

    def touch(self, vertex: int, data: object) -> bool:
        """Do what the program does."""
        return self.program.touch(vertex, data)

    def gather(
        self, vertex: int, producer: int, value: object, iteration: int, edges: Sequence[object]
    ) -> bool:
        """Do what the program does, and note it."""
        self.notes.append(Gathered(vertex, producer, iteration))
        return self.program.gather(vertex, producer, value, iteration, edges)

    def drop(self, vertex: int, producer: int, data: object, edges: Sequence[object]) -> bool:
        """Do what the program does, and note it when it was the last edge."""
        if not edges:
            self.notes.append(Dropped(vertex, producer))
        return self.program.drop(vertex, producer, data, edges)

    def scatter(self, vertex: int) -> object:
        """Do what the program does, and note it."""
        self.notes.append(Scattered(vertex))
        return self.program.scatter(vertex)


class Laws:
    """The history of a run as far as the laws need it.

    Parameters
    ----------
    delay_bound : int or None
        B; None is unbounded.
    first_iteration : int, default 0
        The first iteration of the loop.
    """

    def __init__(self, delay_bound: int | None, first_iteration: int = 0) -> None:
        self.delay_bound = delay_bound
        self.start = first_iteration - 1
        self.last: dict[int, int] = {}
        self.read: dict[int, int] = {}
        self.heard: dict[
            tuple[int, int], int
        ] = {}  # (vertex, producer) -> newest commit gathered; live edges only
        self.owed: dict[
            tuple[int, int], tuple[int, ...]
        ] = {}  # the same -> commits sent and not gathered yet

    def judge(self, notes: Sequence[Note], commits: Sequence[Committed], tau: int) -> None:
        """Read the notes of one event, with what the session committed and τ before it.

        Raises
        ------
        LawBroken
            If one of R1, R2, R3 or the delay bound does not hold.
        """
        remaining = iter(commits)
        for note in notes:
            match note:
                case Gathered():
                    self._gathered(note.vertex, note.producer, note.iteration)
                case Dropped():
                    self.heard.pop((note.vertex, note.producer), None)
                    self.owed.pop((note.vertex, note.producer), None)
                case Scattered():
                    self._committed(note.vertex, next(remaining).iteration, tau)

    def copy(self) -> Laws:
        """A copy that shares nothing that changes."""
        twin = type(self)(self.delay_bound, self.start + 1)
        twin.last, twin.read = self.last.copy(), self.read.copy()
        twin.heard, twin.owed = self.heard.copy(), self.owed.copy()
        return twin

    def key(self) -> tuple[object, ...]:
        """The history, hashable: states that differ in it may be judged differently."""
        return (
            tuple(sorted(self.last.items())),
            tuple(sorted(self.read.items())),
            tuple(sorted(self.heard.items())),
            tuple(sorted(self.owed.items())),
        )

    def _gathered(self, vertex: int, producer: int, iteration: int) -> None:
        edge = (vertex, producer)
        known = self.heard.get(edge)
        last = self.last.get(vertex, self.start)
        if known is not None and iteration > known and iteration < last:
            self._overtakes(
                f"{vertex} gathers {producer}'s commit at {iteration} after it committed at {last} itself"
            )
        self.heard[edge] = max(iteration, self.start if known is None else known)
        self.read[vertex] = max(iteration, self.read.get(vertex, self.start))
        if edge in self.owed:
            rest = tuple(owed for owed in self.owed[edge] if owed > iteration)
            if rest:
                self.owed[edge] = rest
            else:
                del self.owed[edge]

    def _committed(self, vertex: int, iteration: int, tau: int) -> None:
        last, read = self.last.get(vertex, self.start), self.read.get(vertex, self.start)
        if iteration <= last:
            raise LawBroken("R2", f"{vertex} commits at {iteration} after {last}")
        if iteration <= read:
            raise LawBroken("R1", f"{vertex} commits at {iteration} and has read a commit at {read}")
        for (reader, producer), owed in self.owed.items():
            if reader == vertex and owed[0] < iteration:
                self._overtakes(f"{vertex} commits at {iteration} without {producer}'s commit at {owed[0]}")
        if iteration < tau:
            raise LawBroken("delay bound", f"{vertex} commits at {iteration}, below tau = {tau}")
        if self.delay_bound is not None and iteration - tau >= self.delay_bound:
            raise LawBroken(
                "delay bound", f"{vertex} commits at {iteration}, tau is {tau} and B is {self.delay_bound}"
            )
        self.last[vertex] = iteration
        for reader, producer in self.heard:
            if producer == vertex:
                self.owed[reader, vertex] = (*self.owed.get((reader, vertex), ()), iteration)

    def _overtakes(self, message: str) -> None:
        """Raise that R3 is broken. Where nobody is asked it need not hold, and tests judge such sessions with another rule."""
        raise LawBroken("R3", message)
