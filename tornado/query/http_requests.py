"""Reading requests within limits: bodies, content types, and query strings nobody declared.

Bodies are read as they come and refused at the first byte above the limit, whatever `Content-Length` said, and a sender who
dawdles is let go, so that no request can hold more than its share of memory or time.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BytesIO
from threading import Lock
from typing import Annotated, Literal, TypeVar

from fastapi import Query as Parameter
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from ..config import BODY_LIMIT_BYTES
from ..errors import QueueFull
from . import problems
from .bulkhead import Bulkhead
from .formats import JSON, json_bytes
from .problems import Problem, ProblemError

T = TypeVar("T")

IdsParameter = Annotated[
    Literal["string"] | None,
    Parameter(
        description="`string`: an id is a string of its digits on the way out, and so is a value that is an id; on the way in it may "
        "be one. For JSON whose numbers are doubles, which hold no id beyond 2^53. Where the loop has strings for ids they are "
        "strings anyway."
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpLimits:
    """What the server takes from one client at once.

    Attributes
    ----------
    query_body_bytes, small_body_bytes, edges_body_bytes : int
        The largest body of a question or commit, of what is read on the event loop, and of pushed edges.
    head_timeout_s, body_timeout_s, unread_timeout_s : float
        How long the head of a request and its body may take to arrive, and an answer to be read on.
    max_wait_s : float
        The greatest `wait_s`.
    connections : int or None
        How many there may be at once; None is as many as the process has files for.
    event_streams : int
        How many clients may listen to events at once, half of them with one token (`http_stream_places.py`).
    loop_followers : int
        How many clients may follow loops at once, half of them with one token; each costs 16 bytes a vertex and an answer whenever something came in.
    edge_requests : int
        How many bodies of edges are in memory at once.
    inline_rows : int
        How many rows of a whole result are put inside an answer with `wait_s`; `next` leads to the others.
    look_timeout_s, ask_timeout_s, read_timeout_s, admission_timeout_s : float
        After how long the answer is 503 where loops or the store do not answer: to looks at how things stand, to questions, to
        reading results, and to what is pushed (which has a limit of its own that answers 429, see `StreamIntake`).
    """

    query_body_bytes: int = 4 << 20
    small_body_bytes: int = 1 << 16
    edges_body_bytes: int = BODY_LIMIT_BYTES
    head_timeout_s: float = 20.0
    body_timeout_s: float = 60.0
    unread_timeout_s: float = 60.0
    max_wait_s: float = 300.0
    connections: int | None = None
    event_streams: int = 64
    loop_followers: int = 16
    edge_requests: int = 8
    inline_rows: int = 100_000
    look_timeout_s: float = 2.0
    ask_timeout_s: float = 10.0
    read_timeout_s: float = 60.0
    admission_timeout_s: float = 60.0


class Bodies:
    """How many bodies of edges are in memory at once.

    Parameters
    ----------
    limit : int
        So many.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._taken = 0
        self._lock = Lock()

    @property
    def taken(self) -> int:
        """How many are in memory."""
        return self._taken

    @contextlib.contextmanager
    def permit(self) -> Iterator[BodyPermit]:
        """Hold the permit of one body, until the end or, where a call has the permit, until that of the call.

        Raises
        ------
        QueueFull
            When all are taken.
        """
        with self._lock:
            if self._taken >= self._limit:
                raise QueueFull(
                    f"{self._taken} bodies of edges are being admitted, which is the limit",
                    hint="Send the same body again later.",
                    retry_after_s=1.0,
                )
            self._taken += 1
        permit = BodyPermit(self._give_back)
        try:
            yield permit
        finally:
            if not permit.is_lent:
                permit.give_back()

    def _give_back(self) -> None:
        with self._lock:
            self._taken -= 1


class BodyPermit:
    """Leave for one body to be in memory, of which there is a limited number.

    Attributes
    ----------
    is_lent
        Whether a call has it.
    """

    def __init__(self, give_back: Callable[[], None]) -> None:
        self.is_lent = False
        # Whoever takes the one thing that is in it gives the permit back.
        self._unreturned = deque([give_back])

    async def run(self, bulkhead: Bulkhead, call: Callable[[], T]) -> T:
        """Call in a bulkhead, and return or raise what came of it; the call has the body, and so the permit, until its end.

        Raises
        ------
        Unresponsive
            See `Bulkhead.run`. The call may go on then, and keeps the permit.
        """

        def whole() -> T:
            try:
                return call()
            finally:
                self.give_back()

        self.is_lent = True
        return await bulkhead.run(whole, after=lambda _: self.give_back())

    def give_back(self) -> None:
        """Let another body come; a second call does nothing."""
        with contextlib.suppress(IndexError):
            self._unreturned.pop()()


class JsonResponse(Response):
    """JSON by orjson: floats as their shortest decimals, never NaN or infinity."""

    media_type = JSON

    def render(self, content: object) -> bytes:
        """Return the body."""
        return json_bytes(content)


def problem_response(problem: Problem) -> Response:
    """Return a problem document as an answer."""
    return Response(
        json_bytes(problem.content()),
        status_code=problem.status,
        media_type=problems.MEDIA_TYPE,
        headers=problem.headers,
    )


def content_type(request: Request) -> str:
    """Return the media type of the body, without parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def read_body(request: Request, *, accepted: list[str], limit_bytes: int, timeout_s: float) -> bytes:
    """Read a body of one of the accepted types.

    Raises
    ------
    ProblemError
        415 for another type or encoding, 413 above the limit, 408 where it does not arrive in time.
    """
    if content_type(request) not in accepted:
        raise problems.unsupported_media_type(request.headers.get("content-type"), accepted)
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in {"", "identity"}:
        raise ProblemError(
            Problem(
                415,
                "unsupported-media-type",
                "Unsupported media type",
                f"the content encoding is {encoding}, but bodies are read as they are",
                hint="Send the body without compression.",
            )
        )
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > limit_bytes:
        raise problems.body_too_large(limit_bytes)
    # Each part goes to its place as it comes: a list of them, joined at the end, takes the memory of the body twice, and leaves
    # the allocator with holes of as much.
    body = BytesIO()
    try:
        async with asyncio.timeout(timeout_s):
            async for part in request.stream():
                if body.tell() + len(part) > limit_bytes:
                    raise problems.body_too_large(limit_bytes)
                body.write(part)
    except TimeoutError:
        raise ProblemError(
            Problem(
                408,
                "request-timeout",
                "Request timeout",
                f"the body did not arrive within {timeout_s:g} s",
                hint="Send it in several requests.",
                headers={"Connection": "close"},
            )
        ) from None
    except ClientDisconnect:
        raise ProblemError(
            Problem(400, "client-disconnected", "Client disconnected", "the body broke off")
        ) from None
    return body.getvalue()


def refuse_unknown_parameters(request: Request, valid: list[str]) -> None:
    """Refuse a query string with a name nobody declared: a misspelt `wait_s` must not be passed over in silence.

    Raises
    ------
    ProblemError
        422 with the name and the valid ones.
    """
    for name in request.query_params:
        if name not in valid:
            where = f"the query string of {request.url.path}"
            raise problems.unknown_field(name, valid or ["(none)"], where=where)
