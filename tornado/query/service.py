"""The query service: takes questions in, forks branches for them, and keeps their answers for a while.

Guarantees: a query ends once, in one of four final states, at its deadline at the latest plus the time the branch takes
to stop; its cut holds everything that was admitted before it was submitted; its branch is cancelled when the last query
on it is, and released when the last answer that reads it goes. No more branches run than count and memory allow, no
more queries wait than the queue holds.

Threads: `submit` forks in the caller's thread and a branch answers its queries in the worker thread that ends it, so no
hop between threads stands between a question and its answer. What could take longer (ranking or looking up very many,
forking for those who waited) goes to a small pool.
"""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from threading import Lock
from typing import Any

from ..errors import InvalidArgument, NotSupported, QueueFull, TornadoError, UnknownLoop, UnknownQuery
from .answers import Answer, SharedValues, SmallAnswer, WholeAnswer, best, lookup, top
from .contract import BranchView, MainLoopView, MasterView, ValuesView
from .flight import Airfield, Flight
from .ids import IdCodec, IntIds
from .query import Ending, NamedSnapshot, Query, QueryProgress, QueryState
from .request import Mode, QueryRequest, ServiceLimits
from .retention import Retention
from .timer import Timer

EXACT = {"kind": "exact"}
APPROXIMATE = {"kind": "approximate"}

# A lookup of so many vertices takes well under a tenth of a millisecond: quick enough for a worker thread.
QUICK_LOOKUP = 1_000
QUICK_TOP_VERTICES = 20_000

OFFSETS_INTERVAL_S = 0.002
RETRY_AFTER_S = 1.0
CLOSING_S = 5.0

# State columns, parents, dirty set and queues of a branch, per vertex of its main loop: an estimate for planning only.
BRANCH_BYTES_PER_VERTEX = 64
VERTICES_KNOWN_FOR_S = 1.0


@dataclass(frozen=True, slots=True)
class QueryStatistics:
    """What the service has done and holds; counts since it was opened unless named otherwise."""

    submitted: int
    refused: int
    states: dict[str, int]
    waiting: int
    branches_running: int
    retained_results: int
    retained_size_bytes: int


