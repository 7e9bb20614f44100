"""What goes wrong at a user's: each a clear error that says what to do, and nothing that was good is lost."""

import gzip
import json
import resource
import signal

import pytest

from tests.end_to_end.running import Service, run_here
from tornado.storage import open_store

GOOD = "1,2,1.0\n2,3,2.5\n1,3,9.0\n"
DISTANCES = [{"vertex": 1, "value": 0.0}, {"vertex": 2, "value": 1.0}, {"vertex": 3, "value": 3.5}]


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("service")
    (folder / "edges.csv").write_text(GOOD)
    with Service(folder, "--store", "memory:", "--edges", folder / "edges.csv") as running:
        running.wait_for("input-ended")
        yield running


def problem(response, status, code):
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    document = response.json()
    assert document["code"] == code
    assert document["hint"], "an error says what to do"
    return document


def test_an_answer_says_that_nothing_of_it_is_durable_where_nothing_is(service):
    for mode in ("exact", "approximate"):
        assert service.ask(mode=mode)["snapshot"]["durable"] is False


BAD_LINES = {
    "9223372036854775808,1,1.0": "9223372036854775808",
    "1,-9223372036854775809,1.0": "-9223372036854775809",
    "1,2,nan": "NaN",
    "1,2,NaN": "NaN",
    "1,2,1e999": "weight is not finite: '1e999'",
    "1,2,inf": "weight is not finite: 'inf'",
    "1,2,-1.0": "negative",
}


@pytest.fixture(scope="module")
def rejected(tmp_path_factory):
    """What a run over a file for each bad line has in its quarantine, by the name of the file; the result is exact."""
    folder = tmp_path_factory.mktemp("lines")
    files = []
    for number, line in enumerate(BAD_LINES):
        (folder / f"{number}.csv").write_text(GOOD.replace("2,3", f"{line}\n2,3"))
        files += ["--edges", folder / f"{number}.csv"]
    code, events = run_here(
        folder,
        *[*files, "--output", folder / "out.csv", "--store", "memory:"],
        *["--quarantine", folder / "rejected.jsonl"],
    )
    assert code == 0, events
    assert (folder / "out.csv").read_text() == "vertex,value\n1,0.0\n2,1.0\n3,3.5\n"
    entries = [json.loads(line) for line in (folder / "rejected.jsonl").read_text().splitlines()]
    assert len(entries) == len(BAD_LINES)
    return {entry["source"]: entry for entry in entries}


@pytest.mark.parametrize(
    ("number", "line", "reason"), [(n, *pair) for n, pair in enumerate(BAD_LINES.items())]
)
def test_a_bad_line_of_a_file_is_quarantined_and_the_rest_is_exact(rejected, number, line, reason):
    entry = rejected[f"{number}.csv"]
    assert (entry["position"], entry["record"]) == (2, line)
    assert reason in entry["reason"]


TIMED = "src,dst,weight,time\n1,2,1.0,1700000000\n1,3,0.5,12 102509.39\n2,3,2.5,2026-01-31T12:00:00+01:00\n1,3,9.0,\n"


@pytest.mark.parametrize("columns", [[], ["--columns", "src,dst,weight,time"]])
def test_a_time_that_is_none_costs_its_record_where_times_are_checked(tmp_path, columns):
    (tmp_path / "edges.csv").write_text(TIMED)
    code, events = run_here(
        tmp_path,
        *["--edges", tmp_path / "edges.csv", *columns, "--check-times", "--output", tmp_path / "out.csv"],
        *["--store", "memory:", "--quarantine", tmp_path / "rejected.jsonl"],
    )
    assert code == 0, events
    assert (tmp_path / "out.csv").read_text() == "vertex,value\n1,0.0\n2,1.0\n3,3.5\n"
    (entry,) = [json.loads(line) for line in (tmp_path / "rejected.jsonl").read_text().splitlines()]
    assert entry == {
        "source": "edges.csv",
        "position": 3,
        "record": "1,3,0.5,12 102509.39",
        "reason": "time is neither seconds since 1970 nor ISO 8601: '12 102509.39'",
    }


