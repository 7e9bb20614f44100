"""Group commit: what is admitted at one time takes its turn in the sequence together, and is logged in one write.

Whoever comes first carries out what all have brought, and the others find it done. So however many push at once, a write of the
store and its way to the disk are waited for by all of them together, and what is admitted is logged before anybody sees it.

Source: group commit of write-ahead logs (DeWitt et al., Implementation techniques for main memory database systems, SIGMOD 1984).
"""

from __future__ import annotations

import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from ..clock import Clock
from ..errors import QueueFull
from ..graph import PartitionMap
from ..records.checked import CheckedBy
from .admission_log import LogEntry
from .admission_order import AdmissionOrder
from .share import Share


@dataclass(slots=True, eq=False)
class Admission:
    """A batch on its way into the sequence.

    Attributes
    ----------
    entry
        What is logged; its version is given when its turn has come.
    checked
        Who has looked at its records.
    shares, is_both_ways, partition
        What each worker gets, whether by both directions, and by which map; None: only the offset of its source moves.
    version
        Of the stream, once it is in; 0 before, also where its turn is to come again.
    error
        Why it was refused, or not logged.
    """

    entry: LogEntry
    checked: CheckedBy
    shares: list[Share] | None = None
    is_both_ways: bool = False
    partition: PartitionMap | None = None
    version: int = 0
    error: BaseException | None = None


class GroupCommit:
    """See the module.

    Parameters
    ----------
    clock
        For those who do not wait longer than until an instant.
    carry_out
        Called with admissions in the order in which they came, by one caller at a time. What it raises is raised to all of those
        that have neither a version nor an error.
    """

    def __init__(self, clock: Clock, carry_out: Callable[[Sequence[Admission]], None]) -> None:
        self._carry_out = carry_out
        self._turn = AdmissionOrder(clock)
        self._guard = threading.Lock()
        self._waiting: deque[Admission] = deque()

    def submit(self, admission: Admission, until_s: float | None) -> None:
        """Have it carried out, with whatever else waits.

        Raises
        ------
        QueueFull
            When its turn does not come before that instant of the clock; it is not carried out then.
        KeyboardInterrupt
            When the user interrupts it: before it is carried out, or behind that.
        Exception
            Its error.
        """
        with self._guard:
            self._waiting.append(admission)
        try:
            with self._turn.until(until_s), _interrupts_wait():
                self._lead(admission)
        except KeyboardInterrupt:
            self._withdraw(admission)  # where its turn had not come; else it is in
            raise
        except QueueFull as error:
            if self._withdraw(admission):
                raise QueueFull(
                    "what came before is still being logged; nothing of this batch was admitted"
                ) from error
            with self._turn:
                pass  # somebody carries it out
        if admission.error is not None:
            raise admission.error

    def pause(self) -> AbstractContextManager[None]:
        """Carry nothing out while the context lasts; it begins when what is being carried out is."""
        return self._turn

    def _lead(self, admission: Admission) -> None:
        with self._guard:
            if admission not in self._waiting:
                return
            group = list(self._waiting)
            self._waiting.clear()
        try:
            self._carry_out(group)
        except BaseException as error:  # noqa: BLE001  raised to those whom it concerns
            for one in group:
                if not one.version and one.error is None:
                    one.error = error

    def _withdraw(self, admission: Admission) -> bool:
        with self._guard:
            if admission not in self._waiting:
                return False
            self._waiting.remove(admission)
            return True


@contextmanager
def _interrupts_wait() -> Iterator[None]:
    """Have Ctrl-C raise behind the context: what is logged must reach the loops, and others' batches are among it."""
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield  # it is not raised in this thread, or whoever handles it looks after it
        return
    is_interrupted = False

    def note(*_: object) -> None:
        nonlocal is_interrupted
        is_interrupted = True

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if is_interrupted:
            raise KeyboardInterrupt
