"""The operations of a service, each written once: which calls it makes, and what it makes of the answers.

Guarantee: what changes something and is not numbered is made again only where the service said that it did not do it.
"""

from __future__ import annotations

import json
import re
import reprlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import pyarrow as pa

from .columns import bodies
from .errors import InvalidInput, OutcomeUnknown, QueryEnded, Refused, ServiceError
from .steps import Again, Call, Document, Reply, Steps, growing_pauses, made

NDJSON = "application/x-ndjson"
ARROW = "application/vnd.apache.arrow.stream"
# The last event of a query.
DONE = "done"
# Of a commit: what was put is not there, as the service was restarted in between.
_INCOMPLETE = "incomplete-batch"
# As a service takes it behind `client:`.
_LONGEST_SENDER = 93
_SENDER = re.compile(rf"(?![0-9]+\Z)[A-Za-z0-9_.-]{{1,{_LONGEST_SENDER}}}")
RUNNING = frozenset({"queued", "running"})
# Long enough to ask seldom, short enough for a bar that moves.
_LOOK_S = 0.25
_WAIT_S = 10.0
_STARTED_S = 75.0  # a program that was never compiled takes its time
_RESCALED_S = 610.0  # a snapshot is stored and loaded
GIVING_UP_S = 2.0
"""How long whoever gives a question up waits for the service to take note of that."""

Show = Callable[[Document], None]
"""Is told how a query stands, again and again."""


@dataclass(frozen=True, slots=True)
class PushOutcome:
    """What became of records that were sent.

    Attributes
    ----------
    accepted, rejected : int
        Of these records. Why one was rejected is in the quarantine file of the service, with its place; the answer does not say.
    offsets : dict
        How many records of the source are in or rejected now; a snapshot with as many has these.
    repeated : bool
        Whether a numbered batch was in before, so that nothing was done.
    """

    accepted: int
    rejected: int
    offsets: dict[str, int]
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Batch:
    """A number for what is sent, so that it is in once however often it is sent.

    Attributes
    ----------
    sender : str
        Who numbers: letters, digits and `_.-`, and not digits alone.
    number : int
        0 for the first one of a sender, and then one more each time. One that is in is passed over, and one that would leave a gap refused.

    Raises
    ------
    InvalidInput
        The sender has no such name, or the number is none.
    """

    sender: str
    number: int

    def __post_init__(self) -> None:
        sender: Any = self.sender  # of whatever kind callers give
        number: Any = self.number
        if not isinstance(sender, str) or not _SENDER.fullmatch(sender):
            raise InvalidInput(
                f"the sender of a batch is {sender!r} but must be letters, digits, '.', '_' and '-', not digits alone, "
                f"and {_LONGEST_SENDER} characters at most",
                hint='A name that stays the same for all batches, such as Batch("nightly", 0).',
            )
        if isinstance(number, bool) or not hasattr(number, "__index__") or number < 0:
            raise InvalidInput(
                f"the batch number is {number!r} but must be from 0 on",
                hint="The first batch of a sender is 0, and each next one has one more.",
            )


