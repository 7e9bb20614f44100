"""The query service: takes questions in, hands them to the dispatcher, and keeps their answers for a while.

Guarantees: a query ends once, in one of four final states, at its deadline at the latest plus the time the branch takes
to stop, or its check to end; its cut holds everything that was admitted before it was submitted; its branch is cancelled
when the last query on it is, and released when the last answer that reads it goes. No more branches run than count and memory allow, no
more queries wait than the queue holds.
"""

from __future__ import annotations

import math
import secrets
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

from ..certificate import NONE
from ..errors import InvalidArgument, NameTaken, NotSupported, TornadoError, UnknownLoop, UnknownQuery
from ..ingest.ingester import IngesterState, IngesterStatistics
from ..intake.push import Pusher
from ..loop_views import BranchView, MainLoopView, MasterView, ValuesView, WayView
from ..loops.ways import require_ways
from .adoptions import Adoptions
from .answers import Answer, CopiedValues, SharedValues, SmallAnswer, WholeAnswer
from .dispatch import Dispatcher
from .extraction import extracted
from .findings import Findings
from .ids import IdCodec, IntIds
from .last_known import LastKnown, Standing
from .lifetime import Lifetime
from .order import may_end_with_order, order_of
from .parameters import check_parameters, parameters_inside
from .paths import ways_of
from .proofs import proved, require_certifying, require_checked
from .query import Ending, NamedSnapshot, Query, QueryProgress, QueryState
from .request import Mode, QueryRequest, ServiceLimits
from .retention import Retention
from .rows import AnswerForm
from .served_stream import ServedStream
from .tracing import current_parent, trace_question

