"""The graph that the records of some files leave, put together without any loop."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..checking import Edges
from ..ingest.interner import Interner
from ..ingest.layout import TextFormat
from ..ingest.source import open_sources
from ..records.edge_batch import EdgeBatch
from ..records.operations import INSERT, MENTION
from ..testing.model import EdgeHistory


@dataclass(frozen=True, slots=True, eq=False)
class GraphOfFiles:
    """See the module.

    Attributes
    ----------
    vertices
        int64[n]: what records named, ascending; a vertex stays when its edges go.
    pages
        Its edges.
    rejected
        How many records were rejected, as a run rejects them.
    """

    vertices: NDArray[np.int64]
    pages: Sequence[Edges]
    rejected: int


def read_graph(
    edges: Sequence[str],
    vertices: Sequence[str],
    text_format: TextFormat,
    *,
    interner: Interner | None,
    refused: Callable[[EdgeBatch], tuple[NDArray[np.bool_], str]],
) -> GraphOfFiles:
    """Read files of vertices and then of edges.

    Parameters
    ----------
    refused : callable
        Which records a program cannot take, and why; they are rejected.

    Raises
    ------
    InvalidArgument
        A file cannot be read.
    SourceBroken
        One fails in the middle.
    """
    batches, rejected = [], 0
    for source in open_sources(edges, vertices=vertices, text_format=text_format, interner=interner):
        for parsed in source.batches():
            taken = parsed.without(*refused(parsed.batch)) if len(parsed.batch) else parsed
            rejected += len(taken.rejected)
            batches.append(taken.settled())
    named = [np.unique(np.concatenate([batch.src, batch.dst])) for batch in batches]
    seen = np.unique(np.concatenate(named)) if named else np.empty(0, np.int64)
    return GraphOfFiles(seen, list(_left(batches)), rejected)


def _left(batches: Sequence[EdgeBatch]) -> Iterable[Edges]:
    """The edges that are left of records."""
    edges = [batch.take(batch.op != MENTION) for batch in batches]
    if any((batch.op != INSERT).any() for batch in edges):
        records = EdgeBatch.concat(edges)
        left = EdgeHistory.of(records).at(len(records)).records()
        yield Edges(left.src, left.dst, left.weight)
        return
    for batch in edges:
        yield Edges(batch.src, batch.dst, batch.weight)
