"""What one `tornado run` is to do, checked as a whole before anything starts.

Guarantees: a plan that was made can be carried out as far as anyone can know without opening files, ports and stores.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, get_args
from urllib.parse import quote, unquote

from ..config import (
    AUTO_DELAY_BOUND,
    DEFAULT_HTTP_HOST,
    DEFAULT_HTTP_PORT,
    DelayBound,
    VertexPlacement,
    data_dir,
    worker_counts,
)
from ..errors import InvalidArgument
from ..ingest.kafka.settings import (
    DEFAULT_DEDUP_WINDOW,
    DEFAULT_DEDUP_WINDOW_OF_TABLES,
    KafkaSettings,
    ValueFormat,
    WhenDeleted,
    parse_brokers,
)
from ..ingest.point_layout import PointFormat
from ..records.window_width import WindowWidth
from .address import Address, Door
from .kafka_config import read_client_settings, require_client
from .output import STANDARD_OUTPUT, OutputFormat, check_output, check_written, require_nothing_written
from .pipeline import PipelineSettings

if TYPE_CHECKING:
    # The loops bring the compiler with them, and options are checked without it.
    from ..loops.vertex_program import VertexProgram

STANDARD_INPUT = "-"
MEMORY = "memory:"
_LMDB = "lmdb://"
_STORES_TO_TRY = 32
# What says something only about a topic.
_TOPIC_OPTIONS = {
    "value_format": "--format",
    "when_deleted": "--when-deleted",
    "dedup_key": "--dedup-key",
    "dedup_window": "--dedup-window",
    "group": "--group",
    "ingesters": "--ingesters",
}
_DURATION = re.compile(r"(?P<number>[0-9]+(\.[0-9]+)?)(?P<unit>ms|s|m|h|)", re.ASCII)
_UNITS_S = {"ms": 0.001, "": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


LOOP_IN_OUTPUT = "{loop}"


@dataclass(frozen=True, slots=True)
class LoopBeside:
    """A further loop of a run, on the stream of the first.

    Attributes
    ----------
    name : str
        What it is called.
    delay_bound : int or None
        B of the paper; None is unbounded.
    program : VertexProgram
        What it computes; where ids are strings, it names vertices by these.
    table, predict : str or None
        As of `RunPlan`.
    """

    name: str
    delay_bound: DelayBound
    program: VertexProgram
    table: str | None = None
    predict: str | None = None

    def __post_init__(self) -> None:
        check_written(self.table, self.predict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """One run.

    Attributes
    ----------
    loop : str
        The name of the first loop.
    stream : str
        What all loops read.
    edges : tuple of str
        Files in the order given; `-` is standard input.
    vertices : tuple of str
        Files of vertices, which are read before them.
    points : tuple of str
        Files of points in the order given, which are read after those.
    label_column, id_column : str or None
        Which columns of points have labels and ids; None: those that are called so, if any.
    features : int or None
        How many features points have; None: files or columns say it, of sparse files what is in them.
    sparse : bool
        Whether these points name only the features that are not 0.
    learns : bool
        Whether all loops learn from points, so that a topic has points.
    columns : tuple of str or None
        Names of the columns; None detects them.
    kafka : KafkaSettings or None
        The topic that is read after the files.
    until_end : bool
        Whether the topic is read to the end it has now; otherwise for ever.
    workers, most_workers : int
        How many workers; where more may be tried, how many at most, else None.
    placement : str
        Which vertex belongs to which worker.
    engine : str
        Where workers run.
    spark_master : str or None
        Where Spark is, for that engine.
    delay_bound : int or None
        B of the paper; None is unbounded.
    store : str or None
        URL of the store; None chooses a free one under the user's data folder.
    address : Address or None
        Where to serve; None serves nothing.
    door : Door
        Who is let in there, and with which certificate.
    pipeline : PipelineSettings or None
        What fills the loop from a process of its own.
    output : str or None
        Where the result goes when the input ends.
    output_format : str or None
        How it is written; None: as its name says.
    table : str or None
        Which table of the first loop's answer is written; None: the first.
    predict : str or None
        The file of points that are predicted with it; what is predicted is written in place of a table.
    check : bool
        Whether it is verified before it is written.
    adopts : bool
        Whether loops take over what branches have found.
    logs_requests : bool
        Whether each HTTP request is logged.
    checkpoint_every_s : float or None
        Seconds between two snapshots; 0 is never, None was not said.
    keep_snapshots : int or None
        How many snapshots are left in the store; None was not said.
    results : str or None
        The address of the table in which the newest exact answer of each loop is kept; None: of none.
    window : WindowWidth or None
        After what time, or behind how many others, edges leave by themselves; None: they stay.
    """

    loop: str
    stream: str
    edges: tuple[str, ...]
    vertices: tuple[str, ...]
    points: tuple[str, ...]
    label_column: str | None
    id_column: str | None
    features: int | None
    sparse: bool
    learns: bool
    columns: tuple[str, ...] | None
    check_times: bool
    window: WindowWidth | None
    undirected: bool
    kafka: KafkaSettings | None
    until_end: bool
    ids: Literal["int", "string"]
    workers: int
    most_workers: int | None
    engine: str
    placement: str
    spark_master: str | None
    delay_bound: DelayBound
    store: str | None
    address: Address | None
    door: Door
    pipeline: PipelineSettings | None
    output: str | None
    output_format: OutputFormat | None
    table: str | None
    predict: str | None
    deadline_s: float
    max_iterations: int | None
    check: bool
    adopts: bool
    logs_requests: bool
    quarantine: str | None
    as_json: bool
    checkpoint_every_s: float | None
    keep_snapshots: int | None
    results: str | None

    @classmethod
    def of(
        cls, loop: str, options: Mapping[str, Any], *, several: bool = False, learns: bool = False
    ) -> Self:
        """Check parsed options and return the plan.

        Parameters
        ----------
        loop : str
            What the main loop is to be called.
        options : mapping
            The options of `tornado run` by name.
        several : bool
            Whether other loops read the same stream.
        learns : bool
            Whether all of them learn from points, so that a topic has points.

        Raises
        ------
        InvalidArgument
            Two options contradict each other, or one has a value outside what is allowed.
        """
        window = _window(options)
        # By what has no time, nothing can leave.
        reads_times = options["check_times"] or (window is not None and not window.counts_records)
        options = {**options, "check_times": reads_times}
        edges, vertices = tuple(options["edges"]), tuple(options["vertices"] or ())
        points = _points(options, has_topic=learns and options["kafka"] is not None)
        files = (*edges, *vertices, *points)
        address = None if options["http"] is None else Address.parse(options["http"])
        output = options["output"]
        kafka = _kafka(options, learns=learns)
        pipeline = _pipeline(options)
        if pipeline is not None and address is None:
            address = Address(DEFAULT_HTTP_HOST, DEFAULT_HTTP_PORT)
        if not files and kafka is None and address is None:
            raise InvalidArgument(
                "there is no input and nobody to ask",
                hint="Name files with --edges or --points, a topic with --kafka and --topic or a --pipeline, or serve with --http, or both.",
            )
        if learns and kafka is None and options["columns"] is not None:
            raise InvalidArgument(
                f"--columns {options['columns']} names the columns of edges, or of CSV points of a topic, and {loop} has neither",
                hint="A file of points has a header.",
            )
        if output is not None and pipeline is not None:
            raise InvalidArgument(
                "--output is written when the input ends, and a pipeline may have no end",
                hint="Ask the service: tornado query.",
            )
        if output is not None and kafka is not None and not options["until_end"]:
            raise InvalidArgument(
                "--output is written when the input ends, and a topic does not end",
                hint="With --until-end the topic is read to the end that it has when reading begins.",
            )
        workers, most_workers = worker_counts(options["workers"])
        if options["ids"] == "string" and options["placement"] not in get_args(VertexPlacement):
            raise InvalidArgument(
                f"--placement {options['placement']} is a file, which names vertices by whole numbers, and --ids is string",
                hint="Leave it out, or choose hash.",
            )
        if not files and kafka is None and output is not None:
            raise InvalidArgument(
                "--output is written when the input ends, and there is no input",
                hint="Name files with --edges or --points.",
            )
        if output is not None and several and LOOP_IN_OUTPUT not in output:
            raise InvalidArgument(
                f"--output {output} would be written by each of several loops",
                hint=f"Put {LOOP_IN_OUTPUT} into it, such as {LOOP_IN_OUTPUT}.csv: the name of the loop comes there.",
            )
        results = options["results"]
        if results is not None and several and LOOP_IN_OUTPUT not in results.rpartition("/")[2]:
            raise InvalidArgument(
                "--results names one table for several loops",
                hint=f"Put {LOOP_IN_OUTPUT} into its name, such as …/DATABASE/{LOOP_IN_OUTPUT}: the name of the loop comes there.",
            )
        _check_format(options)
        if output is not None:
            check_output(output, output_format=options["output_format"])
        elif options["check"]:
            raise InvalidArgument(
                "--check verifies what --output writes, and there is none",
                hint="Add --output, or ask the service: tornado query --check.",
            )
        check_written(options["table"], options["predict"])
        if output is None:
            require_nothing_written(options["table"], options["predict"])
        if not math.isfinite(options["deadline_s"]):
            raise InvalidArgument(f"--deadline-s {options['deadline_s']} is not a number of seconds")
        return cls(
            loop=loop,
            stream=options["stream"] or loop,
            edges=_checked_files("--edges", edges),
            vertices=_checked_files("--vertices", vertices),
            points=_checked_files("--points", points),
            label_column=options["label"],
            id_column=options["id"],
            features=options["features"],
            sparse=options["sparse"],
            learns=learns,
            columns=None if learns else _file_columns(options),
            check_times=options["check_times"],
            window=window,
            undirected=options["undirected"],
            kafka=kafka,
            until_end=options["until_end"],
            ids=options["ids"],
            workers=workers,
            most_workers=most_workers,
            engine=options["engine"],
            placement=options["placement"],
            spark_master=_checked_master(options["master"], options["engine"]),
            delay_bound=parse_delay_bound(options["delay_bound"]),
            store=options["store"],
            address=address,
            door=Door.of(address, options),
            pipeline=pipeline,
            output=output,
            output_format=options["output_format"],
            table=options["table"],
            predict=options["predict"],
            deadline_s=options["deadline_s"],
            max_iterations=options["max_iterations"],
            check=options["check"],
            adopts=options["adopt"],
            logs_requests=options["access_log"],
            quarantine=options["quarantine"],
            as_json=options["as_json"],
            checkpoint_every_s=_checked_checkpoints(options["checkpoint_every"], options["store"]),
            keep_snapshots=options["keep_snapshots"],
            results=results,
        )

    @property
    def has_files(self) -> bool:
        """Whether files are read."""
        return bool(self.edges or self.vertices or self.points)

    @property
    def is_endless(self) -> bool:
        """Whether the input has no end."""
        return self.kafka is not None and not self.until_end

    @property
    def serves(self) -> bool:
        """Whether the run stays up when the files end."""
        return self.address is not None

    @property
    def writes_to_standard_output(self) -> bool:
        """Whether standard output is the result file."""
        return self.output == STANDARD_OUTPUT


def parse_delay_bound(text: str | None) -> DelayBound:
    """Parse `N`, `unbounded` (None) or `auto`, which is also what was not given.

    Examples
    --------
    >>> parse_delay_bound("64"), parse_delay_bound("unbounded"), parse_delay_bound(None)
    (64, None, 'auto')
    """
    if text is None or text == AUTO_DELAY_BOUND:
        return AUTO_DELAY_BOUND
    if text == "unbounded":
        return None
    if text.isascii() and text.isdigit() and int(text) >= 1:
        return int(text)
    raise InvalidArgument(
        f"--delay-bound {text} is neither a whole number from 1 nor `unbounded` or `auto`",
        hint="1 is synchronous, auto the default.",
    )


def parse_duration(text: str) -> float:
    """Parse a time such as `5s`, `500ms`, `2m` or `1h` into seconds; a number alone is seconds, `off` is 0.

    Examples
    --------
    >>> parse_duration("5s"), parse_duration("500ms"), parse_duration("1.5m"), parse_duration("off")
    (5.0, 0.5, 90.0, 0.0)
    """
    if text == "off":
        return 0.0
    found = _DURATION.fullmatch(text)
    seconds = float(found["number"]) * _UNITS_S[found["unit"]] if found else 0.0
    if not 0 < seconds < float("inf"):
        raise InvalidArgument(
            f"--checkpoint-every {text} is no time above 0",
            hint="Write for example 5s, 500ms or 2m; `off` stores none while the loop runs.",
        )
    return seconds


def default_stores(loop: str) -> Sequence[str]:
    """Return the stores to try when none was named: two runs at once must not be in each other's way."""
    folder = data_dir().resolve() / "stores"
    names = [loop, *(f"{loop}-{number}" for number in range(2, _STORES_TO_TRY + 1))]
    return [_LMDB + quote(str(folder / name)) for name in names]


