"""Who is let in: every route of OpenAPI without a token, with a wrong one, with one that only reads and with another stream's."""

import json

import httpx
import pytest

from tests.query.conftest import eventually, start_roads
from tornado.errors import Forbidden
from tornado.query.callers import NOBODY
from tornado.query.http import HttpServer
from tornado.query.http_access import NEEDS, About
from tornado.query.token_file import TokenFile

READER, WRITER, ROADS, LANES = "r-e-a-d", "w-r-i-t-e", "roads-only", "lanes-only"
LINES = f"""
# Everything a file of tokens may have.
read {READER}
write {WRITER} name=loader
write {ROADS} roads
read {LANES} lanes    # another stream
"""
PUBLIC = {"/", "/healthz", "/readyz", "/openapi.json", "/docs", "/page/{build}/{path:path}"}
METHODS = ("get", "put", "post", "delete", "patch")
NDJSON = {"content-type": "application/x-ndjson"}


@pytest.fixture
def service(fake, open_service):
    start_roads(fake, "roads")
    start_roads(fake, "lanes")
    return open_service(fake)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "tokens"
    path.write_text(LINES)
    return path


@pytest.fixture
def server(service, path):
    with HttpServer(service, port=0, tokens=TokenFile.of(path)) as server:
        yield server


@pytest.fixture
def ask(server):
    with httpx.Client(base_url=server.url, timeout=30) as client:

        def ask(method, path, token=None, **given):
            headers = dict(given.pop("headers", {}))
            if token is not None:
                headers["Authorization"] = f"Bearer {token}"
            return client.request(method, path, headers=headers, **given)

        yield ask


def routes(ask):
    """Every method of every path of OpenAPI, the path filled with things of the stream roads."""
    query = ask("POST", "/v1/queries", WRITER, json={"loop": "roads", "mode": "approximate", "top": 1}).json()
    for path, methods in ask("GET", "/openapi.json").json()["paths"].items():
        for method in methods:
            if method in METHODS:
                filled = (
                    path.replace("{id}", query["id"]).replace("{source}", "spark:q").replace("{number}", "0")
                )
                filled = (
                    filled.replace("{reader}", "me")
                    .replace("{part}", "p")
                    .replace("{chunk}", "0")
                    .replace("{of}", "loops")
                )
                yield method.upper(), path, filled.replace("{name}", "roads")


def test_every_route_of_openapi_says_what_it_needs_and_nothing_else_does(ask):
    listed = {(path, method) for method, path, _ in routes(ask)}
    needed = {(path, method) for path, methods in NEEDS.items() for method in methods}
    assert listed - needed == set(), "say in NEEDS who may call these"
    assert needed - listed <= {(path, "GET") for path in PUBLIC}


READERS_CHANGE = {
    ("POST", "/v1/tickets"),
    ("POST", "/v1/queries"),
    ("DELETE", "/v1/queries/{id}"),
    ("POST", "/v1/loops/{name}/readers/{reader}"),
    ("DELETE", "/v1/loops/{name}/readers/{reader}"),
}


def test_what_a_route_needs_follows_from_its_method_and_its_path():
    # The other tests ask the table what to expect: this one does not.
    for path, methods in NEEDS.items():
        for method, need in methods.items():
            changes = method != "GET" and (method, path) not in READERS_CHANGE
            assert need.writes == changes, (method, path)
            if path in PUBLIC:
                about = About.NOTHING
            elif path.endswith("/rescale"):
                about = About.ALL_STREAMS
            elif path.startswith("/v1/loops/{name}"):
                about = About.LOOP
            elif path.startswith("/v1/streams/{name}"):
                about = About.STREAM
            elif path.startswith("/v1/queries/{id}"):
                about = About.QUERY
            else:
                about = About.WHAT_IT_SEES
            assert need.about is about, (method, path)


