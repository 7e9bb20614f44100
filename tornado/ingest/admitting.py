"""How sources admit what they have: they wait for loops that lag, and for their store.

While a store is full or away nothing can be logged, so nothing is admitted, and nothing is lost.
"""

from __future__ import annotations

import logging
from threading import Event
from typing import Final, Protocol

from ..errors import QueueFull, StoreFull, StoreUnreachable
from ..records.checked import CheckedBy
from ..records.record_batch import RecordBatch

_POLL_S: Final = 0.1
_FIRST_S: Final = 0.1
_LONGEST_S: Final = 5.0

_log = logging.getLogger(__name__)


class Admitting(Protocol):
    """What an ingester needs of a loop."""

    def admit(
        self,
        batch: RecordBatch,
        source: str,
        offset: int,
        timeout_s: float | None = None,
        *,
        checked: CheckedBy = (),
    ) -> object:
        """Admit a batch after which `source` stands at `offset`; QueueFull, and nothing admitted, after `timeout_s`.

        Those who have looked at its records, `checked`, are not asked again.
        """
        ...

    def advance(self, source: str, offset: int) -> object:
        """Move `source` to `offset` without a record."""
        ...

    def offsets(self) -> dict[str, int]:
        """Up to where each source is in."""
        ...


def admit_patiently(
    loop: Admitting, batch: RecordBatch, source: str, offset: int, *, checked: CheckedBy, stopped: Event
) -> bool:
    """Admit a batch, or where it is empty the offset alone, however long that takes; False if stopped while waiting.

    It is logged when it begins to wait for the store, and when that is over.
    """
    wait_s = _FIRST_S
    while True:
        try:
            if len(batch):
                loop.admit(batch, source, offset, timeout_s=_POLL_S, checked=checked)
            else:
                loop.advance(source, offset)
        except QueueFull:
            if stopped.is_set():
                return False
        except (StoreFull, StoreUnreachable) as error:
            if wait_s == _FIRST_S:
                _log.warning("%s waits, since what it has cannot be logged: %s", source, error)
            if stopped.wait(wait_s):
                return False
            wait_s = min(2 * wait_s, _LONGEST_S)
        else:
            if wait_s > _FIRST_S:
                _log.warning("%s goes on: its store takes what it has again", source)
            return True