def default_quarantine(store: str, loop: str) -> Path:
    """Return where rejected records go: beside the store, for a store that has a place."""
    if store.startswith(_LMDB):
        folder = Path(unquote(store.removeprefix(_LMDB)))
        return folder.with_name(folder.name + ".quarantine.jsonl")
    return data_dir() / f"{loop}.quarantine.jsonl"


def _checked_master(master: str | None, engine: str) -> str | None:
    if master is not None and engine != "spark":
        raise InvalidArgument(
            f"--master {master} names a Spark, but the engine is {engine}",
            hint="Add --engine spark, or leave it out.",
        )
    return master


def _points(options: Mapping[str, Any], *, has_topic: bool) -> tuple[str, ...]:
    points = tuple(options["points"] or ())
    if STANDARD_INPUT in points:
        raise InvalidArgument(
            "--points - names standard input, and what points are must be found out before they are read",
            hint="Name a file.",
        )
    for option in ("label", "id"):
        if options[option] is not None and not points and not has_topic:
            raise InvalidArgument(
                f"--{option} {options[option]} names a column of files of points, and there are none",
                hint="Name them with --points.",
            )
    if options["sparse"] and options["features"] is None:
        raise InvalidArgument(
            "--sparse says what points are like, and not how many features they have",
            hint="Add --features, or leave it to the files of --points.",
        )
    return points


