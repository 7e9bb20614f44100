"""`tornado start`, `tornado stop` and `tornado rescale`: loops of a running service, and their workers."""

from __future__ import annotations

import json
from typing import Any

import click

from .client import ServiceClient
from .listing import json_option, token_option, url_option
from .parameters import ProgramCommand, delay_bound_option, given_parameters, name_option
from .plan import parse_delay_bound
from .presentation import ExitCode


@click.command("start", cls=ProgramCommand)
@click.argument("app")
@click.option("--stream", required=True, metavar="NAME", help="What it reads beside other loops.")
@name_option
@delay_bound_option
@click.option(
    "--ids", type=click.Choice(["int", "string"]), default="int", help="What a vertex id of the stream is."
)
@url_option
@token_option
@json_option
def start_command(**options: Any) -> int:
    """Start the app APP as a loop of a running service, on a stream that others read.

    It takes over the graph as it is, and catches up while edges keep coming. APP is a name from apps/; the fields of its
    program are options as well.
    """
    wanted = {
        "program": options["app"],
        "stream": options["stream"],
        "name": options["name"],
        "parameters": given_parameters(options),
    }
    if options["delay_bound"] is not None:
        wanted["delay_bound"] = parse_delay_bound(options["delay_bound"])
    with ServiceClient(options["url"], options["token"]) as client:
        started = client.start(wanted)
    if options["as_json"]:
        click.echo(json.dumps(started))
    else:
        click.echo(f"{started['name']} reads {started['stream']}", err=True)
    return ExitCode.DONE


@click.command("stop")
@click.argument("name", metavar="LOOP")
@url_option
@token_option
@json_option
def stop_command(name: str, url: str, token: str | None, as_json: bool) -> int:  # noqa: FBT001  # click passes options by name
    """Remove the loop LOOP: its queries are cancelled, and what else reads its stream goes on."""
    with ServiceClient(url, token) as client:
        client.stop(name)
    if as_json:
        click.echo(json.dumps({"name": name, "removed": True}))
    else:
        click.echo(f"removed {name}", err=True)
    return ExitCode.DONE


@click.command("rescale")
@click.argument("stream", metavar="STREAM")
@click.option("--workers", required=True, type=click.IntRange(min=1, max=64), help="How many it is to have.")
@url_option
@token_option
@json_option
def rescale_command(stream: str, workers: int, url: str, token: str | None, as_json: bool) -> int:  # noqa: FBT001  # click passes options by name
    """Put the loops that read STREAM on another number of workers, while the service runs.

    The service has one set of workers, so the loops of all its streams are put there. What is pushed or asked meanwhile waits.
    """
    with ServiceClient(url, token) as client:
        rescaled = client.rescale(stream, workers)
    if as_json:
        click.echo(json.dumps(rescaled))
    elif not rescaled["streams"]:
        click.echo(f"{stream} has {workers} workers already", err=True)
    else:
        moved = ", ".join(rescaled["streams"])
        pause = f"they stood still for {rescaled['pause_s']:.2f} s"
        click.echo(
            f"{moved}: {workers} {'worker' if workers == 1 else 'workers'} in place of {rescaled['before']}; {pause}",
            err=True,
        )
    return ExitCode.DONE
