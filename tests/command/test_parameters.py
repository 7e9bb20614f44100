"""Program parameters as options, and the plan of a run: every mistake is named before anything starts."""

from __future__ import annotations

import dataclasses
import enum
from typing import Literal

import click
import pytest

from tornado.command import parameters
from tornado.command.address import Address
from tornado.command.kafka_config import read_client_settings
from tornado.command.parameters import PROGRAM_KEY, ProgramCommand, make_program, program_options
from tornado.command.plan import RunPlan, default_quarantine, default_stores, parse_delay_bound
from tornado.command.value_list import values_of
from tornado.errors import InvalidArgument, NotSupported
from tornado.ingest.interner import Interner
from tornado.query.parameters import with_interned_vertices
from tornado.query.programs import ProgramEntry


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass(frozen=True)
class Every:
    source: int
    damping: float = 0.85
    label: str = "none"
    loud: bool = False
    limit: int | None = None
    norm: Literal["l1", "l2"] = "l1"
    colour: Colour = Colour.RED
    seeds: tuple[int, ...] = ()
    sources: tuple[int, ...] = ()
    workers: int = 3
    derived: int = dataclasses.field(default=0, init=False)


_ENTRY = ProgramEntry("every", Every)


@pytest.fixture
def command(monkeypatch):
    monkeypatch.setattr(parameters, "load_program", lambda _app: _ENTRY)

    @click.command("run", cls=ProgramCommand)
    @click.argument("app")
    @click.option("--ids", default="int")
    @click.option("--workers", type=int)
    @click.option("--edges", multiple=True)
    @click.pass_context
    def run(ctx, **options):
        program = make_program(ctx.meta[PROGRAM_KEY], options)
        if options["ids"] == "string":
            interner = Interner()
            interner.intern([f"town {number}" for number in range(17)])
            program = with_interned_vertices(program, interner)  # as a session does
        return program, options

    return lambda *arguments: run.main(args=list(arguments), prog_name="run", standalone_mode=False)


def test_every_field_is_an_option_with_its_type(command):
    words = "--source -4 --damping 1e-9 --label x --loud --limit 5 --norm l2 --colour blue --seeds 1,2"
    program, _ = command("every", *words.split())
    assert program == Every(-4, 1e-9, "x", True, 5, "l2", Colour.BLUE, (1, 2))


def test_fields_that_were_not_given_keep_their_defaults(command):
    program, _ = command("every", "--source=1")
    assert program == Every(1)


def test_a_parameter_named_like_an_option_has_a_longer_name(command):
    program, options = command("every", "--source", "1", "--workers", "8", "--program-workers", "2")
    assert (program.workers, options["workers"]) == (2, 8)


def test_where_ids_are_strings_a_vertex_is_given_by_its_name(command):
    program, _ = command("every", "--source", "Rome", "--ids", "string", "--sources", "Rome, Rome")
    assert (program.source, program.sources) == (17, (17, 17))


@pytest.mark.parametrize(
    ("word", "names"),
    [
        ('"z,z"', ["z,z"]),
        ('Rome, "z,z", "say ""hi""", " x "', ["Rome", "z,z", 'say "hi"', " x "]),
        (" Rome , Bern ", ["Rome", "Bern"]),
        ('"z,z", Bern , Basel', ["z,z", "Bern", "Basel"]),
        ('"z,z" ,\t" x "\t, New York,Rome\t', ["z,z", " x ", "New York", "Rome"]),
        ('say "hi" , """"', ['say "hi"', '"']),
    ],
)
def test_a_value_with_a_comma_stands_in_quotes_as_in_csv(command, word, names):
    program, _ = command("every", "--source", "Rome", "--ids", "string", "--sources", word)
    expected = Interner()
    expected.intern([f"town {number}" for number in range(17)])
    expected.intern(["Rome"])
    assert program.sources == tuple(expected.intern(names))
    assert values_of(word) == names


