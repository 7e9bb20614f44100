"""Connections that neither ask nor read are let go, and what others ask is answered meanwhile."""

import asyncio
import contextlib
import errno
import socket
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

import h11
import httpx
import pytest

from tests.promised import within
from tests.query.conftest import eventually, start_roads
from tests.query.silent_clients import HEAD
from tornado.query import http
from tornado.query.http_connections import make_room_for_connections

ROOT = Path(__file__).resolve().parents[2]
JSON = b"Content-Type: application/json\r\n"


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


NEVER_ENDING = {
    "nobody reads it": (b"GET /healthz", b"Content-Length: 1000000000", b"200 OK"),
    "nobody reads its chunks": (b"GET /healthz", b"Transfer-Encoding: chunked", b"200 OK"),
    "there is nothing": (b"POST /v1/nothing", b"Content-Length: 1000", b"404 Not Found"),
    "it is too large": (b"POST /v1/queries", JSON + b"Content-Length: 1000000000", b"413 "),
    "it is of no known type": (b"POST /v1/queries", b"Content-Length: 1000", b"415 "),
}


def read_on(connection):
    """What comes until the other end ends it, or resets it."""
    connection.settimeout(30)
    told = b""
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(1 << 16):
            told += part
    return told


@pytest.mark.parametrize("why", NEVER_ENDING)
def test_a_request_that_is_answered_before_its_body_is_there_ends_its_connection(serve_with, why):
    asked, framing, answered = NEVER_ENDING[why]
    client = serve_with(head_timeout_s=0.5)
    [slow] = opened(client)
    with slow:
        slow.sendall(asked + b" HTTP/1.1\r\nHost: localhost\r\n" + framing + b"\r\n\r\n")
        told = slow.recv(1 << 16)
        assert answered in told.splitlines()[0] + b" "
        assert b"connection: close" in told.lower()
        with contextlib.suppress(ConnectionError):
            for _ in range(200):
                slow.sendall(b"1\r\nx\r\n" if b"chunked" in framing else b"x")
                time.sleep(0.01)
        eventually(lambda: not client.server._connections.open)
    assert client.get("/healthz").status_code == 200


def test_whoever_is_answered_in_the_middle_of_a_body_of_some_size_hears_the_answer(serve_with):
    client = serve_with()
    [honest] = opened(client)
    with honest:
        honest.sendall(b"POST /v1/nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3000000\r\n\r\n")
        for _ in range(30):  # without reading, as clients do
            honest.sendall(bytes(100_000))
            time.sleep(0.005)
        told = read_on(honest)
        assert told.startswith(b"HTTP/1.1 404") and told.endswith(b"}"), told


def test_what_is_sent_behind_an_answer_is_not_read_without_an_end(serve_with, monkeypatch):
    monkeypatch.setattr("tornado.query.http_connections.LINGER_S", 600.0)
    client = serve_with(head_timeout_s=600.0)
    [eager] = opened(client)
    with eager:
        eager.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10000000000\r\n\r\n")
        with pytest.raises(ConnectionError):
            eager.sendall(bytes(1 << 30))


def bodies_under_way(client):
    return sum(one.conn.their_state is h11.SEND_BODY for one in list(client.server._connections._open))


def test_bodies_under_way_make_room_where_nobody_waits_and_what_is_being_answered_does_not(serve_with, fake):
    client = serve_with(connections=4)
    fake.gate.clear()
    asked = client.post("/v1/queries", json={"loop": "roads"}).json()
    url = f"{client.server.url}/v1/queries/{asked['id']}/events"
    client.close()
    with httpx.stream("GET", url, timeout=30) as events:
        lines = events.iter_lines()
        assert next(lines) == "event: progress"
        eventually(lambda: client.server._connections.open == 1)
        sending = []
        try:
            for count in (1, 2, 3):
                sending += opened(client)
                sending[-1].sendall(
                    b"POST /v1/queries HTTP/1.1\r\nHost: localhost\r\n" + JSON + b"Content-Length: 9\r\n\r\n{"
                )
                # In this order, whatever the machine does meanwhile.
                eventually(lambda count=count: bodies_under_way(client) == count)
            assert httpx.get(f"{client.server.url}/healthz").status_code == 200
            eventually(lambda: is_closed(sending[0]))
            assert not any(map(is_closed, sending[1:]))
            fake.gate.set()
            assert any("done" in line for line in lines)
        finally:
            for connection in sending:
                connection.close()


