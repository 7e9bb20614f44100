"""Loops over HTTP: pushing edges, looking at loops, health, readiness, metrics, documents."""

import io
import json
import re
import threading

import httpx
import pyarrow as pa
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.query import fake_loops
from tests.query.conftest import eventually, start_roads
from tests.query.test_http_queries import problem
from tornado.ingest.quarantine import Quarantine
from tornado.intake.push import Pusher
from tornado.query.served_stream import ServedStream

NDJSON = {"Content-Type": "application/x-ndjson"}
ARROW = {"Content-Type": "application/vnd.apache.arrow.stream"}


def push(client, content, headers=NDJSON):
    return client.post("/v1/loops/roads/edges", content=content, headers=headers)


def distance(client, vertex):
    body = client.post("/v1/queries?wait_s=20", json={"loop": "roads", "vertices": [vertex]}).json()
    return body["result"]["values"][0]["value"], body["snapshot"]["offsets"]


def test_pushed_edges_are_in_every_snapshot_from_then_on(client):
    response = push(client, '{"src": 1, "dst": 3, "weight": 0.5}\n{"src": 3, "dst": 7}\n')
    assert response.status_code == 202
    assert response.json() == {"accepted": 2, "rejected": 0, "offsets": {"http": 2}}
    assert distance(client, 7) == (1.5, {"edges.csv": 4, "http": 2})


def test_pushed_removals_and_replacements_are_applied_in_the_order_of_the_body(client):
    lines = [
        '{"src": 1, "dst": 9, "weight": 4}',
        '{"src": 1, "dst": 9, "weight": 4, "op": "-"}',
        '{"src": 1, "dst": 9, "weight": 8}',
        '{"src": 1, "dst": 9, "weight": 6, "op": "="}',
    ]
    assert push(client, "\n".join(lines)).json()["accepted"] == 4
    assert distance(client, 9)[0] == 6.0


@pytest.mark.usefixtures("roads")
def test_bad_records_are_quarantined_with_their_position_and_the_others_admitted(master, open_service, serve):
    quarantine = Quarantine(None)
    client = serve(open_service(master, pusher=Pusher(quarantine=quarantine)))
    first = push(client, '{"src": 1, "dst": 8}\nnonsense\n')
    assert first.json() == {"accepted": 1, "rejected": 1, "offsets": {"http": 2}}
    second = push(client, '{"src": 1, "dst": 8, "weight": -1}\n{"src": 9223372036854775808, "dst": 2}\n')
    assert second.status_code == 202
    assert second.json() == {"accepted": 0, "rejected": 2, "offsets": {"http": 4}}
    entries = [(source, entry.position) for source, entry in quarantine.recent()]
    assert entries == [("http", 2), ("http", 3), ("http", 4)]
    assert distance(client, 8) == (1.0, {"edges.csv": 4, "http": 4})


@pytest.mark.usefixtures("roads")
def test_times_of_pushed_records_are_looked_at_where_the_stream_asks_for_it(
    master, service, open_service, serve
):
    times = [1, "1970-01-01T00:00:02Z", "soon", None]
    lines = "".join(
        json.dumps({"src": 1, "dst": 20 + at, "time": time}) + "\n" for at, time in enumerate(times)
    )
    texts = [None if time is None else str(time) for time in times]
    sink = io.BytesIO()
    table = pa.table({"src": [1] * 4, "dst": [30, 31, 32, 33], "time": pa.array(texts, pa.string())})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    assert push(serve(service), lines).json()["rejected"] == 0
    quarantine = Quarantine(None)
    checking = open_service(master, pusher=Pusher(quarantine=quarantine))
    checking.add_stream(ServedStream(checking.pusher.intake("roads", checks_times=True)))
    client = serve(checking)
    assert push(client, lines).json() == {"accepted": 3, "rejected": 1, "offsets": {"http": 8}}
    assert push(client, sink.getvalue(), ARROW).json()["rejected"] == 1
    entries = [(entry.position, entry.reason) for _, entry in quarantine.recent()]
    malformed = "time is neither seconds since 1970 nor ISO 8601"
    assert entries == [(7, f"{malformed}: 'soon'"), (11, malformed)]
    assert distance(client, 33)[0] == 1.0