def test_numbers_may_stand_in_quotes(command):
    program, _ = command("every", "--source", "1", "--seeds", '"4",2')
    assert program.seeds == (4, 2)


def test_an_unknown_parameter_is_answered_with_the_valid_ones(command):
    with pytest.raises(click.UsageError) as raised:
        command("every", "--sorce", "1")
    message = raised.value.format_message()
    assert "--sorce" in message
    for name in ("--source", "--damping", "--seeds", "--program-workers", "--edges"):
        assert name in message
    assert "derived" not in message


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["every"], "Missing option '--source'"),
        (["every", "--source", "x"], "'x' is not a valid integer"),
        (["every", "--source", "1", "--norm", "l3"], "not one of l1, l2"),
        (["every", "--source", "1", "--seeds", "1,x"], "separate values by commas"),
        (["every", "--source", "1", "--seeds", ""], "'' has an empty part"),
        (["every", "--source", "1", "--seeds", "1,,2"], "'1,,2' has an empty part"),
        (["every", "--source", "1", "--sources", "1, "], "'1, ' has an empty part"),
        (["every", "--source", "1", "--seeds", '"1,2'], "a value with a comma stands in double quotes"),
        (["every", "--source", "1", "--seeds", '"1"x,2'], "a value with a comma stands in double quotes"),
        (["every", "--source", "1", "--seeds", '"1"\n2'], "a value with a comma stands in double quotes"),
        (["every", "--source", "1", "--seeds", '"",1'], "has an empty part"),
        (["every", "--source", "1", "--seeds", '"1", '], "has an empty part"),
        (["--source", "1", "every"], "--source stands before APP"),
        ([], "Missing argument 'APP'"),
    ],
)
def test_a_wrong_parameter_is_a_usage_error_that_says_what_is_wrong(command, arguments, said):
    with pytest.raises(click.UsageError) as raised:
        command(*arguments)
    assert said in raised.value.format_message()


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        ("every --source 1 --edges", "--edges"),
        ("every --source 1 --label x --workers", "--workers"),
        ("every --edges e.csv --source", "--source"),
        ("every --source Rome --ids string --edges", "--edges"),
    ],
)
def test_a_last_option_without_its_argument_is_the_one_that_is_named(command, arguments, option):
    with pytest.raises(click.UsageError) as raised:
        command(*arguments.split())
    assert raised.value.format_message() == f"Option '{option}' requires an argument."


def test_a_flag_with_a_value_is_the_option_that_is_named(tornado):
    done = tornado("run", "sssp", "--source", "1", "--undirected=3")
    assert (done.code, done.out) == (2, "")
    assert "Option '--undirected' does not take a value." in done.err


@pytest.mark.parametrize(
    ("words", "option"),
    [
        ("sssp --source 1 --edges roads.csv --output", "--output"),
        ("sssp --source 1 --edges roads.csv --predict", "--predict"),
        ("sssp --source 1 --edges roads.csv --and bfs --source 1 --workers", "--workers"),
        ("sssp --source 1 --edges roads.csv --and bfs --source 1 --predict", "--predict"),
        ("sssp --source 1 --output --and bfs --source 1 --edges roads.csv", "--output"),
        ("sssp --source 1 --and bfs --source 1 --store --and bfs --source 2 --edges roads.csv", "--store"),
        ("sssp --source 1 --and bfs --source --and bfs --source 2 --edges roads.csv", "--source"),
        ("sssp --source Rome --ids string --and bfs --source Rome --output", "--output"),
    ],
)
def test_an_option_that_lacks_its_argument_at_the_end_of_a_segment_is_named(tornado, words, option):
    done = tornado("run", *words.split())
    assert (done.code, done.out) == (2, "")
    assert f"Option '{option}' requires an argument." in done.err
    assert "No such option" not in done.err


