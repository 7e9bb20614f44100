"""The dispatcher: forks branches for queries, stops them at deadlines, and answers their queries when they end.

Threads: `take` forks in the caller's thread and a branch answers its queries in the worker thread that ends it, so no hop
between threads stands between a question and its answer. What could take longer (ranking or looking up very many, forking
for those who waited, giving columns back) goes to a small pool. One timer thread keeps deadlines and looks at offsets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from threading import Lock
from typing import Any

from ..certificate import has_no_answer
from ..clock import Clock
from ..errors import ConnectionLost, QueueFull, TornadoError, UnknownLoop, WorkerLost
from ..loop_views import BranchView, MainLoopView, ValuesView, WayView
from ..loops.statistics import BranchState
from .answers import SharedValues
from .branch_scheduler import BranchScheduler, QueryGroup
from .query import Ending, NamedSnapshot, Query, QueryProgress, QueryState
from .request import Mode, QueryRequest, ServiceLimits
from .timer import Timer

# A lookup of so many vertices takes well under a tenth of a millisecond: quick enough for a worker thread.
QUICK_LOOKUP = 1_000

OFFSETS_INTERVAL_S = 0.002
RETRY_AFTER_S = 1.0
CLOSING_S = 5.0

# State columns, parents, dirty set and queues of a branch, per vertex of its main loop: an estimate for planning only.
BRANCH_BYTES_PER_VERTEX = 64
VERTICES_WITHIN_S = 1.0


class Dispatcher:
    """Brings queries and branches together.

    Parameters
    ----------
    limits : ServiceLimits
        How many branches run and how many queries wait.
    loop : callable
        From a name to the main loop; raises `UnknownLoop`.
    vertices : callable
        How many vertices the loop of a name has, waiting for it at most so many seconds; about.
    fork : callable
        Forks the branch that a request asks for.
    ways : callable
        Finds the ways that the requests of a branch have asked for.
    answered : callable
        Puts the answer of a request into its ending, from the values of its branch, and ways.
    hold : callable
        Told of the queries that a branch answers, with its values, before they end.
    prove : callable
        Verifies the values of the branch of a request, and returns a certificate that says so.
    end : callable
        Ends a query, unless it has ended; called once for every query taken.
    clock : Clock
        What deadlines are instants of.
    """

    def __init__(
        self,
        limits: ServiceLimits,
        *,
        loop: Callable[[str], MainLoopView],
        vertices: Callable[[str, float], int],
        fork: Callable[[QueryRequest], BranchView],
        ways: Callable[[list[QueryRequest], BranchView], Mapping[int, WayView]],
        answered: Callable[[QueryRequest, ValuesView, SharedValues, Ending, Mapping[int, WayView]], Ending],
        hold: Callable[[list[Query], BranchView, SharedValues], None],
        prove: Callable[[QueryRequest, BranchView], Mapping[str, Any]],
        end: Callable[[Query, Ending], None],
        clock: Clock,
    ) -> None:
        self._limits = limits
        self._loop = loop
        self._vertices = vertices
        self._fork_for = fork
        self._find_ways = ways
        self._answered = answered
        self._hold = hold
        self._prove = prove
        self._end = end
        self._clock = clock
        self._scheduler = BranchScheduler(branches=limits.branches, queued=limits.queued)
        self._lock = Lock()
        self._closed = False
        self._offsets_watched = False
        self._timer = Timer("tornado-query-timer", clock=clock)
        self._pool = ThreadPoolExecutor(max_workers=4, thread_name_prefix="tornado-query")
        # A check takes as long as it takes to look at all edges: none stands before what is quick.
        self._checks = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tornado-check")

    def take(self, query: Query) -> None:
        """Fork for a query, or let it wait, or share a branch.

        Raises
        ------
        TornadoError
            What the loop says against the fork, where no other query shares it; the query was not taken.
        QueueFull
            When it would have to wait and too many do.
        """
        wanted = query.request.min_offsets
        if wanted and not _reached(self._loop(query.request.loop).offsets(), wanted):
            with self._lock:
                self._require_open()
                self._scheduler.hold(query, RETRY_AFTER_S)
            query.expiry = self._timer.schedule(query.deadline_at_s, partial(self._expire, query))
            self._watch_offsets()
            return
        group = self._place(query)
        if group is not None:
            self._fork(group, asked_by=query)

    def leave(self, query: Query) -> None:
        """Take a query out that has ended, and cancel the branch that has lost its last query by that."""
        with self._lock:
            abandoned = self._scheduler.leave(query)
            branch = None if abandoned is None or abandoned.ended else abandoned.branch
        if branch is not None:
            branch.cancel()

    def counts(self) -> tuple[int, int, int]:
        """How many queries wait, how many run, and on how many branches."""
        with self._lock:
            running = self._scheduler.running
            answered = sum(1 for group in running for query in group.queries if not query.state.is_final)
            return self._scheduler.count_waiting(), answered, len(running)

    def refuse(self) -> list[Query]:
        """Take no more queries, and return those that have not ended."""
        with self._lock:
            self._closed = True
            return list(self._scheduler.everybody())

    def close(self) -> None:
        """Wait for the branches that were cancelled and end the threads; after `refuse` and `leave` of all."""
        with self._lock:
            branches = [group.branch for group in self._scheduler.running if group.branch is not None]
        for branch in branches:
            branch.wait(CLOSING_S)
        self._timer.close()
        self._checks.shutdown(wait=True)
        self._pool.shutdown(wait=True)

    def in_pool(self, call: Callable[[], None], *, pool: ThreadPoolExecutor | None = None) -> None:
        """Call soon on another thread; while closing, on this one, since what is given back must be given back."""
        try:
            (pool or self._pool).submit(call)
        except RuntimeError:
            call()

    # --- forking ---------------------------------------------------------------------------------------------------

    def _place(self, query: Query, *, was_held: bool = False) -> QueryGroup | None:
        """Find or make a group for a query; returned where the caller has to fork for it."""
        memory_allows = self._memory_allows(query.request.loop, within_s=VERTICES_WITHIN_S)
        with self._lock:
            self._require_open()
            if was_held and query not in self._scheduler.held:  # another thread was faster, or it has ended
                return None
            group, start = self._scheduler.place(
                query, memory_allows=memory_allows, retry_after_s=RETRY_AFTER_S
            )
            branch = group.branch
        if branch is not None:
            query.run_on(branch)
            self._schedule_stop(group)
        elif not start and query.expiry is None:
            query.expiry = self._timer.schedule(query.deadline_at_s, partial(self._expire, query))
        return group if start else None

    def _fork(self, group: QueryGroup, *, asked_by: Query | None = None) -> None:
        """Fork for a group that has a slot. What the loop refuses is raised to the only one who asked."""
        with self._lock:
            request = group.queries[0].request if group.queries else None
        if request is None:
            self._ended(group)
            return
        try:
            branch = self._fork_for(request)
        except Exception as error:
            if isinstance(error, QueueFull) and self._wait_again(group):
                return
            with self._lock:
                alone = isinstance(error, TornadoError) and group.queries == [asked_by]
                if alone:
                    group.queries.clear()
            # Everything else a fork can raise ends as the state of its queries: nobody else would hear of it.
            self._end_all(group, Ending(state=QueryState.FAILED, error=error))
            self._ended(group)
            if alone:
                raise
            return
        with self._lock:
            group.branch = branch
            queries = list(group.queries)
            for query in queries:
                query.run_on(branch)
        if not queries:
            branch.cancel()
        self._schedule_stop(group)
        branch.add_done_callback(partial(self._branch_done, group))

    def _wait_again(self, group: QueryGroup) -> bool:
        """Let a group wait for which the loop has no room, unless nothing runs whose end would make room."""
        with self._lock:
            if len(self._scheduler.running) < 2:
                return False
            self._scheduler.put_back(group)
            queries = list(group.queries)
        for query in queries:
            if query.expiry is None:
                query.expiry = self._timer.schedule(query.deadline_at_s, partial(self._expire, query))
        return True

    def _start_waiting(self) -> None:
        """Fork for those who wait, as far as there is room."""
        while True:
            with self._lock:
                group = None if self._closed else self._scheduler.next_waiting()
            if group is None:
                return
            # Workers' reports come in on this thread: it waits for nobody.
            memory_allows = self._memory_allows(group.loop, within_s=0.0)
            with self._lock:
                group = self._scheduler.next_waiting()
                if group is None or not self._scheduler.has_slot(memory_allows=memory_allows):
                    return
                self._scheduler.start(group)
            self.in_pool(partial(self._fork, group))

    def _memory_allows(self, name: str, *, within_s: float) -> bool:
        """Whether one more branch of this loop fits, by estimate."""
        with self._lock:
            running = len(self._scheduler.running)
        if not running:
            return True
        try:
            vertices = self._vertices(name, within_s)
        except TornadoError:
            return True  # the loop was removed or has failed: its fork says so to those who wait
        return (running + 1) * vertices * BRANCH_BYTES_PER_VERTEX <= self._limits.branch_memory_bytes

    # --- ending ----------------------------------------------------------------------------------------------------

    def _schedule_stop(self, group: QueryGroup) -> None:
        earlier = group.deadline
        group.deadline = self._timer.schedule(group.deadline_at_s, partial(self._stop, group))
        if earlier is not None:
            earlier.cancel()

    def _stop(self, group: QueryGroup) -> None:
        with self._lock:
            if group.ended:
                return
            group.stopped_by = "deadline"
        try:
            group.branch.stop()
        except Exception as error:  # noqa: BLE001  becomes the state of the queries; the timer must live on
            self._end_all(group, Ending(state=QueryState.FAILED, error=error))
            self._ended(group)

    def _branch_done(self, group: QueryGroup, branch: BranchView) -> None:
        """Answer the queries of a branch that has ended. Runs in a worker thread of the loop."""
        with self._lock:
            group.ended = True
            queries = list(group.queries)
        if group.deadline is not None:
            group.deadline.cancel()
        state = branch.state
        if state in {BranchState.CONVERGED, BranchState.STOPPED} and queries:
            answer = partial(self._answer_all, group, branch, queries)
            if group.is_checked:
                self.in_pool(answer, pool=self._checks)
            elif all(_is_quick(query.request) for query in queries):
                answer()
            else:
                self.in_pool(answer)
            return
        if state is BranchState.FAILED and isinstance(branch.error, WorkerLost):
            self.in_pool(partial(self._fork_again, group, branch))
            return
        if state is BranchState.FAILED:
            ending = Ending(state=QueryState.FAILED, error=branch.error, progress=_progress(branch))
        else:
            ending = Ending(state=QueryState.CANCELLED, progress=_progress(branch))
        self._end_all(group, ending)
        self.in_pool(partial(self._release, group, branch))

    def _answer_all(self, group: QueryGroup, branch: BranchView, queries: list[Query]) -> None:
        try:
            values: ValuesView = branch.values()
            ending = _ending(group, queries[0].request, branch)
            ways = self._ways_of_all(queries, branch)
            if ways is not None:
                branch.give_up_ways()
            if group.is_checked:
                ending = replace(ending, certificate=self._prove(queries[0].request, branch))
        except WorkerLost:
            self._fork_again(group, branch)
            return
        except Exception as error:  # noqa: BLE001  becomes the state of the queries, which is where it is read
            self._end_all(group, Ending(state=QueryState.FAILED, error=error))
            self._release(group, branch)
            return
        shared = SharedValues(values, partial(self.in_pool, branch.release))
        # Held while the answers are made, so that the first one that is dropped does not release under the others.
        shared.lease()
        self._hold(queries, branch, shared)
        are_lost = False
        for query in queries:
            try:
                own = self._find_ways([query.request], branch) if ways is None else ways
                self._end(query, self._answered(query.request, values, shared, ending, own))
            except WorkerLost:
                are_lost = True
            except Exception as error:  # noqa: BLE001  likewise
                self._end(query, Ending(state=QueryState.FAILED, error=error))
        branch.give_up_ways()
        shared.give_back()
        if are_lost:
            self.in_pool(partial(self._fork_again, group, branch))
        else:
            self._ended(group)

    def _ways_of_all(self, queries: list[Query], branch: BranchView) -> Mapping[int, WayView] | None:
        """Find the ways of all questions at once; None: they are too many together, or one has none, which is for each alone to know."""
        try:
            return self._find_ways([query.request for query in queries], branch)
        except WorkerLost:
            raise
        except Exception:
            if len(queries) == 1:
                raise
            return None

    def _fork_again(self, group: QueryGroup, branch: BranchView) -> None:
        """Fork once more, for the queries that still have time: the workers were lost with what the branch had found."""
        branch.release()
        with self._lock:
            open_ones = [query for query in group.queries if not query.state.is_final]
            now_s = self._clock.monotonic()
            late = [query for query in open_ones if query.deadline_at_s <= now_s]
            group.begin_again([query for query in open_ones if query not in late])
        for query in late:
            self._end(query, Ending(state=QueryState.DEADLINE, stopped_by="deadline"))
        self._fork(group)

    def _release(self, group: QueryGroup, branch: BranchView) -> None:
        try:
            branch.release()
        finally:  # a slot that is not freed is lost for ever
            self._ended(group)

    def _ended(self, group: QueryGroup) -> None:
        """Free a group's slot, and fork for those that wait."""
        with self._lock:
            group.ended = True
            self._scheduler.end(group)
        self._start_waiting()

    def _end_all(self, group: QueryGroup, ending: Ending) -> None:
        with self._lock:
            queries = list(group.queries)
        for query in queries:
            self._end(query, ending)

    # --- waiting ---------------------------------------------------------------------------------------------------

    def _expire(self, query: Query) -> None:
        """End a query that still waits at its deadline: there is no branch whose best value could be given."""
        with self._lock:
            if not self._scheduler.waits(query):
                return
            self._scheduler.leave(query)
        self._end(query, Ending(state=QueryState.DEADLINE, stopped_by="deadline"))

    def _watch_offsets(self) -> None:
        with self._lock:
            if self._offsets_watched or not self._scheduler.held or self._closed:
                return
            self._offsets_watched = True
        self._timer.schedule(self._clock.monotonic() + OFFSETS_INTERVAL_S, self._look_at_offsets)

    def _look_at_offsets(self) -> None:
        """Let those go whose offsets are reached. The loops do not call when theirs move, so it is looked at often."""
        with self._lock:
            self._offsets_watched = False
            held = list(self._scheduler.held)
        offsets: dict[str, dict[str, int]] = {}
        for query in held:
            name = query.request.loop
            try:
                if name not in offsets:
                    offsets[name] = self._loop(name).offsets()
            except UnknownLoop as error:
                self.leave(query)
                self._end(query, Ending(state=QueryState.FAILED, error=error))
                continue
            if _reached(offsets[name], query.request.min_offsets or {}):
                self.in_pool(partial(self._place_held, query))
        self._watch_offsets()

    def _place_held(self, query: Query) -> None:
        try:
            group = self._place(query, was_held=True)
        except TornadoError as error:
            self.leave(query)
            self._end(query, Ending(state=QueryState.FAILED, error=error))
            return
        if group is not None:
            self._fork(group)

    def _require_open(self) -> None:
        if self._closed:
            raise ConnectionLost("the query service is closed", hint="Start the session or the server again.")


