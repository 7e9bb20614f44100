"""An evolving set of points of one worker, readable at every version that is leased.

Source: the multi-version graph of the architecture, for points: a point is visible at version s if born <= s < died, in sequence
numbers of this worker's records. Kernels do the work; this class owns the columns, keeps room for what the next records may need, and
reclaims what no lease needs.

Guarantees: readers copy no features; applying moves and overwrites nothing that a lease can read, nor what the deltas of the last call
name. What is read of a shard depends on the records of its points alone: not on who has the other shards, nor on leases.

Left out on purpose: rows that are free are used again, and their memory is not given back.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..arena import join_pages, release_pages, reserve
from ..columns import addresses_of
from ..errors import InvalidArgument, PointsTooLarge
from ..records.point_batch import PointBatch, SparsePointBatch
from ..records.point_schema import Points
from . import point_columns as names
from .point_columns import ANY_VERSION, BLOCK_CLASSES, MOST_DELTAS, POINT_COUNTERS, RADIX, PointColumns
from .point_module import point_module
from .shard_points import DenseShardPoints, ShardPoints, SparseShardPoints
from .shards import SHARDS, shards_of, shards_of_worker

MOST_SHARD_ROWS: Final = 1 << 25
MOST_SHARD_BYTES: Final = 1 << 35
"""Of address space for the features of dense points."""
MOST_SHARD_ENTRIES: Final = (1 << 31) - (1 << 20)
_FIRST_TABLE: Final = 1 << 10
_FIRST_GRAVES: Final = 1 << 10
_CALL_BYTES: Final = 8 << 20  # of features that one call copies: some milliseconds
_JOINED_BYTES: Final = 32 << 20  # of features of a shard, whose pages are joined by one reading
_LEAST_RECLAIMED: Final = 1 << 12
_LEAST_IDLE: Final = 1 << 12  # entries; less is not worth sliding a shard's together


@dataclass(frozen=True, slots=True)
class PointStatistics:
    """What one worker's points hold and use."""

    points: int
    missing_removals: int
    sequence: int
    leases: int
    buried: int
    size_bytes: int


@dataclass(frozen=True, slots=True, eq=False)
class PointDeltas:
    """What came and went by the last call of `EvolvingPoints.apply`, in order. Good until the next one.

    Attributes
    ----------
    sign : int8[n]
        1: the point came, -1: it went. One that another takes the place of goes first.
    shard : int32[n]
    row : int32[n]
        Of the shard; what stands in it can be read until the next call, of those that went as well.
    """

    sign: NDArray[np.int8]
    shard: NDArray[np.int32]
    row: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.sign)


