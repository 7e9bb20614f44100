"""The blocking face: a service, its streams, loops and queries as objects. `async_service.py` has the same for asyncio."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, Self

import pyarrow as pa

from .answers import ServiceAnswer
from .changes import Change, ChangeCollector, has_numbers
from .columns import edges_table, points_table, vertices_table
from .handles import KnownLoop, KnownQuery, KnownService, KnownStream, listing, start_document
from .neighbourhood import Neighbourhood
from .operations import DONE, Batch, PushOutcome, events_of_loop, events_of_query
from .progress import ProgressBar
from .questions import question
from .steps import Document
from .transport import Connection, ServiceAddress


def connect(
    url: str | None = None,
    *,
    token: str | None = None,
    patience_s: float = 30.0,
    verify: bool | str = True,
) -> Service:
    """Return a service that runs somewhere; nothing is sent before something is asked.

    Parameters
    ----------
    url : str, optional
        Where it answers. Left out, it is what TORNADO_URL says, else http://127.0.0.1:8080.
    token : str, optional
        Left out, it is what TORNADO_TOKEN says, if anything.
    patience_s : float
        How long one call may wait for a service that is full (429), away for a moment (503) or restarted.
    verify : bool or str
        Whether the certificate of an https address is checked; a path: against the authorities in that file.

    Raises
    ------
    InvalidInput
        The URL is no address of a service.
    """
    return Service(Connection(ServiceAddress.given(url, token, verify)), patience_s=patience_s)


class Service(KnownService[Connection]):
    """A service. A context manager; leaving it, or `close`, closes the sockets."""

    def streams(self) -> list[ServiceStream]:
        """List the streams as they are now."""
        found = self._connection.run(self._operations.listed("streams"))
        return listing(ServiceStream(self._connection, self._operations, one["name"], one) for one in found)

    def stream(self, name: str) -> ServiceStream:
        """Return a stream by its name; whether it is there shows when it is used."""
        return ServiceStream(self._connection, self._operations, name)

    def loops(self) -> list[ServiceLoop]:
        """List the loops as they are now."""
        found = self._connection.run(self._operations.listed("loops"))
        return listing(ServiceLoop(self._connection, self._operations, one["name"], one) for one in found)

    def loop(self, name: str) -> ServiceLoop:
        """Return a loop by its name; whether it is there shows when it is used."""
        return ServiceLoop(self._connection, self._operations, name)

    def queries(self) -> list[ServiceQuery]:
        """List the queries that run, wait or are kept, newest first."""
        found = self._connection.run(self._operations.listed("queries"))
        return listing(ServiceQuery(self._connection, self._operations, one) for one in found)

    def query(self, identifier: str) -> ServiceQuery:
        """Return a query by its id."""
        found = self._connection.run(self._operations.described("queries", identifier))
        return ServiceQuery(self._connection, self._operations, found)

    def close(self) -> None:
        """Close the sockets."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class ServiceStream(KnownStream[Connection]):
    """A stream of a service: records come into it, and loops read it."""

    def describe(self) -> Document:
        """Return how it stands: loops, offsets, version, vertices, edges or points, sources."""
        self.document = self._connection.run(self._operations.described("streams", self.name))
        return self.document

    def start(
        self,
        program: str,
        *,
        name: str | None = None,
        delay_bound: int | str | None = None,
        **parameters: Any,
    ) -> ServiceLoop:
        """Start an app as a loop on this stream: `roads.start("sssp", source=1)`.

        Raises
        ------
        InConflict
            The name is in use.
        """
        wanted = start_document(program, self.name, name, delay_bound, parameters)
        started = self._connection.run(self._operations.start(wanted))
        return ServiceLoop(self._connection, self._operations, started["name"], started)

    def insert(
        self,
        src: Any = None,
        dst: Any = None,
        weight: Any = None,
        *,
        time: Any = None,
        ids: Any = None,
        labels: Any = None,
        features: Any = None,
        weights: Any = None,
        batch: Batch | None = None,
    ) -> PushOutcome:
        """Add edges, or points where there are `ids`.

        Parameters
        ----------
        src, dst, weight : array-like
            Lists or arrays; or `src` is a table (Arrow, pandas, Polars) that has these columns.
        time : array-like, optional
            When each was.
        ids, labels, features, weights : array-like
            Of points; or `ids` is a table.
        batch : Batch, optional
            A number, with which the records are in once however often they are sent.

        Raises
        ------
        OutcomeUnknown
            The connection broke and there was no number: the records may be in or not.
        """
        if ids is not None or features is not None:
            return self._push("points", points_table(ids, labels, features, weights), batch)
        return self._push("edges", edges_table(src, dst, weight, time=time), batch)

    def remove(
        self,
        src: Any = None,
        dst: Any = None,
        weight: Any = None,
        *,
        ids: Any = None,
        batch: Batch | None = None,
    ) -> PushOutcome:
        """Remove edges: without weights the oldest of each two vertices; or points by their `ids`. See `insert`."""
        if ids is not None:
            return self._push("points", points_table(ids, op="-"), batch)
        return self._push("edges", edges_table(src, dst, weight, op="-"), batch)

    def replace(
        self, src: Any, dst: Any = None, weight: Any = None, *, batch: Batch | None = None
    ) -> PushOutcome:
        """Put edges in the place of whatever edges their two vertices have. See `insert`."""
        return self._push("edges", edges_table(src, dst, weight, op="="), batch)

    def add_vertices(self, ids: Any) -> PushOutcome:
        """Name vertices that need have no edge."""
        return self._push("vertices", vertices_table(ids), None)

    def rescale(self, workers: int) -> Document:
        """Put the loops of this stream on so many workers, and return what became of it."""
        return self._connection.run(self._operations.rescale(self.name, workers))

    def _push(self, kind: str, table: pa.Table, batch: Batch | None) -> PushOutcome:
        if batch is None:
            return self._connection.run(self._operations.insert(self._place, kind, table))
        loop = self._document_of_any(self.document or self.describe())
        return self._connection.run(self._operations.insert_batch(loop, batch, table))


