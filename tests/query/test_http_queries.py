"""Queries over real sockets: what `/v1/queries` promises, and what becomes of mistakes."""

import csv
import io
import json
import math
import socket
import struct
import threading
import time

import httpx
import numpy as np
import pyarrow as pa
import pytest

from tests.promised import within
from tests.query.conftest import start_roads
from tornado.errors import StoreCorrupt
from tornado.ingest.interner import Interner
from tornado.query.ids import StringIds
from tornado.records.edge_batch import EdgeBatch

CSV = {"Accept": "text/csv"}
NDJSON = {"Accept": "application/x-ndjson"}
ARROW = {"Accept": "application/vnd.apache.arrow.stream"}


def ask(client, *, wait_s=20, **fields):
    params = {} if wait_s is None else {"wait_s": wait_s}
    return client.post("/v1/queries", json={"loop": "roads", **fields}, params=params)


def problem(response, status, code):
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    document = response.json()
    assert (document["status"], document["code"]) == (status, code)
    assert document["detail"]
    return document


def test_a_question_is_accepted_with_its_location_and_can_be_followed_to_its_result(standing):
    response = ask(standing, wait_s=None, vertices=[4, 5])
    assert response.status_code == 202
    body = response.json()
    assert response.headers["location"] == f"/v1/queries/{body['id']}"
    assert (body["loop"], body["state"] in {"queued", "running", "converged"}) == ("roads", True)
    assert "result" not in body
    body = standing.get(response.headers["location"], params={"wait_s": 20}).json()
    assert body["state"] == "converged"
    assert body["certificate"] == {"kind": "exact"}
    assert body["snapshot"]["offsets"] == {"edges.csv": 4}
    assert body["snapshot"]["delay_bound"] == 64
    assert body["snapshot"]["stream"] == "roads"
    assert {"instant", "version", "iteration"} <= set(body["snapshot"])
    assert {"iteration", "updates", "residual", "elapsed_s"} <= set(body)
    result = standing.get(f"/v1/queries/{body['id']}/result").json()
    assert result == {
        "values": [{"vertex": 4, "value": 10.0}, {"vertex": 5, "value": None}],
        "unknown": [],
        "next": None,
    }


def test_waiting_answers_with_the_result_inside(standing):
    response = ask(standing, vertices=[3, 99])
    assert response.status_code == 200
    assert response.headers["location"].endswith(response.json()["id"])
    assert response.json()["result"] == {
        "values": [{"vertex": 3, "value": 3.0}],
        "unknown": [99],
        "next": None,
    }


def test_the_instant_is_utc_with_milliseconds(standing):
    instant = ask(standing, vertices=[3]).json()["snapshot"]["instant"]
    assert len(instant) == len("2026-01-01T00:00:00.000Z")
    assert instant.endswith("Z")


def test_a_whole_result_inside_an_answer_is_cut_and_says_how_to_go_on(service, serve):
    client = serve(service, inline_rows=4)
    body = ask(client).json()
    assert [row["vertex"] for row in body["result"]["values"]] == [1, 2, 3, 4]
    rest = client.get(f"/v1/queries/{body['id']}/result", params={"after": body["result"]["next"]}).json()
    assert [row["vertex"] for row in rest["values"]] == [5, 6]


def test_an_approximate_question_is_answered_at_once(client, roads):
    assert roads.wait_idle(20)
    response = ask(client, wait_s=None, mode="approximate", vertices=[3])
    assert response.status_code == 200
    body = response.json()
    assert body["result"]["values"] == [{"vertex": 3, "value": 3.0}]
    assert body["certificate"] == {"kind": "none"}
    assert client.get(f"/v1/queries/{body['id']}").json()["state"] == "converged"
    whole = ask(client, wait_s=None, mode="approximate").json()
    assert len(whole["result"]["values"]) == 6
    assert [row["vertex"] for row in ask(client, mode="approximate", top=2).json()["result"]["values"]] == [
        1,
        2,
    ]


