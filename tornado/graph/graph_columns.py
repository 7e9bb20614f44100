"""The columns of one worker's part of an evolving graph, and the names of its counters.

Rows are dense local indices: a row stands for a vertex of this worker, or for a *ghost*, a producer that another worker owns
and whose edges end here. Edges live with their consumer, so both ends of an edge have a row on the same worker.

Reverse lists are the lists of another such set of columns: in them each edge of which this worker owns the source lives a second
time, the other way round, for loops whose vertices hear along both directions.
"""

from typing import NamedTuple

import numpy as np

from ..columns import (
    Float64s,
    Int8s,
    Int32s,
    Int64s,
    RecordInt32s,
    RecordInt64s,
    RecordUint8s,
    Uint8s,
)

ROWS = 0  # rows in use
SEQUENCE = 1  # records applied so far; a version of the graph is a value of this counter
EDGES = 2  # live edges
OUT_END = 3  # first entry of the edge_* columns that was never used
IN_END = 4
OUT_IDLE = 5  # entries in idle blocks
IN_IDLE = 6
BURIED_NEXT = 7  # number of the next grave
BURIED_FIRST = 8  # number of the oldest grave that a lease may need
LEASED = 9  # 1 while somebody reads an older version
MISSING = 10  # removals that found no edge
COMPACTING = 13  # 1 while lists are being slid together: blocks that get free are found by that
TABLE_MASK = 11  # entries of the id table - 1
GRAVE_MASK = 12  # entries of the ring of graves - 1
DELTAS = 14  # edges that came and went by the last call that applied records
KNOWN_ROWS = 15  # vertices of this worker that were seen
PART = 16  # the worker whose part of the graph this is
REVERSED = 17  # 1: the graph has reverse lists
WEIGHTS_IN = 18  # 1: in-lists have the weights of their edges, too
WEIGHED_ROWS = 19  # of which lists they are there
BLOCK_BITS = 20  # ids that differ in these lowest bits only are of one worker; 0: of each id the hash counts
CUT = 21  # edges whose producer belongs to another worker
GROWING = 22  # 1: much is coming, so lists get room for more than the next edge at once
GRAPH_COUNTERS = 23

SIZE_CLASSES = 80
BUCKETS = 1 << 12  # of a partition map
BUCKET_SHIFT = 64 - 12  # the highest bits of the hash of an id are its bucket
MOST_DELTAS = 1 << 14
AHEAD = 64  # records whose rows are looked up before the first of them is applied, so that memory is waited for once
REVERSE = 4  # the operation of a record that only the reverse lists lack
ANY_VERSION = np.iinfo(np.int64).max  # reads the newest state: every edge in the lists, no graves


class GraphColumns(NamedTuple):
    """Arrays of one worker's graph; see `graph_kernel` for what each operation does with them.

    Out-lists (by producer) hold the edge itself; in-lists (by consumer) hold where to find it. `edge_back` and `in_position`
    point at each other, as positions within the list, so that an edge is taken out of both in constant time once found.
    A removed edge that a lease may still read is *buried*: it moves to a ring of graves, chained newest first from both rows.
    """

    # Fields of one record a row, so that a record of an edge touches a cache line for each end.
    ids: RecordInt64s  # int64[rows]
    owner: RecordUint8s  # uint8[rows], the worker that the vertex belongs to
    known_as: RecordInt32s  # int32[rows], which of the vertices that records have named, from 1; 0: none, or a ghost
    table: Int32s  # int32[power of two], open addressing: row + 1, 0 is free
    out_start: RecordInt64s  # int64[rows], into the edge_* columns
    out_length: RecordInt32s  # int32[rows]
    out_capacity: RecordInt32s  # int32[rows]
    in_start: RecordInt64s  # int64[rows], into the in_* columns
    in_length: RecordInt32s  # int32[rows]
    in_capacity: RecordInt32s  # int32[rows]
    edge_consumer: Int32s  # int32[slots], row
    edge_weight: Float64s  # float64[slots]
    edge_born: (
        Int64s  # int64[slots], sequence number of the record that inserted it; next idle block in idle blocks
    )
    edge_back: Int32s  # int32[slots], position in the consumer's in-list
    in_producer: Int32s  # int32[slots], row
    in_position: Int32s  # int32[slots], position in the producer's out-list
    in_weight: Float64s  # float64[slots] while somebody pulls weighted edges, else nothing
    out_idle: Int64s  # int64[SIZE_CLASSES], first idle block of each size class + 1
    in_idle: Int64s  # int64[SIZE_CLASSES]
    buried_out: RecordInt64s  # int64[rows], number of the producer's newest grave + 1, 0 is none
    buried_in: RecordInt64s  # int64[rows], likewise of the consumer
    grave_producer: Int32s  # int32[ring, a power of two]
    grave_consumer: Int32s  # int32[ring]
    grave_weight: Float64s  # float64[ring]
    grave_born: Int64s  # int64[ring]
    grave_died: Int64s  # int64[ring]
    grave_next_out: Int64s  # int64[ring], number of the producer's next older grave + 1
    grave_next_in: Int64s  # int64[ring]
    ahead_producer: Int32s  # int32[AHEAD], rows of the records that are applied next
    ahead_consumer: Int32s  # int32[AHEAD]
    delta_sign: Int8s  # int8[MOST_DELTAS], 1: the edge came, -1: it went
    delta_producer: Int32s  # int32[MOST_DELTAS], row
    delta_consumer: Int32s  # int32[MOST_DELTAS], row
    delta_weight: Float64s  # float64[MOST_DELTAS]
    delta_born: Int64s  # int64[MOST_DELTAS]
    buckets: Uint8s  # uint8[BUCKETS], the worker of each bucket of ids
    reverse: (
        Int64s  # int64[columns], where the columns of the reverse lists begin, which count rows as this does
    )
    counters: Int64s  # int64[GRAPH_COUNTERS]
