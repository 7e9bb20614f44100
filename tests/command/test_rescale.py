"""`tornado rescale` and its route, on a session that is served."""

import json

import click
import httpx
import pytest

import tornado
from apps.sssp import ShortestPaths
from tests.look import look
from tests.promised import eventually
from tornado.command.application import run_command_line
from tornado.errors import UnknownStream


@pytest.fixture
def served(compiled_paths):
    with tornado.open("memory:", workers=2) as session:
        roads = session.start(ShortestPaths(source=1), "roads")
        roads.insert([1, 2], [2, 3], [1.0, 2.0])
        yield session, session.serve().url


def test_the_route_moves_a_stream_and_says_what_became_of_it(served):
    session, url = served
    done = httpx.post(f"{url}/v1/streams/roads/rescale", json={"workers": 4}, timeout=60)
    assert done.status_code == 200
    body = done.json()
    pause_s, version = body.pop("pause_s"), body.pop("version")
    assert body == {"stream": "roads", "streams": ["roads"], "before": 2, "workers": 4}
    assert pause_s > 0
    assert version == 1
    assert look(httpx.get, f"{url}/v1/loops/roads").json()["workers"] == 4
    assert dict(session.loop("roads").query(vertices=[3]).result(30).values) == {3: 3.0}


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("roads", {"workers": 0}, 422, "invalid-argument"),
        ("roads", {"workers": 65}, 422, "invalid-argument"),
        ("roads", {"workers": "4"}, 422, "invalid-argument"),
        ("roads", {}, 422, "invalid-argument"),
        ("rails", {"workers": 3}, 404, "unknown-stream"),
    ],
)
def test_the_route_refuses_what_cannot_be(served, path, body, status, code):
    session, url = served
    refused = httpx.post(f"{url}/v1/streams/{path}/rescale", json=body, timeout=60)
    assert (refused.status_code, refused.json()["code"]) == (status, code)
    assert session.master.workers == 2


def test_the_route_says_that_it_is_busy(served):
    session, url = served
    with session.master._names.moving():
        refused = httpx.post(f"{url}/v1/streams/roads/rescale", json={"workers": 3}, timeout=60)
    assert (refused.status_code, refused.json()["code"]) == (409, "busy")


def test_the_command_moves_a_stream_once(served, capsys):
    _, url = served
    assert run_command_line(["rescale", "roads", "--workers", "3", "--url", url]) == 0
    assert "roads: 3 workers in place of 2; they stood still for" in capsys.readouterr().err
    assert run_command_line(["rescale", "roads", "--workers", "3", "--url", url, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["streams"] == []
    assert run_command_line(["rescale", "roads", "--workers", "3", "--url", url]) == 0
    assert "roads has 3 workers already" in capsys.readouterr().err


@pytest.mark.parametrize("workers", ["0", "65", "x"])
def test_the_command_refuses_numbers_that_no_service_has(workers):
    with pytest.raises(click.UsageError, match=workers):
        run_command_line(["rescale", "roads", "--workers", workers])


def test_the_command_names_the_streams_that_there_are(served):
    _, url = served
    with pytest.raises(UnknownStream, match="no stream is called 'rails'; streams: roads"):
        run_command_line(["rescale", "rails", "--workers", "3", "--url", url])


def test_the_metrics_have_the_records_of_each_worker_as_there_are_workers(served):
    session, url = served
    session.rescale("roads", 3)
    session.loop("roads").insert([3, 4, 5], [4, 5, 6])
    session.loop("roads").query().result(30)
    lines = [
        line.split()
        for line in look(
            httpx.get, f"{url}/metrics", shows="\ntornado_worker_applied_records_total{"
        ).text.splitlines()
        if line.startswith("tornado_worker_applied_records_total{")
    ]
    assert len(lines) == 3
    assert all('stream="roads"' in labels for labels, _ in lines)
    assert (
        sum(float(count) for _, count in lines) >= 5.0
    )  # the snapshot has two, and three came; a vertex alone counts, too


def test_the_metrics_have_the_load_that_buckets_are_moved_by(served):
    session, url = served

    def loads():
        lines = [line.split() for line in look(httpx.get, f"{url}/metrics").text.splitlines()]
        return [float(line[1]) for line in lines if line and line[0].startswith("tornado_worker_load_total{")]

    # Two records at least, and two vertices that have a distance; they are looked at every second.
    eventually(lambda: sum(loads()) >= 2.0 + 2.0 and loads() == session.master.loads())
    assert len(loads()) == 2