def test_a_whole_result_comes_in_every_format(standing):
    path = f"/v1/queries/{ask(standing).json()['id']}/result"
    expected = [(1, 0.0), (2, 1.0), (3, 3.0), (4, 10.0), (5, None), (6, None)]

    response = standing.get(path)
    assert response.headers["content-type"] == "application/json"
    assert [(row["vertex"], row["value"]) for row in response.json()["values"]] == expected
    assert (response.json()["unknown"], response.json()["next"]) == ([], None)

    response = standing.get(path, headers=NDJSON)
    assert response.headers["content-type"] == "application/x-ndjson"
    lines = [json.loads(line) for line in response.text.splitlines()]
    assert [(row["vertex"], row["value"]) for row in lines] == expected

    response = standing.get(path, headers=CSV)
    assert response.headers["content-type"].startswith("text/csv")
    assert response.text == "vertex,value\n1,0.0\n2,1.0\n3,3.0\n4,10.0\n5,\n6,\n"

    response = standing.get(path, headers=ARROW)
    assert response.headers["content-type"] == "application/vnd.apache.arrow.stream"
    table = pa.ipc.open_stream(response.content).read_all()
    assert table.schema == pa.schema([("vertex", pa.int64()), ("value", pa.float64())])
    assert list(zip(*table.to_pydict().values(), strict=True)) == expected


def test_a_result_of_many_chunks_is_the_same_in_every_format(fake, open_service, serve):
    loop = fake.start(type(start_roads(fake).program)(source=0), name="long")
    count = 100_000
    ids = np.arange(count, dtype=np.int64)
    loop.admit(EdgeBatch.of(ids[:-1], ids[1:], np.full(count - 1, 0.1)), "edges.csv", count - 1)
    client = serve(open_service(fake))
    query = client.post("/v1/queries?wait_s=60", json={"loop": "long"}).json()
    assert len(query["result"]["values"]) == count
    path = f"/v1/queries/{query['id']}/result"
    expected = loop.approximation().arrays()[1].tolist()
    assert [row["value"] for row in client.get(path).json()["values"]] == expected
    assert [
        json.loads(line)["value"] for line in client.get(path, headers=NDJSON).text.splitlines()
    ] == expected
    rows = list(csv.reader(io.StringIO(client.get(path, headers=CSV).text)))[1:]
    assert [float(value) for _, value in rows] == expected
    table = pa.ipc.open_stream(client.get(path, headers=ARROW).content).read_all()
    assert table["value"].to_pylist() == expected
    assert table["vertex"].to_pylist() == ids.tolist()


@pytest.mark.parametrize("headers", [CSV, NDJSON, ARROW, {}])
def test_an_empty_selection_of_a_page_is_well_formed_in_every_format(standing, headers):
    path = f"/v1/queries/{ask(standing).json()['id']}/result"
    response = standing.get(path, params={"after": 6}, headers=headers)
    assert response.status_code == 200
    if headers == ARROW:
        assert pa.ipc.open_stream(response.content).read_all().num_rows == 0


def test_pages_lead_to_each_other_until_there_is_no_next(standing):
    path = f"/v1/queries/{ask(standing).json()['id']}/result"
    seen, after = [], None
    while True:
        params = {"limit": 4} if after is None else {"limit": 4, "after": after}
        page = standing.get(path, params=params).json()
        seen += [row["vertex"] for row in page["values"]]
        after = page["next"]
        if after is None:
            break
    assert seen == [1, 2, 3, 4, 5, 6]


def test_a_page_in_csv_links_to_the_next_one(standing):
    path = f"/v1/queries/{ask(standing).json()['id']}/result"
    response = standing.get(path, params={"limit": 4}, headers=CSV)
    assert response.text.splitlines()[-1] == "4,10.0"
    following = standing.get(response.links["next"]["url"], headers=CSV)
    assert following.text == "vertex,value\n5,\n6,\n"
    assert "next" not in following.links