@dataclass(frozen=True, slots=True)
class Operations:
    """What can be asked of a service.

    Parameters
    ----------
    patience_s : float
        How long one call may wait for a service that is full, away for a moment or restarted.

    Raises
    ------
    InvalidInput
        The patience is no number, or less than 0.
    """

    patience_s: float = 30.0

    def __post_init__(self) -> None:
        patience_s: Any = self.patience_s  # of whatever kind callers give
        if isinstance(patience_s, bool) or not isinstance(patience_s, int | float) or not patience_s >= 0:
            raise InvalidInput(
                f"patience_s is {patience_s!r} but must be a number of seconds from 0 on",
                hint="0 asks once; 30 is what it is where it is left out.",
            )

    def document(self, call: Call) -> Steps[Document]:
        """Make a call and return the JSON object that answers it."""
        reply = yield from made(call, patience_s=self.patience_s)
        return reply.document(call)

    def listed(self, what: str) -> Steps[list[Document]]:
        """Return the `loops`, the `streams` or the `queries`."""
        found = yield from self.document(Call("GET", f"/v1/{what}"))
        listed: list[Document] = found[what]
        return listed

    def described(self, what: str, name: str) -> Steps[Document]:
        """Return one of the `loops`, `streams` or `queries`."""
        return (yield from self.document(Call("GET", f"/v1/{what}/{quoted(name)}")))

    def start(self, wanted: Document) -> Steps[Document]:
        """Start a loop on a stream and return it."""
        call = _posted("/v1/loops", wanted, again=Again.REFUSED, timeout_s=_STARTED_S)
        return (yield from self.document(call))

    def stop(self, name: str) -> Steps[None]:
        """Remove a loop."""
        yield from self.document(Call("DELETE", f"/v1/loops/{quoted(name)}", again=Again.REFUSED))

    def rescale(self, stream: str, workers: int) -> Steps[Document]:
        """Put the loops of a stream on so many workers, and return what became of it."""
        path = f"/v1/streams/{quoted(stream)}/rescale"
        return (yield from self.document(_posted(path, {"workers": workers}, timeout_s=_RESCALED_S)))

    def ask(self, question: Document, *, wait_s: float | None = None) -> Steps[Document]:
        """Ask; with `wait_s` the answer may already have its result inside."""
        # A question that is asked twice costs a branch that nobody reads.
        return (yield from self.document(_posted("/v1/queries", question, parameters={"wait_s": wait_s})))

    def status(self, identifier: str, *, wait_s: float | None = None) -> Steps[Document]:
        """Return a query as it is now, or when it has ended."""
        call = Call("GET", f"/v1/queries/{quoted(identifier)}", {"wait_s": wait_s})
        return (yield from self.document(call))

    def finished(self, query: Document, show: Show | None = None) -> Steps[Document]:
        """Wait for the end of a query that may have ended, and return it with the first page of its result.

        Raises
        ------
        QueryEnded
            There is no answer.
        """
        wait_s = _WAIT_S if show is None else _LOOK_S
        while query["state"] in RUNNING:
            if show is not None:
                show(query)
            query = yield from self.status(query["id"], wait_s=wait_s)
        if show is not None:
            show(query)
        if query["state"] not in {"converged", "deadline"} or query.get("certificate") is None:
            raise _ended(query)
        if query.get("result") is None:
            query = yield from self.status(query["id"], wait_s=0.0)
        return query

    def neighbours(self, loop: str, vertex: int | str, limit: int) -> Steps[Document]:
        """Return the edges around a vertex as they are now, so many in each direction."""
        path = f"/v1/loops/{quoted(loop)}/neighbours"
        return (yield from self.document(Call("GET", path, {"vertex": vertex, "limit": limit})))

    def frontier(self, loop: str) -> Steps[Document]:
        """Return at which timestamp a loop stands, and who holds it there."""
        return (yield from self.document(Call("GET", f"/v1/loops/{quoted(loop)}/frontier")))

    def query_frontier(self, identifier: str) -> Steps[Document]:
        """Return at which timestamp the branch of a query stands, and who holds it there."""
        return (yield from self.document(Call("GET", f"/v1/queries/{quoted(identifier)}/frontier")))

    def result(self, identifier: str, **parameters: Any) -> Steps[Document]:
        """Return a page of the values of a finished query: `vertices`, `top`, `limit`, `after`, `table`."""
        return (yield from self.document(Call("GET", f"/v1/queries/{quoted(identifier)}/result", parameters)))

    def table(self, identifier: str, name: str | None = None) -> Steps[pa.Table]:
        """Return a whole table of a finished query; the first one without a name."""
        path = f"/v1/queries/{quoted(identifier)}/result"
        parameters: dict[str, Any] = {"table": name}
        pages = []
        while True:
            call = Call("GET", path, parameters, accept=ARROW, timeout_s=300.0)
            reply = yield from made(call, patience_s=self.patience_s)
            pages.append(pa.ipc.open_stream(reply.content).read_all())
            after = _next_page(reply)
            if after is None:
                return pages[0] if len(pages) == 1 else pa.concat_tables(pages)
            parameters |= {"after": after}

    def cancel(self, identifier: str) -> Steps[Document]:
        """Cancel a query, or free what one that has ended holds."""
        return (yield from self.document(_deleted_query(identifier)))

    def give_up(self, identifier: str) -> Steps[None]:
        """Cancel a query for a caller who is leaving: tried once and soon over, and no failure of it is worth telling."""
        call = replace(_deleted_query(identifier), timeout_s=GIVING_UP_S)
        with suppress(ServiceError):
            yield from made(call, patience_s=0.0)

    def adopt(self, identifier: str) -> Steps[Document]:
        """Have a loop go on from what a query has found; return the certificate of that."""
        return (yield from self.document(_posted(f"/v1/queries/{quoted(identifier)}/adopt", None)))

    def report(self) -> Steps[bytes]:
        """Return how the service stands, as one HTML document."""
        call = Call("GET", "/v1/observations/report", accept="text/html")
        return (yield from made(call, patience_s=self.patience_s)).content

    def push(self, place: str, kind: str, body: bytes, content_type: str) -> Steps[PushOutcome]:
        """Send one body of `edges`, `vertices` or `points` to `loops/NAME` or `streams/NAME`."""
        call = Call(
            "POST", f"/v1/{place}/{kind}", content=body, content_type=content_type, again=Again.REFUSED
        )
        found = yield from self.document(call)
        return PushOutcome(found["accepted"], found["rejected"], found["offsets"])

    def insert(self, place: str, kind: str, table: pa.Table) -> Steps[PushOutcome]:
        """Send a table, in as many bodies as it takes, one after the other.

        Raises
        ------
        ServiceError
            A body was not taken; those before it were, and a note on the error says how many records these had.
        """
        accepted = rejected = sent = 0
        offsets: dict[str, int] = {}
        for rows, body in bodies(table):
            try:
                pushed = yield from self.push(place, kind, body, ARROW)
            except ServiceError as error:
                if isinstance(error, OutcomeUnknown):
                    error.add_note(
                        f"the {rows} records from row {sent} on may be in or not; they had no batch number"
                    )
                if sent:
                    error.add_note(f"the {sent} records before were taken")
                raise
            accepted, rejected, offsets = (
                accepted + pushed.accepted,
                rejected + pushed.rejected,
                pushed.offsets,
            )
            sent += rows
        return PushOutcome(accepted, rejected, offsets)

    def insert_batch(self, loop: str, batch: Batch, table: pa.Table) -> Steps[PushOutcome]:
        """Send a table as one numbered batch, which is in whole or not at all, and once.

        A service that was restarted before the commit has lost what it was sent, and is sent the table again within the patience.

        Raises
        ------
        InvalidInput
            The batch is none.
        """
        given: Any = batch  # of whatever kind callers give
        if not isinstance(given, Batch):
            raise InvalidInput(
                f"batch is {given!r} but must be a sender with a number",
                hint='Such as batch=Batch("nightly", 0).',
            )
        path = f"/v1/loops/{quoted(loop)}/batches/{quoted(f'client:{batch.sender}')}/{batch.number}"
        # The order of rows counts: an edge may come, go and come again.
        table = table.append_column("order", pa.array(range(table.num_rows), pa.int64()))
        pauses = growing_pauses(self.patience_s)
        while True:
            try:
                found = yield from self._send_batch(path, table)
            except Refused as error:
                pause = next(pauses, None) if error.code == _INCOMPLETE else None
                if pause is None:
                    raise
            else:
                return PushOutcome(found["accepted"], found["rejected"], found["offsets"], found["repeated"])
            yield pause

    def _send_batch(self, path: str, table: pa.Table) -> Steps[Document]:
        """Bring all chunks of a batch, and commit it."""
        chunks = 0
        for chunks, (_, body) in enumerate(bodies(table), 1):  # counted
            yield from self.document(
                Call("PUT", f"{path}/parts/0/{chunks - 1}", content=body, content_type=ARROW)
            )
        return (yield from self.document(_posted(path, {"parts": [{"part": "0", "chunks": chunks}]})))


