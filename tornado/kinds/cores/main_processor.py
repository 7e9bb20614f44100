"""The main loop on one worker: admits batches, keeps the core numbers up to date, and lets branches be forked.

Estimates fall while records come. They rise when the stream has nothing more to do for a moment, so that one wave serves all records
since the last; what is marked by then is marked in a branch as well. So records never wait for this loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import ModuleType
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ...errors import StoreCorrupt
from ...graph import PartitionMap
from ...loops.loop_operator import NEVER
from ...loops.stream_part import StreamPart
from ..compiled_main import CompiledMain
from . import loop_columns as names
from .branch_processor import CoreBranch
from .bundle import CoreBundle
from .loop_columns import GREATEST_CORE, REST
from .loop_state import CoreState
from .processor import FUEL, CoreProcessor


class CoreMain(CompiledMain[CoreBranch, CoreBundle, CoreState], CoreProcessor):
    """See the module, `ReadingPart` and `StorableMain`.

    Parameters
    ----------
    most
        No number is above.
    hears_back
        Which reverse lists of the graph it hears along, counted from 1; 0: along none.
    on_applied
        Called with the number of records that were applied.
    commits
        False: it keeps the graph, and who is marked, for the branch that reads it, and computes nothing itself.
    stream
        What it reads, where other loops read it already; None: a new one.
    """

    def __init__(
        self,
        *,
        kernel: ModuleType,
        most: int,
        delay_bound: int | None,
        hears_back: int,
        commits: bool,
        worker: int,
        workers: int,
        on_applied: Callable[[int], None],
        stream: StreamPart | None,
    ) -> None:
        self.stream = StreamPart(PartitionMap.even(workers), worker, on_applied) if stream is None else stream
        super().__init__(
            kernel=kernel,
            graph=self.stream.graph,
            delay_bound=delay_bound,
            worker=worker,
            workers=workers,
            rests=True,
        )
        self.hears_back = hears_back
        self.state = CoreState(worker=worker, workers=workers, hears_back=hears_back > 0, most=most)
        self._commits = commits
        self._begin_reading(lambda number: CoreBundle(worker, marker=number))

    # Steps

    def _has_pending(self) -> bool:
        """See `CompiledPart`."""
        return self.is_scanning() or (self._commits and (self.state.pending > 0 or self._row is not None))

    def _step(self) -> None:
        self.operator.pull(self._forks.take)
        self._receive()
        if self._following_row is not None:
            self._take_in_rows()
        more = self.stream.obey(self)
        if self._commits and self.has_work() and self.may_begin_turn():
            self._turn(FUEL // 4 if self.branches else FUEL)
        self._flush()
        if self._commits and not self._arrived and not self.has_work() and not self._awaits_records(more):
            self._report_when_done()
        is_waiting = self._commits and self.has_work()
        least = self.next_iteration if is_waiting else NEVER
        self.operator.move_token(min(least, self._held_least()), stays=True)
        if more or self._following_row is not None or (is_waiting and self.may_begin_turn()):
            self.operator.activate()

    def _awaits_records(self, more: bool) -> bool:  # noqa: FBT001  private, and named where it is called
        """Whether nobody is to rise yet: what comes next would have others rise again."""
        return self._instruction.phase in (REST, names.LOWER) and (more or self._following_row is not None)

    # The stream

    def hear(self) -> None:
        """Take in the rows and edges that the last records changed."""
        self.state.expect(self.graph.rows)
        self.kernel.hear_edges(*self._loop)

    def _take_in_rows(self) -> None:
        """Take in some of the graph that was there before this loop: who of it is heard from other workers."""
        self.finish_cursor()
        following = int(self.kernel.hear_rows(*self._loop, self._following_row, FUEL))
        self._following_row = None if following == self.graph.rows else following

    # Snapshots

    def drain(self) -> bool:
        """Finish the scan under way, so that a snapshot need not hold it; return whether there is none."""
        if self._following_row is not None:
            return False
        return bool(self.kernel.finish_scans(*self._loop, FUEL))

    def _record_state(self, branch: CoreBranch) -> None:
        """See `CompiledMain`."""
        branch.record(self.state, self.operator.timestamp, self.next_iteration, needs_all=self.needs_all)

    def fork(
        self, *, number: int, arguments: tuple[object, ...], fresh: bool, max_iterations: int | None
    ) -> CoreBranch:
        """Make this worker's part of a new branch."""
        (most,) = arguments
        return CoreBranch(
            number=number,
            kernel=self.kernel,
            graph=self.graph,
            take_state=partial(self._take_state, cast("int", most)),
            delay_bound=self.delay_bound,
            worker=self.worker,
            workers=self.workers,
            fresh=fresh,
            max_iterations=max_iterations,
        )

    def _take_state(self, most: int) -> CoreState:
        """Columns for a branch over the graph as it is now: used ones where they are large enough."""
        rows = self.graph.rows
        spare = self._take_spare(lambda state: state.fits(rows))
        if spare is not None:
            spare.reset(most=most)
            return spare
        state = CoreState(
            worker=self.worker,
            workers=self.workers,
            hears_back=self.hears_back > 0,
            most=most,
            rows=rows + rows // 2 + 2,  # so that the columns fit the next branches too while the graph grows
        )
        state.expect(rows)
        return state

    # Beginning with what is stored

    def place(self, ids: NDArray[np.int64], columns: Mapping[str, NDArray[Any]] | None) -> None:
        """See `StorableMain`: values are taken over, and nothing is left to compute for them.

        The edges and the ghosts that they were computed from come behind them, and make nothing dirty or marked.

        Raises
        ------
        StoreCorrupt
            When a vertex is there twice, or values are not of the type that the loop has.
        """
        self._make_known(ids)
        if columns is None:
            return
        values = columns["values"]
        if values.dtype != np.int64 or values.shape != (len(ids),):
            raise StoreCorrupt(
                f"the values of a stored snapshot are {values.dtype} of shape {values.shape}, those of its program are int64 of "
                f"shape {(len(ids),)}"
            )
        if len(values) and not 0 <= values.min() <= values.max() <= GREATEST_CORE:
            raise StoreCorrupt(f"a stored snapshot has core numbers from {values.min()} to {values.max()}")
        self.state.place(self.graph.rows_of(ids), values)
        self.state.counters[names.RESTORING] = 1

    def place_behind_edges(self, ids: NDArray[np.int64], columns: Mapping[str, NDArray[Any]]) -> None:
        """See `StorableMain`: all is there, and what comes from now on is news."""
        del ids, columns
        self.state.counters[names.RESTORING] = 0
