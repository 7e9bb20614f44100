"""`tornado backup STORE TO`: a consistent copy of a store, which a service may be using."""

from __future__ import annotations

import json
import time

import click

from .listing import json_option
from .presentation import ExitCode


@click.command("backup")
@click.argument("store", metavar="STORE")
@click.argument("to", metavar="TO")
@json_option
def backup_command(store: str, to: str, as_json: bool) -> int:  # noqa: FBT001  # click passes options by name
    """Copy the store STORE to TO, while a service runs on it: one state of it, with all its history.

    Both are addresses, lmdb:///SOME/FOLDER or postgresql://USER@HOST/DATABASE, of either kind. TO must be empty; it has the whole
    copy or nothing, and is a store as any other: tornado run … --store TO goes on from it.
    """
    # Imported late: help is shown without it.
    from ..storage.backup import back_up

    begun_s = time.monotonic()
    source, target, copied = back_up(store, to)
    elapsed_s = time.monotonic() - begun_s
    if as_json:
        click.echo(
            json.dumps(
                {
                    "store": source,
                    "to": target,
                    "lines": copied.loops,
                    "versions": copied.versions,
                    "size_bytes": copied.size_bytes,
                    "elapsed_s": round(elapsed_s, 6),
                }
            )
        )
    else:
        click.echo(
            f"copied {source} to {target}: {copied.versions:,} versions, {copied.size_bytes:,} bytes ({elapsed_s:.3f} s)",
            err=True,
        )
    return ExitCode.DONE
