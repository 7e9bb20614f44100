"""Who gives a question up is let go soon, with what made them: whatever the service does or does not say to that."""

import asyncio
import http.server
import json
import threading
import time
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from tornado.client import connect, connect_async, service

RUNNING = {"id": "q1", "loop": "roads", "state": "running"}
UNKNOWN = {"status": 404, "code": "unknown-query", "detail": "there is no such query"}


class Asked(http.server.BaseHTTPRequestHandler):
    """Takes a question, never ends it, and does what a test says where one is to be cancelled."""

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.answer(202, RUNNING)

    def do_GET(self):
        self.server.over.wait()

    def do_DELETE(self):
        self.server.deleted.append(self.path)
        if self.server.told == "nothing":
            self.server.over.wait()
        elif self.server.told == "refused":
            self.answer(404, UNKNOWN)

    def answer(self, status, document):
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture(params=["nothing", "refused", "cut off"])
def asked_in_vain(request):
    """A service that says nothing when a query is cancelled, that it knows none, or cuts the connection."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Asked) as server:
        server.told, server.deleted = request.param, []
        server.over = threading.Event()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield SimpleNamespace(url=f"http://127.0.0.1:{server.server_port}", deleted=server.deleted)
        server.over.set()
        server.shutdown()


def test_a_time_limit_of_a_query_is_that_error_and_soon_whatever_becomes_of_the_service(asked_in_vain):
    async def run():
        async with connect_async(asked_in_vain.url) as service:
            began_s = time.monotonic()
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.5):
                    await service.loop("roads").query()
            return time.monotonic() - began_s

    assert asyncio.run(run()) < 10  # the patience is 30 s, and a call may take 60 s
    assert asked_in_vain.deleted == ["/v1/queries/q1"]


def test_an_interrupt_of_a_query_is_that_and_soon_whatever_becomes_of_the_service(asked_in_vain, monkeypatch):
    monkeypatch.setattr(service.ServiceQuery, "result", Mock(side_effect=KeyboardInterrupt))
    with connect(asked_in_vain.url) as connected:
        began_s = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            connected.loop("roads").query()
    assert time.monotonic() - began_s < 10
    assert asked_in_vain.deleted == ["/v1/queries/q1"]