def test_a_field_without_a_spelling_is_refused_only_where_it_is_needed():
    optional = dataclasses.make_dataclass(
        "Optional", [("table", dict, dataclasses.field(default_factory=dict))]
    )
    assert program_options(ProgramEntry("optional", optional), taken=set()) == []
    required = dataclasses.make_dataclass("Required", [("table", dict)])
    with pytest.raises(NotSupported, match="table"):
        program_options(ProgramEntry("required", required), taken=set())


_OPTIONS = {
    "edges": (),
    "vertices": None,
    "window": None,
    "points": (),
    "label": None,
    "id": None,
    "features": None,
    "sparse": False,
    "kafka": None,
    "topic": None,
    "value_format": None,
    "when_deleted": None,
    "dedup_key": None,
    "dedup_window": None,
    "group": None,
    "ingesters": None,
    "until_end": False,
    "table": None,
    "predict": None,
    "kafka_config": None,
    "columns": None,
    "undirected": False,
    "check_times": False,
    "ids": "int",
    "workers": None,
    "engine": "threads",
    "master": None,
    "delay_bound": "64",
    "placement": "auto",
    "store": None,
    "stream": None,
    "http": "127.0.0.1:0",
    "pipeline": None,
    "pipeline_arguments": (),
    "output": None,
    "output_format": None,
    "deadline_s": 300.0,
    "max_iterations": None,
    "check": False,
    "adopt": False,
    "access_log": False,
    "tokens": None,
    "tls_certificate": None,
    "tls_key": None,
    "quarantine": None,
    "as_json": False,
    "checkpoint_every": None,
    "keep_snapshots": None,
    "results": None,
}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"http": None}, "no input"),
        ({"vertices": ("no.txt",)}, "--vertices no.txt: there is no such file"),
        ({"vertices": ("-", "-")}, "--vertices - is given twice"),
        ({"points": ("no.csv",)}, "--points no.csv: there is no such file"),
        ({"points": ("-",)}, "--points - names standard input"),
        ({"label": "y"}, "--label y names a column of files of points, and there are none"),
        ({"id": "x"}, "--id x names a column of files of points, and there are none"),
        ({"kafka": "broker:9092"}, "--kafka is given without --topic"),
        ({"topic": "edges"}, "--topic is given without --kafka"),
        ({"kafka": "broker", "topic": "edges"}, "'broker' is not HOST:PORT"),
        ({"kafka": "broker:9092", "topic": "a b"}, "'a b' cannot exist"),
        ({"kafka": "broker:9092", "topic": "edges", "columns": "src,dst"}, "format is json"),
        ({"kafka": "broker:9092", "topic": "edges", "output": "-"}, "a topic does not end"),
        ({"dedup_key": "id"}, "--dedup-key is about a topic"),
        (
            {"kafka": "a:1", "topic": "edges", "dedup_window": 5},
            "--dedup-window is given without --dedup-key",
        ),
        ({"kafka": "a:1", "topic": "edges", "dedup_key": "src"}, "cannot tell a record from the others"),
        (
            {"kafka": "a:1", "topic": "edges", "dedup_key": "id", "value_format": "csv"},
            "no column of the CSV values has that name",
        ),
        ({"kafka": "a:1", "topic": "edges", "group": " "}, "--group names no group"),
        ({"kafka": "broker:9092", "topic": "edges", "kafka_config": "no.json"}, "no.json cannot be read"),
        ({"value_format": "csv"}, "--format is about a topic"),
        ({"when_deleted": "earliest"}, "--when-deleted is about a topic"),
        ({"until_end": True}, "--until-end is about a topic"),
        ({"output": "-"}, "--output is written when the input ends"),
        ({"output_format": "ldbc"}, "--output-format ldbc says how --output is written, and there is none"),
        (
            {"output_format": "ldbc", "output": "-", "edges": (__file__,), "ids": "string"},
            "--output-format ldbc has whole numbers for vertices, and --ids is string",
        ),
        (
            {"output_format": "ldbc", "output": "ranks.csv", "edges": (__file__,)},
            ".csv names a format, and --output-format ldbc is another",
        ),
        ({"edges": ("no-such.csv",)}, "no such file"),
        ({"edges": (".",)}, "is a folder"),
        ({"edges": ("-", "-")}, "twice"),
        ({"http": "8080"}, "not HOST:PORT"),
        ({"http": "localhost:99999"}, "not HOST:PORT"),
        ({"delay_bound": "0"}, "--delay-bound 0"),
        ({"delay_bound": "many"}, "--delay-bound many"),
        ({"deadline_s": float("nan")}, "--deadline-s"),
        ({"columns": "src,where"}, "where"),
    ],
)
def test_options_that_make_no_sense_are_refused_before_anything_starts(changes, said):
    with pytest.raises(InvalidArgument, match=said):
        RunPlan.of("sssp", _OPTIONS | changes)


