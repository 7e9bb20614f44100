"""The window of a stream: edges leave it by themselves, as removals in the sequence, behind the records that make them leave.

Every insertion has a time: that of its record, the instant at which it was admitted, or its number where the window counts records.
It is in the window while its time is greater than the newest admitted time less the width. Each record is looked at as if it came
alone, so it does not matter how records are put into batches. A record that is out of the window when it comes is late: it is counted,
and changes nothing.

What is in the window is in the log, where each record has its time. Here are only, of each batch, the least time that is still in
the window and a hash of 32 bits a record; and what was removed by hand and would be in the window still. That is known because
a removal is resolved when it is admitted: it takes the oldest insertion of its edge that is in the window, and is logged with the
weight and the time of that one. A replacement is logged as the removals that it means, with an insertion behind them. So what leaves
is what was inserted at these times, less what was removed by hand, and a removal never meets a newer edge that looks alike.

Source: sliding windows as sequences of insertions and removals (Arasu, Babu, Widom: The CQL continuous query language, VLDB Journal
2006).
"""

from __future__ import annotations

import heapq
import itertools
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..clock import Clock
from ..errors import InvalidArgument
from ..records.checked import Checked
from ..records.edge_batch import EdgeBatch
from ..records.operations import INSERT, MENTION, REMOVE, REPLACE
from ..records.record_batch import RecordBatch
from ..records.timed_edges import NO_TIME, TimedEdges
from ..records.window_width import WindowWidth
from .admission_log import WINDOW, AdmissionLog, LogEntry
from .group_commit import Admission
from .window_removals import resolved, without

_CACHED_RECORDS: Final = 1 << 19
_MOST_NEEDLESS: Final = 64  # groups that a log in memory has longer than it must
UNTIMED: Final = "it has no time, and the window of its stream goes by the times of records"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


class WindowOrder(Enum):
    """By what records are in a window."""

    COUNT = "count"
    TIME = "time"
    ARRIVAL = "arrival"


@dataclass(frozen=True, slots=True)
class WindowState:
    """Where a window stands, as the log has it.

    Attributes
    ----------
    order
        By what records are in it; None: the first record will say.
    newest, cutoff
        The newest admitted time, and the time up to which all has left, which never goes back; NO_TIME before any.
    left, late
        How many edges have left, and how many records came late.
    """

    order: str | None = None
    newest: int = NO_TIME
    cutoff: int = NO_TIME
    left: int = 0
    late: int = 0


@dataclass(slots=True, eq=False)
class _Unit:
    """A batch of the log: its group and its place there, the least time in it that has not left, the greatest, and hashes of its edges."""

    group: int
    place: int
    least: int
    greatest: int
    hashes: NDArray[np.uint32]