def test_edges_come_as_an_arrow_stream_too(client):
    table = pa.table({"src": [1, 3], "dst": [3, 7], "weight": [0.5, 1.0], "op": ["+", "+"]})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    response = push(client, sink.getvalue(), ARROW)
    assert response.json() == {"accepted": 2, "rejected": 0, "offsets": {"http": 2}}
    assert distance(client, 7)[0] == 1.5
    problem(push(client, b"no arrow", ARROW), 422, "invalid-argument")


def test_an_empty_body_is_no_record(client):
    assert push(client, "").json() == {"accepted": 0, "rejected": 0, "offsets": {"http": 0}}


def test_edges_of_another_type_for_another_loop_or_too_many_are_refused(service, serve):
    client = serve(service, edges_body_bytes=100)
    accepted = problem(push(client, "1,2", {"Content-Type": "text/csv"}), 415, "unsupported-media-type")[
        "accepted"
    ]
    assert accepted == ["application/x-ndjson", "application/vnd.apache.arrow.stream"]
    problem(client.post("/v1/loops/lanes/edges", content="", headers=NDJSON), 404, "unknown-loop")
    problem(push(client, " " * 101), 413, "body-too-large")


def test_a_loop_that_lags_answers_429_and_takes_the_same_body_later(fake, open_service, serve):
    loop = start_roads(fake)
    client = serve(open_service(fake))
    fake.lagging = True
    response = push(client, '{"src": 1, "dst": 8}')
    problem(response, 429, "queue-full")
    assert response.headers["retry-after"] == "2"
    assert loop.offsets() == {"edges.csv": 4}
    fake.lagging = False
    assert push(client, '{"src": 1, "dst": 8}').json()["offsets"] == {"http": 1}


def test_bodies_of_edges_above_the_number_at_once_are_told_to_come_back(service, serve):
    client = serve(service, edge_requests=0)
    response = push(client, '{"src": 1, "dst": 8}')
    problem(response, 429, "queue-full")
    assert int(response.headers["retry-after"]) >= 1


