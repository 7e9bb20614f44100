"""A pipeline beside a run: it fills the loop, ends with the run however that ends, and its failure is reported."""

import os
import signal
import time
from pathlib import Path

import pytest

from tests.end_to_end.running import Service

FILLING = """
import json, os, signal, sys, time, urllib.request
from beside import WEIGHT  # a file of its folder, as in any script
assert __name__ == "__main__" and sys.argv[1:] == ["--from", "1"], sys.argv
edges = json.dumps({"src": 1, "dst": 2, "weight": WEIGHT}).encode()
request = urllib.request.Request(
    f"{os.environ['TORNADO_URL']}/v1/loops/{os.environ['TORNADO_LOOP']}/edges",
    edges,
    {"content-type": "application/x-ndjson"},
)
urllib.request.urlopen(request).close()
open(os.path.join(os.environ["TORNADO_PIPELINE_DIR"], "child"), "w").write(str(os.fork() or time.sleep(600)))
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
time.sleep(600)
"""


@pytest.fixture
def pipeline(compiled_paths, tmp_path):
    """Writes a pipeline, and returns the options of a run with it."""

    def write(text):
        (tmp_path / "beside.py").write_text("WEIGHT = 2.5\n")
        (tmp_path / "fill.py").write_text(text)
        store = f"lmdb://{tmp_path}/store"
        return "--store", store, "--pipeline", str(tmp_path / "fill.py"), "--", "--from", "1"

    return write


def wait_until(condition, timeout_s=120):
    until_s = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < until_s, f"not within {timeout_s} s"
        time.sleep(0.02)


def is_gone(pid):
    """Whether a process has ended; one that nobody has taken leave of yet has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_it_fills_the_loop_and_ends_with_the_run_and_with_all_it_started(tmp_path, pipeline, end):
    with Service(tmp_path, *pipeline(FILLING)) as service:
        pid = service.wait_for("pipeline")["pid"]
        wait_until(lambda: service.edges() == 1)
        assert service.ask(vertices=[2])["result"]["values"] == [{"vertex": 2, "value": 2.5}]
        written = tmp_path / "store.pipeline" / "child"
        wait_until(lambda: written.exists() and written.read_text())
        service.signal(end)
        wait_until(lambda: is_gone(pid))
        if end == signal.SIGTERM:
            wait_until(
                lambda: is_gone(int(written.read_text()))
            )  # it was killed a moment before the run ended
        else:
            os.kill(int(written.read_text()), signal.SIGKILL)


def test_a_failure_is_reported_with_the_end_of_its_log_and_the_service_stays(tmp_path, pipeline):
    with Service(tmp_path, *pipeline("print('reading')\nraise ValueError('no such topic')\n")) as service:
        error = service.wait_for("error")
        assert "fill.py ended with 1: reading" in error["message"]
        assert "ValueError: no such topic" in error["message"]
        source = service.look("/v1/loops/sssp").json()["sources"]["pipeline:fill.py"]
        said = "the pipeline fill.py ended with 1: ValueError: no such topic"
        assert (source["state"], source["last_error"]) == ("failed", said)
        [line] = [
            line
            for line in service.look("/metrics", shows="\ntornado_source_last_error{").text.splitlines()
            if line.startswith("tornado_source_last_error{")
        ]
        assert line.endswith(" 1.0") and 'source="pipeline:fill.py"' in line and "no such topic" not in line
        assert service.ask()["state"] == "converged"


def test_one_that_comes_to_its_end_is_no_failure(tmp_path, pipeline):
    with Service(tmp_path, *pipeline("print('done')\n")) as service:
        service.wait_for("pipeline-ended")
        assert service.look("/v1/loops/sssp").json()["sources"] == {}
