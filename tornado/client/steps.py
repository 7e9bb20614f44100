"""A conversation with a service without any input or output: what is sent, what came back, and what follows from it.

An operation is a generator that yields `Call` and `Pause` and is sent `Reply` or `Failure`; who drives it, with blocking sockets or
with asyncio, is not its concern (the sans-I/O style of h11). So each operation is written once for both faces.

Guarantees: a call is made again only where that cannot do anything twice, and the pauses of one call sum up to at most the patience
of the caller.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeVar

from .errors import (
    InConflict,
    InvalidInput,
    NotFound,
    NotPermitted,
    OutcomeUnknown,
    Overloaded,
    Refused,
    ServiceError,
    ServiceFailed,
    Unreachable,
)

Document = dict[str, Any]
Result = TypeVar("Result")

# Of a stream of events; the service says something every 15 s.
SILENCE_S = 45.0

# Longer than it takes to tell all that is known at the beginning.
_LASTING_S = 1.0
_SHORTEST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 5.0
_REFUSED_FOR_NOW = 429
_AWAY_FOR_NOW = 503
_UNRESPONSIVE = "unresponsive"
_KINDS = {401: NotPermitted, 403: NotPermitted, 404: NotFound, 409: InConflict, 429: Overloaded}


class Again(Enum):
    """When a call may be made again."""

    ALWAYS = "always"
    """It reads, or is numbered: twice is as good as once."""
    REFUSED = "refused"
    """Only when the service said that it did not do it (429), or was never reached."""


@dataclass(frozen=True, slots=True)
class Call:
    """A request.

    Attributes
    ----------
    path : str
        With `/v1`, quoted.
    parameters : mapping
        Of the query string; those that are None are left out.
    timeout_s : float
        How long the answer may take.
    again : Again
        When it may be made again.
    """

    method: str
    path: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    content: bytes | None = None
    content_type: str = "application/json"
    accept: str = "application/json"
    timeout_s: float = 60.0
    again: Again = Again.ALWAYS

    @property
    def given_parameters(self) -> dict[str, Any]:
        """Those that are not None.

        Raises
        ------
        InvalidInput
            A text is none that can be written as UTF-8.
        """
        given = {name: value for name, value in self.parameters.items() if value is not None}
        for name, value in given.items():
            try:
                str(value).encode()
            except UnicodeEncodeError as error:
                raise InvalidInput(
                    f"{name} is {value!r}, which cannot be sent: {error}",
                    hint="Give a text of whole characters.",
                ) from error
        return given


@dataclass(frozen=True, slots=True)
class Reply:
    """What the service answered."""

    status: int
    content: bytes
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_error(self) -> bool:
        """Whether it is not what was asked for."""
        return self.status >= 400

    def document(self, call: Call) -> Document:
        """Return the JSON object that it is; empty without a body.

        Raises
        ------
        ServiceFailed
            It is none.
        """
        if not self.content:
            return {}
        found = _parsed(self.content)
        if not isinstance(found, dict):
            raise ServiceFailed(
                f"{call.path} answered something that is not JSON",
                hint="Is it a tornado-loops service?",
                status=self.status,
            )
        return found


class Break(Enum):
    """How a call came to no answer."""

    NOT_REACHED = "nothing answers"
    NOT_TRUSTED = "its certificate is not trusted"
    NO_TLS = "it does not speak TLS"
    ONLY_TLS = "it speaks nothing but TLS"
    TOO_LATE = "no answer in time"
    BROKEN = "the connection broke"
    ENDED = "the service ended its answer"
    SILENT = "nothing more came"


@dataclass(frozen=True, slots=True)
class Failure:
    """A call without an answer.

    Attributes
    ----------
    where : str
        The address that was asked.
    was_reached : bool
        Whether the service has answered over this connection before, so that it may come back.
    """

    kind: Break
    where: str
    text: str = ""
    was_reached: bool = False


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing for a while."""

    seconds: float


Steps = Generator[Call | Pause, Reply | Failure | None, Result]
"""An operation that returns a `Result`."""


def made(call: Call, *, patience_s: float) -> Steps[Reply]:
    """Make a call, again where that is safe, and return the answer that is no error.

    Parameters
    ----------
    patience_s
        How long the pauses before further attempts may be, all together.

    Raises
    ------
    ServiceError
        The answer is an error, or there is none.
    """
    attempts = Attempts(call, patience_s)
    while True:
        outcome = yield call
        assert outcome is not None
        if isinstance(outcome, Reply) and not outcome.is_error:
            return outcome
        yield attempts.pause_after(outcome)


class Attempts:
    """How often a call is made again, by how long that took so far.

    Parameters
    ----------
    call : Call
    patience_s : float
        How long the pauses may be, all together.
    """

    def __init__(self, call: Call, patience_s: float) -> None:
        self._call = call
        self._patience_s = patience_s
        self._begin()

    def was_told_for(self, seconds: float, outcome: Reply | Failure) -> None:
        """Take that events came for so long until this: who goes on after its first words is waited for with patience anew."""
        if seconds - (SILENCE_S if _is_silence(outcome) else 0.0) >= _LASTING_S:
            self._begin()

    def _begin(self) -> None:
        self._waited_s = 0.0
        self._attempt = 0

    def pause_after(self, outcome: Reply | Failure) -> Pause:
        """Return the pause before the call is made again.

        Raises
        ------
        ServiceError
            It is not: the outcome as an error.
        """
        pause_s = _pause_before_next(self._call, outcome, self._attempt)
        if pause_s is not None and self._attempt and _is_silence(outcome):
            self._waited_s += SILENCE_S  # one that hangs costs as much patience as one that is away
        if pause_s is None or self._waited_s + pause_s > self._patience_s:
            raise error_of(self._call, outcome)
        self._waited_s += pause_s
        self._attempt += 1
        return Pause(pause_s)


