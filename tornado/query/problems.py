"""Errors as problem documents (RFC 9457): one place that says which status and which words an error gets.

`code` is stable: the codes of the error tree, and for what only HTTP knows the codes below. `type` is `about:blank`, as the
RFC asks where the status says it all; `title` is the rule's name, `detail` the values, `hint` what to do next.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from ..errors import (
    BodyTooLarge,
    Busy,
    CallerError,
    CannotAdopt,
    ConnectionLost,
    Forbidden,
    NameTaken,
    NotSupported,
    PeerError,
    QueueFull,
    RecordError,
    ResultUnavailable,
    StoreError,
    StoreFull,
    TornadoError,
    Unauthorized,
    UnknownLoop,
    UnknownQuery,
    UnknownStream,
    UnknownVertex,
    Unresponsive,
    WorkerLost,
)

MEDIA_TYPE = "application/problem+json"

# The first class that an error is an instance of decides.
STATUS: tuple[tuple[type[TornadoError], int], ...] = (
    (Unauthorized, 401),
    (Forbidden, 403),
    (UnknownLoop, 404),
    (UnknownStream, 404),
    (NameTaken, 409),
    (Busy, 409),
    (UnknownVertex, 404),
    (UnknownQuery, 404),
    (QueueFull, 429),
    (BodyTooLarge, 413),
    (NotSupported, 501),
    (ResultUnavailable, 409),
    (CannotAdopt, 409),
    (CallerError, 422),
    (RecordError, 422),
    (StoreFull, 507),
    (StoreError, 503),
    (ConnectionLost, 503),
    (WorkerLost, 503),
    (Unresponsive, 503),
    (PeerError, 502),
    (TornadoError, 500),
)


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem document.

    Attributes
    ----------
    extra : mapping
        Further members, such as the names of valid fields.
    headers : mapping
        What the answer needs besides, such as `Retry-After`.
    """

    status: int
    code: str
    title: str
    detail: str
    hint: str = ""
    extra: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)

    def content(self) -> dict[str, Any]:
        """Return the document; what is empty is left out."""
        document: dict[str, Any] = {
            "type": "about:blank",
            "title": self.title,
            "status": self.status,
            "code": self.code,
            "detail": self.detail,
        }
        if self.hint:
            document["hint"] = self.hint
        return document | self.extra


class ProblemError(Exception):
    """Raised by the routes where only HTTP is at stake; the application turns it into its document."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


def of_error(error: BaseException) -> Problem:
    """Return the document for an error of ours; any other is an internal one whose words stay inside."""
    if isinstance(error, ProblemError):
        return error.problem
    if not isinstance(error, TornadoError):
        return Problem(
            status=500,
            code="internal-error",
            title="Internal error",
            detail="the server failed on this request",
            hint="This is a bug in tornado-loops: please report it with the traceback from the server's log.",
        )
    status = next(number for kind, number in STATUS if isinstance(error, kind))
    headers = {}
    if isinstance(error, QueueFull | Unresponsive):
        # Whole seconds are all that the header can say, and 0 would invite a storm.
        headers["Retry-After"] = str(max(1, -int(-error.retry_after_s // 1)))
    if isinstance(error, Unauthorized):
        headers["WWW-Authenticate"] = 'Bearer realm="tornado-loops"'
    return Problem(
        status=status,
        code=error.code,
        title=error.code.replace("-", " ").capitalize(),
        detail=error.message,
        hint=error.hint,
        headers=headers,
    )


def of_status(status: int, detail: str, headers: dict[str, str] | None = None) -> Problem:
    """Return the document for an error of the framework itself, such as 404 and 405."""
    phrase = HTTPStatus(status).phrase
    hints = {
        404: "GET /openapi.json lists the paths; /docs shows them to people.",
        405: f"Allowed here: {(headers or {}).get('allow', (headers or {}).get('Allow', 'see /openapi.json'))}.",
    }
    return Problem(
        status=status,
        code=phrase.lower().replace(" ", "-").replace("'", ""),
        title=phrase,
        detail=detail if detail and detail != phrase else f"the server answers {status}: {phrase}",
        hint=hints.get(status, ""),
        headers=headers or {},
    )


def unknown_field(name: str, valid: list[str], *, where: str) -> ProblemError:
    """Return the error for a field that nobody declared."""
    return ProblemError(
        Problem(
            status=422,
            code="unknown-field",
            title="Unknown field",
            detail=f"{where} has no field {name!r}; valid are: {', '.join(valid)}",
            hint="Check the spelling, or leave the field out.",
            extra={"field": name, "valid": valid},
        )
    )


def invalid(detail: str, *, hint: str = "", errors: list[dict[str, str]] | None = None) -> ProblemError:
    """Return the error for a value outside what is allowed."""
    extra: dict[str, Any] = {"errors": errors} if errors else {}
    return ProblemError(Problem(422, "invalid-argument", "Invalid argument", detail, hint=hint, extra=extra))


def bad_json(detail: str) -> ProblemError:
    """Return the error for a body that cannot be read as JSON."""
    return ProblemError(
        Problem(400, "bad-json", "Bad JSON", detail, hint="Send one JSON object, encoded as UTF-8.")
    )


def body_too_large(limit_bytes: int) -> ProblemError:
    """Return the error for a body above the limit."""
    return ProblemError(
        Problem(
            413,
            "body-too-large",
            "Body too large",
            f"the body is larger than the {limit_bytes} bytes taken at once",
            hint="Send it in several requests.",
            headers={"Connection": "close"},
        )
    )


def unsupported_media_type(given: str | None, accepted: list[str]) -> ProblemError:
    """Return the error for a body of a type nobody reads."""
    return ProblemError(
        Problem(
            415,
            "unsupported-media-type",
            "Unsupported media type",
            f"the content type is {given or 'missing'}; taken are: {', '.join(accepted)}",
            hint=f"Set the header Content-Type: {accepted[0]}.",
            extra={"accepted": accepted},
        )
    )


def not_acceptable(accept: str, available: list[str]) -> ProblemError:
    """Return the error for an Accept header that nothing satisfies."""
    return ProblemError(
        Problem(
            406,
            "not-acceptable",
            "Not acceptable",
            f"Accept is {accept!r}; a result can be had as: {', '.join(available)}",
            hint=f"Send Accept: {available[0]}.",
            extra={"available": available},
        )
    )
