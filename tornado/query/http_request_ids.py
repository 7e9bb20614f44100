"""A name for each request, by which what is logged on its way is found again, and a line in the log for each request's end.

The name is the client's (`X-Request-ID`) where it is a plain word, as behind a proxy that has given one already; else it is made
here. The answer carries it, and whatever is logged while the request is answered can ask for it (`current`). Requests that the
service itself failed are warnings; the others are logged for whoever asked for an access log. What a server that ends waits for no longer is
answered here too.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
from contextvars import ContextVar
from urllib.parse import quote

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..clock import Clock
from ..errors import Unresponsive
from .http_requests import problem_response
from .problems import of_error
from .tracing import request_span

HEADER = "x-request-id"
ACCESS_LOGGER = __name__

_PLAIN = re.compile(r"[A-Za-z0-9._-]{1,64}")
_REQUEST: ContextVar[str | None] = ContextVar("request", default=None)
_MOST_PATH = 200
_REFUSALS = {501, 503, 507}  # said on purpose, and the client hears why
_log = logging.getLogger(ACCESS_LOGGER)


def current() -> str | None:
    """Return the name of the request that is being answered here; None outside of one."""
    return _REQUEST.get()


class RequestIds:
    """Names requests, and logs how each ended.

    Parameters
    ----------
    app : ASGIApp
        What answers.
    clock : Clock
        Says how long each took.
    """

    def __init__(self, app: ASGIApp, clock: Clock) -> None:
        self._app = app
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on under its name."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        given = headers.get(HEADER, "")
        request = given if _PLAIN.fullmatch(given) else secrets.token_hex(8)
        status, started_s = 0, self._clock.monotonic()
        path = quote(scope["path"])[:_MOST_PATH]  # with no line's end in it, which would forge a line

        async def named(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[HEADER] = request
            await send(message)

        token = _REQUEST.set(request)
        try:
            with request_span(scope["method"], headers) as answered:
                try:
                    await self._app(scope, receive, named)
                except asyncio.CancelledError:
                    # Only a server that ends cancels. The framework would say 500, as if nothing could have come of it, and
                    # log where each request stood.
                    if not status:
                        await problem_response(of_error(_given_up(scope["method"], path)))(
                            scope, receive, named
                        )
                finally:
                    answered(status, getattr(scope.get("route"), "path", None))
        finally:
            failed = status >= 500 and status not in _REFUSALS
            # Status 0: whoever asked was gone, or the answer was cut off, before there was one. No query string: it may have a secret.
            _log.log(
                logging.WARNING if failed else logging.INFO,
                "%s %s: %d",
                scope["method"],
                path,
                status,
                extra={
                    "fields": {
                        "method": scope["method"],
                        "path": path,
                        "status": status,
                        "duration_s": round(self._clock.monotonic() - started_s, 6),
                    }
                },
            )
            _REQUEST.reset(token)


def _given_up(method: str, path: str) -> Unresponsive:
    return Unresponsive(
        f"{method} {path} did not come to an end before this server did",
        hint="Ask again when it is back. What was to change something may have been done or not: look before it is sent again.",
    )
