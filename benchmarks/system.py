"""The one place where benchmarks touch what they measure: a shortest-path main loop, its branches, and its HTTP service.

`System` is what the benchmarks need, in their words; `LiveSystem` says it in the words of `tornado.loops` and
`tornado.query`. Everything else in this folder knows only `System`.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from tornado.config import DelayBound
from tornado.records.edge_batch import EdgeBatch

if TYPE_CHECKING:
    from tornado import VertexProgram
    from tornado.loops.branch import Branch
    from tornado.loops.main_loop import MainLoop

SOURCE_NAME = "benchmark"
LOOP_NAME = "sssp"


@dataclass(frozen=True, slots=True)
class Load:
    """What a main loop has to do at an instant: records not yet applied, vertices whose work waits; and sets of workers lost."""

    backlog_records: int
    pending_vertices: int
    lost: int = 0


@dataclass(frozen=True, slots=True)
class Size:
    """What a main loop holds, and what it says that this takes."""

    vertices: int
    edges: int
    memory_bytes: int


class System(Protocol):
    """A system that keeps shortest paths from one source up to date."""

    admitted: int
    """Records admitted so far."""

    def admit(self, batch: EdgeBatch) -> None:
        """Hand over a batch; blocks while the system lags too far behind."""
        ...

    def wait_idle(self, timeout_s: float) -> None:
        """Wait until everything admitted is in the approximation; TimeoutError after that long."""
        ...

    def load(self) -> Load:
        """Return what is left to do."""
        ...

    def size(self) -> Size:
        """Return what it holds."""
        ...

    def ask(self, ids: NDArray[np.int64], timeout_s: float) -> tuple[NDArray[np.float64], int]:
        """Fork, wait, look up; return exact distances (inf where unreachable) and the records they are exact for."""
        ...

    def from_scratch(
        self, source: int, timeout_s: float
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], float]:
        """Compute the distances from a source the loop knows nothing of; return ids ascending, distances, seconds."""
        ...

    def serving(self) -> AbstractContextManager[str]:
        """Serve over HTTP on loopback; gives the base URL."""
        ...


class SystemFactory(Protocol):
    """Starts a system; it ends with its context."""

    def __call__(
        self, *, source: int, workers: int, delay_bound: DelayBound
    ) -> AbstractContextManager[System]:
        """Start shortest paths from `source` on so many workers."""
        ...


class LiveSystem:
    """The real one, nothing stored.

    Parameters
    ----------
    source : int
        Where the paths begin.
    workers : int
        How many.
    delay_bound : int or None
        B of the paper; None is unbounded.
    engine : str
        Where the workers run.
    programs : sequence of VertexProgram
        What runs in place of shortest paths: a loop each, on one stream, of which the first is asked.
    is_undirected : bool
        Whether every record that is admitted comes with the same one the other way round.
    """

    def __init__(
        self,
        *,
        source: int,
        workers: int,
        delay_bound: DelayBound,
        engine: str = "threads",
        programs: Sequence[VertexProgram] = (),
        is_undirected: bool = False,
    ) -> None:
        from apps.sssp import ShortestPaths
        from tornado.loops.master import Master
        from tornado.storage import open_store

        self.admitted = 0
        self._store = open_store("memory:")
        self._master = Master(self._store, workers=workers, engine=engine)
        first, *others = programs or [ShortestPaths(source=source)]
        self._loop = self._master.start(
            first, LOOP_NAME, delay_bound=delay_bound, is_undirected=is_undirected
        )
        self.loops = [self._loop] + [
            self._master.start(other, type(other).__name__, delay_bound=delay_bound, stream=LOOP_NAME)
            for other in others
        ]
        # As a service does: else a collection goes over all that the compiler has left, and everybody waits for 60 ms.
        gc.collect()
        gc.freeze()

    def __enter__(self) -> Self:
        # As a service does, which has a collection of all that Numba brought along go by in the middle of no answer.
        gc.collect()
        gc.freeze()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._master.close()
        self._store.close()
        gc.unfreeze()

    def admit(self, batch: EdgeBatch) -> None:
        """See `System`."""
        self.admitted += len(batch)
        self._loop.admit(batch, SOURCE_NAME, self.admitted)

    def wait_idle(self, timeout_s: float) -> None:
        """See `System`."""
        for loop in self.loops:
            if not loop.wait_idle(timeout_s):
                raise TimeoutError(f"a main loop is not idle after {timeout_s:.0f} s: {loop.statistics()}")

    def load(self) -> Load:
        """See `System`."""
        statistics = self._loop.statistics()
        return Load(statistics.backlog_records, statistics.pending, statistics.restarts)

    def size(self) -> Size:
        """See `System`."""
        statistics = self._loop.statistics()
        return Size(statistics.vertices, statistics.edges, statistics.memory_bytes)

    def ask(self, ids: NDArray[np.int64], timeout_s: float) -> tuple[NDArray[Any], int]:
        """See `System`."""
        return self.ask_loop(self._loop, ids, timeout_s)

    def ask_loop(self, loop: MainLoop, ids: NDArray[np.int64], timeout_s: float) -> tuple[NDArray[Any], int]:
        """Ask one of `loops`."""
        branch = loop.fork()
        try:
            _finish(branch, timeout_s)
            return branch.values().lookup(ids)[0], branch.snapshot.offsets.get(SOURCE_NAME, 0)
        finally:
            branch.release()

    @contextmanager
    def answered(
        self,
        timeout_s: float,
        *,
        parameters: Mapping[str, Any] | None = None,
        max_iterations: int | None = None,
        top: int | None = None,
    ) -> Iterator[Branch]:
        """Fork the first loop and wait; give the branch that is over, whose values are there while the block runs."""
        branch = self._loop.fork(parameters, max_iterations=max_iterations, top=top)
        try:
            _finish(branch, timeout_s)
            yield branch
        finally:
            branch.release()

    def from_scratch(
        self, source: int, timeout_s: float
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], float]:
        """See `System`."""
        start = time.perf_counter()
        branch = self._loop.fork(parameters={"source": source})
        try:
            _finish(branch, timeout_s)
            elapsed_s = time.perf_counter() - start
            return (*branch.values().arrays(), elapsed_s)
        finally:
            branch.release()

    @contextmanager
    def forked(
        self,
        loop: MainLoop,
        timeout_s: float,
        *,
        parameters: Mapping[str, Any] | None = None,
        stop_after_s: float | None = None,
    ) -> Iterator[Branch]:
        """Fork one of `loops` and wait until the branch is over, of itself or stopped after a while; it is released in the end."""
        branch = loop.fork(parameters=parameters)
        try:
            if stop_after_s is not None and not branch.wait(stop_after_s):
                branch.stop()
            _finish(branch, timeout_s)
            yield branch
        finally:
            branch.release()

    def skew(self, share: float) -> None:
        """Put all vertices on the first worker but those of so many of the buckets, which the second one gets."""
        from tornado.graph import PartitionMap

        buckets = np.zeros(len(PartitionMap.even(1).buckets), np.uint8)
        buckets[:: round(1 / share)] = 1
        self._master._move(PartitionMap(self._master.workers, buckets), [self._loop.stream])  # noqa: SLF001  # nobody should

    @contextmanager
    def balanced(self) -> Iterator[None]:
        """Have buckets moved by load while the context lasts, as a service has."""
        from tornado.loops.balance import Balance

        balance = Balance(self._master)
        balance.start()
        try:
            yield
        finally:
            balance.close()

    @contextmanager
    def serving(self) -> Iterator[str]:
        """See `System`."""
        from tornado.query.http import HttpServer
        from tornado.query.service import QueryService

        service = QueryService(self._master)
        try:
            with HttpServer(service, "127.0.0.1", 0) as server:
                yield server.url
        finally:
            service.close()


def _finish(branch: Any, timeout_s: float) -> None:
    if not branch.wait(timeout_s):
        branch.cancel()
        raise TimeoutError(f"a branch has not converged after {timeout_s:.0f} s: {branch.progress()}")
    if branch.error is not None:
        raise branch.error