class ServiceLoop(KnownLoop[Connection]):
    """A main loop of a service: it answers, and what is inserted goes into its stream."""

    def describe(self) -> Document:
        """Return how it stands: state, program, offsets, version, iteration, residual, sources, tables."""
        self.document = self._connection.run(self._operations.described("loops", self.name))
        return self.document

    @property
    def stream(self) -> ServiceStream:
        """The stream that it reads."""
        document = self.document or self.describe()
        return ServiceStream(self._connection, self._operations, document["stream"])

    def insert(self, *columns: Any, batch: Batch | None = None, **named_columns: Any) -> PushOutcome:
        """Insert into the stream of this loop; see `ServiceStream.insert`."""
        return self.stream.insert(*columns, batch=batch, **named_columns)

    def remove(self, *columns: Any, batch: Batch | None = None, **named_columns: Any) -> PushOutcome:
        """Remove from the stream of this loop; see `ServiceStream.remove`."""
        return self.stream.remove(*columns, batch=batch, **named_columns)

    def query(
        self,
        vertices: Iterable[int | str] | None = None,
        *,
        top: int | None = None,
        check: bool = False,
        paths: Iterable[int | str] | None = None,
        points: Any = None,
        parameters: Mapping[str, Any] | None = None,
        at: int | None = None,
        min_offsets: Mapping[str, int] | None = None,
        deadline_s: float | None = None,
        max_iterations: int | None = None,
        mode: str = "exact",
        table: str | None = None,
        progress: bool | None = None,
    ) -> ServiceAnswer:
        """Ask, wait, and return the answer. An interrupt cancels the query.

        Parameters
        ----------
        vertices : iterable, optional
            Only these. With neither this nor `top`: all.
        top : int, optional
            The best so many, by what the program ranks by.
        check : bool
            Have an independent checker verify the answer first.
        paths : iterable, optional
            The ways to these vertices, of programs that have ways.
        points : array-like, optional
            Points to predict with the exact answer.
        parameters : mapping, optional
            Fields of the program that differ in this question.
        at : int, optional
            Version of a stored snapshot, in place of now.
        min_offsets : mapping, optional
            Answer once so many records of each source are in: `{"http": 17}`.
        deadline_s, max_iterations : optional
            Limits; behind them the best values so far are the answer.
        mode : str
            `exact`, `approximate` (the main loop as it is, at once) or `certified` (the same, with a bound).
        table : str, optional
            Which table of the answer; the first one where it is left out.
        progress : bool, optional
            Whether a bar is shown; left out, it is in notebooks and on terminals that have tqdm.

        Raises
        ------
        QueryEnded
            It was cancelled or failed.
        """
        asked = self.ask(
            vertices,
            top=top,
            check=check,
            paths=paths,
            points=points,
            parameters=parameters,
            at=at,
            min_offsets=min_offsets,
            deadline_s=deadline_s,
            max_iterations=max_iterations,
            mode=mode,
        )
        try:
            return asked.result(table=table, progress=progress)
        except KeyboardInterrupt:
            # The answer has no reader any more: what the service computes for it can be freed.
            self._connection.run(self._operations.give_up(asked.id))
            raise

    def ask(self, vertices: Iterable[int | str] | None = None, **more: Any) -> ServiceQuery:
        """Ask without waiting; takes what `query` takes, but for `table` and `progress`."""
        asked = self._connection.run(self._operations.ask(question(self.name, vertices, **more)))
        return ServiceQuery(self._connection, self._operations, asked)

    def read(self, vertices: Iterable[int | str] | None = None, *, top: int | None = None) -> ServiceAnswer:
        """Return what the main loop has now, at once: not exact, and of no one snapshot."""
        return self.query(vertices, top=top, mode="approximate", progress=False)

    def predict(self, points: Any, *, mode: str = "approximate") -> list[Document]:
        """Predict points, by what the main loop has now; with `mode="exact"`, by the exact answer."""
        return self.query(points=points, mode=mode).predictions

    def neighbours(self, vertex: int | str, *, limit: int = 50) -> Neighbourhood:
        """Look at the edges around a vertex as they are now, at most so many (1,000) in each direction."""
        found = self._connection.run(self._operations.neighbours(self.name, vertex, limit))
        return Neighbourhood(found)

    def frontier(self) -> Document:
        """Look at which timestamp the loop stands, and who holds it there: worker, operator, and token or message."""
        return self._connection.run(self._operations.frontier(self.name))

    def follow(self, *, moved_by: float | None = None, interval_s: float | None = None) -> Iterator[Change]:
        """Yield what changes: everything first, then what each exact answer has that the one before it had not.

        Where the service stops or the connection breaks, it is asked again within the patience, and what was told is not told again.

        Parameters
        ----------
        moved_by : float, optional
            A number is told again only when it has moved by more than that.
        interval_s : float, optional
            How long after one answer the next is asked for, at least; 1 where it is left out.

        Raises
        ------
        QueryEnded
            The service follows no further.
        Unreachable
            It went away, and did not come back within the patience.
        """
        are_numbers = has_numbers(self.describe())
        changes = ChangeCollector(moved_by=moved_by, are_numbers=are_numbers)
        patience_s = self._operations.patience_s
        call = events_of_loop(self.name, moved_by=moved_by, interval_s=interval_s)
        for event in self._connection.unending_events(call, patience_s, changes.begin_anew):
            change = changes.feed(event)
            if change is not None:
                yield change

    def stop(self) -> None:
        """Remove this loop; with the last loop its stream ends."""
        self._connection.run(self._operations.stop(self.name))


