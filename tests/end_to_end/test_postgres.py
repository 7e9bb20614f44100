"""A service whose store is in a real PostgreSQL: killed, cut off from it for a while, and never saying the password."""

import random
import signal
import time

from tests.end_to_end.running import Service
from tests.end_to_end.test_recovery import judge, streams, write_lines
from tests.end_to_end.test_service import ndjson
from tests.postgres_server import PASSWORD

BATCH = 40


def push_on(service, pushed, *, upto):
    """Push from where the loop is, and again what was not taken; returns how often the store was away."""
    refused, at, body = 0, 0, ""
    until_s = time.monotonic() + 60
    while at < upto:
        response = service.push(body)
        if response.status_code == 503:
            assert response.json()["code"] == "store-unreachable"
            assert PASSWORD not in response.text
            refused += 1
        elif response.status_code == 429:
            time.sleep(0.01)
        else:
            assert response.status_code == 202, response.text
            at = response.json()["offsets"]["http"]
            body = ndjson(pushed.slice(at, min(at + BATCH, upto)))
        assert time.monotonic() < until_s
    return refused


def test_a_service_that_is_killed_goes_on_from_postgres(tmp_path, postgres_url):
    chance = random.Random(1)
    file, pushed = streams(50_000, seed=1)
    path = tmp_path / "roads.csv"
    write_lines(path, file)
    options = ["--store", postgres_url, "--edges", path, "--checkpoint-every", "50ms"]
    at = 0
    for turn in range(3):
        with Service(tmp_path, *options, "--workers", str(1 + turn % 2)) as service:
            at += 300
            push_on(service, pushed, upto=at)
            time.sleep(chance.uniform(0.0, 0.3))
            assert judge(service, file, pushed)["http"] == at
            service.signal(signal.SIGKILL)
    with Service(tmp_path, *options, "--workers", "2") as service:
        assert service.restored is not None
        service.wait_for("input-ended")
        assert judge(service, file, pushed) == {"http": at, "roads.csv": len(file)}


def test_a_server_that_is_away_loses_nothing_and_nobody_hears_the_password(
    tmp_path, postgres_server, postgres_url
):
    file, pushed = streams(2000, seed=2)
    path = tmp_path / "roads.csv"
    write_lines(path, file)
    with Service(
        tmp_path, "--store", postgres_url, "--edges", path, "--checkpoint-every", "100ms"
    ) as service:
        service.wait_for("input-ended")
        push_on(service, pushed, upto=200)
        postgres_server.stop()
        try:
            refused = service.push(ndjson(pushed.slice(200, 240)))
            assert (refused.status_code, refused.json()["code"]) == (503, "store-unreachable")
            assert judge(service, file, pushed)["http"] == 200  # answers need no store
            ready = service.client.get("/readyz")
            assert ready.status_code == 200  # likewise
            assert "could not write" in ready.json()["not_logged"]["sssp"]
        finally:
            postgres_server.start()
        push_on(service, pushed, upto=1000)
        assert service.client.get("/readyz").json().keys() == {"status", "loops"}
        assert judge(service, file, pushed) == {"http": 1000, "roads.csv": len(file)}
        shown = service.client.get("/metrics").text + service.client.get("/v1/loops").text
        service.signal(signal.SIGKILL)
        said = shown + "".join(map(str, service.events()))
        assert PASSWORD not in said and postgres_url not in said
    with Service(tmp_path, "--store", postgres_url, "--edges", path) as service:
        service.wait_for("input-ended")
        assert judge(service, file, pushed) == {"http": 1000, "roads.csv": len(file)}
