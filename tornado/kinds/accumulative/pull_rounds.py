"""The rounds in which all parts of a main loop pull their values: each sweeps once, says so, and waits for the others.

A part that swept again and again for itself would solve its rows exactly for values of the others that are about to change, and drown
them in messages that are out of date. So when one begins, the others join with their first sweep, and every sweep is one of all parts.
Channels are in order, so whoever has heard of all sweeps of a round has all that was announced in it. All parts weigh a
round by the same numbers in the same order, so all end with the same one, and nobody has to coordinate them.
"""

from __future__ import annotations

from .bundle import Swept


class PullRounds:
    """See the module. One part's view of them.

    Parameters
    ----------
    worker, workers
        Whose view it is, and of how many.

    Attributes
    ----------
    is_open
        Whether a series of rounds is under way, as far as this part knows.
    """

    def __init__(self, worker: int, workers: int) -> None:
        self.is_open = False
        self._worker = worker
        self._workers = workers
        self._series = self._round = 0
        self._said: dict[tuple[int, int], dict[int, Swept]] = {}  # by series and round, then by worker

    @property
    def is_waiting(self) -> bool:
        """Whether this part has swept in the round, and others have not."""
        return self.is_open and self._worker in self._said.get((self._series, self._round), {})

    @property
    def is_called(self) -> bool:
        """Whether another part has swept in a series that this one has not joined."""
        return not self.is_open and (self._series, 0) in self._said

    def open(self) -> None:
        """Begin a series of rounds, or join that which another part began; nothing where one is under way."""
        self.is_open = True

    def say(self, change: float, mass: float, flow: float, bases: float, *, has_heard: bool) -> Swept:
        """Note a sweep of this part, and return what the others are to be told of it, behind what it announced."""
        swept = Swept(self._series, self._round, change, mass, flow, bases, has_heard)
        self.hear(self._worker, swept)
        return swept

    def hear(self, worker: int, swept: Swept) -> None:
        """Note a sweep of a part."""
        self._said.setdefault((swept.series, swept.round), {})[worker] = swept

    def complete(self) -> list[Swept] | None:
        """What all parts said of the round, by worker; None while one is missing."""
        said = self._said.get((self._series, self._round), {})
        if not self.is_open or len(said) < self._workers:
            return None
        return [said[worker] for worker in range(self._workers)]

    def go_on(self) -> None:
        """Begin the next round."""
        self._said.pop((self._series, self._round))
        self._round += 1

    def close(self) -> None:
        """End the series with a round that is complete."""
        self._said.pop((self._series, self._round))
        self.is_open = False
        self._series, self._round = self._series + 1, 0
