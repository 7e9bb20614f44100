"""Who gives a question up is let go soon, with what made them, whatever the service says to that; and the question does not stay there."""

import asyncio
import contextlib
import gc
import http.server
import json
import threading
import time
from unittest.mock import Mock

import pytest

from tornado.client import connect, connect_async, service

RUNNING = {"id": "q1", "loop": "roads", "state": "running"}
UNKNOWN = {"status": 404, "code": "unknown-query", "detail": "there is no such query"}


class Asked(http.server.BaseHTTPRequestHandler):
    """Takes a question, never ends it, and does what a test says where one is to be cancelled."""

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.server.asked.set()
        self.server.taken.wait()
        self.answer(202, RUNNING)

    def do_GET(self):
        self.server.over.wait()

    def do_DELETE(self):
        self.server.deleted.append(self.path)
        if self.server.told == "nothing":
            self.server.over.wait()
        elif self.server.told == "refused":
            self.answer(404, UNKNOWN)
        elif self.server.told == "done":
            self.answer(200, RUNNING | {"state": "cancelled"})
            self.server.over.set()

    def answer(self, status, document):
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def serving(told):
    """Yield a service that takes questions at once, and tells so much of one that is to be cancelled."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Asked) as server:
        server.told, server.deleted, server.url = told, [], f"http://127.0.0.1:{server.server_port}"
        server.asked, server.taken, server.over = (threading.Event() for _ in range(3))
        server.taken.set()
        server.handle_error = lambda *_: None  # those who leave do not read what they are answered
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.taken.set()
        server.over.set()
        server.shutdown()


@pytest.fixture(params=["nothing", "refused", "cut off"])
def asked_in_vain(request):
    """A service that says nothing when a query is cancelled, that it knows none, or cuts the connection."""
    with serving(request.param) as server:
        yield server


@pytest.fixture
def slow():
    """A service that takes a question only when it is let."""
    with serving("done") as server:
        server.taken.clear()
        yield server


def test_a_time_limit_of_a_query_is_that_error_and_soon_whatever_becomes_of_the_service(asked_in_vain):
    async def run():
        async with connect_async(asked_in_vain.url) as service:
            began_s = time.monotonic()
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.5):
                    await service.loop("roads").query()
            return time.monotonic() - began_s

    assert asyncio.run(run()) < 25  # the patience is 30 s, and a call may take 60 s
    assert asked_in_vain.deleted == ["/v1/queries/q1"]


def test_an_interrupt_of_a_query_is_that_and_soon_whatever_becomes_of_the_service(asked_in_vain, monkeypatch):
    monkeypatch.setattr(service.ServiceQuery, "result", Mock(side_effect=KeyboardInterrupt))
    with connect(asked_in_vain.url) as connected:
        began_s = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            connected.loop("roads").query()
    assert time.monotonic() - began_s < 25
    assert asked_in_vain.deleted == ["/v1/queries/q1"]


@pytest.mark.parametrize("taken_after_s", [0.2, 3.0])
def test_a_question_that_is_cancelled_while_it_is_under_way_is_cancelled_when_it_is_taken(
    slow, taken_after_s
):
    async def run():
        async with connect_async(slow.url) as service:
            asking = asyncio.create_task(service.loop("roads").query())
            await asyncio.to_thread(slow.asked.wait)
            asyncio.get_running_loop().call_later(taken_after_s, slow.taken.set)
            began_s = time.monotonic()
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            took_s = time.monotonic() - began_s
            assert await asyncio.to_thread(slow.over.wait, 120)
            return took_s

    assert asyncio.run(run()) < taken_after_s + 20
    assert slow.deleted == ["/v1/queries/q1"]


def test_a_service_that_is_closed_while_a_question_given_up_is_under_way_is_no_further_error(slow, caplog):
    async def run():
        async with connect_async(slow.url) as service:
            asking = asyncio.create_task(service.loop("roads").query())
            await asyncio.to_thread(slow.asked.wait)
            asking.cancel()
            await asyncio.sleep(0)
            asking.cancel()  # who is impatient does not wait for the service either
            with pytest.raises(asyncio.CancelledError):
                await asking
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert left
        await asyncio.wait(left, timeout=120)

    asyncio.run(run())
    gc.collect()  # an error that nobody takes is said when its task goes
    assert not caplog.records