def test_every_route_is_closed_without_a_token_and_with_a_wrong_one(ask):
    tried = 0
    for method, path, filled in routes(ask):
        for headers in (
            {},
            {"Authorization": "Bearer wrong"},
            {"Authorization": f"Basic {WRITER}"},
            {"Authorization": WRITER},
            {"Authorization": f"Bearer {WRITER}x"},
            {"Authorization": "Bearer"},
        ):
            answer = ask(method, filled, headers=headers, content=b"{}")
            if path in PUBLIC:
                assert answer.status_code == 200
                continue
            assert answer.status_code == 401, (method, path, headers)
            assert answer.headers["www-authenticate"].startswith("Bearer")
            assert answer.headers["content-type"] == "application/problem+json"
            assert answer.json()["code"] == "unauthorized"
            assert WRITER not in answer.text
            tried += 1
    assert tried > 100


def test_who_only_reads_is_refused_whatever_changes_something(ask):
    changing = 0
    for method, path, filled in routes(ask):
        if path.endswith("/events"):
            continue  # they do not end
        answer = ask(method, filled, READER, content=b"")
        if (need := NEEDS[path][method]).writes:
            changing += 1
            assert (answer.status_code, answer.json()["code"]) == (403, "forbidden"), (method, path)
        elif need.about is not About.EVERYTHING and method == "GET":
            assert answer.status_code not in {401, 403}, (method, path, answer.text)
    assert changing >= 12


def test_a_token_of_another_stream_sees_nothing_of_this_one(ask):
    for method, path, filled in routes(ask):
        need = NEEDS[path][method]
        if need.about in {About.LOOP, About.STREAM, About.QUERY, About.ALL_STREAMS, About.EVERYTHING}:
            answer = ask(method, filled, LANES, content=b"")
            assert (answer.status_code, answer.json()["code"]) == (403, "forbidden"), (method, path)
    for body in ({"loop": "roads"}, {"loop": "nowhere"}, {"loop": "roads", "points": [[1.0]]}):
        answer = ask("POST", "/v1/queries", LANES, json=body)
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
        assert "running" not in answer.text
    started = ask("POST", "/v1/loops", ROADS, json={"program": "bfs", "stream": "lanes"})
    assert started.status_code == 403


def test_who_follows_a_loop_hears_nothing_of_a_question_of_another_stream(ask):
    asked = ask("POST", "/v1/queries", READER, json={"loop": "roads", "mode": "approximate"}).json()
    for token, status in ((LANES, 403), (READER, 422)):
        answer = ask("POST", "/v1/loops/lanes/readers/me", token, json={"query": asked["id"]})
        assert answer.status_code == status
        assert ("roads" in answer.text) == (token == READER)


def test_what_is_kept_for_who_follows_is_let_go_of_by_nobody_else_who_only_reads(ask, path):
    path.write_text(LINES + "read other-reader")
    asked = ask("POST", "/v1/queries?wait_s=20", READER, json={"loop": "roads"}).json()
    reader, keep = "/v1/loops/roads/readers/me", {"json": {"query": asked["id"]}}
    version = ask("POST", reader, READER, **keep).json()["version"]
    for refused in (
        ask("DELETE", reader, "other-reader", params={"before": version}),
        ask("POST", reader, "other-reader", **keep),
    ):
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
        assert "a token that may write" in refused.json()["hint"]
    assert ask("GET", reader, "other-reader", params={"after": 0, "up_to": version}).status_code == 200
    for token in (READER, ROADS):
        assert ask("DELETE", reader, token, params={"before": version}).status_code == 204


def test_what_is_not_there_is_refused_in_the_words_of_what_is_not_shown(ask):
    hidden, missing = (ask("GET", f"/v1/loops/{name}", LANES) for name in ("roads", "woods"))
    assert hidden.json() == {
        **missing.json(),
        "detail": missing.json()["detail"].replace("woods", "roads"),
    }
    assert ask("GET", "/v1/loops/woods", READER).status_code == 404


