"""An evolving multigraph of one worker: edges in arrival order of their records, readable at every version that is leased.

Source: the multi-version graph of the architecture (Tornado, section 5.2, keeps versions of vertices; here it is the edges that
have versions, so that loops and branches read one graph, each at its own point). Kernels do the work (`graph_kernel`); this
class owns the columns, keeps room for what the next batch may need, and reclaims what no lease needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arena import advise_huge_pages, release_pages, reserve
from ..columns import RECORD_BYTES, addresses_of
from ..distinct import ascending, in_order_unsorted
from ..errors import GraphTooLarge
from ..records.operations import INSERT
from . import graph_columns as names
from .bulk_load import BulkLoad
from .graph_columns import (
    AHEAD,
    ANY_VERSION,
    GRAPH_COUNTERS,
    MOST_DELTAS,
    SIZE_CLASSES,
    GraphColumns,
)
from .graph_module import graph_module
from .graph_statistics import GraphStatistics
from .graves import grave_columns
from .list_memory import FEW_EDGES, ListMemory
from .partition import PartitionMap

MOST_ROWS = 1 << 29
MOST_EDGE_SLOTS = 1 << 31
# What the columns of a row's record are fields of: a cache line.
ROW_RECORD = np.dtype(
    {
        "names": [
            *("ids", "out_start", "out_length", "out_capacity", "in_start", "in_length", "in_capacity"),
            *("owner", "known_as", "buried_out", "buried_in"),
        ],
        "formats": ["<i8", "<i8", "<i4", "<i4", "<i8", "<i4", "<i4", "u1", "<i4", "<i8", "<i8"],
        "offsets": [0, 8, 16, 20, 24, 32, 36, 40, 44, 48, 56],
        "itemsize": RECORD_BYTES,
    }
)
_FIRST_TABLE = 1 << 10
_FIRST_GRAVES = 1 << 10
_ROWS_AT_ONCE = 1 << 13
_SLIDE_FUEL = 60_000
_MOST_IN_BULK = 1 << 23  # edges that wait for their lists
_GONE_THROUGH = ("edge_consumer", "edge_weight", "in_weight")  # by whoever propagates
_OF_EACH_EDGE = ("edge_consumer", "edge_weight", "edge_born", "edge_back", "in_producer", "in_position")


class EvolvingGraph:
    """One worker's part of a graph.

    Parameters
    ----------
    partition
        Which worker a vertex belongs to.
    worker
        Whose part it is.

    Attributes
    ----------
    list_memory
        What lists lie in.
    """

    def __init__(self, partition: PartitionMap, worker: int = 0) -> None:
        self._kernel = graph_module()
        rows, slots = MOST_ROWS, MOST_EDGE_SLOTS
        self._rows = reserve(rows, ROW_RECORD)
        self.columns = GraphColumns(
            **{name: self._rows[name] for name in ROW_RECORD.names or ()},
            table=reserve(_FIRST_TABLE, np.int32),
            edge_consumer=reserve(slots, np.int32),
            edge_weight=reserve(slots, np.float64),
            edge_born=reserve(slots, np.int64),
            edge_back=reserve(slots, np.int32),
            in_producer=reserve(slots, np.int32),
            in_position=reserve(slots, np.int32),
            in_weight=np.zeros(1),
            out_idle=np.zeros(SIZE_CLASSES, np.int64),
            in_idle=np.zeros(SIZE_CLASSES, np.int64),
            **grave_columns(_FIRST_GRAVES),
            ahead_producer=np.zeros(AHEAD, np.int32),
            ahead_consumer=np.zeros(AHEAD, np.int32),
            delta_sign=np.zeros(MOST_DELTAS, np.int8),
            delta_producer=np.zeros(MOST_DELTAS, np.int32),
            delta_consumer=np.zeros(MOST_DELTAS, np.int32),
            delta_weight=np.zeros(MOST_DELTAS, np.float64),
            delta_born=np.zeros(MOST_DELTAS, np.int64),
            buckets=partition.buckets,
            reverse=np.zeros(len(GraphColumns._fields), np.int64),
            counters=np.zeros(GRAPH_COUNTERS, np.int64),
        )
        self.columns.counters[names.PART] = worker
        self.columns.counters[names.BLOCK_BITS] = partition.block_bits
        self.addresses = addresses_of(self.columns)
        self._replace()
        self._partition = partition
        self._reverse: EvolvingGraph | None = None
        self._weight_readers = 0
        self._leases: dict[int, int] = {}
        self._next_lease = 0
        self._compaction: Iterator[bool] | None = None
        self._compacted_at = 0
        self._advised_rows = 0
        self._advised_slots = 0
        self._expected = 0
        self._bulk: BulkLoad | None = None  # edges that are in no lists yet
        self.list_memory = ListMemory([getattr(self.columns, name) for name in _OF_EACH_EDGE])
        self._unplaced = 0  # vertices of this worker that a placement lacks

    @property
    def rows(self) -> int:
        """Rows in use."""
        return int(self.columns.counters[names.ROWS])

    @property
    def sequence(self) -> int:
        """The newest version: how many records were applied."""
        return int(self.columns.counters[names.SEQUENCE])

    def make_room(self, records: int) -> None:
        """Keep room for the rows and the graves that so many records may need.

        Raises
        ------
        GraphTooLarge
            When this worker's part outgrows the address space reserved for it.
        """
        counters = self.columns.counters
        wanted = int(counters[names.ROWS]) + 2 * records
        slots = self._slots()
        if wanted > MOST_ROWS or slots > MOST_EDGE_SLOTS - MOST_EDGE_SLOTS // 4:
            raise GraphTooLarge(
                f"{wanted} vertices and ghosts or {slots} places for edges are more than one worker can hold "
                f"({MOST_ROWS} and {MOST_EDGE_SLOTS - MOST_EDGE_SLOTS // 4}); start with more workers"
            )
        if wanted * 2 > self.columns.table.size:
            size = self.columns.table.size
            while size < wanted * 2:
                size *= 2
            table = reserve(size, np.int32)
            advise_huge_pages(table, size)  # it is looked at all over
            self._kernel.fill_table(self.columns.ids, table, int(counters[names.ROWS]))
            self._replace(table=table)  # readers of the old table still find all old rows
        self.make_list_room(records)
        if self._reverse is not None:
            self._reverse.make_list_room(records)

    def make_room_for(self, ids: NDArray[np.int64]) -> None:
        """Likewise, for what names these vertices, of which some may have no row yet; only read."""
        self.make_room(len(ids))
        if self._partition.placed is not None:
            self._make_placed_rows(ids)

    def _make_placed_rows(self, ids: NDArray[np.int64]) -> None:
        """Make rows for vertices that have none, and say whose they are: the kernel knows only buckets."""
        new = ids[self.rows_of(ids) < 0]
        placed = self._partition.placed
        if not len(new) or placed is None:
            return
        new = ascending(new)
        self.make_room(len(new))
        self._kernel.make_rows(self.addresses, new)
        owners = self._partition.owners_of(new)
        self.columns.owner[self.rows_of(new)] = owners
        own = new[owners == self.columns.counters[names.PART]]
        self._unplaced += int((placed.parts_of(own) < 0).sum())

    def make_list_room(self, records: int) -> None:
        """Keep room for the graves of so many records."""
        if self.columns.counters[names.LEASED]:
            self._make_graves(records)
        self._advise()

    def expect(self, edges: int) -> None:
        """Have memory under the lists of a graph that is empty, for so many edges that come soon; see `ListMemory`."""
        if self.columns.counters[names.EDGES] or edges <= max(FEW_EDGES, self._expected):
            return
        self._expected = edges
        self.list_memory.put(0, edges)

    def apply(
        self,
        sources: NDArray[np.int64],
        targets: NDArray[np.int64],
        weights: NDArray[np.float64],
        operations: NDArray[np.int8],
        first: int,
        stop: int,
        *,
        is_both_ways: bool = False,
        is_load: bool = False,
        is_growing: bool = False,
    ) -> int:
        """Apply records ``first .. stop``, as far as there is room for what they leave behind.

        What changed stands in the delta columns until the next call: every loop on the graph consumes it before that.

        Parameters
        ----------
        sources, targets : int64[n]
            Ids; those of targets, or with `is_both_ways` one of two, belong to this worker. Only read, as the others are.
        weights : float64[n]
        operations : int8[n]
            See `tornado.records.edge_batch`.
        is_both_ways
            Whether there may be records of which only the source belongs to this worker. Without reverse lists those change
            nothing: the lists may have gone since, or workers that took the place of lost ones never had any.
        is_load
            Whether no loop is to hear of them one by one. Where they are insertions, nobody reads lists then until `end_load`.
        is_growing
            Whether many edges are coming, beside those that are there: then lists get more room at once, and memory ahead.

        Returns
        -------
        The index of the first record that was not applied.
        """
        self.make_room(stop - first)
        if is_growing and not is_load:
            self.list_memory.put_ahead(self._slots())
        if self._partition.placed is not None:
            self._make_placed_rows(np.concatenate([sources[first:stop], targets[first:stop]]))
        both_ways = is_both_ways or self._reverse is not None
        self.columns.counters[names.GROWING] = is_growing
        if is_load and self.may_load(is_both_ways=is_both_ways) and np.all(operations[first:stop] == INSERT):
            if self._bulk is not None and self._bulk.edges + stop - first > _MOST_IN_BULK:
                self.end_load()
            if self._bulk is None:
                self._bulk = BulkLoad(self.columns, self.addresses)
            self._bulk.take(sources[first:stop], targets[first:stop], weights[first:stop])
            self._advise(coming=self._bulk.edges)
            self.list_memory.put_ahead(self._slots(), coming=self._bulk.edges)
            return stop
        self.end_load()
        apply = self._kernel.apply_both_ways if both_ways else self._kernel.apply_records
        return int(apply(self.addresses, sources, targets, weights, operations, first, stop))

    def may_load(self, *, is_both_ways: bool) -> bool:
        """Whether edges can come in bulk: nobody reads a version without them, and there is room to move all lists at once."""
        counters = self.columns.counters
        has_room = self._slots() + 2 * int(counters[names.EDGES]) + 2 * _MOST_IN_BULK < MOST_EDGE_SLOTS
        return has_room and not (is_both_ways or self._reverse is not None or counters[names.LEASED])

    @property
    def is_loading(self) -> bool:
        """Whether edges are not in the lists yet: nobody may read any."""
        return self._bulk is not None

    def end_load(self) -> None:
        """Put what came in bulk into the lists, if anything did."""
        if self._bulk is not None:
            self._bulk.build_lists()
            self._bulk = None

    def join_memory(self) -> None:
        """Have what lists lie in joined to huge pages, where many edges have come: for when nothing comes; see `ListMemory`."""
        self.list_memory.join(self._slots())

    @property
    def is_placed(self) -> bool:
        """Whether it is decided which vertices belong to this worker; before that none may be made."""
        return not self._partition.is_open

    def settle(self, partition: PartitionMap) -> None:
        """Have the vertices belong to workers by the map that the first edges have decided on; there are none yet."""
        self._partition = partition
        self.columns.counters[names.BLOCK_BITS] = partition.block_bits

    def make_rows(self, ids: NDArray[np.int64]) -> None:
        """Make rows for vertices that have none, in the order of their ids: those of ids that are local lie near each other.

        Parameters
        ----------
        ids : int64[n]
            Vertices that records are about to name; only read.
        """
        # In order, one row after another is looked up faster than those that are there are sorted out.
        named = in_order_unsorted(ids) if len(ids) else ids
        if named is None:
            named = np.unique(ids[self.rows_of(ids) < 0])
        if self._partition.placed is not None:
            self._make_placed_rows(named)
        at_once = _ROWS_AT_ONCE if self.rows else max(1, len(named))  # all are new to a graph without any
        for first in range(0, len(named), at_once):
            self.make_room(min(at_once, len(named) - first))
            self._kernel.make_rows(self.addresses, named[first : first + at_once])

    def begin_reverse(self) -> None:
        """Have reverse lists, empty ones; from now on they have every record of which the source is owned here."""
        reverse = EvolvingGraph(self._partition, int(self.columns.counters[names.PART]))
        reverse.columns.counters[names.ROWS] = self.rows
        reverse.columns.counters[names.SEQUENCE] = self.sequence
        self._reverse = reverse
        self._replace(reverse=reverse.addresses)
        self.columns.counters[names.REVERSED] = 1

    @property
    def has_reverse(self) -> bool:
        """Whether there are reverse lists."""
        return self._reverse is not None

    def end_reverse(self) -> None:
        """Let go of the reverse lists; nobody reads them."""
        self._reverse = None
        self.columns.counters[names.REVERSED] = 0
        self._replace(reverse=np.zeros(len(GraphColumns._fields), np.int64))

    def begin_weights_in(self) -> None:
        """Have the weights in in-lists, too, for one more reader that pulls along them; see `weigh_in_lists`."""
        self.end_load()  # whose edges are not weighed as they wait
        self._weight_readers += 1
        if self._weight_readers == 1:
            self._replace(in_weight=reserve(MOST_EDGE_SLOTS, np.float64))
            advise_huge_pages(self.columns.in_weight, max(self._advised_slots, self._slots()))
            self.columns.counters[names.WEIGHTS_IN] = 1
            self.columns.counters[names.WEIGHED_ROWS] = 0

    def weigh_in_lists(self, fuel: int) -> bool:
        """Go on with putting them there; return whether all are there. Until then nobody pulls along them."""
        self.end_load()
        return bool(self._kernel.weigh_in_lists(self.addresses, fuel))

    def end_weights_in(self) -> None:
        """For one reader less; the column is let go of with the last."""
        self._weight_readers -= 1
        if self._weight_readers == 0:
            self.columns.counters[names.WEIGHTS_IN] = 0
            self._replace(in_weight=np.zeros(1))

    def mention(self, ids: NDArray[np.int64]) -> None:
        """Vertices of this worker that records elsewhere name: from now on they were seen."""
        self.make_room_for(ids)
        self._kernel.apply_mentions(self.addresses, ids)

    def rows_of(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """The row of each vertex, -1 for one that has none; from any thread."""
        columns = self.columns
        rows = np.empty(len(ids), np.int64)
        self._kernel.find_rows(columns.ids, columns.table, np.ascontiguousarray(ids, np.int64), rows)
        return rows

    @property
    def vertices(self) -> int:
        """How many of this worker's vertices were seen."""
        return int(self.columns.counters[names.KNOWN_ROWS])

    def are_known(self, rows: NDArray[np.int64], vertices: int) -> NDArray[np.bool_]:
        """Whether each row is of a vertex of this worker that was seen when `vertices` of them were; from any thread."""
        known_as = self.columns.known_as[rows]
        return (known_as > 0) & (known_as <= vertices)

    def known_rows(self, vertices: int) -> NDArray[np.int64]:
        """The rows of the first `vertices` of this worker that were seen, ascending; from any thread."""
        known_as = self.columns.known_as[: self.rows]
        return np.flatnonzero((known_as > 0) & (known_as <= vertices))

    def lease(self) -> tuple[int, int]:
        """Promise to read the present version until `release`; returns (lease, version)."""
        self.end_load()
        lease = self._next_lease
        self._next_lease += 1
        self.hold(lease, self.sequence)
        if self._reverse is not None:
            self._reverse.hold(lease, self.sequence)
        return lease, self.sequence

    def hold(self, lease: int, version: int) -> None:
        """Keep what a version needs until a lease is released."""
        self._leases[lease] = version
        self.columns.counters[names.LEASED] = 1

    def holds(self, lease: int) -> bool:
        """Whether a lease is not released."""
        return lease in self._leases

    def release(self, lease: int) -> None:
        """Give a lease back; what no other lease needs is forgotten."""
        if self._reverse is not None and self._reverse.holds(lease):  # else it is older than the lists
            self._reverse.release(lease)
        del self._leases[lease]
        counters = self.columns.counters
        if not self._leases:
            counters[names.LEASED] = 0
            counters[names.BURIED_FIRST] = counters[names.BURIED_NEXT]
            if self.columns.grave_born.size > _FIRST_GRAVES * 64:
                self._replace_graves(_FIRST_GRAVES)
            return
        oldest = min(self._leases.values())
        first, following = int(counters[names.BURIED_FIRST]), int(counters[names.BURIED_NEXT])
        mask = self.columns.grave_died.size - 1
        while first < following and self.columns.grave_died[first & mask] <= oldest:
            step = min(following - first, 4096, self.columns.grave_died.size - (first & mask))
            died = self.columns.grave_died[first & mask : (first & mask) + step]
            first += int(np.searchsorted(died, oldest, side="right"))
            if died[-1] > oldest:
                break
        counters[names.BURIED_FIRST] = first

    def edges(
        self, version: int = ANY_VERSION
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
        """The edges visible at a version: source ids, target ids, weights, births (their order of arrival here)."""
        self.end_load()
        most = self.most_edges()
        producers, consumers = np.empty(most, np.int64), np.empty(most, np.int64)
        weights, born = np.empty(most, np.float64), np.empty(most, np.int64)
        count = self._kernel.edges_at(self.addresses, version, producers, consumers, weights, born)
        ids = self.columns.ids
        return ids[producers[:count]], ids[consumers[:count]], weights[:count], born[:count]

    def weights_between(
        self, producers: NDArray[np.int64], consumers: NDArray[np.int64], version: int
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """The weights of all edges from each of some rows to that at its place, at a version that is leased.

        Returns
        -------
        counts : int32[n]
            How many edges each pair has.
        weights : float64[sum of counts]
            Those of one pair behind those of another.
        """
        counts, found = np.zeros(len(producers), np.int32), list[NDArray[np.float64]]()
        following, room = 0, len(producers) + 1
        while following < len(producers):
            weights = np.empty(room)
            first = following
            following, written = self._kernel.weights_between(
                self.addresses, version, producers, consumers, first, counts, weights
            )
            found.append(weights[:written])
            if following == first:  # as many edges lie between these two
                room *= 2
        return counts, np.concatenate(found) if found else np.empty(0)

    def most_edges(self) -> int:
        """At least as many as are visible at any version that is leased."""
        counters = self.columns.counters
        return int(counters[names.EDGES] + counters[names.BURIED_NEXT] - counters[names.BURIED_FIRST])

    def waste(self) -> float:
        """The share of list entries that hold no edge."""
        used = edges = 0
        for lists in (self, self._reverse):
            if lists is not None:
                counters = lists.columns.counters
                used += int(counters[names.OUT_END] + counters[names.IN_END])
                edges += int(counters[names.EDGES])
        return 1.0 - 2 * edges / used if used else 0.0

    @property
    def is_compacting(self) -> bool:
        """Whether a compaction has begun and is not finished."""
        return self._compaction is not None

    def compact(self, *, steps: int | None = None) -> None:
        """Slide all lists together and give the memory behind them back, in steps of about a millisecond.

        Between steps the graph may change, and lists may be read from their beginning or by position.
        """
        self.end_load()
        if self._compaction is None:
            self._compaction = self.sliding()
        taken = 0
        while steps is None or taken < steps:
            if next(self._compaction, None) is None:
                self._compaction = None
                self._compacted_at = self.sequence
                return
            taken += 1

    def changed_since_compaction(self) -> int:
        """How many records were applied since the last one."""
        return self.sequence - self._compacted_at

    def sliding(self) -> Iterator[bool]:
        """Slide all lists together, a step of about a millisecond for each item."""
        columns, counters = self.columns, self.columns.counters
        counters[names.COMPACTING] = 1
        out_slots = (columns.edge_consumer, columns.edge_weight, columns.edge_born, columns.edge_back)
        in_slots = (columns.in_producer, columns.in_position, columns.in_weight)
        yield from self._slide(
            columns.out_start, columns.out_capacity, self._kernel.slide_out_lists, names.OUT_END, out_slots
        )
        yield from self._slide(
            columns.in_start, columns.in_capacity, self._kernel.slide_in_lists, names.IN_END, in_slots
        )
        counters[names.COMPACTING] = 0
        self.list_memory.forget()
        if self._reverse is not None:
            yield from self._reverse.sliding()

    def _slide(
        self,
        start: NDArray[np.int64],
        capacity: NDArray[np.int32],
        slide: Callable[..., tuple[int, int]],
        end: int,
        slots: tuple[NDArray[Any], ...],
    ) -> Iterator[bool]:
        """Slide one direction's lists. What is appended meanwhile stays behind the old end, and a hole is left before it."""
        counters = self.columns.counters
        idle, idle_lists, give = (
            (names.OUT_IDLE, self.columns.out_idle, self._kernel.free_out_entries)
            if end == names.OUT_END
            else (names.IN_IDLE, self.columns.in_idle, self._kernel.free_in_entries)
        )
        idle_lists[:] = 0
        counters[idle] = 0
        old_end = int(counters[end])
        live = np.flatnonzero(capacity[: self.rows] > 0)
        order = live[np.argsort(start[live], kind="stable")]
        starts = start[order]
        position = following = 0
        while following < order.size:
            following, position = slide(self.addresses, order, starts, following, position, _SLIDE_FUEL)
            yield True
        nothing_came = int(counters[end]) == old_end
        for column in slots:
            release_pages(column, position, max(old_end, self.list_memory.stop) if nothing_came else old_end)
        if nothing_came:
            counters[end] = position
        else:
            give(self.addresses, position, old_end - position)

    def statistics(self) -> GraphStatistics:
        """Sizes, for people and for metrics."""
        counters = self.columns.counters
        size_bytes = (
            (0 if self._reverse is None else self._reverse.statistics().size_bytes)
            + (0 if self._bulk is None else self._bulk.size_bytes)
            + self.rows * ROW_RECORD.itemsize
            + self.columns.table.nbytes
            + int(counters[names.OUT_END]) * 24
            + int(counters[names.IN_END]) * (16 if counters[names.WEIGHTS_IN] else 8)
            + self.columns.grave_born.size * 48
        )
        return GraphStatistics(
            rows=self.rows,
            vertices=self.vertices,
            edges=int(counters[names.EDGES]),
            missing_removals=int(counters[names.MISSING]),
            sequence=self.sequence,
            leases=len(self._leases),
            graves=int(counters[names.BURIED_NEXT] - counters[names.BURIED_FIRST]),
            size_bytes=size_bytes,
            cut_edges=int(counters[names.CUT]),
            unplaced=self._unplaced,
        )

    def _make_graves(self, records: int) -> None:
        used = int(self.columns.counters[names.BURIED_NEXT] - self.columns.counters[names.BURIED_FIRST])
        size = self.columns.grave_born.size
        while used + records + 64 > size:
            size *= 2
        if size != self.columns.grave_born.size:
            self._replace_graves(size)

    def _replace_graves(self, size: int) -> None:
        """Move the graves in use to a ring of another size; their numbers stay."""
        old = self.columns
        numbers = np.arange(old.counters[names.BURIED_FIRST], old.counters[names.BURIED_NEXT])
        graves = grave_columns(size)
        for name, column in graves.items():
            column[numbers & (size - 1)] = getattr(old, name)[numbers & (old.grave_born.size - 1)]
        self._replace(**graves)

    def _replace(self, **changed: np.ndarray) -> None:
        self.columns = self.columns._replace(**changed)
        self.columns.counters[names.TABLE_MASK] = self.columns.table.size - 1
        self.columns.counters[names.GRAVE_MASK] = self.columns.grave_born.size - 1
        # In place: the graph of reverse lists refers to them there.
        self.addresses[:] = addresses_of(self.columns)

    def _slots(self) -> int:
        """How many places lists have taken, of the direction that has taken more."""
        return int(max(self.columns.counters[names.OUT_END], self.columns.counters[names.IN_END]))

    def _advise(self, coming: int = 0) -> None:
        """Huge pages for columns that have become large, or do with so many edges; what is left gets them later, see `ListMemory`."""
        rows, slots = self.rows, self._slots() + coming
        if rows > self._advised_rows:
            self._advised_rows = max(2 * rows, 1 << 21)
            advise_huge_pages(self._rows, rows)
        if slots > max(self._advised_slots, self._expected):
            self._advised_slots = slots + max(slots // 4, 1 << 21)
            for name in _GONE_THROUGH:
                advise_huge_pages(getattr(self.columns, name), self._advised_slots)
