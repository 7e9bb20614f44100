"""`tornado bench`: a thin call of the benchmarks of a checkout."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click

from ..errors import NotSupported

_CHECKOUT = Path(__file__).resolve().parent.parent.parent


@click.command("bench", context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def bench_command(*, arguments: tuple[str, ...]) -> int:
    """Run the benchmarks with ARGUMENTS, as `python -m benchmarks ARGUMENTS` in a checkout."""
    if not (_CHECKOUT / "benchmarks" / "__main__.py").is_file():
        raise NotSupported(
            "the benchmarks are part of a checkout, and there is none around this package",
            hint="Clone the repository, then: make bench.",
        )
    # A process of its own: it measures memory, and its numbers must not depend on what this command has loaded.
    call = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(call, cwd=_CHECKOUT, check=False).returncode  # noqa: S603  # our own program
