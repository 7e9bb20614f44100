"""A loop of a running service, as Spark's tasks see it: its HTTP interface, spoken with the standard library alone.

A task needs nothing but Python and pyarrow. Every call that is made here may be made again, so what is refused for now (429,
503) or breaks off is tried again until a time limit; that also bridges a restart of the service.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import math
import time
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote, urlsplit

import pyarrow as pa

from ...errors import ConnectionLost, InvalidArgument, PeerError

ARROW = "application/vnd.apache.arrow.stream"
JSON = "application/json"
_PAUSE_S = 0.25
_LONGEST_PAUSE_S = 5.0
_TRY_AGAIN = (429, 503)

Document = dict[str, Any]


class RemoteLoop:
    """One loop of one service, over one connection that is kept. A context manager; not to be shared between threads.

    Parameters
    ----------
    url : str
        Where the service answers, without `/v1`.
    loop : str
        Name of the loop.
    timeout_s : float
        How long to try again.
    token : str or None
        What the service asks for, if it asks for any.
    answer_s : float
        How long one answer may take, which for a commit is long: longer ones are a service that hangs.

    Raises
    ------
    InvalidArgument
        When the URL is none.
    """

    def __init__(
        self,
        url: str,
        loop: str,
        *,
        token: str | None = None,
        timeout_s: float = 60.0,
        answer_s: float = 120.0,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise InvalidArgument(
                f"url is {url!r}, which is not the address of a service",
                hint="It looks like http://127.0.0.1:8080.",
            )
        self.url = url.rstrip("/")
        self.loop = loop
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connection = kind(parts.hostname, parts.port, timeout=answer_s)
        self._shown = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._prefix = parts.path.rstrip("/") + "/v1"
        self._timeout_s = timeout_s

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def describe(self) -> Document:
        """Return what `GET /v1/loops/{name}` says."""
        return self._json("GET", f"/loops/{quote(self.loop, safe='')}")

    def stage(self, source: str, number: int, part: str, chunk: int, table: pa.Table) -> None:
        """Send a chunk of a part of a batch."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        path = f"{self._batch(source, number)}/parts/{quote(part, safe='')}/{chunk}"
        # Sent from where Arrow wrote it.
        self._json("PUT", path, memoryview(sink.getvalue()), ARROW)

    def commit(self, source: str, number: int, parts: Sequence[tuple[str, int]]) -> Document:
        """Have a batch admitted: these parts, each with the number of its chunks."""
        body = {"parts": [{"part": name, "chunks": chunks} for name, chunks in parts]}
        return self._json("POST", self._batch(source, number), json.dumps(body).encode(), JSON)

    def drop(self, source: str, number: int) -> None:
        """Give a batch up."""
        self._call("DELETE", self._batch(source, number))

    def report(self, source: str, *, rejected: int, lag_records: int | None, last_error: str | None) -> None:
        """Say what only the sender of a source's batches knows."""
        body = {"rejected": rejected, "lag_records": lag_records, "last_error": last_error}
        path = f"/loops/{quote(self.loop, safe='')}/batches/{quote(source, safe='')}"
        self._call("PUT", path, json.dumps(body).encode())

    def values(self, *, mode: str, vertices: Sequence[int | str] | None, deadline_s: float) -> pa.Table:
        """Ask, wait, and return `vertex` and `value`, null where a vertex is out of reach.

        Raises
        ------
        PeerError
            When the branch did not converge, so that there is no such answer.
        """
        question: Document = {"mode": mode, "deadline_s": deadline_s}
        if vertices is not None:
            question["vertices"] = list(vertices)
        with self._answered(question) as query:
            body = self._call("GET", f"/queries/{query}/result?table=values", accept=ARROW)
        return pa.ipc.open_stream(body).read_all()

    def paths(self, vertices: Sequence[int | str], *, mode: str, deadline_s: float) -> pa.Table:
        """Ask, wait, and return the ways to some vertices: `path`, `step`, `vertex`, `weight`; no row where one is out of reach.

        Raises
        ------
        PeerError
            As `values`.
        """
        question: Document = {"mode": mode, "deadline_s": deadline_s, "paths": list(vertices)}
        with self._answered(question) as query:
            body = self._call("GET", f"/queries/{query}/result?table=paths", accept=ARROW)
        return pa.ipc.open_stream(body).read_all()

    def keep(
        self, reader: str, deadline_s: float, *, after: int, moved_by: float, at: int | None = None
    ) -> int:
        """Ask for an exact answer, have it kept for a reader, and return its version.

        Parameters
        ----------
        after : int
            What the reader was told before: a version that is kept, or 0 for nothing.
        moved_by : float
            By how much a number must have moved from what the reader was told of it to be told again.
        at : int, optional
            Version of a stored snapshot, in place of the loop as it is now.

        Raises
        ------
        PeerError
            As `values`.
        """
        with self._answered({"deadline_s": deadline_s} | ({} if at is None else {"at": at})) as query:
            wanted = {"query": query, "after": after} | ({"moved_by": moved_by} if moved_by else {})
            kept = self._json("POST", self._reader(reader), json.dumps(wanted).encode())
        return int(kept["version"])

    def changes(self, reader: str, after: int, up_to: int, table: str) -> pa.Table:
        """Return a table of what changed between two versions that are kept for a reader."""
        path = f"{self._reader(reader)}?after={after}&up_to={up_to}&table={quote(table, safe='')}"
        return pa.ipc.open_stream(self._call("GET", path, accept=ARROW)).read_all()

    def forget(self, reader: str, before: int) -> None:
        """Have the answers let go of that are kept for a reader, before a version."""
        self._call("DELETE", f"{self._reader(reader)}?before={before}")

    @contextlib.contextmanager
    def _answered(self, question: Document) -> Iterator[str]:
        """Ask, wait for the answer, and yield the query's id; the query is forgotten afterwards."""
        asked = self._json("POST", "/queries", json.dumps({"loop": self.loop} | question).encode(), JSON)
        path = f"/queries/{asked['id']}"
        try:
            self._finished(asked, path)
            yield str(asked["id"])
        finally:
            with contextlib.suppress(PeerError, InvalidArgument):
                self._call("DELETE", path)

    def _finished(self, asked: Document, path: str) -> None:
        while asked["state"] in {"queued", "running"}:
            asked = self._json("GET", path)
            time.sleep(0.01 if asked["elapsed_s"] < 1 else _PAUSE_S)
        if asked["state"] != "converged":
            problem = asked.get("error") or {}
            raise PeerError(
                f"the query of loop {self.loop!r} ended as {asked['state']} after {asked['elapsed_s']:g} s"
                + (f": {problem['detail']}" if "detail" in problem else ""),
                hint=str(
                    problem.get("hint")
                    or "Give it longer with the option deadline_s, or read with mode approximate."
                ),
            )

    def _reader(self, reader: str) -> str:
        return f"/loops/{quote(self.loop, safe='')}/readers/{quote(reader, safe='')}"

    def _batch(self, source: str, number: int) -> str:
        return f"/loops/{quote(self.loop, safe='')}/batches/{quote(source, safe='')}/{number}"

    def _json(
        self, method: str, path: str, body: bytes | memoryview | None = None, kind: str = JSON
    ) -> Document:
        answer = self._call(method, path, body, kind)
        try:
            document: Document = json.loads(answer)
        except ValueError as error:
            raise PeerError(
                f"{self.url}{path} answered something that is not JSON", hint="Is it a tornado-loops service?"
            ) from error
        return document

    def _call(
        self,
        method: str,
        path: str,
        body: bytes | memoryview | None = None,
        kind: str = JSON,
        *,
        accept: str = JSON,
    ) -> bytes:
        headers = self._shown | {"Accept": accept} | ({} if body is None else {"Content-Type": kind})
        give_up_s = time.monotonic() + self._timeout_s
        while True:
            try:
                self._connection.request(method, self._prefix + path, body, headers)
                answer = self._connection.getresponse()
                content = answer.read()
            except (OSError, http.client.HTTPException) as error:
                self._connection.close()
                if time.monotonic() + _PAUSE_S > give_up_s:
                    raise ConnectionLost(
                        f"nothing answers at {self.url}, tried for {self._timeout_s:g} s: {error}",
                        hint="Start the service (tornado run APP … --http HOST:PORT), or name it with the option url.",
                    ) from error
                time.sleep(_PAUSE_S)
                continue
            if answer.status < 400:
                return content
            pause_s = _pause_s(answer.headers.get("Retry-After"))
            if answer.status not in _TRY_AGAIN or time.monotonic() + pause_s > give_up_s:
                raise _problem(answer.status, content, f"{method} {self.url}{path}")
            time.sleep(pause_s)


def _pause_s(header: str | None) -> float:
    try:
        seconds = float(header or "")
    except ValueError:
        return _PAUSE_S
    return min(max(seconds, _PAUSE_S), _LONGEST_PAUSE_S) if math.isfinite(seconds) else _PAUSE_S


def _problem(status: int, content: bytes, call: str) -> InvalidArgument | PeerError:
    """Turn a problem document (RFC 9457) into an error: of the caller below 500 and but for 429, else of the service."""
    try:
        document = json.loads(content)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        return PeerError(f"{call} answered {status}", hint="Is it a tornado-loops service?")
    kind = InvalidArgument if 400 <= status < 500 and status != 429 else PeerError
    return kind(
        str(document.get("detail") or f"{call} answered {status}"),
        hint=str(document.get("hint") or "") or None,
    )