class Window:
    """See the module. Used by who has the turn of the sequence; `state` is read by anybody.

    Parameters
    ----------
    width
        How wide it is.
    log
        Of the stream.
    clock
        For the instants at which records come.
    stream
        Its name.
    is_durable
        Whether others say what of the log is needless; else it is kept for the window alone.
    is_undirected
        Whether each record is two edges from now on, whatever those before it were.
    """

    def __init__(
        self,
        width: WindowWidth,
        log: AdmissionLog,
        clock: Clock,
        stream: str,
        *,
        is_durable: bool,
        is_undirected: bool = False,
    ) -> None:
        self.width = width
        self._is_undirected = is_undirected
        self.state = WindowState()
        self._log = log
        self._clock = clock
        self._stream = stream
        self._is_durable = is_durable
        self._needless = 0
        self._gone = TimedEdges.empty()
        self._units: deque[_Unit] = deque()
        self._pending: list[_Unit] = []
        self._rows: dict[int, TimedEdges] = {}
        self._due: list[tuple[int, int, _Unit]] = []
        self._numbers = itertools.count()
        self._cache: OrderedDict[int, list[TimedEdges]] = OrderedDict()
        self._cached = 0  # records
        self._is_behind = False  # what is here is not what the log has
        self._begin()

    # Admission

    def take(self, entry: LogEntry, *, may_leave: bool = True) -> None:
        """Let an entry pass that is to be logged next: with times, resolved, and with what leaves by it.

        Parameters
        ----------
        may_leave
            Whether anything may leave now; where it may not, the entry has no records.

        Raises
        ------
        InvalidArgument
            When a record has no time and the window goes by it, or it is a point.
        StoreError
            When the log cannot be read; what was taken is not to be logged then, see `was_not_logged`.
        """
        batch = entry.batch
        if not isinstance(batch, EdgeBatch):
            raise InvalidArgument(f"stream {self._stream!r} has a window, which points cannot leave")
        if self._is_behind:
            self._begin()
        if not may_leave:
            entry.batch, entry.left = TimedEdges.empty(), self.state.left
            self._add(TimedEdges.empty())
            return
        if self.refuse(batch).any():
            record = int(np.argmax(self.refuse(batch)))
            raise InvalidArgument(
                f"record {record} ({batch.described(record)}) of {entry.source}: {UNTIMED}",
                hint="Give each record a time, or leave out those that have none.",
            )
        state = self._ordered(batch)
        timed, cutoffs, late = self._timed(batch, state)
        newest = state.newest
        if len(timed):
            newest = max(newest, int(timed.time[timed.op != MENTION].max(initial=NO_TIME)))
        if state.order == WindowOrder.ARRIVAL.value:
            newest = max(newest, self._now())
        cutoff = max(state.cutoff, self._less_width(newest))
        leaving = self._leaving(state.cutoff, cutoff)
        gone = self._gone
        if ((timed.op == REMOVE) | (timed.op == REPLACE)).any():
            by_hand = np.isin(timed.op, (REMOVE, REPLACE))
            timed, rows = resolved(timed, cutoffs, self._alive(timed.take(by_hand), state.cutoff))
            cutoffs = cutoffs[rows]
            gone = TimedEdges.concat([gone, timed.take((timed.op == REMOVE) & (timed.time != NO_TIME))])
        own = timed.take((timed.op == INSERT) & (timed.time <= cutoff))
        leaving = without(TimedEdges.concat([leaving, own]) if len(own) else leaving, gone, cutoff)
        self._gone = gone.take(gone.time > cutoff) if len(gone) else gone
        if len(leaving):
            timed = _merged(timed, cutoffs, leaving)
        self.state = replace(
            state,
            newest=newest,
            cutoff=cutoff,
            left=state.left + len(leaving),
            late=state.late + late,
        )
        entry.batch, entry.left = timed, self.state.left
        self._add(timed)

    def take_back(self) -> None:
        """The entry that was taken last is not logged: it had no records, and nothing has left by it."""
        del self._rows[id(self._pending.pop())]

    def log(self, entries: Sequence[LogEntry]) -> None:
        """Log what was taken."""
        if not entries:
            return
        self._log.append(entries, window={"counts_records": self.width.counts_records, **asdict(self.state)})
        group = entries[-1].version
        for unit in self._pending:
            unit.group = group
        self._keep(group, [self._rows[id(unit)] for unit in self._pending])
        self._pending, self._rows = [], {}
        while self._units and self._units[0].greatest <= self.state.cutoff:
            self._units.popleft()
            self._needless += 1
        if not self._is_durable and self._needless > _MOST_NEEDLESS + len(self._units) // 2:
            self._log.forget(self.floor)
            self._needless = 0

    def was_not_logged(self) -> None:
        """What was taken since, also in part, is not in the log: begin again with what is, before anything else is taken.

        Not now: what could not be written may be away for readers, too.
        """
        self.state = self._stored_state()
        self._is_behind = True

    @property
    def floor(self) -> int:
        """The version up to which the log need not be kept for it."""
        try:
            return self._units[0].group - 1  # whoever stores a base asks, while others admit
        except IndexError:
            return max(self._log.groups, default=0)

    def due_in_s(self) -> float | None:
        """How long until something leaves by itself; None: nothing will."""
        if self.state.order != WindowOrder.ARRIVAL.value:
            return None
        if self._is_behind:
            return 0.0
        try:
            least = self._due[0][0]  # others admit meanwhile
        except IndexError:
            return None
        return max(0.0, (least + self.width.amount - self._now()) / 1e6)

    def described(self) -> dict[str, Any]:
        """How wide it is and how far edges have left it, as JSON has it."""
        state = self.state
        newest: str | None = None
        if state.newest != NO_TIME:
            is_count = state.order == WindowOrder.COUNT.value
            newest = str(state.newest) if is_count else _instant(state.newest)
        by = None if state.order is None else state.order
        return {"width": str(self.width), "by": by, "newest": newest, "left": state.left, "late": state.late}

    def refuse(self, batch: EdgeBatch) -> NDArray[np.bool_]:
        """Which records have no time where the window goes by it."""
        state = self._ordered(batch)
        if state.order != WindowOrder.TIME.value:
            return np.zeros(len(batch), np.bool_)
        untimed: NDArray[np.bool_] = batch.op != MENTION
        return untimed & (batch.time == NO_TIME) if isinstance(batch, TimedEdges) else untimed

    def check(self, batch: RecordBatch, found: Checked) -> Checked:
        """What was found of records, and those that have no time where the window goes by it.

        Raises
        ------
        InvalidArgument
            When times were named, and none of the first records has one.
        """
        untimed = self.refuse(batch) if isinstance(batch, EdgeBatch) else np.zeros(len(batch), np.bool_)
        if not untimed.any():
            return found
        if self.width.by_times and untimed.all() and self.state.newest == NO_TIME:
            raise InvalidArgument(
                f"window {self.width} of stream {self._stream!r} goes by the column time, which was named, and the first "
                f"{len(batch)} records have none",
                hint="Name the columns as they are; without a column time edges leave by when they came.",
            )
        return found._replace(refused=found.refused | untimed, reason=found.reason or UNTIMED)

    # Beginning

    def _begin(self) -> None:
        """Begin with what the log has, or again with it."""
        units: deque[_Unit] = deque()
        self._pending, self._rows, self._due = [], {}, []
        self._cache, self._cached = OrderedDict(), 0
        self.state = self._stored_state()
        gone = [TimedEdges.empty()]
        for group in self._log.groups:
            batches = self._group(group)
            for place, batch in enumerate(batches):
                unit = self._unit(group, place, batch)
                if unit is not None:
                    units.append(unit)
                gone.append(batch.take((batch.op == REMOVE) & (batch.time > self.state.cutoff)))
        self._gone = TimedEdges.concat(gone)
        self._units = units  # all at once: the log lets go of what they do not need
        self._is_behind = False

    def _stored_state(self) -> WindowState:
        said = self._log.window
        if said is None:
            if self._log.groups:
                raise _changed(self._stream, "was kept without a window", self.width)
            order = WindowOrder.TIME if self.width.by_times else None
            order = WindowOrder.COUNT if self.width.counts_records else order
            return WindowState(order=None if order is None else order.value)
        if said["counts_records"] != self.width.counts_records:
            had = "records" if said["counts_records"] else "time"
            raise _changed(self._stream, f"had a window of {had}", self.width)
        state = WindowState(**{name: value for name, value in said.items() if name != "counts_records"})
        if self.width.by_times and state.order == WindowOrder.ARRIVAL.value:
            raise _changed(self._stream, "had a window by the instants at which records came", self.width)
        return state

    # What is in it

    def _add(self, batch: TimedEdges) -> None:
        unit = self._unit(-1, len(self._pending), batch)
        if unit is None:
            unit = _Unit(-1, len(self._pending), NO_TIME, NO_TIME, np.zeros(0, np.uint32))
        else:
            self._units.append(unit)
        self._pending.append(unit)
        self._rows[id(unit)] = batch

    def _unit(self, group: int, place: int, batch: TimedEdges) -> _Unit | None:
        """What there is to know of a batch; None where nothing of it is in the window, or was."""
        inside = batch.time > self.state.cutoff
        if not inside.any():
            return None
        inserted = batch.time[inside & (batch.op == INSERT)]
        unit = _Unit(
            group,
            place,
            int(inserted.min()) if len(inserted) else NO_TIME,
            int(batch.time.max()),
            _hashes(batch) if len(inserted) else np.zeros(0, np.uint32),
        )
        if len(inserted):
            heapq.heappush(self._due, (unit.least, next(self._numbers), unit))
        return unit

    def _leaving(self, before: int, cutoff: int) -> TimedEdges:
        """What was inserted at times above one and up to another, of what was taken earlier."""
        found = []
        while self._due and self._due[0][0] <= cutoff:
            _, _, unit = heapq.heappop(self._due)
            batch = self._batch(unit)
            inserted = batch.op == INSERT
            found.append(batch.take(inserted & (batch.time > before) & (batch.time <= cutoff)))
            left = batch.time[inserted & (batch.time > cutoff)]
            if len(left):
                unit.least = int(left.min())
                heapq.heappush(self._due, (unit.least, next(self._numbers), unit))
        return found[0] if len(found) == 1 else TimedEdges.concat(found)

    def _alive(self, asked: TimedEdges, cutoff: int) -> TimedEdges:
        """The insertions in the window of the vertices that some records name, that were not removed by hand, oldest first."""
        wanted = np.unique(_hashes(asked))
        found = []
        for unit in self._units:
            near = np.isin(unit.hashes, wanted)
            if near.any():
                batch = self._batch(unit)
                found.append(batch.take(near & (batch.op == INSERT) & (batch.time > cutoff)))
        return without(TimedEdges.concat(found), self._gone, None)

    def _batch(self, unit: _Unit) -> TimedEdges:
        return self._rows[id(unit)] if unit.group < 0 else self._group(unit.group)[unit.place]

    def _group(self, group: int) -> list[TimedEdges]:
        if group in self._cache:
            self._cache.move_to_end(group)
            return self._cache[group]
        batches = []
        for entry in self._log.read(group):
            if not isinstance(entry.batch, TimedEdges):
                raise _changed(self._stream, "was kept without a window", self.width)
            batches.append(entry.batch)
        self._keep(group, batches)
        return batches

    def _keep(self, group: int, batches: list[TimedEdges]) -> None:
        """Have the batches of a group at hand for a while; of all together, some."""
        self._cache[group] = batches
        self._cached += sum(len(batch) for batch in batches)
        while self._cached > _CACHED_RECORDS and len(self._cache) > 1:
            _, dropped = self._cache.popitem(last=False)
            self._cached -= sum(len(batch) for batch in dropped)

    # Times

    def _ordered(self, batch: EdgeBatch) -> WindowState:
        """The state, with the order that the first records make it have."""
        state = self.state
        if state.order is not None or not (batch.op != MENTION).any():
            return state
        has_times = isinstance(batch, TimedEdges) and bool((batch.time != NO_TIME).any())
        return replace(state, order=(WindowOrder.TIME if has_times else WindowOrder.ARRIVAL).value)

    def _timed(self, batch: EdgeBatch, state: WindowState) -> tuple[TimedEdges, NDArray[np.int64], int]:
        """The records that are not late, with times; up to where all has left when each has come; how many records were late."""
        mentions = batch.op == MENTION
        firsts = self._firsts(batch)
        if state.order == WindowOrder.COUNT.value:
            begun = max(0, state.newest)
            time = begun + np.cumsum(firsts & ((batch.op == INSERT) | (batch.op == REPLACE)))
        elif state.order == WindowOrder.TIME.value and isinstance(batch, TimedEdges):
            time = batch.time
        else:
            time = np.full(len(batch), max(state.newest, self._now()), np.int64)
        time = np.where(mentions, NO_TIME, time)
        running = np.maximum.accumulate(np.maximum(time, state.newest))
        floor = NO_TIME + self.width.amount
        cutoffs = np.maximum(np.where(running >= floor, running - self.width.amount, NO_TIME), state.cutoff)
        timed = TimedEdges.at(batch, time)
        is_late = (time <= cutoffs) & ~mentions
        if not is_late.any():
            return timed, cutoffs, 0
        return timed.take(~is_late), cutoffs[~is_late], int(np.count_nonzero(is_late & firsts))

    def _firsts(self, batch: EdgeBatch) -> NDArray[np.bool_]:
        """Which edges are the first of their record: of an undirected stream each but a loop is followed by its reverse."""
        if not self._is_undirected:
            return np.ones(len(batch), np.bool_)
        alone: NDArray[np.bool_] = (batch.src == batch.dst) | (batch.op == MENTION)
        is_first: NDArray[np.bool_] = alone | ((np.cumsum(~alone) - 1) % 2 == 0)
        return is_first

    def _less_width(self, newest: int) -> int:
        return max(NO_TIME, newest - self.width.amount)

    def _now(self) -> int:
        return (self._clock.now() - _EPOCH) // _MICROSECOND


