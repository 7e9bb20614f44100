"""A run that would write over what it reads is refused before anything is read, however the two options call the file."""

from __future__ import annotations

import os

import pytest

from tornado.command.files_apart import FileOfOption, require_apart
from tornado.errors import InvalidArgument

EDGES = "1,2,1\n2,3,1\n3,x,1\n"
POINTS = "id,label,x\n1,0,0.5\n2,1,1.5\n"
VERTICES = "1\n2\n"
PLACEMENT = "vertex,part\n1,0\n2,0\n3,0\n"
SEEDS = "vertex,weight\n1,1\n"
TEXTS = {
    "edges.csv": EDGES,
    "points.csv": POINTS,
    "vertices.csv": VERTICES,
    "placement.csv": PLACEMENT,
    "seeds.csv": SEEDS,
    "bfs.csv": EDGES,
    "full.jsonl.1": EDGES,
}
SSSP = ["sssp", "--source", "1", "--edges", "edges.csv"]
LEARNER = ["logistic_regression", "--l2", "0.1", "--points", "points.csv"]


@pytest.fixture
def folder(tmp_path):
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def refused(tornado, folder):
    """Ask for a run that must be refused, and return what is said; no file may have changed."""

    def ran(*words):
        there = sorted(folder.iterdir())
        done = tornado("run", *words, "--workers", "1", "--store", "memory:")
        assert done.code == 2, done.err
        assert {name: (folder / name).read_text() for name in TEXTS} == TEXTS
        assert [path for path in sorted(folder.iterdir()) if path.name != "data"] == there
        return done.err

    return ran


@pytest.mark.parametrize(
    ("words", "written", "other"),
    [
        ([*SSSP, "--output", "edges.csv"], "--output edges.csv", "--edges edges.csv"),
        ([*SSSP, "--output", "./edges.csv"], "--output ./edges.csv", "--edges edges.csv"),
        ([*SSSP, "--edges", "bfs.csv", "--output", "bfs.csv"], "--output bfs.csv", "--edges bfs.csv"),
        ([*SSSP, "--vertices", "vertices.csv", "--output", "vertices.csv"], "--output vertices.csv", "--vertices vertices.csv"),
        ([*SSSP, "--placement", "placement.csv", "--output", "placement.csv"], "--output placement.csv", "--placement placement.csv"),
        ([*SSSP, "--quarantine", "edges.csv"], "--quarantine edges.csv", "--edges edges.csv"),
        ([*LEARNER, "--output", "points.csv"], "--output points.csv", "--points points.csv"),
        ([*LEARNER, "--predict", "bfs.csv", "--output", "bfs.csv"], "--output bfs.csv", "--predict bfs.csv"),
        (
            ["pagerank", "--edges", "edges.csv", "--personalisation-file", "seeds.csv", "--output", "seeds.csv"],
            "--output seeds.csv", "--personalisation-file seeds.csv",
        ),
        (
            ["sssp", "--source", "1", "--and", "bfs", "--source", "1", "--edges", "bfs.csv", "--output", "{loop}.csv"],
            "--output bfs.csv", "--edges bfs.csv",
        ),
        (
            [*SSSP, "--and", "bfs", "--name", "edges", "--source", "1", "--output", "{loop}.csv"],
            "--output edges.csv", "--edges edges.csv",
        ),
        (
            [*SSSP, "--and", *LEARNER, "--name", "of", "--predict", "bfs.csv", "--and", "bfs", "--source", "1", "--output", "{loop}.csv"],
            "--output bfs.csv", "--predict bfs.csv",
        ),
    ],
)  # fmt: skip
def test_a_file_that_is_read_is_not_written(refused, words, written, other):
    said = refused(*words)
    option = written.partition(" ")[0]
    assert f"{written} is written, and {other} names the same file, which is read" in said
    assert f"Name another file with {option}." in said


def test_a_file_is_not_written_by_two_options(refused):
    said = refused(*SSSP, "--output", "new.csv", "--quarantine", "./new.csv")
    assert (
        "--quarantine ./new.csv is written, and --output new.csv names the same file, which is written too"
        in said
    )


def test_a_file_that_a_full_quarantine_would_replace_is_not_read(refused):
    said = refused("sssp", "--source", "1", "--edges", "full.jsonl.1", "--quarantine", "full.jsonl")
    assert "--quarantine full.jsonl, which becomes full.jsonl.1 when it is full, is written" in said


@pytest.mark.parametrize("make", [os.symlink, os.link])
def test_links_to_a_file_are_that_file(refused, folder, make):
    make(folder / "edges.csv", folder / "linked.csv")
    assert "--output linked.csv is written, and --edges edges.csv" in refused(*SSSP, "--output", "linked.csv")
    words = ["sssp", "--source", "1", "--edges", "linked.csv", "--output", str(folder / "edges.csv")]
    assert "edges.csv is written, and --edges linked.csv names the same file" in refused(*words)


def test_a_file_that_comes_through_standard_input_is_not_written(folder, tornado_process):
    words = ["run", "sssp", "--source", "1", "--edges", "-", "--output", "edges.csv", "--store", "memory:"]
    with (folder / "edges.csv").open() as file:
        done = tornado_process(*words, stdin=file)
    assert done.code == 2
    assert "--output edges.csv is written, and --edges - names the same file" in done.err
    assert (folder / "edges.csv").read_text() == EDGES


def test_names_of_junctions_are_not_written_over_the_settings_of_a_client(tornado, tmp_path):
    settings = tmp_path / "client.json"
    settings.write_text("{}")
    words = ["--kafka", "127.0.0.1:1", "--topic", "roads", "--kafka-config", "client.json"]
    done = tornado("produce", *words, "--named", "./client.json")
    assert done.code == 2
    assert "--named ./client.json is written, and --kafka-config client.json names the same file" in done.err
    assert settings.read_text() == "{}"


def test_what_is_no_plain_file_may_be_in_several_options():
    nowhere = "/dev/null"
    require_apart(
        [FileOfOption("--output", nowhere), FileOfOption("--quarantine", nowhere)],
        [FileOfOption("--edges", nowhere), FileOfOption("--tokens", "read a-token\nwrite another")],
    )


def test_files_that_are_not_there_yet_are_told_apart_by_where_they_will_be(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    require_apart([FileOfOption("--output", "one.csv"), FileOfOption("--quarantine", "other.csv")])
    with pytest.raises(InvalidArgument, match="names the same file"):
        require_apart(
            [FileOfOption("--output", "one.csv"), FileOfOption("--quarantine", str(tmp_path / "one.csv"))]
        )


def test_a_run_that_writes_elsewhere_replaces_an_older_result(tornado, folder):
    (folder / "out.csv").write_text("older")
    done = tornado("run", *SSSP, "--output", "out.csv", "--quarantine", "bad.jsonl", "--store", "memory:")
    assert done.code == 0, done.err
    assert (folder / "out.csv").read_text() == "vertex,value\n1,0.0\n2,1.0\n3,2.0\n"
    assert (folder / "edges.csv").read_text() == EDGES