def test_pushes_of_many_clients_are_each_counted_once(client):
    def one(number):
        for turn in range(10):
            httpx.post(
                f"{client.server.url}/v1/loops/roads/edges",
                content=f'{{"src": 1, "dst": {100 + number}, "weight": {turn}}}\n' * 3,
                headers=NDJSON,
                timeout=60,
            ).raise_for_status()

    threads = [threading.Thread(target=one, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert distance(client, 103) == (0.0, {"edges.csv": 4, "http": 120})


def test_loops_are_listed_with_their_statistics(client, roads):
    (loop,) = client.get("/v1/loops").json()["loops"]
    assert (loop["name"], loop["delay_bound"], loop["ids"], loop["rank"]) == ("roads", 64, "int", "nearest")
    assert (loop["admitted"], loop["offsets"]) == (4, {"edges.csv": 4})


def test_invalidations_and_overtaken_commits_are_shown_of_a_loop_and_measured(fake, open_service, serve):
    loop = start_roads(fake)
    statistics = loop.statistics

    def counted():
        found = statistics()
        found.overtaken, found.invalidations = 7, 5
        return found

    loop.statistics = counted
    client = serve(open_service(fake))
    said, measured = client.get("/v1/loops/roads").json(), client.get("/metrics").text
    assert (said["overtaken"], said["invalidations"]) == (7, 5)
    assert 'tornado_overtaken_commits_total{loop="roads"} 7.0' in measured
    assert 'tornado_invalidations_total{loop="roads"} 5.0' in measured


def test_one_loop_shows_its_stored_snapshots(client, roads):
    version = roads.checkpoint()
    body = client.get("/v1/loops/roads").json()
    assert body["snapshots"][-1]["version"] == version
    assert body["snapshots"][-1]["offsets"] == {"edges.csv": 4}
    problem(client.get("/v1/loops/lanes"), 404, "unknown-loop")


def test_health_and_readiness(client):
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"status": "ready", "loops": ["roads"]}


def test_a_server_without_loops_is_healthy_and_not_ready(fake, open_service, serve):
    service = open_service(fake)
    client = serve(service)
    assert client.get("/healthz").status_code == 200
    problem(client.get("/readyz"), 503, "not-ready")
    start_roads(fake)
    assert client.get("/readyz").status_code == 200
    service.close()
    problem(client.get("/readyz"), 503, "not-ready")


def test_metrics_can_be_scraped_and_count_what_happened(client):
    push(client, '{"src": 1, "dst": 8}\nnonsense\n')
    distance(client, 8)
    client.post("/v1/queries", json={"loop": "lanes"})
    # The answer goes out first, and is counted then.
    eventually(
        lambda: 'latency_seconds_count{loop="roads",state="converged"} 1.0' in client.get("/metrics").text
    )
    response = client.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain")
    samples = {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(response.text)
        for sample in family.samples
    }
    assert samples["tornado_admitted_records_total", "roads"] == 5
    assert samples["tornado_rejected_records_total", "http"] == 1
    assert samples["tornado_source_offset", "http", "roads"] == 2
    assert samples["tornado_queries", "converged"] == 1
    assert samples["tornado_queries_refused_total",] == 1
    assert samples["tornado_query_latency_seconds_count", "converged", "roads"] == 1
    names = {name for name, *_ in samples}
    assert {"tornado_backlog_records", "tornado_frontier_iteration", "tornado_updates_total"} <= names
    assert {"tornado_prepares_total", "tornado_residual", "tornado_process_memory_bytes"} <= names


def test_the_openapi_document_describes_every_path_and_the_query_body(client):
    document = client.get("/openapi.json").json()
    assert {
        "/v1/queries",
        "/v1/queries/{id}",
        "/v1/queries/{id}/result",
        "/v1/queries/{id}/events",
        "/v1/queries/{id}/adopt",
        "/v1/loops",
        "/v1/loops/{name}",
        "/v1/loops/{name}/edges",
        "/v1/loops/{name}/vertices",
        "/v1/loops/{name}/points",
        "/healthz",
        "/readyz",
        "/metrics",
    } <= set(document["paths"])
    body = document["paths"]["/v1/queries"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert {
        "loop",
        "mode",
        "vertices",
        "top",
        "parameters",
        "at",
        "min_offsets",
        "deadline_s",
        "check",
    } <= set(body["properties"])
    assert body["required"] == ["loop"]
    certificate = document["components"]["schemas"]["CertificateBody"]["properties"]
    assert certificate["kind"]["enum"] == ["exact", "bound", "gap", "stationary", "none"]
    assert certificate.keys() == {
        *(
            "kind",
            "norm",
            "bound",
            "method",
            "primal",
            "dual",
            "inertia",
            "side",
            "order",
            "ties",
            "reason",
            "checked",
            "check",
        )
    }


def test_the_documentation_page_needs_no_network(client):
    page = client.get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    assert not re.search(r"""(src|href)\s*=\s*["'](https?:)?//""", page.text)
    assert "default-src 'none'" in page.headers["content-security-policy"]


@pytest.mark.filterwarnings("ignore")
def test_a_bug_of_ours_is_a_problem_that_keeps_its_words_inside(fake, open_service, serve, monkeypatch):
    start_roads(fake)
    monkeypatch.setattr(fake_loops.MainLoop, "snapshots", lambda _self: 1 / 0)
    client = serve(open_service(fake))
    document = problem(client.get("/v1/loops/roads"), 500, "internal-error")
    assert "division" not in str(document)