class ServiceQuery(KnownQuery[Connection]):
    """A question that was asked."""

    def refresh(self) -> Document:
        """Return the query as it is now."""
        self.document = self._connection.run(self._operations.status(self.id))
        return self.document

    def progress(self) -> Iterator[Document]:
        """Yield how the query stands, until it has ended."""
        call, patience_s = events_of_query(self.id), self._operations.patience_s
        for event in self._connection.unending_events(call, patience_s):
            self.document = event.data
            yield self.document
            if event.name == DONE:
                break

    def result(self, *, table: str | None = None, progress: bool | None = None) -> ServiceAnswer:
        """Wait for the end and return the answer; see `ServiceLoop.query`."""
        with ProgressBar(self.loop_name, progress) as bar:
            show = bar if bar.is_shown else None
            self.document = self._connection.run(self._operations.finished(self.document, show))
        return ServiceAnswer(self.document, self._connection.run(self._operations.table(self.id, table)))

    def frontier(self) -> Document:
        """Look at which timestamp its branch stands, and who holds it there: worker, operator, and token or message."""
        return self._connection.run(self._operations.query_frontier(self.id))

    def table(self, name: str) -> pa.Table:
        """Return one of the tables of the answer, such as `coefficients`, `centroids` or `assignments`."""
        return self._connection.run(self._operations.table(self.id, name))

    def adopt(self) -> Document:
        """Have the loop go on from what this query has found; return the certificate of that."""
        return self._connection.run(self._operations.adopt(self.id))

    def cancel(self) -> None:
        """Cancel it, or free what it holds where it has ended."""
        self._connection.run(self._operations.cancel(self.id))
