"""Server-sent events of a query: `progress` while it runs, then exactly one `done`.

Whoever connects after the end gets the `done` at once. The end is a callback, not a poll; between two looks at the progress
the generator sleeps, and it sends only what changed, and a comment now and then so that proxies keep the line.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from ..clock import Clock
from .formats import json_bytes, status_dict
from .query import Query, QueryStatus

PROGRESS_INTERVAL_S = 0.1
KEEP_ALIVE_S = 15.0
COMMENT = b": still here\n\n"


class Done:
    """The end of a query as something an event loop can wait for.

    Made in a coroutine; `close` when nobody waits any more.
    """

    def __init__(self, query: Query) -> None:
        self._loop = asyncio.get_running_loop()
        self._query = query
        self._future: asyncio.Future[None] = self._loop.create_future()
        query.add_done_callback(self._called)

    async def wait(self, timeout_s: float) -> bool:
        """Wait for the end; return whether it came."""
        if not self._future.done() and timeout_s > 0:
            await asyncio.wait([self._future], timeout=timeout_s)
        return self._future.done()

    def wake(self) -> None:
        """Let those who wait go on although the query has not ended (the server stops)."""
        if not self._future.done():
            self._future.set_result(None)

    def close(self) -> None:
        """Take the callback back."""
        self._query.remove_done_callback(self._called)
        self._future.cancel()

    def _called(self, _query: Query) -> None:
        try:
            self._loop.call_soon_threadsafe(self.wake)
        except RuntimeError:
            # The event loop has closed under the query: nobody is left who could be told.
            return


def event(name: str, content: Any) -> bytes:
    """Return one event as it goes over the line."""
    return b"event: " + name.encode() + b"\ndata: " + json_bytes(content) + b"\n\n"


async def kept_alive(events: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Iterate over events, and over a comment whenever nothing came for so long: whoever listens knows that the line is not dead."""
    coming: asyncio.Future[bytes | None] | None = None
    try:
        while True:
            if coming is None:
                coming = asyncio.ensure_future(_next_of(events))
            await asyncio.wait([coming], timeout=KEEP_ALIVE_S)
            if not coming.done():
                yield COMMENT
                continue
            told, coming = coming.result(), None
            if told is None:
                return
            yield told
    finally:
        if coming is not None:
            coming.cancel()


async def _next_of(events: AsyncIterator[bytes]) -> bytes | None:
    return await anext(events, None)


async def events(
    query: Query,
    done: Done,
    *,
    look: Callable[[Query], Awaitable[QueryStatus]],
    describe: Callable[[QueryStatus], dict[str, Any]],
    stopping: Callable[[], bool],
    clock: Clock,
) -> AsyncIterator[bytes]:
    """Iterate over the events of a query until it is done or the server stops.

    Parameters
    ----------
    look : callable
        Looks at the query without keeping the event loop waiting.
    describe : callable
        The body of the final event.
    stopping : callable
        Whether the server stops; there is no `done` then, since the query is not.
    clock : Clock
        By which the line is kept.
    """
    sent: dict[str, Any] | None = None
    sent_s = clock.monotonic()
    while True:
        status = await look(query)
        if status.state.is_final:
            break
        body = status_dict(status)
        seen = {key: value for key, value in body.items() if key != "elapsed_s"}
        if seen != sent:
            sent, sent_s = seen, clock.monotonic()
            yield event("progress", body)
        elif clock.monotonic() - sent_s > KEEP_ALIVE_S:
            sent_s = clock.monotonic()
            yield COMMENT
        await done.wait(PROGRESS_INTERVAL_S)
        if stopping():
            return
    yield event("done", describe(status))
