"""Limits of tokens, and the audit of what their holders change."""

import contextlib
import logging
import threading

import httpx
import pytest
from starlette.requests import HTTPConnection

from tests.query.conftest import eventually, start_roads
from tornado.clock import ManualClock
from tornado.errors import QueueFull
from tornado.query.bearer_tokens import parse_tokens
from tornado.query.http import HttpServer
from tornado.query.http_audit import AUDIT_LOGGER
from tornado.query.http_requests import HttpLimits
from tornado.query.http_stream_places import StreamPlaces
from tornado.query.query import Query
from tornado.query.request import QueryRequest
from tornado.query.token_file import TokenFile
from tornado.query.token_use import Allowance, TokenUse

NDJSON = {"content-type": "application/x-ndjson"}
EDGE = b'{"src": 1, "dst": 2}\n'


@pytest.fixture
def served(fake, clock, open_service):
    start_roads(fake)
    service = open_service(fake)

    def serve(lines, **limits):
        server = HttpServer(service, port=0, tokens=TokenFile.of(lines), limits=HttpLimits(**limits)).start()
        opened.append(server)

        def ask(token, method, path, **given):
            headers = {"Authorization": f"Bearer {token}"} | given.pop("headers", {})
            return httpx.request(method, server.url + path, headers=headers, timeout=30, **given)

        ask.url = server.url
        return ask

    opened = []
    yield serve
    for server in opened:
        server.stop()


def test_an_allowance_is_what_its_rate_says_over_any_while():
    clock = ManualClock()
    allowance = Allowance(10, clock=clock)
    spent = 0
    for _ in range(1000):
        clock.advance(0.05)
        if not allowance.wait_s():
            allowance.spend(7)
            spent += 7
    assert abs(spent - 10 * 50) <= 10 + 7
    allowance.spend(100)
    clock.advance(allowance.wait_s())
    assert allowance.wait_s() == 0
    clock.advance(1e6)
    assert not allowance.wait_s()
    allowance.spend(10)  # of all that time one second is left
    assert allowance.wait_s() > 0


def test_so_many_questions_of_a_token_run_at_once_and_those_of_others_do_not_count(served, fake):
    ask = served("read r3ad queries=2\nread other")
    fake.gate.clear()
    body = {"loop": "roads", "deadline_s": 60}
    asked = [ask("r3ad", "POST", "/v1/queries", json=body) for _ in range(2)]
    assert [answer.status_code for answer in asked] == [202, 202]
    refused = ask("r3ad", "POST", "/v1/queries", json=body)
    assert (refused.status_code, refused.json()["code"]) == (429, "queue-full")
    assert refused.headers["retry-after"] == "1"
    assert ask("other", "POST", "/v1/queries", json=body).status_code == 202
    ask("r3ad", "DELETE", f"/v1/queries/{asked[0].json()['id']}")
    another = ask("r3ad", "POST", "/v1/queries", json=body)
    assert another.status_code == 202
    fake.gate.set()
    for query in (asked[1], another):
        ended = ask("r3ad", "GET", f"/v1/queries/{query.json()['id']}", params={"wait_s": 20})
        assert ended.json()["state"] == "converged"
    # A question that is refused for itself takes no place.
    wrong = {"loop": "roads", "parameters": {"nothing": 1}}
    for _ in range(3):
        assert ask("r3ad", "POST", "/v1/queries?wait_s=20", json=wrong).status_code == 422
    assert ask("r3ad", "POST", "/v1/queries?wait_s=20", json=body).status_code == 200


def test_records_beyond_the_rate_wait_for_their_time(served, clock):
    ask = served("write wr1te edges/s=10")
    path = "/v1/loops/roads/edges"
    assert ask("wr1te", "POST", path, content=EDGE * 30, headers=NDJSON).status_code == 202
    refused = ask("wr1te", "POST", path, content=EDGE, headers=NDJSON)
    assert (refused.status_code, refused.json()["code"]) == (429, "queue-full")
    assert ask("wr1te", "GET", "/v1/loops").status_code == 200
    clock.advance(int(refused.headers["retry-after"]))
    assert ask("wr1te", "POST", path, content=EDGE, headers=NDJSON).status_code == 202


