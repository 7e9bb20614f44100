"""Connections that neither ask nor read are let go, and what others ask is answered meanwhile."""

import contextlib
import socket
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest

from tests.promised import within
from tests.query.conftest import eventually, start_roads
from tests.query.silent_clients import HEAD
from tornado.query.http_connections import make_room_for_connections

ROOT = Path(__file__).resolve().parents[2]


LONG_S = 600
TRIES = 3  # noise of a machine comes and goes, what silent clients cost does not


@pytest.fixture
def serve_with(fake, open_service, serve):
    start_roads(fake)
    return lambda **limits: serve(open_service(fake), **limits)


def opened(client, count=1):
    return [socket.create_connection(("127.0.0.1", client.server.port), timeout=30) for _ in range(count)]


def is_closed(connection):
    connection.setblocking(False)
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


@pytest.mark.parametrize("sent", [b"", b"G", HEAD])
def test_a_head_that_does_not_come_is_not_waited_for(serve_with, sent):
    client = serve_with(head_timeout_s=0.3)
    [slow] = opened(client)
    with slow:
        slow.sendall(sent)
        eventually(lambda: is_closed(slow))
    client.server._connections.head_s = LONG_S
    assert client.get("/healthz").status_code == 200


def test_neither_is_a_second_one_on_a_connection_that_was_answered(serve_with):
    client = serve_with()
    [slow] = opened(client)
    with slow:
        slow.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"200 OK" in slow.recv(1 << 16)
        client.server._connections.head_s = 0.3
        slow.sendall(HEAD)
        eventually(lambda: is_closed(slow))


def test_a_byte_now_and_then_gives_no_more_time(serve_with):
    client = serve_with(head_timeout_s=0.5)
    [slow] = opened(client)
    began_s = time.monotonic()
    with slow, contextlib.suppress(ConnectionError):
        slow.sendall(HEAD)
        while time.monotonic() - began_s < within(20) and not is_closed(slow):
            slow.setblocking(True)
            slow.sendall(b"x")
            time.sleep(0.05)
    assert time.monotonic() - began_s < within(20)


def test_whoever_waits_for_an_answer_or_for_events_is_not_let_go(serve_with, fake):
    client = serve_with(head_timeout_s=0.2, unread_timeout_s=0.2)

    def answered():
        fake.gate.clear()
        threading.Timer(0.8, fake.gate.set).start()
        try:
            return client.post("/v1/queries?wait_s=60", json={"loop": "roads"}).json()["state"]
        except httpx.TransportError as error:  # its head itself may come late
            return str(error)

    assert any(answered() == "converged" for _ in range(TRIES))


def test_an_answer_that_nobody_reads_is_not_kept(serve_with):
    client = serve_with(unread_timeout_s=0.3)
    with socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.connect(("127.0.0.1", client.server.port))
        # Answers one after another, until those that wait to be read fill all that the system has for them.
        with contextlib.suppress(ConnectionError, BlockingIOError):
            for _ in range(2_000):
                slow.setblocking(False)
                slow.send(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n")
                time.sleep(0.001)
        eventually(lambda: not client.server._connections.open or _broken(slow))
    assert client.get("/healthz").status_code == 200


def _broken(connection):
    connection.setblocking(False)
    try:
        connection.send(b"x")
    except BlockingIOError:
        return False
    except ConnectionError:
        return True
    return False


def test_who_has_waited_longest_makes_room_for_one_more_and_who_asks_does_not(serve_with, fake):
    client = serve_with(connections=10, head_timeout_s=LONG_S)
    fake.gate.clear()
    asked = client.post("/v1/queries", json={"loop": "roads"}).json()
    url = f"{client.server.url}/v1/queries/{asked['id']}/events"
    with httpx.stream("GET", url, timeout=30) as events:
        lines = events.iter_lines()
        assert next(lines) == "event: progress"
        idle = opened(client, 30)
        try:
            assert httpx.get(f"{client.server.url}/healthz").status_code == 200
            eventually(lambda: sum(map(is_closed, idle)) >= 20)
            assert not is_closed(idle[-1])
            fake.gate.set()
            assert any("done" in line for line in lines)
        finally:
            for connection in idle:
                connection.close()


def latencies(client, count):
    """Of health and of questions, in seconds."""
    found = {"health": [], "question": []}
    for _ in range(count):
        for name, ask in (
            ("health", lambda: client.get("/healthz")),
            (
                "question",
                lambda: client.post("/v1/queries?wait_s=20", json={"loop": "roads", "vertices": [3]}),
            ),
        ):
            began_s = time.perf_counter()
            assert ask().status_code == 200
            found[name].append(time.perf_counter() - began_s)
    return {name: statistics.quantiles(times, n=100)[98] for name, times in found.items()}


@contextlib.contextmanager
def silent(client, count, *, every_s):
    """So many clients that each send a byte every so often, or nothing; yields what says how they fare."""
    command = [sys.executable, "-m", "tests.query.silent_clients", client.server.port, count, every_s]
    with subprocess.Popen(
        list(map(str, command)), cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "ready\n"
        yield process.stdout.readline
        assert process.poll() is None
        process.stdin.close()
        assert process.wait(60) == 0


def test_clients_that_send_a_byte_a_second_keep_nobody_from_being_answered(serve_with):
    client = serve_with()
    assert client.get("/healthz").status_code == 200
    client.server._connections.head_s = 0.5
    found = []
    with silent(client, 100, every_s=0.2) as said:
        while len(found) < TRIES and not (found and found[-1] < within(1.0)):
            found.append(max(latencies(client, 50).values()))
        assert said() == "again\n"
    assert found[-1] < within(1.0), found


@pytest.mark.soak
@pytest.mark.parametrize(("count", "every_s"), [(1_000, 1), (10_000, 0)])
def test_many_connections_at_most_double_what_others_wait(serve_with, count, every_s):
    make_room_for_connections()
    client = serve_with()
    latencies(client, 200)
    alone, beside = [], []
    # By turns: what a machine does meanwhile is in both.
    for _ in range(5):
        alone.append(latencies(client, 1_000))
        with silent(client, count, every_s=every_s):
            # Connected is what the system has; the server comes to them one after another.
            eventually(lambda: client.server._connections.open >= count)
            beside.append(latencies(client, 1_000))
            assert client.server._connections.open > 0.9 * count
    for name in ("health", "question"):
        times = [[round(1e3 * found[name], 1) for found in turns] for turns in (alone, beside)]
        print(f"{count} connections, a byte each {every_s} s: p99 of {name} in ms, alone and beside: {times}")
        assert statistics.median(times[1]) < 2 * statistics.median(times[0]), (name, times)
