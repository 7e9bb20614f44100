"""`tornado ls` and `tornado cancel`: what runs in a service, and how to stop a query."""

from __future__ import annotations

import json

import click
from rich.console import Console
from rich.table import Table

from ..client.steps import Document
from ..client.transport import TOKEN_VARIABLE
from .client import ServiceClient, default_url
from .presentation import ExitCode

url_option = click.option(
    "--url", default=default_url, help="Where the service answers (default: TORNADO_URL)."
)
token_option = click.option(
    "--token",
    envvar=TOKEN_VARIABLE,
    metavar="TOKEN",
    help=f"What the service asks for, if it asks for any (default: {TOKEN_VARIABLE}, which other users of this machine do not see).",
)
json_option = click.option("--json", "as_json", is_flag=True, help="JSON lines instead of text.")


@click.command("ls")
@url_option
@token_option
@json_option
def ls_command(url: str, token: str | None, as_json: bool) -> int:  # noqa: FBT001  # click passes options by name
    """List the loops, their sources, and the queries with their state."""
    with ServiceClient(url, token) as client:
        # One that does not answer, or failed, has no more to say than what is listed.
        loops = [
            client.loop(entry["name"]) if entry["state"] == "running" else entry for entry in client.loops()
        ]
        queries = client.queries()
    if as_json:
        click.echo(json.dumps({"loops": loops, "queries": queries}))
        return ExitCode.DONE
    _print_loops(loops)
    _print_queries(queries)
    return ExitCode.DONE


@click.command("cancel")
@click.argument("identifier", metavar="ID")
@url_option
@token_option
@json_option
def cancel_command(identifier: str, url: str, token: str | None, as_json: bool) -> int:  # noqa: FBT001  # see above
    """Cancel the query ID and free what it holds."""
    with ServiceClient(url, token) as client:
        client.cancel(identifier)
    if as_json:
        click.echo(json.dumps({"id": identifier, "cancelled": True}))
    else:
        click.echo(f"cancelled {identifier}", err=True)
    return ExitCode.DONE


def _print_loops(loops: list[Document]) -> None:
    table = _table(
        *(
            "loop",
            "state",
            "program",
            "vertices",
            "edges",
            "version",
            "frontier",
            "residual",
            "source",
            "records in",
        ),
        *("rejected", "lag", "rows/s", "last error"),
    )
    for loop in loops:
        known: dict[str, Document] = loop.get("sources") or {}
        offsets: dict[str, int] = {name: one["offset"] for name, one in known.items()} | (
            loop.get("offsets") or {}
        )
        first = True
        for source, offset in sorted(offsets.items()) or [("none", 0)]:
            head = [
                loop.get(key)
                for key in (
                    "name",
                    "state",
                    "program",
                    "vertices",
                    "edges",
                    "version",
                    "iteration",
                    "residual",
                )
            ]
            more = [
                known.get(source, {}).get(key)
                for key in ("rejected", "lag_records", "rows_per_s", "last_error")
            ]
            table.add_row(
                *[_cell(cell) if first else "" for cell in head], source, _cell(offset), *map(_cell, more)
            )
            first = False
    _print(table)


def _print_queries(queries: list[Document]) -> None:
    if not queries:
        click.echo("no queries")
        return
    table = _table("query", "loop", "state", "iteration", "updates", "residual", "elapsed s")
    for query in queries:
        keys = ("id", "loop", "state", "iteration", "updates", "residual", "elapsed_s")
        table.add_row(*[_cell(query.get(key)) for key in keys])
    _print(table)


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, no_wrap=True, overflow="ignore")
    return table


def _print(table: Table) -> None:
    console = Console()
    if console.is_terminal:
        console.print(table)
        return
    # Piped output is read by programs: a line must never be folded or cut to the width of some terminal.
    console = Console(width=10_000)
    with console.capture() as capture:
        console.print(table)
    for line in capture.get().splitlines():
        click.echo(line.rstrip())


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