def test_lists_show_a_token_of_one_stream_only_that(ask):
    for loop in ("roads", "lanes"):
        ask("POST", "/v1/queries", READER, json={"loop": loop, "mode": "approximate", "top": 1})
    for token, seen in ((READER, {"roads", "lanes"}), (ROADS, {"roads"}), (LANES, {"lanes"})):
        assert {loop["name"] for loop in ask("GET", "/v1/loops", token).json()["loops"]} == seen
        assert {stream["name"] for stream in ask("GET", "/v1/streams", token).json()["streams"]} == seen
        assert {query["loop"] for query in ask("GET", "/v1/queries", token).json()["queries"]} == seen
        metrics = ask("GET", "/metrics", token).text
        assert all((f'"{name}"' in metrics) == (name in seen) for name in ("roads", "lanes"))
        assert ("tornado_process_memory_bytes" in metrics) == (token == READER)
    assert ask("GET", "/readyz").json() == {"status": "ready"}


def test_readiness_names_loops_and_failures_of_the_streams_of_a_token_alone(ask, fake):
    fake.loops["roads"].stream.not_logged = "the disk is full"
    everything = {"status": "ready", "loops": ["lanes", "roads"], "not_logged": {"roads": "the disk is full"}}
    assert ask("GET", "/readyz", READER).json() == everything
    assert ask("GET", "/readyz", ROADS).json() == everything | {"loops": ["roads"]}
    assert ask("GET", "/readyz", LANES).json() == {"status": "ready", "loops": ["lanes"]}


def test_head_is_let_in_as_get_is(ask):
    for path in ("/healthz", "/readyz"):
        answer = ask("HEAD", path)
        assert (answer.status_code, answer.content) == (200, b"")
    assert ask("HEAD", "/v1/loops").status_code == 401
    assert ask("HEAD", "/nowhere").status_code == 401
    assert ask("HEAD", "/v1/loops/roads", LANES).status_code == 403
    assert ask("HEAD", "/v1/loops/roads", READER).status_code == 405


def test_what_is_observed_shows_a_token_of_one_stream_only_that(ask, server):
    for loop in ("roads", "lanes"):
        ask("POST", "/v1/queries", READER, json={"loop": loop, "mode": "approximate", "top": 1})
    eventually(lambda: ask("GET", "/v1/observations/lines/loops", READER).json()["times"])
    paths = ["", "/lines/loops", "/lines/streams", "/lines/workers", "/questions", "/report"]
    for path in paths:
        everything = ask("GET", f"/v1/observations{path}", READER).text
        assert '"lanes' in everything and '"roads' in everything
        lanes = ask("GET", f"/v1/observations{path}", LANES)
        assert lanes.status_code == 200
        assert '"lanes' in lanes.text and '"roads' not in lanes.text
    ask("POST", "/v1/queries", READER, json={"loop": "roads", "mode": "approximate", "top": 1})
    eventually(lambda: ask("GET", "/v1/observations/questions", READER).json()["kept"] == 3)
    # A number of a line that grew with the questions of other streams would tell how many these are.
    for token, numbers in ((READER, [3, 2, 1]), (ROADS, [2, 1]), (LANES, [1])):
        found = ask("GET", "/v1/observations/questions", token).json()
        assert (found["kept"], found["newest"]) == (len(numbers), len(numbers))
        assert [one["number"] for one in found["questions"]] == numbers
        before = ask("GET", "/v1/observations/questions?before=2", token).json()["questions"]
        assert [one["number"] for one in before] == [1]
        assert ask("GET", "/v1/observations", token).json()["questions"] == len(numbers)
        report = ask("GET", "/v1/observations/report", token).text
        assert f'"questions":{len(numbers)}' in report
    # What all streams have together is for who may see them all.
    assert ask("GET", "/v1/observations", READER).json()["process"]["memory_bytes"] > 0
    assert ask("GET", "/v1/observations", LANES).json()["process"]["memory_bytes"] is None
    for token, seen, asked in ((READER, ["lanes", "roads"], 3), (LANES, ["lanes"], 1)):
        ticket = ask("POST", "/v1/tickets", token).json()["ticket"]
        address = f"{server.url}/v1/observations/events?ticket={ticket}"
        with httpx.stream("GET", address, timeout=30) as events:
            for line in events.iter_lines():
                if line.startswith("data: ") and '"streams"' in line:
                    now = json.loads(line.removeprefix("data: "))
                    if token == READER and now["questions"] < asked:
                        continue  # what was known before all of them had ended
                    assert [one["name"] for one in now["streams"]] == seen
                    assert [one["stream"] for one in now["loops"]] == seen
                    assert now["questions"] == asked
                    break


