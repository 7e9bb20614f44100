"""What branch parts of compiled kinds have in common: their version by page, with the edges, for whoever stores or checks them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..graph import EdgesByPage, EvolvingGraph
from ..loops.point_pages import PointPages
from .snapshot_pages import SnapshotPages

ColumnsOf = Callable[[NDArray[np.int32]], dict[str, NDArray[Any]]]


class ReadsEdges:
    """Of a branch part; it has a version as soon as it has recorded its state.

    Attributes
    ----------
    lease
        Of its version, until the main loop forgets it.
    vertices
        Of this worker, that had been seen at the cut.
    edges
        Those at its version, as far as they are read and while they are wanted.
    """

    graph: EvolvingGraph
    lease: int | None = None
    version: int = -1
    vertices: int = 0
    edges: EdgesByPage | None = None
    _pages: SnapshotPages | None = None
    _lent: PointPages | None = None

    def read_edges(self) -> bool:
        """Read a stretch of the edges at this branch's version; return whether that was all."""
        if self.edges is None:
            self.edges = EdgesByPage(self.graph, self.version)
        return self.edges.step()

    def pages(self) -> SnapshotPages:
        """Return vertices and, where they were read, edges by page; the branch must be over."""
        if self._pages is None:
            self._pages = SnapshotPages(
                self.graph, columns_of=self._stored(), vertices=self.vertices, edges=self.edges
            )
        return self._pages

    def _stored(self) -> ColumnsOf:
        """What is stored of rows that there were at the version."""
        raise NotImplementedError

    def drop_edges(self) -> None:
        """Let go of the edges that were read, and of the points."""
        self._pages = self.edges = self._lent = None

    def lend_points(self, pages: PointPages) -> None:
        """See `StorableBranch`."""
        self._lent = pages

    def point_pages(self) -> PointPages:
        """See `StorableView`."""
        assert self._lent is not None
        return self._lent

    def parameters(self) -> Mapping[str, NDArray[Any]]:
        """See `StorableView`: what is stored of a loop is by vertex."""
        return {}
