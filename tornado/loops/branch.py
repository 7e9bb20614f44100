"""A branch loop, as the one who asked for it holds it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from ..certificate import Certificate
from ..engine import Engine
from ..errors import InternalError, WorkerLost
from ..records.point_batch import PointBatch
from .commands import GiveUp, LoopHost
from .edge_pages import EdgeColumns
from .frontier import LoopFrontier, frontier_of
from .iterations import progress_of
from .part import BranchPartView
from .snapshot import Snapshot
from .statistics import BranchState, Progress, Start
from .values import Values
from .vertex_program import VertexProgram
from .ways import Way, WayReader, find_ways


class Judge(Protocol):
    """What the values of a branch that is over are worth; see `ProgramKind.judge`."""

    def __call__(self, findings: Sequence[Mapping[str, float]], *, is_converged: bool) -> Certificate:
        """The certificate, of what the parts have found; of none where the answer was stored without."""
        ...


class Branch:
    """A fork of a main loop that iterates to the exact fixed point of its snapshot.

    Attributes
    ----------
    id
        Its number.
    loop
        The number of the loop that it was forked from.
    program
        What it runs, with its own parameters.
    hosts, engine
        The workers that have its parts, and what has these step.
    losses
        How often workers had been lost when these were there; see `Engine`.
    iterates
        Whether it may find anything that its main loop does not have.
    is_limited
        Whether it may commit so many iterations above its snapshot's only, which its parts have to be told.
    start
        Whether it begins with the values that its main loop has (`warm`), or from the initial ones (`cold`).
    is_undirected
        Whether every edge of its graph is there in both directions, and both are one.
    error
        What went wrong, where the state is FAILED.
    """

    def __init__(
        self,
        *,
        number: int,
        loop: int,
        program: VertexProgram,
        is_undirected: bool,
        snapshot: Snapshot,
        hosts: Sequence[LoopHost],
        engine: Engine,
        judge: Judge,
        values_of: Callable[[Sequence[BranchPartView]], Values],
        on_recorded: Callable[[Branch], None],
        on_stop: Callable[[Branch], None],
        on_cancel: Callable[[Branch], None],
        on_release: Callable[[Branch], None],
    ) -> None:
        self.id = number
        self.loop = loop
        self.iterates = True
        self.is_limited = False
        self.start: Start = "warm"
        self.program = program
        self.is_undirected = is_undirected
        self.error: BaseException | None = None
        self._snapshot = snapshot
        self.losses = engine.losses
        self.hosts = hosts
        self.engine = engine
        self._judge = judge
        self._certificate: Certificate | None = None
        self._values_of = values_of
        self._on_recorded = on_recorded
        self._on_stop, self._on_cancel, self._on_release = on_stop, on_cancel, on_release
        self._recorded: dict[int, BranchPartView] = {}
        self._finished: dict[int, BranchPartView] = {}
        self._state = BranchState.RUNNING
        self._begun = self.engine.clock.monotonic()
        self._lock = threading.Lock()  # held for a moment only: who takes what workers report needs it
        # Held while workers are asked, so that nothing of theirs is freed meanwhile. One that hangs answers when somebody sees
        # that it is lost, which is who takes the reports; so what is reported must not wait for this.
        self._asking = threading.Lock()
        self._callbacks: list[Callable[[Branch], None]] = []
        self._is_released = False
        self._is_stopping = False
        self._values: Values | None = None
        self._last: Progress | None = None
        self._edge_pages: Callable[[Branch], Iterator[EdgeColumns]] | None = None
        self._way_reader: Callable[[Branch], WayReader] | None = None
        self._point_pages: Callable[[Branch], Iterator[PointBatch]] | None = None

    @property
    def state(self) -> BranchState:
        """Where it is."""
        return self._state

    @property
    def snapshot(self) -> Snapshot:
        """What it started from."""
        return self._snapshot

    @property
    def certificate(self) -> Certificate | None:
        """What its values are worth; None where it has none, because it is not over, was cancelled or failed."""
        return self._certificate if self._state in {BranchState.CONVERGED, BranchState.STOPPED} else None

    @property
    def processors(self) -> list[BranchPartView]:
        """The parts that have recorded their state, by worker."""
        with self._lock:
            return [processor for _, processor in sorted(self._recorded.items())]

    def wait_cut(self, timeout_s: float | None = None) -> bool:
        """Wait until every worker has recorded its state."""
        return self.engine.wait_for(
            lambda: len(self._recorded) == len(self.hosts) or self._state is not BranchState.RUNNING,
            timeout_s,
            about=(self, "cut"),
        )

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until it is over, in whatever state."""
        return self.engine.wait_for(lambda: self._state is not BranchState.RUNNING, timeout_s, about=self)

    def progress(self) -> Progress:
        """How far it is."""
        with self._asking:
            return self._progress()

    def frontier(self) -> LoopFrontier:
        """How far it is by timestamps, and who holds it back there; looked for now, on every worker. Nothing once it is over.

        Where workers were lost, nothing of it is anywhere until it is begun again on those that take their place.
        """
        if self._state is not BranchState.RUNNING:
            return frontier_of([])
        hosts = self.hosts
        try:
            said = [host.branch_holders(self.id) for host in hosts]
        except WorkerLost:
            return frontier_of([None] * len(hosts))
        return frontier_of(said)

    def add_done_callback(self, callback: Callable[[Branch], None]) -> None:
        """Have `callback` called once when it is over: on a worker's thread, so it must be quick; at once if it is over."""
        with self._lock:
            if self._state is BranchState.RUNNING:
                self._callbacks.append(callback)
                return
        callback(self)

    def cancel(self) -> None:
        """Give it up and free what it holds."""
        with self._asking:
            if self._state is not BranchState.RUNNING:
                return
            try:
                last = self._progress()
            except WorkerLost:
                last = self._no_progress()
        if self._end(BranchState.CANCELLED, last):
            self._let_go()  # first: the workers free what this would read
            self._on_cancel(self)

    def stop(self) -> None:
        """Bring it to an early end at a consistent cut; `values` is then the best so far."""
        if self._state is BranchState.RUNNING:
            self._is_stopping = True
            self._on_stop(self)

    def values(self) -> Values:
        """The values, once it is over.

        Raises
        ------
        InternalError
            When it is not over, failed, or was released.
        """
        if self._values is None or self._is_released:
            raise InternalError(
                f"branch {self.id} is {self._state.value}{' and released' if self._is_released else ''}: it has no values"
            )
        return self._values

    def edges(self) -> Iterator[EdgeColumns]:
        """All edges of its own version of the graph, a page at a time; once it is over, where it was forked to read them.

        Raises
        ------
        InternalError
            When it was forked without.
        """
        if self._edge_pages is None:
            raise InternalError(f"branch {self.id} was forked without its edges, so none of them were read")
        return self._edge_pages(self)

    def points(self) -> Iterator[PointBatch]:
        """As `edges`, of the points of its version: insertions. They can be asked for again."""
        if self._point_pages is None:
            raise InternalError(f"branch {self.id} was forked without its points, so none of them were read")
        return self._point_pages(self)

    def ways(self, ids: Sequence[int]) -> dict[int, Way]:
        """The ways to some vertices, once it is over, where it was forked to read them, and until its version is given up.

        Returns
        -------
        dict
            By vertex, without those that were never seen.

        Raises
        ------
        InternalError
            When it was forked without, or its version was given up.
        WorkerLost
            When a worker is lost that has some of them.
        """
        reader_of = self._way_reader
        if reader_of is None:
            raise InternalError(f"branch {self.id} was forked without its ways, or they were given up")
        is_exact = self._state is BranchState.CONVERGED
        return find_ways(ids, reader_of(self), self.program, is_exact=is_exact)

    def give_up_ways(self) -> None:
        """Have workers let go of the version that is kept for its ways, which cannot be asked for any more."""
        if self._way_reader is not None:
            self._way_reader = None
            for host in self.hosts:
                host.post(GiveUp(self.id))

    def release(self) -> None:
        """Give the columns back; `values` must not be used any more."""
        with self._lock:
            if self._is_released or self._state is BranchState.RUNNING:
                return
            self._is_released = True
        self.give_up_ways()
        if self._values is not None:
            self._on_release(self)
        self._let_go()

    # Called by the master

    def read_edges_by(self, pages: Callable[[Branch], Iterator[EdgeColumns]]) -> None:
        """Have `edges` call this with the branch, which must not refer to itself: it would live until the next collection."""
        self._edge_pages = pages

    def read_points_by(self, pages: Callable[[Branch], Iterator[PointBatch]]) -> None:
        """As `read_edges_by`, for `points`."""
        self._point_pages = pages

    def read_ways_by(self, reader_of: Callable[[Branch], WayReader]) -> None:
        """As `read_edges_by`, for `ways`."""
        self._way_reader = reader_of

    def begin_again(self, hosts: Sequence[LoopHost]) -> None:
        """Forget what lost workers had recorded and finished; the same cut is forked once more on those that follow."""
        with self._lock:
            self.losses = self.engine.losses
            self.hosts = hosts
            self._recorded.clear()
            self._finished.clear()

    def forked_again(self) -> None:
        """Stop it on the new workers too, where it was being stopped; called once the fork is on its way to them."""
        if self._is_stopping:
            self._on_stop(self)

    def answer(self, values: Values, findings: Sequence[Mapping[str, float]]) -> None:
        """End it with values that were stored, and what was found of their worth then, as converged and without an iteration."""
        self._values = values
        self._certificate = self._judge(findings, is_converged=True)
        self._end(BranchState.CONVERGED, self._no_progress())

    def recorded(self, worker: int, processor: BranchPartView) -> None:
        """Note the part of a worker that has recorded its state; the last one fixes the snapshot's iteration."""
        with self._lock:
            if self._state is not BranchState.RUNNING:
                return
            self._recorded[worker] = processor
            if len(self._recorded) < len(self.hosts):
                return
            given = self._snapshot
            begun = max(part.first_iteration for part in self._recorded.values())
            iteration = max(begun, given.iteration)
            self._snapshot = replace(given, iteration=iteration)
        if self.is_limited:
            self._on_recorded(self)
        self.engine.notify((self, "cut"))

    def finished(self, worker: int, processor: BranchPartView) -> None:
        """Note the part of a worker that is complete; the last one ends the branch, whose values can then be read."""
        with self._lock:
            if self._state is not BranchState.RUNNING:
                processor.free()
                return
            self._finished[worker] = processor
            if len(self._finished) < len(self.hosts):
                return
            parts = [self._finished[index] for index in range(len(self.hosts))]
            self._values = self._values_of(parts)
            converged = all(part.is_converged for part in parts)
            self._certificate = self._judge([part.findings for part in parts], is_converged=converged)
            last = self._progress_of(parts, converged=converged)  # these are there until it is over
        if not self._end(BranchState.CONVERGED if converged else BranchState.STOPPED, last):
            self._let_go()  # it was cancelled meanwhile

    def fail(self, error: BaseException) -> None:
        """End it with the error of a worker, and free what it holds."""
        self.error = error
        if self._end(BranchState.FAILED, self._no_progress()):  # what is broken is not asked
            self._let_go()  # first: the workers free what this would read
            self._on_cancel(self)

    def states(self) -> list[tuple[int, BranchPartView]]:
        """Return (worker, processor) of every part, for taking the columns back."""
        return sorted(self._finished.items())

    def _progress(self) -> Progress:
        with self._lock:
            last, parts = self._last, [part for _, part in sorted(self._recorded.items())]
        return self._progress_of(parts, converged=False) if last is None else last

    def _progress_of(self, parts: Sequence[BranchPartView], *, converged: bool) -> Progress:
        return progress_of(parts, elapsed_s=self.engine.clock.monotonic() - self._begun, converged=converged)

    def _no_progress(self) -> Progress:
        return Progress(self._snapshot.iteration, 0, 0, 0.0, self.engine.clock.monotonic() - self._begun)

    def _let_go(self) -> None:
        """Drop the references to the workers' parts, so that whoever keeps this object does not keep their memory."""
        with self._asking, self._lock:
            for processor in self._finished.values():
                processor.free()
            self._values = None
            self._recorded.clear()
            self._finished.clear()

    def _end(self, state: BranchState, last: Progress) -> bool:
        with self._lock:
            if self._state is not BranchState.RUNNING:
                return False
            self._state = state
            self._last = last  # from now on the workers' parts may be freed
            callbacks, self._callbacks = self._callbacks, []
        self.engine.notify(self, (self, "cut"))
        for callback in callbacks:
            callback(self)
        return True