def test_vertices_and_top_select_from_a_whole_result(standing):
    path = f"/v1/queries/{ask(standing).json()['id']}/result"
    assert standing.get(path, params={"vertices": "4,3,99"}).json() == {
        "values": [{"vertex": 4, "value": 10.0}, {"vertex": 3, "value": 3.0}],
        "unknown": [99],
        "next": None,
    }
    assert [row["vertex"] for row in standing.get(path, params={"top": 2}).json()["values"]] == [1, 2]
    assert [
        row["vertex"]
        for row in standing.get(path, params={"top": 4, "limit": 1, "after": 2}).json()["values"]
    ] == [3]
    counted = standing.get(path, params={"vertices": "4,98,99"}, headers=CSV)
    assert counted.headers["tornado-unknown-count"] == "2"


def test_a_result_is_404_where_all_vertices_asked_for_are_unknown(standing):
    path = f"/v1/queries/{ask(standing).json()['id']}/result"
    assert (
        "98, 99" in problem(standing.get(path, params={"vertices": "98,99"}), 404, "unknown-vertex")["detail"]
    )
    small = ask(standing, vertices=[99]).json()
    assert small["result"] == {"values": [], "unknown": [99], "next": None}
    problem(standing.get(f"/v1/queries/{small['id']}/result"), 404, "unknown-vertex")


def test_numbers_come_back_with_the_same_bits(fake, open_service, serve):
    loop = start_roads(fake, name="numbers")
    weights = [0.1, 1 / 3, 5e-324, 1.7976931348623157e308, 2.0**53 + 2, 123456789.12345679]
    loop.admit(EdgeBatch.of([1] * 6, [10, 11, 12, 13, 14, 15], weights), "edges.csv", 10)
    client = serve(open_service(fake))
    body = client.post(
        "/v1/queries?wait_s=20", json={"loop": "numbers", "vertices": list(range(10, 16))}
    ).json()
    path = f"/v1/queries/{body['id']}/result"

    def bits(values):
        return [struct.pack("<d", value) for value in values]

    assert bits(row["value"] for row in body["result"]["values"]) == bits(weights)
    rows = list(csv.DictReader(io.StringIO(client.get(path, headers=CSV).text)))
    assert bits(float(row["value"]) for row in rows) == bits(weights)


def test_vertex_ids_keep_all_their_digits(fake, open_service, serve):
    loop = start_roads(fake)
    large = [2**63 - 1, -(2**63), 2**53 + 1]
    loop.admit(EdgeBatch.of([1, 1, 1], large, 1.0), "edges.csv", 7)
    client = serve(open_service(fake))
    body = ask(client, vertices=large).json()
    assert [row["vertex"] for row in body["result"]["values"]] == large
    path = f"/v1/queries/{ask(client).json()['id']}/result"
    found = client.get(path, params={"vertices": ",".join(map(str, large))}).json()
    assert [row["vertex"] for row in found["values"]] == large
    assert f"{2**53 + 1},1.0" in client.get(path, headers=CSV).text


