"""A branch for `--output` that reaches a limit, fails, or is interrupted: with a branch that does what the test says."""

from __future__ import annotations

import enum
import json
import signal
from datetime import UTC, datetime
from types import SimpleNamespace

import numpy as np
import pytest

from tornado.command.interruption import Interruption
from tornado.command.job import _Job
from tornado.command.plan import RunPlan
from tornado.command.progress import JsonReporter
from tornado.command.written import Writing
from tornado.errors import InternalError
from tornado.ingest.quarantine import Quarantine
from tornado.query.ids import IntIds
from tornado.query.rows import AnswerForm

State = enum.Enum("State", "RUNNING CONVERGED STOPPED CANCELLED FAILED")


class Branch:
    """Ends as it is told, or only when it is stopped."""

    error = None

    def __init__(self, state=State.RUNNING):
        self.state = state
        self.released = False
        self.snapshot = SimpleNamespace(
            stream="edges",
            offsets={"e.csv": 3},
            instant=datetime.now(UTC),
            version=3,
            iteration=9,
            delay_bound=64,
            is_durable=True,
        )

    @property
    def certificate(self):
        return {
            State.CONVERGED: {"kind": "exact"},
            State.STOPPED: {"kind": "none", "side": "upper"},
        }.get(self.state)

    def wait(self, timeout_s=None):
        return self.state is not State.RUNNING

    def progress(self):
        return SimpleNamespace(iteration=12, residual=0.5)

    def stop(self):
        self.state = State.STOPPED

    def cancel(self):
        self.state = State.CANCELLED

    def values(self):
        ids = np.array([1, 2], np.int64)
        return SimpleNamespace(arrays=lambda: (ids, np.array([0.0, np.inf])), worst=np.inf)

    def release(self):
        self.released = True


@pytest.fixture
def job(tmp_path):
    def make(branch, **changes):
        statistics = SimpleNamespace(admitted=3, iteration=9, residual=0.0)
        loop = SimpleNamespace(
            name="sssp", program=None, check=None, statistics=lambda: statistics, fork=lambda **_: branch
        )
        form = AnswerForm(rank="nearest", codec=IntIds())
        deployment = SimpleNamespace(
            service=SimpleNamespace(form=lambda _: form),
            loop=loop,
            loops=[loop],
            recognise=lambda *_: None,
            is_gone_on_from=False,
            interner=None,
            points=None,
            quarantine=Quarantine(None),
            server=None,
            served=SimpleNamespace(intake=loop, watch_sources=lambda *_: None),
        )
        options = {
            **dict.fromkeys(
                ["vertices", "points", "label", "id", "columns", "workers", "store", "stream", "quarantine"]
            ),
            **dict.fromkeys(["kafka", "topic", "value_format", "when_deleted", "kafka_config", "pipeline"]),
            "pipeline_arguments": (),
            **dict.fromkeys(["dedup_key", "dedup_window", "group", "ingesters"]),
            "features": None,
            "sparse": False,
            "until_end": False,
            "table": None,
            "predict": None,
            "edges": (),
            "undirected": False,
            "window": None,
            "check_times": False,
            "ids": "int",
            "engine": "threads",
            "master": None,
            "delay_bound": "64",
            "placement": "auto",
            "http": "127.0.0.1:0",
            "output": None,
            "output_format": None,
            "deadline_s": 0.01,
            "max_iterations": None,
            "check": False,
            "adopt": False,
            "access_log": False,
            "tokens": None,
            "tls_certificate": None,
            "tls_key": None,
            "as_json": True,
            "checkpoint_every": None,
            "keep_snapshots": 3,
            "results": None,
        }
        plan = RunPlan.of("sssp", options | changes)
        return _Job(plan, deployment, Interruption(), {"sssp": Writing()}, as_json=True)

    return make


def _events(capsys):
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_at_the_deadline_the_best_value_so_far_is_written_and_the_exit_code_is_3(job, tmp_path, capsys):
    branch = Branch()
    assert job(branch)._write_result(JsonReporter(), str(tmp_path / "out.csv")) == 3
    assert (tmp_path / "out.csv").read_text() == "vertex,value\n1,0.0\n2,\n"
    assert branch.released
    *_, result, limit = _events(capsys)
    assert (result["state"], result["stopped_by"]) == ("deadline", "deadline")
    assert result["certificate"] == {"kind": "none", "side": "upper"}
    assert "not exact (upper bounds)" in result["message"]
    assert "best value so far" in limit["message"]


def test_at_the_iteration_cap_it_is_the_same_with_the_cap_named(job, tmp_path, capsys):
    code = job(Branch(State.STOPPED), max_iterations=5)._write_result(
        JsonReporter(), str(tmp_path / "out.csv")
    )
    assert code == 3
    assert _events(capsys)[-2]["stopped_by"] == "max_iterations"


def test_a_branch_that_converges_in_time_is_exact(job, tmp_path, capsys):
    assert job(Branch(State.CONVERGED))._write_result(JsonReporter(), str(tmp_path / "out.csv")) == 0
    result = _events(capsys)[-1]
    assert (result["state"], result["stopped_by"], result["certificate"]) == (
        "converged",
        None,
        {"kind": "exact"},
    )


def test_what_made_a_branch_fail_is_raised_and_nothing_is_written(job, tmp_path):
    branch = Branch(State.FAILED)
    branch.error = InternalError("a vertex went wrong")
    with pytest.raises(InternalError, match="a vertex went wrong"):
        job(branch)._write_result(JsonReporter(), str(tmp_path / "out.csv"))
    assert branch.released
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_cancels_the_branch_and_nothing_is_written(job, tmp_path):
    branch = Branch()
    asked = job(branch, deadline_s=60.0)
    with asked._interruption:
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            asked._write_result(JsonReporter(), str(tmp_path / "out.csv"))
    assert branch.state is State.CANCELLED
    assert list(tmp_path.iterdir()) == []