class EvolvingPoints:
    """One worker's part of the points of a stream.

    Only the thread of its worker calls it; what `read` has returned may be looked at by any.

    Parameters
    ----------
    points
        What the stream declares.
    workers, worker
        How many share the points, and whose part it is.

    Examples
    --------
    >>> stream = EvolvingPoints(Points(features=1))
    >>> stream.apply_all(PointBatch.of(stream.points, ids=[7, 8], features=[[0.5], [1.5]]))
    >>> lease, version = stream.lease()
    >>> stream.apply_all(PointBatch.of(stream.points, ids=[7], op="-"))
    >>> sum(len(shard) for shard in stream.read()), sum(len(shard) for shard in stream.read(version))
    (1, 2)
    >>> stream.release(lease)
    """

    def __init__(self, points: Points, *, workers: int = 1, worker: int = 0) -> None:
        self.points = points
        self.shards = shards_of_worker(worker, workers)
        self._kind = PointBatch.kind_of(points)
        self._kernel = point_module(points.value_type.name)
        self._sparse = int(points.sparse)
        places = len(self.shards)
        self._row_bytes = points.features * points.value_type.itemsize
        rows = (
            MOST_SHARD_ROWS
            if points.sparse
            else min(MOST_SHARD_ROWS, MOST_SHARD_BYTES // self._row_bytes + 1)
        )
        cells, entries = places * rows, places * MOST_SHARD_ENTRIES
        place_of = np.full(SHARDS, -1, np.int64)
        place_of[self.shards] = np.arange(places)
        self.columns = PointColumns(
            ids=reserve(cells, np.int64),
            label=reserve(cells, np.float64),
            weight=reserve(cells, np.float64),
            born=reserve(cells, np.int64),
            entry_start=reserve(cells if points.sparse else 1, np.int32),
            entry_length=reserve(cells if points.sparse else 1, np.int32),
            features=reserve(entries if points.sparse else cells * points.features, points.value_type),
            indices=reserve(entries if points.sparse else 1, np.int32),
            shard_rows=np.zeros(places, np.int64),
            shard_live=np.zeros(places, np.int64),
            shard_free=np.zeros(places, np.int64),
            shard_buried=np.zeros(places, np.int64),
            entries_end=np.zeros(places, np.int64),
            entries_used=np.zeros(places, np.int64),
            idle_blocks=np.zeros(places * BLOCK_CLASSES, np.int64),
            place_of=place_of,
            table=reserve(_FIRST_TABLE, np.int32),
            **_graves(_FIRST_GRAVES),
            delta_sign=np.zeros(MOST_DELTAS, np.int8),
            delta_shard=np.zeros(MOST_DELTAS, np.int32),
            delta_row=np.zeros(MOST_DELTAS, np.int32),
            counters=np.zeros(POINT_COUNTERS, np.int64),
        )
        counters = self.columns.counters
        counters[names.ROW_STRIDE] = self._row_stride = rows
        counters[names.ENTRY_STRIDE] = MOST_SHARD_ENTRIES
        counters[names.WIDTH] = points.features
        counters[names.OLDEST] = ANY_VERSION
        self._replace()
        self._scratch = _Scratch()
        self._joined = np.zeros(places, np.int64)  # up to which entry of features pages are large
        self._merged_end = np.zeros(places, np.int64)  # entries when blocks were last made larger
        self._leases: dict[int, int] = {}
        self._next_lease = 0

    def __len__(self) -> int:
        """How many points are live."""
        return int(self.columns.counters[names.LIVE])

    @property
    def sequence(self) -> int:
        """The newest version: how many records were applied."""
        return int(self.columns.counters[names.SEQUENCE])

    def apply(self, batch: PointBatch, first: int, stop: int) -> int:
        """Apply records ``first .. stop``, as far as a call of some milliseconds gets.

        An insertion or a replacement of a point that is live takes its place. What changed stands in `deltas` until the next call:
        every loop on the points consumes it before that.

        Parameters
        ----------
        batch : PointBatch
            Of points of this worker (`share_out`); only read.

        Returns
        -------
        The index of the first record that was not applied.

        Raises
        ------
        InvalidArgument
            The batch is of other points than the stream declares, or has a point of another worker; what is before that is in.
        PointsTooLarge
            When a shard outgrows the address space reserved for it; nothing was applied.
        """
        if type(batch) is not self._kind and batch.schema != self._kind.schema:
            raise InvalidArgument(f"the batch has {batch.points}, but the stream declares {self.points}")
        part = batch.slice(first, min(stop, first + self._most_records(batch, first)))
        self._kernel.reclaim(self.addresses, 4 * len(part) + _LEAST_RECLAIMED, self._sparse)
        self._make_room(part)
        # Compiled once: for arrays that could be written.
        columns = [np.require(column, requirements=["C", "W"]) for column in part.columns().values()]
        ids, labels, weights, operations, *features = columns
        apply = self._kernel.apply_sparse if self._sparse else self._kernel.apply_dense
        done = int(apply(self.addresses, ids, labels, weights, operations, *features, 0, len(part)))
        if done < 0:
            identifier = int(ids[-1 - done])
            raise InvalidArgument(
                f"the point {identifier} is of another worker than has shards {[*self.shards]}"
            )
        return first + done

    def apply_all(self, batch: PointBatch) -> None:
        """Apply all records of a batch; for whoever does not ask for deltas."""
        first = 0
        while first < len(batch):
            first = self.apply(batch, first, len(batch))

    def deltas(self) -> PointDeltas:
        """What the last call of `apply` changed."""
        count = int(self.columns.counters[names.DELTAS])
        columns = self.columns
        return PointDeltas(
            _read_only(columns.delta_sign[:count]),
            _read_only(columns.delta_shard[:count]),
            _read_only(columns.delta_row[:count]),
        )

    def standing(self) -> PointDeltas:
        """All live points as if they came now; for whoever begins to listen. The time grows with their number."""
        found = {shard: self.read_shard(shard).rows for shard in self.shards}
        counts = [len(rows) for rows in found.values()]
        return PointDeltas(
            np.ones(sum(counts), np.int8),
            np.repeat(np.array(self.shards, np.int32), counts),
            np.concatenate([*found.values(), np.empty(0, np.int32)]),
        )

    def labels_of(self, deltas: PointDeltas) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The labels (float64[n], NaN where there is none) and weights (float64[n]) of points that came or went."""
        cells = self.columns.place_of[deltas.shard] * self._row_stride + deltas.row
        return self.columns.label[cells], self.columns.weight[cells]

    def rows_of(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The shard of each point of this worker, and its row there; -1 for one that is not live.

        Parameters
        ----------
        ids : int64[n]
            Only read.

        Returns
        -------
        shards, rows : int64[n]
        """
        ids = np.require(ids, np.int64, ["C", "W"])
        shards, rows = shards_of(ids), np.empty(len(ids), np.int64)
        self._kernel.find_points(self.addresses, ids, shards, rows)
        return shards, rows

    def lease(self) -> tuple[int, int]:
        """Promise to read the present version until `release`; returns (lease, version). In constant time."""
        lease = self._next_lease
        self._next_lease += 1
        self._leases[lease] = self.sequence
        self._note_oldest()
        return lease, self.sequence

    def holds(self, lease: int) -> bool:
        """Whether a lease is not released."""
        return lease in self._leases

    def release(self, lease: int) -> None:
        """Give a lease back; what no other lease needs is reclaimed bit by bit as records are applied."""
        del self._leases[lease]
        self._note_oldest()

    def read(self, version: int = ANY_VERSION) -> Iterator[ShardPoints]:
        """The points visible at a version, each shard of this worker in turn, ascending.

        Parameters
        ----------
        version : int
            One that is leased; left out: the newest state, which is good until the next call of `apply`.
        """
        return (self.read_shard(shard, version) for shard in self.shards)

    def read_shard(self, shard: int, version: int = ANY_VERSION) -> ShardPoints:
        """Likewise of one shard. The time grows with its rows, not with their features."""
        place = int(self.columns.place_of[shard])
        used = int(self.columns.shard_rows[place])
        if version != ANY_VERSION:  # whoever leases one reads features
            self._join_pages(place, used)
        scratch = self._scratch.room_for(used)
        count = int(self._kernel.rows_at(self.addresses, place, version, *scratch))
        return self._views(shard, scratch[1][:count].copy())

    def _join_pages(self, place: int, rows: int) -> None:
        """Features that are read again and again are so from larger pages; some of them each time, as that takes as long as copying."""
        columns, width = self.columns, self.points.features
        if self._sparse:
            first, used = place * MOST_SHARD_ENTRIES, int(columns.entries_end[place])
        else:
            first, used = place * self._row_stride * width, rows * width
        begin = max(first, int(self._joined[place]))
        stop = min(first + used, begin + _JOINED_BYTES // columns.features.itemsize)
        self._joined[place] = join_pages(columns.features, begin, stop)

    def view_shard(self, shard: int) -> ShardPoints:
        """The newest state of a shard without its `rows`, in constant time; what is live there `born` tells."""
        return self._views(shard, np.empty(0, np.int32))

    def live_in(self, shard: int) -> int:
        """How many points of a shard are live."""
        return int(self.columns.shard_live[self.columns.place_of[shard]])

    @property
    def features_live(self) -> int:
        """How many features live points have in all: those that are stored."""
        return int(self.columns.entries_used.sum()) if self._sparse else len(self) * self.points.features

    def _views(self, shard: int, rows: NDArray[np.int32]) -> ShardPoints:
        columns = self.columns
        place = int(columns.place_of[shard])
        used = int(columns.shard_rows[place])
        base = place * self._row_stride
        cells = slice(base, base + used)
        found: dict[str, Any] = {
            "points": self.points,
            "shard": shard,
            "rows": _read_only(rows),
            "is_whole": len(rows) == used and bool((rows[1:] > rows[:-1]).all()),
            "id": _read_only(columns.ids[cells]),
            "label": _read_only(columns.label[cells]),
            "weight": _read_only(columns.weight[cells]),
            "born": _read_only(columns.born[cells]),
        }
        if not self._sparse:
            width = self.points.features
            features = columns.features[base * width : (base + used) * width].reshape(used, width)
            return DenseShardPoints(**found, features=_read_only(features))
        first = place * MOST_SHARD_ENTRIES
        entries = slice(first, first + int(columns.entries_end[place]))
        return SparseShardPoints(
            **found,
            starts=_read_only(columns.entry_start[cells]),
            lengths=_read_only(columns.entry_length[cells]),
            indices=_read_only(columns.indices[entries]),
            values=_read_only(columns.features[entries]),
        )

    def statistics(self) -> PointStatistics:
        """Sizes, for people and for metrics."""
        columns, counters = self.columns, self.columns.counters
        rows, entries = int(columns.shard_rows.sum()), int(columns.entries_end.sum())
        value_bytes = self.points.value_type.itemsize
        features = rows * 8 + entries * (4 + value_bytes) if self._sparse else rows * self._row_bytes
        return PointStatistics(
            points=len(self),
            missing_removals=int(counters[names.MISSING]),
            sequence=self.sequence,
            leases=len(self._leases),
            buried=int(counters[names.BURIED_NEXT] - counters[names.BURIED_FIRST]),
            size_bytes=rows * 32 + features + columns.table.nbytes + columns.grave_died.size * 20,
        )

    def _most_records(self, batch: PointBatch, first: int) -> int:
        """How many records a call may take, so that it does not last long."""
        if isinstance(batch, SparsePointBatch):
            most = batch.starts[first] + _CALL_BYTES // self.points.value_type.itemsize
            found = int(np.searchsorted(batch.starts, most, side="right")) - 1 - first
        else:
            found = _CALL_BYTES // self._row_bytes
        return max(1, min(found, MOST_DELTAS))

    def _make_room(self, part: PointBatch) -> None:
        """Keep room for the rows, entries, graves and slots of the table that records may need."""
        columns, counters, records = self.columns, self.columns.counters, len(part)
        rows = int(columns.shard_rows.max()) + records
        entries = 0
        if isinstance(part, SparsePointBatch):
            self._tidy()
            entries = int(columns.entries_end.max()) + len(part.indices)
        if rows >= self._row_stride or entries >= MOST_SHARD_ENTRIES:
            raise PointsTooLarge(
                f"{rows} points or {entries} features of sparse points are more than a shard can hold "
                f"({self._row_stride - 1} and {MOST_SHARD_ENTRIES - 1})"
            )
        wanted, size = len(self) + records, columns.table.size
        if 3 * wanted > 2 * size:
            while 3 * wanted > 2 * size:
                size *= 2
            table = reserve(size, np.int32)
            self._kernel.fill_table(self.addresses, table, len(self.shards))
            self._replace(table=table)
        buried = int(counters[names.BURIED_NEXT] - counters[names.BURIED_FIRST])
        ring = columns.grave_died.size
        if not buried and ring > 64 * max(_FIRST_GRAVES, records):
            ring = _FIRST_GRAVES
        while buried + records > ring:
            ring *= 2
        if ring != columns.grave_died.size:
            self._replace_graves(ring)

    def _tidy(self) -> None:
        """Where many entries of a shard are idle: slide the others together if nobody reads them, else make blocks larger."""
        columns, counters = self.columns, self.columns.counters
        idle, end = columns.entries_end - columns.entries_used, columns.entries_end
        is_idle = (idle > _LEAST_IDLE) & (idle > end // 12)
        if self._leases or counters[names.BURIED_NEXT] != counters[names.BURIED_FIRST]:
            # Not at each call: only where blocks are too small, so that entries were put behind all others.
            places, kernel = is_idle & (end > self._merged_end + end // 32), self._kernel.merge_blocks
        else:
            places, kernel = is_idle, self._kernel.slide_entries
        for place in np.flatnonzero(places).tolist():
            old_end = int(end[place])
            scratch = self._scratch.room_for(int(columns.shard_rows[place]))
            new_end = int(kernel(self.addresses, place, *scratch))
            self._merged_end[place] = new_end
            first = place * MOST_SHARD_ENTRIES
            for column in (columns.indices, columns.features):
                release_pages(column, first + new_end, first + old_end)

    def _note_oldest(self) -> None:
        self.columns.counters[names.OLDEST] = min(self._leases.values(), default=ANY_VERSION)

    def _replace_graves(self, size: int) -> None:
        """Move the graves in use to a ring of another size; their numbers stay."""
        old = self.columns
        numbers = np.arange(old.counters[names.BURIED_FIRST], old.counters[names.BURIED_NEXT])
        graves = _graves(size)
        for name, column in graves.items():
            column[numbers & (size - 1)] = getattr(old, name)[numbers & (old.grave_died.size - 1)]
        self._replace(**graves)

    def _replace(self, **changed: NDArray[Any]) -> None:
        self.columns = self.columns._replace(**changed)
        self.columns.counters[names.TABLE_MASK] = self.columns.table.size - 1
        self.columns.counters[names.GRAVE_MASK] = self.columns.grave_died.size - 1
        self.addresses = addresses_of(self.columns)


class _Scratch:
    """Arrays that finding the rows of a shard uses meanwhile: keys, rows, others of each, and where digits begin."""

    def __init__(self) -> None:
        self._rows = 0
        self._starts = np.empty(RADIX + 1, np.int64)
        self._arrays = self._of(0)

    def room_for(self, rows: int) -> tuple[NDArray[Any], ...]:
        """Return the arrays, with room for so many rows."""
        if rows > self._rows:
            self._rows = rows + rows // 4
            self._arrays = self._of(self._rows)
        return self._arrays

    def _of(self, rows: int) -> tuple[NDArray[Any], ...]:
        keys, other_keys = np.empty(rows, np.int64), np.empty(rows, np.int64)
        return keys, np.empty(rows, np.int32), other_keys, np.empty(rows, np.int32), self._starts


def _graves(ring: int) -> dict[str, NDArray[Any]]:
    return {
        "grave_cell": np.zeros(ring, np.int32),
        "grave_died": np.zeros(ring, np.int64),
        "grave_next": np.zeros(ring, np.int64),
    }


def _read_only(column: NDArray[Any]) -> NDArray[Any]:
    """A view that cannot be written through."""
    view = column.view()
    view.flags.writeable = False
    return view
