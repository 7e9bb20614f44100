"""Connections that neither ask nor read are let go, and what others ask is answered meanwhile."""

import contextlib
import resource
import socket
import statistics
import threading
import time

import httpx
import pytest

from tests.promised import within
from tests.query.conftest import eventually, start_roads
from tornado.query.http_connections import make_room_for_connections

HEAD = b"GET /v1/loops HTTP/1.1\r\nHost: localhost\r\nX-Slow: "


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
    assert client.get("/healthz").status_code == 200


def test_neither_is_a_second_one_on_a_connection_that_was_answered(serve_with):
    client = serve_with(head_timeout_s=0.3)
    [slow] = opened(client)
    with slow:
        slow.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"200 OK" in slow.recv(1 << 16)
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
    fake.gate.clear()
    threading.Timer(0.8, fake.gate.set).start()
    assert client.post("/v1/queries?wait_s=20", json={"loop": "roads"}).json()["state"] == "converged"


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
    client = serve_with(connections=10)
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
def dawdling(client, count, *, every_s=1.0):
    """So many clients that each send a byte every so often, from one thread; one that is let go comes again."""
    stop, came = threading.Event(), threading.Event()
    again = 0

    def run():
        nonlocal again
        clients = []
        while not stop.is_set():
            while len(clients) < count:
                clients.append(opened(client)[0])
                clients[-1].sendall(HEAD)
            came.set()
            for place, one in enumerate(clients):
                try:
                    one.send(b"x")
                except OSError:
                    again += 1
                    one.close()
                    clients[place] = opened(client)[0]
                    clients[place].sendall(HEAD)
                if stop.wait(every_s / count):
                    break
        for one in clients:
            one.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert came.wait(120)
        yield lambda: again
    finally:
        stop.set()
        thread.join()


def test_clients_that_send_a_byte_a_second_keep_nobody_from_being_answered(serve_with):
    client = serve_with(head_timeout_s=0.5)
    with dawdling(client, 100, every_s=0.2) as came_again:
        found = latencies(client, 50)
        eventually(came_again)
    assert all(seconds < within(1.0) for seconds in found.values()), found


@pytest.mark.soak
@pytest.mark.parametrize(("count", "are_slow"), [(1_000, True), (10_000, False)])
def test_many_connections_at_most_double_what_others_wait(serve_with, count, are_slow):
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    make_room_for_connections()
    # Both ends of each are in this process.
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < 2 * count + 1_000:
        pytest.skip(f"{before[1]} files are too few for {count} connections")
    client = serve_with()
    latencies(client, 200)
    alone = latencies(client, 1_000)
    if are_slow:
        with dawdling(client, count):
            beside = latencies(client, 1_000)
    else:
        idle = opened(client, count)
        eventually(lambda: client.server._connections.open >= count)
        beside = latencies(client, 1_000)
        for one in idle:
            one.close()
    print(f"{count} connections, slow: {are_slow}: p99 alone {alone}, beside {beside}")
    for name, seconds in beside.items():
        assert seconds < 2 * alone[name] + 0.002, (alone, beside)
