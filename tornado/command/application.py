"""The root command: `tornado COMMAND …`.

Each command is loaded when it is called, so `tornado --version` and `tornado doctor` answer at once, also where a
dependency of another command is broken.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import Any

import click

from .. import __version__
from .presentation import ExitCode

# Name, where it is, and what it does: in the order in which a newcomer meets them.
_COMMANDS = {
    "demo": ("demos", "Roads, or points to learn from, stream in, and two questions get exact answers."),
    "demo-kafka": (
        "demo_kafka",
        "The same through Kafka and Spark: every link started here, the answers checked.",
    ),
    "run": ("run", "Run a program on a stream of edges: as a service, or to a result file."),
    "produce": ("produce", "Send edges to a Kafka topic, from files or generated, at a rate."),
    "query": ("query", "Ask a running service."),
    "ls": ("listing", "List the loops, sources and queries of a running service."),
    "start": ("loops", "Start a loop on a stream of a running service."),
    "stop": ("loops", "Remove a loop from a running service."),
    "rescale": ("loops", "Put the loops of a running service on another number of workers."),
    "cancel": ("listing", "Cancel a query of a running service."),
    "report": ("report", "Keep how a running service stands as one HTML file."),
    "check": ("check", "Verify a result in a file against the files of its graph or points."),
    "backup": ("backup", "Copy a store to another place while a service runs on it."),
    "doctor": ("doctor", "Check this machine and environment, and say what to do."),
    "bench": ("tools", "Run the benchmarks of a checkout."),
    "sim": ("sim", "Run seeded simulations of the protocol and the loops."),
}


class LazyGroup(click.Group):
    """A group that imports a command's module when the command is called."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """Return the names in the order of the table above."""
        return list(_COMMANDS)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command of that name."""
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f".{_COMMANDS[cmd_name][0]}", __package__)
        command: click.Command = getattr(module, f"{cmd_name.replace('-', '_')}_command")
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an interrupt is an exit code like any other."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            # Left to click, it would be an empty line among the JSON lines; a terminal has ^C standing there.
            if sys.stderr.isatty():
                click.echo(err=True)
            raise click.exceptions.Exit(ExitCode.INTERRUPTED) from None

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in _COMMANDS.items()])


@click.group(
    cls=LazyGroup, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, prog_name="tornado-loops")
@click.pass_context
def root_command(ctx: click.Context) -> int:
    """Iterative analyses of data that never stops arriving, with exact answers on demand.

    Start with `tornado demo`; `tornado run APP --help` lists the parameters of a program.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help(), err=True)
        return ExitCode.USAGE
    return ExitCode.DONE


def run_command_line(arguments: Sequence[str] | None = None) -> int:
    """Parse and run one command line; raises what goes wrong.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows the command's name; left out, from `sys.argv`.

    Returns
    -------
    int
        The exit code of the command.
    """
    result = root_command.main(
        args=None if arguments is None else list(arguments), prog_name="tornado", standalone_mode=False
    )
    return int(result or ExitCode.DONE)
