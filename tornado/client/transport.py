"""The doorway to httpx: drives operations with blocking sockets or with asyncio.

Guarantees: no exception of httpx leaves this file. The token goes out as `Authorization: Bearer …` and is in no message and no `repr`.
Proxies of the environment are not asked for a loopback address. The two connections are the same but for waiting, and so are the two faces
that use them: a test compares what is written.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import os
import ssl
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

import httpx

from .errors import InvalidInput
from .events import Event, EventParser
from .steps import SILENCE_S, Attempts, Break, Call, Failure, Pause, Reply, Result, Steps, error_of

URL_VARIABLE = "TORNADO_URL"
TOKEN_VARIABLE = "TORNADO_TOKEN"  # noqa: S105  # a name, no secret
USUAL_URL = "http://127.0.0.1:8080"
CONNECT_S = 5.0
# Whoever waits for an answer holds a connection meanwhile, so a limit to them would keep a push from leaving while a hundred questions wait.
_LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=20)


@dataclass(frozen=True, slots=True)
class ServiceAddress:
    """Where a service answers, and how one is let in.

    Parameters
    ----------
    url : str
        Without `/v1`.
    token : str or None
        Sent with each call.
    verify : bool or str
        Whether the certificate of an https address is checked; a path: against the authorities in that file.

    Raises
    ------
    InvalidInput
        The URL is no http or https address, or the token cannot be in a header.
    """

    url: str
    token: str | None = field(default=None, repr=False)
    verify: bool | str = True

    def __post_init__(self) -> None:
        url: Any = self.url  # of whatever kind callers give, as the others
        token: Any = self.token
        verify: Any = self.verify
        if not isinstance(url, str) or not _is_address(url):
            raise InvalidInput(
                f"{url!r} is not the address of a service", hint="It looks like http://127.0.0.1:8080."
            )
        if token is not None and not (isinstance(token, str) and _can_be_sent(token)):
            raise InvalidInput(
                "the token has characters that no header can carry, or none at all",
                hint=f"Look at token, --token and {TOKEN_VARIABLE}.",
            )
        if not isinstance(verify, bool | str | os.PathLike):
            raise InvalidInput(
                f"verify is {verify!r} but must be True, False or the path of a file with certificates",
                hint="Leave it out to trust whom this machine trusts.",
            )

    @classmethod
    def given(cls, url: str | None, token: str | None, verify: bool | str = True) -> ServiceAddress:  # noqa: FBT001, FBT002  # as httpx has it
        """Return the address that is meant; what is left out is what the environment says, else this machine's usual one."""
        found = _given(url, URL_VARIABLE)
        found = USUAL_URL if found is None else found
        # What is no text is refused with the rest that is none.
        address = found.rstrip("/") if isinstance(found, str) else found
        return cls(address, _given(token, TOKEN_VARIABLE), verify)

    def settings(self) -> dict[str, Any]:
        """Return what a client of httpx is made with."""
        parts = urlsplit(self.url)
        secure = parts.scheme == "https"
        return {
            "base_url": self.url,
            "timeout": httpx.Timeout(60.0, connect=CONNECT_S),
            "limits": _LIMITS,
            "trust_env": not _is_loopback(parts.hostname or ""),
            # Reading certificates takes longer than most questions.
            "verify": _authorities(self.verify) if secure else False,
            "headers": {} if self.token is None else {"authorization": f"Bearer {self.token}"},
        }


def _nothing() -> None:
    pass


def _now_s() -> float:
    return time.monotonic()