def test_no_edge_is_lost_for_a_time_that_nobody_asked_for(tmp_path):
    (tmp_path / "edges.csv").write_text(TIMED)
    code, events = run_here(
        tmp_path,
        *["--edges", tmp_path / "edges.csv", "--output", tmp_path / "out.csv", "--store", "memory:"],
        *["--quarantine", tmp_path / "rejected.jsonl"],
    )
    assert code == 0, events
    assert (tmp_path / "out.csv").read_text() == "vertex,value\n1,0.0\n2,1.0\n3,0.5\n"
    assert not (tmp_path / "rejected.jsonl").exists() or (tmp_path / "rejected.jsonl").read_text() == ""


@pytest.mark.parametrize(
    "record",
    [
        '{"src": 9223372036854775808, "dst": 1}',
        '{"src": 1, "dst": -9223372036854775809}',
        '{"src": 1, "dst": 2, "weight": NaN}',
        '{"src": 1, "dst": 2, "weight": 1e400}',
        '{"src": 1, "dst": 2, "weight": -1e400, "op": "-"}',
        '{"src": 1, "dst": 2, "weight": -1}',
        '{"src": 1, "dst": 2, "wait": 1}',
        '{"src": 1}',
    ],
)
def test_a_bad_record_that_is_pushed_is_counted_and_changes_no_answer(service, record):
    response = service.push(record)
    assert response.status_code == 202, response.text
    assert (response.json()["accepted"], response.json()["rejected"]) == (0, 1)
    assert service.ask()["result"]["values"] == DISTANCES