def test_bytes_of_both_directions_are_counted(served, clock):
    ask = served("write wr1te bytes/s=1000")
    body = EDGE * 300
    sent = ask("wr1te", "POST", "/v1/loops/roads/edges", content=body, headers=NDJSON)
    refused = ask("wr1te", "GET", "/v1/loops")
    assert (sent.status_code, refused.status_code) == (202, 429)
    clock.advance(len(body) / 1000 + 1)
    got = ask("wr1te", "GET", "/openapi.json")
    assert got.status_code == 200 and len(got.content) > 10_000
    assert ask("wr1te", "GET", "/v1/loops").status_code == 429
    assert ask("wr1te", "GET", "/healthz").status_code == 200


def test_each_change_and_each_refusal_of_one_is_a_line_with_who_and_without_the_token(served, caplog):
    ask = served("write wr1te name=loader\nread r3ad")
    with caplog.at_level(logging.INFO, AUDIT_LOGGER):
        ask("wr1te", "POST", "/v1/loops/roads/edges", content=EDGE, headers=NDJSON)
        ask("r3ad", "DELETE", "/v1/loops/roads")
        ask("wr0ng", "DELETE", "/v1/loops/roads%0Aforged?ticket=t1cket")
        ask("r3ad", "GET", "/v1/loops")
        asked = ask("r3ad", "POST", "/v1/queries?wait_s=20", json={"loop": "roads"}).json()
        ask("r3ad", "DELETE", f"/v1/queries/{asked['id']}")
    lines = [record.fields for record in caplog.records if record.name == AUDIT_LOGGER]
    assert [(line["who"], line["method"], line["status"]) for line in lines] == [
        ("loader", "POST", 202),
        (lines[1]["who"], "DELETE", 403),
        ("nobody", "DELETE", 401),
        (lines[1]["who"], "DELETE", 200),  # which may be done by who only reads, and ends something
    ]
    assert lines[1]["who"].startswith("sha256:")
    assert lines[2]["path"] == "/v1/loops/roads%0Aforged"
    assert all(line["address"] == "127.0.0.1" for line in lines)
    for secret in ("wr1te", "r3ad", "wr0ng", "t1cket"):
        assert secret not in caplog.text


def test_where_the_audit_cannot_be_written_only_changes_wait(served):
    ask = served("write wr1te name=loader")
    writes, may_write = threading.Event(), threading.Event()
    written = []

    class Full(logging.Handler):
        def emit(self, record):
            writes.set()
            assert may_write.wait(60)
            written.append(record.fields["status"])

    logger, handler = logging.getLogger(AUDIT_LOGGER), Full()
    before = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    answers = []
    pushing = threading.Thread(
        target=lambda: answers.append(
            ask("wr1te", "POST", "/v1/loops/roads/edges", content=EDGE, headers=NDJSON)
        )
    )
    try:
        pushing.start()
        assert writes.wait(60)
        for _ in range(5):
            assert ask("wr1te", "GET", "/v1/loops").status_code == 200
        assert answers == []  # no change is told of before its line is there
        may_write.set()
        pushing.join(60)
        assert [answer.status_code for answer in answers] == written == [202]
    finally:
        may_write.set()
        logger.removeHandler(handler)
        logger.setLevel(before)


