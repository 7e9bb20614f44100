"""What the intakes of a service share: the quarantine, the store, and their patience."""

from __future__ import annotations

from ..clock import SYSTEM_CLOCK, Clock
from ..ingest.quarantine import Quarantine
from ..storage import VersionedStore
from .stream_intake import StreamIntake


class Pusher:
    """Makes the intakes of the streams of one service.

    Parameters
    ----------
    quarantine : Quarantine, optional
        Where malformed records go; without one the latest are kept in memory.
    store : VersionedStore, optional
        A durable one, where names and the columns of numbered batches go; not ours to close.
    timeout_s : float
        How long an admission waits for a stream that lags.
    clock : Clock
        For the rates of sources.
    """

    def __init__(
        self,
        *,
        quarantine: Quarantine | None = None,
        store: VersionedStore | None = None,
        timeout_s: float = 30.0,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.quarantine = quarantine or Quarantine(None)
        self._store = store
        self._timeout_s = timeout_s
        self._clock = clock

    def intake(self, stream: str, *, is_undirected: bool = False, checks_times: bool = False) -> StreamIntake:
        """Make the intake of a stream that begins."""
        return StreamIntake(
            stream,
            quarantine=self.quarantine,
            store=self._store,
            timeout_s=self._timeout_s,
            is_undirected=is_undirected,
            checks_times=checks_times,
            clock=self._clock,
        )