class Connection:
    """One service, asked with blocking calls. To be closed; threads may share it."""

    def __init__(self, address: ServiceAddress) -> None:
        self.address = address
        self._client = httpx.Client(**address.settings())
        self._was_reached = False

    @property
    def url(self) -> str:
        """Where the service answers."""
        return self.address.url

    def close(self) -> None:
        """Close the sockets."""
        self._client.close()

    def run(self, steps: Steps[Result]) -> Result:
        """Drive an operation to its end and return what it returns."""
        outcome: Reply | Failure | None = None
        while True:
            try:
                step = steps.send(outcome)
            except StopIteration as ended:
                result: Result = ended.value
                return result
            if isinstance(step, Pause):
                self._pause(step)
                outcome = None
            else:
                outcome = self._outcome(step)

    def events(self, call: Call) -> Iterator[Event]:
        """Yield the server-sent events that answer a call, until the service ends them."""
        for told in self._told(call):
            if not isinstance(told, Event):
                raise error_of(call, told)
            yield told

    def unending_events(
        self, call: Call, patience_s: float, anew: Callable[[], None] = _nothing
    ) -> Iterator[Event]:
        """Yield events of a service that does not end them: where they end, the call is made again, and `anew` is called before."""
        attempts = Attempts(call, patience_s)
        while True:
            outcome: Reply | Failure = Failure(Break.ENDED, self.url, was_reached=True)
            first_s: float | None = None
            for told in self._told(call):
                if isinstance(told, Event):
                    first_s = _now_s() if first_s is None else first_s
                    yield told
                else:
                    outcome = told
            if first_s is not None:
                attempts.was_told_for(_now_s() - first_s, outcome)
            self._pause(attempts.pause_after(outcome))
            anew()

    def _told(self, call: Call) -> Iterator[Event | Reply | Failure]:
        """Yield the events that answer a call, and last why there are no more, unless the service ended them."""
        try:
            with self._client.stream(**_request(call), timeout=_unending(call)) as answer:
                self._was_reached = True
                if answer.is_error:
                    answer.read()
                    yield _reply(answer)
                    return
                parser = EventParser()
                for line in answer.iter_lines():
                    yield from parser.feed(line)
        except httpx.ReadTimeout:
            yield Failure(Break.SILENT, self.url, was_reached=self._was_reached)
        except httpx.HTTPError as error:
            yield self._failure(error)

    def _pause(self, pause: Pause) -> None:
        time.sleep(pause.seconds)

    def _outcome(self, call: Call) -> Reply | Failure:
        try:
            answer = self._client.request(**_request(call), timeout=_timeout(call))
        except httpx.HTTPError as error:
            return self._failure(error)
        self._was_reached = True
        return _reply(answer)

    def _failure(self, error: httpx.HTTPError) -> Failure:
        failure = _failure(error, self.url, was_reached=self._was_reached)
        if _may_speak_tls(failure) and self._speaks_tls():
            failure = replace(failure, kind=Break.ONLY_TLS)
        return failure

    def _speaks_tls(self) -> bool:
        try:
            self._client.request(**_handshake(self.url))
        except httpx.HTTPError:
            return False
        return True


class AsyncConnection:
    """One service, asked from coroutines. To be closed; of one event loop."""

    def __init__(self, address: ServiceAddress) -> None:
        self.address = address
        self._client = httpx.AsyncClient(**address.settings())
        self._was_reached = False

    @property
    def url(self) -> str:
        """Where the service answers."""
        return self.address.url

    async def close(self) -> None:
        """Close the sockets."""
        await self._client.aclose()

    async def run(self, steps: Steps[Result]) -> Result:
        """Drive an operation to its end and return what it returns."""
        outcome: Reply | Failure | None = None
        while True:
            try:
                step = steps.send(outcome)
            except StopIteration as ended:
                result: Result = ended.value
                return result
            if isinstance(step, Pause):
                await self._pause(step)
                outcome = None
            else:
                outcome = await self._outcome(step)

    async def events(self, call: Call) -> AsyncIterator[Event]:
        """Yield the server-sent events that answer a call, until the service ends them."""
        async for told in self._told(call):
            if not isinstance(told, Event):
                raise error_of(call, told)
            yield told

    async def unending_events(
        self, call: Call, patience_s: float, anew: Callable[[], None] = _nothing
    ) -> AsyncIterator[Event]:
        """Yield events of a service that does not end them: where they end, the call is made again, and `anew` is called before."""
        attempts = Attempts(call, patience_s)
        while True:
            outcome: Reply | Failure = Failure(Break.ENDED, self.url, was_reached=True)
            first_s: float | None = None
            async for told in self._told(call):
                if isinstance(told, Event):
                    first_s = _now_s() if first_s is None else first_s
                    yield told
                else:
                    outcome = told
            if first_s is not None:
                attempts.was_told_for(_now_s() - first_s, outcome)
            await self._pause(attempts.pause_after(outcome))
            anew()

    async def _told(self, call: Call) -> AsyncIterator[Event | Reply | Failure]:
        """Yield the events that answer a call, and last why there are no more, unless the service ended them."""
        try:
            async with self._client.stream(**_request(call), timeout=_unending(call)) as answer:
                self._was_reached = True
                if answer.is_error:
                    await answer.aread()
                    yield _reply(answer)
                    return
                parser = EventParser()
                async for line in answer.aiter_lines():
                    for event in parser.feed(line):
                        yield event
        except httpx.ReadTimeout:
            yield Failure(Break.SILENT, self.url, was_reached=self._was_reached)
        except httpx.HTTPError as error:
            yield await self._failure(error)

    async def _pause(self, pause: Pause) -> None:
        await asyncio.sleep(pause.seconds)

    async def _outcome(self, call: Call) -> Reply | Failure:
        try:
            answer = await self._client.request(**_request(call), timeout=_timeout(call))
        except httpx.HTTPError as error:
            return await self._failure(error)
        self._was_reached = True
        return _reply(answer)

    async def _failure(self, error: httpx.HTTPError) -> Failure:
        failure = _failure(error, self.url, was_reached=self._was_reached)
        if _may_speak_tls(failure) and await self._speaks_tls():
            failure = replace(failure, kind=Break.ONLY_TLS)
        return failure

    async def _speaks_tls(self) -> bool:
        try:
            await self._client.request(**_handshake(self.url))
        except httpx.HTTPError:
            return False
        return True