def test_a_truncated_gzip_ends_a_run_with_an_error_that_names_it(tmp_path):
    whole = gzip.compress("".join(f"{k},{k + 1},1\n" for k in range(1, 100_000)).encode())
    (tmp_path / "cut.csv.gz").write_bytes(whole[: len(whole) // 2])
    code, events = run_here(tmp_path, "--edges", tmp_path / "cut.csv.gz", "--output", tmp_path / "out.csv")
    assert code == 1
    error = events[-1]
    assert error["event"] == "error"
    assert "cut.csv.gz" in error["message"]
    assert error["hint"]
    assert not (tmp_path / "out.csv").exists()


def test_a_base_without_its_log_and_a_log_of_another_stream_end_a_run_before_it_reads(tmp_path):
    (tmp_path / "edges.csv").write_text(GOOD)
    store, result = f"lmdb://{tmp_path}/store", tmp_path / "out.csv"
    options = ["--edges", tmp_path / "edges.csv", "--output", result, "--store", store]
    assert run_here(tmp_path, *options)[0] == 0
    result.unlink()
    with open_store(store) as opened:
        (version,) = opened.versions("sssp/log")
        page, metadata = opened.read("sssp/log", b"group", version), opened.metadata("sssp/log", version)
        opened.drop("sssp/log")
        opened.write("rails/log", version, {b"group": page}, metadata=metadata)
    for stream, said in {
        "sssp": "is not there, and was written up to",
        "rails": "is one of stream 'sssp'",
    }.items():
        code, events = run_here(tmp_path, "--stream", stream, *options)
        assert (code, [(event["event"], event["code"]) for event in events]) == (
            1,
            [("error", "store-corrupt")],
        )
        assert f"'{stream}'" in events[0]["message"] and said in events[0]["message"]
        assert events[0]["hint"]
        assert not result.exists()


def test_a_service_keeps_what_came_before_the_cut_of_a_truncated_gzip(tmp_path):
    whole = gzip.compress("".join(f"{k},{k + 1},1\n" for k in range(1, 100_000)).encode())
    (tmp_path / "cut.csv.gz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "edges.csv").write_text("1,500000,2.5\n")
    files = ["--edges", tmp_path / "cut.csv.gz", "--edges", tmp_path / "edges.csv"]
    with Service(tmp_path, *files, "--store", "memory:") as service:
        assert "cut.csv.gz" in service.wait_for("error")["message"]
        service.wait_for("input-ended")
        answer = service.ask()
        read = answer["snapshot"]["offsets"]["cut.csv.gz"]
        assert read > 1000
        found = {row["vertex"]: row["value"] for row in answer["result"]["values"]}
        assert found == {k: k - 1.0 for k in range(1, read + 2)} | {500_000: 2.5}


def test_a_port_in_use_is_an_error_before_anything_is_read(service, tmp_path):
    address = service.url.removeprefix("http://")
    (tmp_path / "edges.csv").write_text(GOOD)
    code, events = run_here(
        tmp_path, "--http", address, "--edges", tmp_path / "edges.csv", "--store", "memory:"
    )
    assert code == 1
    assert [event["event"] for event in events] == ["error"]
    assert events[0]["code"] == "port-in-use"
    assert address.rpartition(":")[2] in events[0]["message"]
    assert "--http" in events[0]["hint"]
    assert service.ask()["result"]["values"] == DISTANCES


def test_an_unknown_field_of_a_query_is_named_with_the_valid_ones(service):
    document = problem(
        service.client.post("/v1/queries", json={"loop": "sssp", "vertexes": [1]}), 422, "unknown-field"
    )
    assert document["field"] == "vertexes"
    assert "vertices" in document["valid"]
    problem(service.client.post("/v1/queries?wait=1", json={"loop": "sssp"}), 422, "unknown-field")
    problem(
        service.client.post("/v1/queries", json={"loop": "sssp", "parameters": {"origin": 1}}),
        422,
        "unknown-field",
    )


def test_an_unknown_vertex_is_listed_and_404_where_all_are_unknown(service):
    answer = service.ask(vertices=[3, 99])
    assert answer["result"] == {"values": [DISTANCES[2]], "unknown": [99], "next": None}
    path = f"/v1/queries/{service.ask(vertices=[98, 99])['id']}/result"
    assert "98" in problem(service.client.get(path), 404, "unknown-vertex")["detail"]


def test_a_vertex_beyond_int64_is_refused_in_a_question(service):
    document = problem(
        service.client.post("/v1/queries", json={"loop": "sssp", "vertices": [2**63]}),
        422,
        "invalid-argument",
    )
    assert str(2**63) in document["detail"]
    path = f"/v1/queries/{service.ask()['id']}/result"
    problem(service.client.get(path, params={"vertices": str(2**63)}), 422, "invalid-argument")
    problem(
        service.client.post("/v1/queries", json={"loop": "sssp", "parameters": {"source": 2**63}}),
        422,
        "invalid-argument",
    )


def small_files():
    """Let no file grow beyond 2 MB: what a full disk is to the store, without a disk of one's own."""
    # As Python does it at its start: the limit is then an error of the write, not the end of the process.
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, 2_000_000))


def test_a_full_disk_refuses_what_it_cannot_keep_and_loses_nothing(tmp_path):
    store = f"lmdb://{tmp_path}/store"

    def body(number):
        return "\n".join(
            f'{{"src": {k}, "dst": {k + 1}}}' for k in range(number * 5000 + 1, number * 5000 + 5001)
        )

    with Service(tmp_path, "--store", store, preexec=small_files) as service:
        kept = 0
        while (response := service.push(body(kept))).status_code == 202:
            kept += 1
            assert kept < 100
        document = problem(response, 507, "store-full")
        assert "space" in document["hint"]
        assert kept > 1
        answer = service.ask(vertices=[5000 * kept + 1, 5000 * kept + 2])
        assert (answer["state"], answer["certificate"]) == ("converged", {"kind": "exact"}), answer
        assert answer["snapshot"]["offsets"] == {"http": 5000 * kept}
        assert answer["result"]["values"] == [{"vertex": 5000 * kept + 1, "value": 5000.0 * kept}]
        assert answer["result"]["unknown"] == [5000 * kept + 2]
        service.signal(signal.SIGKILL)
    # With room again, everything that was acknowledged is there, and what was refused can be sent again.
    with Service(tmp_path, "--store", store) as service:
        assert service.ask(vertices=[2])["snapshot"]["offsets"] == {"http": 5000 * kept}
        assert service.push(body(kept)).status_code == 202
        last = 5000 * (kept + 1)
        assert service.ask(vertices=[last + 1])["result"]["values"] == [
            {"vertex": last + 1, "value": float(last)}
        ]
