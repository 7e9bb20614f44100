"""A query as a resource: its state, what it may still become, and who wants to know.

States go one way: queued, running, then one of the four ends. Everything that ends a query (the branch, a deadline, a
cancel, a failure) goes through `finish`, of which the first wins, so a query ends once and its callbacks run once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from threading import Condition, Lock
from typing import TYPE_CHECKING, Any

from ..clock import Clock, after, wait_until
from ..errors import WorkerLost
from .answers import Answer
from .findings import Findings
from .request import Mode, QueryRequest
from .timer import Entry

if TYPE_CHECKING:
    from ..loops.snapshot import Snapshot
    from ..loops.statistics import LoopStatistics, Progress, Start


class QueryState(Enum):
    """Where a query is."""

    QUEUED = "queued"
    RUNNING = "running"
    CONVERGED = "converged"
    DEADLINE = "deadline"
    CANCELLED = "cancelled"
    FAILED = "failed"

    @property
    def is_final(self) -> bool:
        """Whether nothing follows."""
        return self not in {QueryState.QUEUED, QueryState.RUNNING}


@dataclass(frozen=True, slots=True)
class NamedSnapshot:
    """Which prefix of the input an answer is for."""

    stream: str
    offsets: Mapping[str, int]
    instant: datetime
    version: int
    iteration: int
    delay_bound: int | None
    is_durable: bool

    @classmethod
    def of(cls, snapshot: Snapshot) -> NamedSnapshot:
        """Copy what a loop calls its snapshot, with sources in one order."""
        return cls(
            stream=snapshot.stream,
            offsets=dict(sorted(snapshot.offsets.items())),
            instant=snapshot.instant.astimezone(UTC),
            version=int(snapshot.version),
            iteration=int(snapshot.iteration),
            delay_bound=snapshot.delay_bound,
            is_durable=snapshot.is_durable,
        )


@dataclass(frozen=True, slots=True)
class QueryProgress:
    """How far a query is: of its branch, or of the main loop for an approximate read."""

    iteration: int = 0
    updates: int = 0
    prepares: int = 0
    residual: float | None = None

    @classmethod
    def of(cls, progress: Progress | LoopStatistics) -> QueryProgress:
        """Copy the numbers of a branch or of loop statistics."""
        return cls(progress.iteration, progress.updates, progress.prepares, progress.residual)


@dataclass(frozen=True, slots=True)
class QueryStatus:
    """One consistent look at a query.

    Attributes
    ----------
    stopped_by : str, optional
        "deadline" or "max_iterations", where the state is `DEADLINE`.
    has_result : bool
        Whether there are values to read.
    start : str, optional
        Whether its branch began with the values that the loop had ("warm"), or from the initial ones, since its parameters have no use
        for these ("cold"); None while it has no branch, and where it needs none.
    """

    id: str
    loop: str
    mode: Mode
    state: QueryState
    snapshot: NamedSnapshot | None
    progress: QueryProgress
    elapsed_s: float
    certificate: Mapping[str, Any] | None
    stopped_by: str | None
    has_result: bool
    error: BaseException | None
    start: Start | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a query ended; handed to `Query.finish`."""

    state: QueryState
    answer: Answer | None = None
    snapshot: NamedSnapshot | None = None
    progress: QueryProgress | None = None
    certificate: Mapping[str, Any] | None = None
    stopped_by: str | None = None
    error: BaseException | None = None
    start: Start | None = None
    found: Findings | None = None


