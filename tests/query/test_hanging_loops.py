"""Loops that do not answer: nobody waits for them beyond a deadline, and health for nobody."""

import logging
import re
import threading
from contextlib import contextmanager
from functools import partial

import httpx
import pytest

from tests.kafka.chunks import arrow_message
from tests.look import look
from tests.query.conftest import end_looks_of, eventually, start_roads
from tornado.errors import WorkerLost
from tornado.query import http
from tornado.query import service as service_module
from tornado.query.last_known import LastKnown
from tornado.query.query import Query
from tornado.query.request import QueryRequest

NDJSON = {"content-type": "application/x-ndjson"}
SHORT = {f"{kind}_timeout_s": 0.05 for kind in ("look", "ask", "read", "admission")}
LONG = dict.fromkeys(SHORT, 60.0)


def ask(client, **fields):
    return client.post("/v1/queries", params={"wait_s": 20}, json={"loop": "roads"} | fields)


def batch(number):
    return f"/v1/loops/roads/batches/spark:b/{number}"


def stage(client):
    headers = {"content-type": "application/vnd.apache.arrow.stream"}
    return client.put(
        f"{batch(0)}/parts/p/0", content=arrow_message(src=[1], dst=[2], weight=[1.0]), headers=headers
    )


# Whatever asks a loop, by what it asks for.
WAITING = {
    "exact": ask,
    "approximate": partial(ask, mode="approximate", vertices=[3]),
    "approximate whole": partial(ask, mode="approximate"),
    "at": partial(ask, at=1, deadline_s=0.05),
    "after offsets": partial(ask, min_offsets={"edges.csv": 4}),
    "one loop": lambda client: client.get("/v1/loops/roads"),
    "push": lambda client: client.post(
        "/v1/loops/roads/edges", content='{"src": 1, "dst": 2}\n', headers=NDJSON
    ),
    "commit": lambda client: client.post(batch(0), json={"parts": [{"part": "p", "chunks": 1}]}),
}


def asked_at_once(url, asked):
    """Make each request on a thread of its own; return the answers by name, to be read when the threads have ended."""
    answers = {}

    def one(name):
        with httpx.Client(base_url=url, timeout=60, trust_env=False) as mine:
            answers[name] = asked[name](mine)

    threads = [threading.Thread(target=one, args=(name,)) for name in asked]
    for thread in threads:
        thread.start()
    return answers, threads


def is_unresponsive(answer):
    return answer.status_code == 503 and answer.json()["code"] == "unresponsive"


