"""One worker's part of a stream: its part of the evolving graph and points, and the sequence that all main loops on the stream go through.

Records change these once; every loop hears of a chunk before the next one is applied, so all of them stand at one version
and differ only in how far each has propagated it. Forks stand in the same sequence, each for one loop.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..graph import EvolvingGraph, PartitionMap, by_near_sources
from ..graph.graph_columns import EDGES
from ..points import EvolvingPoints
from ..records.edge_batch import EdgeBatch
from ..records.operations import INSERT
from ..records.point_batch import PointBatch
from ..records.point_schema import Points
from .share import Share

_RECORDS_ALONE = 1 << 13  # applied in one activation, some milliseconds
_RECORDS_OF_A_BASE = 1 << 17  # nobody has a branch meanwhile, or hears of them one by one
# They go first: each message between workers costs them an activation of this loop. Of two workers' batches of a thousand, three.
_RECORDS_BESIDE_BRANCHES = 3 << 9
_NEW_SHARE = 8  # one in so many records brings a vertex
_DENSE = (
    16  # times as many rows as records: a share with its edges by sources meets each part of the graph once
)
_IN_BULK = 1 << 12  # records of a share whose vertices are worth having in order
_FILLS_BY = 1 << 24  # records that come in bulk at most, until loops take them in
_LEAST_BURST = (
    1 << 15
)  # records that come one behind another, to be taken in in bulk, and for more of them to be waited for
_MOST_STEPS_WITHOUT = 1 << 9  # of a worker that is busy with others, for which more is waited for
_STEPS_OF_BRANCHES = 1 << 6  # of a worker, for which loops leave the processor to branches
_COMPACTION_STEPS = 2  # of about a millisecond, at every activation
_WASTE_IDLE = 0.15  # share of list entries without an edge from which an idle stream compacts them


class ReadingPart(Protocol):
    """A main loop on the stream.

    Attributes
    ----------
    hears_back
        Which reverse lists it hears along, counted from 1; 0: along none.
    declared_points
        What the points that it hears of are declared to be; None: it hears of edges.
    awaits_edges
        Whether edges of a snapshot are coming that it does not hear of one by one: it takes them in when all are there.
    """

    hears_back: int
    declared_points: Points | None
    awaits_edges: bool

    @property
    def has_branches(self) -> bool:
        """Whether some that were forked of it are not over."""
        ...

    @property
    def awaits_cut(self) -> bool:
        """Whether one of these has not started here, so that other workers may wait for what this loop has to do."""
        ...

    def activate(self) -> None:
        """Have its step called soon."""
        ...

    def stop_scans(self) -> None:
        """Finish the scans under way, because the graph is about to change."""
        ...

    def hear(self) -> None:
        """Take in what the last records changed."""
        ...

    def fail(self, error: Exception) -> None:
        """Raise this in the next step: it could not hear."""
        ...

    def may_fill(self) -> bool:
        """Whether edges may come in bulk now: nobody waits for what they change, and it can take them in all at once."""
        ...

    def take_in_edges(self, version: int) -> None:
        """Take in the edges that have come in bulk since a version of the graph: they are in the lists now."""
        ...

    def is_behind(self) -> bool:
        """Whether so much is waiting to be propagated that more records should wait."""
        ...

    def is_catching_up(self) -> bool:
        """Whether it is so far behind that records should not wait for it."""
        ...

    def drain(self) -> bool:
        """Do some of what has to be done before the state can be recorded; return whether it can be recorded now."""
        ...


@dataclass(frozen=True, slots=True)
class _Record:
    """A fork in the sequence."""

    reader: ReadingPart
    record: Callable[[], None]
    is_ready: Callable[[], bool]


@dataclass(frozen=True, slots=True)
class _Lend:
    """Points that somebody wants to read as they are at this place in the sequence."""

    take: Callable[[EvolvingPoints | None], None]


class StreamPart:
    """See the module. All of it belongs to the worker's thread.

    Parameters
    ----------
    partition
        Which worker a vertex belongs to.
    worker
        Whose part it is.
    on_applied
        Called with the number of records that were applied.
    graph
        One that nobody has and nothing is in; None: it is made.

    Attributes
    ----------
    partition
        Which worker a vertex belongs to.
    graph, points
        Read by all loops and branches, and changed here only. There are points where `points_of` was asked for them.
    is_filling
        Whether edges come in bulk, and no loop has heard of them yet.
    """

    def __init__(
        self,
        partition: PartitionMap,
        worker: int,
        on_applied: Callable[[int], None],
        graph: EvolvingGraph | None = None,
    ) -> None:
        self.graph = EvolvingGraph(partition, worker) if graph is None else graph
        self.graph.settle(partition)  # one map, which may be large
        self.partition = partition
        self.points: EvolvingPoints | None = None
        self._workers, self._worker = partition.workers, worker
        self._on_applied = on_applied
        self._readers: list[ReadingPart] = []
        self._commands: deque[Share | _Record | _Lend] = deque()
        self._rows_before = self._records_before = 0  # rows there were before the last share, and its records
        self._is_growing = False  # by the last share, which was large, and nearly all of it edges that came
        self._reverse = 0  # which reverse lists the graph has, or had last
        self.is_filling = False
        self._filled_from = self._gap_at = 0  # the versions when that began, and when nothing came next
        self._steps_without = 0  # of the worker, since something came
        self._giving_way: deque[ReadingPart] = deque()
        self._turns: list[ReadingPart] = []  # those that gave way, and are called
        self._steps_left = 0  # of the worker, until the next turn

    def join(self, reader: ReadingPart) -> None:
        """Tell a loop of every change from now on; what is there already it reads itself."""
        self.end_filling()
        if (
            reader.hears_back > self._reverse
        ):  # those before it were for loops that are over, and lack what came since
            self.graph.begin_reverse()
            self._reverse = reader.hears_back
        if reader.hears_back and not self.graph.has_reverse:  # whoever began them failed just now
            reader.fail(
                RuntimeError("the reverse lists that it was to hear along have ended; start it again")
            )
            return
        self.graph.end_load()
        self._readers.append(reader)

    def leave(self, reader: ReadingPart) -> None:
        """Tell a loop of nothing more, and drop its forks from the sequence; the others go on."""
        if reader in self._readers:
            self._readers.remove(reader)
        self._commands = deque(
            command
            for command in self._commands
            if not (isinstance(command, _Record) and command.reader is reader)
        )
        for waiting in (self._giving_way, self._turns):
            if reader in waiting:
                waiting.remove(reader)
        self._wake()

    def points_of(self, declared: Points) -> EvolvingPoints:
        """Its part of the points, from when somebody wants to read them or the first ones come."""
        if self.points is None:
            self.points = EvolvingPoints(declared, workers=self._workers, worker=self._worker)
        return self.points

    def let_go(self, reader: ReadingPart) -> None:
        """Leave, and end the reverse lists if only this loop heard along them; none of its branches may be left."""
        self.leave(reader)
        wanted = {other.hears_back for other in self._readers}
        if reader.hears_back == self._reverse and self._reverse not in wanted:
            self.graph.end_reverse()

    def settle(self, block_bits: int) -> None:
        """Have blocks of ids belong to workers, or with 0 single ids; there are no vertices yet."""
        self.partition = replace(self.partition, block_bits=block_bits, is_open=False)
        self.graph.settle(self.partition)

    @property
    def is_backed_up(self) -> bool:
        """Whether records come next in the sequence, so that nobody waits yet for what those before them change."""
        return bool(self._commands) and isinstance(self._commands[0], Share)

    @property
    def has_commands(self) -> bool:
        """Whether something of the sequence is not done yet."""
        return bool(self._commands)

    def admit(self, share: Share) -> None:
        """Put a share into the sequence; from the first one on the map is not open any more."""
        if self.partition.is_open:
            self.settle(self.partition.block_bits)
        self.graph.list_memory.stop_joining()
        self._commands.append(share)
        self._steps_without = 0
        if not isinstance(self._commands[0], _Record):  # a fork that waits is called for what it waits for
            self._wake()

    def fork(
        self, reader: ReadingPart, record: Callable[[], None], *, is_ready: Callable[[], bool] | None = None
    ) -> None:
        """Put a fork of a loop into the sequence.

        Parameters
        ----------
        record
            Records the state for it.
        is_ready
            Does some of what has to be done before, and returns whether it can be recorded now; None: `ReadingPart.drain`.
        """
        if reader in self._readers:  # of one that has failed nothing can be recorded
            self.graph.list_memory.stop_joining()
            self._commands.append(_Record(reader, record, is_ready or reader.drain))
            reader.activate()

    def gives_way(self, reader: ReadingPart) -> bool:
        """Whether a loop is to begin nothing now, for the sake of branches that somebody waits for; it is called again when it is to.

        A round of a branch waits for each worker in turn, and so for whatever its loops do there. They do a little now and then: one of them
        each time that the worker has made some steps, and all when a branch is over, or the worker has nothing to do. None gives way while a
        branch waits for its cut, which may wait for what the loop has to do, nor where it keeps records waiting.
        """
        if reader in self._turns:
            self._turns.remove(reader)
            return False
        is_awaited = any(other.awaits_cut for other in self._readers) or reader.is_behind()
        if is_awaited or not self._has_branches():
            return False
        if not self._giving_way:
            self._steps_left = _STEPS_OF_BRANCHES
        if reader not in self._giving_way:
            self._giving_way.append(reader)
        return True

    def end_giving_way(self) -> None:
        """Call all loops that gave way."""
        while self._giving_way:
            self._take_turn()

    def lend_points(self, take: Callable[[EvolvingPoints | None], None]) -> None:
        """Have the points handed over, None where there are none, when it is the turn of what comes next in the sequence."""
        self._commands.append(_Lend(take))

    def obey(self, reader: ReadingPart) -> bool:
        """Go on in the sequence, in the step of one of the loops; return whether there is more that can be done at once."""
        records_left = self._records_at_once()
        while self._commands:
            command = self._commands[0]
            if isinstance(command, Share):
                records_left = min(
                    records_left, self._records_at_once()
                )  # fewer, since edges came in bulk no more
                if records_left <= 0 or self.is_behind():
                    return True
                command = self._next_share(records_left)
                first = command.following
                finished = self._apply(command, records_left)
                records_left -= command.following - first
                if not finished:
                    return True
            elif isinstance(command, _Lend):
                command.take(self.points)
            elif command.reader is not reader:
                command.reader.activate()  # it records in a step of its own
                return False
            else:
                self.end_filling()
                if not command.is_ready():
                    return True
                command.record()
            self._commands.popleft()
            if isinstance(command, _Record) and self._commands:
                return True  # what it finds is reported before more is done
        if self.is_filling:
            self._note_gap()
        if self.graph.is_compacting and not self.is_filling:  # lists would be built for that again and again
            self.graph.compact(steps=_COMPACTION_STEPS)
            return self.graph.is_compacting
        return False

    def _next_share(self, records: int) -> Share:
        """The share that comes next, with small ones that wait right behind it as one, since each costs something by itself."""
        first = self._commands[0]
        assert isinstance(first, Share)
        together = list[Share]()
        left = min(records, _IN_BULK - 1)  # fewer than what counts as coming in bulk
        for share in self._commands:
            if not (isinstance(share, Share) and first.goes_with(share) and len(share.batch) <= left):
                break
            together.append(share)
            left -= len(share.batch)
        if len(together) < 2:
            return first
        first = Share.of_several(together)  # which may fail, and nothing is to be lost then
        for _ in together:
            self._commands.popleft()
        self._commands.appendleft(first)
        return first

    def is_behind(self) -> bool:
        """Whether records wait until the loops have propagated what is in.

        A loop that is far behind others, as one that has just begun, catches up beside them.
        """
        if len(self._readers) == 1:
            return self._readers[0].is_behind()
        return any(reader.is_behind() and not reader.is_catching_up() for reader in self._readers)

    def tidy(self) -> None:
        """Do what can wait until nothing has come for a while, and this is called: one thing at a time.

        Edges that came in bulk are taken in. Lists are compacted, where much has changed and it is worth it, and what they lie in is
        joined to huge pages.
        """
        self.end_giving_way()
        changed_much = self.graph.changed_since_compaction() > self.edge_count() // 8
        if self.is_filling:
            self.end_filling()
        elif changed_much and self.graph.waste() > _WASTE_IDLE and not self.graph.is_compacting:
            self.graph.compact(steps=_COMPACTION_STEPS)
            self._wake()
        else:
            self.graph.join_memory()

    def end_filling(self) -> None:
        """Have every loop take in the edges that came in bulk, if any did."""
        if self.is_filling:
            self.is_filling = False
            self.graph.end_load()
            for reader in self._readers:
                reader.take_in_edges(self._filled_from)

    @property
    def counts_steps(self) -> bool:
        """Whether something waits for steps of the worker, or for it to have nothing to do."""
        return self.is_filling or bool(self._giving_way)

    def count_step(self) -> None:
        """For each step of the worker, where that counts: others may keep the worker from ever having nothing to do."""
        self._steps_without += 1
        if self._steps_without > _MOST_STEPS_WITHOUT and not self._commands:
            self.end_filling()
        self._steps_left -= 1
        if self._giving_way and self._steps_left <= 0:
            self._take_turn()

    def mention(self, ids: NDArray[np.int64]) -> None:
        """Make vertices of this worker known; every loop hears of them."""
        self._stop_scans()
        self.graph.mention(ids)
        self._tell()

    def edge_count(self) -> int:
        """Live edges on this worker."""
        return int(self.graph.columns.counters[EDGES])

    def held(self) -> int:
        """Live edges and points on this worker: what a base of now would have of it."""
        return self.edge_count() + (0 if self.points is None else len(self.points))

    def _records_at_once(self) -> int:
        """How many records are applied in one activation."""
        if self._has_branches():
            return _RECORDS_BESIDE_BRANCHES
        return _RECORDS_OF_A_BASE if self._is_load() else _RECORDS_ALONE

    def _take_turn(self) -> None:
        self._steps_left = _STEPS_OF_BRANCHES
        self._turns.append(self._giving_way.popleft())
        self._turns[-1].activate()

    def _has_branches(self) -> bool:
        return any(reader.has_branches for reader in self._readers)

    def _is_load(self) -> bool:
        """Whether all loops that hear of edges take them in later: when all of a snapshot are there, or many have come."""
        if self.is_filling:
            return True
        awaiting = [reader.awaits_edges for reader in self._readers if reader.declared_points is None]
        return bool(awaiting) and all(awaiting)

    def _apply(self, share: Share, records: int) -> bool:
        """Apply up to so many records of a share; return whether all of them are applied."""
        first, stop = share.following, min(share.following + records, len(share.batch))
        mentions = share.records - len(share.batch)
        if isinstance(share.batch, PointBatch):
            share.following = self.points_of(share.batch.points).apply(share.batch, first, stop)
            self._tell(of_points=True)
        else:
            assert isinstance(share.batch, EdgeBatch)
            self._apply_edges(share, share.batch, first, stop)
        self._on_applied(share.following - first + mentions)
        return share.is_applied

    def _apply_edges(self, share: Share, batch: EdgeBatch, first: int, stop: int) -> None:
        self._stop_scans()
        may_load = self.graph.may_load(is_both_ways=share.is_both_ways)
        if first == 0:
            self._order_rows(batch, share.mentioned)
            is_large = len(batch) >= _IN_BULK and _DENSE * len(batch) >= self.graph.rows
            insertions = int(np.count_nonzero(batch.op == INSERT))
            self._is_growing = is_large and 4 * insertions >= 3 * len(batch)
            self._fill(may_load=may_load and insertions == len(batch), is_large=len(batch) >= _IN_BULK)
            if is_large and not (
                may_load and self._is_load()
            ):  # of a base those of near targets are together
                share.batch = batch = EdgeBatch(
                    *by_near_sources(batch.src, batch.dst, batch.weight, batch.op)
                )
        if len(share.mentioned):
            self.graph.mention(share.mentioned)
            share.mentioned = share.mentioned[:0]
        columns = (batch.src, batch.dst, batch.weight, batch.op)
        share.following = self.graph.apply(
            *columns,
            first,
            stop,
            is_both_ways=share.is_both_ways,
            is_load=may_load and self._is_load(),
            is_growing=self._is_growing,
        )
        self._tell()

    def _fill(self, *, may_load: bool, is_large: bool) -> None:
        """Begin to take in edges in bulk, or end it, by what comes next."""
        if not may_load or self.graph.sequence - self._filled_from >= _FILLS_BY:
            self.end_filling()
        if may_load and is_large and not self._is_load() and self._is_burst():
            readers = [reader for reader in self._readers if reader.declared_points is None]
            self.is_filling = bool(readers) and all(reader.may_fill() for reader in readers)
            self._filled_from = self._gap_at = self.graph.sequence

    def _is_burst(self) -> bool:
        """Whether so much comes next that it is worth more than to have it in lists at once."""
        records = 0
        for command in self._commands:
            records += len(command.batch) if isinstance(command, Share) else 0
            if records >= _LEAST_BURST:
                return True
        return False

    def _note_gap(self) -> None:
        """Nothing comes next: go on with a backlog only, not with what comes bit by bit, and is to be seen."""
        burst = self.graph.sequence - self._gap_at
        self._gap_at = self.graph.sequence
        if 0 < burst < _LEAST_BURST:
            self.end_filling()

    def _order_rows(self, batch: EdgeBatch, mentioned: NDArray[np.int64]) -> None:
        """Make the rows of what is new in a large share in the order of ids, while much is new."""
        grown = self.graph.rows - self._rows_before
        is_growing = _NEW_SHARE * grown >= self._records_before
        self._rows_before, self._records_before = self.graph.rows, len(batch)
        if is_growing and len(batch) >= _IN_BULK:
            self.graph.make_rows(np.concatenate([batch.src, batch.dst, mentioned]))

    def _stop_scans(self) -> None:
        for reader in self._readers:
            reader.stop_scans()

    def _tell(self, *, of_points: bool = False) -> None:
        alone = len(self._readers) == 1
        for reader in [one for one in self._readers if of_points == (one.declared_points is not None)]:
            if alone:
                reader.hear()
                return
            try:
                reader.hear()
            except Exception as error:  # noqa: BLE001  the others are not to blame
                self.leave(reader)
                reader.fail(error)
            reader.activate()

    def _wake(self) -> None:
        for reader in self._readers:
            reader.activate()
