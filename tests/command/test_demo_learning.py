"""`tornado demo learning`: the story ends with a match and a picture, and would say so if an answer were farther than it says."""

from pathlib import Path

import numpy as np
import pytest

from tornado.command import demo_learning, main

SMALL = ["demo", "learning", "--points", "4000", "--window", "2000", "--seconds", "1"]


def test_the_story_ends_with_a_match_and_a_picture(tornado_process, tmp_path):
    picture = tmp_path / "objective.png"
    whole = str(Path(__file__).resolve().parents[2])  # with SciPy, which other children do without
    done = tornado_process(*SMALL, "--picture", str(picture), PYTHONPATH=whole)
    assert done.code == 0, done.err
    assert done.out.splitlines()[-1].startswith("match")
    assert done.out.count("scikit-learn, from scratch") == 2
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_an_answer_that_is_farther_than_its_certificate_is_a_mismatch(monkeypatch, capsys, tmp_path):
    exact = demo_learning.weights_of

    def off(answer):
        weights, intercept = exact(answer)
        return weights * 1.01, intercept

    monkeypatch.setattr(demo_learning, "weights_of", off)
    assert main([*SMALL, "--picture", str(tmp_path / "picture.png")]) == 1
    assert capsys.readouterr().out.splitlines()[-1].startswith("MISMATCH")


@pytest.mark.parametrize("name", ["sklearn.linear_model", "matplotlib.figure"])
def test_without_what_it_compares_with_or_draws_with_it_says_what_to_install(monkeypatch, capsys, name):
    monkeypatch.setitem(__import__("sys").modules, name, None)
    assert main(SMALL) != 0
    assert "pip install 'tornado-loops[demo]'" in capsys.readouterr().err


def test_the_points_of_a_version_are_those_that_were_there():
    class Stream:
        version = 0

        def insert(self, **_columns):
            self.version += 1
            return self.version

        remove = insert

    made = demo_learning.Drift(np.zeros((5000, 28)), np.ones(5000))
    feed = demo_learning.PacedPoints(Stream(), made, window=2000, seconds=0.0)
    with feed:
        feed.wait_for(5000, lambda: None)
    assert [feed.at(version) for version in (0, 1, 3, 4, 8)] == [
        slice(0, 0),
        slice(0, 1000),
        slice(0, 3000),
        slice(1000, 3000),
        slice(3000, 5000),
    ]
