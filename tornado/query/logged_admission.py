"""A loop as an ingester sees it that pumps a source which gives its records once (standard input, a named pipe).

Files are read again after a restart; what a pipe gave is nowhere else. So every batch of it is in the log of pushed edges before
it is admitted, and a restart admits again what no snapshot has.
"""

from __future__ import annotations

from ..ingest.records import EdgeBatch
from .loop_views import MainLoopView
from .push import Pusher


class LoggedAdmission:
    """See the module.

    Parameters
    ----------
    loop : MainLoop
    pusher : Pusher
        Whose log takes the batches first.
    """

    def __init__(self, loop: MainLoopView, pusher: Pusher) -> None:
        self._loop = loop
        self._pusher = pusher

    def admit(self, batch: EdgeBatch, source: str, offset: int, timeout_s: float | None = None) -> int:
        """Log and admit a batch after which `source` stands at `offset`; `QueueFull`, and neither, after `timeout_s`."""
        return self._pusher.admit(self._loop, source, batch, offset, timeout_s)

    def advance(self, source: str, offset: int) -> int:
        """Move `source` to `offset` without a record, in the log too."""
        return self._pusher.admit(self._loop, source, EdgeBatch.empty(), offset)

    def offsets(self) -> dict[str, int]:
        """Up to where each source is in."""
        return self._loop.offsets()
