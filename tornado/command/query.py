"""`tornado query`: ask a running service, see the progress, get the values on standard output."""

from __future__ import annotations

import csv
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Self

import click
from rich.console import Console
from rich.status import Status

from ..certificate import has_no_answer
from ..client.steps import Document
from ..errors import ConnectionLost, InvalidArgument, PeerError, UnknownLoop, UnknownVertex
from .client import ServiceClient
from .listing import json_option, token_option, url_option
from .paths_text import print_paths
from .presentation import OWN_LIMIT, ExitCode, in_words, say_event, say_note
from .value_list import values_of

VALUES: Final = "values"
_DEFAULT_TOP = 20
_WAIT_S = 1.0
_PAGE_ROWS = 100_000
_EXIT_CODES = {"converged": ExitCode.DONE, "deadline": ExitCode.LIMIT}


@click.command("query")
@click.argument("loop", required=False)
@url_option
@token_option
@click.option(
    "--mode",
    type=click.Choice(["exact", "approximate", "certified"]),
    default="exact",
    show_default=True,
    help="Approximate and certified are what the loop has, at once: certified says how far it is from the exact values.",
)
@click.option(
    "--vertices",
    help="Ask for these vertices, separated by commas; an id with a comma in double quotes, as in CSV.",
)
@click.option(
    "--top",
    type=click.IntRange(min=1),
    help=f"Ask for the best N (default {_DEFAULT_TOP}, without --vertices and --table; of loops that learn: all).",
)
@click.option(
    "--paths",
    help="Ask for the way to these vertices, separated by commas, and print it: of shortest paths, hops, widest paths and the like.",
)
@click.option(
    "--table",
    metavar="NAME",
    help="Read this table of the answer, as `tornado ls --json` names them: coefficients, centroids, assignments. Default: the first.",
)
@click.option("--at", type=int, help="The version of a stored snapshot; the default is now.")
@click.option("--deadline-s", type=float, help="Answer with the best value so far after S seconds.")
@click.option("--max-iterations", type=click.IntRange(min=1), help="Stop after N iterations.")
@click.option(
    "--check",
    is_flag=True,
    help="Have an independent checker verify the answer on its own version of the graph, before it is given out.",
)
@click.option(
    "--watch", is_flag=True, help="Ask again and again, until Ctrl-C, and show the progress of each."
)
@click.option(
    "--interval-s", type=float, default=2.0, show_default=True, help="Pause between two questions of --watch."
)
@click.option("--times", type=click.IntRange(min=1), help="Let --watch end after N questions.")
@json_option
def query_command(
    *,
    loop: str | None,
    url: str,
    token: str | None,
    mode: str,
    vertices: str | None,
    top: int | None,
    paths: str | None,
    table: str | None,
    at: int | None,
    deadline_s: float | None,
    max_iterations: int | None,
    check: bool,
    watch: bool,
    interval_s: float,
    times: int | None,
    as_json: bool,
) -> int:
    """Ask the loop LOOP (where only one runs, its name can be left out)."""
    if paths is not None and (vertices is not None or top is not None) and not as_json:
        raise InvalidArgument(
            "--paths prints ways, and --vertices and --top print values",
            hint="Ask twice; or with --json, where both stand in the answer.",
        )
    with ServiceClient(url, token) as client:
        entry = _choose_loop(client, loop)
        selects = any(asked is not None for asked in (vertices, top, paths))
        read = TableToRead.of(entry, table, selects=selects)
        question: Document = {
            "loop": entry["name"],
            "mode": mode,
            "vertices": None if vertices is None else _parse_vertices("--vertices", vertices, entry),
            "paths": None if paths is None else _parse_vertices("--paths", paths, entry),
            "top": _DEFAULT_TOP if read.is_ranked and not selects else top,
            "at": at,
            "deadline_s": deadline_s,
            "max_iterations": max_iterations,
            "check": check or None,
        }
        question = {name: value for name, value in question.items() if value is not None}
        code = _ask(client, question, read, follow=watch, as_json=as_json)
        asked = 1
        while watch and (times is None or asked < times):
            time.sleep(interval_s)
            code = _ask(client, question, read, follow=True, as_json=as_json)
            asked += 1
    return code


