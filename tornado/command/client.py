"""The HTTP interface, seen from a caller: the calls that the command line makes of a running service.

Guarantees: every failure is a `TornadoError`: what the service says (a problem document, RFC 9457) as the error of that
code, a service that is not there as `ConnectionLost`. Proxies of the environment are not asked for a loopback address.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import os
import ssl
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote, urlsplit

import httpx
import numpy as np
import numpy.typing as npt

from .. import errors
from ..config import DEFAULT_HTTP_HOST, DEFAULT_HTTP_PORT
from ..errors import ConnectionLost, InvalidArgument, PeerError, TornadoError

URL_VARIABLE = "TORNADO_URL"
TOKEN_VARIABLE = "TORNADO_TOKEN"  # noqa: S105  its name, and nobody's token
_CONNECT_S = 5.0
_ANSWER_S = 60.0
_STARTED_S = 75.0  # a program that was never compiled takes its time

_RESCALED_S = 610.0  # a snapshot is stored and loaded

Document = dict[str, Any]


def default_url() -> str:
    """Return the address that is asked when none is given."""
    return os.environ.get(URL_VARIABLE) or f"http://{DEFAULT_HTTP_HOST}:{DEFAULT_HTTP_PORT}"


class ServiceClient:
    """One service. A context manager.

    Parameters
    ----------
    url : str
        Where it answers, without `/v1`.
    token : str, optional
        What it asks for, if it asks for any.

    Raises
    ------
    InvalidArgument
        The URL is not an http or https address, or the token is none that a header can carry.
    """

    def __init__(self, url: str, token: str | None = None) -> None:
        self.url = url.rstrip("/")
        parts = urlsplit(self.url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise InvalidArgument(
                f"{url!r} is not the address of a service", hint="It looks like http://127.0.0.1:8080."
            )
        if token is not None and not (token.isascii() and token.isprintable() and " " not in token):
            raise InvalidArgument(
                "the token has characters that no header can carry",
                hint=f"Look at --token and {TOKEN_VARIABLE}.",
            )
        self._client = httpx.Client(
            base_url=self.url,
            headers={"Authorization": f"Bearer {token}"} if token else {},
            timeout=httpx.Timeout(_ANSWER_S, connect=_CONNECT_S),
            trust_env=not _is_loopback(parts.hostname),
            # Reading certificates takes longer than most questions. SSL_CERT_FILE names those of one's own.
            verify=ssl.create_default_context() if parts.scheme == "https" else False,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def loops(self) -> list[Document]:
        """Return what `GET /v1/loops` lists."""
        listed: list[Document] = self._call("GET", "/v1/loops")["loops"]
        return listed

    def loop(self, name: str) -> Document:
        """Return one loop with its sources and statistics."""
        return self._call("GET", f"/v1/loops/{name}")

    def start(self, wanted: Document) -> Document:
        """Start a loop on a stream and return it."""
        return self._call("POST", "/v1/loops", json=wanted, timeout=_STARTED_S)

    def stop(self, name: str) -> None:
        """Remove a loop."""
        self._call("DELETE", f"/v1/loops/{quote(name, safe='')}")

    def rescale(self, stream: str, workers: int) -> Document:
        """Put the loops of a stream on so many workers, and return what became of it."""
        path = f"/v1/streams/{quote(stream, safe='')}/rescale"
        return self._call("POST", path, json={"workers": workers}, timeout=_RESCALED_S)

    def queries(self) -> list[Document]:
        """Return the queries that the service keeps, newest last."""
        listed: list[Document] = self._call("GET", "/v1/queries")["queries"]
        return listed

    def submit(self, question: Document, *, wait_s: float | None = None) -> Document:
        """Ask; with `wait_s` the answer may already have its result inside."""
        parameters = {} if wait_s is None else {"wait_s": wait_s}
        return self._call("POST", "/v1/queries", json=question, params=parameters)

    def query(self, identifier: str) -> Document:
        """Return a query as it is now."""
        return self._call("GET", f"/v1/queries/{identifier}")

    def result(self, identifier: str, **parameters: Any) -> Document:
        """Return the values of a finished query: `vertices`, `top`, `limit`, `after` as in the interface."""
        given = {name: value for name, value in parameters.items() if value is not None}
        return self._call("GET", f"/v1/queries/{identifier}/result", params=given)

    def columns(self, identifier: str) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Return all ids and values of a finished query whose values are float64, ascending by id; infinity where one is null."""
        import pyarrow as pa
        import pyarrow.compute

        with self._mapped():
            headers = {"accept": "application/vnd.apache.arrow.stream"}
            answer = self._client.get(
                f"/v1/queries/{identifier}/result", headers=headers, params={"table": "values"}
            )
        if answer.is_error:
            raise _problem(answer)
        table = pa.ipc.open_stream(answer.content).read_all()
        values = pa.compute.fill_null(table["value"], float("inf"))
        return table["vertex"].to_numpy(), values.to_numpy()

    def cancel(self, identifier: str) -> None:
        """Cancel a query and free what it holds."""
        self._call("DELETE", f"/v1/queries/{identifier}")

    def report(self) -> bytes:
        """Return how the service stands, as one HTML document."""
        with self._mapped():
            answer = self._client.get("/v1/observations/report")
        if answer.is_error:
            raise _problem(answer)
        return answer.content

    def push(self, loop: str, lines: bytes) -> Document:
        """Push edges as NDJSON and return how many were accepted and rejected."""
        headers = {"content-type": "application/x-ndjson"}
        return self._call("POST", f"/v1/loops/{loop}/edges", content=lines, headers=headers)

    def events(self, identifier: str) -> Iterator[tuple[str, Document]]:
        """Yield the server-sent events of a query: (`progress`, query) …, and last (`done`, query)."""
        path = f"/v1/queries/{identifier}/events"
        # No read timeout: between two events a long branch may be silent, and the server's keep-alive comments say it lives.
        timeout = httpx.Timeout(None, connect=_CONNECT_S)
        with (
            self._mapped(),
            self._client.stream(
                "GET", path, timeout=timeout, headers={"accept": "text/event-stream"}
            ) as answer,
        ):
            if answer.is_error:
                answer.read()
                raise _problem(answer)
            yield from _parse_events(answer.iter_lines())

    def _call(self, method: str, path: str, **arguments: Any) -> Document:
        with self._mapped():
            answer = self._client.request(method, path, **arguments)
        if answer.is_error:
            raise _problem(answer)
        if not answer.content:
            return {}
        try:
            document = answer.json()
        except ValueError as error:
            raise PeerError(
                f"{self.url}{path} answered something that is not JSON", hint="Is it a tornado-loops service?"
            ) from error
        return document if isinstance(document, dict) else {"items": document}

    @contextlib.contextmanager
    def _mapped(self) -> Iterator[None]:
        try:
            yield
        except httpx.ConnectError as error:
            raise ConnectionLost(
                f"nothing answers at {self.url}",
                hint="Start a service (tornado run APP … --http HOST:PORT), or name it with --url or "
                f"{URL_VARIABLE}.",
            ) from error
        except httpx.TimeoutException as error:
            raise ConnectionLost(f"{self.url} did not answer in time") from error
        except httpx.HTTPError as error:
            raise ConnectionLost(f"the connection to {self.url} broke: {error}") from error


def _parse_events(lines: Iterator[str]) -> Iterator[tuple[str, Document]]:
    """Parse an event stream (HTML standard, 9.2.6): the fields `event` and `data`, comments skipped."""
    name, data = "message", list[str]()
    for line in lines:
        if not line:
            if data:
                yield name, json.loads("\n".join(data))
            name, data = "message", []
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            name = value
        elif field == "data":
            data.append(value)


def _problem(answer: httpx.Response) -> TornadoError:
    """Turn a problem document back into the error that the service raised."""
    try:
        document = answer.json()
    except ValueError:
        document = None
    if not isinstance(document, dict):
        return PeerError(
            f"{answer.request.url} answered {answer.status_code} {answer.reason_phrase}",
            hint="Is it a tornado-loops service?",
        )
    message = document.get("detail") or document.get("title") or f"status {answer.status_code}"
    kind = _kinds().get(str(document.get("code")), PeerError)
    return kind(str(message), hint=document.get("hint"))


def _kinds() -> dict[str, type[TornadoError]]:
    # Those of the tree alone: what another room derives for its own use may share a code, and take other arguments.
    kinds = (
        kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, TornadoError)
    )
    return {kind.code: kind for kind in kinds}


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
