"""What a Python program holds: a running loop to feed and ask, and a query under way."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Unpack

import numpy as np
import numpy.typing as npt

from ..errors import CheckFailed, InvalidArgument, ResultUnavailable
from ..ingest.callers_times import timed_edges
from ..ingest.interner import Draft
from ..intake.checkpoints import CheckpointStatistics
from ..loop_views import MainLoopView
from ..records.callers_columns import vertex_ids
from ..records.edge_batch import EdgeBatch
from ..records.operations import INSERT, REMOVE, REPLACE
from ..records.point_schema import Points
from ..value_types import Ids
from .answers import Selection, all_unknown
from .callers_lists import columns_of_table, plain_number, vertices_of_caller
from .events import Done
from .findings import Predictions, assigned, batch_to_predict
from .follower import INTERVAL_S, Changes, Follower, checked_interval
from .ids import StringIds
from .paths import PathTo
from .proofs import CLAIMS, CLAIMS_OF_POINTS
from .pushed_points import PointArguments, points_of
from .query import NamedSnapshot, Query, QueryState, QueryStatus
from .request import Mode, QueryRequest
from .result import QueryResult
from .service import QueryService

INSERT_SOURCE = "insert"
PROGRESS_INTERVAL_S = 0.05
# An event loop is woken by the end itself; this only bounds one wait.
LONG_S = 3600.0


class QueryHandle:
    """A query under way. Awaitable; what needs the end waits for it.

    Parameters
    ----------
    service : QueryService
    query : Query
    """

    def __init__(self, service: QueryService, query: Query) -> None:
        self._service = service
        self._query = query
        self._result: QueryResult | None = None

    @property
    def id(self) -> str:
        """The name of the query as a resource."""
        return self._query.id

    @property
    def state(self) -> QueryState:
        """Where the query is; does not wait."""
        return self._query.state

    def status(self) -> QueryStatus:
        """Take one look; does not wait."""
        return self._asked().status()

    def result(self, timeout_s: float | None = None) -> QueryResult:
        """Wait for the end and return the values; at a deadline these are the best so far.

        Raises
        ------
        TimeoutError
            When it has not ended after `timeout_s`; the query goes on.
        UnknownVertex
            When none of the vertices asked for was ever seen.
        ResultUnavailable
            When it was cancelled, or its deadline passed while it waited.
        Exception
            Why the query failed, where it did.
        """
        if self._result is None:
            if not self._asked().wait(timeout_s):
                raise TimeoutError(f"query {self.id} is {self.state.value} after {timeout_s} s")
            result = result_of(self._query)
            if result.unknown and result.is_empty:
                raise all_unknown(result.unknown, result.values_are_of)
            self._result = result
        return self._result

    @property
    def values(self) -> dict[Any, Any]:
        """Values by vertex, as `QueryResult.values` says; waits."""
        return self.result().values

    @property
    def snapshot(self) -> NamedSnapshot | None:
        """Which prefix of the input the answer is for; waits."""
        return self.result().snapshot

    @property
    def certificate(self) -> Mapping[str, Any] | None:
        """What is known of the values; waits."""
        return self.result().certificate

    @property
    def paths(self) -> list[PathTo]:
        """The ways that the question asked for, see `QueryResult.paths`; waits."""
        return self.result().paths

    @property
    def predictions(self) -> Predictions:
        """Of the points that the question named; waits."""
        return self.result().predictions

    def predict(self, features: Any) -> npt.NDArray[Any]:
        """Return `result().predict(features)`."""
        return self.result().predict(features)

    def assign(self, features: Any) -> tuple[Ids, npt.NDArray[np.float64]]:
        """Return `result().assign(features)`."""
        return self.result().assign(features)

    def table(self, name: str) -> Any:
        """Return `result().table(name)`."""
        return self.result().table(name)

    @property
    def unknown(self) -> list[Any]:
        """Vertices that were asked for and never seen; waits."""
        return self.result().unknown

    def check(self) -> Mapping[str, Any]:
        """Have the answer verified, if it was not, and return its certificate; waits.

        One that was asked for with `check=True` is verified already. Of another one the version of the graph must be there
        still: nothing has come in since, or it is stored. Then the same is asked once more with a check, and compared. Where
        values have a bound they may differ by both bounds; then it is not compared which of them are the best. Of a program that
        learns it is this answer that is verified, on the points of its version.

        Raises
        ------
        CheckFailed
            When the answer is wrong.
        ResultUnavailable
            When its version of the graph is gone, or it was stopped before its end.
        NotSupported
            When nothing verifies answers of the program.
        """
        result = self.result()
        certificate = result.certificate or {}
        if certificate.get("checked"):
            return certificate
        request, snapshot = self._query.request, result.snapshot
        claims = CLAIMS_OF_POINTS if result.is_learned else CLAIMS
        if request.check or certificate.get("kind") not in claims or snapshot is None:
            raise ResultUnavailable(
                f"query {self.id} was stopped before its end: its values claim nothing that could be checked",
                hint="Ask again with more time.",
            )
        loop = self._service.loop(request.loop)
        stored = any(one.version == snapshot.version for one in loop.snapshots())
        at = snapshot.version if stored else None
        asked = replace(
            request, mode=Mode.EXACT, check=True, at=at, min_offsets=None, vertices=request.named, paths=None
        )
        if claims is CLAIMS_OF_POINTS:
            codec = self._service.codec_of_values(loop.name)
            given = result.given(self.id, codec, is_whole=request.is_whole)
            asked = replace(asked, verifies=given, vertices=None, top=1, points=None)
            return QueryHandle(self._service, self._service.submit(asked)).result().certificate or {}
        if "bound" in certificate:
            asked = replace(asked, top=None)
        again = QueryHandle(self._service, self._service.submit(asked)).result()
        if again.snapshot is None or again.snapshot.version != snapshot.version:
            raise ResultUnavailable(
                f"query {self.id} is an answer to version {snapshot.version} of the graph, which has changed since",
                hint="Ask with check=True: then the answer is verified on its own version.",
            )
        if not result.agrees_with(again) or again.contradicts(result):
            raise CheckFailed(f"query {self.id} has other values than a checked answer at the same version")
        return again.certificate or {}

    def to_numpy(self) -> Any:
        """Return `result().to_numpy()`."""
        return self.result().to_numpy()

    def to_arrow(self) -> Any:
        """Return `result().to_arrow()`."""
        return self.result().to_arrow()

    def to_pandas(self) -> Any:
        """Return `result().to_pandas()`."""
        return self.result().to_pandas()

    def progress(self, interval_s: float = PROGRESS_INTERVAL_S) -> Iterator[QueryStatus]:
        """Iterate over looks at the query, one now, then one an interval, and a last one at its end."""
        while True:
            status = self.status()
            yield status
            if status.state.is_final:
                return
            self._query.wait(interval_s)

    def cancel(self) -> bool:
        """Cancel, and free what works for it; return whether it had not ended before."""
        return self._service.abandon(self._asked())

    def __await__(self) -> Generator[Any, None, QueryResult]:
        return self._finished().__await__()

    async def _finished(self) -> QueryResult:
        done = Done(self._asked())
        try:
            while not await done.wait(LONG_S):
                pass
        finally:
            done.close()
        return self.result()

    def _asked(self) -> Query:
        """The query, in the process that it runs in."""
        self._service.lifetime.require_this_process()
        return self._query

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}: {self.state.value}>"


class LoopHandle:
    """A running main loop: feed it, read it, ask it.

    Parameters
    ----------
    service : QueryService
    loop : MainLoop
    """

    def __init__(self, service: QueryService, loop: MainLoopView) -> None:
        self._service = service
        # Kept: when its stream has ended, another one may have the name.
        self._served = service.served(loop)
        self.loop = loop

    @property
    def name(self) -> str:
        """What the loop is called."""
        return self.loop.name

    @property
    def program(self) -> Any:
        """The vertex program."""
        return self.loop.program

    def insert(
        self, src: Any = None, dst: Any = None, weight: Any = None, **points: Unpack[PointArguments]
    ) -> int:
        """Add edges, or points: all of them or, with an error that names the first bad entry, none.

        Parameters
        ----------
        src, dst : column of int (or str, where the loop has string ids)
            Lists, NumPy arrays, Arrow arrays, pandas columns; or one table in `src` with the columns `src`, `dst` and
            `weight`.
        weight : column of float, or one number, optional
            1.0 where left out.
        times : column of seconds since 1970, ISO 8601 text or datetime, optional
            Of edges: when each was, for a stream with a window. Left out, that is when they are admitted.
        ids : column of int
            Of points. One that is there takes the place of the point with its id.
        labels, weights : column of float, or one number, optional
            Of points. A point without a label teaches nothing that needs one; weights are 1.0 where left out.
        features : array of [points, features], sparse matrix of SciPy, DataFrame, Arrow table or list of dict
            Of points; see `PointBatch.of`.

        Returns
        -------
        int
            The version of the stream that has them. Every query from now on does.

        Raises
        ------
        InvalidArgument
            At a bad entry; nothing was taken.
        QueueFull
            When the loop lags for too long; nothing was taken.
        """
        return self._push(INSERT, src, dst, weight, **points)

    def remove(
        self, src: Any = None, dst: Any = None, weight: Any = None, *, ids: Any = None, times: Any = None
    ) -> int:
        """Take edges away: of these weights, or the oldest src -> dst where none is given; or points. Otherwise as `insert`.

        Removing what is not there is counted, not an error.
        """
        return self._push(REMOVE, src, dst, weight, ids=ids, times=times)

    def replace(
        self, src: Any = None, dst: Any = None, weight: Any = None, **points: Unpack[PointArguments]
    ) -> int:
        """Put these edges in the place of whatever edges src -> dst there are; or points. Otherwise as `insert`."""
        return self._push(REPLACE, src, dst, weight, **points)

    def add_vertices(self, ids: Any) -> int:
        """Let vertices be seen that need have no edge: all of them or, with an error that names the first bad entry, none.

        They have a row in every whole answer from then on, with the value that the program begins with. One that was seen
        stays as it is.

        Parameters
        ----------
        ids : column of int (or str, where the loop has string ids)
            A list, NumPy array, Arrow array or pandas column.

        Returns
        -------
        int
            The version of the graph that has them. Every query from now on does.

        Raises
        ------
        InvalidArgument
            At a bad entry; nothing was taken.
        QueueFull
            When the loop lags for too long; nothing was taken.
        """
        self._service.lifetime.require_this_process()
        codec = self._served.codec
        if isinstance(codec, StringIds):
            ids = codec.interner.intern(ids)
        return self._served.intake.mention(INSERT_SOURCE, vertex_ids(ids, name="ids"))

    def predict(self, features: Any) -> npt.NDArray[Any]:
        """Predict points with what the main loop has by now, at once: classes, values or clusters, one for each point.

        Parameters
        ----------
        features : array of [points, features], sparse matrix of SciPy, DataFrame, Arrow table or list of dict
            See `PointBatch.of`.

        Raises
        ------
        InvalidArgument
            At a bad entry, or when the loop has found too little yet.
        NotSupported
            When it predicts nothing.
        """
        return next(iter(self.predictions(features).values()))

    def predictions(self, features: Any) -> Predictions:
        """As `predict`, with all that is known: ``label``, ``margin`` and ``probability``; ``value``; ``cluster`` and ``distance``."""
        request = QueryRequest(
            loop=self.name, mode=Mode.APPROXIMATE, points=batch_to_predict(self._declared, features)
        )
        return result_of(self._service.submit(request)).predictions

    def assign(self, features: Any) -> tuple[Ids, npt.NDArray[np.float64]]:
        """Assign points to clusters of the main loop at once: the cluster of each, int64[n], and its distance from the centroid; see `predict`."""
        return assigned(self.predictions(features))

    @property
    def validation(self) -> Mapping[str, float | None] | None:
        """What the main loop predicted of points before it learnt from them; see `LoopStatistics.validation`."""
        found: Mapping[str, float | None] | None = self._running().statistics().validation
        return found

    @property
    def _declared(self) -> Points | None:
        return getattr(self.program, "declared_points", None)

    def read(self, vertices: Sequence[Any] | None = None, *, top: int | None = None) -> QueryResult:
        """Read the main loop as it is, at once: approximate while changes are being worked in."""
        request = QueryRequest(
            loop=self.name,
            mode=Mode.APPROXIMATE,
            vertices=vertices_of_caller(vertices),
            top=plain_number(top),
        )
        return result_of(self._service.submit(request))

    def query(
        self,
        vertices: Sequence[Any] | None = None,
        *,
        top: int | None = None,
        deadline_s: float | None = None,
        max_iterations: int | None = None,
        parameters: Mapping[str, Any] | None = None,
        at: int | None = None,
        min_offsets: Mapping[str, int] | None = None,
        check: bool = False,
        mode: Literal["exact", "certified"] = "exact",
        points: Any = None,
        paths: Sequence[Any] | None = None,
        **changed: Any,
    ) -> QueryHandle:
        """Ask for the exact answer to the input as it is now: forks a branch loop, and does not wait for it.

        Parameters
        ----------
        vertices : sequence, optional
            Only these; with neither this nor `top`, all.
        top : int, optional
            The best so many.
        deadline_s : float, optional
            After so long the best value so far is the answer.
        max_iterations : int, optional
            Likewise after so many iterations.
        parameters : mapping, optional
            Fields of the program that differ in this branch.
        at : int, optional
            Version of a stored snapshot, in place of now.
        min_offsets : mapping, optional
            Fork once the loop has so many records of these sources.
        check : bool
            Have an independent checker verify all values on the branch's own version of the graph. The certificate then says
            what it looked at; where it finds a fault, the query has failed.
        points : see `predict`, optional
            What the answer is to predict (`QueryResult.predictions`); with neither `vertices` nor `top`, that is all of it.
        paths : sequence, optional
            Vertices to which the way is wanted (`QueryResult.paths`), of programs that choose among offers along edges; with neither
            `vertices` nor `top`, values are those of these vertices.
        changed
            As `parameters`, by name: ``query(tolerance=1e-6)``.
        mode : {"exact", "certified"}
            Certified: fork a branch of no iterations, which has the values of the loop, at once, with their bound.

        Raises
        ------
        QueueFull
            When too many queries wait.
        InvalidArgument, NotSupported
            When the question cannot be answered.
        """
        if mode not in ("exact", "certified"):
            raise InvalidArgument(
                f"mode is {mode!r} but must be 'exact' or 'certified'",
                hint="`read` answers from the main loop as it is.",
            )
        request = QueryRequest(
            loop=self.name,
            mode=Mode(mode),
            vertices=vertices_of_caller(vertices),
            top=plain_number(top),
            deadline_s=deadline_s,
            max_iterations=plain_number(max_iterations),
            parameters={**(parameters or {}), **changed},
            points=None if points is None else batch_to_predict(self._declared, points),
            at=plain_number(at),
            min_offsets=min_offsets
            and {source: plain_number(least) for source, least in min_offsets.items()},
            check=check,
            paths=vertices_of_caller(paths, name="paths"),
        )
        return QueryHandle(self._service, self._service.submit(request))

    def follow(
        self,
        *,
        moved_by: float | None = None,
        interval_s: float = INTERVAL_S,
        deadline_s: float | None = None,
    ) -> Iterator[Changes]:
        """Iterate over what is new in consecutive exact answers: everything first, then what changed, for as long as the loop runs.

        Where values are labels of groups, groups have names that stay while they live: `Changes.groups` and `group_events`.
        They begin with the labels when this is called. The iterator waits for whatever comes in next; close it to end.

        Parameters
        ----------
        moved_by : float, optional
            By how much a number must have moved from what was told of it to be told again; left out, it is whenever it has
            changed. For values like ranks, of which each answer has all in other bits.
        interval_s : float
            The least pause between two answers, from 0.05 to 3600.
        deadline_s : float, optional
            How long each answer may take.

        Raises
        ------
        InvalidArgument
            When a number is not allowed, or values are labels, which do not move by anything.
        ResultUnavailable
            From the iterator: when an answer is not exact in time, or there is none.
        UnknownLoop, ConnectionLost
            From the iterator: when the loop was removed, or the session closed.
        """
        follower = Follower(self._service, self.name, moved_by=moved_by, deadline_s=deadline_s)
        return follower.changes(checked_interval(interval_s))

    def adopt(self) -> Mapping[str, Any]:
        """Have the loop take over the values of a branch that is forked now, although edges come meanwhile.

        Returns
        -------
        mapping
            The certificate of the branch.

        Raises
        ------
        NotSupported
            When the loop comes to the exact values by itself, as those of selective programs do.
        """
        self._running().adoption.require()
        branch = self.loop.fork()
        try:
            branch.wait()
            self.loop.adoption.adopt(branch)
            return dict(branch.certificate or {})
        finally:
            branch.release()

    def statistics(self) -> Any:
        """Return the loop's frozen record of counts."""
        return self._running().statistics()

    def offsets(self) -> dict[str, int]:
        """Return how many records of each source are in."""
        return self._running().offsets()

    def checkpoint(self) -> int:
        """Write a snapshot to the store and return its version, for `query(at=…)`.

        A later start on the same store goes on from it, where the store is durable.
        """
        self._service.lifetime.require_this_process()
        return self._served.checkpoints_by(self._service.clock).take()

    def checkpoints(self) -> CheckpointStatistics | None:
        """Return how the checkpoints of its stream went, or None for a loop that the session did not start."""
        found = self._served.checkpoints
        return None if found is None else found.statistics()

    def snapshots(self) -> list[NamedSnapshot]:
        """Return the stored snapshots, oldest first."""
        return sorted(
            map(NamedSnapshot.of, self._running().snapshots()), key=lambda snapshot: snapshot.version
        )

    def wait_idle(self, timeout_s: float | None = None) -> bool:
        """Wait until everything that was admitted is worked in; return whether it is."""
        return self._running().wait_idle(timeout_s)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: {type(self.program).__name__}>"

    def _running(self) -> MainLoopView:
        """The loop, in the process that it runs in."""
        self._service.lifetime.require_this_process()
        return self.loop

    def _push(self, op: int, src: Any, dst: Any, weight: Any, **columns: Unpack[PointArguments]) -> int:
        declared = self._running().stream.points
        codec = self._served.codec
        draft = Draft(codec.interner) if isinstance(codec, StringIds) else None
        times = columns.pop("times", None)
        points = points_of(declared, op, src, dst, weight, draft=draft, **columns)
        if points is not None:
            return self._served.intake.insert(INSERT_SOURCE, points, draft=draft)
        if dst is None:
            src, dst, weight = columns_of_table(src, weight)
        if draft is not None:
            src, dst = draft.intern(src), draft.intern(dst)
        batch = timed_edges(EdgeBatch.of(src, dst, weight, op), times)
        return self._served.intake.insert(INSERT_SOURCE, batch, draft=draft)


def result_of(query: Query) -> QueryResult:
    """Return the values of a query that has ended, or raise why there are none."""
    status = query.status()
    if query.error is not None:
        raise query.error
    if query.answer is None:
        hints = {
            QueryState.CANCELLED: "Ask again.",
            QueryState.DEADLINE: "The deadline passed while it waited; ask again with a longer deadline_s.",
        }
        raise ResultUnavailable(
            f"query {query.id} is {status.state.value} and has no result", hint=hints.get(status.state)
        )
    answer = query.answer
    unknown = answer.page(Selection(limit=1)).unknown
    return QueryResult(
        status, answer.columns(), unknown, form=answer.form, found=query.found, paths=answer.paths
    )
