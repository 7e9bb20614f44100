"""`tornado check RESULT APP …`: verify a result in a file, of ours or of anybody's, against the files of its graph, or of its points.

No loop is started: the records are put together by a plain model of a stream, and an independent checker looks at the result.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import click

from ..errors import InvalidArgument
from ..query.programs import ProgramEntry
from .listing import json_option
from .parameters import PROGRAM_KEY, ProgramCommand, make_program
from .presentation import ExitCode, say_note

_NO_FILES = "there is no graph to check it against"
_NO_POINTS = "there are no points to check it against"


@click.command(
    "check",
    cls=ProgramCommand,
    epilog="Exit codes: 0 the result is right, 1 it is not (standard output names the first wrong vertex or point), 2 wrong usage.",
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
    "--points",
    multiple=True,
    metavar="PATH",
    help="A file of points, as of `tornado run`, for results of programs that learn. Repeat it for several.",
)
@click.option(
    "--label", metavar="NAME", help="The column of points with the labels. Default: label, if there is one."
)
@click.option("--id", metavar="NAME", help="The column of points with the ids. Default: id, if there is one.")
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
    help="How far values may be from the right ones, where they are not said to be exact: in L1, for ranks; of linear models by which share of it "
    "the objective may be above the least. Default: the program's tolerance.",
)
@json_option
@click.pass_context
def check_command(ctx: click.Context, /, **options: Any) -> int:
    """Verify RESULT (.csv, .parquet, .arrow), which is to be the answer of APP: with the columns vertex and value, or those of its first table.

    The graph is what the files leave, in the order in which `tornado run` would read them, and so are the points of programs that learn. APP and
    its parameters are as of `tornado run`: `tornado check distances.csv sssp --source 1 --edges roads.csv`.
    """
    entry: ProgramEntry = ctx.meta[PROGRAM_KEY]
    learns = getattr(entry.kind, "program_kind", None) == "learning"
    _require_files(options, entry.name, learns=learns)
    program = make_program(entry, options)
    bound, as_json = options["bound"], options["as_json"]
    if bound is not None and not math.isfinite(bound):
        raise InvalidArgument(f"--bound {bound} is not a number")
    begun_s = time.perf_counter()
    finding = _of_points(program, options) if learns else _of_graph(program, options)
    if finding.rejected:
        said = f"{finding.rejected:,} records were rejected, as a run rejects them"
        say_note(said, as_json=as_json, event="rejected", records=finding.rejected)
    if as_json:
        elapsed_s = round(time.perf_counter() - begun_s, 6)
        click.echo(json.dumps({"right": finding.is_right, **finding.fields, "elapsed_s": elapsed_s}))
    else:
        click.echo(f"{'right' if finding.is_right else 'wrong'}: {finding.told}")
    return ExitCode.DONE if finding.is_right else ExitCode.FAILED


class _Finding(NamedTuple):
    """What is said: as a sentence, and as the fields of an object."""

    is_right: bool
    told: str
    fields: Mapping[str, Any]
    rejected: int


def _of_graph(program: Any, options: Mapping[str, Any]) -> _Finding:
    # Imported late: options are checked and help is shown without loading the compiler.
    from .check_job import check_files

    checked = check_files(program, options, bound=options["bound"])
    verdict, fault = checked.verdict, checked.verdict.fault
    if fault is None:
        told = f"{verdict.vertices:,} vertices, {verdict.edges:,} edges; {verdict.method}"
        return _Finding(True, told, verdict.described(), checked.rejected)
    fields = {"vertex": checked.called(fault.vertex), "reason": fault.reason(checked.called)}
    return _Finding(False, fault.told(checked.called), fields | verdict.described(), checked.rejected)


def _of_points(program: Any, options: Mapping[str, Any]) -> _Finding:
    from .point_check import check_point_files  # late, as above

    checked = check_point_files(program, options, bound=options["bound"])
    verdict = checked.verdict
    looked_at = {"method": verdict.method, "points": verdict.points, **verdict.measured}
    if verdict.fault is None:
        told = f"{verdict.points:,} points; {verdict.method}"
        return _Finding(True, told, looked_at, checked.rejected)
    if verdict.point is None:
        return _Finding(False, verdict.fault, {"reason": verdict.fault, **looked_at}, checked.rejected)
    point = checked.called(verdict.point)
    fields = {"point": point, "reason": verdict.fault, **looked_at}
    return _Finding(False, f"point {point} {verdict.fault}", fields, checked.rejected)


def _require_files(options: Mapping[str, Any], app: str, *, learns: bool) -> None:
    of_points = {"--points": options["points"], "--label": options["label"], "--id": options["id"]}
    of_edges = {
        "--edges": options["edges"],
        "--vertices": options["vertices"],
        "--columns": options["columns"],
        "--undirected": options["undirected"],
        "--check-times": options["check_times"],
    }
    for option, given in (of_edges if learns else of_points).items():
        if given:
            raise InvalidArgument(
                f"{option} is about {'edges' if learns else 'points'}, and {app} {'learns from points' if learns else 'reads edges'}",
                hint="Name files of points with --points." if learns else "Name files with --edges.",
            )
    if learns and not options["points"]:
        raise InvalidArgument(_NO_POINTS, hint="Name files with --points.")
    if not learns and not (options["edges"] or options["vertices"]):
        raise InvalidArgument(_NO_FILES, hint="Name files with --edges.")
