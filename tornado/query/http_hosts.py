"""The check of the Host header: a page of somebody else's must not reach a server that listens on this machine only.

A browser lets a page call the name it came from. If that name is made to point at 127.0.0.1 (DNS rebinding), the page calls us;
but the request still carries its name in `Host`. So a server that is bound to loopback answers to the names of loopback, and
to the one it was bound by. Ports do not matter: a tunnel may bring its own.
"""

from __future__ import annotations

from collections.abc import Collection

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from .http_requests import problem_response
from .problems import Problem

LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "[::1]")


class HostCheck:
    """Lets a request pass whose Host is known; 403 for every other.

    Parameters
    ----------
    app : ASGIApp
        What answers.
    hosts : collection of str
        Names and addresses without ports; an IPv6 address stands in brackets.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str]) -> None:
        self._app = app
        self._hosts = sorted({host.lower() for host in hosts})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it with 403."""
        if scope["type"] == "http":
            given = Headers(scope=scope).get("host")
            # No browser leaves it out.
            if given is not None and name_of(given) not in self._hosts:
                await problem_response(_refusal(given, self._hosts))(scope, receive, send)
                return
        await self._app(scope, receive, send)


def name_of(host: str) -> str:
    """Return a Host header without its port, in small letters.

    Examples
    --------
    >>> name_of("LOCALHOST:8080"), name_of("[::1]:80"), name_of("localhost.")
    ('localhost', '[::1]', 'localhost')
    """
    name = host.strip().lower()
    end = name.rfind("]") + 1
    colon = name.find(":", end)
    return (name if colon < 0 else name[:colon]).removesuffix(".")


def _refusal(given: str, hosts: Collection[str]) -> Problem:
    return Problem(
        403,
        "unknown-host",
        "Unknown host",
        f"the Host header is {given[:100]!r}, but this server is bound to loopback and answers to: {', '.join(hosts)}",
        hint="Use one of these names; behind a proxy, have it set the header.",
    )
