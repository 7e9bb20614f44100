"""`tornado doctor --url`: each step of the way to a service fails by itself, and the first that fails is the last."""

from __future__ import annotations

import json
import shutil
import socket
import ssl
import subprocess
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import tornado as package
from apps.sssp import ShortestPaths
from tornado.command.checks import Status
from tornado.command.service_checks import check_service
from tornado.errors import InvalidArgument

RUNNING = {"name": "sssp", "stream": "roads", "state": "running", "vertices": 3, "edges": 2, "version": 1}


@contextmanager
def answering(answers, wrap=lambda listening: listening):
    """A server that answers as it is told, and keeps what it was shown."""
    shown = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            shown.append((self.path, self.headers.get("authorization")))
            status, body = answers[self.path]
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body if isinstance(body, bytes) else json.dumps(body).encode())

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.socket = wrap(server.socket)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server.server_address[1], shown
        finally:
            server.shutdown()
            thread.join()


def healthy(**changes):
    return {
        "/healthz": (200, {"status": "ok"}),
        "/readyz": (200, {"status": "ready", "loops": ["sssp"]}),
        "/v1/loops": (200, {"loops": [RUNNING]}),
    } | {f"/{name.replace('_', '/')}": answer for name, answer in changes.items()}


def walked(answers, token=None):
    with answering(answers) as (port, _):
        return list(check_service(f"http://127.0.0.1:{port}", token))


def test_the_way_to_a_real_service_is_walked_to_its_loops(tornado):
    with package.open("memory:", workers=1) as session:
        paths = session.start(ShortestPaths(source=1), name="roads")
        paths.insert([1, 2], [2, 3], [1.0, 2.0])
        server = session.serve(port=0)
        done = tornado("doctor", "--url", server.url)
        as_json = tornado("doctor", "--url", server.url, "--json")
    assert (done.code, done.err) == (0, "")
    for name in ("name", "connection", "health", "readiness", "token", "loop roads"):
        assert f"ok    {name}: " in done.out
    assert "3 vertices, 2 edges" in done.out
    assert done.out.endswith(f"{server.url} can be used\n")
    assert json.loads(as_json.out)["ok"] is True


def test_a_port_where_nobody_listens_ends_the_walk_there(tornado):
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        done = tornado("doctor", "--url", f"http://127.0.0.1:{nobody.getsockname()[1]}")
    assert done.code == 1
    assert "fail  connection" in done.out
    assert "health" not in done.out
    assert done.out.endswith("to mend: connection\n")


def test_a_name_without_an_address_is_the_first_step():
    (only,) = check_service("http://nowhere.invalid:8080")
    assert (only.check, only.status) == ("name", Status.FAIL)


def test_something_else_that_answers_is_told_from_a_service():
    findings = walked(healthy(healthz=(200, b"<html>welcome</html>")))
    assert [one.check for one in findings] == ["name", "connection", "health"]
    assert "something else" in findings[-1].remedy.lower()


def test_a_service_that_is_not_ready_says_why():
    findings = walked(healthy(readyz=(503, {"detail": "no loop runs", "hint": "Ask again soon."})))
    assert findings[-1].check == "readiness"
    assert "no loop runs" in findings[-1].detail
    assert findings[-1].remedy == "Ask again soon."


def test_a_stream_that_takes_nothing_in_is_a_warning_with_the_reason():
    ready = {"status": "ready", "loops": ["sssp"], "not_logged": {"roads": "the disk is full"}}
    warned = [one for one in walked(healthy(readyz=(200, ready))) if one.status is Status.WARN]
    assert [one.check for one in warned] == ["readiness"]
    assert "the disk is full" in warned[0].detail


@pytest.mark.parametrize(
    ("token", "words"), [(None, "it asks for a token"), ("wrong", "the token is not one that it knows")]
)
def test_a_token_that_is_missing_or_wrong_is_named_and_never_shown(token, words):
    findings = walked(healthy(v1_loops=(401, {"title": "Unauthorized"})), token)
    assert (findings[-1].check, findings[-1].status) == ("token", Status.FAIL)
    assert words in findings[-1].detail
    assert "wrong" not in findings[-1].remedy


def test_the_token_is_shown_to_what_asks_for_one_and_to_nothing_else():
    with answering(healthy()) as (port, shown):
        list(check_service(f"http://127.0.0.1:{port}", "s3cret"))
    assert shown == [("/healthz", None), ("/readyz", None), ("/v1/loops", "Bearer s3cret")]


def test_a_failed_loop_fails_and_a_source_with_an_error_warns():
    failed = RUNNING | {"name": "ranks", "state": "failed", "error": "values left the numbers"}
    behind = RUNNING | {"sources": {"topic:0": {"last_error": "the broker went away"}}}
    findings = {one.check: one for one in walked(healthy(v1_loops=(200, {"loops": [behind, failed]})))}
    assert findings["loop sssp"].status is Status.OK
    assert findings["loop ranks"].status is Status.FAIL
    assert "values left the numbers" in findings["loop ranks"].detail
    assert findings["source topic:0"].status is Status.WARN


def test_plain_http_behind_https_the_other_way_round_and_an_untrusted_certificate_are_told_apart(tmp_path):
    if shutil.which("openssl") is None:
        pytest.skip("no openssl here, which makes the certificate")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    making = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "3",
        "-subj",
        "/CN=localhost",
    ]
    subprocess.run([*making, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with answering(healthy(), lambda listening: context.wrap_socket(listening, server_side=True)) as (
        port,
        _,
    ):
        untrusted = list(check_service(f"https://127.0.0.1:{port}"))[-1]
        cut_off = list(check_service(f"http://127.0.0.1:{port}"))[-1]
    assert (cut_off.check, cut_off.status) == ("health", Status.FAIL)
    assert cut_off.detail.startswith("speaks TLS")
    assert cut_off.remedy == "ask https:// in place of http://"
    assert (untrusted.check, untrusted.status) == ("certificate", Status.FAIL)
    assert "self-signed" in untrusted.detail.replace("self signed", "self-signed")
    with answering(healthy()) as (port, _):
        plain = list(check_service(f"https://127.0.0.1:{port}"))[-1]
    assert (plain.check, plain.status) == ("certificate", Status.FAIL)
    assert "does not speak TLS" in plain.detail


@pytest.mark.parametrize(
    "url", ["127.0.0.1:8080", "ftp://here", "http://", "http://here:99999999", "http://a..b", "http://[::1"]
)
def test_what_is_no_address_is_refused(url):
    with pytest.raises(InvalidArgument):
        check_service(url)


@pytest.mark.parametrize("token", ["s3cret\nlines", "s\N{LATIN SMALL LETTER E WITH ACUTE}cret"])
def test_a_token_that_no_header_can_carry_is_refused_and_never_shown(token, monkeypatch):
    for given in (token, None):
        monkeypatch.setenv("TORNADO_TOKEN", token)
        with pytest.raises(InvalidArgument, match="no header") as refused:
            check_service("http://127.0.0.1:9", given)
        assert "cret" not in str(refused.value)


def test_two_ways_at_once_and_a_token_for_none_are_wrong_usage(tornado):
    assert tornado("doctor", "--url", "http://127.0.0.1:1", "--kafka", "127.0.0.1:2").code == 2
    assert tornado("doctor", "--token", "s3cret").code == 2
