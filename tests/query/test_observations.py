"""Observations: one look for all who watch, which no loop that hangs and no client that is slow can hold up."""

import asyncio
import json
import threading

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.query.conftest import eventually, start_roads
from tornado.clock import ManualClock
from tornado.loops.frontier import FrontierHolder, LoopFrontier
from tornado.query.http_routes_observations import _Watcher
from tornado.query.observer import NOW_EVERY_S, ROWS, UNWATCHED_EVERY_S, Observer
from tornado.query.question_log import QuestionLog
from tornado.query.time_line import Observed, TimeLine


@pytest.fixture
def service(fake, open_service):
    start_roads(fake)
    return open_service(fake)


@pytest.fixture
def client(service, serve):
    return serve(service, event_streams=2)


def events_of(client, count):
    """The next events of the stream, as (name, content)."""
    found = []
    with client.stream("GET", "/v1/observations/events") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        name = None
        for line in answer.iter_lines():
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                found.append((name, json.loads(line.removeprefix("data: "))))
                if len(found) == count:
                    return found
    raise AssertionError(found)


def test_an_observation_has_what_streams_loops_and_workers_say(client):
    found = client.get("/v1/observations").json()
    [stream] = found["streams"]
    assert (stream["name"], stream["loops"], stream["admitted"]) == ("roads", ["roads"], 4)
    assert (stream["not_propagated"], stream["applied"], stream["waiting"]) == (0, [0], [0])
    assert stream["sources"][0]["name"] == "edges.csv"
    [loop] = found["loops"]
    assert (loop["name"], loop["program"], loop["state"], loop["vertices"]) == (
        "roads",
        "Fastest",
        "running",
        6,
    )
    assert found["branches"] == []


def test_who_holds_a_loop_back_is_told_when_somebody_asks(client, fake):
    """Of real loops: `tests/loops/test_frontier.py`."""
    fake.loops["roads"].held = LoopFrontier(
        "input 0 of processor",
        (0, 8),
        (FrontierHolder(True, 0, "processor", "output 0 of processor", (0, 7), True, 1),),
    )
    assert client.get("/v1/loops/roads/frontier").json() == {
        "loop": "roads",
        "stream": "roads",
        "waiting": "input 0 of processor",
        "timestamp": [0, 8],
        "holders": [
            {
                "holds": True,
                "worker": 0,
                "operator": "processor",
                "port": "output 0 of processor",
                "by": "token",
                "timestamp": [0, 7],
                "count": 1,
                "records": 0,
                "vertices": None,
            }
        ],
    }
    assert client.get("/v1/loops/nowhere/frontier").status_code == 404
    assert client.get("/v1/loops/roads/frontier?deep=1").status_code == 422


def test_who_holds_a_branch_back_is_told_when_somebody_asks(client, service, fake):
    fake.gate.clear()
    try:
        query = client.post("/v1/queries", json={"loop": "roads", "vertices": [3]}).json()
        where = f"/v1/queries/{query['id']}/frontier"
        eventually(lambda: service.get(query["id"]).branch is not None)
        service.get(query["id"]).branch.held = LoopFrontier(
            "input 0 of processor",
            (0, 1),
            (FrontierHolder(True, 1, "processor", "output 0 of processor", (0, 0), True, 1),),
            not_begun=(1,),
        )
        found = client.get(where).json()
        [held] = found.pop("holders")
        assert found == {
            "query": query["id"],
            "loop": "roads",
            "stream": "roads",
            "waiting": "input 0 of processor",
            "timestamp": [0, 1],
            "not_begun": [1],
        }
        assert (held["worker"], held["by"], held["timestamp"], held["vertices"]) == (1, "token", [0, 0], None)
        report = client.get("/v1/observations/report").text
        assert '"not_begun":[1]' in report
    finally:
        fake.gate.set()
    client.get(f"/v1/queries/{query['id']}?wait_s=20")
    over = client.get(where).json()
    assert (over["timestamp"], over["holders"], over["not_begun"]) == (None, [], [])
    assert client.get("/v1/queries/nothing/frontier").status_code == 404
    assert client.get(f"{where}?deep=1").status_code == 422


