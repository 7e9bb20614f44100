"""The main loop of an accumulative program on one worker, which can begin where a stored snapshot ended, or a branch has.

Nothing is heard while the edges come. Then each part adds up out-weights and says to the others that it has; when all have, each vertex
announces what it was worth, by the out-weight that it has now, and every part says that as well. What the parts have been told by each
other by then is the fixed point: it is heard over all lists, in their order, and they go on from there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ...errors import StoreCorrupt
from . import loop_columns as names
from .bundle import Settled, SumBundle
from .loop_state import SumState
from .main_processor import AccumulativeMain
from .processor import FUEL


class RestorableMain(AccumulativeMain):
    """A main loop on one worker that can begin with what was stored. Called on the worker's thread, before anything is admitted."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._placing: NDArray[np.float64] | None = None  # by row
        self._following_placed = 0
        self._following_heard = 0
        self._placings = 0  # that have begun here
        self._said = np.zeros(
            self.workers, np.int64
        )  # by each part, two of each placing: weighed all, placed all

    def place(self, ids: NDArray[np.int64], columns: Mapping[str, NDArray[Any]] | None) -> None:
        """See `StorableMain`: with values to come, nobody announces until they are there.

        Raises
        ------
        StoreCorrupt
            When a vertex is there twice, or values are not of the type that the loop has.
        """
        self._make_known(ids)
        if columns is None:
            return
        _require_values(columns)
        self.holds = self.awaits_edges = True
        self.state.counters[names.FOLLOWING_ROW] = 0
        self.state.counters[names.PLACING] = 1

    def place_behind_edges(self, ids: NDArray[np.int64], columns: Mapping[str, NDArray[Any]]) -> None:
        """See `StorableMain`: have vertices announce what they were worth, in the next steps.

        Raises
        ------
        StoreCorrupt
            When a vertex is not here.
        """
        values, rows = _require_values(columns), self.graph.rows_of(ids)
        missing = np.flatnonzero(rows < 0)
        if missing.size:
            raise StoreCorrupt(f"vertex {ids[missing[0]]} of a stored snapshot is not in the graph")
        placed = np.zeros(self.state.rows_seen)
        placed[rows] = values
        self._begin_placing(placed)

    def adopt(self, found: object | None) -> None:
        """See `AdoptingMain`: as from a snapshot, but for the rows that have come since."""
        values = np.empty(0)
        if found is not None:
            state = cast("SumState", found)
            rows = np.arange(min(state.rows_seen, self.state.rows_seen))
            values = np.zeros(len(rows))
            self.kernel.read_values(state.addresses, self.arguments, rows, values)
            values /= state.totals[names.BASE]
        self._begin_placing(values)

    def _begin_placing(self, values: NDArray[np.float64]) -> None:
        self.finish_cursor()
        if self._is_stale:  # what is announced changes, so there is nothing to be measured yet
            self._row = None
            if not self._pulls:
                self._begin_series()
        self.holds = True
        self._placing, self._following_placed = values, 0
        self._placings += 1
        self.operator.activate()

    def _go_on_placing(self) -> None:
        if not self._placings:
            return
        placed = 2 * self._placings
        if self.awaits_edges and not self._have_weighed(placed - 1):
            return
        if self._placing is not None:
            self._following_placed = int(
                self.kernel.place_values(*self._loop, self._placing, self._following_placed, FUEL)
            )
            self._flush()
            if self._following_placed < len(self._placing) or self.is_telling:
                self.operator.activate()
                return
            self._placing = None
            self._say(placed)
        if self._said.min() >= placed and self._have_heard():
            if not self._is_stale:
                self._end_announcing()
                self._tell_mass()  # before it is at rest: whoever waits for that reads values
            self.holds = False
            self.operator.activate()

    def _have_weighed(self, number: int) -> bool:
        """Go on with adding up out-weights; return whether all parts have them, and know it of each other."""
        if self._has_rows_to_take_in:
            finished = self.kernel.weigh_rows(*self._loop, FUEL)
            self._flush()
            if not finished:
                self.operator.activate()
                return False
        if self._said[self.worker] < number:
            self._say(number)
        self.awaits_edges = bool(self._said.min() < number)
        return not self.awaits_edges

    def _have_heard(self) -> bool:
        """Go on with hearing what was placed; return whether all of it is heard. What parts announce behind it waits meanwhile."""
        counters = self.state.counters
        if counters[names.PLACING]:
            following = self._following_heard
            self._following_heard = int(self.kernel.hear_placed(*self._loop[:2], following, FUEL))
            if self._following_heard < self.state.rows_seen:
                self.operator.activate()
                return False
            counters[names.PLACING] = self._following_heard = 0
        return True

    @property
    def _may_hear(self) -> bool:
        return super()._may_hear and not self._following_heard

    def _say(self, number: int) -> None:
        self._said[self.worker] = number
        for target in range(self.workers):
            if target != self.worker:
                self._send(target, SumBundle(self.worker, notices=(Settled(number),), mass=self._mass()))

    def _take_notices(self, bundle: SumBundle) -> None:
        super()._take_notices(bundle)
        for notice in bundle.notices:
            if isinstance(notice, Settled):
                self._said[bundle.sender] = notice.attempt
                self.operator.activate()

    def _step(self) -> None:
        super()._step()
        if self.holds:
            self._go_on_placing()

    @property
    def _is_at_work(self) -> bool:
        return super()._is_at_work or (self.holds and self._placings > 0)

    def drain(self) -> bool:
        """See `ReadingPart`: the values must have been placed, and heard."""
        is_heard = not self.state.counters[names.PLACING]
        return super().drain() and self._placing is None and is_heard


def _require_values(columns: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
    values = columns.get("unscaled")
    if values is None or values.dtype != np.float64 or values.ndim != 1:
        raise StoreCorrupt(
            f"a stored snapshot has {sorted(columns)}, and no numbers that its program could go on from"
        )
    return values