def log_windowed(window: Window, group: Sequence[Admission], *, may_leave: bool) -> list[Admission]:
    """Let admissions with versions pass a window, and log them; return those that are to be posted.

    What is refused has its error, and what only asked what leaves is left out where nothing does.

    Raises
    ------
    StoreError
        When they cannot be logged; the window is as it was.
    """
    ready = []
    try:
        for one in group:
            asked = one.entry.source == WINDOW
            left = window.state.left
            try:
                window.take(one.entry, may_leave=may_leave or one.shares is not None)
            except InvalidArgument as error:
                one.error = error
                continue
            if asked and window.state.left == left:
                window.take_back()
                continue
            if asked:
                one.entry.offset = window.state.left
            ready.append(one)
        window.log([one.entry for one in ready])
    except BaseException:
        window.was_not_logged()  # also where one could not be taken, as what leaves could not be read
        raise
    return ready


def _merged(timed: TimedEdges, cutoffs: NDArray[np.int64], leaving: TimedEdges) -> TimedEdges:
    """Removals of what leaves, each in front of the first record that makes it leave."""
    before = np.searchsorted(cutoffs, leaving.time)
    place = np.concatenate([2 * before, 2 * np.arange(len(timed)) + 1])
    count = len(leaving)
    removals = TimedEdges(
        leaving.src,
        leaving.dst,
        leaving.weight,
        np.full(count, REMOVE, np.int8),
        np.full(count, NO_TIME, np.int64),
    )
    return TimedEdges.concat([removals, timed]).take(np.argsort(place, kind="stable"))


def _instant(microseconds: int) -> str:
    """An instant as text; in seconds since 1970 where no calendar has it."""
    try:
        text = (_EPOCH + microseconds * _MICROSECOND).isoformat(timespec="milliseconds")
    except OverflowError:
        return str(microseconds / 1e6)
    return text.replace("+00:00", "Z")


def _hashes(batch: EdgeBatch) -> NDArray[np.uint32]:
    """32 bits of each pair of vertices."""
    mixed = batch.src.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    mixed = (mixed + batch.dst.view(np.uint64)) * np.uint64(0xBF58476D1CE4E5B9)
    return (mixed >> np.uint64(32)).astype(np.uint32)


def _changed(stream: str, had: str, width: WindowWidth) -> InvalidArgument:
    return InvalidArgument(
        f"stream {stream!r} {had}, and its window is {width} now: which of its edges would be in that is not known",
        hint="Start it as it was (another width of the same kind will do), or name another stream or an empty store.",
    )
