"""The ingester: pumps one source into one loop, in order, as fast as the loop takes it.

Two threads: one parses ahead by a bounded number of batches, one writes rejected records to the quarantine and admits the good
ones under (source name, offset). The loop pushes back by letting `admit` wait; nothing is dropped.

Guarantees: batches are admitted in the source's order, each once a run; a batch's rejections are in the quarantine before its
offset is; the offset moves also over stretches where every record was rejected. After a stop or a crash a rewindable source goes
on behind the records that the loop says are in, so no record is lost and none admitted twice (rejected ones may be written to
the quarantine a second time). What a pipe gave and the loop had not yet taken is gone with the process; what it had taken is
in its log, where it has one.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from dataclasses import dataclass
from enum import Enum
from typing import Final

from ..clock import SYSTEM_CLOCK, Clock
from ..errors import InvalidArgument
from ..records.checked import Check, Checked, CheckedBy
from ..records.record_batch import RecordBatch
from .admitting import Admitting, admit_patiently
from .parsed import ParsedRecords
from .quarantine import Quarantine
from .source import Source

_RATE_WINDOW_S: Final = 5.0
_POLL_S: Final = 0.1


class IngesterState(Enum):
    """Where an ingester is: READY, then RUNNING, then one of the others for good."""

    READY = "ready"
    RUNNING = "running"
    FINISHED = "finished"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class IngesterStatistics:
    """An ingester at one instant.

    Attributes
    ----------
    source : str
        The source's name.
    state : IngesterState
        Where the ingester is.
    records, accepted, rejected : int
        Records of this run that are in the loop or the quarantine, and which of the two.
    repeated : int
        Accepted records that repeat another by their key, and so were left out.
    edges : int
        Edges admitted in this run (two a record where they are undirected), or points.
    offset : int
        Where the source stands, records of earlier runs included.
    rows_per_s : float
        Records a second over the last seconds; once ended, over the whole run.
    read_ahead_batches : int
        Parsed and not yet admitted.
    last_error : str or None
        Why it failed, or what it had to overcome last.
    lag_records : int or None
        How many records the source has that are not in yet, where that is known.
    """

    source: str
    state: IngesterState
    records: int
    accepted: int
    rejected: int
    edges: int
    offset: int
    rows_per_s: float
    read_ahead_batches: int
    last_error: str | None
    lag_records: int | None = None
    repeated: int = 0


class Ingester:
    """Pumps a source, of records of any kind, into a loop.

    Parameters
    ----------
    loop : Admitting
        Where records go; its offset of the source says where to begin.
    source : Source
        Where they come from; the ingester closes it.
    quarantine : Quarantine
        Where rejected ones go; stays the caller's.
    check : callable, optional
        Which records the programs cannot take, and why (`MainLoop.check`).
    read_ahead : int
        So many batches are parsed before the loop asks for them.
    clock : Clock
        For rates only.
    """

    def __init__(
        self,
        loop: Admitting,
        source: Source,
        quarantine: Quarantine,
        *,
        check: Check | None = None,
        read_ahead: int = 4,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        if read_ahead < 1:
            raise InvalidArgument(f"read_ahead is {read_ahead}, but must be at least 1")
        self._loop = loop
        self._source = source
        self._quarantine = quarantine
        self._check = check
        self._clock = clock
        # None is the end; an exception is how the source ended instead.
        self._parsed: queue.Queue[ParsedRecords[RecordBatch] | Exception | None] = queue.Queue(read_ahead)
        self._stop = threading.Event()
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._state = IngesterState.READY
        self._error: Exception | None = None
        self._records = self._rejected = self._edges = 0
        self._offset = 0
        self._began_s = self._ended_s = 0.0
        self._recent: deque[tuple[float, int]] = deque()

    @property
    def error(self) -> Exception | None:
        """What made it fail."""
        return self._error

    def start(self) -> None:
        """Go to where the loop stands and begin to pump; returns at once.

        Raises
        ------
        InvalidArgument
            It was started before.
        """
        with self._lock:
            if self._state is not IngesterState.READY:
                raise InvalidArgument(f"the ingester of {self._source.name} was started already")
            self._state = IngesterState.RUNNING
            self._began_s = self._clock.monotonic()
        try:
            offset = self._loop.offsets().get(self._source.name, 0)
            # A pipe goes on counting where the one before it ended: offsets name what is in, and that stays in.
            if self._source.rewindable:
                self._source.seek(offset)
            with self._lock:
                self._offset = offset
        except BaseException as error:
            self._end(IngesterState.FAILED, error if isinstance(error, Exception) else None)
            raise
        for target, role in ((self._read, "reader"), (self._pump, "ingester")):
            threading.Thread(target=target, name=f"{role} {self._source.name}", daemon=True).start()

    def stop(self, *, timeout_s: float | None = None) -> bool:
        """Stop after the batch that is being admitted; says whether it ended within `timeout_s`."""
        self._stop.set()
        self._source.close()
        with self._lock:
            never_ran = self._state is IngesterState.READY
        if never_ran:
            self._end(IngesterState.STOPPED)
        return self._ended.wait(timeout_s)

    def wait(self, *, timeout_s: float | None = None) -> bool:
        """Wait until the source's end is admitted, or it failed or was stopped; says whether that happened in time."""
        return self._ended.wait(timeout_s)

    def statistics(self) -> IngesterStatistics:
        """A frozen record of where it is."""
        with self._lock:
            return IngesterStatistics(
                source=self._source.name,
                state=self._state,
                records=self._records,
                accepted=self._records - self._rejected,
                rejected=self._rejected,
                edges=self._edges,
                offset=self._offset,
                rows_per_s=self._rows_per_s(),
                read_ahead_batches=self._parsed.qsize(),
                last_error=None if self._error is None else str(self._error),
                lag_records=0 if self._state is IngesterState.FINISHED else None,
            )

    def _read(self) -> None:
        last: Exception | None = None
        try:
            for parsed in self._source.batches():
                if not self._hand_over(parsed):
                    return
        except Exception as error:  # noqa: BLE001  it is raised in the other thread, which reports it
            last = error
        self._hand_over(last)

    def _hand_over(self, item: ParsedRecords[RecordBatch] | Exception | None) -> bool:
        while not self._stop.is_set():
            try:
                self._parsed.put(item, timeout=_POLL_S)
            except queue.Full:
                continue
            return True
        return False

    def _pump(self) -> None:
        try:
            while not self._stop.is_set():
                try:
                    item = self._parsed.get(timeout=_POLL_S)
                except queue.Empty:
                    continue
                if item is None:
                    self._end(IngesterState.FINISHED)
                    return
                if isinstance(item, Exception):
                    self._end(IngesterState.FAILED, item)
                    return
                self._take(item)
        except Exception as error:  # noqa: BLE001  whatever a loop or a program raises is reported, not lost with the thread
            self._end(IngesterState.FAILED, error)
            return
        self._end(IngesterState.STOPPED)

    def _take(self, parsed: ParsedRecords[RecordBatch]) -> None:
        offset, written = self._offset + parsed.records, set[int]()
        parsed, checked = self._checked(parsed.timed())
        while True:
            self._quarantine.write(
                self._source.name, tuple(one for one in parsed.rejected if one.position not in written)
            )
            written = {one.position for one in parsed.rejected}
            try:
                if not admit_patiently(
                    self._loop,
                    parsed.settled(),
                    self._source.name,
                    offset,
                    checked=checked,
                    stopped=self._stop,
                ):
                    return
                break
            except InvalidArgument:
                # A program may have joined the stream since that cannot take what is here.
                before = len(parsed.batch)
                parsed, checked = self._checked(parsed)
                if len(parsed.batch) == before:
                    raise
        with self._lock:
            self._offset = offset
            self._records += parsed.records
            self._rejected += len(parsed.rejected)
            self._edges += len(parsed.batch)
            self._recent.append((self._clock.monotonic(), parsed.records))
            self._forget_old()

    def _checked(self, parsed: ParsedRecords[RecordBatch]) -> tuple[ParsedRecords[RecordBatch], CheckedBy]:
        """Without the records that a program cannot take, and who has looked."""
        if self._check is None or not len(parsed.batch):
            return parsed, ()
        found = Checked(*self._check(parsed.batch))
        return parsed.without(found.refused, found.reason), found.by

    def _end(self, state: IngesterState, error: Exception | None = None) -> None:
        # The reader may wait for room in the queue.
        self._stop.set()
        self._source.close()
        with self._lock:
            self._state = state
            self._error = error
            self._ended_s = self._clock.monotonic()
        self._ended.set()

    def _rows_per_s(self) -> float:
        if self._state is IngesterState.READY:
            return 0.0
        if self._state is not IngesterState.RUNNING:
            return self._records / max(self._ended_s - self._began_s, 1e-9)
        self._forget_old()
        seconds = min(_RATE_WINDOW_S, self._clock.monotonic() - self._began_s)
        return sum(records for _, records in self._recent) / max(seconds, 1e-9)

    def _forget_old(self) -> None:
        oldest = self._clock.monotonic() - _RATE_WINDOW_S
        while self._recent and self._recent[0][0] < oldest:
            self._recent.popleft()