def _request(call: Call) -> dict[str, Any]:
    headers = {"accept": call.accept}
    if call.content is not None:
        headers["content-type"] = call.content_type
    return {
        "method": call.method,
        "url": call.path,
        "params": call.given_parameters,
        "content": call.content,
        "headers": headers,
    }


def _reply(answer: httpx.Response) -> Reply:
    return Reply(
        answer.status_code, answer.content, {name.lower(): text for name, text in answer.headers.items()}
    )


def _failure(error: httpx.HTTPError, url: str, *, was_reached: bool) -> Failure:
    kind, text = Break.BROKEN, str(error)
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        handshake = _failed_handshake(error)
        kind = Break.NOT_REACHED
        if isinstance(handshake, ssl.SSLCertVerificationError):
            kind, text = Break.NOT_TRUSTED, handshake.verify_message
        elif handshake is not None:
            kind, text = Break.NO_TLS, str(handshake)
    elif isinstance(error, httpx.TimeoutException):
        kind = Break.TOO_LATE
    return Failure(kind, url, text, was_reached)


def _may_speak_tls(failure: Failure) -> bool:
    """Return whether a connection may have broken since it was plain: whoever expects a handshake says nothing of that."""
    return failure.kind is Break.BROKEN and not failure.was_reached and failure.where.startswith("http:")


def _handshake(url: str) -> dict[str, Any]:
    """Return a request that whoever speaks TLS at a plain address answers, with whatever; nobody is shown the token."""
    return {
        "method": "HEAD",
        "url": f"https:{url.removeprefix('http:')}/healthz",
        "headers": {"authorization": ""},
        "timeout": CONNECT_S,
    }


def _failed_handshake(error: BaseException) -> ssl.SSLError | None:
    """Return the error of TLS that kept a connection from coming about, which httpx hands on as the cause of a cause."""
    found: BaseException | None = error
    while found is not None and not isinstance(found, ssl.SSLError):
        found = found.__cause__ or found.__context__
    return found


def _timeout(call: Call) -> httpx.Timeout:
    shortest_s = min(call.timeout_s, CONNECT_S)
    return httpx.Timeout(call.timeout_s, connect=shortest_s)


def _unending(call: Call) -> httpx.Timeout:
    # Between two events nothing may come for long, but the service's comments say that it lives.
    return httpx.Timeout(call.timeout_s, read=SILENCE_S, connect=CONNECT_S)


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        # What any of them cannot take would be a failure of the first call.
        _ = parts.port, httpx.URL(url), (parts.hostname or "").encode("idna")
    except (ValueError, httpx.InvalidURL):
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname)


def _given(value: Any, variable: str) -> Any:
    """Return what a caller gives, of whatever kind; where that is nothing, or an empty text, what the environment says, if anything."""
    is_left_out = value is None or (isinstance(value, str) and not value)
    return os.environ.get(variable) or None if is_left_out else value


def _can_be_sent(token: str) -> bool:
    return bool(token) and token.isascii() and token.isprintable() and " " not in token


def _authorities(verify: bool | str) -> Any:  # noqa: FBT001  # as httpx has it
    if verify is False:
        return False
    if verify is True:
        return ssl.create_default_context()  # of this machine; SSL_CERT_FILE names those of one's own
    with _as_input(verify):
        return ssl.create_default_context(cafile=verify)


@contextlib.contextmanager
def _as_input(path: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        raise InvalidInput(
            f"{path!r} has no certificates that can be read: {error}", hint="It is a file in PEM format."
        ) from error


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
