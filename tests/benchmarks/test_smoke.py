"""Every benchmark once, small, on the real system: whether it works, not how fast it is."""

import json
import subprocess
import sys

import pytest

from benchmarks.catalogue import run_entry
from benchmarks.harness import CHECKOUT, Settings

SMOKE = Settings(scale=10, workers=(1, 2), smoke=True, hold_s=0.3, queries=10, limit_s=120.0)


@pytest.mark.parametrize("name", ["scratch", "changes", "admission", "queries", "memory", "checkpoints"])
def test_the_real_system_passes_the_smoke_run_of(name):
    report = run_entry(name, SMOKE)
    assert report.failure is None
    assert report.figures


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
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads((output / "scratch-8.json").read_text())
    assert (report["benchmark"], report["parameters"]["scale"], report["failure"]) == ("scratch", 8, None)


@pytest.mark.kafka
def test_a_topic_is_read_in_the_smoke_run():
    report = run_entry("topic", Settings(scale=0, smoke=True, limit_s=240.0))
    assert report.failure is None
    assert report.value("Arrow, decoded and staged") > 0


@pytest.mark.kafka
@pytest.mark.spark
def test_a_pipeline_is_read_in_the_smoke_run():
    pytest.importorskip("pyspark")
    # A Spark of its own, with settings that one of this process could not take over.
    script = (
        "from benchmarks.catalogue import run_entry as run; from benchmarks.harness import Settings as S\n"
    )
    script += "report = run('pipeline', S(scale=0, smoke=True, limit_s=240.0))\n"
    script += "assert report.failure is None, report.failure\n"
    script += "assert report.value('Kafka and JSON, into a loop with a durable log') > 0\n"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=CHECKOUT, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_service_starts_twice_and_answers_exactly():
    report = run_entry("startup", Settings(scale=0, smoke=True, limit_s=240.0))
    assert report.failure is None
    assert report.value("second start, until ready") > 0