def test_string_ids_are_strings_in_requests_and_results(fake, open_service, serve):
    interner = Interner()
    loop = fake.start(type(start_roads(fake).program)(source=0), name="towns")
    service = open_service(fake)
    service.served(loop).codec = StringIds(interner)
    client = serve(service)
    edges = '{"src": "Rome, Italy", "dst": "Pisa", "weight": 2}\n{"src": "Pisa", "dst": "Nice"}\n'
    pushed = client.post(
        "/v1/loops/towns/edges", content=edges, headers={"Content-Type": "application/x-ndjson"}
    )
    assert pushed.json() == {"accepted": 2, "rejected": 0, "offsets": {"http": 2}}
    assert loop.offsets() == {"http": 2}
    asked = {"loop": "towns", "vertices": ["Nice", "Atlantis"]}
    body = client.post("/v1/queries?wait_s=20", json=asked).json()
    assert body["result"] == {
        "values": [{"vertex": "Nice", "value": 3.0}],
        "unknown": ["Atlantis"],
        "next": None,
    }
    path = f"/v1/queries/{client.post('/v1/queries?wait_s=20', json={'loop': 'towns'}).json()['id']}/result"
    assert client.get(path, headers=CSV).text == 'vertex,value\n"Rome, Italy",0.0\nPisa,2.0\nNice,3.0\n'
    assert "no list of ids" in client.get(path, params={"vertices": "Rome\nNice"}).json()["detail"]
    found = client.get(path, params={"vertices": '"Rome, Italy",Nice'}).json()
    assert [row["vertex"] for row in found["values"]] == ["Rome, Italy", "Nice"]
    assert client.get(path, params={"limit": 1, "after": "Pisa"}).json()["values"][0]["vertex"] == "Nice"
    table = pa.ipc.open_stream(client.get(path, headers=ARROW).content).read_all()
    assert table["vertex"].to_pylist() == ["Rome, Italy", "Pisa", "Nice"]
    refused = client.post("/v1/queries", json={"loop": "towns", "vertices": [4]})
    assert "the ids of this loop are strings" in problem(refused, 422, "invalid-argument")["detail"]


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        ("*/*", "application/json"),
        ("text/html,application/xhtml+xml,*/*;q=0.8", "application/json"),
        ("text/csv;q=0.9, application/json;q=0.8", "text/csv"),
        ("application/*;q=0.1, text/csv", "text/csv"),
        ("application/json;q=0, */*", "application/x-ndjson"),
    ],
)
def test_the_format_is_what_accept_likes_best(standing, accept, media_type):
    path = f"/v1/queries/{ask(standing).json()['id']}/result"
    assert standing.get(path, headers={"Accept": accept}).headers["content-type"].startswith(media_type)


@pytest.mark.parametrize("accept", ["image/png", "application/json;q=0"])
def test_a_format_nobody_writes_is_not_acceptable(standing, accept):
    path = f"/v1/queries/{ask(standing).json()['id']}/result"
    document = problem(standing.get(path, headers={"Accept": accept}), 406, "not-acceptable")
    assert "text/csv" in document["available"]


def test_an_unknown_query_field_is_refused_by_name_with_the_valid_ones(standing):
    document = problem(ask(standing, vertexes=[1]), 422, "unknown-field")
    assert document["field"] == "vertexes"
    assert "'vertexes'" in document["detail"]
    assert {"loop", "vertices", "deadline_s"} <= set(document["valid"])


def test_an_unknown_query_parameter_is_refused_by_name(standing):
    document = problem(standing.post("/v1/queries?wait=3", json={"loop": "roads"}), 422, "unknown-field")
    assert (document["field"], document["valid"]) == ("wait", ["wait_s", "ids"])


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"vertices": [1, 2.5]}, "vertices[1]"),
        ({"vertices": [1, None]}, "vertices[1]"),
        ({"vertices": "1,2"}, "vertices"),
        ({"vertices": []}, "vertices"),
        ({"vertices": [2**63]}, "9223372036854775808"),
        ({"vertices": ["4"]}, "vertices[0]"),
        ({"top": 0}, "top"),
        ({"top": 10**9}, "top"),
        ({"mode": "perfect"}, "mode"),
        ({"deadline_s": 0}, "deadline_s"),
        ({"deadline_s": 10**7}, "deadline_s"),
        ({"deadline_s": "30"}, "deadline_s"),
        ({"max_iterations": -1}, "max_iterations"),
        ({"min_offsets": {"edges.csv": -5}}, "min_offsets"),
        ({"at": 999_999}, "at is 999999"),
        ({"parameters": [1]}, "parameters"),
        ({"loop": 7}, "loop"),
    ],
)
def test_a_value_out_of_bounds_is_refused_and_named(standing, fields, place):
    response = standing.post("/v1/queries", json={"loop": "roads"} | fields)
    assert place in problem(response, 422, "invalid-argument")["detail"]


