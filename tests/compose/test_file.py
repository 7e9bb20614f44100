"""docker-compose.yml describes what this project can do: its schema, its references, and commands that our own parsers take."""

import re
import shlex
import subprocess
import sys

import pytest
from click.testing import CliRunner

import tornado
from tests.compose.described import COMPOSE, DOCKERFILE, described, option, spark_settings
from tornado.command.application import root_command
from tornado.command.parameters import PROGRAM_KEY, make_program
from tornado.command.plan import RunPlan
from tornado.errors import InvalidArgument
from tornado.query.bearer_tokens import digest_of
from tornado.storage.postgres_results import ResultsAddress
from tornado.testing import kafka_broker

FILE = described()
SERVICES = FILE["services"]
OURS = sorted(name for name, service in SERVICES.items() if "build" in service)
# What differs between a broker in a container and one of the tests: where it is, and how soon it is given up.
KAFKA_PLACES = {"controller.quorum.voters", "listeners", "advertised.listeners", "log.dirs"}
PINNED = re.compile(r"[a-z/-]+:\d+\.\d+(\.\d+)?(-[a-z0-9-]+)?")


def mounts(service):
    """Return the folder of each volume, and whether the service may write to it."""
    found = [volume.split(":") for volume in service.get("volumes", [])]
    return {name: (folder, mode != ["ro"]) for name, folder, *mode in found}


def test_the_file_has_the_shape_of_a_compose_file():
    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(COMPOSE)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_everything_that_is_named_is_there_and_everything_that_is_there_is_named():
    named = {name for service in SERVICES.values() for name in mounts(service)}
    assert named == set(FILE["volumes"])
    assert {name for service in SERVICES.values() for name in service["networks"]} == set(FILE["networks"])
    waited_for = {name for service in SERVICES.values() for name in service.get("depends_on", {})}
    assert waited_for <= set(SERVICES)
    assert set(SERVICES) >= {"kafka", "postgres", "spark-master", "generator", "pipeline", "service"}
    # Only the pipeline is an end of the chain.
    assert set(SERVICES) - waited_for == {"pipeline"}


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_checked_limited_pinned_and_without_privileges(name):
    service = SERVICES[name]
    assert service["healthcheck"]["test"][0] == "CMD"
    assert all(needed["condition"] == "service_healthy" for needed in service.get("depends_on", {}).values())
    assert PINNED.fullmatch(service["image"])
    assert set(service["deploy"]["resources"]["limits"]) == {"cpus", "memory"}
    assert service["restart"] == "unless-stopped"
    assert service["user"].partition(":")[0] not in {"", "0", "root"}
    assert service["cap_drop"] == ["ALL"]
    assert not service.get("privileged")
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))
    for variable, value in service.get("environment", {}).items():
        if "TOKEN" in variable:
            # Other users of this machine reach the service: a token that everybody can read here would be none.
            assert re.fullmatch(r"(write )?\$\{TORNADO_TOKEN:\?[^}]+\}", value)
        elif re.search("PASSWORD|SECRET", variable):
            assert re.fullmatch(r"\$\{\w+:-local-use-only\}", value)
            assert "ports" not in SERVICES["postgres"]


def test_versions_are_those_that_are_tested():
    assert SERVICES["kafka"]["image"] == f"apache/kafka:{kafka_broker.KAFKA_VERSION}"
    assert {SERVICES[name]["image"] for name in OURS} == {f"tornado-loops:{tornado.__version__}"}
    assert PINNED.fullmatch(re.search("^FROM (.*)$", DOCKERFILE.read_text(), re.MULTILINE)[1])
    (user,) = {SERVICES[name]["user"] for name in OURS}
    assert f"USER {user}\n" in DOCKERFILE.read_text()
    folders = {folder for name in OURS for folder, _ in mounts(SERVICES[name]).values()}
    made = next(line for line in DOCKERFILE.read_text().splitlines() if "install --directory" in line)
    assert folders <= set(shlex.split(made.rstrip("\\")))