class QueryService:
    """Answers questions about the loops of a master.

    Parameters
    ----------
    master : Master
        Whose loops are asked.
    limits : ServiceLimits
        What is refused or forgotten.
    """

    def __init__(self, master: MasterView, *, limits: ServiceLimits | None = None) -> None:
        self.master = master
        self.limits = limits or ServiceLimits()
        self._lock = Lock()
        self._airfield = Airfield(branches=self.limits.branches, queued=self.limits.queued)
        self._queries: dict[str, Query] = {}
        self._retention = Retention(
            results=self.limits.retained_results, size_bytes=self.limits.retained_size_bytes
        )
        self._codecs: dict[str, IdCodec] = {}
        self._vertices: dict[str, tuple[float, int]] = {}
        self._listeners: list[Callable[[Query], None]] = []
        self._ended: Counter[str] = Counter()
        self._submitted = 0
        self._refused = 0
        self._closed = False
        self._offsets_watched = False
        self._timer = Timer("tornado-query-timer")
        self._pool = ThreadPoolExecutor(max_workers=4, thread_name_prefix="tornado-query")

    # --- loops -----------------------------------------------------------------------------------------------------

    def loop(self, name: str) -> MainLoopView:
        """Return the main loop of that name.

        Raises
        ------
        UnknownLoop
            When none runs; lists those that do.
        """
        loop: MainLoopView | None = self.master.loops.get(name)
        if loop is None:
            running = ", ".join(sorted(self.master.loops)) or "none"
            raise UnknownLoop(f"no loop is called {name!r}; running: {running}")
        return loop

    def use_ids(self, loop: str, codec: IdCodec) -> None:
        """Read and write the ids of a loop through a codec; without one they are int64."""
        self._codecs[loop] = codec

    def ids(self, loop: str) -> IdCodec:
        """Return the codec of a loop's ids."""
        return self._codecs.get(loop) or _INT_IDS

    def rank(self, loop: str) -> str:
        """Return what the loop's program ranks by: "nearest" or "highest"."""
        rank = getattr(self.loop(loop).program, "rank", "nearest")
        return str(getattr(rank, "value", rank))

    # --- questions -------------------------------------------------------------------------------------------------

    def submit(self, request: QueryRequest) -> Query:
        """Let a question in.

        An approximate one is answered on return. An exact one has forked on return, or waits. Blocks only for a stored
        snapshot (`at`), which is read from the store, and for approximate reads that rank or hold all vertices.

        Raises
        ------
        UnknownLoop, InvalidArgument, NotSupported
            When the question cannot be answered.
        QueueFull
            When too many wait.
        """
        try:
            query = self._submit(request)
        except TornadoError:
            with self._lock:
                self._refused += 1
            raise
        return query

    def _submit(self, request: QueryRequest) -> Query:
        deadline_s = request.checked(self.limits)
        loop = self.loop(request.loop)
        if request.vertices is not None:
            self.ids(request.loop).encode(request.vertices)
        if request.at is not None:
            _require_stored(loop, request.at)
        query = Query(secrets.token_hex(8), request, deadline_s)
        if request.mode is Mode.APPROXIMATE:
            ending = self._approximate(loop, request)
            with self._lock:
                self._require_open()
                self._register(query)
            self._finish(query, ending)
            return query
        if request.min_offsets and not _reached(loop.offsets(), request.min_offsets):
            with self._lock:
                self._require_open()
                self._airfield.hold(query, RETRY_AFTER_S)
                self._register(query)
            query.expiry = self._timer.schedule(query.deadline_at_s, partial(self._expire, query))
            self._watch_offsets()
            return query
        flight, start = self._place(query)
        if start:
            self._fork(flight, asked_by=query)
        return query

    def get(self, id: str) -> Query:  # noqa: A002  the resource's word
        """Return the query of that id.

        Raises
        ------
        UnknownQuery
            When there is none, or it is no longer kept.
        """
        query = self._queries.get(id)
        if query is None:
            raise UnknownQuery(f"no query has the id {id!r}")
        return query

    def queries(self) -> list[Query]:
        """Return all queries that run, wait or are kept, oldest first."""
        with self._lock:
            return list(self._queries.values())

    def cancel(self, id: str) -> Query:  # noqa: A002  the resource's word
        """Cancel a query that has not ended, or forget one that has; return it.

        The branch is cancelled when this was the last query on it.

        Raises
        ------
        UnknownQuery
            When there is none of that id.
        """
        query = self.get(id)
        if query.finish(Ending(state=QueryState.CANCELLED, **self._so_far(query))):
            self._left(query)
            self._keep(query)
        else:
            self._forget([query.id])
        return query

    def add_listener(self, listener: Callable[[Query], None]) -> None:
        """Call for every query that ends (metrics); must be quick."""
        self._listeners.append(listener)

    def statistics(self) -> QueryStatistics:
        """Return counts and sizes as they are now."""
        with self._lock:
            states = Counter({state.value: 0 for state in QueryState})
            states.update(self._ended)
            states[QueryState.QUEUED.value] = self._airfield.count_waiting()
            states[QueryState.RUNNING.value] = sum(len(flight.queries) for flight in self._airfield.running)
            return QueryStatistics(
                submitted=self._submitted,
                refused=self._refused,
                states=dict(states),
                waiting=self._airfield.count_waiting(),
                branches_running=len(self._airfield.running),
                retained_results=len(self._retention),
                retained_size_bytes=self._retention.total_bytes,
            )

    @property
    def is_open(self) -> bool:
        """Whether questions are taken."""
        return not self._closed

    def close(self) -> None:
        """Cancel what runs, forget what is kept, and take no more questions. The loops are not ours to close."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            unfinished = list(self._airfield.everybody())
            branches = [flight.branch for flight in self._airfield.running if flight.branch is not None]
        for query in unfinished:
            if query.finish(Ending(state=QueryState.CANCELLED, **self._so_far(query))):
                self._left(query)
        for branch in branches:
            branch.wait(CLOSING_S)
        self._timer.close()
        self._pool.shutdown(wait=True)
        with self._lock:
            kept = list(self._queries)
        self._forget(kept)

    # --- branches --------------------------------------------------------------------------------------------------

    def _place(self, query: Query) -> tuple[Flight, bool]:
        memory_allows = self._memory_allows(query.request.loop)
        with self._lock:
            self._require_open()
            flight, start = self._airfield.place(
                query, memory_allows=memory_allows, retry_after_s=RETRY_AFTER_S
            )
            if query.id not in self._queries:
                self._register(query)
            branch = flight.branch
        if branch is not None:
            query.run_on(branch)
            self._schedule_stop(flight)
        elif not start and query.expiry is None:
            query.expiry = self._timer.schedule(query.deadline_at_s, partial(self._expire, query))
        return flight, start

    def _fork(self, flight: Flight, *, asked_by: Query | None = None) -> None:
        """Fork for a flight that has a place. What the loop refuses is raised to the only one who asked."""
        request = flight.queries[0].request if flight.queries else None
        if request is None:
            self._landed(flight)
            return
        try:
            branch = self.loop(request.loop).fork(
                parameters=dict(request.parameters) or None,
                at=request.at,
                max_iterations=request.max_iterations,
            )
        except Exception as error:
            if isinstance(error, QueueFull) and self._wait_again(flight):
                return
            # Everything a fork can raise ends here as the state of its queries: nobody else would hear of it.
            alone = asked_by is not None and isinstance(error, TornadoError) and flight.queries == [asked_by]
            self._end_all(flight, Ending(state=QueryState.FAILED, error=error))
            self._landed(flight)
            if alone and asked_by is not None:
                self._forget([asked_by.id])
                raise
            return
        with self._lock:
            flight.branch = branch
            riders = list(flight.queries)
            for query in riders:
                query.run_on(branch)
        if not riders:
            branch.cancel()
        self._schedule_stop(flight)
        branch.add_done_callback(partial(self._branch_done, flight))

    def _wait_again(self, flight: Flight) -> bool:
        """Let a flight wait for which the loop has no room, unless nothing runs whose end would make room."""
        with self._lock:
            if len(self._airfield.running) < 2:
                return False
            self._airfield.go_back(flight)
        return True

    def _schedule_stop(self, flight: Flight) -> None:
        earlier, flight.deadline = (
            flight.deadline,
            self._timer.schedule(flight.deadline_at_s, partial(self._stop, flight)),
        )
        if earlier is not None:
            earlier.cancel()

    def _stop(self, flight: Flight) -> None:
        with self._lock:
            if flight.ended:
                return
            flight.stopped_by = "deadline"
        try:
            flight.branch.stop()
        except Exception as error:  # noqa: BLE001  becomes the state of the queries; the timer must live on
            self._end_all(flight, Ending(state=QueryState.FAILED, error=error))
            self._landed(flight)

    def _branch_done(self, flight: Flight, branch: BranchView) -> None:
        """Answer the riders of a branch that has ended. Runs in a worker thread of the loop."""
        with self._lock:
            flight.ended = True
            riders = list(flight.queries)
        if flight.deadline is not None:
            flight.deadline.cancel()
        state = str(branch.state.name)
        if state in {"CONVERGED", "STOPPED"} and riders:
            answer = partial(self._answer_all, flight, branch, riders)
            if all(self._is_quick(query.request, branch) for query in riders):
                answer()
            else:
                self._in_pool(answer)
            return
        if state == "FAILED":
            ending = Ending(state=QueryState.FAILED, error=branch.error, progress=_progress(branch))
        else:
            ending = Ending(state=QueryState.CANCELLED, progress=_progress(branch))
        self._end_all(flight, ending)
        self._in_pool(partial(self._release, flight, branch))

    def _is_quick(self, request: QueryRequest, branch: BranchView) -> bool:
        if request.vertices is not None:
            return len(request.vertices) <= QUICK_LOOKUP
        return request.top is None or branch.values().count() <= QUICK_TOP_VERTICES

    def _answer_all(self, flight: Flight, branch: BranchView, riders: list[Query]) -> None:
        try:
            values: ValuesView = branch.values()
            endings = self._endings(flight, branch)
            shared = SharedValues(values, partial(self._in_pool, branch.release))
        except Exception as error:  # noqa: BLE001  becomes the state of the queries, which is where it is read
            self._end_all(flight, Ending(state=QueryState.FAILED, error=error))
            self._landed(flight)
            return
        # Held while the riders' answers are made, so that the first one dropped does not release under the others.
        shared.lease()
        for query in riders:
            try:
                ending = endings(self._read(query.request, values, shared))
            except Exception as error:  # noqa: BLE001  likewise
                ending = Ending(state=QueryState.FAILED, error=error)
            self._finish(query, ending)
        self._landed(flight)
        shared.give_back()

    def _endings(self, flight: Flight, branch: BranchView) -> Callable[[Answer], Ending]:
        snapshot, progress = NamedSnapshot.of(branch.snapshot), _progress(branch)
        if branch.state.name == "CONVERGED":
            certificate = getattr(branch, "certificate", None) or EXACT
            return lambda answer: Ending(
                state=QueryState.CONVERGED,
                answer=answer,
                snapshot=snapshot,
                progress=progress,
                certificate=certificate,
            )
        return lambda answer: Ending(
            state=QueryState.DEADLINE,
            answer=answer,
            snapshot=snapshot,
            progress=progress,
            certificate=APPROXIMATE,
            stopped_by=flight.stopped_by or "max_iterations",
        )

    def _read(self, request: QueryRequest, values: ValuesView, shared: SharedValues | None) -> Answer:
        """Extract what a query names, or lease all of it."""
        codec, rank = self.ids(request.loop), self.rank(request.loop)
        if request.vertices is not None:
            rows, unknown = lookup(values, request.vertices, codec)
            if request.top is not None:
                rows = best(rows, request.top, rank)
            return SmallAnswer(rows, unknown, rank=rank, codec=codec)
        if request.top is not None:
            return SmallAnswer(top(values, request.top, codec), (), rank=rank, codec=codec)
        return WholeAnswer(shared or SharedValues(values, _nothing), rank=rank, codec=codec)

    def _release(self, flight: Flight, branch: BranchView) -> None:
        branch.release()
        self._landed(flight)

    def _landed(self, flight: Flight) -> None:
        """Free a flight's place, and let those who wait take off."""
        with self._lock:
            flight.ended = True
            self._airfield.landed(flight)
        self._take_off()

    def _take_off(self) -> None:
        while True:
            with self._lock:
                waiting = self._airfield.waiting
                loop = waiting[0].loop if waiting and not self._closed else None
            if loop is None:
                return
            memory_allows = self._memory_allows(loop)
            with self._lock:
                if not (waiting and self._airfield.has_slot(memory_allows=memory_allows)):
                    return
                flight = self._airfield.take_off()
            self._in_pool(partial(self._fork, flight))

    def _memory_allows(self, name: str) -> bool:
        """Whether one more branch of this loop fits, by estimate."""
        with self._lock:
            running = len(self._airfield.running)
        if not running:
            return True
        known_until_s, vertices = self._vertices.get(name, (0.0, 0))
        now_s = time.monotonic()
        if now_s >= known_until_s:
            vertices = int(getattr(self.loop(name).statistics(), "vertices", 0))
            self._vertices[name] = (now_s + VERTICES_KNOWN_FOR_S, vertices)
        needed = (running + 1) * vertices * BRANCH_BYTES_PER_VERTEX
        return needed <= self.limits.branch_memory_bytes

    # --- ends ------------------------------------------------------------------------------------------------------

    def _finish(self, query: Query, ending: Ending) -> None:
        if query.finish(ending):
            self._keep(query)
        elif ending.answer is not None:
            ending.answer.drop()

    def _end_all(self, flight: Flight, ending: Ending) -> None:
        with self._lock:
            riders = list(flight.queries)
        for query in riders:
            self._finish(query, ending)

    def _expire(self, query: Query) -> None:
        """End a query that still waits at its deadline: there is no branch whose best value could be given."""
        if query.branch is not None or query.state.is_final:
            return
        with self._lock:
            waits = query in self._airfield.held or any(
                query in flight.queries for flight in self._airfield.waiting
            )
            if waits:
                self._airfield.leave(query)
        if waits:
            self._finish(query, Ending(state=QueryState.DEADLINE, stopped_by="deadline"))

    def _left(self, query: Query) -> None:
        """Take a cancelled query out of its flight, and cancel the branch that has lost its last rider by that."""
        with self._lock:
            abandoned = self._airfield.leave(query)
            branch = None if abandoned is None or abandoned.ended else abandoned.branch
        if branch is not None:
            branch.cancel()

    def _keep(self, query: Query) -> None:
        """Book a query that has ended, and forget those that have to go for it."""
        answer = query.answer
        for listener in self._listeners:
            listener(query)
        with self._lock:
            self._ended[query.state.value] += 1
            if query.id not in self._queries:
                # Deleted by somebody who saw its end before we booked it.
                return
            gone = self._retention.add(query.id, 256 if answer is None else answer.size_bytes)
        if gone:
            self._forget(gone)

    def _forget(self, ids: list[str]) -> None:
        answers: list[Answer] = []
        with self._lock:
            for name in ids:
                self._retention.remove(name)
                query = self._queries.pop(name, None)
                if query is not None and query.answer is not None:
                    answers.append(query.answer)
        for answer in answers:
            answer.drop()

    def _so_far(self, query: Query) -> dict[str, Any]:
        status = query.status()
        return {"snapshot": status.snapshot, "progress": status.progress}

    # --- approximate reads, offsets --------------------------------------------------------------------------------

    def _approximate(self, loop: MainLoopView, request: QueryRequest) -> Ending:
        offsets = loop.offsets()
        values: ValuesView = loop.approximation()
        statistics = loop.statistics()
        snapshot = NamedSnapshot(
            offsets=dict(sorted(offsets.items())),
            instant=datetime.now(UTC),
            version=statistics.version,
            iteration=statistics.iteration,
            delay_bound=loop.delay_bound,
        )
        return Ending(
            state=QueryState.CONVERGED,
            answer=self._read(request, values, None),
            snapshot=snapshot,
            progress=QueryProgress.of(statistics),
            certificate=APPROXIMATE,
        )

    def _watch_offsets(self) -> None:
        with self._lock:
            if self._offsets_watched or not self._airfield.held or self._closed:
                return
            self._offsets_watched = True
        self._timer.schedule(time.monotonic() + OFFSETS_INTERVAL_S, self._look_at_offsets)

    def _look_at_offsets(self) -> None:
        """Let those go whose offsets are reached. The loops have no call for this, so it is looked at often."""
        with self._lock:
            self._offsets_watched = False
            held = list(self._airfield.held)
        offsets: dict[str, dict[str, int]] = {}
        for query in held:
            name = query.request.loop
            try:
                if name not in offsets:
                    offsets[name] = self.loop(name).offsets()
            except UnknownLoop as error:
                self._left(query)
                self._finish(query, Ending(state=QueryState.FAILED, error=error))
                continue
            if _reached(offsets[name], query.request.min_offsets or {}):
                self._in_pool(partial(self._place_held, query))
        self._watch_offsets()

    def _place_held(self, query: Query) -> None:
        with self._lock:
            if query not in self._airfield.held:
                return
        try:
            flight, start = self._place(query)
        except TornadoError as error:
            self._left(query)
            self._finish(query, Ending(state=QueryState.FAILED, error=error))
            return
        if start:
            self._fork(flight)

    # --- small parts -----------------------------------------------------------------------------------------------

    def _register(self, query: Query) -> None:
        self._queries[query.id] = query
        self._submitted += 1

    def _require_open(self) -> None:
        if self._closed:
            raise NotSupported("the query service is closed", hint="Start the session or the server again.")

    def _in_pool(self, call: Callable[[], None]) -> None:
        try:
            self._pool.submit(call)
        except RuntimeError:
            # The pool is shut down: we are closing, and what must still be given back is given back here.
            call()


_INT_IDS = IntIds()


def _progress(branch: BranchView) -> QueryProgress:
    return QueryProgress.of(branch.progress())


def _reached(offsets: dict[str, int], wanted: Any) -> bool:
    return all(offsets.get(source, 0) >= offset for source, offset in wanted.items())


def _require_stored(loop: MainLoopView, version: int) -> None:
    versions = sorted(snapshot.version for snapshot in loop.snapshots())
    if version not in versions:
        shown = ", ".join(str(known) for known in versions[-10:]) or "none"
        raise InvalidArgument(
            f"at is {version}, but loop {loop.name!r} has no stored snapshot of that version; the newest are: {shown}",
            hint="Leave `at` out to ask about the input as it is now.",
        )


def _nothing() -> None:
    """Nothing to release: the main loop's own columns."""
