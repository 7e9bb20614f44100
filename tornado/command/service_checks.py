"""The way to a running service as findings of `tornado doctor --url`: name, connection, certificate, answers, token, loops.

Each step needs the ones before it, so the first that fails is the last. It is walked with plain sockets, layer by layer: a
client that does all of it in one call can only say that it did not work. Nothing is changed on the service, and no step takes
longer than its own time limit.
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import SplitResult, urlsplit

from ..client.transport import TOKEN_VARIABLE, ServiceAddress
from .checks import Finding, Status
from .client import as_ours

_STEP_S = 3.0
_SOON_DAYS = 14
_MOST_BYTES = 16 << 20


def check_service(url: str, token: str | None = None) -> Iterator[Finding]:
    """Walk the way to a service; the last finding is the first that failed, or how its loops stand.

    Parameters
    ----------
    url : str
        Where the service answers, without `/v1`.
    token : str, optional
        What to show it; left out, what the environment has.

    Raises
    ------
    InvalidArgument
        The URL is not an http or https address, or the token is none that a header can carry.
    """
    with as_ours():
        address = ServiceAddress.given(url, token)
    parts = urlsplit(address.url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return _walk(parts, str(parts.hostname), port, address.token)


def _walk(parts: SplitResult, host: str, port: int, token: str | None) -> Iterator[Finding]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        yield Finding(
            "name",
            Status.FAIL,
            f"{host} has no address: {error.strerror}",
            "look at its spelling, or name an address",
        )
        return
    addresses = sorted({str(entry[4][0]) for entry in found})
    yield Finding("name", Status.OK, f"{host} is {', '.join(addresses)}")

    started_s = time.perf_counter()
    try:
        socket.create_connection((host, port), timeout=_STEP_S).close()
    except OSError as error:
        yield Finding(
            "connection",
            Status.FAIL,
            f"{host}:{port}: {error.strerror or error}",
            "start a service (tornado run APP … --http HOST:PORT), or look at the port and at firewalls between here and there",
        )
        return
    yield Finding("connection", Status.OK, f"{host}:{port} takes connections ({_since(started_s)})")

    if parts.scheme == "https":
        finding = _certificate(host, port)
        yield finding
        if finding.status is Status.FAIL:
            return
    yield from _answers(_Answers(parts, host, port, token), token)


def _certificate(host: str, port: int) -> Finding:
    context = ssl.create_default_context()
    try:
        with (
            socket.create_connection((host, port), timeout=_STEP_S) as plain,
            context.wrap_socket(plain, server_hostname=host) as secured,
        ):
            ends = str((secured.getpeercert() or {}).get("notAfter", ""))
            spoken = secured.version()
    except ssl.SSLCertVerificationError as error:
        remedy = "have it signed for this name by an authority that this machine trusts (SSL_CERT_FILE names others), or renew it"
        return Finding("certificate", Status.FAIL, f"{host}: {error.verify_message}", remedy)
    except OSError as error:
        return Finding(
            "certificate",
            Status.FAIL,
            f"{host}:{port} does not speak TLS: {getattr(error, 'reason', None) or error}",
            "ask http:// in place of https://, or start the service with a certificate",
        )
    days = (ssl.cert_time_to_seconds(ends) - time.time()) / 86_400
    status = Status.WARN if days < _SOON_DAYS else Status.OK
    remedy = "renew it" if status is Status.WARN else ""
    return Finding("certificate", status, f"{spoken}, valid for {days:.0f} more days", remedy)


def _answers(answers: _Answers, token: str | None) -> Iterator[Finding]:
    started_s = time.perf_counter()
    status, health = answers.get("/healthz", with_token=False)
    if not status and answers.only_tls():
        said = "speaks TLS, so a request without it is cut off"
        yield Finding("health", Status.FAIL, said, "ask https:// in place of http://")
        return
    if status != 200 or health.get("status") != "ok":
        yield Finding(
            "health",
            Status.FAIL,
            f"GET /healthz: {_shown(status, health)}",
            "is it a tornado-loops service? Something else, or a proxy, may answer at this address",
        )
        return
    yield Finding("health", Status.OK, f"answers ({_since(started_s)})")

    status, ready = answers.get("/readyz", with_token=False)
    if status != 200:
        yield Finding(
            "readiness", Status.FAIL, f"GET /readyz: {_shown(status, ready)}", _hint(ready, "ask again soon")
        )
        return
    waiting = ready.get("not_logged") or {}
    for stream, why in waiting.items():
        yield Finding(
            "readiness",
            Status.WARN,
            f"stream {stream} takes nothing in: {why}",
            "mend its store; it goes on by itself then",
        )
    if not waiting:
        yield Finding("readiness", Status.OK, "questions can be asked")

    status, listed = answers.get("/v1/loops", with_token=True)
    if status in {401, 403}:
        shown = "the token is not one that it knows, or may not read" if token else "it asks for a token"
        yield Finding(
            "token",
            Status.FAIL,
            f"{shown}: {_shown(status, listed)}",
            f"--token TOKEN, or {TOKEN_VARIABLE} in the environment",
        )
        return
    if status != 200:
        yield Finding(
            "loops",
            Status.FAIL,
            f"GET /v1/loops: {_shown(status, listed)}",
            _hint(listed, "look at what the service logs"),
        )
        return
    yield Finding("token", Status.OK, "is accepted" if token else "none is asked for")
    for loop in listed.get("loops", []):
        yield _of_loop(loop)
    seen: set[tuple[str, str]] = set()
    for loop in listed.get("loops", []):
        for name, source in sorted((loop.get("sources") or {}).items()):
            key = str(loop.get("stream")), name
            if source.get("last_error") and key not in seen:
                seen.add(key)
                yield Finding(
                    f"source {name}",
                    Status.WARN,
                    f"of stream {key[0]} had to overcome: {source['last_error']}",
                    "nothing to do where it has gone on since; `tornado doctor --kafka` walks the way to a topic",
                )


def _of_loop(loop: dict[str, Any]) -> Finding:
    name, state = f"loop {loop.get('name')}", loop.get("state")
    if state == "failed":
        return Finding(
            name,
            Status.FAIL,
            f"has failed: {loop.get('error')}",
            "start it anew; what the stream has is not lost",
        )
    if state == "unresponsive":
        return Finding(
            name,
            Status.WARN,
            "does not answer in time",
            "wait: lost workers are replaced; look at memory and cores",
        )
    counts = f"{loop.get('vertices') or 0:,} vertices, {loop.get('edges') or 0:,} edges, version {loop.get('version')}"
    return Finding(name, Status.OK, f"{state}: {counts}, {loop.get('backlog_records') or 0:,} records behind")


class _Answers:
    """Asks with plain requests, over a connection each; what is not JSON is an empty document."""

    def __init__(self, parts: SplitResult, host: str, port: int, token: str | None) -> None:
        self._secured = parts.scheme == "https"
        self._host = host
        self._port = port
        self._path = parts.path.rstrip("/")
        self._token = token

    def get(self, path: str, *, with_token: bool) -> tuple[int, dict[str, Any]]:
        """Return status and document; status 0 where nothing came that is an answer."""
        headers = {"accept": "application/json"}
        if with_token and self._token:
            headers["authorization"] = f"Bearer {self._token}"
        kind = http.client.HTTPSConnection if self._secured else http.client.HTTPConnection
        connection = kind(self._host, self._port, timeout=_STEP_S)
        try:
            connection.request("GET", self._path + path, headers=headers)
            answer = connection.getresponse()
            document = json.loads(answer.read(_MOST_BYTES))
        except ValueError:
            return answer.status, {}
        except (OSError, http.client.HTTPException) as error:
            return 0, {"detail": f"{type(error).__name__}: {error}"}
        finally:
            connection.close()
        return answer.status, document if isinstance(document, dict) else {}

    def only_tls(self) -> bool:
        """Return whether what gives no answer to a plain request takes a handshake, whoever it is with."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # nothing is sent
        try:
            with (
                socket.create_connection((self._host, self._port), timeout=_STEP_S) as plain,
                context.wrap_socket(plain),
            ):
                return not self._secured
        except OSError:
            return False


def _shown(status: int, document: dict[str, Any]) -> str:
    said = document.get("detail") or document.get("title") or ""
    return f"{status or 'no answer'}{f' ({said})' if said else ''}"


def _hint(document: dict[str, Any], otherwise: str) -> str:
    return str(document.get("hint") or otherwise)


def _since(started_s: float) -> str:
    return f"{(time.perf_counter() - started_s) * 1e3:.1f} ms"
