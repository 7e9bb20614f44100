"""The columns of edges that come in bulk and wait for their out-lists; see `bulk_kernel`."""

from typing import NamedTuple

from ..columns import Float64s, Int32s, Int64s

CHUNK = 512
"""Edges of a chunk: what is written of as many chunks as there are stretches stays in the cache."""
SHIFT = 0  # a stretch has so many rows: 1 << it
SEQUENCE_BEFORE = 1  # of the graph, before the first of them
CHUNKS = 2  # in use, from 1: 0 stands for none
BULK_COUNTERS = 3


class BulkColumns(NamedTuple):
    """Edges in chunks, those of each stretch of producers' rows chained in their order."""

    bulk_ends: Int64s  # int64[edges], the producer's row, and in the upper half the consumer's
    bulk_weight: Float64s  # float64[edges]
    bulk_places: Int64s  # int64[edges], position in the consumer's in-list, and in the upper half the birth after SEQUENCE_BEFORE
    next_chunk: Int32s  # int32[chunks], 0: it is the last one
    first_chunk: Int32s  # int32[stretches], 0: it has none
    following_edge: (
        Int64s  # int64[stretches], where its next edge goes; at the beginning of a chunk: to a new one
    )
    arriving: Int32s  # int32[rows], edges that come at once and are not in its in-list yet
    bulk_counters: Int64s  # int64[BULK_COUNTERS]