def test_questions_that_are_admitted_at_the_same_time_count_all(clock):
    [token] = parse_tokens("read r3ad queries=3", where="here")
    use = TokenUse(token, clock=clock)
    all_hold, end = threading.Barrier(4), threading.Event()
    refused = []

    def ask(number):
        query = Query(str(number), QueryRequest(loop="roads"), 60.0, clock=clock)
        with use.asking() as counted:
            all_hold.wait(60)
            assert end.wait(60)
            counted(query)

    asking = [threading.Thread(target=ask, args=(number,)) for number in range(3)]
    for thread in asking:
        thread.start()
    all_hold.wait(60)

    def asks():
        with pytest.raises(QueueFull) as error, use.asking():
            pass
        refused.append(str(error.value))

    asks()  # while the three are being admitted, which has the list of those that run looked through
    end.set()
    for thread in asking:
        thread.join(60)
    asks()  # and when they run
    assert len(refused) == 2 and all("has 3 queries" in said for said in refused)


@pytest.fixture
def listen(served):
    """Open streams of events; returns the status and the body of what was refused, or None where it goes on."""
    with contextlib.ExitStack() as stack:

        def one(url, token, path):
            client = stack.enter_context(httpx.Client(timeout=30))
            headers = {"Authorization": f"Bearer {token}"}
            answer = stack.enter_context(client.stream("GET", url + path, headers=headers))
            if answer.status_code == 200:
                return None
            answer.read()
            return answer.status_code, answer.json(), answer.headers["retry-after"]

        yield one


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/v1/loops/roads/events?interval_s=60", "queue-full"),
        ("/v1/observations/events", "queue-full"),
        ("/v1/queries/{id}/events", "too-many-streams"),
    ],
)
def test_no_token_has_more_than_half_of_the_streams_of_a_kind(served, fake, listen, path, code):
    ask = served("read r3ad\nread other", loop_followers=4, event_streams=4)
    fake.gate.clear()
    body = {"loop": "roads", "deadline_s": 60}
    path = path.replace("{id}", ask("other", "POST", "/v1/queries", json=body).json()["id"])
    assert [listen(ask.url, "r3ad", path) for _ in range(2)] == [None] * 2
    status, refused, retry_s = listen(ask.url, "r3ad", path)
    assert (status, refused["code"], retry_s) == (429, code, "5")
    assert "2 clients of this token" in refused["detail"] and "End one of them" in refused["hint"]
    assert [listen(ask.url, "other", path) for _ in range(2)] == [None] * 2
    status, refused, _ = listen(ask.url, "other", path)
    assert (status, refused["code"]) == (429, code) and "4 clients" in refused["detail"]


def test_who_follows_a_loop_has_one_question_less_until_it_leaves(served):
    ask = served("read r3ad queries=1")
    headers = {"Authorization": "Bearer r3ad"}
    path = "/v1/loops/roads/events?interval_s=60"

    def asks():
        return ask("r3ad", "POST", "/v1/queries?wait_s=20", json={"loop": "roads"}).status_code

    with httpx.stream("GET", ask.url + path, headers=headers, timeout=30) as following:
        assert following.status_code == 200
        refused = ask("r3ad", "GET", path)
        assert (refused.status_code, refused.json()["code"]) == (429, "queue-full")
        assert "may have 1" in refused.json()["detail"]
        assert asks() == 429
    eventually(lambda: asks() == 200)
    with httpx.stream("GET", ask.url + path, headers=headers, timeout=30) as following:
        assert following.status_code == 200


def test_an_address_has_half_of_the_streams_where_nobody_shows_a_token_and_loopback_is_no_address():
    def take(host):
        return places.take(HTTPConnection({"type": "http", "headers": [], "client": (host, 1)}))

    places = StreamPlaces(4, doing="watch", instead="Ask later.")
    left = [take("192.0.2.1") for _ in range(2)]
    with pytest.raises(QueueFull, match="2 clients of this address"):
        take("192.0.2.1")
    left[0]()
    take("192.0.2.1"), take("127.0.0.1"), take("::1")
    with pytest.raises(QueueFull, match="4 clients watch"):
        take("127.0.0.1")
    places = StreamPlaces(2, doing="watch", instead="Ask later.")
    assert len([take("127.0.0.1") for _ in range(2)]) == 2
