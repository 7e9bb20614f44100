"""What was observed, over time: rows of numbers by name, thinned out the older they are, in bounded memory.

Guarantees: at most `most` rows; the newest third is there row by row, and what is older loses every second row whenever room is
needed, so the line reaches back some powers of two of the times that its room would. Whoever is gone keeps its part of it. A name has
the stream that it was of, which decides who sees it: another stream may have had the name before.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Collection, Mapping, Sequence
from threading import Lock
from typing import Any, NamedTuple


class Observed(NamedTuple):
    """Who has a part of a line, and of which stream it is."""

    name: str
    stream: str


class TimeLine:
    """See the module.

    Parameters
    ----------
    columns : sequence of str
        What each row has of each name.
    most : int
        How many rows are kept.

    Examples
    --------
    >>> line = TimeLine(["residual"], most=6)
    >>> for second in range(8):
    ...     line.add(float(second), {Observed("roads", "town"): [second / 2]})
    >>> line.between(None)
    {'times': [0.0, 2.0, 4.0, 5.0, 6.0, 7.0], 'series': {'roads': {'residual': [0.0, 1.0, 2.0, 2.5, 3.0, 3.5]}}}
    """

    def __init__(self, columns: Sequence[str], *, most: int) -> None:
        self._columns = tuple(columns)
        self._most = most
        self._rows: list[tuple[float, tuple[Observed, ...], array[float]]] = []
        self._lock = Lock()

    def add(self, time: float, numbers: Mapping[Observed, Sequence[float | None]]) -> None:
        """Append a row.

        Parameters
        ----------
        time : float
            Greater than any before.
        numbers : mapping
            The columns of each; None is not known.
        """
        names = tuple(numbers)
        flat = array("d", [math.nan if one is None else one for row in numbers.values() for one in row])
        with self._lock:
            if self._rows and self._rows[-1][1] == names:
                names = self._rows[-1][1]  # one object for all rows with these names
            if len(self._rows) >= self._most:
                old = len(self._rows) - self._most // 3
                self._rows[:old] = self._rows[:old:2]
            self._rows.append((time, names, flat))

    def between(
        self, names: Collection[str] | None, streams: Collection[str] | None = None
    ) -> dict[str, Any]:
        """Return `times` and `series`: by name and column a list, with None where nothing is known.

        Parameters
        ----------
        names, streams
            Only of these names, and of these streams; None is all.
        """
        with self._lock:
            rows = list(self._rows)
        width = len(self._columns)
        series: dict[str, dict[str, list[float | None]]] = {}
        for place, (_, known, flat) in enumerate(rows):
            for at, (name, stream) in enumerate(known):
                if (names is not None and name not in names) or (
                    streams is not None and stream not in streams
                ):
                    continue
                if name not in series:
                    series[name] = {column: [None] * len(rows) for column in self._columns}
                for column, value in zip(self._columns, flat[at * width : (at + 1) * width], strict=True):
                    series[name][column][place] = value if math.isfinite(value) else None
        return {"times": [time for time, _, _ in rows], "series": series}