class Query:
    """One question that was admitted. Made by the service only.

    Parameters
    ----------
    id : str
        The name of the resource.
    request : QueryRequest
        What was asked.
    deadline_s : float
        The deadline that holds, in seconds from now.
    clock : Clock
        What it is counted by.
    stream : str
        What its loop reads: who may see that may see the query, also when the loop is gone.
    parent : str, optional
        The span in which it was asked.

    Attributes
    ----------
    asker : object
        Whoever asked, in the words of those that let it in; None where nobody was looked at.
    """

    def __init__(
        self,
        id: str,  # noqa: A002  the resource's word
        request: QueryRequest,
        deadline_s: float,
        *,
        clock: Clock,
        stream: str = "",
        parent: str | None = None,
    ) -> None:
        self.id = id
        self.stream = stream
        self.asker: object = None
        self.request = request
        self.parent = parent
        self._clock = clock
        self.submitted_s = clock.monotonic()
        self.deadline_s = deadline_s
        self.deadline_at_s = self.submitted_s + deadline_s
        # What runs for this query; `status` asks it how far it is.
        self.branch: Any = None
        # What ends it at its deadline while it waits for a branch.
        self.expiry: Entry | None = None
        self._ending: Ending | None = None
        self._finished_s: float | None = None
        self._callbacks: list[Callable[[Query], None]] = []
        self._progress = QueryProgress()  # as it was when somebody asked last
        self._lock = Lock()
        self._finished = Condition(self._lock)

    @property
    def state(self) -> QueryState:
        """Where the query is now."""
        ending = self._ending
        if ending is not None:
            return ending.state
        return QueryState.QUEUED if self.branch is None else QueryState.RUNNING

    @property
    def answer(self) -> Answer | None:
        """The values, once there are some."""
        return None if self._ending is None else self._ending.answer

    @property
    def found(self) -> Findings | None:
        """What the program has found beside values, once there are some."""
        return None if self._ending is None else self._ending.found

    @property
    def error(self) -> BaseException | None:
        """Why it failed, where it did."""
        return None if self._ending is None else self._ending.error

    @property
    def elapsed_s(self) -> float:
        """Seconds from the question to its end, or until now."""
        return (self._clock.monotonic() if self._finished_s is None else self._finished_s) - self.submitted_s

    def run_on(self, branch: Any) -> None:
        """Take progress and snapshot from a branch from now on, unless the query has ended: then it must not keep the branch."""
        with self._lock:
            if self._ending is None:
                self.branch = branch

    def finish(self, ending: Ending) -> bool:
        """End the query, unless it has ended; return whether this call did."""
        with self._lock:
            if self._ending is not None:
                return False
            self._finished_s = self._clock.monotonic()
            self._ending = ending
            self._finished.notify_all()
            self.branch = None
            callbacks, self._callbacks = self._callbacks, []
        if self.expiry is not None:
            self.expiry.cancel()
        for callback in callbacks:
            callback(self)
        return True

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for the end; return whether it came."""
        with self._finished:
            until_s = after(self._clock, timeout_s)
            return wait_until(self._clock, self._finished, lambda: self._ending is not None, until_s)

    def add_done_callback(self, callback: Callable[[Query], None]) -> None:
        """Call once the query has ended, from the thread that ends it, or now where it has. Must be quick."""
        with self._lock:
            if self._ending is None:
                self._callbacks.append(callback)
                return
        callback(self)

    def remove_done_callback(self, callback: Callable[[Query], None]) -> None:
        """Forget a callback that has not been called."""
        with self._lock:
            if callback in self._callbacks:
                self._callbacks.remove(callback)

    def status(self, *, asks: bool = True) -> QueryStatus:
        """Take one consistent look.

        Parameters
        ----------
        asks : bool
            Ask the workers how far the branch is, which waits for one that hangs. Otherwise, and where they were lost, the
            progress is that of the last look.
        """
        with self._lock:
            ending, branch = self._ending, self.branch
            elapsed_s = self.elapsed_s
        if ending is None:
            if asks and branch is not None:
                with suppress(WorkerLost):
                    self._progress = QueryProgress.of(branch.progress())
            cut = branch is not None and branch.wait_cut(0)
            return QueryStatus(
                id=self.id,
                loop=self.request.loop,
                mode=self.request.mode,
                state=QueryState.QUEUED if branch is None else QueryState.RUNNING,
                snapshot=NamedSnapshot.of(branch.snapshot) if cut else None,
                progress=QueryProgress() if branch is None else self._progress,
                elapsed_s=elapsed_s,
                certificate=None,
                stopped_by=None,
                has_result=False,
                error=None,
                start=None if branch is None else branch.start,
            )
        return QueryStatus(
            id=self.id,
            loop=self.request.loop,
            mode=self.request.mode,
            state=ending.state,
            snapshot=ending.snapshot,
            progress=ending.progress or QueryProgress(),
            elapsed_s=elapsed_s,
            certificate=ending.certificate,
            stopped_by=ending.stopped_by,
            has_result=ending.answer is not None,
            error=ending.error,
            start=ending.start,
        )
