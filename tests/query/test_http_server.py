"""The server itself: ports, restarts, addresses."""

import re
import socket
from pathlib import Path

import httpx
import pytest

from tests.ports import free_port
from tests.query.conftest import eventually, start_roads
from tornado.errors import InvalidArgument, PeerError, PortInUse
from tornado.query.http import HttpServer
from tornado.query.token_file import TokenFile


@pytest.fixture
def asked(fake, open_service):
    start_roads(fake)
    return open_service(fake)


def healthy(server):
    return httpx.get(f"{server.url}/healthz").status_code == 200


def test_port_0_takes_a_free_port_and_says_which(asked):
    with HttpServer(asked, port=0) as first, HttpServer(asked, port=0) as second:
        assert first.port != second.port
        assert healthy(first)
        assert healthy(second)


def test_a_port_in_use_is_an_error_that_names_it_and_says_what_to_do(asked):
    with HttpServer(asked, port=0) as server:
        second = HttpServer(asked, port=server.port)
        with pytest.raises(
            PortInUse, match=rf"port {server.port} on 127.0.0.1 is in use.*--http 127.0.0.1:0"
        ):
            second.start()
        second.stop()
        assert healthy(server)


def test_a_port_held_by_another_program_is_in_use_too(asked):
    with socket.create_server(("127.0.0.1", 0)) as other, pytest.raises(PortInUse):
        HttpServer(asked, port=other.getsockname()[1]).start()


def test_a_server_can_be_stopped_and_started_again_on_its_port(asked):
    port = free_port()
    server = HttpServer(asked, port=port).start()
    for _ in range(3):
        with httpx.Client() as client:
            assert client.get(f"{server.url}/healthz").status_code == 200
            server.stop()
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"http://127.0.0.1:{port}/healthz")
        server = HttpServer(asked, port=port).start()
        assert server.port == port
    server.stop()
    server.stop()
    again = server.start()
    assert healthy(again)
    server.stop()


def test_a_server_that_runs_refuses_to_start_twice(asked):
    with HttpServer(asked, port=0) as server, pytest.raises(InvalidArgument, match="runs already"):
        server.start()


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_an_address_that_others_can_reach_needs_tokens(asked, host):
    with pytest.raises(InvalidArgument, match=r"reached from other machines.*--tokens"):
        HttpServer(asked, host, 0).start()
    if host == "0.0.0.0":
        with HttpServer(asked, host, 0, tokens=TokenFile.of("read t0ken")) as server:
            assert httpx.get(f"http://127.0.0.1:{server.port}/healthz").status_code == 200


def test_an_address_of_nobody_is_refused(asked):
    with pytest.raises((PeerError, InvalidArgument), match=re.escape("203.0.113.7")):
        HttpServer(asked, "203.0.113.7", 0).start()
    with pytest.raises(InvalidArgument, match="no address"):
        HttpServer(asked, "no such host", 0).start()
    with pytest.raises(InvalidArgument, match="port is 70000"):
        HttpServer(asked, port=70_000)


def test_queries_outlive_a_restart_of_the_server(asked):
    with HttpServer(asked, port=0) as server:
        query = httpx.post(
            f"{server.url}/v1/queries?wait_s=20", json={"loop": "roads", "vertices": [3]}
        ).json()
    with HttpServer(asked, port=0) as server:
        assert httpx.get(f"{server.url}/v1/queries/{query['id']}/result").json()["values"][0]["value"] == 3.0


def test_ipv6_loopback_has_brackets_in_its_url(asked):
    if not socket.has_ipv6 or not Path("/proc/net/if_inet6").exists():
        pytest.skip("no IPv6 here")
    server = HttpServer(asked, "::1", 0).start()
    try:
        assert server.url.startswith("http://[::1]:")
        assert healthy(server)
    finally:
        server.stop()