def events_of_query(identifier: str) -> Call:
    """Return the call whose answer is the events of a query: `progress`, and one `done`."""
    return Call("GET", f"/v1/queries/{quoted(identifier)}/events", accept="text/event-stream")


def events_of_loop(loop: str, *, moved_by: float | None, interval_s: float | None) -> Call:
    """Return the call whose answer is what changes from one exact answer of a loop to the next."""
    parameters = {"moved_by": moved_by, "interval_s": interval_s}
    return Call("GET", f"/v1/loops/{quoted(loop)}/events", parameters, accept="text/event-stream")


def quoted(name: str) -> str:
    """Return a name as a part of a path.

    Raises
    ------
    InvalidInput
        It is no text, or an empty one.
    """
    given: Any = name  # of whatever kind callers give
    try:
        found = quote(given, safe="") if isinstance(given, str) else ""
    except UnicodeEncodeError:
        found = ""
    if not found:
        raise InvalidInput(
            f"a name or id is {given!r} but must be a text that is not empty",
            hint="streams(), loops() and queries() list them.",
        )
    return found


def _deleted_query(identifier: str) -> Call:
    return Call("DELETE", f"/v1/queries/{quoted(identifier)}")


def _posted(path: str, body: Any, *, again: Again = Again.ALWAYS, **more: Any) -> Call:
    content = b"" if body is None else _json(body)
    return Call("POST", path, content=content, again=again, **more)


def _json(body: Document) -> bytes:
    """Return a document as JSON; what of it is none is refused with its name."""
    members = []
    for name, value in body.items():
        try:
            said = json.dumps(value, default=_plain, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidInput(
                f"{name} is {reprlib.repr(value)}, which cannot be sent: {error}",
                hint="What is sent is made of finite numbers, texts, lists, and values by their names.",
            ) from error
        members.append(f"{json.dumps(name)}: {said}")
    return f"{{{', '.join(members)}}}".encode()


def _plain(value: Any) -> Any:
    """Return a number or an array of NumPy as what JSON has."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is nothing that JSON has")


def _ended(query: Document) -> QueryEnded:
    problem = query.get("error") or {}
    said = problem.get("detail")
    message = f"the query of loop {query['loop']!r} ended as {query['state']} after {query['elapsed_s']:g} s"
    return QueryEnded(
        f"{message}: {said}" if said else message,
        hint=problem.get("hint")
        or ("Give it longer with deadline_s." if query["state"] == "deadline" else None),
        code=problem.get("code"),
    )


def _next_page(reply: Reply) -> str | None:
    """Return what `after` of the page behind this one is, from the header `Link`."""
    link = reply.headers.get("link", "")
    if 'rel="next"' not in link:
        return None
    query = urlsplit(link[link.index("<") + 1 : link.index(">")]).query
    return parse_qs(query)["after"][0]
