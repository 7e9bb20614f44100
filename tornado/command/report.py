"""`tornado report`: the page of a service as one HTML file, to send to somebody."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from ..errors import InvalidArgument
from .client import ServiceClient
from .listing import json_option, token_option, url_option
from .presentation import ExitCode


@click.command("report")
@url_option
@token_option
@click.option(
    "--output",
    default="tornado-report.html",
    show_default=True,
    help="The file; - for standard output. One that is there is overwritten.",
)
@json_option
def report_command(url: str, token: str | None, output: str, as_json: bool) -> int:  # noqa: FBT001  # click passes options by name
    """Keep how a service stands as one HTML file: as it is now, over time, and its newest questions. It needs no service to be read."""
    with ServiceClient(url, token) as client:
        document = client.report()
    if output == "-":
        sys.stdout.buffer.write(document)
        return ExitCode.DONE
    try:
        Path(output).write_bytes(document)
    except OSError as error:
        raise InvalidArgument(
            f"--output {output} cannot be written: {error.strerror}",
            hint="Name a file in a folder that is there.",
        ) from error
    if as_json:
        click.echo(json.dumps({"output": output, "size_bytes": len(document)}))
    else:
        click.echo(f"wrote {output}: {len(document):,} bytes", err=True)
    return ExitCode.DONE