def test_counts_go_on_after_a_restart_of_the_server(asked):
    server = HttpServer(asked, port=0)
    for turn in (1, 2):
        with server:
            httpx.post(f"{server.url}/v1/queries?wait_s=20", json={"loop": "roads", "vertices": [3]})
            wanted = f'tornado_query_latency_seconds_count{{loop="roads",state="converged"}} {turn}.0'
            # The answer goes out first, and is counted then.
            eventually(lambda: wanted in httpx.get(f"{server.url}/metrics").text)  # noqa: B023  called in this turn


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:80", "127.0.0.1", "127.0.0.1:9", "[::1]:5", "localhost."]
)
def test_a_server_on_loopback_answers_to_the_names_of_loopback(asked, host):
    with HttpServer(asked, port=0) as server:
        assert httpx.get(f"{server.url}/healthz", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "[::2]", "localhost@x", ""]
)
def test_a_server_on_loopback_refuses_a_name_that_was_made_to_point_at_it(asked, host):
    with HttpServer(asked, port=0) as server:
        for path in ("/v1/loops", "/docs", "/nowhere"):
            response = httpx.get(server.url + path, headers={"Host": host})
            assert response.status_code == 403
            assert response.headers["content-type"] == "application/problem+json"
            assert response.json()["code"] == "unknown-host"


def test_a_server_answers_to_the_name_it_was_bound_by_and_an_open_one_to_any(asked):
    with HttpServer(asked, "127.0.0.2", port=0) as server:
        assert healthy(server)
    with HttpServer(asked, "0.0.0.0", port=0, tokens=TokenFile.of("read t0ken")) as server:
        url = f"http://127.0.0.1:{server.port}/healthz"
        assert httpx.get(url, headers={"Host": "roads.example"}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "http://localhost:1"},  # another port of this machine
        {"Origin": "null"},
        {"Origin": "http://[broken"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_a_change_that_a_page_of_somebody_else_sends_is_refused(asked, headers):
    with HttpServer(asked, port=0) as server:
        for method, path in (("POST", "/v1/queries"), ("DELETE", "/v1/loops/roads"), ("POST", "/v1/tickets")):
            response = httpx.request(method, server.url + path, headers=headers)
            assert (response.status_code, response.json()["code"]) == (403, "cross-site")
        # What a browser may send without asking us has another type than ours.
        form = {"content-type": "text/plain"}
        plain = httpx.post(f"{server.url}/v1/queries", content=b'{"loop": "roads"}', headers=form)
        assert plain.status_code == 415
        assert (
            "access-control-allow-origin" not in httpx.get(f"{server.url}/v1/loops", headers=headers).headers
        )


def test_a_change_that_our_own_page_sends_is_taken(asked):
    with HttpServer(asked, port=0) as server:
        headers = {"Origin": server.url, "Sec-Fetch-Site": "same-origin"}
        asked_for = httpx.post(f"{server.url}/v1/queries", json={"loop": "roads"}, headers=headers)
        assert asked_for.status_code == 202


@pytest.mark.parametrize("chunked_first", [True, False])
@pytest.mark.parametrize("path", ["/healthz", "/v1/queries", "/nowhere"])
def test_a_request_that_says_in_two_ways_where_it_ends_is_refused_and_nothing_behind_it_is_answered(
    asked, path, chunked_first
):
    """A proxy that goes by Content-Length takes what stands behind the last chunk for a part of this request."""
    behind = b"GET /v1/loops HTTP/1.1\r\nHost: localhost\r\n\r\n"
    body = b"0\r\n\r\n" + behind
    lengths = [b"Transfer-Encoding: chunked", b"Content-Length: %d" % len(body)]
    head = [b"POST " + path.encode() + b" HTTP/1.1", b"Host: localhost"]
    head += lengths if chunked_first else lengths[::-1]
    with (
        HttpServer(asked, port=0) as server,
        socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection,
    ):
        connection.sendall(b"\r\n".join(head) + b"\r\n\r\n" + body)
        told = b""
        while some := connection.recv(1 << 16):  # until it is closed
            told += some
        assert told.count(b"HTTP/1.1 ") == 1
        assert told.startswith(b"HTTP/1.1 400 ")
        assert b"connection: close" in told.lower()
        assert b'"code":"two-lengths"' in told
        assert healthy(server)