def _check_format(options: Mapping[str, Any]) -> None:
    output_format = options["output_format"]
    if output_format is None:
        return
    if options["output"] is None:
        raise InvalidArgument(
            f"--output-format {output_format} says how --output is written, and there is none",
            hint="Add --output.",
        )
    if options["ids"] == "string":
        raise InvalidArgument(
            f"--output-format {output_format} has whole numbers for vertices, and --ids is string",
            hint="Leave one of them out.",
        )


def _pipeline(options: Mapping[str, Any]) -> PipelineSettings | None:
    path, arguments = options["pipeline"], tuple(options["pipeline_arguments"])
    if path is None:
        if arguments:
            raise InvalidArgument(
                f"{' '.join(arguments)}: there is no such argument",
                hint="Behind the program come options; what stands behind `--` is for a --pipeline, and none is named.",
            )
        return None
    if not Path(path).is_file():
        raise InvalidArgument(
            f"--pipeline {path}: there is no such file",
            hint="For example --pipeline apps/pipelines/roads.py.",
        )
    return PipelineSettings(path, arguments)


def _kafka(options: Mapping[str, Any], *, learns: bool) -> KafkaSettings | None:
    brokers, topic = options["kafka"], options["topic"]
    if brokers is None and topic is None:
        for option, name in _TOPIC_OPTIONS.items():
            if options[option] is not None:
                raise InvalidArgument(
                    f"{name} is about a topic, and none is read", hint="Name one with --kafka and --topic."
                )
        if options["until_end"]:
            raise InvalidArgument(
                "--until-end is about a topic, and none is read", hint="A file is always read to its end."
            )
        return None
    if brokers is None or topic is None:
        there, missing = ("--kafka", "--topic") if topic is None else ("--topic", "--kafka")
        raise InvalidArgument(
            f"{there} is given without {missing}", hint="For example --kafka 127.0.0.1:9092 --topic edges."
        )
    require_client()
    key = options["dedup_key"]
    if key is None and options["dedup_window"] is not None:
        raise InvalidArgument(
            "--dedup-window is given without --dedup-key",
            hint="Name the field that a repeated record has again.",
        )
    value_format = ValueFormat(options["value_format"] or ValueFormat.JSON.value)
    is_arrow = value_format is ValueFormat.ARROW
    usual_window = DEFAULT_DEDUP_WINDOW_OF_TABLES if is_arrow else DEFAULT_DEDUP_WINDOW
    columns = None
    if options["columns"] is not None and learns:
        columns = tuple(name.strip() for name in options["columns"].split(","))
    elif options["columns"] is not None and (value_format is ValueFormat.CSV or not options["edges"]):
        columns = _parse_columns(options["columns"], key)
    return KafkaSettings(
        brokers=parse_brokers(brokers),
        topic=topic,
        value_format=value_format,
        when_deleted=WhenDeleted(options["when_deleted"] or WhenDeleted.STOP.value),
        columns=columns,
        point_format=PointFormat(label=options["label"], id=options["id"]),
        undirected=options["undirected"],
        dedup_key=key,
        dedup_window=options["dedup_window"] or usual_window,
        times=options["check_times"],
        group=options["group"],
        ingesters=options["ingesters"] or worker_counts(options["workers"])[0],
        client={} if options["kafka_config"] is None else read_client_settings(options["kafka_config"]),
    )