# What a finished query takes without its answer.
QUERY_BYTES = 256
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
        Whose loops are asked, and by whose clock.
    limits : ServiceLimits
        What is refused or forgotten.
    pusher : Pusher, optional
        What the intakes of its streams share; left out, they have no log, and a quarantine in memory.
    """

    def __init__(
        self, master: MasterView, *, limits: ServiceLimits | None = None, pusher: Pusher | None = None
    ) -> None:
        self.master = master
        self.clock = master.clock
        self.limits = limits or ServiceLimits()
        self.pusher = pusher or Pusher(clock=master.clock)
        self._lock = Lock()
        self._queries: dict[str, Query] = {}
        self._retention = Retention(
            results=self.limits.retained_results, size_bytes=self.limits.retained_size_bytes
        )
        self._streams: dict[str, ServedStream] = {}
        self._known: dict[str, tuple[MainLoopView, LastKnown[Any]]] = {}  # by name
        self._listeners: list[Callable[[Query], None]] = []
        self._loop_listeners: list[Callable[[str], None]] = []
        self._ended: Counter[str] = Counter()
        self._submitted = 0
        self._refused = 0
        self.lifetime = Lifetime()
        self.worker_loads: Callable[[], Sequence[int]] = tuple  # as somebody looks at them anyway
        self.workers_said: Callable[[], str | None] = lambda: None  # where their number is chosen
        self._adoptions = Adoptions(self.loop)
        self._dispatcher = Dispatcher(
            self.limits,
            loop=self.loop,
            vertices=self._known_vertices,
            fork=self._fork,
            ways=lambda requests, branch: ways_of(requests, branch, self.codec_of_values),
            answered=self._answered,
            hold=self._adoptions.hold,
            prove=lambda request, branch: proved(
                branch,
                self.codec_of(self.loop(request.loop).stream_name),
                self.clock,
                given=request.verifies,
            ),
            end=self._end,
            clock=self.clock,
        )

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

    def stream_of(self, loop: str) -> str:
        """Return the name of the stream that a loop reads.

        Raises
        ------
        UnknownLoop
            When no loop of that name runs.
        """
        return self.loop(loop).stream_name

    def add_stream(self, served: ServedStream) -> None:
        """Serve a stream that is about to begin, before its loops can be asked or fed.

        Raises
        ------
        NameTaken
            When one of that name is served.
        """
        with self._lock:
            if served.name in self._streams:
                raise NameTaken(
                    f"loops read a stream named {served.name!r} already",
                    hint="Start this one on it, or give it another name.",
                )
            self._streams[served.name] = served

    def end_stream(self, served: ServedStream) -> None:
        """End a stream that no loop reads; another one may take its name, and may have it by now."""
        with self._lock:
            if self._streams.get(served.name) is served:
                del self._streams[served.name]
        served.end()

    def streams(self) -> list[ServedStream]:
        """Return all streams that are served, by name."""
        with self._lock:
            return [served for _, served in sorted(self._streams.items())]

    def served(self, loop: MainLoopView) -> ServedStream:
        """Return what belongs to the stream that a loop reads; made here, where nobody has begun it with `add_stream`.

        Raises
        ------
        UnknownLoop
            When no loop of its name runs.
        ConnectionLost
            When its stream has ended, and another one has the name.
        """
        with self._lock:
            served = self._streams.get(loop.stream_name)
            if served is None:
                self.loop(loop.name)
                served = self._streams[loop.stream_name] = ServedStream(self.pusher.intake(loop.stream_name))
        served.intake.begin(loop.stream)
        return served

    def forget_loop(self, name: str) -> None:
        """Forget what was known of a loop that was removed; another one may take its name.

        Answers of all vertices lie in that memory, so they are forgotten.
        """
        with self._lock:
            self._known.pop(name, None)
        self._forget(
            [query.id for query in self.queries() if query.request.loop == name and query.request.is_whole],
            f"loop {name!r} was removed",
        )
        self._adoptions.forget(name)
        for served in self.streams():
            served.results.pop(name, None)
        for listener in self._loop_listeners:
            listener(name)

    def known_statistics(self, loops: Collection[str], within_s: float) -> dict[str, Standing[Any]]:
        """Return the statistics of loops as they are now; of those that do not answer in time, or fail, as they were last.

        All are asked at once, so the wait is at most `within_s`, and none hides another. One that does not run is left out.
        """
        until_s = self.clock.monotonic() + within_s
        asked = {}
        for name in loops:
            with suppress(UnknownLoop):
                known = self._last_known(name)
                asked[name] = known, known.begin()
        return {
            name: known.standing(question, max(0.0, until_s - self.clock.monotonic()))
            for name, (known, question) in asked.items()
        }

    def codec_of(self, stream: str) -> IdCodec:
        """Return the codec of a stream's ids, which are numbers unless it was begun with another one (`add_stream`)."""
        served = self._streams.get(stream)
        return _INT_IDS if served is None else served.codec

    def codec_of_values(self, loop: str) -> IdCodec:
        """Return the codec of what a loop has values of: that of its stream, but that features have numbers, whatever its points have."""
        found = self.loop(loop)
        if getattr(found.program, "values_are_of", "vertex") == "feature":
            return _INT_IDS
        return self.codec_of(found.stream_name)

    def sources(self, loop: str, offsets: Mapping[str, int] | None = None) -> list[IngesterStatistics]:
        """Return where the sources of a loop are; of those of an earlier run that give nothing in this one, the offset.

        The loop is asked for `offsets` where they are not given, which may take its time.
        """
        found = self.served(self.loop(loop)).sources()
        for source, offset in (self.loop(loop).offsets() if offsets is None else offsets).items():
            if source not in found:
                found[source] = IngesterStatistics(
                    source=source,
                    state=IngesterState.READY,
                    records=0,
                    accepted=0,
                    rejected=0,
                    edges=0,
                    offset=offset,
                    rows_per_s=0.0,
                    read_ahead_batches=0,
                    last_error=None,
                )
        return [one for _, one in sorted(found.items())]

    def rank(self, loop: str) -> str:
        """Return what the loop's program ranks by: "nearest" or "highest"."""
        return str(getattr(self.loop(loop).program, "rank", "nearest"))

    def form(self, loop: str) -> AnswerForm:
        """Return how the values of a loop are ranked, read and written."""
        found = self.loop(loop)
        program = found.program
        return AnswerForm(
            rank=self.rank(loop),
            codec=self.codec_of_values(loop),
            worst=getattr(program, "worst", math.inf),
            values_are_ids=getattr(program, "values_are_ids", False),
            further_tables=getattr(program, "tables", ()),
            values_are_of=getattr(program, "values_are_of", "vertex"),
            finds_ways=getattr(program, "finds_ways", False),
            has_seconds=getattr(program, "beside", None) is not None,
        )

    def submit(self, request: QueryRequest) -> Query:
        """Admit a question and return its query.

        An approximate one is answered on return. Any other has forked on return, or waits. Blocks while the loop is being
        restored, for a stored snapshot (`at`), which is read from the store, and approximate reads for the workers.

        Raises
        ------
        UnknownLoop, InvalidArgument, NotSupported
            When the question cannot be answered.
        QueueFull
            When too many wait.
        ConnectionLost
            When the service is closed.
        """
        self.lifetime.require()
        try:
            return self._submit(request)
        except TornadoError:
            with self._lock:
                self._refused += 1
            raise

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
        if not self.abandon(query):
            self._forget([query.id])
        return query

    def adopt(self, id: str) -> Mapping[str, Any]:  # noqa: A002  the resource's word
        """Have the loop that was asked take over what a query has found; return the certificate of that.

        Raises
        ------
        UnknownQuery, UnknownLoop
            When there is none of that id, or its loop was removed.
        CannotAdopt
            When the loop adopts nothing, the query has not converged, is of other parameters or of a stored snapshot, or its
            values have been given back.
        """
        return self._adoptions.adopt(self.get(id))

    def keep_answers(self) -> None:
        """Copy the answers that lie in the memory of the workers, which others are to take the place of."""
        for name in list(self.master.loops):
            self._adoptions.forget(name)
        copies: dict[SharedValues, SharedValues] = {}
        for query in self.queries():
            if isinstance(query.answer, WholeAnswer):
                query.answer.copy(copies)

    def discard(self, query: Query) -> None:
        """Cancel a query and forget it, since nobody knows of it."""
        self.abandon(query)
        self._forget([query.id])

    def abandon(self, query: Query) -> bool:
        """Cancel a query, unless it has ended; return whether it had not. Keeps the resource, unlike a second `cancel`."""
        status = query.status(asks=False)
        ended = query.finish(
            Ending(state=QueryState.CANCELLED, snapshot=status.snapshot, progress=status.progress)
        )
        if ended:
            self._dispatcher.leave(query)
            self._keep(query)
        return ended

    def versions_in_use(self, stream: str) -> list[int]:
        """Return the versions of stored snapshots that queries under way name, of all loops on a stream."""
        on_it = {name for name, loop in list(self.master.loops.items()) if loop.stream_name == stream}
        return [
            query.request.at
            for query in self.queries()
            if query.request.at is not None and query.request.loop in on_it and not query.state.is_final
        ]

    def add_listener(self, listener: Callable[[Query], None]) -> None:
        """Call for every query that ends (metrics); must be quick."""
        self._listeners.append(listener)

    def add_loop_listener(self, listener: Callable[[str], None]) -> None:
        """Call for every loop that was removed (metrics), when it is no longer among the master's; must be quick."""
        self._loop_listeners.append(listener)

    def statistics(self) -> QueryStatistics:
        """Return counts and sizes as they are now."""
        waiting, running, branches = self._dispatcher.counts()
        with self._lock:
            states = {state.value: self._ended[state.value] for state in QueryState}
            states |= {QueryState.QUEUED.value: waiting, QueryState.RUNNING.value: running}
            return QueryStatistics(
                submitted=self._submitted,
                refused=self._refused,
                states=states,
                waiting=waiting,
                branches_running=branches,
                retained_results=len(self._retention),
                retained_size_bytes=self._retention.total_bytes,
            )

    @property
    def is_open(self) -> bool:
        """Whether questions are taken."""
        return not self.lifetime.is_over

    def close(self) -> None:
        """Cancel what runs, forget what is kept, and take no more questions. The loops are not ours to close."""
        with self._lock:  # what is registered before is cancelled, and nothing is after
            if not self.lifetime.end():
                return
        for query in self._dispatcher.refuse():
            self.abandon(query)
        self._dispatcher.close()
        self._forget([query.id for query in self.queries()])
        self._adoptions.close()

    def _submit(self, request: QueryRequest) -> Query:
        deadline_s = request.checked(self.limits)
        loop = self.loop(request.loop)
        codec = self.codec_of(loop.stream_name)
        for name, named in (("vertices", request.vertices), ("paths", request.paths)):
            if named is not None:
                self.codec_of_values(request.loop).encode(named, name=name)
        if request.paths is not None:
            require_ways(loop.program)
        check_parameters(loop.program, request.parameters, codec)
        if request.check:
            require_checked(loop.program)
        if request.points is not None and not getattr(loop.program, "tells", ()):
            raise NotSupported(f"{type(loop.program).__name__} predicts nothing of points")
        request = replace(request, ends_with_order=may_end_with_order(loop.program, request))
        if request.mode is Mode.CERTIFIED:
            require_certifying(loop, parameters_inside(loop.program, request.parameters, codec))
        query = Query(
            secrets.token_hex(8),
            request,
            deadline_s,
            clock=self.clock,
            stream=loop.stream_name,
            parent=current_parent(),
        )
        if request.mode is Mode.APPROXIMATE:
            ending = self._approximate(loop, request)
            self._register(query)
            self._end(query, ending)
            return query
        # Registered first: a branch may end, and its end be booked, before the fork returns.
        self._register(query)
        try:
            if request.at is not None:
                _require_stored(loop, request.at)  # from now on it stays stored
            self._dispatcher.take(query)
        except TornadoError:
            self._forget([query.id])
            raise
        return query

    def _last_known(self, name: str) -> LastKnown[Any]:
        with self._lock:
            # Inside: a loop that is removed in between would be known for ever.
            loop = self.loop(name)
            of, known = self._known.get(name, (None, None))
            if known is None or of is not loop:  # another loop had the name
                known = LastKnown(loop.statistics, clock=self.clock)
                self._known[name] = loop, known
            return known

    def _known_vertices(self, name: str, within_s: float) -> int:
        """How many vertices a loop had when it was last asked; 0 where it has never answered."""
        known = self._last_known(name).get(within_s, max_age_s=VERTICES_KNOWN_FOR_S)
        return 0 if known is None else int(known.record.vertices)

    def _fork(self, request: QueryRequest) -> BranchView:
        # Vertices are looked up only now: while a question waits for offsets, its vertex may be seen for the first time.
        loop = self.loop(request.loop)
        parameters = parameters_inside(loop.program, request.parameters, self.codec_of(loop.stream_name))
        branch: BranchView = loop.fork(
            parameters=parameters or None,
            at=request.at,
            max_iterations=request.most_iterations,
            reads_edges=request.check,
            reads_ways=request.paths is not None,
            top=request.ordered,
        )
        return branch

    def _approximate(self, loop: MainLoopView, request: QueryRequest) -> Ending:
        # Statistics first: the values are then at least as new as the version and the offsets, which belong together.
        statistics = loop.statistics()
        values: ValuesView = loop.approximation()
        if request.is_whole:
            values = CopiedValues(values, form=self.form(request.loop))
        return Ending(
            state=QueryState.CONVERGED,
            found=self._found(request, values),
            answer=extracted(request, values, SharedValues(values, _nothing), self.form(request.loop)),
            snapshot=NamedSnapshot(
                stream=loop.stream_name,
                offsets=dict(sorted(statistics.sources.items())),
                instant=self.clock.now(),
                version=statistics.version,
                iteration=statistics.iteration,
                delay_bound=loop.delay_bound,
                is_durable=loop.stream.is_durable,
            ),
            progress=QueryProgress.of(statistics),
            certificate=NONE,
        )

    def _answered(
        self,
        request: QueryRequest,
        values: ValuesView,
        shared: SharedValues,
        ending: Ending,
        ways: Mapping[int, WayView],
    ) -> Ending:
        """Return how a query ends with the values of its branch."""
        found = self._found(request, values)
        answer = extracted(request, values, shared, self.form(request.loop), ways)
        ending = replace(ending, found=found)
        certificate = ending.certificate or NONE
        if not isinstance(answer, SmallAnswer) or answer.ranked is None or "norm" not in certificate:
            return replace(ending, answer=answer)
        order = order_of(answer.ranked, certificate["bound"], certificate["norm"])
        if order["order"] == "proved":  # that is what was asked, however far the values are
            ending = replace(ending, state=QueryState.CONVERGED, stopped_by=None)
        return replace(ending, answer=answer, certificate={**certificate, **order})

    def _found(self, request: QueryRequest, values: ValuesView) -> Findings | None:
        """What a loop has found beside values; None of a program that tells nothing."""
        loop = self.loop(request.loop)
        if not getattr(loop.program, "tells", ()) and not getattr(loop.program, "tables", ()):
            return None
        given = parameters_inside(loop.program, request.parameters, self.codec_of(loop.stream_name))
        told = {name: array for name, array in values.found().items() if name in loop.program.tells}
        return Findings.of(loop.program.with_parameters(given), told, request.points)

    def _end(self, query: Query, ending: Ending) -> None:
        if query.finish(ending):
            self._keep(query)
        elif ending.answer is not None:
            ending.answer.drop()

    def _keep(self, query: Query) -> None:
        """Book a query that has ended, and forget those that have to go for it."""
        for listener in self._listeners:
            listener(query)
        trace_question(query, self.clock.now().timestamp())
        size_bytes = (
            QUERY_BYTES
            + (0 if query.answer is None else query.answer.size_bytes)
            + (0 if query.found is None else query.found.size_bytes)
        )
        with self._lock:
            self._ended[query.state.value] += 1
            # Somebody who saw its end may have deleted it before it is booked.
            gone = self._retention.add(query.id, size_bytes) if query.id in self._queries else []
        self._forget(gone)

    def _register(self, query: Query) -> None:
        with self._lock:
            self.lifetime.require()
            self._queries[query.id] = query
            self._submitted += 1

    def _forget(self, ids: list[str], why: str | None = None) -> None:
        answers: list[Answer] = []
        with self._lock:
            for name in ids:
                self._retention.remove(name)
                query = self._queries.pop(name, None)
                if query is not None and query.answer is not None:
                    answers.append(query.answer)
        for answer in answers:
            answer.drop(why)


_INT_IDS = IntIds()


def _require_stored(loop: MainLoopView, version: int) -> None:
    versions = sorted(snapshot.version for snapshot in loop.snapshots())
    if version not in versions:
        shown = ", ".join(str(known) for known in versions[-10:]) or "none"
        raise InvalidArgument(
            f"at is {version}, but loop {loop.name!r} has no stored snapshot of that version; the newest are: {shown}",
            hint="Leave `at` out to ask about the input as it is now.",
        )


def _nothing() -> None:
    """Release nothing: the columns are the main loop's own."""
