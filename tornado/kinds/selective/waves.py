"""When has an invalidation wave ended? A progress domain of its own: its timestamps are the numbers of waves.

A worker counts one for the wave that its next removal would join (its token), one for every bundle of invalidations that it
sends, at their least wave, and takes one away when it has worked off a bundle that it received. Changes go to all workers on the
loop's FIFO channels, those of a sending not later than the sending. So the least wave with a positive net count, on any worker,
is never later than the truth (Naiad, section 3.3), and waves below it have ended everywhere.
"""

from __future__ import annotations


class WaveProgress:
    """The counts as one worker knows them.

    Parameters
    ----------
    workers
        How many there are; each begins with its token at wave 1.
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._counts = {1: workers}
        self._unsent: dict[int, int] = {}
        self.token: int | None = 1

    def add(self, wave: int, difference: int) -> None:
        """Count what changed on this worker, here and among what the others are to be told."""
        self._count(wave, difference)
        self._unsent[wave] = self._unsent.get(wave, 0) + difference

    def take(self, changes: tuple[tuple[int, int], ...]) -> None:
        """Count what changed on another worker."""
        for wave, difference in changes:
            self._count(wave, difference)

    def unsent(self) -> tuple[tuple[int, int], ...]:
        """Return what the others have not been told, as told from now on; the caller tells all of them."""
        changes = tuple((wave, difference) for wave, difference in self._unsent.items() if difference)
        self._unsent.clear()
        return changes

    def frontier(self) -> int | None:
        """The least wave that may not have ended, or None when none ever will begin."""
        return min((wave for wave, count in self._counts.items() if count > 0), default=None)

    def are_at_rest(self) -> bool:
        """Whether no wave is under way: all tokens are at the same one, with no bundle beside them."""
        return self._counts == {self.token: self._workers}

    def beyond_token(self) -> bool:
        """Whether somebody is in a later wave than this worker's token."""
        token = self.token
        return token is not None and any(count > 0 and wave > token for wave, count in self._counts.items())

    def advance_token(self, wave: int | None) -> None:
        """Move the token to a later wave, or drop it."""
        assert self.token is not None
        self.add(self.token, -1)
        self.token = wave
        if wave is not None:
            self.add(wave, 1)

    def _count(self, wave: int, difference: int) -> None:
        count = self._counts.get(wave, 0) + difference
        if count:
            self._counts[wave] = count
        else:
            self._counts.pop(wave, None)