@dataclass(frozen=True, slots=True)
class TableToRead:
    """What is read of an answer.

    Attributes
    ----------
    table : str or None
        The table that is asked for by its name; None: the one that is in the answer.
    types : mapping
        Of the columns of that table, by their names: `float64`, `int64` or `string`.
    is_ranked : bool
        Whether it has the best of all values, where nobody says which are wanted.
    """

    table: str | None
    types: Mapping[str, str]
    is_ranked: bool

    @classmethod
    def of(cls, entry: Document, table: str | None, *, selects: bool) -> Self:
        """Choose a table of a loop from what the service says of that.

        Parameters
        ----------
        selects
            Whether vertices are named, or the best so many.

        Raises
        ------
        InvalidArgument
            There is none of that name, or it has other rows than those that are selected.
        """
        tables = {
            one["name"]: {column["name"]: str(column["type"]) for column in one["columns"]}
            for one in entry["tables"]
        }
        first = next(iter(tables))
        if table is not None and table not in tables:
            raise InvalidArgument(
                f"--table is {table!r}, but the tables of loop {entry['name']} are: {', '.join(tables)}",
                hint="Leave it out to read the first one.",
            )
        if table not in (None, VALUES) and selects:
            raise InvalidArgument(
                f"--vertices, --top and --paths select values, and --table {table} is of something else",
                hint="Leave one of them out.",
            )
        read = table or (VALUES if selects and VALUES in tables else first)
        return cls(table, tables[read], first == read == VALUES and table is None)


def _choose_loop(client: ServiceClient, name: str | None) -> Document:
    loops = client.loops()
    names = ", ".join(entry["name"] for entry in loops) or "none"
    for entry in loops:
        if entry["name"] == name or (name is None and len(loops) == 1):
            return entry
    if name is None:
        raise InvalidArgument(
            f"{client.url} runs {len(loops)} loops, so LOOP has to say which is asked",
            hint=f"Loops: {names}.",
        )
    raise UnknownLoop(f"there is no loop {name!r} at {client.url}", hint=f"Loops: {names}.")


def _parse_vertices(option: str, text: str, entry: Document) -> list[int] | list[str]:
    try:
        names = [name for name in values_of(text) if name]
    except ValueError as error:
        raise InvalidArgument(f"{option}: {error}", hint=f"""{option} '"Zug, CH",Bern'""") from error
    if not names:
        raise InvalidArgument(f"{option} is empty", hint=f"Name some: {option} 1,2,3.")
    if entry.get("ids") == "string":
        return names
    try:
        return [int(name) for name in names]
    except ValueError as error:
        raise InvalidArgument(
            f"{option} {text}: the ids of loop {entry['name']} are whole numbers", hint=f"{option} 1,2,3"
        ) from error


def _ask(client: ServiceClient, question: Document, read: TableToRead, *, follow: bool, as_json: bool) -> int:
    answer = client.submit(question, wait_s=None if follow else _WAIT_S)
    identifier = answer.get("id")
    try:
        if answer.get("state") in {"queued", "running"} or (follow and question["mode"] != "approximate"):
            answer = _follow(client, answer, as_json=as_json)
    except KeyboardInterrupt:
        # The answer has no reader any more: what the service computes for it can be freed.
        if identifier is not None:
            client.give_up(identifier)
        raise
    state = answer.get("state", "converged")
    if state not in _EXIT_CODES:
        reason = answer.get("error") or {}
        detail = reason.get("detail", "") if isinstance(reason, dict) else str(reason)
        raise PeerError(f"query {identifier} was {state}" + (f": {detail}" if detail else ""))
    if has_no_answer(answer.get("certificate")):  # what was found last means nothing
        click.echo(json.dumps(answer) if as_json else _summary(answer), err=not as_json)
        return ExitCode.FAILED
    if answer.get("result") is None or read.table is not None:
        answer["result"] = client.result(str(identifier), table=read.table, limit=_PAGE_ROWS)
    read_on(client, str(identifier), answer["result"], table=read.table)
    _print_answer(answer, read.types, as_json=as_json)
    return _EXIT_CODES[state]


def read_on(client: ServiceClient, identifier: str, result: Document, *, table: str | None = None) -> None:
    """Add the pages that follow, as long as the service names a next one."""
    while result.get("next") is not None:
        page = client.result(identifier, after=result["next"], limit=_PAGE_ROWS, table=table)
        result["values"] += page["values"]
        result["next"] = page.get("next")


