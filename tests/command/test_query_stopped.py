"""`tornado query` while the service goes away in the middle of its question: said in words, exit code 1, whoever looks on."""

import json
import os
import pty
import signal
import subprocess
import sys

import pytest

from tests.promised import within
from tests.query import fake_loops
from tests.query.conftest import eventually, start_roads
from tornado.query.http import HttpServer
from tornado.query.service import QueryService


@pytest.fixture
def waiting(environment, tmp_path):
    """Starts `tornado query`, whose standard error is a terminal or a pipe, and returns it once it waits for a branch."""
    master = fake_loops.Master()
    start_roads(master)
    master.gate.clear()
    service = QueryService(master)
    server = HttpServer(service, port=0).start()
    near, far = pty.openpty()
    started = []

    def start(*arguments, terminal):
        process = subprocess.Popen(
            [sys.executable, "-m", "tornado", "query", "--url", server.url, "--vertices", "3", *arguments],
            stdout=subprocess.PIPE,
            stderr=far if terminal else subprocess.PIPE,
            cwd=tmp_path,
            env=environment | {"TERM": "xterm"},
        )
        started.append(process)
        eventually(lambda: server._stopping._waiting or process.poll() is not None)
        return process, server

    yield start, lambda: told_by(near, far)
    for process in started:
        process.kill()
        process.communicate()
    for end in (near, far):
        os.close(end)
    master.gate.set()
    server.stop()
    service.close()
    master.close()


def told_by(near, far):
    """What was written to a terminal."""
    os.write(far, b"\0")
    told = b""
    while not told.endswith(b"\0"):
        told += os.read(near, 1 << 16)
    return told[:-1]


def stops(server):
    server.stop()


def breaks(server):
    """As a service does that is killed."""
    for connection in list(server._connections._open):
        server._loop.call_soon_threadsafe(connection.let_go)


def ends_events(server):
    """As one does that stops, and still answers what comes meanwhile."""
    server._loop.call_soon_threadsafe(server._stopping.set)


@pytest.mark.parametrize("away", [stops, breaks, ends_events])
@pytest.mark.parametrize(
    ("arguments", "terminal"),
    [((), False), (("--json",), False), ((), True), (("--watch",), False), (("--watch",), True)],
)
def test_a_service_that_goes_away_meanwhile_is_said_with_exit_code_1(waiting, away, arguments, terminal):
    start, told = waiting
    process, server = start(*arguments, terminal=terminal)
    assert process.poll() is None
    away(server)
    out, err = process.communicate(timeout=within(30))
    err = (told() if terminal else err).decode()
    assert (process.returncode, out) == (1, b""), err
    assert "Traceback" not in err
    if "--json" in arguments:
        error = json.loads(err.splitlines()[-1])
        assert error["code"] == "connection-lost"
        err = error["message"] + error["hint"]
    assert server.url in err
    assert "was running" not in err
    assert any(said in err for said in ("stopped before query", "nothing answers at", "the connection to"))


@pytest.mark.parametrize("away", [None, breaks, HttpServer.stop])
def test_ctrl_c_while_it_waits_ends_it_with_130_also_where_nobody_takes_the_cancel(waiting, away):
    start, _ = waiting
    process, server = start(terminal=False)
    if away is not None:
        process.send_signal(signal.SIGSTOP)
        away(server)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGCONT)
    else:
        process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=within(30))
    assert (process.returncode, out) == (130, b""), err
    assert b"Traceback" not in err
