"""`tornado sim`: a seed is a run, and a run that breaks a law names its seed."""

from __future__ import annotations

import json

import pytest

from tornado.command import main, sim
from tornado.errors import LawBroken


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


def test_a_wrong_answer_is_a_broken_law(monkeypatch):
    of_that_kind = next(seed for seed in range(20) if sim.simulate_protocol(seed)[0] == "shortest paths")
    monkeypatch.setattr(sim, "_distances", lambda _script: {})
    with pytest.raises(LawBroken, match="right answer"):
        sim.simulate_protocol(of_that_kind)


def test_without_a_seed_it_is_wrong_usage(tornado):
    assert tornado("sim").code == 2
