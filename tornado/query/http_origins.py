"""The check of where a change comes from: a page of somebody else's may send us a form, though it cannot read what we answer.

A browser names the page's origin in each request that is no GET (`Origin`), and how near it is to us (`Sec-Fetch-Site`), and lets no page
change either. So a change that names another origin than ours is refused, and so is one from another port of this machine. Who has to show
a token need not be asked: a page of somebody else's has none to send.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from .http_requests import problem_response
from .problems import Problem

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_OURS = frozenset({"same-origin", "none"})


class OriginCheck:
    """Lets a change pass that no page of another origin sent; 403 for every other.

    Parameters
    ----------
    app : ASGIApp
        What answers.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it with 403."""
        if scope["type"] == "http" and scope["method"] not in _SAFE:
            headers = Headers(scope=scope)
            origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
            if site not in _OURS or (origin is not None and not is_ours(origin, headers.get("host", ""))):
                shown = origin if origin is not None else f"a page that is {site}"
                await problem_response(_refusal(shown))(scope, receive, send)
                return
        await self._app(scope, receive, send)


def is_ours(origin: str, host: str) -> bool:
    """Return whether an origin is that under which we were called.

    Examples
    --------
    >>> is_ours("http://localhost:8080", "LOCALHOST:8080"), is_ours("http://localhost:3000", "localhost:8080")
    (True, False)
    >>> is_ours("null", "localhost"), is_ours("http://[::1", "localhost")
    (False, False)
    """
    try:
        named = urlsplit(origin)
    except ValueError:
        return False
    return bool(named.netloc) and named.netloc.lower() == host.lower()


def _refusal(origin: str) -> Problem:
    return Problem(
        403,
        "cross-site",
        "Cross-site request",
        f"the request changes something and comes from {origin[:200]!r}, which is not this service",
        hint="Use the service's own page, or a client that is no browser; behind a proxy, give the service tokens.",
    )
