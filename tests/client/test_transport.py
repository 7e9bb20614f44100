"""What a client says of an address that it cannot trust or speak with, or where somebody hangs."""

import asyncio
import contextlib
import http.server
import socket
import threading
import time

import pytest
import trustme

from tornado.client import OutcomeUnknown, Unreachable, connect, connect_async, steps, transport
from tornado.command.client import translated
from tornado.command.service_checks import check_service
from tornado.query.server_certificate import ServerCertificate

AUTHORITY = trustme.CA()


@pytest.fixture(scope="module")
def secured(running, tmp_path_factory):
    """The port of a service whose certificate is for 127.0.0.1 alone, and the file of its authority."""
    folder = tmp_path_factory.mktemp("tls")
    issued = AUTHORITY.issue_cert("127.0.0.1")
    issued.private_key_pem.write_to_path(str(folder / "key"))
    (folder / "certificate").write_bytes(b"".join(one.bytes() for one in issued.cert_chain_pems))
    AUTHORITY.cert_pem.write_to_path(str(folder / "authority"))
    server = running.session.serve(certificate=ServerCertificate(folder / "certificate", folder / "key"))
    return server.port, str(folder / "authority")


def said_of(url, verify):
    """Return the error of both faces and both kinds of calls, which is the same."""

    async def waited():
        async with connect_async(url, verify=verify) as service:
            await service.loops()

    with connect(url, verify=verify) as service:
        said = set()
        for ask in (
            service.loops,
            lambda: service.stream("roads").insert([1], [2]),
            lambda: next(service.loop("sssp").follow()),
            lambda: asyncio.run(waited()),
        ):
            with pytest.raises(Unreachable) as raised:
                ask()
            assert type(raised.value) is Unreachable  # an OutcomeUnknown would say that something was sent
            said.add((raised.value.message, raised.value.hint))
    ((message, hint),) = said
    assert str(translated(raised.value)) == str(raised.value)  # the command line says the same
    return message, hint


def test_a_certificate_that_is_not_trusted_is_said_with_why_and_what_helps(secured):
    port, authority = secured
    with connect(f"https://127.0.0.1:{port}", verify=authority) as service:
        assert "sssp" in [loop.name for loop in service.loops()]
    message, hint = said_of(f"https://127.0.0.1:{port}", verify=True)
    assert message.startswith(f"the certificate of https://127.0.0.1:{port} is not trusted: ")
    assert message.endswith(("local issuer certificate", "self-signed certificate in certificate chain"))
    assert "SSL_CERT_FILE=FILE" in hint
    message, hint = said_of(f"https://localhost:{port}", verify=authority)
    assert message.endswith("Hostname mismatch, certificate is not valid for 'localhost'.")
    assert "by a name that it is for" in hint


def test_https_to_a_service_without_a_certificate_says_that_it_speaks_no_tls(running):
    url = running.url.replace("http:", "https:")
    message, hint = said_of(url, verify=True)
    assert message.startswith(f"{url} does not speak TLS: [SSL")
    assert hint.startswith("Ask http:// in place of https://")


class Hanging(http.server.BaseHTTPRequestHandler):
    """Says that it has a loop, begins to answer who follows it, and hangs when it has told an event."""

    def do_GET(self):
        if not self.path.endswith("/events"):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"name": "roads"}')
            return
        self.server.asked += 1
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        self.wfile.write(b'event: answer\ndata: {"version": 1, "snapshot": {}, "certificate": {}}\n\n')
        self.server.over.wait()

    def log_message(self, *_):
        pass


@pytest.fixture
def hanging():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hanging) as server:
        server.asked, server.over = 0, threading.Event()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.over.set()
        server.shutdown()


def test_a_stream_on_which_nothing_comes_any_more_is_asked_for_again_and_ends_with_an_error(
    hanging, monkeypatch
):
    for module in (steps, transport):
        monkeypatch.setattr(module, "SILENCE_S", 1.0)
    url = f"http://127.0.0.1:{hanging.server_port}"

    async def waited():
        async with connect_async(url, patience_s=0) as service:
            async for _ in service.loop("roads").follow():
                pass

    with connect(url, patience_s=0) as service:
        for follow in (lambda: list(service.loop("roads").follow()), lambda: asyncio.run(waited())):
            with pytest.raises(Unreachable, match=r"nothing came .* for 1 s"):
                follow()
    assert hanging.asked == 2
    with connect(url, patience_s=0.15) as service:
        changes = service.loop("roads").follow()
        asked = hanging.asked
        assert next(changes).version == 1
        with pytest.raises(Unreachable):
            next(changes)
    assert hanging.asked > asked + 1


def test_http_to_a_service_that_speaks_tls_says_so_and_nobody_takes_it_for_a_push_that_may_be_in(
    secured,
):
    port, _ = secured
    began_s = time.monotonic()
    message, hint = said_of(f"http://127.0.0.1:{port}", verify=True)
    assert time.monotonic() - began_s < 20  # the patience of each is 30 s
    assert message == f"http://127.0.0.1:{port} speaks TLS, so a request without it is cut off"
    assert hint == "Ask https:// in place of http://."
    assert "https:// in place of http://" in list(check_service(f"http://127.0.0.1:{port}"))[-1].remedy


@pytest.mark.parametrize("reply", [b"", b"HTTP/1.1 2"])
def test_a_connection_that_breaks_for_another_reason_is_not_said_to_speak_tls_and_no_token_is_shown(reply):
    seen = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer():
            with contextlib.suppress(OSError):  # in the end the listener is closed
                while True:
                    connection, _ = listener.accept()
                    with connection:
                        seen.append(connection.recv(1 << 16))
                        connection.sendall(reply)

        threading.Thread(target=answer, daemon=True).start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with (
            connect(url, token="t0ken", patience_s=0) as service,
            pytest.raises(Unreachable, match="broke") as raised,
        ):
            service.loops()
        assert "TLS" not in str(raised.value)
        with (
            connect(url, token="t0ken", patience_s=0) as service,
            pytest.raises(OutcomeUnknown, match="may have been done or not"),
        ):
            service.stream("roads").insert([1], [2])
    asked = [one for one in seen if one.startswith((b"GET", b"POST"))]
    assert len(asked) == 2 and all(b"t0ken" in one for one in asked)
    handshakes = [one for one in seen if one not in asked]
    assert len(handshakes) == 2 and not any(b"t0ken" in one for one in handshakes)


@pytest.fixture
def held():
    """The address of a service that takes pushes, and answers nothing else before it is over."""
    over = threading.Event()

    class Held(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            over.wait()

        def do_POST(self):
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(202)
            self.end_headers()
            self.wfile.write(b'{"accepted": 1, "rejected": 0, "offsets": {"http": 1}}')

        def log_message(self, *_):
            pass

    class Server(http.server.ThreadingHTTPServer):
        request_queue_size = 256

    with Server(("127.0.0.1", 0), Held) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        over.set()
        server.shutdown()


def test_questions_that_wait_leave_a_push_its_place(held):
    async def run():
        async with connect_async(held) as service:
            asked = [asyncio.create_task(service.loops()) for _ in range(120)]
            await asyncio.sleep(0.5)  # all of them have been sent
            async with asyncio.timeout(20):
                outcome = await service.stream("roads").insert([1], [2])
            assert not any(task.done() for task in asked)
            for task in asked:
                task.cancel()
            return outcome

    assert asyncio.run(run()).accepted == 1
