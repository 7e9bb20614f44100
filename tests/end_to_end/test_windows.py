"""`tornado run --window`: killed at any instant, answers are those for what was in the window at the place that they name."""

import math
import random
import signal
import time

import pytest

from tests.end_to_end.running import NDJSON, Service, run, run_here, told
from tests.loops.test_windows_on_real_streams import distances, inside, some_late, stream_of
from tests.shortened import in_soak
from tornado.records.timed_edges import TimedEdges


def check(answer, records, name, width):
    snapshot = answer["snapshot"]
    at = snapshot["offsets"].get(name, 0)
    if not at:
        return
    window, late = inside(records.slice(0, at), width)
    assert snapshot["offsets"].get("window", 0) == at - late - len(window)
    expected = distances(window, 1)
    rows = answer["result"]["values"]
    found = {row["vertex"]: row["value"] for row in rows if row["value"] is not None}
    assert set(found) | {1} == set(expected)
    assert all(math.isclose(found[vertex], expected[vertex], abs_tol=1e-9) for vertex in found)


def lines_of(records):
    """The records as lines of a file; times have microseconds."""
    columns = [records.src.tolist(), records.dst.tolist(), records.weight.tolist()]
    if isinstance(records, TimedEdges):
        columns.append([f"{time // 10**6}.{time % 10**6:06}" for time in records.time.tolist()])
    return [",".join(map(str, row)) + "\n" for row in zip(*columns, strict=True)]


@pytest.mark.parametrize("name", ["college", "epinions", in_soak("bitcoin")])
def test_a_killed_run_goes_on_with_what_is_in_its_window(tmp_path, data_dir, name):
    records, width = stream_of(name, data_dir)
    chance = random.Random(name)
    columns = "src,dst,weight"
    if not width.counts_records:
        records, columns = some_late(records, chance), columns + ",time"
    path, lines = tmp_path / "records.csv", lines_of(records)
    path.write_text("")
    options = ["--store", f"lmdb://{tmp_path}/store", "--edges", path, "--columns", columns]
    options += ["--window", width, "--checkpoint-every", "1s"]
    answers, step = [], len(lines) // 4
    for kill in range(4):
        with path.open("a") as file:
            file.writelines(lines[kill * step : (kill + 1) * step])
        with Service(tmp_path, *options, "--workers", 1 + kill % 2) as service:
            answers.append(service.ask())
            until_s = time.monotonic() + (300 if kill % 2 else chance.uniform(0.0, 3.0))
            while time.monotonic() < until_s:
                answers.append(service.ask())
                if answers[-1]["snapshot"]["offsets"].get(path.name, 0) >= (kill + 1) * step:
                    break
                time.sleep(0.1)
            if kill == 3:
                described = service.client.get("/v1/streams/sssp").json()["window"]
                counted = [
                    service.metric(f"tornado_window_{what}_total") for what in ("left_edges", "late_records")
                ]
            service.signal(signal.SIGKILL)
    window, late = inside(records.slice(0, 4 * step), width)
    left = 4 * step - late - len(window)
    assert left > step / 2
    assert late > 100 or width.counts_records
    assert answers[-1]["snapshot"]["offsets"] == {path.name: 4 * step, "window": left}
    by = "count" if width.counts_records else "time"
    assert described == described | {"width": str(width), "by": by, "left": left, "late": late}
    assert counted == [left, late]
    for answer in answers:
        check(answer, records, path.name, width)


def test_edges_leave_by_their_arrival_while_nothing_comes(tmp_path):
    options = ["--store", f"lmdb://{tmp_path}/store", "--window", "1s"]
    with Service(tmp_path, *options) as service:
        pushed = service.client.post(
            "/v1/streams/sssp/edges", content=b'{"src": 1, "dst": 2}\n{"src": 2, "dst": 3}\n', headers=NDJSON
        )
        assert pushed.json()["accepted"] == 2
        until_s = time.monotonic() + 20
        while service.edges() and time.monotonic() < until_s:
            time.sleep(0.1)
        assert service.edges() == 0
        answer = service.ask()
        assert answer["snapshot"]["offsets"] == {"http": 2, "window": 2}
        assert [row["value"] for row in answer["result"]["values"]] == [0.0, None, None]


@pytest.mark.parametrize("width", ["0", "-5", "1x", "0s", "1.5", "h"])
def test_a_window_that_is_none_is_refused_with_what_one_is(tmp_path, width):
    code, _, said = told(
        tmp_path, "run", "sssp", "--source", "1", "--http", "127.0.0.1:0", f"--window={width}"
    )
    assert code == 2
    assert f"'{width}'" in said and "1000000" in said


def test_without_a_column_of_times_edges_are_in_since_they_came(tmp_path):
    (tmp_path / "edges.csv").write_text("src,dst,weight\n1,2,1.0\n2,3,1.0\n")
    code, events = run_here(
        tmp_path,
        *["--edges", tmp_path / "edges.csv", "--window", "1h", "--output", tmp_path / "out.csv"],
        *["--store", "memory:"],
    )
    assert code == 0
    result = next(event for event in events if event["event"] == "result")
    assert result["snapshot"]["offsets"] == {"edges.csv": 2, "window": 0}
    assert (tmp_path / "out.csv").read_text().splitlines()[1:] == ["1,0.0", "2,1.0", "3,2.0"]


def test_a_column_of_times_that_is_not_there_is_told(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text("1,2,1.0\n2,3,1.0\n")
    quarantine = tmp_path / "rejected.jsonl"
    code, events = run(
        tmp_path,
        "--edges",
        path,
        "--columns",
        "src,dst,weight,time",
        "--window",
        "1h",
        "--output",
        tmp_path / "out.csv",
        "--quarantine",
        quarantine,
    )
    assert code != 0
    assert any("time" in str(event) for event in events), events


def test_records_without_a_time_go_to_quarantine_where_others_have_one(tmp_path):
    path, quarantine = tmp_path / "edges.csv", tmp_path / "rejected.jsonl"
    path.write_text("src,dst,time\n1,2,100\n2,3,\n1,4,120\n")
    code, _ = run(
        tmp_path,
        "--edges",
        path,
        "--window",
        "50s",
        "--output",
        tmp_path / "out.csv",
        "--quarantine",
        quarantine,
    )
    assert code == 0
    assert "no time" in quarantine.read_text()
    assert (tmp_path / "out.csv").read_text().splitlines()[1:] == ["1,0.0", "2,1.0", "4,1.0"]