def test_write_includes_read_and_a_token_of_a_stream_writes_there(ask):
    pushed = ask("POST", "/v1/streams/roads/edges", ROADS, content=b'{"src": 1, "dst": 2}', headers=NDJSON)
    assert (pushed.status_code, pushed.json()["accepted"]) == (202, 1)
    answer = ask("POST", "/v1/queries?wait_s=20", ROADS, json={"loop": "roads", "vertices": [3]})
    assert answer.json()["state"] == "converged"
    refused = ask("POST", "/v1/streams/lanes/edges", ROADS, content=b'{"src": 1, "dst": 2}', headers=NDJSON)
    assert refused.status_code == 403
    # All streams have the same workers.
    assert ask("POST", "/v1/streams/roads/rescale", ROADS, json={"workers": 2}).status_code == 403


def test_who_only_reads_ends_its_own_questions_and_nobody_elses(ask):
    asked = {
        token: ask("POST", "/v1/queries", token, json={"loop": "roads", "mode": "approximate"}).json()["id"]
        for token in (READER, WRITER)
    }
    assert ask("DELETE", f"/v1/queries/{asked[WRITER]}", READER).status_code == 403
    assert ask("DELETE", f"/v1/queries/{asked[READER]}", READER).status_code == 200
    assert ask("DELETE", f"/v1/queries/{asked[WRITER]}", WRITER).status_code == 200


def test_what_has_no_route_needs_a_token_too(ask):
    assert ask("GET", "/nowhere").status_code == 401
    assert ask("GET", "/nowhere", READER).status_code == 404
    assert ask("POST", "/nowhere", READER).status_code == 403
    assert ask("GET", "/nowhere", LANES).status_code == 403
    assert ask("PATCH", "/v1/loops/roads", WRITER).status_code == 405


def test_nobody_sees_and_changes_nothing_wherever_that_is_asked():
    assert not NOBODY.sees("roads") and not NOBODY.writes
    with pytest.raises(Forbidden):
        NOBODY.require_all(["roads"], "this")


def test_two_tokens_at_once_are_none(server):
    headers = [("Authorization", f"Bearer {READER}"), ("Authorization", f"Bearer {WRITER}")]
    assert httpx.get(f"{server.url}/v1/loops", headers=headers).status_code == 401


def test_a_token_holds_from_the_moment_it_is_in_the_file_and_no_longer(ask, path):
    assert ask("GET", "/v1/loops", "new").status_code == 401
    path.write_text(LINES + "read new\n")
    assert ask("GET", "/v1/loops", "new").status_code == 200
    path.write_text(LINES.replace(f"read {READER}\n", ""))
    assert ask("GET", "/v1/loops", "new").status_code == 401
    assert ask("GET", "/v1/loops", READER).status_code == 401
    assert ask("GET", "/v1/loops", WRITER).status_code == 200


@pytest.mark.parametrize("broken", ["raed t0k3n\n", "", None])
def test_a_file_that_has_become_wrong_changes_nothing_and_is_complained_of_once(ask, path, caplog, broken):
    path.unlink()
    if broken is not None:
        path.write_text(broken)
    for _ in range(3):
        assert ask("GET", "/v1/loops", READER).status_code == 200
    [record] = [record for record in caplog.records if "tokens" in record.getMessage()]
    assert "stay as they were" in record.getMessage()
    assert "t0k3n" not in caplog.text
    path.write_text("read other\n")
    assert ask("GET", "/v1/loops", READER).status_code == 401
    assert ask("GET", "/v1/loops", "other").status_code == 200