def test_the_broker_is_set_up_as_the_one_of_the_tests():
    given = {
        name.removeprefix("KAFKA_").lower().replace("_", "."): str(value)
        for name, value in SERVICES["kafka"]["environment"].items()
        if name.startswith("KAFKA_")
    }
    tested = dict(line.split("=", 1) for line in kafka_broker._PROPERTIES.splitlines())
    both = set(given) & set(tested)
    # That one may have listeners of other kinds beside the same ones.
    protocols = "listener.security.protocol.map"
    assert set(given[protocols].split(",")) <= set(tested.pop(protocols).split(","))
    both.remove(protocols)
    assert both >= {*KAFKA_PLACES, "process.roles", "auto.create.topics.enable", "message.max.bytes"}
    assert {name: given[name] for name in both - KAFKA_PLACES} == {
        name: tested[name] for name in both - KAFKA_PLACES
    }
    assert given["advertised.listeners"] == "PLAINTEXT://kafka:9092"
    assert given["log.dirs"] in {folder for folder, _ in mounts(SERVICES["kafka"]).values()}


def parsed(words):
    """Parse a command line as `tornado` would, without running it."""
    assert words[0] == "tornado"
    with CliRunner().isolation():
        root = root_command.make_context("tornado", words[1:2])
        name, command, _ = root_command.resolve_command(root, words[1:])
        return command.make_context(name, list(words[2:]), parent=root)


def test_the_commands_of_our_own_are_taken_by_our_own_parsers():
    context = parsed(SERVICES["service"]["command"])
    entry = context.meta[PROGRAM_KEY]
    with pytest.raises(InvalidArgument, match="--tokens"):
        RunPlan.of(entry.name, context.params)
    given = re.sub(
        r"\$\{TORNADO_TOKEN:[^}]*\}", "t0ken", SERVICES["service"]["environment"]["TORNADO_TOKENS"]
    )
    plan = RunPlan.of(entry.name, context.params | {"tokens": given})
    [shown] = [SERVICES[name]["environment"]["TORNADO_TOKEN"] for name in ("pipeline",)]
    assert shown == SERVICES["service"]["environment"]["TORNADO_TOKENS"].removeprefix("write ")
    assert plan.door.tokens.table.find(digest_of("t0ken")).writes
    assert make_program(entry, context.params).source == 5050
    assert (plan.loop, plan.address.host, plan.address.port) == ("sssp", "0.0.0.0", 8080)
    assert plan.store == "lmdb:///snapshots/store"
    database = SERVICES["postgres"]["environment"]
    results = ResultsAddress.of(plan.results)
    assert (
        results.database
        == f"postgresql://{database['POSTGRES_USER']}@postgres:5432/{database['POSTGRES_DB']}"
    )
    assert SERVICES["service"]["environment"]["PGPASSWORD"] == database["POSTGRES_PASSWORD"]
    produce = parsed(SERVICES["generator"]["command"]).params
    assert (produce["topic"], produce["rate"], produce["edges"]) == ("roads", 1000.0, ())
    # The source is the middle of the town.
    assert produce["side"] // 2 * (produce["side"] + 1) == 5050
    assert parsed(SERVICES["generator"]["healthcheck"]["test"][1:]).params["topic"] == "roads"


def test_the_pipeline_is_taken_by_its_parser_and_fits_what_stands_beside_it():
    pytest.importorskip("pyspark")
    from apps.pipelines import roads

    pipeline, generator, service = SERVICES["pipeline"], SERVICES["generator"], SERVICES["service"]
    assert pipeline["command"][:3] == ["python", "-m", "apps.pipelines.roads"]
    given = roads._parser().parse_args(pipeline["command"][3:])
    assert given.kafka == option(generator, "kafka") == "kafka:9092"
    assert given.topic == option(generator, "topic")
    assert given.towns == option(generator, "named")
    assert given.url == f"http://service:{option(service, 'http').rpartition(':')[2]}"
    assert given.loop in service["command"]
    assert service["ports"] == [f"127.0.0.1:8080:{option(service, 'http').rpartition(':')[2]}"]
    # Tasks read the table of names and write the quarantine and the state: on volumes that all of them have.
    workers = [SERVICES[name] for name in SERVICES if name.startswith("spark-worker-")]
    for one in (pipeline, *workers):
        assert mounts(one) == {"names": ("/names", False), "pipeline": ("/pipeline", True)}
        assert one["image"] == pipeline["image"]
    assert mounts(generator) == {"names": ("/names", True)}
    settings = spark_settings()
    assert {worker["command"][-1] for worker in workers} == {settings["spark.master"]}
    cores = sum(int(worker["command"][worker["command"].index("--cores") + 1]) for worker in workers)
    assert int(settings["spark.cores.max"]) <= cores
