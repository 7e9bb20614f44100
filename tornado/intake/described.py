"""How a person reads a record that was refused."""

from __future__ import annotations

import numpy as np

from ..ingest.interner import Draft
from ..records.edge_batch import EdgeBatch
from ..records.operations import SYMBOLS
from ..records.record_batch import RecordBatch


def describe(batch: RecordBatch, index: int, draft: Draft | None = None) -> str:
    """Return one record as a person reads it.

    Examples
    --------
    >>> describe(EdgeBatch.of([1], [2], [-3.0]), 0)
    '+ 1 -> 2 (weight -3.0)'
    """
    if not isinstance(batch, EdgeBatch):
        return f"{SYMBOLS[batch.op[index].item()]} {batch.described(index)}"
    weight = batch.weight[index].item()
    ends = np.array([batch.src[index], batch.dst[index]])
    source, target = ends.tolist() if draft is None else draft.names(ends)
    return f"{SYMBOLS[batch.op[index].item()]} {source} -> {target} (weight {weight!r})"
