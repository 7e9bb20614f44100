"""`tornado run APP … --output`: a result file from edge files, as a process of its own."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import warnings

import networkx as nx
import pyarrow as pa
import pyarrow.parquet
import pytest

from tornado.command.log_lines import log_lines
from tornado.storage import open_store

_EDGES = "1,2,1.0\n2,3,2.5\n1,3,9.0\n4,5,1.0\n3,1,0\n"
_DISTANCES = {"1": "0.0", "2": "1.0", "3": "3.5", "4": "", "5": ""}


@pytest.fixture
def edges(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text(_EDGES)
    return path


def _run(tornado, *arguments, **options):
    return tornado(
        "run", "sssp", "--source", "1", "--workers", "2", "--store", "memory:", *arguments, **options
    )


def _rows(text):
    return {row["vertex"]: row["value"] for row in csv.DictReader(io.StringIO(text))}


def test_the_exact_result_is_written_and_standard_output_stays_empty(tornado_process, edges, tmp_path):
    done = _run(tornado_process, "--edges", "edges.csv", "--output", "out.csv")
    assert (done.code, done.out) == (0, "")
    text = (tmp_path / "out.csv").read_text()
    assert text.startswith("vertex,value\n")
    assert _rows(text) == _DISTANCES
    assert [row.split(",")[0] for row in text.splitlines()[1:]] == ["1", "2", "3", "4", "5"]


def test_a_dash_writes_csv_to_standard_output_and_all_else_is_json_lines_on_standard_error(
    tornado_process, edges
):
    done = _run(tornado_process, "--edges", "edges.csv", "--output", "-")
    assert done.code == 0
    assert _rows(done.out) == _DISTANCES
    events = [json.loads(line) for line in done.err.splitlines()]
    result = next(event for event in events if event["event"] == "result")
    assert result["state"] == "converged"
    assert result["snapshot"]["offsets"] == {"edges.csv": 5}
    assert result["certificate"] == {"kind": "exact"}


def test_a_placement_file_shares_vertices_out_and_what_it_lacks_is_said_as_is_what_it_cannot_have(
    tornado, edges, tmp_path
):
    (tmp_path / "placement.csv").write_text("vertex,part\n1,0\n2,1\n3,0\n99,7\n")
    wanted = ["--edges", "edges.csv", "--output", "-", "--json", "--placement"]
    done = _run(tornado, *wanted, "placement.csv")
    assert (done.code, _rows(done.out)) == (0, _DISTANCES)
    events = [json.loads(line) for line in done.err.splitlines()]
    assert [event["vertices"] for event in events if event["event"] == "unplaced"] == [2]
    (tmp_path / "placement.csv").write_text("vertex,part\n1,0\n1,1\n")
    done = _run(tornado, *wanted, "placement.csv")
    assert (
        done.code == 2 and "placement.csv: the placement names vertex 1 twice, for parts 0 and 1" in done.err
    )
    done = _run(tornado, *wanted, "near.csv")
    assert (
        done.code == 2
        and "the placement is 'near.csv', but it must be one of auto, blocks, hash, or a file" in done.err
    )
    done = _run(tornado, *wanted, "placement.csv", "--ids", "string")
    assert done.code == 2 and "names vertices by whole numbers, and --ids is string" in done.err


def test_the_facility_is_written_beside_the_distance_where_that_table_is_named(tornado, edges):
    wanted = ["run", "nearest_facility", "--facilities", "4,2", "--workers", "1", "--store", "memory:"]
    done = tornado(*wanted, "--edges", "edges.csv", "--output", "-", "--table", "facilities")
    assert (done.code, done.out) == (
        0,
        "vertex,value,facility\n1,2.5,2\n2,0.0,2\n3,2.5,2\n4,0.0,4\n5,1.0,4\n",
    )
    done = tornado(*wanted, "--edges", "edges.csv", "--output", "-")
    assert done.out.startswith("vertex,value\n1,2.5\n")


def test_a_set_of_sources_is_given_separated_by_commas(tornado, edges):
    done = tornado(
        *["run", "reachability", "--sources", "4,2", "--workers", "2", "--store", "memory:"],
        *["--edges", "edges.csv", "--output", "-"],
    )
    assert (done.code, done.err.count("error")) == (0, 0)
    assert _rows(done.out) == {"1": "1.0", "2": "1.0", "3": "1.0", "4": "1.0", "5": "1.0"}
    done = tornado(
        *["run", "reachability", "--sources", "5", "--ids", "string", "--workers", "2", "--store", "memory:"],
        *["--edges", "edges.csv", "--output", "-"],
    )
    assert _rows(done.out) == {"1": "", "2": "", "3": "", "4": "", "5": "1.0"}


def test_vertices_need_have_no_edge(tornado, tmp_path):
    (tmp_path / "vertices.txt").write_text("id\n1\n77\nx\n-5\n")
    (tmp_path / "few.csv").write_text("1,2\n")
    options = ["--vertices", "vertices.txt", "--quarantine", "bad.jsonl", "--output", "-"]
    done = _run(tornado, *options, "--edges", "few.csv")
    assert (done.code, _rows(done.out)) == (0, {"1": "0.0", "2": "1.0", "77": "", "-5": ""})
    [bad] = [json.loads(line) for line in (tmp_path / "bad.jsonl").read_text().splitlines()]
    assert (bad["source"], bad["position"], bad["reason"]) == (
        "vertices.txt",
        4,
        "id is not an integer: 'x'",
    )
    done = _run(tornado, *options, "--undirected")
    assert (done.code, _rows(done.out)) == (0, {"1": "0.0", "77": "", "-5": ""})
    done = _run(tornado, "--vertices", "none.txt", "--output", "-")
    assert (done.code, "--vertices none.txt: there is no such file" in done.err) == (2, True)


def test_edges_come_from_standard_input_as_well(tornado_process):
    done = _run(tornado_process, "--edges", "-", "--output", "-", stdin=_EDGES)
    assert (done.code, _rows(done.out)) == (0, _DISTANCES)


def test_several_files_compressed_or_not_with_headers_comments_and_removals(tornado, tmp_path):
    with gzip.open(tmp_path / "a.tsv.gz", "wt") as file:
        file.write("# a comment\nop\tsrc\tdst\tweight\n+\t1\t2\t4\n+\t2\t3\t1\n+\t1\t3\t2\n-\t1\t3\t2\n")
    (tmp_path / "b.txt").write_text("2 4\n% another\n4 5\n")
    done = _run(tornado, "--edges", "a.tsv.gz", "--edges", "b.txt", "--output", "-")
    assert done.code == 0
    assert _rows(done.out) == {"1": "0.0", "2": "4.0", "3": "5.0", "4": "5.0", "5": "6.0"}


def test_columns_can_be_named_and_lines_taken_in_both_directions(tornado_process):
    done = _run(
        tornado_process,
        "--edges",
        "-",
        "--columns",
        "weight,-,dst,src",
        "--undirected",
        "--output",
        "-",
        stdin="2,x,1,7\n",
    )
    assert (done.code, _rows(done.out)) == (0, {"1": "0.0", "7": "2.0"})


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_columnar_formats_have_the_same_result_with_nulls(tornado, edges, tmp_path, ending):
    assert _run(tornado, "--edges", "edges.csv", "--output", f"out.{ending}").code == 0
    path = tmp_path / f"out.{ending}"
    table = pyarrow.parquet.read_table(path) if ending == "parquet" else pa.ipc.open_file(path).read_all()
    assert table["vertex"].to_pylist() == [1, 2, 3, 4, 5]
    assert table["value"].to_pylist() == [0.0, 1.0, 3.5, None, None]


@pytest.mark.parametrize("delay_bound", ["1", "4", "unbounded"])
def test_distances_equal_networkx_bit_for_bit(tornado, tmp_path, delay_bound):
    chance = random.Random(5)
    lines = [(chance.randrange(60), chance.randrange(60), chance.random()) for _ in range(400)]
    (tmp_path / "random.csv").write_text("".join(f"{src},{dst},{weight!r}\n" for src, dst, weight in lines))
    done = _run(tornado, "--edges", "random.csv", "--output", "-", "--delay-bound", delay_bound)
    assert done.code == 0
    graph = nx.MultiDiGraph()
    graph.add_weighted_edges_from(lines)
    expected = nx.single_source_dijkstra_path_length(graph, 1)
    found = {int(vertex): float(value) for vertex, value in _rows(done.out).items() if value}
    assert found == expected


def test_string_ids_come_back_as_strings(tornado_process):
    done = tornado_process(
        *[
            "run",
            "sssp",
            "--source",
            "Rome",
            "--ids",
            "string",
            "--store",
            "memory:",
            "--edges",
            "-",
            "--output",
            "-",
        ],
        stdin='src,dst,weight\nRome,Bern,2\nBern,"Paris, Texas",1\nOslo,Rome,1\n',
    )
    assert done.code == 0
    assert _rows(done.out) == {"Rome": "0.0", "Bern": "2.0", "Paris, Texas": "3.0", "Oslo": ""}


def test_rejected_records_go_to_the_quarantine_with_their_line_and_reason(tornado, tmp_path):
    (tmp_path / "bad.csv").write_text(
        "1,2,1\n1,x,1\n# comment\n2,3,nan\n2,3,-1\n2,3,1\n9223372036854775808,1,1\n"
    )
    done = _run(tornado, "--edges", "bad.csv", "--output", "-", "--quarantine", "rejected.jsonl")
    assert done.code == 0
    assert _rows(done.out) == {"1": "0.0", "2": "1.0", "3": "2.0"}
    entries = [json.loads(line) for line in (tmp_path / "rejected.jsonl").read_text().splitlines()]
    assert sorted(entry["position"] for entry in entries) == [2, 4, 5, 7]
    assert {entry["source"] for entry in entries} == {"bad.csv"}
    assert all(entry["reason"] and entry["record"] for entry in entries)
    events = [json.loads(line) for line in done.err.splitlines()]
    assert any(event.get("rejected") == 4 for event in events)


def test_without_a_name_the_quarantine_lies_beside_the_store(tornado_process, tmp_path):
    done = tornado_process(
        *[
            "run",
            "sssp",
            "--source",
            "1",
            "--edges",
            "-",
            "--output",
            "-",
            "--store",
            f"lmdb://{tmp_path}/here",
        ],
        stdin="1,2,1\n1,x,1\n",
    )
    assert done.code == 0
    (line,) = (tmp_path / "here.quarantine.jsonl").read_text().splitlines()
    assert json.loads(line)["position"] == 2


def test_a_truncated_gzip_fails_and_names_the_file(tornado, tmp_path):
    whole = gzip.compress("".join(f"{k},{k + 1},1\n" for k in range(100_000)).encode())
    (tmp_path / "cut.csv.gz").write_bytes(whole[: len(whole) // 2])
    done = _run(tornado, "--edges", "cut.csv.gz", "--output", "out.csv")
    assert done.code == 1
    assert "cut.csv.gz" in done.err
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--master", "local[4]"], "the engine is threads"),
        (["--kafka", "broker:9092", "--topic", "edges"], "a topic does not end"),
        (["--kafka", "broker:9092"], "--kafka is given without --topic"),
        (["--pipeline", "roads.py"], "--pipeline roads.py: there is no such file"),
        (["--pipeline", __file__], "a pipeline may have no end"),
        (["extra"], "extra: there is no such argument"),
        (["--points", "points.csv"], "--points points.csv: there is no such file"),
        (["--points", "edges.csv"], "--points edges.csv has points, and sssp reads edges"),
        (["--sorce", "1"], "Parameters of sssp (ShortestPaths): --source"),
        (["--source", "x"], "--source"),
        (["--delay-bound", "0"], "--delay-bound"),
        (["--workers", "0"], "--workers"),
        (["--output", "out.xls"], "names no format"),
        (["--edges", "missing.csv"], "no such file"),
        (["--store", "floppy:"], "floppy:"),
    ],
)
def test_wrong_usage_exits_with_2_before_anything_is_written(tornado, edges, tmp_path, arguments, said):
    done = _run(tornado, "--edges", "edges.csv", "--output", "out.csv", *arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert "Traceback" not in done.err
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    ("app", "said"),
    [
        ("no_such_app", "Apps: "),
        ("missing.py:Program", "there is no file missing.py"),
        ("mine.py", "mine.py:ClassName; it defines: Mine"),
        ("mine.py:Other", "Programs it defines: Mine"),
        ("mine.py:dataclass", "has no class"),
        ("broken.py:Program", "cannot be imported: ZeroDivisionError"),
    ],
)
def test_an_app_that_cannot_be_found_is_answered_with_what_there_is(tornado_process, tmp_path, app, said):
    (tmp_path / "mine.py").write_text(_OWN_PROGRAM)
    (tmp_path / "broken.py").write_text("1 / 0\n")
    done = tornado_process("run", app, "--source", "1", "--edges", "-", "--output", "-")
    assert done.code == 2
    assert said in done.err


def test_a_program_of_ones_own_is_a_file_and_a_class_name(tornado_process, tmp_path):
    (tmp_path / "mine.py").write_text(_OWN_PROGRAM)
    done = tornado_process(
        *["run", "mine.py:Mine", "--source", "1", "--edges", "-", "--output", "-", "--store", "memory:"],
        stdin=_EDGES,
    )
    assert (done.code, _rows(done.out)) == (0, _DISTANCES)


def test_help_of_an_app_lists_the_parameters_of_its_program(tornado):
    done = tornado("run", "sssp", "--help")
    assert done.code == 0
    assert "--source" in done.out
    assert "--delay-bound" in done.out


_OWN_PROGRAM = """
from dataclasses import dataclass
from apps.sssp import ShortestPaths

@dataclass(frozen=True)
class Mine(ShortestPaths):
    pass
"""


def test_a_warning_of_a_library_is_an_event_like_everything_else(capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        with log_lines(as_json=True, with_requests=False):
            warnings.warn("this is old", DeprecationWarning, stacklevel=1)
    [event] = map(json.loads, capsys.readouterr().err.splitlines())
    assert (event["event"], event["level"]) == ("log", "warning")
    assert "DeprecationWarning: this is old" in event["message"]


def test_what_the_log_alone_has_is_not_said_to_be_nothing(tornado, edges, tmp_path):
    url = f"lmdb://{tmp_path}/store"
    arguments = ("run", "sssp", "--source", "1", "--store", url, "--output", "distances.csv", "--edges")
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    assert "answer for nothing" in tornado(*arguments, str(empty)).err
    assert "answer for nothing" not in tornado(*arguments, str(edges)).err
    with open_store(url) as store:
        store.drop("sssp")  # as where the first snapshot was never written
    again = tornado(*arguments, str(edges))
    assert "its log" in again.err
    assert "answer for nothing" not in again.err
    assert _rows((tmp_path / "distances.csv").read_text()) == _DISTANCES
