"""The sources of a run, one after another in the order they were named.

One after another, so that the order of records is that of the command line; what is still being written (`-`, a named pipe)
is best named last.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ingest.ingester import Admitting, Check, Ingester, IngesterState
from ..ingest.quarantine import Quarantine
from ..ingest.source import Source

_STOPPING_S = 10.0


class Feed:
    """Pumps sources into a loop, on the threads of one ingester at a time.

    Parameters
    ----------
    loop : Admitting
        Where records go.
    sources : sequence of Source
        Read in this order, and closed.
    quarantine : Quarantine
        Where rejected records go.
    check : callable
        What the program refuses.
    logged : Admitting, optional
        Where records of sources go that give them once; left out, likewise into `loop`.
    """

    def __init__(
        self,
        loop: Admitting,
        sources: Sequence[Source],
        quarantine: Quarantine,
        *,
        check: Check,
        logged: Admitting | None = None,
    ) -> None:
        self._ingesters = [
            Ingester(loop if source.rewindable else logged or loop, source, quarantine, check=check)
            for source in sources
        ]
        self._live = [
            ingester
            for ingester, source in zip(self._ingesters, sources, strict=True)
            if not source.rewindable
        ]
        self._waiting = list(reversed(self._ingesters))
        self._running: Ingester | None = None

    @property
    def files_are_read(self) -> bool:
        """Whether nothing is being read, and what comes next, if anything, is no file but live; changes with `step` only."""
        return self._running is None and (not self._waiting or self._waiting[-1] in self._live)

    def step(self) -> bool:
        """Take leave of the source that has ended, or start the next one; return whether there is more to come.

        Raises
        ------
        Exception
            What made the source fail; the sources after it can still be read by further steps.
        """
        running = self._running
        if running is not None:
            state = running.statistics().state
            if state is IngesterState.RUNNING:
                return True
            self._running = None
            if running.error is not None:
                raise running.error
            return True
        if not self._waiting:
            return False
        self._running = self._waiting.pop()
        self._running.start()
        return True

    def wait(self, timeout_s: float) -> None:
        """Wait for the end of the source that is being read, for at most `timeout_s`."""
        if self._running is not None:
            self._running.wait(timeout_s=timeout_s)

    def rejected(self) -> int:
        """Return how many records went to quarantine."""
        return sum(ingester.statistics().rejected for ingester in self._ingesters)

    def records(self) -> int:
        """Return how many records are in or in quarantine."""
        return sum(ingester.statistics().records for ingester in self._ingesters)

    def sources_done(self) -> float | None:
        """Return the share of sources that were read, where there are several."""
        count = len(self._ingesters)
        left = len(self._waiting) + (self._running is not None)
        return None if count < 2 else (count - left) / count

    def stop(self) -> None:
        """End reading; batches that were admitted stay admitted."""
        for ingester in (*self._waiting, self._running):
            if ingester is not None:
                ingester.stop(timeout_s=_STOPPING_S)
        self._waiting.clear()
        self._running = None
