"""The sources of a run, one after another in the order they were named, and a topic behind them.

One after another, so that the order of records is that of the command line; what is still being written (`-`, a named pipe)
is best named last. The topic begins when the others have ended, so that it may remove what they brought.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ingest.admitting import Admitting
from ..ingest.ingester import Ingester, IngesterState, IngesterStatistics
from ..ingest.kafka.ingester import KafkaIngester
from ..ingest.quarantine import Quarantine
from ..ingest.source import Source
from ..records.checked import Check

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
    topic : KafkaIngester, optional
        What is read behind them; starts with `start_topic`.
    """

    def __init__(
        self,
        loop: Admitting,
        sources: Sequence[Source],
        quarantine: Quarantine,
        *,
        check: Check,
        topic: KafkaIngester | None = None,
    ) -> None:
        self._topic = topic
        self._ingesters = [Ingester(loop, source, quarantine, check=check) for source in sources]
        self._waiting = list(reversed(self._ingesters))
        self._running: Ingester | None = None

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

    def start_topic(self) -> None:
        """Begin to read the topic.

        Raises
        ------
        TornadoError
            It cannot be read.
        """
        if self._topic is not None:
            self._topic.start()

    def wait_topic(self, timeout_s: float) -> bool:
        """Wait for the end of the topic, for at most `timeout_s`; return whether it has ended."""
        return self._topic is None or self._topic.wait(timeout_s=timeout_s)

    @property
    def topic_error(self) -> Exception | None:
        """What made the topic fail."""
        return None if self._topic is None else self._topic.error

    def statistics(self) -> list[IngesterStatistics]:
        """Return a record of every source, of each partition of the topic."""
        found = [ingester.statistics() for ingester in self._ingesters]
        return found if self._topic is None else [*found, *self._topic.statistics()]

    def rejected(self) -> int:
        """Return how many records went to quarantine."""
        return sum(one.rejected for one in self.statistics())

    def records(self) -> int:
        """Return how many records are in or in quarantine."""
        return sum(one.records for one in self.statistics())

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
        if self._topic is not None:
            self._topic.stop(timeout_s=_STOPPING_S)