def _follow(client: ServiceClient, answer: Document, *, as_json: bool) -> Document:
    identifier = answer["id"]
    with _shown(as_json=as_json) as show:
        for name, event in client.events(identifier):
            show(name, event)
            if name == "done":
                return client.query(identifier)
    raise ConnectionLost(
        f"{client.url} stopped before query {identifier} was done",
        hint="Ask again when it is back; what had been computed is gone with it.",
    )


@contextmanager
def _shown(*, as_json: bool) -> Iterator[Callable[[str, Document], None]]:
    """Yield what shows an event: JSON lines where these were asked for, a line that changes on a terminal, else nothing."""
    if as_json:
        yield lambda name, event: say_event(
            name, **{key: value for key, value in event.items() if key != "result"}
        )
    elif not sys.stderr.isatty():
        yield lambda _name, _event: None
    else:
        with Status("asked", console=Console(stderr=True)) as status:
            yield lambda name, event: status.update(
                f"{event.get('state', name)}: iteration {event.get('iteration', 0):,}, "
                f"{event.get('updates', 0):,} updates, residual {event.get('residual') or 0.0:.3g}"
            )


def _print_answer(answer: Document, types: Mapping[str, str], *, as_json: bool) -> None:
    rows: list[Document] = answer["result"]["values"]
    unknown: list[Any] = answer["result"].get("unknown") or []
    paths: list[Document] | None = answer["result"].get("paths")
    if unknown and not rows and not paths:
        raise UnknownVertex(f"never seen in the input: {', '.join(map(str, unknown))}")
    if as_json:
        click.echo(json.dumps(answer))
    else:
        if paths is None:
            _print_rows(rows, types)
        else:
            print_paths(paths)
        click.echo(_summary(answer), err=True)
    if unknown:
        note = f"never seen: {', '.join(map(str, unknown))}"
        say_note(note, as_json=as_json, event="unknown", vertices=unknown)
    if answer.get("state") == "deadline":
        stopped_by = answer.get("stopped_by")
        reason = OWN_LIMIT if stopped_by is None else f"{stopped_by} was reached"
        note = f"{reason}: this is the best value so far, not the exact one"
        say_note(note, as_json=as_json, event="limit")


def value_text(value: Any, value_type: str) -> str:
    """Return a value of a JSON answer as text: numbers with all their digits, strings as they are.

    Examples
    --------
    >>> value_text(2**63 - 1, "int64"), value_text(3.0, "float64"), value_text("Infinity", "float64")
    ('9223372036854775807', '3.0', 'inf')
    >>> value_text("Infinity", "string")
    'Infinity'
    """
    # repr is the shortest text that reads back as the same bits.
    return str(value) if value_type == "string" else repr(float(value) if isinstance(value, str) else value)


def _print_rows(rows: list[Document], types: Mapping[str, str]) -> None:
    """Print rows of a table, of which the last column has the values: for people on a terminal, as CSV elsewhere."""
    # An answer may have columns that the loop did not announce, such as that of the classes that its points turned out to have.
    types = {name: types.get(name, "float64") for name in rows[0]} if rows else types
    *names, last = types
    if sys.stdout.isatty():
        widths = {name: max((len(str(row[name])) for row in rows), default=0) for name in names}
        for row in rows:
            named = "  ".join(f"{row[name]!s:>{widths[name]}}" for name in names)
            click.echo(
                f"{named}  {'unreachable' if row[last] is None else value_text(row[last], types[last])}"
            )
        return
    lines = csv.writer(sys.stdout, lineterminator="\n")
    lines.writerow(types)
    lines.writerows(
        ["" if row[name] is None else value_text(row[name], kind) for name, kind in types.items()]
        for row in rows
    )
    sys.stdout.flush()


def _summary(answer: Document) -> str:
    snapshot = answer.get("snapshot")
    if not snapshot:
        return "not exact: the main loop as it is now"
    offsets = ", ".join(f"{source}: {count:,}" for source, count in (snapshot.get("offsets") or {}).items())
    return (
        f"{in_words(answer.get('certificate'))} for {offsets or 'no records'} (version {snapshot.get('version')}, {snapshot.get('instant')}), "
        f"{answer.get('elapsed_s', 0.0) * 1000:.1f} ms"
    )