def test_the_stream_says_hello_with_the_build_of_the_page_and_then_how_things_stand(client):
    (hello, content), (now, first), (again, second) = events_of(client, 3)
    assert (hello, now, again) == ("hello", "now", "now")
    assert f'content="{content["build"]}"' in client.get("/").text
    assert second["time"] > first["time"]


def test_loops_that_hang_are_shown_as_they_were_and_the_stream_goes_on(client, fake):
    events_of(client, 2)
    client.server.observer._within_s = 0.5
    fake.answers.clear()
    try:
        with client.stream("GET", "/v1/observations/events") as answer:
            for line in answer.iter_lines():
                if line.startswith("data: ") and '"loops"' in line:
                    [loop] = json.loads(line.removeprefix("data: "))["loops"]
                    if loop["state"] == "unresponsive":
                        break
            assert loop["vertices"] == 6
            assert loop["age_s"] > 0
            assert client.get("/healthz").status_code == 200
    finally:
        fake.answers.set()


def test_a_branch_that_runs_is_told_of_and_noted(client, fake):
    fake.gate.clear()
    query = client.post("/v1/queries", json={"loop": "roads", "vertices": [3]}).json()
    try:
        eventually(
            lambda: [one["id"] for one in client.get("/v1/observations").json()["branches"]] == [query["id"]]
        )
        name = f"roads/{query['id']}"
        eventually(lambda: name in client.get("/v1/observations/lines/branches").json()["series"])
    finally:
        fake.gate.set()
    eventually(lambda: client.get("/v1/observations").json()["questions"] == 1)
    [line] = client.get("/v1/observations/questions").json()["questions"]
    assert (line["id"], line["state"], line["vertices"]) == (query["id"], "converged", [3])
    assert line["certificate"] == {"kind": "exact"}


def test_more_clients_than_may_watch_are_told_to_come_back(client):
    watching = [client.stream("GET", "/v1/observations/events") for _ in range(2)]
    opened = [one.__enter__() for one in watching]
    try:
        lines = [one.iter_lines() for one in opened]  # one that is let go closes its connection
        assert [next(one) for one in lines] == ["event: hello", "event: hello"]
        refused = client.get("/v1/observations/events")
        assert refused.status_code == 429
        assert refused.json()["code"] == "queue-full"
    finally:
        for one in watching:
            one.__exit__(None, None, None)
    eventually(lambda: client.server.observer.listeners == 0)
    assert events_of(client, 1)[0][0] == "hello"


@pytest.mark.parametrize(
    "path", ["?all=1", "/lines/nobodies", "/questions?limit=0", "/questions?before=0", "/questions?sort=1"]
)
def test_what_is_asked_wrongly_is_refused(client, path):
    assert client.get(f"/v1/observations{path}").status_code == 422


def test_who_reads_slowly_misses_events_but_the_newest():
    async def slow():
        watcher = _Watcher(None)
        for number in range(1000):
            watcher.heard("now", b"now %d" % number)
            watcher.heard("branches", b"branches %d" % number)
        return await watcher.next(10.0), await watcher.next(0.01)

    assert asyncio.run(slow()) == ([b"now 999", b"branches 999"], [])


def test_it_looks_seldom_while_nobody_watches_and_at_once_when_somebody_comes(fake, open_service):
    fake.clock = clock = ManualClock()
    start_roads(fake)
    service = open_service(fake)
    eventually(lambda: clock.waiting() == 1)  # its timer
    observer = Observer(service, within_s=1.0)
    others = 1
    heard = []

    class Ear:
        streams = None

        def heard(self, name, content):
            heard.append(name)

    observer.start()
    try:
        eventually(lambda: len(observer.loops.between(None)["times"]) == 1)
        eventually(lambda: clock.waiting() == others + 2)
        clock.advance(UNWATCHED_EVERY_S - 0.5)
        eventually(lambda: clock.waiting() == others + 2)
        assert len(observer.loops.between(None)["times"]) == 1
        observer.add(Ear())
        eventually(lambda: heard.count("now") == 2)  # what was known, and a new look
        eventually(lambda: clock.waiting() == others + 2)
        clock.advance(NOW_EVERY_S)
        eventually(lambda: heard.count("now") == 3)
    finally:
        observer.stop()


