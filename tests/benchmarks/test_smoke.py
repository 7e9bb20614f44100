"""Every benchmark once, small, on the real system: whether it works, not how fast it is."""

import json
import signal
import subprocess
import sys
from dataclasses import replace

import psutil
import pytest

from benchmarks import plots
from benchmarks.catalogue import run_entry
from benchmarks.harness import CHECKOUT, Settings
from tests.command.test_pipeline import is_gone, wait_until
from tests.shortened import in_soak
from tests.spark.sessions import IN_A_HURRY

SMOKE = Settings(scale=10, workers=(1, 2), smoke=True, hold_s=0.3, queries=10, limit_s=500.0)


@pytest.fixture(autouse=True)
def in_a_hurry(monkeypatch):
    """For every Java that a benchmark starts."""
    for name, value in IN_A_HURRY.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("name", ["scratch", "changes", "admission", "queries", "memory", "roads"])
def test_the_real_system_passes_the_smoke_run_of(name):
    # Queries are asked in seven ways, each for as long as that takes.
    report = run_entry(name, replace(SMOKE, workers=(2,)) if name == "queries" else SMOKE)
    assert report.failure is None
    assert report.figures


def test_the_figures_of_the_paper_are_measured_and_plotted_in_the_smoke_run():
    report = run_entry("figures", SMOKE)
    assert report.failure is None
    for bound in ("1", "64", "65536", "unbounded"):
        assert report.value(f"  updates, branch, paths, B={bound}") > 0
        # Paths ask by PREPARE only where no bound says how far they may go, and ranks never.
        assert (report.value(f"  prepares, branch, paths, B={bound}") > 0) == (bound == "unbounded")
        assert report.value(f"  prepares, branch, ranks, B={bound}") == 0
    for percent in (1, 5, 10, 20):
        assert report.value(f"answered, {percent} % more, 2 workers") > 0
    assert all(
        plots.is_there(name, report) for name, plot in plots.PLOTS.items() if plot.result == plots.RESULT
    )


def test_a_worker_and_a_service_are_killed_beside_pushes_and_questions_in_the_smoke_run():
    report = run_entry("failure_figures", SMOKE)
    assert report.failure is None
    for killed in ("worker", "driver"):
        assert report.value(f"  until updates are counted again, {killed} killed, B=256") > 0
    assert set(report.series) == {
        f"figure {figure}, {what}, B=256" for figure in ("8c", "8d") for what in ("updates", "questions")
    }


def test_the_command_runs_a_benchmark_in_a_process_of_its_own(tmp_path):
    output = tmp_path / "results"
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "benchmarks",
            "--smoke",
            "--only",
            "scratch",
            "--scale",
            "8",
            "--workers",
            "1",
            "--output",
            output,
        ],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads((output / "scratch-8.json").read_text())
    assert (report["benchmark"], report["parameters"]["scale"], report["failure"]) == ("scratch", 8, None)


def test_a_benchmark_ends_with_the_command_that_is_terminated():
    command = subprocess.Popen(
        [sys.executable, "-m", "benchmarks", "--smoke", "--only", "admission"],
        cwd=CHECKOUT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    # The first figure comes from the process that measures.
    while "building" not in command.stderr.readline():
        assert command.poll() is None
    (child, *_) = psutil.Process(command.pid).children()
    command.terminate()
    command.communicate(timeout=60)
    assert command.returncode == 128 + signal.SIGTERM
    wait_until(lambda: is_gone(child.pid))  # it was killed a moment before the command ended


@pytest.mark.parametrize(
    "engine",
    [in_soak("threads"), "processes", pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.soak])],
)
def test_a_service_is_loaded_asked_and_checkpointed_in_the_smoke_run_of(engine):
    if engine == "spark":
        pytest.importorskip("pyspark")
    report = run_entry("checkpoints", replace(SMOKE, engine=engine, limit_s=240.0))
    assert report.failure is None
    assert report.value("  checkpoints stored") > 0
    for kind in ("without", "with checkpoints"):
        assert report.value(f"    not as it should be, /healthz meanwhile, {kind}") == 0
        assert report.value(f"    not as it should be, exact query for ten vertices meanwhile, {kind}") == 0


@pytest.mark.parametrize(
    "engine",
    ["threads", in_soak("processes"), pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.soak])],
)
def test_two_services_are_changed_by_turns_in_the_smoke_run_of(engine):
    if engine == "spark":
        pytest.importorskip("pyspark")
    report = run_entry("bases", replace(SMOKE, engine=engine, limit_s=240.0))
    assert report.failure is None
    assert report.value("checkpoints failed") == 0
    assert report.value("disk over the base, at most") > 1


@pytest.mark.soak
def test_a_stream_keeps_its_size_in_the_smoke_run():
    report = run_entry("turnover", SMOKE)
    assert report.failure is None
    assert report.value("memory, the last tenth over the second") < 2


@pytest.mark.soak
@pytest.mark.parametrize("engine", ["threads", "processes", pytest.param("spark", marks=pytest.mark.spark)])
def test_a_service_comes_back_in_each_way_in_the_smoke_run_of(engine):
    if engine == "spark":
        pytest.importorskip("pyspark")
    report = run_entry("recovery", replace(SMOKE, engine=engine, limit_s=300.0))
    assert report.failure is None
    for workers in (4, 1):
        assert report.value(f"put on {workers} workers under load, the loops stand still") > 0
    killed = [figure for figure in report.figures if figure.name.startswith("a worker is killed")]
    assert len(killed) == (engine != "threads")


@pytest.mark.soak
def test_buckets_move_by_themselves_in_the_smoke_run():
    report = run_entry("balance", SMOKE)
    assert report.failure is None
    assert 10 <= report.value("  until buckets had moved by themselves") < 60


@pytest.mark.kafka
def test_a_topic_is_read_in_the_smoke_run():
    report = run_entry("topic", Settings(scale=0, smoke=True, limit_s=240.0))
    assert report.failure is None
    assert report.value("Arrow, decoded and staged") > 0


# A Spark that writes seven times takes minutes; what it writes with is tested in tests/spark.
@pytest.mark.soak
@pytest.mark.kafka
@pytest.mark.spark
def test_a_pipeline_is_read_in_the_smoke_run():
    pytest.importorskip("pyspark")
    # A Spark of its own, with settings that one of this process could not take over.
    script = (
        "from benchmarks.catalogue import run_entry as run; from benchmarks.harness import Settings as S\n"
    )
    script += "report = run('pipeline', S(scale=0, smoke=True, limit_s=480.0))\n"
    script += "assert report.failure is None, report.failure\n"
    script += "assert report.value('Kafka and JSON, into a loop with a durable log') > 0\n"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=CHECKOUT, capture_output=True, text=True, timeout=540, check=False
    )
    assert done.returncode == 0, done.stderr


# These compile everything anew. That a second start does not is held by tests/loops/test_compile.py, for an edited program as well.
@pytest.mark.soak
def test_a_service_starts_twice_and_answers_exactly():
    report = run_entry("startup", Settings(scale=0, smoke=True, limit_s=240.0))
    assert report.failure is None
    assert report.value("second start, until ready") > 0


@pytest.mark.soak
def test_a_further_program_compiles_its_own_loop_and_not_the_graph_once_more():
    report = run_entry("further", Settings(scale=0, smoke=True, limit_s=480.0))
    assert report.failure is None
    assert report.value("  as a share of that of the first one") > 0
    assert 0 < report.value("  files that it compiled") < report.value("  files in the compile cache before")
    assert report.value("  files that it compiled again") == 0
