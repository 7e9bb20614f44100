"""`tornado run APP …`: the options of a run; what it does is in `job.py`."""

from __future__ import annotations

from typing import Any

import click

from ..config import DEFAULT_KEPT_SNAPSHOTS, Settings
from ..query.programs import ProgramEntry
from .files_apart import require_run_apart
from .listing import json_option
from .output import OUTPUT_FORMATS
from .parameters import (
    OTHERS_KEY,
    PROGRAM_KEY,
    NumberOrAuto,
    OtherProgram,
    ProgramCommand,
    delay_bound_option,
    make_program,
    name_option,
    predict_option,
    table_option,
)
from .plan import LoopBeside, RunPlan, parse_delay_bound


class RunCommand(ProgramCommand):
    """`tornado run`: several programs may read one stream."""

    loop_options = ("name", "delay_bound", "table", "predict")


@click.command(
    "run",
    cls=RunCommand,
    epilog="Results go to standard output, everything else to standard error. Exit codes: 0 done, 1 failed, 2 wrong usage, "
    "3 deadline or iteration cap reached (the best value so far is written), 130 interrupted.",
)
@click.argument("app")
@click.argument("pipeline_arguments", nargs=-1, type=click.UNPROCESSED, metavar="[-- PIPELINE ARGUMENTS]")
@click.option(
    "--edges",
    multiple=True,
    metavar="PATH",
    help="A file of edges, plain or .gz; `-` is standard input. Repeat it for several.",
)
@click.option(
    "--vertices",
    multiple=True,
    metavar="PATH",
    help="A file of vertices that need have no edge, one id a line, read before the edges. Repeat it for several.",
)
@click.option(
    "--points",
    multiple=True,
    metavar="PATH",
    help="A file of points for programs that learn: CSV with a header, .libsvm, .svm, .arrow or .parquet, plain or .gz. "
    "Repeat it for several; the first one says what points are.",
)
@click.option(
    "--features",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many features points have, where no file or column says it; of sparse files, which may name more later.",
)
@click.option(
    "--sparse",
    is_flag=True,
    help="Points name only those features that are not 0; with --features.",
)
@click.option(
    "--label",
    metavar="NAME",
    help="The column of points with the labels. Default: label, where there is one.",
)
@click.option(
    "--id", metavar="NAME", help="The column of points with the ids. Default: id, where there is one."
)
@click.option(
    "--kafka",
    metavar="HOST:PORT[,…]",
    help="Brokers of a topic that is read live, after the files if there are any.",
)
@click.option(
    "--topic",
    metavar="NAME",
    help="The topic: all its partitions, from their start or where the store stands.",
)
@click.option(
    "--format",
    "value_format",
    type=click.Choice(["json", "csv", "arrow"]),
    help="How the messages of the topic are written: JSON objects, lines of CSV, or Arrow IPC streams of many "
    "edges. Default: json.",
)
@click.option(
    "--when-deleted",
    type=click.Choice(["stop", "earliest"]),
    help="Where the broker has deleted records that were to be read next: stop and say so, or go on without them at "
    "the earliest one. Default: stop.",
)
@click.option(
    "--dedup-key",
    metavar="NAME",
    help="The field or column of the messages' records by which one is recognised that repeats another, and left out. "
    "Default: none, each record is one of its own.",
)
@click.option(
    "--dedup-window",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many messages back in its partition that other one may be. Default: 100000, of Arrow 1000.",
)
@click.option(
    "--group",
    metavar="NAME",
    help="Tell the broker every two seconds, under the name of this group, how far the topic is in: for tools that show lag. "
    "Never read back.",
)
@click.option(
    "--ingesters",
    type=click.IntRange(min=1, max=64),
    help="How many processes fetch the topic, each its share of the partitions. Default: as many as workers; never more than "
    "there are partitions.",
)
@click.option(
    "--until-end",
    is_flag=True,
    help="Read the topic to the end it has when reading begins, as if it were a file; otherwise for ever.",
)
@click.option(
    "--kafka-config",
    metavar="PATH",
    help="A JSON file with further settings of the client (security_protocol, sasl_mechanism, ssl_cafile, …).",
)
@click.option(
    "--columns",
    metavar="NAMES",
    help="Names of the columns in order, out of src,dst,weight,op,time; `-` skips one, and what follows them "
    "is ignored. Default: the header or src,dst[,weight], and a line with more columns is rejected. Of points, which come as CSV "
    "from a topic only: id,label,weight,op, and all others are features.",
)
@click.option(
    "--check-times",
    is_flag=True,
    help="Quarantine records whose `time` is neither seconds since 1970 nor ISO 8601; otherwise a time is not looked at.",
)
@click.option(
    "--window",
    metavar="1h|N",
    help="Edges leave by themselves after that time (500ms, 90s, 15m, 1h, 7d, 2w), by the `time` column where there is one, else by "
    "when they came; or behind N later insertions. Default: they stay.",
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
    "--workers",
    type=NumberOrAuto(1, 64),
    metavar="N|auto",
    help="Default: the cores of this machine. auto begins with one, and goes on with more where they help.",
)
@click.option(
    "--placement",
    metavar="auto|blocks|hash|FILE",
    default="auto",
    show_default=True,
    help="Which vertex belongs to which worker: by the hash of its id, in blocks of ids, in blocks where the first edges join ids that are "
    "near, or as the rows vertex,part of a file say.",
)
@click.option(
    "--engine",
    type=click.Choice(["threads", "processes", "spark"]),
    default="threads",
    show_default=True,
    help="Where workers run.",
)
@click.option(
    "--master",
    metavar="URL",
    help="Where Spark is, for --engine spark: local[4], spark://host:7077. Default: on this machine.",
)
@name_option
@click.option(
    "--stream",
    metavar="NAME",
    help="What the stream is called that all loops of this run read. Default: as the first loop.",
)
@delay_bound_option
@click.option(
    "--store",
    metavar="URL",
    help="Where snapshots are kept: memory:, lmdb:///DIR or postgresql://USER@HOST/DATABASE, from where a later run goes on. "
    "Default: lmdb under the user's data folder, begun anew by every run.",
)
@click.option(
    "--checkpoint-every",
    metavar="TIME",
    help="Look so often whether a new snapshot is worth its while (5s, 500ms, 2m; `off`): a start on the same --store goes on from "
    "the newest one. Default: 1m in a durable store.",
)
@click.option(
    "--keep-snapshots",
    type=click.IntRange(min=1),
    help="How many snapshots stay in the store; one that a query names is kept meanwhile. "
    f"Default: {DEFAULT_KEPT_SNAPSHOTS}, or fewer where older ones would take much room.",
)
@click.option(
    "--results",
    metavar="URL",
    help="Keep a table of the newest exact answer for SQL, renewed after each checkpoint: postgresql://USER@HOST/DATABASE/TABLE, with "
    "{loop} in the name of the table where there are several loops.",
)
@click.option(
    "--adopt",
    is_flag=True,
    help="Have the loops take over what each converged branch with their own parameters has found.",
)
@click.option(
    "--http",
    metavar="HOST:PORT",
    help="Serve the HTTP interface, and stay up when the files end; port 0 takes a free one.",
)
@click.option(
    "--tokens",
    envvar="TORNADO_TOKENS",
    metavar="PATH",
    help="Who may use the HTTP interface: a file with a line `read|write TOKEN [STREAM …]` for each token, or sha256:HEX in place of it; "
    "TORNADO_TOKENS names the file or has these lines. Without it the interface binds to this machine alone.",
)
@click.option(
    "--tls-certificate",
    metavar="PATH",
    help="Serve https with this certificate (PEM, those that it was issued by behind it), and with --tls-key. SIGHUP has both, and the tokens, "
    "read again.",
)
@click.option("--tls-key", metavar="PATH", help="The key of that certificate (PEM, without a password).")
@click.option(
    "--access-log",
    is_flag=True,
    help="Log each HTTP request: its name (X-Request-ID), method, path, status and time.",
)
@click.option(
    "--pipeline",
    metavar="FILE.py",
    help="A Python file that fills the loop, run in a process of its own beside the service; its arguments stand behind "
    "`--`. Serves at 127.0.0.1:8080 unless --http says otherwise. See apps/pipelines/.",
)
@click.option(
    "--output",
    metavar="PATH",
    help="When the input ends, write the exact result (.csv, .parquet, .arrow; `-` is CSV on standard output).",
)
@table_option
@predict_option
@click.option(
    "--output-format",
    type=click.Choice(OUTPUT_FORMATS),
    help="Write lines `vertex value` as LDBC Graphalytics validates them, to a file of any other ending. Default: by the name.",
)
@click.option(
    "--deadline-s",
    type=click.FloatRange(min=0.0, min_open=True),
    default=Settings().query_deadline_s,
    show_default=True,
    help="Limit of the branch for --output.",
)
@click.option("--max-iterations", type=click.IntRange(min=1), help="Limit of the branch for --output.")
@click.option(
    "--check",
    is_flag=True,
    help="Have an independent checker verify the result for --output before it is written.",
)
@click.option(
    "--quarantine",
    metavar="PATH",
    help="Where rejected records go, a JSON line each. Default: beside the store.",
)
@json_option
@click.pass_context
def run_command(ctx: click.Context, /, **options: Any) -> int:
    """Run the program APP on a stream of edges, or of points.

    APP is a name from apps/ (sssp, …) or path/to/file.py:ClassName. The fields of its class are options as well:
    `tornado run APP --help` lists them. Further programs that read the same stream follow behind `--and`, each as a loop with
    the --name, the --delay-bound, the --table, the --predict and the parameters that stand behind its name: `tornado run sssp --source 1 --and bfs
    --source 1 --edges roads.csv`.
    """
    entry: ProgramEntry = ctx.meta[PROGRAM_KEY]
    others: list[OtherProgram] = ctx.meta.get(OTHERS_KEY, [])
    kinds = [entry.kind, *(other.entry.kind for other in others)]
    learns = all(getattr(kind, "program_kind", None) == "learning" for kind in kinds)
    plan = RunPlan.of(options["name"] or entry.name, options, several=bool(others), learns=learns)
    require_run_apart(plan.loop, options, others)
    # Wrong parameters are refused before anything starts.
    program, beside = make_program(entry, options), [_loop_beside(other) for other in others]
    # Imported late: options are checked and help is shown without loading the compiler.
    from .job import run_job

    return run_job(plan, program, beside)


def _loop_beside(other: OtherProgram) -> LoopBeside:
    return LoopBeside(
        other.name,
        parse_delay_bound(other.values["delay_bound"]),
        make_program(other.entry, other.values),
        other.values["table"],
        other.values["predict"],
    )