def test_what_is_no_body_behind_an_answer_that_has_begun_breaks_it_off_without_a_traceback(
    serve_with, fake, caplog
):
    client = serve_with()
    fake.gate.clear()
    asked = client.post("/v1/queries", json={"loop": "roads"}).json()
    [strange] = opened(client)
    with strange:
        strange.sendall(f"GET /v1/queries/{asked['id']}/events HTTP/1.1\r\nHost: localhost\r\n".encode())
        strange.sendall(b"Transfer-Encoding: chunked\r\n\r\n")
        assert b"200 OK" in strange.recv(1 << 16)
        strange.sendall(b"no chunk\r\n")
        read_on(strange)
    fake.gate.set()
    assert not [record for record in caplog.records if record.exc_info]


TINY = b"1\r\nx\r\n"
CHUNKED = b" HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"


def test_chunks_of_a_byte_do_not_hold_the_event_loop(serve_with):
    client = serve_with()
    turns = []

    async def beat():
        while True:
            began_s = time.monotonic()
            await asyncio.sleep(0)
            turns.append(time.monotonic() - began_s)

    beating = asyncio.run_coroutine_threadsafe(beat(), client.server._loop)
    attacks = opened(client, 4)
    for attack in attacks:
        with attack, contextlib.suppress(ConnectionError):
            attack.sendall(b"POST /v1/queries" + CHUNKED + JSON + b"\r\n" + TINY)
            attack.sendall(TINY * 200_000)
    for _ in range(3):  # the event loop is behind what was sent now
        assert client.get("/healthz").status_code == 200
    beating.cancel()
    # A quarter of a mebibyte from each comes at once, which takes more than a second where nothing is in between.
    assert max(turns) < within(0.3), max(turns)


def test_a_body_that_is_hardly_more_than_its_framing_is_refused_with_what_to_do(serve_with):
    client = serve_with()
    [attack] = opened(client)
    with attack:
        attack.sendall(b"POST /v1/queries" + CHUNKED + JSON + b"\r\n" + TINY * 11_000)
        told = read_on(attack)
    assert told.startswith(b"HTTP/1.1 400"), told
    assert b"connection: close" in told.lower()
    assert b'"code":"chunks-too-small"' in told
    assert b"chunks with" in told and b"16 bytes each on average" in told and b"with its length" in told
    assert client.get("/healthz").status_code == 200


def test_a_line_a_chunk_and_requests_behind_one_another_are_taken_in_whole(serve_with):
    client = serve_with()
    lines = [b'{"src": %d, "dst": 2, "weight": 1.5}\n' % number for number in range(20_000)]
    told = client.post(
        "/v1/loops/roads/edges", content=iter(lines), headers={"Content-Type": "application/x-ndjson"}
    )
    assert told.status_code == 202, told.text
    assert told.json()["accepted"] == len(lines)
    [pipelining] = opened(client)
    whole = b"".join(b"%x\r\n%s\r\n" % (len(line), line) for line in lines[:2_000]) + b"0\r\n\r\n"
    head = b"POST /v1/loops/roads/edges" + CHUNKED + b"Content-Type: application/x-ndjson\r\n"
    with pipelining:
        pipelining.sendall((head + b"\r\n" + whole) * 3 + head + b"Connection: close\r\n\r\n" + whole)
        told = read_on(pipelining)
    assert told.count(b"HTTP/1.1 202 Accepted") == 4, told
    assert told.count(b'"accepted":2000') == 4, told


class FilelessSocket(socket.socket):
    """One that listens, in a process that has no file for who comes."""

    has_files = False

    def accept(self):
        if not FilelessSocket.has_files:
            raise OSError(errno.EMFILE, "Too many open files")
        return super().accept()


def test_that_there_is_no_file_for_who_comes_is_said_once_and_not_at_each_try(
    serve_with, monkeypatch, caplog
):
    def bind(*arguments):
        with bound(*arguments) as made:
            return FilelessSocket(fileno=made.detach())

    bound = http._bind
    monkeypatch.setattr(http, "_bind", bind)
    monkeypatch.setattr(FilelessSocket, "has_files", False)
    client = serve_with()
    [waiting] = opened(client)
    with waiting:
        waiting.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        time.sleep(2.5)  # the event loop tries again each second
        FilelessSocket.has_files = True
        assert b"200 OK" in waiting.recv(1 << 16)
    [said] = caplog.records
    assert "Too many open files" in said.getMessage()
    assert not said.exc_info


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
