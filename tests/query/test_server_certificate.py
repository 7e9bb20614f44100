"""TLS with a certificate of the user: what a client would refuse is refused at the start, and what took its place is read again."""

import contextlib
import datetime as dt
import socket
import ssl
import time

import httpx
import pytest
import trustme

from tests.query.conftest import eventually, start_roads
from tornado.errors import InvalidArgument
from tornado.query.http import HttpServer
from tornado.query.http_requests import HttpLimits
from tornado.query.server_certificate import ServerCertificate

AUTHORITY = trustme.CA()
NOW = dt.datetime.now(dt.UTC)
DAY = dt.timedelta(days=1)


def write(folder, issued):
    certificate, key = folder / "service.pem", folder / "service.key"
    certificate.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
    issued.private_key_pem.write_to_path(str(key))
    return ServerCertificate(certificate, key)


@pytest.fixture
def issued():
    return AUTHORITY.issue_cert("127.0.0.1", not_after=NOW + 30 * DAY)


@pytest.fixture
def trusting():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # the default one is shared by all tests
    AUTHORITY.configure_trust(context)
    return context


def test_until_when_it_holds_is_found_without_trusting_who_issued_it(tmp_path, issued):
    until = write(tmp_path, issued).check()
    assert abs(until - (NOW + 30 * DAY)) < dt.timedelta(seconds=2)


@pytest.mark.parametrize(("begins", "ends", "said"), [(-9, -1, "has run out"), (1, 9, "does not hold yet")])
def test_one_that_does_not_hold_now_is_refused(tmp_path, begins, ends, said):
    issued = AUTHORITY.issue_cert("127.0.0.1", not_before=NOW + begins * DAY, not_after=NOW + ends * DAY)
    with pytest.raises(InvalidArgument, match=rf"--tls-certificate .*service.pem {said}"):
        write(tmp_path, issued).check()


def test_files_that_are_no_certificate_with_its_key_are_refused_with_their_options(tmp_path, issued):
    good = write(tmp_path, issued)
    other = tmp_path / "other.key"
    AUTHORITY.issue_cert("127.0.0.1").private_key_pem.write_to_path(str(other))
    garbage = tmp_path / "garbage"
    garbage.write_bytes(b"\0\1garbage")
    for certificate, key, said in (
        (good.certificate, other, "key values mismatch"),
        (garbage, good.key, "no certificate with its key"),
        (good.certificate, garbage, "no certificate with its key"),
        (tmp_path / "none", good.key, r"--tls-certificate .*none cannot be read: No such file"),
        (good.certificate, tmp_path, r"--tls-key .* cannot be read: Is a directory"),
    ):
        with pytest.raises(InvalidArgument, match=said):
            ServerCertificate(certificate, key).check()


def test_a_key_with_a_password_is_refused_and_nobody_is_asked_for_it(tmp_path, issued):
    from cryptography.hazmat.primitives import serialization as s

    good = write(tmp_path, issued)
    key = s.load_pem_private_key(good.key.read_bytes(), None)
    form = (s.Encoding.PEM, s.PrivateFormat.PKCS8, s.BestAvailableEncryption(b"s3cret"))
    good.key.write_bytes(key.private_bytes(*form))
    with pytest.raises(InvalidArgument, match="needs a password"):
        good.check()


def test_a_server_speaks_tls_and_shows_what_took_its_place_to_new_connections(
    tmp_path, fake, open_service, issued, trusting
):
    start_roads(fake)
    certificate = write(tmp_path, issued)
    with HttpServer(open_service(fake), port=0, certificate=certificate) as server:
        assert server.url.startswith("https://")

        def serial():
            pem = ssl.get_server_certificate(("127.0.0.1", server.port))
            return ssl.PEM_cert_to_DER_cert(pem)

        with httpx.Client(verify=trusting, base_url=server.url) as client:
            assert client.get("/healthz").status_code == 200
            before = serial()
            write(tmp_path, AUTHORITY.issue_cert("127.0.0.1"))
            server.reload()
            assert serial() != before
            assert client.get("/v1/loops").status_code == 200  # the connection that there was goes on
            certificate.key.write_bytes(b"garbage")
            now = serial()
            with pytest.raises(
                InvalidArgument, match=r"the certificate stays as it was: .*no certificate with its key"
            ):
                server.reload()
            assert serial() == now
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{server.url}/healthz", verify=ssl.create_default_context())
        with pytest.raises(httpx.HTTPError):
            httpx.get(server.url.replace("https", "http") + "/healthz")


@pytest.fixture
def serve_encrypted(tmp_path, fake, open_service, issued):
    start_roads(fake)
    with contextlib.ExitStack() as stack:
        yield lambda **limits: stack.enter_context(
            HttpServer(
                open_service(fake),
                port=0,
                certificate=write(tmp_path, issued),
                limits=HttpLimits(**limits),
            )
        )


def test_a_handshake_that_does_not_come_is_not_waited_for(serve_encrypted):
    server = serve_encrypted(head_timeout_s=0.3)
    for sent in (b"", b"\x16\x03\x01"):
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as silent:
            silent.sendall(sent)
            with contextlib.suppress(ConnectionResetError):
                assert silent.recv(1) == b""
    eventually(lambda: not server._connections.open)


def test_those_that_say_nothing_before_their_handshake_make_room_for_who_comes(serve_encrypted, trusting):
    server = serve_encrypted(connections=10)
    with contextlib.ExitStack() as stack:
        for _ in range(30):
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=30))
        eventually(lambda: server._connections.open == 10)
        assert httpx.get(f"{server.url}/healthz", verify=trusting).status_code == 200
        assert server._connections.open <= 10


def test_whoever_is_answered_in_the_middle_of_a_body_hears_the_answer_over_tls_and_is_ended(
    serve_encrypted, trusting
):
    server = serve_encrypted(head_timeout_s=1.0)
    with (
        socket.create_connection(("127.0.0.1", server.port), timeout=30) as plain,
        trusting.wrap_socket(plain, server_hostname="127.0.0.1") as honest,
    ):
        honest.sendall(b"POST /v1/nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000000\r\n\r\n")
        for _ in range(30):
            honest.sendall(bytes(100_000))
        assert honest.recv(1 << 16).startswith(b"HTTP/1.1 404")
        began_s = time.monotonic()
        with contextlib.suppress(OSError):
            while time.monotonic() - began_s < 60:
                honest.sendall(b"x")
                time.sleep(0.01)
        eventually(lambda: not server._connections.open)


def test_a_server_with_a_certificate_that_has_run_out_does_not_start(tmp_path, fake, open_service):
    issued = AUTHORITY.issue_cert("127.0.0.1", not_before=NOW - 9 * DAY, not_after=NOW - DAY)
    with pytest.raises(InvalidArgument, match="has run out"):
        HttpServer(open_service(fake), port=0, certificate=write(tmp_path, issued)).start()
