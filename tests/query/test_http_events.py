"""Server-sent events: `progress` while a query runs, then one `done`, whenever one connects."""

import json
import threading
import time

import httpx
import pytest

from tests.query.conftest import eventually, start_roads
from tornado.query import events, http


def parsed(text):
    events = []
    for block in text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if lines:
            events.append((lines["event"], json.loads(lines["data"])))
    return events


@pytest.fixture
def slow(fake, open_service, serve):
    start_roads(fake)
    fake.gate.clear()
    client = serve(open_service(fake, branches=1), event_streams=2)
    client.fake = fake
    return client


def ask(client, **fields):
    return client.post("/v1/queries", json={"loop": "roads", **fields}).json()


def told_until(response, is_enough, slow):
    """Return all that is told; the gate opens when enough of it was."""
    text = ""
    for line in response.iter_lines():
        text += f"{line}\n"
        if is_enough(text):
            slow.fake.gate.set()
    return text


def test_events_are_progress_and_then_exactly_one_done(slow):
    query = ask(slow, vertices=[3])
    with slow.stream("GET", f"/v1/queries/{query['id']}/events") as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        events = parsed(told_until(response, lambda text: text.count("event: progress") == 2, slow))
    assert [name for name, _ in events[:-1]] == ["progress"] * (len(events) - 1)
    assert len(events) > 2
    iterations = [content["iteration"] for _, content in events]
    assert iterations == sorted(iterations)
    name, content = events[-1]
    assert (name, content["state"], content["certificate"]) == ("done", "converged", {"kind": "exact"})


def test_a_listener_after_the_end_gets_the_done_at_once(client):
    query = client.post("/v1/queries?wait_s=20", json={"loop": "roads"}).json()
    for _ in range(2):
        events = parsed(client.get(f"/v1/queries/{query['id']}/events").text)
        assert [(name, content["state"]) for name, content in events] == [("done", "converged")]


@pytest.mark.parametrize("end", ["cancel", "deadline", "fail"])
def test_every_end_is_done_with_its_state(clock, slow, end):
    if end == "fail":
        slow.fake.branch_error = RuntimeError("a bug")
    query = ask(slow, deadline_s=30)
    if end == "cancel":
        threading.Timer(0.1, lambda: httpx.delete(f"{slow.server.url}/v1/queries/{query['id']}")).start()
    if end == "deadline":
        threading.Timer(0.1, clock.advance, [30]).start()
    if end == "fail":
        slow.fake.gate.set()
    events = parsed(slow.get(f"/v1/queries/{query['id']}/events").text)
    expected = {"cancel": "cancelled", "deadline": "deadline", "fail": "failed"}[end]
    assert (events[-1][0], events[-1][1]["state"]) == ("done", expected)
    assert [name for name, _ in events].count("done") == 1


def test_a_queued_query_is_followed_from_the_queue_to_its_end(slow):
    ask(slow)
    waiting = ask(slow, parameters={"source": 5})
    with slow.stream("GET", f"/v1/queries/{waiting['id']}/events") as response:
        events = parsed(told_until(response, lambda text: '"queued"' in text, slow))
    assert events[0][1]["state"] == "queued"
    assert events[-1][1]["state"] == "converged"


def test_a_line_on_which_nothing_happens_is_kept_open_by_a_comment_now_and_then(clock, slow):
    ask(slow, deadline_s=3600)
    waiting = ask(slow, parameters={"source": 5}, deadline_s=3600)
    with slow.stream("GET", f"/v1/queries/{waiting['id']}/events") as response:
        lines = (line for line in response.iter_lines() if line)
        assert next(lines) == "event: progress"
        assert '"queued"' in next(lines)
        for _ in range(2):
            clock.advance(events.KEEP_ALIVE_S + 1)
            assert next(lines) == ": still here"
        slow.fake.gate.set()
        assert any(line == "event: done" for line in lines)


def test_the_end_comes_without_waiting_for_the_next_look(slow, monkeypatch):
    monkeypatch.setattr(events, "PROGRESS_INTERVAL_S", 60.0)
    query = ask(slow)
    with slow.stream("GET", f"/v1/queries/{query['id']}/events") as response:
        lines = response.iter_lines()
        assert next(lines) == "event: progress"
        released_s = time.monotonic()
        slow.fake.gate.set()
        while next(lines) != "event: done":
            pass
        assert time.monotonic() - released_s < 30


def test_only_so_many_clients_may_listen_and_one_that_leaves_makes_room(slow):
    path = f"/v1/queries/{ask(slow)['id']}/events"
    with httpx.Client(base_url=slow.server.url) as first, httpx.Client(base_url=slow.server.url) as second:
        with first.stream("GET", path) as one, second.stream("GET", path) as two:
            assert one.status_code == two.status_code == 200
            refused = slow.get(path)
            assert (refused.status_code, refused.json()["code"]) == (429, "too-many-streams")
            assert int(refused.headers["retry-after"]) >= 1
        until = time.monotonic() + 60
        slow.fake.gate.set()
        while slow.get(path).status_code != 200:
            assert time.monotonic() < until
            time.sleep(0.05)


def test_a_server_that_stops_ends_its_streams_and_its_waits_without_a_done(slow, serve, monkeypatch):
    monkeypatch.setattr(http, "STOPPING_S", 200.0)  # so long it waits for those that it does not wake
    slow = serve(slow.server.service)
    query = ask(slow, deadline_s=600)
    texts = []

    def follow(path):
        texts.append(httpx.get(slow.server.url + path, timeout=300).text)

    paths = [f"/v1/queries/{query['id']}/events", f"/v1/queries/{query['id']}?wait_s=200"]
    threads = [threading.Thread(target=follow, args=(path,)) for path in paths]
    for thread in threads:
        thread.start()
    eventually(lambda: len(slow.server._stopping._waiting) == len(paths))
    began = time.monotonic()
    slow.server.stop()
    for thread in threads:
        thread.join()
    assert time.monotonic() - began < 60
    assert all("event: done" not in text for text in texts)
    assert any('"state":"running"' in text for text in texts)