def test_a_plan_has_defaults_that_fit_the_machine():
    plan = RunPlan.of("sssp", _OPTIONS)
    assert plan.workers >= 1
    assert plan.delay_bound == 64
    assert plan.address == Address("127.0.0.1", 0)
    assert parse_delay_bound("unbounded") is None


def test_a_plan_with_a_topic_is_endless_unless_it_ends_where_the_topic_does(tmp_path):
    (tmp_path / "client.json").write_text('{"security_protocol": "SASL_PLAINTEXT"}')
    changes = {
        "kafka": "a:1,b:2",
        "topic": "edges",
        "http": None,
        "kafka_config": str(tmp_path / "client.json"),
    }
    plan = RunPlan.of("sssp", _OPTIONS | changes)
    assert plan.is_endless
    assert plan.kafka.brokers == ("a:1", "b:2")
    assert plan.kafka.client == {"security_protocol": "SASL_PLAINTEXT"}
    assert (plan.kafka.dedup_key, plan.kafka.group, plan.kafka.ingesters) == (None, None, plan.workers)
    assert not RunPlan.of("sssp", _OPTIONS | changes | {"until_end": True, "output": "-"}).is_endless
    assert [
        RunPlan.of("sssp", _OPTIONS | changes | {"check_times": said}).kafka.times for said in (False, True)
    ] == [
        False,
        True,
    ]


def test_a_key_is_a_column_of_the_topic_that_files_pass_over():
    changes = {
        "kafka": "a:1",
        "topic": "edges",
        "value_format": "csv",
        "columns": "src,dst,Id",
        "dedup_key": "Id",
    }
    plan = RunPlan.of("sssp", _OPTIONS | changes)
    assert (plan.kafka.columns, plan.columns) == (("src", "dst", "Id"), ("src", "dst", "-"))
    assert plan.kafka.dedup_window == 100_000
    tables = RunPlan.of("sssp", _OPTIONS | changes | {"value_format": "arrow", "edges": (__file__,)})
    assert (tables.kafka.columns, tables.kafka.dedup_window) == (None, 1000)


@pytest.mark.parametrize(
    ("text", "said"), [("{", "no JSON"), ("[]", "no JSON object"), ('{"group_id": "x"}', "sets group_id")]
)
def test_a_file_of_client_settings_that_makes_no_sense_is_refused(tmp_path, text, said):
    (tmp_path / "client.json").write_text(text)
    with pytest.raises(InvalidArgument, match=said):
        read_client_settings(str(tmp_path / "client.json"))


def test_default_stores_lie_in_the_data_folder_with_the_quarantine_beside(monkeypatch, tmp_path):
    monkeypatch.setenv("TORNADO_LOOPS_DATA_DIR", str(tmp_path))
    first, second, *_ = default_stores("sssp")
    assert first == f"lmdb://{tmp_path}/stores/sssp"
    assert second == f"lmdb://{tmp_path}/stores/sssp-2"
    assert default_quarantine(first, "sssp") == tmp_path / "stores" / "sssp.quarantine.jsonl"
    assert default_quarantine("memory:", "sssp") == tmp_path / "sssp.quarantine.jsonl"
