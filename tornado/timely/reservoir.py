"""A reservoir: as many records as it has room for, drawn evenly of all that came, of a stream that nobody keeps.

Source: algorithm L (K.-H. Li, "Reservoir-sampling algorithms of time complexity O(n(1 + log(N/n)))", ACM TOMS 20, 1994), which draws how
many records to pass over until the next one enters. So a batch costs time for the records that enter, k ln(N / k) of N, and none for others.

Guarantees: after N records each set of k of them is as likely as any other. Numbers are drawn by a counter (Philox) from the seed: the same
records in the same order give the same sample, however they are cut into batches.

Left out on purpose: removals. Take a record away that is in the sample, and its room can be filled only by records that come later: those that
were there and are not in the sample are gone, so what is left is drawn too often of what is new. The main loops of learners know their live points, so they
draw from these, and need no reservoir (`tornado.kinds.learning`).
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from ..errors import InvalidArgument
from .channel import Pact, Pipeline
from .notificator import Notificator
from .operator import InputPort, OutputPort
from .operators import unary_notify
from .order import Time
from .scope import Stream

_BLOCK: Final = 192  # numbers drawn together; three for each record that enters
_LEAST: Final = 1e-300


class Reservoir:
    """See the module. Batches are NumPy arrays, tuples of equally long columns, or lists; all of one kind.

    Parameters
    ----------
    size : int
        k: how many records it has room for, 1 or more.
    seed : int
        Of the draws, 0 or more.

    Attributes
    ----------
    seen : int
        How many records came.

    Examples
    --------
    >>> reservoir = Reservoir(3, seed=1)
    >>> reservoir.add(np.arange(2)); reservoir.sample().tolist()
    [0, 1]
    >>> reservoir.add(np.arange(2, 1000)); reservoir.seen, len(reservoir.sample())
    (1000, 3)
    """

    def __init__(self, size: int, *, seed: int = 0) -> None:
        if size < 1:
            raise InvalidArgument(f"size is {size}, but a reservoir has room for 1 record or more")
        if seed < 0:
            raise InvalidArgument(f"seed is {seed}, but it is 0 or more")
        self.seen = 0
        self._size, self._seed = size, seed
        self._kept: Any = None
        self._numbers = np.empty(0)
        self._used = self._blocks = 0
        self._least = 0.0  # logarithm of the greatest of k numbers: records have numbers, and those of the least are in the sample
        self._next: float = -1  # which record enters next, counted from 0

    def add(self, batch: Any) -> None:
        """Look at the records of a batch, in their order; it is only read."""
        count = len(batch[0]) if isinstance(batch, tuple) else len(batch)
        first = min(count, max(0, self._size - self.seen))  # they enter while there is room
        if first:
            rows = np.arange(first)
            self._kept = (
                _taken(batch, rows) if self._kept is None else _joined(self._kept, _taken(batch, rows))
            )
        start, self.seen = self.seen, self.seen + count
        if self.seen < self._size:
            return
        if self._next < 0:
            self._next = self._size - 1
            self._pass_over()
        rows_in, places = [], []
        while self._next < self.seen:
            rows_in.append(int(self._next) - start)
            places.append(int(self._draw() * self._size))
            self._pass_over()
        if rows_in:
            _put(self._kept, places, _taken(batch, np.array(rows_in)))

    def sample(self) -> Any:
        """The records that are in it, in no order that means anything: a batch (a copy), None before the first record."""
        return None if self._kept is None else _taken(self._kept, np.arange(min(self.seen, self._size)))

    def _pass_over(self) -> None:
        self._least += math.log(1.0 - self._draw()) / self._size
        least = math.exp(self._least)
        if least < _LEAST:
            self._next = math.inf
            return
        passed = math.log(1.0 - self._draw()) / math.log1p(-least) if least < 1.0 else 0.0
        self._next += math.floor(passed) + 1

    def _draw(self) -> float:
        """The next number of [0, 1)."""
        if self._used == len(self._numbers):
            generator = np.random.Generator(np.random.Philox(key=self._seed, counter=[0, 0, self._blocks, 0]))
            self._numbers, self._used, self._blocks = generator.random(_BLOCK), 0, self._blocks + 1
        self._used += 1
        return float(self._numbers[self._used - 1])


def reservoir(stream: Stream, size: int, *, seed: int = 0, pact: Pact | None = None) -> Stream:
    """A sample of all records up to each time, sent when the time is complete; times without records send nothing.

    Parameters
    ----------
    stream : Stream
        Of times that are totally ordered, and batches as `Reservoir` takes them.
    size, seed
        See `Reservoir`; each worker has one.
    pact : Pact, optional
        Which records meet: left out, each worker draws of its own.

    Notes
    -----
    Batches that come before their time is complete wait until then, so that a sample has no records of later times. Those of one time are taken in the order
    of their arrival, which is the same in each run where one worker sends them.
    """
    kept = Reservoir(size, seed=seed)
    waiting: dict[Time, list[Any]] = {}

    def logic(port: InputPort, output: OutputPort, notificator: Notificator) -> None:
        for received, batch in port.pull():
            time = received.time
            if time not in waiting:
                waiting[time] = []
                notificator.notify_at(time, received.retain())
            waiting[time].append(batch)
        for time, token in notificator.ready():
            for batch in waiting.pop(time):
                kept.add(batch)
            if token is not None:
                found = kept.sample()
                if found is not None:
                    output.send(token, found)
                token.drop()

    return unary_notify(stream, Pipeline() if pact is None else pact, logic, name="reservoir")


def _taken(batch: Any, rows: np.ndarray[Any, np.dtype[np.int64]]) -> Any:
    if isinstance(batch, tuple):
        return tuple(_taken(column, rows) for column in batch)
    if isinstance(batch, list):
        return [batch[row] for row in rows.tolist()]
    return batch[rows]


def _joined(first: Any, second: Any) -> Any:
    if isinstance(first, tuple):
        return tuple(map(_joined, first, second))
    return first + second if isinstance(first, list) else np.concatenate([first, second])


def _put(kept: Any, places: list[int], entering: Any) -> None:
    """Let records take the places of others; of several in one place the last one stays."""
    if isinstance(kept, tuple):
        for column, new in zip(kept, entering, strict=True):
            _put(column, places, new)
    elif isinstance(kept, list):
        for place, record in zip(places, entering, strict=True):
            kept[place] = record
    else:
        last = {place: row for row, place in enumerate(places)}
        kept[list(last)] = entering[list(last.values())]
