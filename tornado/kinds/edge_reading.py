"""What branch parts of compiled kinds have in common: the edges at their version, read for whoever stores or checks them."""

from __future__ import annotations

from ..graph import EdgeReader, EvolvingGraph
from .snapshot_pages import SnapshotPages


class ReadsEdges:
    """Of a branch part; it has a version as soon as it has recorded its state.

    Attributes
    ----------
    reader
        Of its edges, while there is one.
    """

    graph: EvolvingGraph
    version: int
    reader: EdgeReader | None = None
    _pages: SnapshotPages | None = None

    def read_edges(self) -> bool:
        """Read a stretch of the edges at this branch's version; return whether that was all."""
        if self.reader is None:
            self.reader = EdgeReader(self.graph, self.version)
        return self.reader.step()

    def drop_edges(self) -> None:
        """Let go of the edges that were read."""
        self._pages = self.reader = None
