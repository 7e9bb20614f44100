"""Who may call what: `NEEDS` is the only place that says so, and `Access` holds every request to it before a route is reached.

A route that is not in the table is for those who may everything. What a request is about is in its path, but for `POST /v1/queries` and
`POST /v1/loops`, whose routes ask `caller_of(request)` themselves once they have read the body. Lists show a caller what it may see.

A ticket (`?ticket=`, see `Tickets`) stands in for the header of a GET; it is taken out of the query string before anybody sees that.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.routing import compile_path
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..errors import Forbidden, TornadoError, Unauthorized, UnknownQuery
from .bearer_tokens import BearerToken, digest_of
from .callers import ANYBODY, NOBODY, Caller
from .events import event
from .http_audit import audited
from .http_requests import problem_response
from .problems import of_error
from .service import QueryService
from .tickets import Tickets
from .token_file import TokenFile
from .token_use import TokenUse, TokenUses

_CALLER: Final = "tornado.caller"
_SCHEME: Final = "bearer"


class About(enum.Enum):
    """What a route is about, which the caller must be allowed to see."""

    NOTHING = enum.auto()
    """Anybody may ask."""
    WHAT_IT_SEES = enum.auto()
    """The route itself shows what its caller may see, and asks for what a body names."""
    LOOP = enum.auto()
    STREAM = enum.auto()
    QUERY = enum.auto()
    ALL_STREAMS = enum.auto()
    """All that there are now."""
    EVERYTHING = enum.auto()
    """What was and will be, too: for tokens that name no streams."""


@dataclass(frozen=True, slots=True)
class Need:
    """What a route needs: whether it changes anything, and what it is about."""

    about: About
    writes: bool = False


_PUBLIC = Need(About.NOTHING)
_READ = Need(About.WHAT_IT_SEES)
_LOOP, _WRITE_LOOP = Need(About.LOOP), Need(About.LOOP, writes=True)
_STREAM, _WRITE_STREAM = Need(About.STREAM), Need(About.STREAM, writes=True)
_QUERY, _WRITE_QUERY = Need(About.QUERY), Need(About.QUERY, writes=True)
_WRITE_ALL_STREAMS = Need(About.ALL_STREAMS, writes=True)
_ALL, _WRITE_ALL = Need(About.EVERYTHING), Need(About.EVERYTHING, writes=True)

NEEDS: Final[Mapping[str, Mapping[str, Need]]] = {
    # What everybody may see has nothing of the data in it.
    "/": {"GET": _PUBLIC},
    "/healthz": {"GET": _PUBLIC},
    "/readyz": {"GET": _PUBLIC},
    "/openapi.json": {"GET": _PUBLIC},
    "/docs": {"GET": _PUBLIC},
    "/page/{build}/{path:path}": {"GET": _PUBLIC},
    "/metrics": {"GET": _READ},
    "/v1/tickets": {"POST": _READ},
    "/v1/loops": {"GET": _READ, "POST": Need(About.WHAT_IT_SEES, writes=True)},
    "/v1/loops/{name}": {"GET": _LOOP, "DELETE": _WRITE_LOOP},
    "/v1/loops/{name}/edges": {"POST": _WRITE_LOOP},
    "/v1/loops/{name}/points": {"POST": _WRITE_LOOP},
    "/v1/loops/{name}/vertices": {"POST": _WRITE_LOOP},
    "/v1/loops/{name}/frontier": {"GET": _LOOP},
    "/v1/loops/{name}/neighbours": {"GET": _LOOP},
    "/v1/loops/{name}/events": {"GET": _LOOP},
    "/v1/loops/{name}/batches/{source}": {"GET": _LOOP, "PUT": _WRITE_LOOP},
    "/v1/loops/{name}/batches/{source}/{number}": {"POST": _WRITE_LOOP, "DELETE": _WRITE_LOOP},
    "/v1/loops/{name}/batches/{source}/{number}/parts/{part}/{chunk}": {"PUT": _WRITE_LOOP},
    # Who follows a loop has answers kept under a name of its own, which is part of asking.
    "/v1/loops/{name}/readers/{reader}": {"GET": _LOOP, "POST": _LOOP, "DELETE": _LOOP},
    "/v1/streams": {"GET": _READ},
    "/v1/streams/{name}": {"GET": _STREAM},
    "/v1/streams/{name}/edges": {"POST": _WRITE_STREAM},
    "/v1/streams/{name}/points": {"POST": _WRITE_STREAM},
    "/v1/streams/{name}/vertices": {"POST": _WRITE_STREAM},
    # All streams have the same workers.
    "/v1/streams/{name}/rescale": {"POST": _WRITE_ALL_STREAMS},
    "/v1/observations": {"GET": _READ},
    "/v1/observations/lines/{of}": {"GET": _READ},
    "/v1/observations/questions": {"GET": _READ},
    "/v1/observations/report": {"GET": _READ},
    "/v1/observations/events": {"GET": _READ},
    "/v1/queries": {"GET": _READ, "POST": _READ},
    # Who only reads may end what it has asked itself, which the route looks at.
    "/v1/queries/{id}": {"GET": _QUERY, "DELETE": _QUERY},
    "/v1/queries/{id}/result": {"GET": _QUERY},
    "/v1/queries/{id}/events": {"GET": _QUERY},
    "/v1/queries/{id}/frontier": {"GET": _QUERY},
    "/v1/queries/{id}/adopt": {"POST": _WRITE_QUERY},
}


_PATTERNS: Final = [(compile_path(path)[0], needs) for path, needs in NEEDS.items()]


def methods_at(path: str) -> list[str]:
    """Return the methods that some route has at a path, sorted."""
    return sorted({method for pattern, needs in _PATTERNS if pattern.match(path) for method in needs})


def caller_of(connection: HTTPConnection) -> Caller:
    """Return who sent a request; a route behind no `Access` has nobody."""
    caller: Caller = connection.scope.get(_CALLER, NOBODY)
    return caller


def require_loop(service: QueryService, caller: Caller, name: str) -> None:
    """Refuse who may not see a loop, or one that does not exist, in the same words.

    Raises
    ------
    Forbidden
        See `Caller.require`.
    """
    loop = service.master.loops.get(name)
    caller.require(None if loop is None else loop.stream_name, f"loop {name!r}")


class Access:
    """Lets a request pass that may; 401 for who is not known, 403 for who may not.

    Parameters
    ----------
    app : ASGIApp
        What answers.
    service : QueryService
        Whose loops and queries requests are about.
    tokens : TokenFile or None
        Who is let in; None: anybody.
    tickets : Tickets
        Those that were given out.
    """

    def __init__(
        self, app: ASGIApp, service: QueryService, tokens: TokenFile | None, tickets: Tickets[Caller]
    ) -> None:
        self._app = app
        self._service = service
        self._tokens = tokens
        self._tickets = tickets
        self._uses = TokenUses(clock=service.clock)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it with 401 or 403; 429 where its token has used what it may."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        ticket = _take_ticket(scope)
        need, parameters = self._need(scope["method"], scope["path"])
        caller, refused = self._let_in(scope, need, parameters, ticket)
        scope[_CALLER] = caller
        if self._tokens is not None and (need.writes or scope["method"] == "DELETE"):
            send = audited(scope, send, caller)
        if refused is not None:
            await problem_response(of_error(refused))(scope, receive, send)
            return
        if caller.token is not None:
            send = self._while_let_in(caller.token, send)
        if caller.use is not None and caller.use.limits.bytes_per_s is not None:
            receive, send = _counted(caller.use, receive, send)
        await self._app(scope, receive, send)

    def _let_in(
        self, scope: Scope, need: Need, parameters: Mapping[str, str], ticket: str | None
    ) -> tuple[Caller, TornadoError | None]:
        """Return who sent a request, and why it is refused, if it is."""
        caller = NOBODY
        try:
            caller = self._caller(Headers(scope=scope).getlist("authorization"), scope["method"], ticket)
            if need.about is not About.NOTHING:
                self._check(caller, need, parameters)
        except TornadoError as error:
            return caller, None if need.about is About.NOTHING else error
        return caller, None

    def _need(self, method: str, path: str) -> tuple[Need, Mapping[str, str]]:
        method = "GET" if method == "HEAD" else method  # it is told less
        for pattern, needs in _PATTERNS:
            if (found := pattern.match(path)) and method in needs:
                return needs[method], found.groupdict()
        return (_ALL if method == "GET" else _WRITE_ALL), {}

    def _caller(self, headers: list[str], method: str, ticket: str | None) -> Caller:
        if self._tokens is None:
            return ANYBODY
        table = self._tokens.table
        if not headers and ticket is not None and method == "GET":
            holder = self._tickets.take(ticket)
            token = None if holder is None or holder.token is None else table.find(holder.token.digest)
            if token is None:
                raise Unauthorized(
                    "the ticket is not valid, or no more: it is taken once, and soon",
                    hint="POST /v1/tickets gives another one.",
                )
            return self._known(token)
        if not headers:
            raise Unauthorized("this service asks for a token, and the request has none")
        scheme, _, shown = headers[0].partition(" ")
        token = table.find(digest_of(shown.strip())) if scheme.lower() == _SCHEME else None
        if token is None or len(headers) > 1:
            raise Unauthorized("the request shows a token that this service does not know, or no more")
        return self._known(token)

    def _known(self, token: BearerToken) -> Caller:
        return Caller(token, use=self._uses.of(token))

    def _check(self, caller: Caller, need: Need, parameters: Mapping[str, str]) -> None:
        if need.writes:
            caller.require_writing()
        if caller.use is not None:
            caller.use.require_bytes()
            if need.writes:
                caller.use.require_records()
        if caller.streams is None:
            return
        match need.about:
            case About.LOOP:
                require_loop(self._service, caller, parameters["name"])
            case About.STREAM:
                caller.require(parameters["name"], f"stream {parameters['name']!r}")
            case About.QUERY:
                self._check_query(caller, parameters["id"])
            case About.ALL_STREAMS:
                loops = list(self._service.master.loops.values())
                caller.require_all([loop.stream_name for loop in loops], "this")
            case About.EVERYTHING:
                raise Forbidden(f"the token {caller.name} is for some streams, and this is about all of them")
            case About.NOTHING | About.WHAT_IT_SEES:
                pass

    def _check_query(self, caller: Caller, name: str) -> None:
        try:
            query = self._service.get(name)
        except UnknownQuery:
            return  # the route says so
        caller.require(query.stream, f"query {name!r}")

    def _while_let_in(self, token: BearerToken, send: Send) -> Send:
        """Return what sends an answer while the token holds: events end when it no longer does, or is for something else."""
        tokens = self._tokens
        assert tokens is not None
        follows = False
        ended = False

        async def checked(message: Message) -> None:
            nonlocal follows, ended
            if ended:
                return
            if message["type"] == "http.response.start":
                kind = Headers(raw=message["headers"]).get("content-type", "")
                follows = kind.startswith("text/event-stream")
            elif follows and tokens.table.find(token.digest) != token:
                ended = True
                said = of_error(
                    Unauthorized("the token that began this stream of events holds no more as it did")
                )
                last = {"type": "http.response.body", "body": event("error", said.content())}
                # With that the server tells whoever writes the events that nobody listens any more.
                await send(last | {"more_body": False})
                return
            await send(message)

        return checked


def _counted(use: TokenUse, receive: Receive, send: Send) -> tuple[Receive, Send]:
    """Return both with the bytes of bodies counted."""

    async def received() -> Message:
        message = await receive()
        use.spend_bytes(len(message.get("body", b"")))
        return message

    async def sent(message: Message) -> None:
        use.spend_bytes(len(message.get("body", b"")))
        await send(message)

    return received, sent


def _take_ticket(scope: Scope) -> str | None:
    """Take the ticket out of the query string, and return it."""
    raw: bytes = scope["query_string"]
    if b"ticket=" not in raw:
        return None
    given = parse_qsl(raw.decode("latin-1"), keep_blank_values=True)
    scope["query_string"] = urlencode([pair for pair in given if pair[0] != "ticket"]).encode()
    return next((value for name, value in given if name == "ticket"), None)