def _is_quick(request: QueryRequest) -> bool:
    # Ranking, counting and sorting pass over all vertices; looking a few up does not.
    if request.points is not None or request.paths is not None:
        return False
    return request.vertices is not None and len(request.vertices) <= QUICK_LOOKUP


def _ending(group: QueryGroup, request: QueryRequest, branch: BranchView) -> Ending:
    """How a branch that has values ends its queries, the answer left out; they have what makes a branch in common."""
    # Who asks what the values are worth that the loop has is told so, whatever it is.
    converged = branch.state is BranchState.CONVERGED or request.mode is Mode.CERTIFIED
    is_over = converged or has_no_answer(branch.certificate)
    # Without a cap that was named it is the method's own: it comes no nearer.
    by_iterations = None if request.most_iterations is None else "max_iterations"
    return Ending(
        state=QueryState.CONVERGED if converged else QueryState.DEADLINE,
        snapshot=NamedSnapshot.of(branch.snapshot),
        progress=_progress(branch),
        certificate=branch.certificate,
        start=branch.start,
        stopped_by=None if is_over else group.stopped_by or by_iterations,
    )


def _progress(branch: BranchView) -> QueryProgress:
    return QueryProgress.of(branch.progress())


def _reached(offsets: Mapping[str, int], wanted: Mapping[str, int]) -> bool:
    return all(offsets.get(source, 0) >= offset for source, offset in wanted.items())
