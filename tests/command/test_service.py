"""`tornado run … --http` and the commands that talk to it, each a process of its own."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time

import httpx
import pytest

from tests.look import look

_EDGES = "1,2,1.0\n2,3,2.5\n1,3,9.0\n4,5,1.0\n"


class Service:
    """A running `tornado run sssp --http`, with its standard error read line by line."""

    def __init__(self, environment, folder, *arguments, stdin=None):
        self.process = subprocess.Popen(
            [
                *[sys.executable, "-m", "tornado", "run", "sssp", "--source", "1", "--workers", "2"],
                *["--http", "127.0.0.1:0", *arguments],
            ],
            stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            env=environment,
        )
        if stdin is not None:
            self.process.stdin.write(stdin)
            self.process.stdin.flush()
        self.ready = self.wait_for("ready")
        self.url = self.ready["url"]

    def wait_for(self, event):
        for line in self.process.stderr:
            document = json.loads(line)
            if document["event"] == event:
                return document
        raise AssertionError(f"ended with {self.process.wait()} before the event {event!r}")

    def wait_until_in(self, count):
        for _ in range(2400):
            loop = look(httpx.get, f"{self.url}/v1/loops/sssp").json()
            if sum(loop["offsets"].values()) >= count:
                return
            time.sleep(0.05)
        raise AssertionError(f"only {loop['offsets']} are in")

    def end(self, number=signal.SIGINT):
        if self.process.poll() is None:
            self.process.send_signal(number)
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err


@pytest.fixture
def serve(environment, tmp_path):
    started = []

    def start(*arguments, **options):
        started.append(Service(environment, tmp_path, *arguments, **options))
        return started[-1]

    yield start
    for service in started:
        if service.process.poll() is None:
            service.process.kill()
        service.process.communicate()


@pytest.fixture(scope="module")
def shared_service(shared_folder, shared_environment):
    """For tests that only ask: they cannot disturb each other."""
    (shared_folder / "edges.csv").write_text(_EDGES)
    running = Service(shared_environment, shared_folder, "--edges", "edges.csv", "--store", "memory:")
    running.wait_for("input-ended")
    yield running
    running.end()


@pytest.fixture
def service(serve, tmp_path):
    (tmp_path / "edges.csv").write_text(_EDGES)
    running = serve("--edges", "edges.csv", "--store", "memory:")
    running.wait_for("input-ended")
    return running


def test_the_ready_line_has_the_real_address_and_the_service_stays_up_when_the_files_end(shared_service):
    assert shared_service.ready["port"] > 0
    assert shared_service.url == f"http://127.0.0.1:{shared_service.ready['port']}"
    assert httpx.get(f"{shared_service.url}/readyz", trust_env=False).status_code == 200
    assert shared_service.process.poll() is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_cleanly_with_130_and_frees_the_port(service, number):
    port = service.ready["port"]
    code, out, err = service.end(number)
    assert (code, out) == (130, "")
    assert "Traceback" not in err
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


def test_a_query_prints_csv_with_empty_values_for_the_unreachable(shared_service, tornado):
    done = tornado("query", "sssp", "--url", shared_service.url, "--vertices", "3,5,2")
    assert done.code == 0
    assert done.out == "vertex,value\n3,3.5\n5,\n2,1.0\n"
    assert "exact for edges.csv: 4" in done.err


def test_where_one_loop_runs_its_name_can_be_left_out_and_the_url_comes_from_the_environment(
    shared_service, tornado
):
    done = tornado("query", "--top", "2", TORNADO_URL=shared_service.url)
    assert (done.code, done.out) == (0, "vertex,value\n1,0.0\n2,1.0\n")


def test_ids_of_64_bits_keep_their_digits_on_the_way_through(serve, tornado, tmp_path):
    least, greatest, odd = -(2**63), 2**63 - 1, 2**53 + 1
    (tmp_path / "edges.csv").write_text(f"1,{odd},1.0\n{odd},{least},2.0\n{least},{greatest},3.0\n")
    running = serve("--edges", "edges.csv", "--store", "memory:")
    running.wait_for("input-ended")
    asked = ["query", "--vertices", f"{greatest},{least},{odd}", "--url", running.url]
    done = tornado(*asked)
    assert (done.code, done.out) == (0, f"vertex,value\n{greatest},6.0\n{least},3.0\n{odd},1.0\n")
    rows = json.loads(tornado(*asked, "--json").out)["result"]["values"]
    assert [row["vertex"] for row in rows] == [greatest, least, odd]
    done = tornado(
        *["run", "sssp", "--source", str(least), "--store", "memory:", "--edges", "edges.csv"],
        *["--output", "-"],
    )
    assert done.out.splitlines() == ["vertex,value", f"{least},0.0", "1,", f"{odd},", f"{greatest},3.0"]


def test_the_json_form_is_the_query_as_the_interface_gives_it_with_its_result(shared_service, tornado):
    done = tornado("query", "--vertices", "3,99", "--json", "--url", shared_service.url)
    assert done.code == 0
    document = json.loads(done.out)
    assert document["state"] == "converged"
    assert document["certificate"] == {"kind": "exact"}
    assert document["snapshot"]["offsets"] == {"edges.csv": 4}
    assert document["result"]["values"] == [{"vertex": 3, "value": 3.5}]
    assert document["result"]["unknown"] == [99]


def test_an_approximate_query_answers_from_the_main_loop(shared_service, tornado):
    done = tornado("query", "--mode", "approximate", "--vertices", "1", "--url", shared_service.url)
    assert (done.code, done.out) == (0, "vertex,value\n1,0.0\n")
    assert "not exact for edges.csv: 4" in done.err
    done = tornado("query", "--mode", "approximate", "--json", "--url", shared_service.url)
    assert json.loads(done.out)["certificate"] == {"kind": "none"}


def test_watch_asks_again_and_shows_the_end_of_each(shared_service, tornado):
    done = tornado(
        *["query", "--watch", "--times", "3", "--interval-s", "0.01", "--vertices", "3", "--json"],
        *["--url", shared_service.url],
    )
    assert done.code == 0
    assert [json.loads(line)["result"]["values"][0]["value"] for line in done.out.splitlines()] == [3.5] * 3
    assert [json.loads(line)["event"] for line in done.err.splitlines()].count("done") == 3


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["query", "nope"], 1, "there is no loop 'nope'"),
        (["query", "--vertices", "99"], 1, "never seen in the input: 99"),
        (["query", "--vertices", "x"], 2, "whole numbers"),
        (["query", "--at", "123456"], 2, "123456"),
        (["query", "--mode", "certified"], 2, "Ask with mode exact, or with mode approximate"),
        (["cancel", "no-such-id"], 1, "no-such-id"),
        (["ls", "--url", "ftp://x"], 2, "not the address of a service"),
    ],
)
def test_questions_that_cannot_be_answered_say_why(shared_service, tornado, arguments, code, said):
    done = tornado(*arguments, TORNADO_URL=shared_service.url)
    assert (done.code, done.out) == (code, "")
    assert said in done.err


def test_ls_lists_loops_sources_and_queries_and_cancel_forgets_one(service, tornado):
    asked = json.loads(tornado("query", "--json", "--url", service.url).out)["id"]
    listed = tornado("ls", "--url", service.url)
    assert listed.code == 0
    for part in ("sssp", "edges.csv", asked, "converged"):
        assert part in listed.out
    # What is piped is whole, however narrow the terminal is that it was typed into.
    assert tornado("ls", "--url", service.url, COLUMNS="20").out == listed.out
    assert tornado("cancel", asked, "--url", service.url).code == 0
    document = json.loads(tornado("ls", "--json", "--url", service.url).out)
    assert document["queries"] == []
    assert document["loops"][0]["offsets"] == {"edges.csv": 4}


def test_edges_that_are_pushed_are_in_the_next_answer(service, tornado):
    lines = '{"src": 3, "dst": 5, "weight": 0.25}\n{"src": 1, "dst": "x"}\n'
    pushed = httpx.post(
        f"{service.url}/v1/loops/sssp/edges",
        content=lines,
        headers={"content-type": "application/x-ndjson"},
        trust_env=False,
    )
    assert (pushed.status_code, pushed.json()["rejected"]) == (202, 1)
    assert tornado("query", "--vertices", "5", "--url", service.url).out == "vertex,value\n5,3.75\n"


def test_a_port_in_use_is_an_error_that_says_what_to_do(shared_service, tornado):
    address = shared_service.url.removeprefix("http://")
    done = tornado("run", "sssp", "--source", "1", "--http", address, "--store", "memory:", "--json")
    assert (done.code, done.out) == (1, "")
    error = json.loads(done.err.splitlines()[-1])
    assert error["code"] == "port-in-use"
    assert "--http" in error["hint"]


def test_standard_input_is_served_while_it_is_still_open(serve, tornado):
    running = serve("--edges", "-", "--store", "memory:", stdin=_EDGES)
    running.wait_until_in(4)
    assert tornado("query", "--vertices", "3", "--url", running.url).out == "vertex,value\n3,3.5\n"
    running.process.stdin.write("3,6,1\n")
    running.process.stdin.flush()
    running.wait_until_in(5)
    assert tornado("query", "--vertices", "6", "--url", running.url).out == "vertex,value\n6,4.5\n"
    assert running.end()[0] == 130


def test_an_interrupt_while_waiting_for_input_writes_no_result(environment, tmp_path):
    process = subprocess.Popen(
        [
            *[sys.executable, "-m", "tornado", "run", "sssp", "--source", "1", "--store", "memory:"],
            *["--edges", "-", "--output", "out.csv"],
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=environment,
    )
    process.stdin.write(_EDGES)
    process.stdin.flush()
    assert json.loads(process.stderr.readline())["event"] == "progress"
    process.send_signal(signal.SIGINT)
    # Its standard input stays open: the reader must not be what the end waits for.
    process.wait(timeout=60)
    assert process.returncode == 130
    assert not (tmp_path / "out.csv").exists()
    process.communicate()


def test_a_source_that_fails_is_reported_and_the_service_answers_on(serve, tmp_path, tornado):
    (tmp_path / "first.csv").write_text(_EDGES)
    (tmp_path / "cut.csv.gz").write_bytes(b"\x1f\x8b\x08\x00 this is no gzip")
    running = serve("--edges", "first.csv", "--edges", "cut.csv.gz", "--store", "memory:")
    assert "cut.csv.gz" in running.wait_for("error")["message"]
    assert tornado("query", "--vertices", "3", "--url", running.url).out == "vertex,value\n3,3.5\n"


def test_two_runs_with_the_default_store_are_not_in_each_others_way(serve, tmp_path):
    first, second = serve(), serve()
    assert first.url != second.url
    assert first.end()[0] == second.end()[0] == 130
