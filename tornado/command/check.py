"""`tornado check RESULT APP …`: verify a result in a file, of ours or of anybody's, against the files of its graph.

No loop is started: the records are put together by a plain model of a stream, and an independent checker looks at the result.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from ..errors import InvalidArgument
from ..query.programs import ProgramEntry
from .listing import json_option
from .parameters import PROGRAM_KEY, ProgramCommand, make_program
from .presentation import ExitCode, say_note

if TYPE_CHECKING:
    # It loads the compiler.
    from ..checking import Fault

_NO_FILES = "there is no graph to check it against"


@click.command(
    "check",
    cls=ProgramCommand,
    epilog="Exit codes: 0 the result is right, 1 it is not (standard output names the first wrong vertex), 2 wrong usage.",
)
@click.argument("result")
@click.argument("app")
@click.option(
    "--edges", multiple=True, metavar="PATH", help="A file of edges, plain or .gz. Repeat it for several."
)
@click.option(
    "--vertices",
    multiple=True,
    metavar="PATH",
    help="A file of vertices that need have no edge, one id a line.",
)
@click.option(
    "--columns",
    metavar="NAMES",
    help="Names of the columns in order, as of `tornado run`. Default: the header.",
)
@click.option(
    "--check-times", is_flag=True, help="Reject records whose `time` is none, as `tornado run` does."
)
@click.option("--undirected", is_flag=True, help="Each line is an edge in both directions.")
@click.option(
    "--ids",
    type=click.Choice(["int", "string"]),
    default="int",
    show_default=True,
    help="What a vertex id is.",
)
@click.option(
    "--bound",
    type=click.FloatRange(min=0.0),
    help="How far values may be from the right ones, where they are not said to be exact: in L1, for ranks. "
    "Default: the program's tolerance.",
)
@json_option
@click.pass_context
def check_command(ctx: click.Context, /, **options: Any) -> int:
    """Verify RESULT (.csv, .parquet, .arrow with the columns vertex and value), which is to be the answer of APP.

    The graph is what the files leave, in the order in which `tornado run` would read them. APP and its parameters are as of
    `tornado run`: `tornado check distances.csv sssp --source 1 --edges roads.csv`.
    """
    entry: ProgramEntry = ctx.meta[PROGRAM_KEY]
    if not (options["edges"] or options["vertices"]):
        raise InvalidArgument(_NO_FILES, hint="Name files with --edges.")
    program = make_program(entry, options)
    bound = options["bound"]
    if bound is not None and not math.isfinite(bound):
        raise InvalidArgument(f"--bound {bound} is not a number")
    # Imported late: options are checked and help is shown without loading the compiler.
    from .check_job import check_files

    begun_s = time.perf_counter()
    checked = check_files(program, options, bound=bound)
    verdict, as_json = checked.verdict, options["as_json"]
    if checked.rejected:
        said = f"{checked.rejected:,} records were rejected, as a run rejects them"
        say_note(said, as_json=as_json, event="rejected", records=checked.rejected)
    is_right = verdict.fault is None
    if as_json:
        fault = {} if verdict.fault is None else _fields(verdict.fault, checked.called)
        elapsed_s = round(time.perf_counter() - begun_s, 6)
        click.echo(json.dumps({"right": is_right, **fault, **verdict.described(), "elapsed_s": elapsed_s}))
    elif verdict.fault is None:
        click.echo(f"right: {verdict.vertices:,} vertices, {verdict.edges:,} edges; {verdict.method}")
    else:
        click.echo(f"wrong: {verdict.fault.told(checked.called)}")
    return ExitCode.DONE if is_right else ExitCode.FAILED


def _fields(fault: Fault, called: Callable[[int], int | str]) -> dict[str, int | str]:
    return {"vertex": called(fault.vertex), "reason": fault.reason(called)}