def test_who_comes_right_after_a_look_waits_no_longer_for_the_next_one_than_others_who_watch(
    fake, open_service
):
    until_s = {}

    class Noting(ManualClock):
        def wait(self, changed, until):
            until_s[threading.current_thread().name] = until
            super().wait(changed, until)

    class Ear:
        streams = None

        def heard(self, name, content):
            pass

    fake.clock = Noting()
    start_roads(fake)
    observer = Observer(open_service(fake), within_s=1.0)
    observer.start()
    try:
        eventually(lambda: until_s.get("tornado-observer now") == UNWATCHED_EVERY_S)
        observer.add(Ear())
        eventually(lambda: until_s["tornado-observer now"] == NOW_EVERY_S)
    finally:
        observer.stop()


def test_an_observer_that_is_stopped_ends_its_threads_and_starts_again(service):
    observer = Observer(service, within_s=1.0)

    def threads():
        return {one for one in threading.enumerate() if one.name.startswith("tornado-observer")}

    before = threads()  # of tests that have ended, it may be
    for _ in range(3):
        observer.start()
        assert threads() - before
        observer.stop()
        eventually(lambda: threads() <= before)


@given(st.integers(3, 60), st.integers(0, 400))
def test_a_time_line_keeps_its_newest_third_whole_and_its_beginning(most, rows):
    line = TimeLine(["value"], most=most)
    for number in range(rows):
        line.add(
            float(number),
            {Observed("one", "town"): [number * 2.0], Observed(f"other-{number % 3}", "town"): [None]},
        )
    found = line.between(["one"])
    times = found["times"]
    assert len(times) <= most
    assert times == sorted(set(times))
    newest = [float(number) for number in range(max(0, rows - most // 3), rows)]
    assert times[len(times) - len(newest) :] == newest
    if rows:
        assert times[0] == 0.0
        assert found["series"] == {"one": {"value": [time * 2.0 for time in times]}}


def test_who_is_gone_keeps_its_part_of_the_line():
    line = TimeLine(["value"], most=ROWS)
    gone, stays = Observed("gone", "town"), Observed("stays", "town")
    line.add(1.0, {gone: [1.0], stays: [2.0]})
    line.add(2.0, {stays: [3.0]})
    assert line.between(None)["series"] == {"gone": {"value": [1.0, None]}, "stays": {"value": [2.0, 3.0]}}


def test_a_name_that_another_stream_had_before_shows_nothing_of_that():
    line = TimeLine(["value"], most=ROWS)
    line.add(1.0, {Observed("loop", "secret"): [1.0]})
    line.add(2.0, {Observed("loop", "town"): [2.0], Observed("other", "secret"): [3.0]})
    assert line.between(None, {"town"})["series"] == {"loop": {"value": [None, 2.0]}}
    assert line.between(["other"], {"town"})["series"] == {}


def test_the_log_of_questions_is_bounded_and_its_pages_join(service, client):
    for vertex in (1, 2, 3, 4):
        client.post("/v1/queries?wait_s=20", json={"loop": "roads", "vertices": [vertex]})
    with pytest.raises(httpx.HTTPStatusError):
        client.post("/v1/queries", json={"loop": "nowhere"}).raise_for_status()
    log = QuestionLog(service.clock, lines=3)
    for query in service.queries():
        eventually(lambda: query.state.is_final)  # noqa: B023  called in this turn
        log.note(query)

    def asked(**chosen):
        page = json.loads(log.page(**{"limit": 10} | chosen))
        assert (page["kept"], page["newest"]) == (3, 4)
        return [(one["number"], one["vertices"]) for one in page["questions"]]

    assert asked() == [(4, [4]), (3, [3]), (2, [2])]
    assert asked(limit=2) == [(4, [4]), (3, [3])]
    assert asked(before=3) == [(2, [2])]
    assert asked(loop="nowhere") == []
    assert asked(state="failed") == []
    assert asked(state="converged", limit=1) == [(4, [4])]
