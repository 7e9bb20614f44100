"""What is logged becomes lines on standard error: text, or documents with the name of the request."""

import json
import logging
import warnings

import pytest

from tornado.command.log_lines import log_lines
from tornado.query import http_request_ids

ACCESS = logging.getLogger(http_request_ids.ACCESS_LOGGER)


@pytest.fixture
def named():
    token = http_request_ids._REQUEST.set("proxy-1")
    yield
    http_request_ids._REQUEST.reset(token)


def test_a_line_of_json_has_time_level_logger_request_and_fields(capsys, named):
    with log_lines(as_json=True, with_requests=False):
        logging.getLogger("tornado.engine").warning("a worker was lost", extra={"fields": {"worker": 1}})
    document = json.loads(capsys.readouterr().err)
    assert document.pop("time").endswith("+00:00")
    assert document == {
        "event": "log",
        "message": "warning: a worker was lost",
        "level": "warning",
        "logger": "tornado.engine",
        "request": "proxy-1",
        "worker": 1,
    }


def test_a_line_of_text_ends_with_the_request(capsys, named):
    with log_lines(as_json=False, with_requests=False):
        logging.getLogger("tornado.engine").warning("a worker was lost")
    assert capsys.readouterr().err == "warning: a worker was lost [proxy-1]\n"


@pytest.mark.parametrize("with_requests", [True, False])
def test_requests_are_shown_to_whoever_wants_them_and_the_chatter_of_libraries_to_nobody(
    capsys, with_requests
):
    chatter = logging.getLogger("somebody.elses")
    chatter.setLevel(logging.DEBUG)
    with log_lines(as_json=False, with_requests=with_requests):
        chatter.info("connecting")
        ACCESS.info("GET /healthz: 200")
    assert capsys.readouterr().err == ("info: GET /healthz: 200\n" if with_requests else "")
    chatter.setLevel(logging.NOTSET)


def test_warnings_of_python_are_lines_too_and_nothing_is_left_behind(capsys):
    handlers = logging.getLogger().handlers[:]
    with log_lines(as_json=False, with_requests=True), warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("old", UserWarning, stacklevel=1)
    assert "old" in capsys.readouterr().err
    assert logging.getLogger().handlers == handlers
    assert ACCESS.level == logging.NOTSET