def test_a_question_without_a_loop_is_refused(standing):
    assert "loop" in problem(standing.post("/v1/queries", json={}), 422, "invalid-argument")["detail"]


def test_an_unknown_loop_is_404_and_names_those_that_run(standing):
    document = problem(standing.post("/v1/queries", json={"loop": "lanes"}), 404, "unknown-loop")
    assert "roads" in document["detail"]


def test_an_unknown_query_is_404_everywhere(standing):
    problem(standing.get("/v1/queries/nothing"), 404, "unknown-query")
    problem(standing.get("/v1/queries/nothing/result"), 404, "unknown-query")
    problem(standing.get("/v1/queries/nothing/events"), 404, "unknown-query")
    problem(standing.delete("/v1/queries/nothing"), 404, "unknown-query")


@pytest.mark.parametrize("content", [b"", b"{", b"loop", b'{"loop": "roads"', b"\xff\xfe", b"[" * 100_000])
def test_bad_json_is_a_problem_of_its_own(standing, content):
    response = standing.post("/v1/queries", content=content, headers={"Content-Type": "application/json"})
    problem(response, 400, "bad-json")


@pytest.mark.parametrize("content", [b"[]", b"7", b"null", b'"roads"'])
def test_json_that_is_no_object_is_bad(standing, content):
    response = standing.post("/v1/queries", content=content, headers={"Content-Type": "application/json"})
    assert "no object" in problem(response, 400, "bad-json")["detail"]


def test_a_body_of_another_type_is_refused_with_the_type_to_send(standing):
    response = standing.post("/v1/queries", data={"loop": "roads"})
    assert problem(response, 415, "unsupported-media-type")["accepted"] == ["application/json"]
    response = standing.post("/v1/queries", content=b"{}")
    problem(response, 415, "unsupported-media-type")
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    problem(standing.post("/v1/queries", content=b"x", headers=headers), 415, "unsupported-media-type")


def test_a_body_above_the_limit_is_refused_whether_it_says_its_length_or_not(service, serve):
    client = serve(service, query_body_bytes=1000)
    headers = {"Content-Type": "application/json"}
    problem(client.post("/v1/queries", content=b" " * 1001, headers=headers), 413, "body-too-large")

    def pieces():
        for _ in range(11):
            yield b" " * 100

    problem(client.post("/v1/queries", content=pieces(), headers=headers), 413, "body-too-large")
    assert ask(client, vertices=[3]).status_code == 200


def test_a_body_that_does_not_arrive_is_given_up(service, serve):
    client = serve(service, body_timeout_s=0.1)
    with socket.create_connection(("127.0.0.1", client.server.port)) as line:
        line.sendall(
            b"POST /v1/queries HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
        )
        line.settimeout(60)
        assert line.recv(1000).startswith(b"HTTP/1.1 408 ")


def test_a_list_of_vertices_above_the_limit_is_refused(fake, open_service, serve):
    start_roads(fake)
    client = serve(open_service(fake, vertices=10, top=10, page=10))
    problem(ask(client, vertices=list(range(11))), 422, "invalid-argument")
    problem(ask(client, top=11), 422, "invalid-argument")
    path = f"/v1/queries/{ask(client).json()['id']}/result"
    problem(client.get(path, params={"vertices": ",".join(map(str, range(11)))}), 422, "invalid-argument")
    problem(client.get(path, params={"limit": 11}), 422, "invalid-argument")
    problem(client.get(path, params={"top": 11}), 422, "invalid-argument")


@pytest.mark.parametrize(
    "params",
    [
        {"vertices": "1,x"},
        {"vertices": "1,,2"},
        {"vertices": "1\r2"},
        {"vertices": "9223372036854775808"},
        {"vertices": ""},
        {"limit": "0"},
        {"limit": "many"},
        {"top": "-1"},
        {"after": "x"},
        {"vertices": "3,4", "after": "1"},
    ],
)
def test_a_selection_that_makes_no_sense_is_refused(standing, params):
    path = f"/v1/queries/{ask(standing).json()['id']}/result"
    problem(standing.get(path, params=params), 422, "invalid-argument")


