"""Records as they travel to a worker in another process: many edges as narrow as a log has them, as each byte is encrypted and copied."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ..records.edge_batch import EdgeBatch
from ..records.narrow_edges import NarrowEdges, decode_narrow, encode_narrow
from ..records.point_batch import PointBatch
from ..records.point_schema import Points
from ..records.record_batch import RecordBatch

_MANY: Final = 1 << 12  # of fewer the bytes cost less than to write them narrow


def sent_records(batch: RecordBatch) -> tuple[Any, ...]:
    """What can travel of a batch without times, for `received_records`."""
    if isinstance(batch, PointBatch):
        points = batch.points
        # A worker does not need the names of features.
        declared = points.features, points.sparse, points.value_type.name
        return ("points", declared, *batch.columns().values())
    if isinstance(batch, EdgeBatch) and len(batch) >= _MANY:
        written = encode_narrow(batch)
        return ("narrow", written.layout, np.frombuffer(written.page, np.uint8))
    return ("edges", *batch.columns().values())


def received_records(fields: tuple[Any, ...]) -> RecordBatch:
    """The batch of which this was sent."""
    match fields:
        case ("edges", *columns):
            return EdgeBatch(*columns)
        case ("narrow", layout, page):
            return decode_narrow(NarrowEdges(layout, page.data))
        case ("points", declared, *columns):
            kind = PointBatch.kind_of(Points(*declared))
            return kind.of_columns(dict(zip(kind.schema.names, columns, strict=True)))
    raise ValueError(f"records that were sent as {fields[0]!r} are of no kind that is known here")
