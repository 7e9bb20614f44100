"""The face for asyncio: the objects of `service.py`, whose calls are awaited. Arguments and errors are described there."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable
from types import TracebackType
from typing import Any, Self

import pyarrow as pa

from .answers import ServiceAnswer
from .changes import Change, ChangeCollector, has_numbers
from .columns import edges_table, points_table, vertices_table
from .handles import KnownLoop, KnownQuery, KnownService, KnownStream, listing, start_document
from .neighbourhood import Neighbourhood
from .operations import DONE, GIVING_UP_S, Batch, Operations, PushOutcome, events_of_loop, events_of_query
from .progress import ProgressBar
from .questions import question
from .steps import Document
from .transport import AsyncConnection, ServiceAddress

# How long a question whose asker has left may be under way: a service that is busy takes some seconds to take it.
_ASKED_S = 10.0


def connect_async(
    url: str | None = None,
    *,
    token: str | None = None,
    patience_s: float = 30.0,
    verify: bool | str = True,
) -> AsyncService:
    """Return a service to be asked from coroutines; see `connect`."""
    return AsyncService(AsyncConnection(ServiceAddress.given(url, token, verify)), patience_s=patience_s)


class AsyncService(KnownService[AsyncConnection]):
    """A service; see `Service`. An asynchronous context manager."""

    async def streams(self) -> list[AsyncStream]:
        """List the streams as they are now."""
        found = await self._connection.run(self._operations.listed("streams"))
        return listing(AsyncStream(self._connection, self._operations, one["name"], one) for one in found)

    def stream(self, name: str) -> AsyncStream:
        """Return a stream by its name."""
        return AsyncStream(self._connection, self._operations, name)

    async def loops(self) -> list[AsyncLoop]:
        """List the loops as they are now."""
        found = await self._connection.run(self._operations.listed("loops"))
        return listing(AsyncLoop(self._connection, self._operations, one["name"], one) for one in found)

    def loop(self, name: str) -> AsyncLoop:
        """Return a loop by its name."""
        return AsyncLoop(self._connection, self._operations, name)

    async def queries(self) -> list[AsyncQuery]:
        """List the queries that run, wait or are kept, newest first."""
        found = await self._connection.run(self._operations.listed("queries"))
        return listing(AsyncQuery(self._connection, self._operations, one) for one in found)

    async def query(self, identifier: str) -> AsyncQuery:
        """Return a query by its id."""
        found = await self._connection.run(self._operations.described("queries", identifier))
        return AsyncQuery(self._connection, self._operations, found)

    async def close(self) -> None:
        """Close the sockets."""
        await self._connection.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class AsyncStream(KnownStream[AsyncConnection]):
    """A stream of a service; see `ServiceStream`."""

    async def describe(self) -> Document:
        """Return how it stands."""
        self.document = await self._connection.run(self._operations.described("streams", self.name))
        return self.document

    async def start(
        self,
        program: str,
        *,
        name: str | None = None,
        delay_bound: int | str | None = None,
        **parameters: Any,
    ) -> AsyncLoop:
        """Start an app as a loop on this stream."""
        wanted = start_document(program, self.name, name, delay_bound, parameters)
        started = await self._connection.run(self._operations.start(wanted))
        return AsyncLoop(self._connection, self._operations, started["name"], started)

    async def insert(
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
        """Add edges, or points where there are `ids`."""
        if ids is not None or features is not None:
            return await self._push("points", points_table(ids, labels, features, weights), batch)
        return await self._push("edges", edges_table(src, dst, weight, time=time), batch)

    async def remove(
        self,
        src: Any = None,
        dst: Any = None,
        weight: Any = None,
        *,
        ids: Any = None,
        batch: Batch | None = None,
    ) -> PushOutcome:
        """Remove edges, or points by their `ids`."""
        if ids is not None:
            return await self._push("points", points_table(ids, op="-"), batch)
        return await self._push("edges", edges_table(src, dst, weight, op="-"), batch)

    async def replace(
        self, src: Any, dst: Any = None, weight: Any = None, *, batch: Batch | None = None
    ) -> PushOutcome:
        """Put edges in the place of whatever edges their two vertices have."""
        return await self._push("edges", edges_table(src, dst, weight, op="="), batch)

    async def add_vertices(self, ids: Any) -> PushOutcome:
        """Name vertices that need have no edge."""
        return await self._push("vertices", vertices_table(ids), None)

    async def rescale(self, workers: int) -> Document:
        """Put the loops of this stream on so many workers, and return what became of it."""
        return await self._connection.run(self._operations.rescale(self.name, workers))

    async def _push(self, kind: str, table: pa.Table, batch: Batch | None) -> PushOutcome:
        if batch is None:
            return await self._connection.run(self._operations.insert(self._place, kind, table))
        loop = self._document_of_any(self.document or await self.describe())
        return await self._connection.run(self._operations.insert_batch(loop, batch, table))


class AsyncLoop(KnownLoop[AsyncConnection]):
    """A main loop of a service; see `ServiceLoop`."""

    async def describe(self) -> Document:
        """Return how it stands."""
        self.document = await self._connection.run(self._operations.described("loops", self.name))
        return self.document

    async def stream(self) -> AsyncStream:
        """Return the stream that it reads."""
        document = self.document or await self.describe()
        return AsyncStream(self._connection, self._operations, document["stream"])

    async def insert(self, *columns: Any, batch: Batch | None = None, **named_columns: Any) -> PushOutcome:
        """Insert into the stream of this loop."""
        return await (await self.stream()).insert(*columns, batch=batch, **named_columns)

    async def remove(self, *columns: Any, batch: Batch | None = None, **named_columns: Any) -> PushOutcome:
        """Remove from the stream of this loop."""
        return await (await self.stream()).remove(*columns, batch=batch, **named_columns)

    async def query(
        self,
        vertices: Iterable[int | str] | None = None,
        *,
        table: str | None = None,
        progress: bool | None = None,
        **more: Any,
    ) -> ServiceAnswer:
        """Ask, wait, and return the answer; takes what `ServiceLoop.query` takes. Where it is cancelled, so is the query."""
        # A question that is cut off on its way may be taken by the service all the same, and nobody would know its id.
        asking = asyncio.create_task(self.ask(vertices, **more))
        try:
            await asyncio.wait([asking])
            return await asking.result().result(table=table, progress=progress)
        except asyncio.CancelledError:
            # In a task, which goes on where the service takes longer, or this one is cancelled once more.
            giving_up = asyncio.create_task(_given_up(asking, self._connection, self._operations))
            await asyncio.wait([giving_up], timeout=GIVING_UP_S)
            raise

    async def ask(self, vertices: Iterable[int | str] | None = None, **more: Any) -> AsyncQuery:
        """Ask without waiting."""
        asked = await self._connection.run(self._operations.ask(question(self.name, vertices, **more)))
        return AsyncQuery(self._connection, self._operations, asked)

    async def read(
        self, vertices: Iterable[int | str] | None = None, *, top: int | None = None
    ) -> ServiceAnswer:
        """Return what the main loop has now, at once."""
        return await self.query(vertices, top=top, mode="approximate", progress=False)

    async def predict(self, points: Any, *, mode: str = "approximate") -> list[Document]:
        """Predict points, by what the main loop has now; with `mode="exact"`, by the exact answer."""
        return (await self.query(points=points, mode=mode)).predictions

    async def neighbours(self, vertex: int | str, *, limit: int = 50) -> Neighbourhood:
        """Look at the edges around a vertex as they are now."""
        found = await self._connection.run(self._operations.neighbours(self.name, vertex, limit))
        return Neighbourhood(found)

    async def frontier(self) -> Document:
        """Look at which timestamp the loop stands, and who holds it there."""
        return await self._connection.run(self._operations.frontier(self.name))

    async def follow(
        self, *, moved_by: float | None = None, interval_s: float | None = None
    ) -> AsyncIterator[Change]:
        """Yield what changes from one exact answer to the next."""
        are_numbers = has_numbers(await self.describe())
        changes = ChangeCollector(moved_by=moved_by, are_numbers=are_numbers)
        patience_s = self._operations.patience_s
        call = events_of_loop(self.name, moved_by=moved_by, interval_s=interval_s)
        async for event in self._connection.unending_events(call, patience_s, changes.begin_anew):
            change = changes.feed(event)
            if change is not None:
                yield change

    async def stop(self) -> None:
        """Remove this loop; with the last loop its stream ends."""
        await self._connection.run(self._operations.stop(self.name))


class AsyncQuery(KnownQuery[AsyncConnection]):
    """A question that was asked; see `ServiceQuery`."""

    async def refresh(self) -> Document:
        """Return the query as it is now."""
        self.document = await self._connection.run(self._operations.status(self.id))
        return self.document

    async def progress(self) -> AsyncIterator[Document]:
        """Yield how the query stands, until it has ended."""
        call, patience_s = events_of_query(self.id), self._operations.patience_s
        async for event in self._connection.unending_events(call, patience_s):
            self.document = event.data
            yield self.document
            if event.name == DONE:
                break

    async def result(self, *, table: str | None = None, progress: bool | None = None) -> ServiceAnswer:
        """Wait for the end and return the answer."""
        with ProgressBar(self.loop_name, progress) as bar:
            show = bar if bar.is_shown else None
            self.document = await self._connection.run(self._operations.finished(self.document, show))
        return ServiceAnswer(
            self.document, await self._connection.run(self._operations.table(self.id, table))
        )

    async def frontier(self) -> Document:
        """Look at which timestamp its branch stands, and who holds it there: worker, operator, and token or message."""
        return await self._connection.run(self._operations.query_frontier(self.id))

    async def table(self, name: str) -> pa.Table:
        """Return one of the tables of the answer."""
        return await self._connection.run(self._operations.table(self.id, name))

    async def adopt(self) -> Document:
        """Have the loop go on from what this query has found; return the certificate of that."""
        return await self._connection.run(self._operations.adopt(self.id))

    async def cancel(self) -> None:
        """Cancel it, or free what it holds where it has ended."""
        await self._connection.run(self._operations.cancel(self.id))


async def _given_up(
    asking: asyncio.Task[AsyncQuery], connection: AsyncConnection, operations: Operations
) -> None:
    """Cancel the query that a task asks, where it becomes known in time; that task ends here."""
    # Whatever it fails with, its caller has left.
    with contextlib.suppress(Exception):
        async with asyncio.timeout(_ASKED_S):
            query = await asking
        await connection.run(operations.give_up(query.id))
