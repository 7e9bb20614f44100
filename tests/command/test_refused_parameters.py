"""Parameters and graphs that have no usual answer, on the command line: a clear error and exit 2, or an answer that is documented."""

import csv
import json

import pytest

LINKS = "src,dst\n1,2\n2,3\n3,1\n3,4\n"


@pytest.fixture
def run(tornado, tmp_path):
    """`tornado run` of links to a result, and the values and certificate where there are any."""

    def ran(app, *options, links=LINKS):
        (tmp_path / "links.csv").write_text(links)
        words = [
            "--edges",
            "links.csv",
            "--workers",
            "1",
            "--store",
            "memory:",
            "--json",
            "--output",
            "out.csv",
        ]
        done = tornado("run", app, *words, *options)
        if done.code != 0:
            return done, None, None
        with (tmp_path / "out.csv").open() as lines:
            found = {int(row["vertex"]): float(row["value"]) for row in csv.DictReader(lines)}
        events = [json.loads(line) for line in done.err.splitlines()]
        (result,) = [event for event in events if event["event"] == "result"]
        return done, found, result["certificate"]

    return ran


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--damping", "1"], "damping is 1.0 but must be from 0 to below 1"),
        (["--damping", "-0.1"], "damping is -0.1 but must be from 0 to below 1"),
        (["--tolerance", "0"], "tolerance is 0.0 but must be at least 1e-13"),
        (["--personalisation", "1,x"], "separate values by commas"),
        (["--personalisation", "1,2", "--shares", "0,0"], "the shares of all 2 vertices are 0"),
        (["--personalisation", "1,2", "--shares", "1,-1"], "the share of vertex 2 is -1.0"),
        (["--personalisation", "1,2", "--shares", "1"], "names 2 vertices, and shares has 1 entries"),
        (["--personalisation-file", "none.csv"], "there is no file none.csv"),
        (["--personalisation-file", "zeros.csv"], "all 2 weights of zeros.csv are 0"),
        (["--personalisation-file", "seeds.csv", "--personalisation-column", "size"], "has no column 'size'"),
        (["--personalisation-file", "seeds.csv", "--shares", "1"], "--shares is given besides"),
        (["--personalisation-column", "size"], "--personalisation-file names no file"),
        (["--rounds", "3", "--personalisation-file", "seeds.csv"], "has no personalisation"),
        (["--rounds", "3", "--delay-bound", "2"], "1 only"),
    ],
)
def test_ranks_that_there_are_not_are_refused_before_anything_is_read(run, tmp_path, options, said):
    (tmp_path / "zeros.csv").write_text("vertex,weight\n1,0\n2,0\n")
    (tmp_path / "seeds.csv").write_text("vertex,weight,share\n1,1,0\n3,0,2\n")
    done, *_ = run("pagerank", *options)
    assert (done.code, said in done.err) == (2, True), done.err
    assert not (tmp_path / "out.csv").exists()


def test_a_file_and_a_column_of_it_are_a_personalisation(run, tmp_path, tornado):
    (tmp_path / "seeds.csv").write_text("vertex,weight,share\n1,1,0\n3,0,2\n")
    _, by_list, _ = run("pagerank", "--personalisation", "1", "--tolerance", "1e-12")
    seeds = ["--personalisation-file", "seeds.csv"]
    assert run("pagerank", *seeds, "--tolerance", "1e-12")[1] == pytest.approx(by_list, abs=1e-11)
    checked = tornado("check", "out.csv", "pagerank", "--edges", "links.csv", *seeds)
    assert checked.code == 0, checked.err
    by_column = [*seeds, "--personalisation-column", "share"]
    _, found, _ = run("pagerank", *by_column, "--tolerance", "1e-12")
    assert found == pytest.approx(
        run("pagerank", "--personalisation", "3", "--tolerance", "1e-12")[1], abs=1e-11
    )
    assert found != pytest.approx(by_list, abs=1e-3)


@pytest.mark.parametrize(
    ("links", "options", "expected"),
    [
        ("src,dst\n", [], {}),
        ("src,dst,weight\n1,1,0\n", [], {1: 1.0}),
        ("src,dst,weight\n1,2,0\n3,4,0\n", [], dict.fromkeys([1, 2, 3, 4], 0.25)),
        (LINKS, ["--personalisation", "99"], dict.fromkeys([1, 2, 3, 4], 0.0)),
        (
            "src,dst,weight\n1,2,1\n2,1,1\n1,2,-1\n",
            [],
            {1: 0.5, 2: 0.5},
        ),  # a negative weight is in quarantine
    ],
    ids=[
        "no edge",
        "one vertex",
        "nobody has an out-edge",
        "nobody of the personalisation",
        "a negative weight",
    ],
)
def test_graphs_with_little_in_them_have_answers(run, links, options, expected):
    done, found, certificate = run("pagerank", *options, links=links)
    assert found == pytest.approx(expected, abs=1e-6), done.err
    assert certificate["bound"] <= 1e-6


def test_walks_without_an_end_are_told_and_nothing_is_written(run, tmp_path):
    done, *_ = run("katz", "--alpha", "1.5")
    assert done.code == 1
    assert "diverged" in done.err
    assert not (tmp_path / "out.csv").exists()