def growing_pauses(patience_s: float) -> Iterator[Pause]:
    """Iterate over pauses that grow, and sum up to at most the patience: before each further attempt at several calls in a row."""
    waited_s = 0.0
    for attempt in itertools.count():
        pause_s = _grown_s(attempt)
        waited_s += pause_s
        if waited_s > patience_s:
            return
        yield Pause(pause_s)


def error_of(call: Call, outcome: Reply | Failure) -> ServiceError:
    """Return the error that an outcome is; see `tornado.client.errors`."""
    if isinstance(outcome, Failure):
        return _no_answer(call, outcome)
    found = _parsed(outcome.content)
    if not isinstance(found, dict) or "status" not in found:
        return ServiceFailed(
            f"{call.path} answered {outcome.status}",
            hint="Is it a tornado-loops service?",
            status=outcome.status,
        )
    usual: type[ServiceError] = Refused if outcome.status < 500 else ServiceFailed
    kind: type[ServiceError] = _KINDS.get(outcome.status, usual)
    if found.get("code") == _UNRESPONSIVE and call.again is Again.REFUSED:
        kind = OutcomeUnknown  # the service waits for it no longer, and it may still come to its end
    return kind(
        str(found.get("detail") or found.get("title") or f"{call.path} answered {outcome.status}"),
        hint=str(found["hint"]) if found.get("hint") else None,
        code=str(found["code"]) if found.get("code") else None,
        status=outcome.status,
        retry_after_s=_retry_after_s(outcome),
    )


def _pause_before_next(call: Call, outcome: Reply | Failure, attempt: int) -> float | None:
    """Return how long to wait before the same call is made again; None: it is not."""
    grown_s = _grown_s(attempt)
    if isinstance(outcome, Failure):
        # One that never answered is more likely a wrong address than a service that comes back.
        if not outcome.was_reached:
            return None
        # Not one without trust: asking again would not help.
        is_cut = outcome.kind in {Break.BROKEN, Break.ENDED, Break.SILENT} and call.again is Again.ALWAYS
        return grown_s if is_cut or outcome.kind is Break.NOT_REACHED else None
    retried = outcome.status == _REFUSED_FOR_NOW or (
        outcome.status == _AWAY_FOR_NOW and call.again is Again.ALWAYS
    )
    if not retried:
        return None
    asked_s = _retry_after_s(outcome)
    return grown_s if asked_s is None else max(asked_s, grown_s)


def _grown_s(attempt: int) -> float:
    return min(_SHORTEST_PAUSE_S * 2.0 ** min(attempt, 10), _LONGEST_PAUSE_S)


def _is_silence(outcome: Reply | Failure) -> bool:
    return isinstance(outcome, Failure) and outcome.kind is Break.SILENT


def _retry_after_s(reply: Reply) -> float | None:
    text = reply.headers.get("retry-after")
    try:
        seconds = float(text) if text is not None else None
    except ValueError:  # a date: nobody sends one here
        return None
    return seconds if seconds is not None and math.isfinite(seconds) and seconds >= 0 else None


def _no_answer(call: Call, failure: Failure) -> ServiceError:
    if failure.kind is Break.NOT_REACHED:
        return Unreachable(
            f"nothing answers at {failure.where}",
            hint="Start a service (tornado run APP … --http HOST:PORT), or name it with the URL or TORNADO_URL.",
        )
    if failure.kind is Break.NOT_TRUSTED:
        return Unreachable(
            f"the certificate of {failure.where} is not trusted: {failure.text}",
            hint="Ask by a name that it is for, name the authority that issued it (SSL_CERT_FILE=FILE, or verify=FILE of connect), or renew it.",
        )
    if failure.kind is Break.NO_TLS:
        return Unreachable(
            f"{failure.where} does not speak TLS: {failure.text}",
            hint="Ask http:// in place of https://, or start the service with --tls-certificate and --tls-key.",
        )
    if failure.kind is Break.ONLY_TLS:
        return Unreachable(
            f"{failure.where} speaks TLS, so a request without it is cut off",
            hint="Ask https:// in place of http://.",
        )
    if call.again is Again.REFUSED:
        return OutcomeUnknown(
            f"{failure.kind.value} of {failure.where} while {call.method} {call.path} was under way, so it may have been done or not",
            hint="Look before you do it again; records that are sent with a batch number are in once however often they are sent.",
        )
    if failure.kind is Break.TOO_LATE:
        return Unreachable(f"{failure.where} did not answer in time")
    if failure.kind is Break.SILENT:
        return Unreachable(
            f"nothing came from {failure.where} for {SILENCE_S:g} s, and it says something more often while it lives",
            hint="Look whether the service hangs, and at the network between here and there.",
        )
    if failure.kind is Break.ENDED:
        return Unreachable(
            f"{failure.where} stopped before {call.path} was at its end",
            hint="Ask again when it is back; a longer patience_s waits for that.",
        )
    return Unreachable(f"the connection to {failure.where} broke: {failure.text}")


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        return None