@contextmanager
def soon(bulkhead, deadline_s=0.05):
    """Calls of a kind have a short time for as long as they hang; those that shall come to an end have a long one, before and after."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bulkhead, "deadline_s", deadline_s)
        yield


@contextmanager
def hanging(client, name):
    """Nobody waits long for how this loop stands, which will not say it; others have their time."""
    known = client.service._last_known(name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(known, "wait", lambda question, _: LastKnown.wait(known, question, 0.05))
        yield


@pytest.fixture
def served(fake, open_service, serve):
    """A client of a service over roads, of which one snapshot is stored and one part of a batch is here."""

    def make(limits):
        loop = start_roads(fake)
        loop.checkpoint()
        client = serve(open_service(fake), **limits)
        client.service = client.server.service
        # What observes the service looks at loops by itself: nobody else is to have asked before a test does.
        end_looks_of(client.server.observer)
        client.service._known.clear()
        eventually(lambda: stage(client).status_code == 202)
        return client

    yield make
    fake.answers.set()


def test_health_and_readiness_answer_while_every_call_of_a_loop_hangs(fake, served):
    client = served(LONG)
    fake.answers.clear()
    asked = WAITING | {
        "at": partial(ask, at=1),
        "loops": lambda client: client.get("/v1/loops"),
        "metrics": lambda client: client.get("/metrics"),
    }
    answers, threads = asked_at_once(client.server.url, asked)
    kinds = client.server._bulkheads
    begun = (kinds.forks, kinds.reads, kinds.looks, kinds.admissions)
    eventually(lambda: all(kind._threads > kind._idle for kind in begun))
    for _ in range(50):
        assert client.get("/healthz", timeout=30).json() == {"status": "ok"}
        assert client.get("/readyz", timeout=30).json() == {"status": "ready", "loops": ["roads"]}
    assert answers == {}
    fake.answers.set()
    for thread in threads:
        thread.join()
    assert {name: answer.status_code for name, answer in answers.items()} == {
        name: 202 if name == "push" else 200 for name in asked
    }


@pytest.mark.parametrize("name", WAITING)
def test_what_waits_for_a_loop_says_503_at_its_deadline_and_works_again_afterwards(fake, served, name):
    client = served(SHORT)
    fake.answers.clear()
    answer = WAITING[name](client)
    assert (answer.status_code, answer.headers["content-type"]) == (503, "application/problem+json")
    assert (answer.json()["code"], answer.headers["retry-after"]) == ("unresponsive", "1")
    assert answer.json()["hint"]
    fake.answers.set()
    kinds = client.server._bulkheads
    eventually(lambda: not any(getattr(kinds, kind).late() for kind in kinds.__slots__))
    eventually(lambda: WAITING[name](client).status_code == (202 if name == "push" else 200))


def test_a_question_whose_client_was_told_to_ask_again_is_cancelled_and_forgotten(fake, served):
    client = served(LONG)
    forks = client.server._bulkheads.forks
    fake.gate.clear()
    fake.answers.clear()
    with soon(forks):
        # One that nobody waits for any more before it is begun is no question, and leaves no branch.
        eventually(lambda: ask(client).status_code == 503 and forks.late() == 1)
    fake.answers.set()
    eventually(lambda: forks.late() == 0)
    assert client.get("/v1/queries").json() == {"queries": []}
    [branch] = fake.loops["roads"].branches
    eventually(lambda: branch.state.value == "cancelled")


def test_so_many_questions_that_hang_stop_no_others_but_questions(fake, served):
    client = served(LONG)
    loads = client.server._bulkheads.loads
    assert client.get("/v1/loops").status_code == 200
    fake.answers.clear()

    def refused():
        answer = ask(client, at=1, deadline_s=0.05).json()
        assert answer["code"] == "unresponsive"
        return answer["detail"]

    # One that nobody waits for any more before it is begun does not hang.
    eventually(lambda: "did not come to an end within" in refused() and loads.late() == 8)
    assert "8 calls of the kind 'fork of a stored snapshot' hang" in refused()
    assert client.get("/healthz").status_code == 200
    assert client.get("/v1/queries").status_code == 200
    assert client.server._bulkheads.looks.late() == 0


def test_a_loop_that_does_not_answer_is_shown_as_it_was_last_with_the_age_of_that(fake, served):
    client = served(LONG | {"look_timeout_s": 1.0})
    newest = '"statistics_age_s":0.0'
    [fresh] = look(client.get, "/v1/loops", shows=newest).json()["loops"]
    # The offsets of a loop of ours are there whatever its workers do.
    client.service.loop("roads").offsets = lambda: {"edges.csv": 4}
    fake.answers.clear()
    [known] = look(client.get, "/v1/loops").json()["loops"]
    assert known.pop("statistics_age_s") > 0
    assert (fresh.pop("state"), known.pop("state")) == ("running", "unresponsive")
    assert known == {name: value for name, value in fresh.items() if name != "statistics_age_s"}
    text = look(client.get, "/metrics").text
    assert 'tornado_edges{loop="roads"} 4.0' in text
    [age] = [line for line in text.splitlines() if line.startswith("tornado_loop_statistics_age_seconds{")]
    assert float(age.split()[-1]) > 0
    fake.answers.set()
    assert look(client.get, "/v1/loops", shows=newest).json()["loops"][0]["state"] == "running"


def states(client):
    """The states of loops, as the list has them and as metrics have them."""
    listed = {one["name"]: one["state"] for one in client.get("/v1/loops").json()["loops"]}
    lines = client.get("/metrics").text.splitlines()
    measured = dict(
        re.fullmatch(r'tornado_loop_state\{loop="(.*)",state="(.*)"\} 1.0', line).groups()
        for line in lines
        if line.startswith("tornado_loop_state{") and line.endswith(" 1.0")
    )
    return listed, measured


def test_a_loop_that_has_never_answered_is_listed_as_unresponsive_beside_the_others(fake, served):
    client = served(LONG)
    start_roads(fake, name="lanes")
    roads, never = client.service.loop("roads"), threading.Event()
    roads.statistics, roads.offsets = never.wait, dict
    try:
        with hanging(client, "roads"):
            assert states(client) == ({"lanes": "running", "roads": "unresponsive"},) * 2
            lanes, silent = client.get("/v1/loops").json()["loops"]
            assert (lanes["edges"], lanes["statistics_age_s"]) == (4, 0.0)
            assert (silent["program"], silent["edges"], silent["statistics_age_s"]) == ("Fastest", None, None)
            answer = client.get("/v1/loops/roads")
            assert (answer.status_code, answer.json()["code"]) == (503, "unresponsive")
            assert 'tornado_edges{loop="lanes"} 4.0' in client.get("/metrics").text
    finally:
        never.set()


def test_a_stream_whose_loop_does_not_answer_hides_no_other_and_is_shown_as_it_was_last(fake, served):
    client = served(LONG)
    start_roads(fake, name="lanes")
    roads, answers = client.service.loop("roads"), threading.Event()
    says, roads.offsets = roads.statistics, lambda: {"edges.csv": 4}
    roads.statistics = lambda: answers.wait() and says()
    try:
        with hanging(client, "roads"):
            lanes, silent = client.get("/v1/streams").json()["streams"]
            answer = client.get("/v1/streams/roads")
        assert (lanes["name"], lanes["edges"], lanes["statistics_age_s"]) == ("lanes", 4, 0.0)
        assert (silent["name"], silent["edges"], silent["statistics_age_s"]) == ("roads", None, None)
        assert (silent["offsets"], list(silent["sources"])) == ({"edges.csv": 4}, ["edges.csv"])
        assert (answer.status_code, answer.json()["code"]) == (503, "unresponsive")
        answers.set()
        assert client.get("/v1/streams/roads").json()["statistics_age_s"] == 0.0
        answers.clear()
        with hanging(client, "roads"):
            known = client.get("/v1/streams/roads").json()
        assert (known["edges"], known["statistics_age_s"] > 0) == (4, True)
        assert client.get("/v1/streams/lanes").json()["statistics_age_s"] == 0.0
    finally:
        answers.set()


def test_a_loop_that_failed_is_listed_with_what_it_said_last_and_hides_no_other(fake, served):
    client = served(LONG)
    start_roads(fake, name="lanes")
    roads = client.service.loop("roads")
    says = [roads.statistics]

    def statistics():
        return says[-1]()

    roads.statistics = statistics
    assert states(client) == ({"lanes": "running", "roads": "running"},) * 2

    def failed():
        raise WorkerLost("worker 1 of loop 'roads' was lost for good")

    says.append(failed)
    assert states(client) == ({"lanes": "running", "roads": "failed"},) * 2
    lanes, gone = client.get("/v1/loops").json()["loops"]
    assert lanes["error"] is None
    assert (gone["error"], gone["edges"]) == ("worker 1 of loop 'roads' was lost for good", 4)
    assert gone["statistics_age_s"] > 0
    text = client.get("/metrics").text
    assert 'tornado_edges{loop="lanes"} 4.0' in text
    assert 'tornado_loop_statistics_age_seconds{loop="lanes"} 0.0' in text
    answer = client.get("/v1/loops/roads")
    assert (answer.status_code, answer.json()["detail"]) == (503, gone["error"])


def test_a_query_whose_workers_hang_is_described_with_the_progress_of_the_last_look(fake, served):
    client = served(LONG)
    fake.gate.clear()
    query = client.post("/v1/queries", json={"loop": "roads"}).json()
    path = f"/v1/queries/{query['id']}"
    eventually(lambda: client.get(path).json()["iteration"] > 0)
    before = client.service.get(query["id"]).status(asks=False).progress.iteration
    fake.answers.clear()
    with soon(client.server._bulkheads.progress):
        seen = client.get(path).json()
        assert (seen["state"], seen["iteration"]) == ("running", before)
        assert [one["id"] for one in client.get("/v1/queries").json()["queries"]] == [query["id"]]
    with (
        soon(client.server._bulkheads.progress),
        client.stream("GET", f"{path}/events") as events,
    ):
        lines = events.iter_lines()
        assert next(lines) == "event: progress"
        assert client.get("/healthz").status_code == 200
        fake.gate.set()
        assert any(line == "event: done" for line in lines)
    assert client.get(path).json()["state"] == "converged"


def test_a_query_can_be_cancelled_while_its_workers_hang(fake, served):
    client = served(LONG)
    fake.gate.clear()
    query = client.post("/v1/queries", json={"loop": "roads"}).json()
    fake.answers.clear()
    assert client.delete(f"/v1/queries/{query['id']}").json()["state"] == "cancelled"


def test_a_branch_that_ends_asks_no_loop_before_the_next_one_is_forked(
    fake, clock, open_service, monkeypatch
):
    """Who ends a branch takes the reports of workers: a worker that hangs there would keep all others from being heard."""
    loop = start_roads(fake)
    answering = threading.Event()
    answering.set()
    monkeypatch.setattr(loop, "statistics", lambda answer=loop.statistics: answering.wait() and answer())
    monkeypatch.setattr(service_module, "VERTICES_KNOWN_FOR_S", 0.0)  # so that it is asked for each branch
    service = open_service(fake, branches=2)
    fake.gate.clear()

    def submitted(source, deadline_s):
        request = QueryRequest(
            loop="roads", vertices=(3,), parameters={"source": source}, deadline_s=deadline_s
        )
        return service.submit(request)

    running, ending, waiting = submitted(1, 60), submitted(2, 30), submitted(5, 60)
    assert [query.state.value for query in (running, ending, waiting)] == ["running", "running", "queued"]
    answering.clear()
    try:
        clock.advance(30)
        eventually(lambda: ending.state.is_final)  # at its deadline, on the thread of its branch
        eventually(lambda: waiting.state.value == "running")
        assert running.state.value == "running"
    finally:
        answering.set()


def test_an_answer_that_hangs_while_it_is_read_is_a_problem_and_let_go_of_later(fake, served, monkeypatch):
    client = served(LONG)
    query = client.post("/v1/queries", json={"loop": "roads"}).json()
    client.get(f"/v1/queries/{query['id']}", params={"wait_s": 20})
    [branch] = fake.loops["roads"].branches
    values = branch.values()
    page = values.page
    monkeypatch.setattr(values, "page", lambda *where: fake.answers.wait() and page(*where))
    fake.answers.clear()
    results = client.server._bulkheads.results

    def hangs():
        for path in ("result", "result?limit=2"):
            assert is_unresponsive(client.get(f"/v1/queries/{query['id']}/{path}"))
        return results.late() > 0

    with soon(results):
        # One that nobody waits for any more before it is begun keeps nothing.
        eventually(hangs)
    client.delete(f"/v1/queries/{query['id']}")
    assert not branch.released
    fake.answers.set()
    eventually(lambda: branch.released)


def test_a_body_keeps_its_place_until_the_thread_that_has_it_comes_to_its_end(fake, open_service, serve):
    start_roads(fake)
    client = serve(open_service(fake), edge_requests=1, admission_timeout_s=0.5)
    admissions = client.server._bulkheads.admissions
    fake.answers.clear()
    try:
        # One that nobody waits for any more before its thread has it gives its place back.
        eventually(lambda: is_unresponsive(WAITING["push"](client)) and admissions.late() == 1)
        # The last one's thread has its body still.
        assert WAITING["push"](client).status_code == 429
    finally:
        fake.answers.set()
    eventually(lambda: WAITING["push"](client).status_code == 202)


def test_a_server_that_ends_answers_what_hangs_with_one_warning_in_its_log(
    fake, open_service, serve, monkeypatch, caplog
):
    monkeypatch.setattr(http, "STOPPING_S", 0.3)
    monkeypatch.setattr(
        http, "_CANCELLED_S", 60
    )  # what was cancelled has its time: the framework would have a log of its own
    start_roads(fake)
    client = serve(open_service(fake), admission_timeout_s=60.0)
    fake.answers.clear()
    try:
        answers, threads = asked_at_once(client.server.url, {"push": WAITING["push"]})
        eventually(lambda: client.server._bulkheads.admissions._threads)
        client.server.stop()
        for thread in threads:
            thread.join()
    finally:
        fake.answers.set()
    answer = answers["push"]
    assert (answer.status_code, answer.json()["code"]) == (503, "unresponsive")
    assert "may have been done or not" in answer.json()["hint"]
    [said] = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert said.getMessage().endswith("requests that have not come to an end within 0.3 s: 1")
    assert not said.exc_info


def test_a_body_that_no_thread_took_gives_its_place_back(fake, open_service, serve, monkeypatch):
    start_roads(fake)
    client = serve(open_service(fake), edge_requests=1, admission_timeout_s=0.05)
    with monkeypatch.context() as patch:
        patch.setattr(client.server._bulkheads.admissions, "_count_late", lambda: 100)
        for _ in range(2):
            assert WAITING["push"](client).json()["code"] == "unresponsive"
    eventually(lambda: WAITING["push"](client).status_code == 202)


def test_a_list_of_queries_is_not_described_on_the_event_loop(fake, open_service, serve, monkeypatch):
    start_roads(fake)
    client = serve(open_service(fake))
    asked = [ask(client, vertices=[3]).json()["id"] for _ in range(3)]
    threads = []
    status = Query.status

    def noted(query, *, asks=True):
        threads.append(threading.current_thread().name)
        return status(query, asks=asks)

    monkeypatch.setattr(Query, "status", noted)
    listed = client.get("/v1/queries").json()["queries"]
    assert [one["id"] for one in listed] == asked[::-1]
    assert len(threads) == 3
    assert "tornado-http" not in threads  # the event loop's
