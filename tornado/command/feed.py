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
    logged : Admitting
        Where those of sources go that give their records once.
    sources : sequence of Source
        Read in this order, and closed.
    quarantine : Quarantine
        Where rejected records go.
    check : callable
        What the program refuses.
    """

    def __init__(
        self,
        loop: Admitting,
        sources: Sequence[Source],
        quarantine: Quarantine,
        *,
        logged: Admitting,
        check: Check,
    ) -> None:
        self._ingesters = [
            Ingester(loop if source.rewindable else logged, source, quarantine, check=check)
            for source in sources
        ]
        self._waiting = list(reversed(self._ingesters))
        self._running: Ingester | None = None

    def step(self) -> bool:
        """Start the next source when the one before it has ended; return whether there is more to come.

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