@pytest.mark.parametrize("wait_s", ["-1", "soon", "nan", "inf", "301"])
def test_a_wait_out_of_bounds_is_refused(standing, wait_s):
    problem(standing.post(f"/v1/queries?wait_s={wait_s}", json={"loop": "roads"}), 422, "invalid-argument")


def test_paths_and_methods_nobody_serves_are_problems_too(standing):
    problem(standing.get("/v1/nothing"), 404, "not-found")
    response = standing.put("/v1/queries", json={})
    assert problem(response, 405, "method-not-allowed")["hint"] == "Allowed here: GET, POST."
    assert response.headers["allow"] == "GET, POST"


@pytest.fixture
def slow(fake, open_service, serve):
    """A client of a service with one branch at a time, which waits for `fake.gate`."""
    start_roads(fake)
    fake.gate.clear()
    client = serve(open_service(fake, branches=1, queued=2))
    client.fake = fake
    return client


def test_waiting_in_vain_answers_202_and_the_query_goes_on(slow):
    response = ask(slow, wait_s=0.05)
    assert (response.status_code, response.json()["state"]) == (202, "running")
    slow.fake.gate.set()
    body = slow.get(response.headers["location"], params={"wait_s": 20}).json()
    assert (body["state"], len(body["result"]["values"])) == ("converged", 6)


def test_a_result_that_is_not_there_says_how_to_wait_for_it(slow):
    query = ask(slow, wait_s=None).json()
    document = problem(slow.get(f"/v1/queries/{query['id']}/result"), 409, "result-unavailable")
    assert f"/v1/queries/{query['id']}?wait_s=" in document["hint"]


def test_a_deadline_answers_with_the_best_value_so_far(clock, slow):
    query = ask(slow, wait_s=None, deadline_s=30, vertices=[1, 3]).json()
    clock.advance(30)
    body = slow.get(f"/v1/queries/{query['id']}", params={"wait_s": 20}).json()
    assert (body["state"], body["stopped_by"]) == ("deadline", "deadline")
    assert body["result"]["values"] == [{"vertex": 1, "value": 0.0}, {"vertex": 3, "value": None}]
    assert body["certificate"] == {"kind": "none", "side": "upper"}
    body = ask(slow, max_iterations=3).json()
    assert (body["state"], body["stopped_by"]) == ("deadline", "max_iterations")


def test_deleting_a_running_query_cancels_it_and_wakes_those_who_wait(slow):
    query = ask(slow, wait_s=None).json()
    woken = []

    def wait():
        woken.append(httpx.get(f"{slow.server.url}/v1/queries/{query['id']}?wait_s=20").json())

    waiting = threading.Thread(target=wait)
    waiting.start()
    time.sleep(0.1)
    body = slow.delete(f"/v1/queries/{query['id']}").json()
    waiting.join()
    assert (
        body["state"]
        == woken[0]["state"]
        == slow.get(f"/v1/queries/{query['id']}").json()["state"]
        == "cancelled"
    )
    branch = slow.fake.loops["roads"].branches[0]
    assert branch.wait(60)
    assert branch.state.name == "CANCELLED"
    problem(slow.get(f"/v1/queries/{query['id']}/result"), 409, "result-unavailable")


def test_deleting_a_finished_query_frees_it(client):
    query = ask(client).json()
    assert client.delete(f"/v1/queries/{query['id']}").status_code == 200
    problem(client.get(f"/v1/queries/{query['id']}"), 404, "unknown-query")


def test_a_full_queue_answers_429_with_retry_after(slow):
    for _ in range(3):
        assert ask(slow, wait_s=None).status_code == 202
    response = ask(slow, wait_s=None)
    problem(response, 429, "queue-full")
    assert int(response.headers["retry-after"]) >= 1


