"""`tornado check`: results in files, right and wrong ones, of ours and of anybody's; and `tornado run --check`."""

import gzip
import io
import itertools
import json
import math
import textwrap

import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.loops import skewed
from tests.shortened import shortened
from tornado.command import main
from tornado.command.result_file import read_header
from tornado.errors import InvalidArgument

# 4 <-> 5 is a cycle of weight 0 behind 3; 7 <-> 8 one that nothing leads to; the edge 1 -> 6 goes again, and 1 -> 3 changes.
EDGES = """\
src,dst,weight,op
1,2,0.1,+
2,3,0.2,+
1,3,5,+
3,4,0.5,+
4,5,0,+
5,4,0,+
7,8,0,+
8,7,0,+
1,6,1,+
1,6,,-
1,3,0.5,=
1,1,0,+
2,9,-1,+
"""
LENGTHS = {1: "0.0", 2: "0.1", 3: "0.30000000000000004", 4: "0.8", 5: "0.8", 6: "", 7: "", 8: "", 10: ""}


@pytest.fixture(autouse=True)
def somewhere(tmp_path, monkeypatch):
    """Commands name files as people do, in the folder that they are in, and leave nothing elsewhere."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TORNADO_LOOPS_DATA_DIR", str(tmp_path / "data"))
    (tmp_path / "edges.csv").write_text(EDGES)
    (tmp_path / "alone.txt").write_text("10\n")
    return tmp_path


def csv_of(values, header="vertex,value"):
    return "\n".join([header, *(f"{vertex},{value}" for vertex, value in values.items()), ""])


def check(capsys, result, *arguments, app="sssp", source="1"):
    own = [] if source is None else ["--source", source]
    code = main(
        ["check", str(result), app, *own, "--edges", "edges.csv", "--vertices", "alone.txt", *arguments]
    )
    told = capsys.readouterr()
    return code, told.out, told.err


def test_a_right_result_is_right_by_its_first_word_and_its_exit_code(somewhere, capsys):
    (somewhere / "result.csv").write_text(csv_of(LENGTHS))
    code, out, err = check(capsys, "result.csv")
    assert code == 0, out
    assert out.startswith("right: 9 vertices, 9 edges; ")
    assert "1 records were rejected" in err  # the negative weight, as a run rejects it


@pytest.mark.parametrize(
    ("changed", "vertex"),
    [
        ({3: "0.3"}, 3),
        ({3: "0.30000000000000010"}, 3),
        ({4: "0.7", 5: "0.7"}, 4),
        ({7: "2", 8: "2"}, 7),
        ({6: "1.0"}, 6),
        ({5: ""}, 5),
        ({1: "nan"}, 1),
        ({10: "0.0"}, 10),
        ({9: ""}, 9),
        ({11: ""}, 11),
        ({-5: "3.5"}, -5),
        ({1: "", 2: "", 3: "", 4: "", 5: ""}, 1),
    ],
)
def test_a_wrong_result_exits_1_and_names_the_first_wrong_vertex(somewhere, capsys, changed, vertex):
    (somewhere / "result.csv").write_text(csv_of(LENGTHS | changed))
    code, out, _ = check(capsys, "result.csv")
    assert (code, out.startswith(f"wrong: vertex {vertex} ")) == (1, True), out


def test_a_row_that_is_missing_or_there_twice_is_wrong(somewhere, capsys):
    rows = csv_of(LENGTHS)
    (somewhere / "result.csv").write_text(rows.replace("4,0.8\n", ""))
    assert check(capsys, "result.csv")[:2] == (1, "wrong: vertex 4 has no row\n")
    (somewhere / "result.csv").write_text(rows + "4,0.8\n")
    assert check(capsys, "result.csv")[:2] == (1, "wrong: vertex 4 has two rows\n")


def test_json_says_the_same_in_fields(somewhere, capsys):
    (somewhere / "result.csv").write_text(csv_of(LENGTHS))
    found = json.loads(check(capsys, "result.csv", "--json")[1])
    assert (found["right"], found["vertices"], found["edges"]) == (True, 9, 9)
    (somewhere / "result.csv").write_text(csv_of(LENGTHS | {2: "0.2"}))
    code, out, _ = check(capsys, "result.csv", "--json")
    found = json.loads(out)
    assert (code, found["right"], found["vertex"]) == (1, False, 2)
    assert "0.1" in found["reason"]


def by_anybody(folder, kind):
    """The right result as other programs write it."""
    rows = dict(reversed(LENGTHS.items()))
    numbers = {vertex: float(value) if value else None for vertex, value in rows.items()}
    table = pa.table({"value": list(numbers.values()), "vertex": list(numbers), "rank": [1] * len(numbers)})
    match kind:
        case "csv with more columns in another order":
            lines = [f"x,{value},{vertex}\n" for vertex, value in rows.items()]
            (folder / "r.csv").write_text("name,value,vertex\n" + "".join(lines))
        case "csv with inf":
            (folder / "r.csv").write_text(csv_of({v: value or "inf" for v, value in rows.items()}))
        case "csv with carriage returns":
            (folder / "r.csv").write_text(csv_of(rows).replace("\n", "\r\n"))
        case "csv with quotes":
            (folder / "r.csv").write_text(csv_of({f'"{v}"': value for v, value in rows.items()}))
        case "csv.gz":
            (folder / "r.csv.gz").write_bytes(gzip.compress(csv_of(rows).encode()))
            return "r.csv.gz"
        case "parquet":
            pa.parquet.write_table(table, folder / "r.parquet")
            return "r.parquet"
        case "parquet of narrow ids":
            column = table["vertex"].cast(pa.int32())
            pa.parquet.write_table(table.set_column(1, "vertex", column), folder / "r.parquet")
            return "r.parquet"
        case "arrow file":
            with pa.ipc.new_file(folder / "r.arrow", table.schema) as writer:
                writer.write_table(table)
            return "r.arrow"
        case "arrow stream":
            with pa.ipc.new_stream(folder / "r.arrow", table.schema) as writer:
                writer.write_table(table)
            return "r.arrow"
    return "r.csv"


@pytest.mark.parametrize(
    "kind",
    [
        "csv with more columns in another order",
        "csv with inf",
        "csv with carriage returns",
        "csv with quotes",
        "csv.gz",
        "parquet",
        "parquet of narrow ids",
        "arrow file",
        "arrow stream",
    ],
)
def test_results_of_anybody_are_read(somewhere, capsys, kind):
    code, out, err = check(capsys, by_anybody(somewhere, kind))
    assert code == 0, out + err


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("result.csv", "", "cannot be read"),
        ("result.csv", "1,0.0\n2,0.1\n", "cannot be read"),
        ("result.csv", "vertex,distance\n1,0.0\n", "value"),
        ("result.csv", "vertex,value\n1,far\n", "far"),
        ("result.csv", "vertex,value\none,0.0\n", "one"),
        ("result.csv", "vertex,value\n1.5,0.0\n", "1.5"),
        ("result.csv", "vertex,value\n,0.0\n", "names no vertex"),
        ("result.parquet", "vertex,value\n1,0.0\n", "cannot be read"),
        ("result.arrow", "vertex,value\n1,0.0\n", "cannot be read"),
        ("result.txt", "vertex,value\n1,0.0\n", "names no format"),
    ],
)
def test_what_is_no_result_is_wrong_usage(somewhere, capsys, name, text, said):
    (somewhere / name).write_text(text)
    code, out, err = check(capsys, name)
    assert (code, out) == (2, "")
    assert said in err


def test_a_stream_with_something_behind_it_is_no_result(somewhere, capsys):
    name = by_anybody(somewhere, "arrow stream")
    stream = (somewhere / name).read_bytes()
    (somewhere / name).write_bytes(stream + stream)
    code, out, err = check(capsys, name)
    assert (code, out) == (2, "")
    assert f"ends at byte {len(stream)} of {name}, are {len(stream)} bytes more" in err


def test_a_broken_file_is_no_result_whatever_its_reader_calls_it(somewhere, capsys):
    whole = io.BytesIO()
    pa.parquet.write_table(pa.table({"vertex": [1, 2], "value": [0.0, 0.1]}), whole)
    (somewhere / "cut.parquet").write_bytes(b"PAR1" + whole.getvalue()[-60:])
    code, out, err = check(capsys, "cut.parquet")
    assert (code, out) == (2, ""), err
    assert "cut.parquet cannot be read as a result" in err
    (somewhere / "names.csv").write_bytes(b"vertex,value,\xbb\n1,0.0,2\n")
    with pytest.raises(InvalidArgument, match="cannot be read as a result"):
        read_header(str(somewhere / "names.csv"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["check"], "Missing argument"),
        (["check", "result.csv"], "Missing argument"),
        (["check", "result.csv", "sssp", "--source", "1"], "no graph"),
        (["check", "result.csv", "sssp", "--edges", "edges.csv"], "--source"),
        (["check", "result.csv", "sssq", "--edges", "edges.csv"], "no app named"),
        (["check", "none.csv", "sssp", "--source", "1", "--edges", "edges.csv"], "no such file"),
        (["check", "result.csv", "sssp", "--source", "1", "--edges", "none.csv"], "cannot be read"),
        (
            ["check", "result.csv", "sssp", "--source", "1", "--edges", "edges.csv", "--bound", "inf"],
            "--bound",
        ),
        (["check", "result.csv", "unproven.py:Unproven", "--edges", "edges.csv"], "names no checker"),
    ],
)
def test_wrong_usage_exits_2(somewhere, capsys, arguments, said):
    (somewhere / "result.csv").write_text(csv_of(LENGTHS))
    (somewhere / "unproven.py").write_text(
        textwrap.dedent("""\
            from dataclasses import dataclass
            from tornado import GeneralProgram

            @dataclass(frozen=True)
            class Unproven(GeneralProgram):
                pass
        """)
    )
    assert main(arguments) == 2
    assert said in capsys.readouterr().err


def test_labels_keep_all_their_digits(somewhere, capsys):
    big = 2**53
    (somewhere / "edges.csv").write_text(f"{big + 1},{big + 3}\n{big + 2},{big + 2}\n")
    right = {big + 1: big + 1, big + 2: big + 2, big + 3: big + 1, 10: 10}
    for changed, code in (({}, 0), ({big + 3: big}, 1), ({big + 1: big, big + 3: big}, 1)):
        (somewhere / "labels.csv").write_text(csv_of(right | changed))
        assert check(capsys, "labels.csv", app="connected_components", source=None)[0] == code


def test_of_strings_any_vertex_of_a_component_may_be_its_label(somewhere, capsys):
    (somewhere / "edges.csv").write_text("anna,ben\ncarl,dora\n")
    (somewhere / "alone.txt").write_text("eve\n")
    right = {"anna": "ben", "ben": "ben", "carl": "carl", "dora": "carl", "eve": "eve"}
    for changed, found in (
        ({}, "right"),
        ({"anna": "anna"}, "wrong: vertex ben has the label ben, but that of its component is anna"),
        ({"carl": "ben", "dora": "ben"}, "wrong: vertex carl "),
        ({"eve": "fritz"}, "wrong: vertex eve "),
        ({"eve": ""}, "wrong: vertex eve "),
    ):
        (somewhere / "labels.csv").write_text(csv_of(right | changed))
        code, out, _ = check(capsys, "labels.csv", "--ids", "string", app="connected_components", source=None)
        assert out.startswith(found), out
        assert code == (found != "right")


def test_paths_between_strings(somewhere, capsys):
    (somewhere / "edges.csv").write_text("anna,ben,2\nben,carl,0.5\n")
    (somewhere / "alone.txt").write_text("eve\n")
    right = {"anna": "0", "ben": "2", "carl": "2.5", "eve": ""}
    for changed, code in (({}, 0), ({"carl": "3"}, 1)):
        (somewhere / "paths.csv").write_text(csv_of(right | changed))
        assert check(capsys, "paths.csv", "--ids", "string", source="anna")[0] == code


CHECKED = [
    ("sssp", ["--source", "1"], "0.1"),
    ("bfs", ["--source", "1"], "1.0"),
    ("widest_path", ["--source", "1"], "0.0"),
    ("reachability", ["--sources", "1,7"], "1.0"),
    ("connected_components", [], "7"),
    ("label_propagation", ["--rounds", "3"], "10"),
    ("local_clustering", [], None),
    ("core_number", [], "1"),
    ("pagerank", ["--tolerance", "1e-7"], None),
    ("pagerank", ["--damping", "0.5", "--personalisation", "3,10,3"], None),
    ("pagerank", ["--rounds", "3"], None),
]


def is_kept(row):
    """Every app once, and every format and both kinds of streams for some of them."""
    (app, *_), undirected, ending = row
    if ending == "csv":
        return not undirected or app in {"sssp", "connected_components"}
    return (app, undirected) in {("core_number", True), ("sssp", False)}


@pytest.mark.parametrize(
    ("checked", "undirected", "ending"),
    shortened(list(itertools.product(CHECKED, [False, True], ["csv", "parquet", "arrow"])), is_kept),
)
def test_what_a_run_writes_is_checked_in_the_run_and_afterwards(
    somewhere, capsys, checked, undirected, ending
):
    app, parameters, plant = checked
    shared = [*parameters, "--edges", "edges.csv", "--vertices", "alone.txt", *["--undirected"] * undirected]
    result = f"result.{ending}"
    where = ["--workers", "2", "--store", "memory:", "--json"]
    assert main(["run", app, *shared, *where, "--output", result, "--check"]) == 0
    events = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    (written,) = [event for event in events if event["event"] == "result"]
    assert written["certificate"]["checked"] is True
    assert "checked (" in written["message"]
    assert main(["check", result, app, *shared]) == 0
    assert capsys.readouterr().out.startswith("right: ")
    if ending == "csv":
        text = (somewhere / result).read_text()
        if plant is None:
            plant = next(line[3:] for line in text.splitlines() if line.startswith("10,"))
            above = repr(float(plant) + 1e-5)  # far above the tolerance
        else:
            has_labels = app in {"connected_components", "label_propagation", "core_number"}
            above = "75" if has_labels else repr(math.nextafter(float(plant), math.inf))
        spoiled = text.replace(f",{plant}\n", f",{above}\n", 1)
        assert spoiled != text
        (somewhere / result).write_text(spoiled)
        assert main(["check", result, app, *shared]) == 1
        assert capsys.readouterr().out.startswith("wrong: vertex ")


def test_ranks_are_right_within_the_bound_that_is_given(somewhere, capsys):
    (somewhere / "edges.csv").write_text("anna,ben,2\nben,anna,1\nben,carl,1\n")
    (somewhere / "alone.txt").write_text("eve\n")
    shared = ["--edges", "edges.csv", "--vertices", "alone.txt", "--ids", "string"]
    surfer = ["--personalisation", "anna,eve,anna"]
    assert main(["run", "pagerank", *surfer, *shared, "--store", "memory:", "--output", "ranks.csv"]) == 0
    capsys.readouterr()
    for arguments, code in (
        (surfer, 0),
        ([*surfer, "--bound", "0.5"], 0),
        ([*surfer, "--bound", "1e-16"], 1),
        (["--personalisation", "anna,eve"], 1),
        (["--personalisation", "anna,eve", "--bound", "2"], 0),
        (["--damping", "0.8", *surfer], 1),
    ):
        assert main(["check", "ranks.csv", "pagerank", *arguments, *shared]) == code, arguments
    found = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in found] == ["right", "right", "wrong", "wrong", "right", "wrong"]


def test_of_ranks_by_rounds_other_rounds_and_damping_are_wrong_and_a_bound_is_what_they_may_be_off(
    somewhere, capsys
):
    shared = ["--edges", "edges.csv", "--vertices", "alone.txt"]
    run = ["run", "pagerank", "--rounds", "4", *shared, "--store", "memory:", "--workers", "1"]
    assert main([*run, "--output", "ranks.csv"]) == 0
    capsys.readouterr()
    for arguments, code in (
        (["--rounds", "4"], 0),
        (["--rounds", "5"], 1),
        (["--rounds", "5", "--bound", "0.5"], 0),
        (["--rounds", "4", "--damping", "0.8"], 1),
        ([], 1),  # by the other definition
    ):
        assert main(["check", "ranks.csv", "pagerank", *arguments, *shared]) == code, arguments
    assert main(["check", "ranks.csv", "pagerank", "--rounds", "4", "--tolerance", "1e-3", *shared]) == 2
    assert "has no tolerance" in capsys.readouterr().err


def test_of_a_wrong_answer_nothing_is_written_and_the_exit_code_is_1(somewhere, capsys):
    run = [
        "run",
        f"{skewed.__file__}:Skewed",
        "--source",
        "1",
        "--edges",
        "edges.csv",
        "--store",
        "memory:",
        "--workers",
        "2",
    ]
    assert main([*run, "--output", "result.csv", "--check"]) == 1
    assert "vertex 2 has" in capsys.readouterr().err
    assert not (somewhere / "result.csv").exists()
    assert main([*run, "--output", "result.csv"]) == 0
    assert (somewhere / "result.csv").exists()


def test_a_check_without_a_result_is_wrong_usage(capsys):
    assert main(["run", "sssp", "--source", "1", "--edges", "edges.csv", "--check"]) == 2
    assert "--output" in capsys.readouterr().err


def test_the_facility_of_a_result_is_verified_and_one_without_has_its_lengths_verified_alone(
    somewhere, capsys
):
    # 3 is as far from 1 over 2 as from 7 by rounding: its facility is that of the way, the lesser of those that are as near.
    (somewhere / "edges.csv").write_text("1,2,0.1\n2,3,0.2\n3,4,1.0\n7,3,0.3\n7,5,2\n1,5,2\n")
    (somewhere / "alone.txt").write_text("10\n")
    told = {1: "0.0,1", 2: "0.1,1", 3: "0.3,7", 4: "1.3,7", 5: "2.0,1", 7: "0.0,7", 10: ","}

    def checked(rows, header="vertex,value,facility", *arguments, facilities="7,1"):
        (somewhere / "result.csv").write_text(csv_of(rows, header))
        options = ["--facilities", facilities, *arguments]
        return check(capsys, "result.csv", *options, app="nearest_facility", source=None)

    code, out, _ = checked(told)
    assert (code, "it is which source that is" in out) == (0, True)
    for vertex, wrong, said in (
        (4, "1.3,1", "vertex 4 has its value from 1, but it comes from 7"),
        (5, "2.0,7", "vertex 5 has its value from 7, but it comes from 1"),
        (4, "1.3,777", "vertex 4 has its value from 777, but it comes from 7"),
        (2, "0.1,", "vertex 2 has a value without a source, but it comes from 1"),
        (
            3,
            "0.30000000000000004,1",
            "vertex 3 has 0.30000000000000004, but the length of the shortest path is 0.3",
        ),
    ):
        code, out, err = checked(told | {vertex: wrong})
        assert (code, said in out + err) == (1, True), out + err
    lengths = {vertex: row.partition(",")[0] for vertex, row in told.items()}
    code, out, _ = checked(lengths, "vertex,value")
    assert (code, "not looked at which source that is" in out) == (0, True)
    # Of strings any that is as near will do.
    for facility, expected in (("7", 0), ("1", 0), ("2", 1)):
        code, out, err = checked(told | {5: f"2.0,{facility}"}, "vertex,value,facility", "--ids", "string")
        assert code == expected, out + err
