"""`tornado sim`: a seed is a run, and a run that breaks a law names its seed."""

from __future__ import annotations

import json
import re

import pytest

from tornado import recovery_simulation
from tornado.command import main, sim
from tornado.errors import LawBroken
from tornado.fault_schedule import steps_of
from tornado.loops.admission_log import AdmissionLog


def test_the_same_seed_gives_the_same_runs(tornado_process):
    first = tornado_process("sim", "--seed", "11", "--runs", "20", "--json")
    assert first.code == 0
    document = json.loads(first.out)
    assert (document["seed"], document["runs"]) == (11, 20)
    assert document["commits"] > 40
    assert set(document["kinds"]) == {"counting", "loops", "recoveries", "shortest paths"}
    assert tornado_process("sim", "--seed", "11", "--runs", "20", "--json").out == first.out


def test_a_run_that_breaks_a_law_exits_with_1_and_says_how_to_repeat_it(monkeypatch, capsys):
    def broken(seed):
        if seed == 5:
            raise LawBroken("R3", "vertex 1 committed early")
        return "counting", 1, 0

    monkeypatch.setattr(sim, "simulate_protocol", broken)
    assert main(["sim", "--seed", "3", "--runs", "4"]) == 1
    captured = capsys.readouterr()
    assert "seed 5" in captured.err
    assert "vertex 1 committed early" in captured.err
    assert "tornado sim --seed 5 --runs 1" in captured.err


def test_a_run_that_fails_by_something_else_says_how_to_repeat_it_too(monkeypatch, capsys):
    def without_room(seed, **_):
        raise MemoryError("no room for a store")

    monkeypatch.setattr(recovery_simulation, "simulate_recovery", without_room)
    assert main(["sim", "--seed", "3", "--runs", "1"]) == 1
    captured = capsys.readouterr()
    assert "seed 3: MemoryError: no room for a store" in captured.err
    assert "tornado sim --seed 3 --runs 1" in captured.err


def test_a_wrong_answer_is_a_broken_law(monkeypatch):
    of_that_kind = next(seed for seed in range(20) if sim.simulate_protocol(seed)[0] == "shortest paths")
    monkeypatch.setattr(sim, "_distances", lambda _script: {})
    with pytest.raises(LawBroken, match="right answer"):
        sim.simulate_protocol(of_that_kind)


def test_without_a_seed_it_is_wrong_usage(tornado):
    assert tornado("sim").code == 2


def test_a_failure_with_faults_is_shrunk_and_the_line_that_is_printed_repeats_it(monkeypatch, capsys):
    replay = AdmissionLog.replay
    monkeypatch.setattr(
        AdmissionLog, "replay", lambda log, **options: iter(list(replay(log, **options))[:-1])
    )
    assert main(["sim", "--seed", "0", "--runs", "100"]) == 1
    said = capsys.readouterr().err
    again = re.search(r"tornado (sim --seed \d+ --only [\d,]+)", said).group(1).split()
    assert main(again) == 1
    repeated = capsys.readouterr().err
    steps = {step.number: step.kind for step in steps_of(int(again[2]))}
    wanted = [int(number) for number in again[4].split(",")]
    assert len(wanted) < len(steps)
    assert all(f"{number} {steps[number]}" in repeated for number in wanted)
    monkeypatch.undo()
    assert main(again) == 0
    assert "every law held" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("only", "said"),
    [("1,x", "must be numbers of steps"), ("", "must be numbers"), ("999", "has no step 999")],
)
def test_steps_that_are_none_are_wrong_usage(only, said, capsys):
    assert main(["sim", "--seed", "1", "--only", only]) == 2
    assert said in capsys.readouterr().err


def test_only_has_the_same_trace_again(capsys):
    traces = []
    for _ in range(2):
        assert main(["sim", "--seed", "4", "--only", "0,1,3", "--json"]) == 0
        traces.append(json.loads(capsys.readouterr().out))
    assert traces[0] == traces[1]
    assert traces[0]["only"] == [0, 1, 3]
