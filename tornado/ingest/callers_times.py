"""The times that a caller gives with a batch of edges, which is refused as a whole where one is none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from ..errors import InvalidArgument
from ..records.edge_batch import EdgeBatch
from ..records.timed_edges import TimedEdges
from .times import BEYOND, MALFORMED, times_of


def timed_edges(batch: EdgeBatch, times: Any) -> EdgeBatch:
    """Give edges their times.

    Parameters
    ----------
    times : column of seconds, text, datetime or Arrow's timestamps, or one of them for all
        See `times.py`; None: they have none.

    Raises
    ------
    InvalidArgument
        At a bad entry, and where there are not as many as edges.

    Examples
    --------
    >>> timed_edges(EdgeBatch.of([1, 2], [2, 3]), ["1970-01-01", "1970-01-02"]).time.tolist()
    [0, 86400000000]
    """
    if times is None:
        return batch
    if isinstance(times, str) or not hasattr(times, "__len__"):
        times = [times] * len(batch)
    try:
        column = times if isinstance(times, pa.ChunkedArray) else pa.chunked_array([pa.array(times)])
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise InvalidArgument(
            f"times is no column of times: {error}",
            hint="Give seconds since 1970, ISO 8601 text or datetimes; all of one kind.",
        ) from error
    if len(column) != len(batch):
        raise InvalidArgument(f"times has {len(column)} entries for {len(batch)} edges")
    found = times_of(column)
    bad = found.malformed | found.beyond
    if bad.any():
        entry = int(np.argmax(bad))
        reason = MALFORMED if found.malformed[entry] else BEYOND
        raise InvalidArgument(
            f"times[{entry}] is {column[entry].as_py()!r}: {reason}",
            hint="Mend that entry and repeat the call: none of it was taken.",
        )
    return TimedEdges.at(batch, found.microseconds)
