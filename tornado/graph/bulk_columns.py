"""The columns of edges that come in bulk and wait for their lists; see `bulk_kernel`."""

from typing import NamedTuple

from ..columns import Float64s, Int32s, Int64s

CHUNK = 512
"""Edges of a chunk: what is written of as many chunks as there are stretches stays in the cache."""
SHIFT = 0  # a stretch has so many rows: 1 << it
SEQUENCE_BEFORE = 1  # of the graph, before the first of them
BULK_COUNTERS = 2


class BulkColumns(NamedTuple):
    """Each edge twice, by stretches of consumers' rows and of producers': in chunks, those of a stretch chained in their order.

    Chunks count from 1: 0 stands for none.
    """

    to_ends: Int64s  # int64[edges], the consumer's row, and in the upper half the producer's
    to_position: Int32s  # int32[edges], position in the producer's out-list
    to_weight: Float64s  # float64[edges], where in-lists have weights
    to_next: Int32s  # int32[chunks], 0: it is the last one; of none, how many there are
    to_first: Int32s  # int32[stretches]
    to_following: (
        Int64s  # int64[stretches], where its next edge goes; at the beginning of a chunk: to a new one
    )
    from_ends: Int64s  # int64[edges], the producer's row, and in the upper half the consumer's
    from_weight: Float64s  # float64[edges]
    from_places: Int64s  # int64[edges], position in the consumer's in-list, and in the upper half the birth after SEQUENCE_BEFORE
    from_next: Int32s  # as of those before
    from_first: Int32s
    from_following: Int64s
    bulk_counters: Int64s  # int64[BULK_COUNTERS]