def test_a_query_that_failed_carries_its_problem(fake, open_service, serve):
    start_roads(fake)
    fake.branch_error = StoreCorrupt("page 7 cannot be read")
    client = serve(open_service(fake))
    body = ask(client).json()
    assert (body["state"], body["error"]["code"]) == ("failed", "store-corrupt")
    problem(client.get(f"/v1/queries/{body['id']}/result"), 503, "store-corrupt")


def test_a_bug_in_a_branch_is_an_internal_error_whose_words_stay_inside(fake, open_service, serve):
    start_roads(fake)
    fake.branch_error = RuntimeError("secret path")
    client = serve(open_service(fake))
    body = ask(client).json()
    assert body["error"]["code"] == "internal-error"
    assert "secret" not in json.dumps(body)


def test_queries_are_listed_newest_first(client):
    ids = [ask(client, vertices=[3]).json()["id"] for _ in range(3)]
    listed = client.get("/v1/queries").json()["queries"]
    assert [query["id"] for query in listed] == ids[::-1]
    assert [query["id"] for query in client.get("/v1/queries?limit=1").json()["queries"]] == ids[-1:]
    assert client.get("/v1/queries?loop=lanes").json() == {"queries": []}


def test_queries_at_a_stored_snapshot_and_from_offsets_work_over_http(client, roads):
    version = roads.checkpoint()
    roads.admit(EdgeBatch.of([1], [3], [0.5]), "edges.csv", 5)
    assert ask(client, vertices=[3], at=version).json()["result"]["values"][0]["value"] == 3.0
    assert (
        ask(client, vertices=[3], min_offsets={"edges.csv": 5}).json()["result"]["values"][0]["value"] == 0.5
    )
    waiting = ask(client, wait_s=None, vertices=[3], min_offsets={"edges.csv": 6})
    assert (waiting.json()["state"], waiting.json()["snapshot"]) == ("queued", None)


def test_many_clients_at_once_are_all_answered(fake, open_service, serve):
    start_roads(fake)
    fake.delay_s = 0.002
    client = serve(open_service(fake, branches=4, queued=1000))
    wrong = []

    def one(number):
        with httpx.Client(base_url=client.server.url, timeout=60) as mine:
            for _ in range(10):
                body = ask(mine, vertices=[3, 4]).json()
                if [row["value"] for row in body["result"]["values"]] != [3.0, 10.0]:
                    wrong.append((number, body))

    threads = [threading.Thread(target=one, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_client_that_leaves_in_the_middle_of_a_result_holds_nothing(fake, open_service, serve):
    loop = start_roads(fake)
    ids = np.arange(300_000, dtype=np.int64)
    loop.admit(EdgeBatch.of(ids[:-1], ids[1:], 1.0), "edges.csv", 300_003)
    client = serve(open_service(fake))
    query = ask(client, wait_s=None).json()
    client.get(f"/v1/queries/{query['id']}", params={"wait_s": 30})
    with httpx.stream("GET", f"{client.server.url}/v1/queries/{query['id']}/result") as response:
        next(response.iter_raw(1000))
    client.delete(f"/v1/queries/{query['id']}")
    until = time.monotonic() + 60
    while not loop.branches[0].released:
        assert time.monotonic() < until
        time.sleep(0.01)


def test_an_exact_query_adds_little_to_an_instant_branch(fake, open_service, serve):
    start_roads(fake)
    fake.instant = True
    client = serve(open_service(fake))
    took = []
    for _ in range(200):
        began = time.perf_counter()
        assert ask(client, vertices=[3, 4, 6]).status_code == 200
        took.append(time.perf_counter() - began)
    median_ms = sorted(took)[100] * 1000
    # 1.4 ms on an idle machine, two thirds of it the client's; the bound leaves room for a busy one.
    assert median_ms < within(20), f"median round trip {median_ms:.2f} ms"
    assert math.isfinite(median_ms)