def test_a_ticket_stands_for_the_token_that_asked_for_it_once(ask):
    def ticket(token):
        answer = ask("POST", "/v1/tickets", token)
        assert answer.status_code == 201
        assert answer.headers["cache-control"] == "no-store"
        return answer.json()["ticket"]

    assert ask("POST", "/v1/tickets").status_code == 401
    given = ticket(LANES)
    assert [loop["name"] for loop in ask("GET", f"/v1/loops?ticket={given}").json()["loops"]] == ["lanes"]
    assert ask("GET", f"/v1/loops?ticket={given}").status_code == 401
    assert ask("GET", f"/v1/loops/roads?ticket={ticket(LANES)}").status_code == 403
    # It reads, whatever its token may.
    assert ask("DELETE", f"/v1/loops/roads?ticket={ticket(WRITER)}").status_code == 401
    assert ask("GET", "/v1/queries", READER, params={"ticket": "none", "limit": 1}).status_code == 200


def test_a_ticket_is_worth_what_its_token_is_worth_now(ask, path):
    given = [ask("POST", "/v1/tickets", token).json()["ticket"] for token in (READER, ROADS)]
    path.write_text(
        LINES.replace(f"read {READER}\n", "").replace(f"write {ROADS} roads", f"write {ROADS} lanes")
    )
    assert ask("GET", f"/v1/loops?ticket={given[0]}").status_code == 401
    assert [loop["name"] for loop in ask("GET", f"/v1/loops?ticket={given[1]}").json()["loops"]] == ["lanes"]


def test_a_ticket_runs_out(fake, clock, open_service):
    start_roads(fake)
    service = open_service(fake)
    with HttpServer(service, port=0, tokens=TokenFile.of(f"read {READER}")) as server:
        auth = {"Authorization": f"Bearer {READER}"}
        given = [httpx.post(f"{server.url}/v1/tickets", headers=auth).json() for _ in range(2)]
        clock.advance(given[0]["expires_s"] - 1)
        assert httpx.get(f"{server.url}/v1/loops", params={"ticket": given[0]["ticket"]}).status_code == 200
        clock.advance(1)
        assert httpx.get(f"{server.url}/v1/loops", params={"ticket": given[1]["ticket"]}).status_code == 401


def test_a_service_without_tokens_takes_tickets_as_well(serve, service):
    client = serve(service)
    given = client.post("/v1/tickets").json()["ticket"]
    assert client.get("/v1/loops", params={"ticket": given}).status_code == 200


def test_events_end_when_their_token_is_for_other_streams(ask, server, path):
    auth = {"Authorization": f"Bearer {ROADS}"}
    with httpx.stream("GET", f"{server.url}/v1/observations/events", headers=auth, timeout=30) as events:
        lines = events.iter_lines()
        assert next(lines) == "event: hello"
        path.write_text(f"write {ROADS} lanes\n")
        said = "\n".join(lines)
    assert "event: error" in said
    assert "lanes" not in said


def test_events_end_when_their_token_is_taken_away(ask, server, path, fake):
    fake.gate.clear()
    asked = ask("POST", "/v1/queries", READER, json={"loop": "roads", "deadline_s": 60}).json()
    auth = {"Authorization": f"Bearer {READER}"}
    with httpx.stream(
        "GET", f"{server.url}/v1/queries/{asked['id']}/events", headers=auth, timeout=30
    ) as events:
        lines = events.iter_lines()
        assert next(lines) == "event: progress"
        path.write_text(f"write {WRITER}\n")
        said = "\n".join(lines)
    assert "event: error" in said
    assert json.loads(said.rpartition("data: ")[2])["code"] == "unauthorized"
    assert "done" not in said
    # What it has asked goes on: its answer is for those who may see the stream.
    assert ask("GET", f"/v1/queries/{asked['id']}", READER).status_code == 401
    fake.gate.set()
    eventually(lambda: ask("GET", f"/v1/queries/{asked['id']}", WRITER).json()["state"] == "converged")