def _window(options: Mapping[str, Any]) -> WindowWidth | None:
    if options["window"] is None:
        return None
    width = WindowWidth.of(options["window"])
    names = (
        [] if options["columns"] is None else [name.strip().lower() for name in options["columns"].split(",")]
    )
    return replace(width, by_times="time" in names and not width.counts_records)


def _checked_checkpoints(text: str | None, store: str | None) -> float | None:
    if text is None:
        return None
    every_s = parse_duration(text)
    if every_s and store is not None and store.partition(":")[0].lower() == "memory":
        raise InvalidArgument(
            f"--checkpoint-every {text}: the store {store} is gone with the process",
            hint="Name a durable store (--store lmdb:///DIR), or leave --checkpoint-every out.",
        )
    return every_s


def _checked_files(option: str, names: tuple[str, ...]) -> tuple[str, ...]:
    if names.count(STANDARD_INPUT) > 1:
        raise InvalidArgument(f"{option} - is given twice, but there is one standard input")
    for name in names:
        if name == STANDARD_INPUT:
            continue
        path = Path(name)
        if not path.exists():
            raise InvalidArgument(f"{option} {name}: there is no such file")
        if path.is_dir():
            raise InvalidArgument(f"{option} {name} is a folder", hint=f"Name its files, one {option} each.")
    return names


def _file_columns(options: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The columns of files: they have no key, though a topic of the same columns may have one."""
    if options["columns"] is None:
        return None
    key = options["dedup_key"]
    columns = _parse_columns(options["columns"], key)
    return columns if key is None else tuple("-" if name == key else name for name in columns)


def _parse_columns(text: str, key: str | None) -> tuple[str, ...]:
    from ..ingest.layout import TextFormat

    return TextFormat.parse_columns(text, key=key)
