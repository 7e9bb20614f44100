"""The check of where a request ends: one that says it in two ways ends elsewhere for us than for a proxy that believes the other one.

What stands behind the nearer end would be a request of its own, which the proxy has not looked at (RFC 9112, section 6.1, "request
smuggling"). So a request that has both `Content-Length` and `Transfer-Encoding` is refused, and nothing more is read of its connection.
"""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from .http_requests import problem_response
from .problems import Problem

_REFUSAL = Problem(
    400,
    "two-lengths",
    "Two lengths",
    "the request has both the header Content-Length and the header Transfer-Encoding, but one of them must say where it ends",
    hint="Leave one of them out; the connection is closed.",
    headers={"Connection": "close"},
)


class FramingCheck:
    """Lets a request pass that says in one way where it ends; 400 for every other.

    Parameters
    ----------
    app : ASGIApp
        What answers.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it with 400."""
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            if "content-length" in headers and "transfer-encoding" in headers:
                await problem_response(_REFUSAL)(scope, receive, send)
                return
        await self._app(scope, receive, send)
