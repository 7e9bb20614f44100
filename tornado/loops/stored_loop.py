"""A stored snapshot as a loop: its graph is loaded into the workers, a branch with other parameters runs on it, and it is gone.

A branch with the parameters of the snapshot has nothing to iterate, since the snapshot holds the fixed point; one with other
parameters needs the graph. So a hidden main loop takes in the stored edges, computes nothing itself, and gives its memory back
as soon as its only branch is released or cancelled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..records.edge_batch import EdgeBatch
from .branch import Branch
from .commands import EndLoop, Place
from .edge_shares import mentions_of
from .main_loop import MainLoop
from .snapshot_format import FixedPoint
from .stored_snapshot import StoredSnapshot


class StoredLoop(MainLoop):
    """See the module.

    Parameters
    ----------
    on_end
        Called with the number of the loop when its branch needs it no more; from any thread, quick.
    arguments
        As of `MainLoop`.
    """

    commits = False

    def __init__(self, *, on_end: Callable[[int], None], **arguments: Any) -> None:
        self._on_end = on_end
        super().__init__(**arguments)

    def fork_stored(self, stored: StoredSnapshot, max_iterations: int | None, *, reads_ways: bool) -> Branch:
        """Load a snapshot and fork the one branch that this loop is for. Blocks until the graph is handed to the workers."""
        try:
            point = self._begin_with_arrays(stored)
            for ids in stored.id_pages():
                self._name(ids)
            for edges in stored.edge_pages():
                self.admit(EdgeBatch.insertions(edges.sources, edges.targets, edges.weights), "", 0)
            for points in stored.point_pages():
                self.admit(points, "", 0)
            return self._fork(
                self.program,
                snapshot=stored.snapshot_of(self.name),
                fresh=point is None,
                max_iterations=max_iterations,
                reads_ways=reads_ways,
            )
        except BaseException:
            self.end()
            raise

    def _begin_with_arrays(self, stored: StoredSnapshot) -> FixedPoint | None:
        """Have a program that learns begin with its parameters, where they are stored, and with nothing of its own else."""
        if self.program.declared_points is None:
            return None
        point = stored.fixed_point(self.kind.identity(self.program), self.name)
        arrays = {} if point is None else stored.arrays(point)

        def on_placed(worker: int, error: Exception | None) -> None:
            del worker
            if error is not None:
                self.fail(error)

        nobody = np.empty(0, np.int64)
        with self.stream.order:
            self._parts.post(Place(nobody, {self.number: arrays}, is_behind_edges=False, on_placed=on_placed))
        return point

    def end(self) -> None:
        """Remove it from the workers, when its branch is over there."""
        self._parts.post(EndLoop(self.number))
        self._on_end(self.number)

    def _name(self, ids: np.ndarray) -> None:
        """Make vertices known, those without an edge too."""
        with self.stream.order:
            self.stream.workers.post_shares(mentions_of(ids, self.partition), 0)

    def _cancel(self, branch: Branch) -> None:
        super()._cancel(branch)
        self.end()

    def _release(self, branch: Branch) -> None:
        del branch  # it lets go of its columns itself
        self.end()
