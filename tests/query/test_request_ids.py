"""Each request has a name: the client's where it is a plain word, else one of its own; what is logged meanwhile can ask for it."""

import asyncio
import logging

import pytest

from tornado.clock import ManualClock
from tornado.query import http_request_ids
from tornado.query.http_request_ids import HEADER, RequestIds

PLAIN = "proxy-1.a_B"


def asked(answer, *, given=None, path="/v1/loops"):
    """The headers of an answer, and what the application saw as the name of the request."""
    sent, clock = [], ManualClock()

    async def app(scope, receive, send):
        sent.append(http_request_ids.current())
        clock.advance(0.25)
        await answer(send)

    async def send(message):
        sent.append(message)

    headers = [] if given is None else [(HEADER.encode(), given.encode())]
    scope = {"type": "http", "method": "GET", "path": path, "headers": headers}
    try:
        asyncio.run(RequestIds(app, clock)(scope, None, send))
    finally:
        assert http_request_ids.current() is None
    return sent


def saying(status):
    async def answer(send):
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    return answer


def name_in(start):
    return dict(start["headers"])[HEADER.encode()].decode()


def test_the_name_that_a_client_gave_is_kept_and_sent_back():
    seen, start, _ = asked(saying(200), given=PLAIN)
    assert seen == name_in(start) == PLAIN


@pytest.mark.parametrize("given", [None, "", "a b", "x" * 65, "a\nforged: line", "\x1b[31m"])
def test_any_other_request_gets_a_name_of_its_own(given):
    names = [name_in(asked(saying(200), given=given)[1]) for _ in range(2)]
    assert names[0] != names[1]
    assert all(len(name) == 16 and name.isalnum() for name in names)


@pytest.mark.parametrize(
    ("status", "level"),
    [(200, "INFO"), (404, "INFO"), (503, "INFO"), (507, "INFO"), (500, "WARNING"), (502, "WARNING")],
)
def test_what_the_service_failed_at_is_a_warning_and_the_rest_is_for_the_access_log(caplog, status, level):
    caplog.set_level(logging.INFO, logger=http_request_ids.ACCESS_LOGGER)
    asked(saying(status), given=PLAIN)
    (record,) = caplog.records
    assert record.levelname == level
    assert record.fields == {"method": "GET", "path": "/v1/loops", "status": status, "duration_s": 0.25}


def test_a_request_that_raises_is_logged_and_its_name_is_gone_behind_it(caplog):
    caplog.set_level(logging.INFO, logger=http_request_ids.ACCESS_LOGGER)

    async def fail(_send):
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        asked(fail)
    assert [record.fields["status"] for record in caplog.records] == [0]


def test_a_path_of_any_length_is_cut(caplog):
    caplog.set_level(logging.INFO, logger=http_request_ids.ACCESS_LOGGER)
    asked(saying(200), path="/" + "x" * 10_000)
    assert len(caplog.records[0].fields["path"]) == 200


def test_a_path_cannot_forge_a_line(caplog):
    caplog.set_level(logging.INFO, logger=http_request_ids.ACCESS_LOGGER)
    asked(saying(200), path="/v1/loops\nwarning: forged")
    assert "\n" not in caplog.text.rstrip("\n")
    assert "%0Awarning" in caplog.records[0].getMessage()
