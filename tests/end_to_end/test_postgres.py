"""A service whose store is in a real PostgreSQL: killed, cut off from it for a while, without room, and never saying the password."""

import os
import random
import signal
import subprocess
import threading
import time
from contextlib import nullcontext

import pytest

from tests.end_to_end.running import Service, run_here
from tests.end_to_end.test_recovery import eventually, judge, streams, write_lines
from tests.end_to_end.test_service import ndjson
from tests.postgres_server import PASSWORD
from tests.promised import took_s, within
from tests.shortened import in_soak
from tornado.records.edge_batch import EdgeBatch
from tornado.storage import open_store
from tornado.storage.postgres import PATIENCE_S

BATCH = 40
SOON_S = 5.0  # until an error is told


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


class Load(threading.Thread):
    """Pushes without end until it is told to end, and again what was not taken."""

    def __init__(self, service, pushed):
        super().__init__(daemon=True)
        self._service, self._pushed = service, pushed
        self.acknowledged = self.refused = 0
        self.longest_s, self.ends, self.error = 0.0, False, None
        self.start()

    def run(self):
        body = ""
        try:
            while not self.ends and self.acknowledged < len(self._pushed):
                begun_s = time.monotonic()
                response = self._service.push(body)
                self.longest_s = max(self.longest_s, took_s(begun_s))
                assert PASSWORD not in response.text
                if response.status_code == 503:
                    assert response.json()["code"] == "store-unreachable"
                    self.refused += 1
                else:
                    assert response.status_code == 202, response.text
                    self.acknowledged = response.json()["offsets"]["http"]
                    body = ndjson(self._pushed.slice(self.acknowledged, self.acknowledged + BATCH))
        except Exception as error:  # noqa: BLE001  raised to whoever joins
            self.error = error

    def join(self):
        self.ends = True
        super().join(120)
        if self.error is not None:
            raise self.error


def frozen(server, database, how):
    """Freeze the processes of the server that serve a database, or let them go on."""
    found = server.execute(f"SELECT pid FROM pg_stat_activity WHERE datname = '{database}'")
    for (pid,) in found:
        os.kill(pid, how)
    return found


def test_a_server_that_is_frozen_is_told_of_and_nothing_is_lost(tmp_path, postgres_server, postgres_url):
    file, pushed = streams(5000, seed=4)
    path = tmp_path / "roads.csv"
    write_lines(path, file)
    database = postgres_url.rpartition("/")[2]
    with Service(tmp_path, "--store", postgres_url, "--edges", path) as service:
        service.wait_for("input-ended")
        load = Load(service, pushed)
        eventually(lambda: load.acknowledged >= 2 * BATCH)
        assert frozen(postgres_server, database, signal.SIGSTOP)
        try:
            eventually(lambda: "not_logged" in service.client.get("/readyz").json())
            assert (
                "a write of the log has taken" in service.client.get("/readyz").json()["not_logged"]["sssp"]
            )
            # Answers need no store.
            assert judge(service, file, pushed)["http"] <= load.acknowledged + BATCH
        finally:
            frozen(postgres_server, database, signal.SIGCONT)
        more = load.acknowledged + 2 * BATCH
        eventually(lambda: load.acknowledged >= more or load.error)
        load.join()
        assert service.client.get("/readyz").json().keys() == {"status", "loops"}
        assert judge(service, file, pushed) == {"http": load.acknowledged, "roads.csv": len(file)}


@pytest.mark.parametrize("away_s", [1.0, in_soak(30.0)])
def test_a_server_that_is_away_under_load_loses_nothing_and_nobody_hears_the_password(
    tmp_path, postgres_server, postgres_url, away_s
):
    file, pushed = streams(2000, seed=2)
    path = tmp_path / "roads.csv"
    write_lines(path, file)
    with Service(
        tmp_path, "--store", postgres_url, "--edges", path, "--checkpoint-every", "100ms"
    ) as service:
        service.wait_for("input-ended")
        load = Load(service, pushed)
        eventually(lambda: load.acknowledged >= 200)
        postgres_server.stop()
        stopped_s = time.monotonic()
        try:
            eventually(lambda: load.refused)
            at = judge(service, file, pushed)["http"]  # answers need no store
            assert at in {load.acknowledged, load.acknowledged + BATCH}
            ready = service.client.get("/readyz")
            assert ready.status_code == 200  # likewise
            assert "could not write" in ready.json()["not_logged"]["sssp"]
            time.sleep(max(0.0, stopped_s + away_s - time.monotonic()))
        finally:
            postgres_server.start()
        more = load.acknowledged + 500
        eventually(lambda: load.acknowledged >= more or load.error)
        load.join()
        assert load.longest_s < PATIENCE_S + within(1.0)
        assert service.client.get("/readyz").json().keys() == {"status", "loops"}
        assert judge(service, file, pushed) == {"http": load.acknowledged, "roads.csv": len(file)}
        shown = "".join(
            service.client.get(path).text
            for path in ("/metrics", "/v1/loops", "/v1/streams/sssp", "/v1/observations")
        )
        service.signal(signal.SIGKILL)
        said = shown + "".join(map(str, service.events()))
        assert PASSWORD not in said and postgres_url not in said
    with Service(tmp_path, "--store", postgres_url, "--edges", path) as service:
        service.wait_for("input-ended")
        assert judge(service, file, pushed) == {"http": load.acknowledged, "roads.csv": len(file)}


@pytest.fixture
def small_database(postgres_server):
    """The address of a store on a disk that is nearly full, and what makes room there."""
    place, name = postgres_server.folder / "small", "small"
    place.mkdir()
    try:
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", place], check=True, capture_output=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        place.rmdir()
        pytest.skip(f"no permission to mount a small file system: {error}")
    try:
        postgres_server.let_have(place)
        postgres_server.execute(f"CREATE TABLESPACE {name} LOCATION '{place}'")
        postgres_server.execute(f"CREATE DATABASE {name} TABLESPACE {name}")
        url = postgres_server.url(name)
        open_store(url).close()
        room = os.statvfs(place)
        with (place / "ballast").open("wb") as ballast:
            os.posix_fallocate(ballast.fileno(), 0, room.f_bavail * room.f_frsize - 1_000_000)
        yield url, (place / "ballast").unlink
        postgres_server.execute(f"DROP DATABASE {name} WITH (FORCE)")
        postgres_server.execute(f"DROP TABLESPACE {name}")
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


def test_a_server_whose_disk_is_full_refuses_pushes_and_loses_nothing(tmp_path, small_database):
    url, make_room = small_database
    none, pushed = streams(0, seed=3)
    pushed = EdgeBatch.concat([pushed] * 100)
    options = ["--store", url, "--checkpoint-every", "off"]
    with Service(tmp_path, *options) as service:
        at, step = 0, 5000

        def push_next():
            begun_s = time.monotonic()
            response = service.push(ndjson(pushed.slice(at, at + step)))
            assert took_s(begun_s) < within(SOON_S)
            return response

        while (response := push_next()).status_code == 202:
            at += step
            assert at < len(pushed)
        assert (response.status_code, response.json()["code"]) == (507, "store-full")
        assert "No space left on device" in response.json()["detail"]
        assert judge(service, none, pushed) == {"http": at}
        assert at > 0
        make_room()
        assert push_next().status_code == 202
        assert judge(service, none, pushed) == {"http": at + step}
        service.signal(signal.SIGKILL)
        assert PASSWORD not in response.text + "".join(map(str, service.events()))
    with Service(tmp_path, *options) as service:
        assert judge(service, none, pushed) == {"http": at + step}


def newer_schema(server, url):
    open_store(url).close()
    server.execute(
        "UPDATE tornado_loops.facts SET value = '99' WHERE name = 'version'", url.rpartition("/")[2]
    )
    return url


def without_permission(server, url):
    server.execute(f"CREATE ROLE {GUEST} LOGIN PASSWORD '{PASSWORD}'")
    return server.url(url.rpartition("/")[2], user=GUEST)


GUEST = "guest_of_services"
UNUSABLE = {
    "wrong password": (
        lambda server, url: server.url(url.rpartition("/")[2], password="wr0ng"),
        "store-locked",
        "Look at the user and the password",
    ),
    "no such database": (lambda server, _: server.url("nowhere"), "store-locked", "createdb"),
    "no permission": (without_permission, "store-locked", "Let the user create a schema"),
    "nobody there": (lambda server, _: server.url(port=9), "store-unreachable", ""),
    "newer schema": (newer_schema, "store-corrupt", "Open it with the program that wrote it"),
    "another service": (lambda _, url: url, "store-locked", "End that one"),
}


@pytest.mark.parametrize("how", UNUSABLE)
def test_a_store_that_cannot_be_had_ends_a_run_at_once_with_what_to_do(
    tmp_path, postgres_server, postgres_url, how
):
    make, code, hint = UNUSABLE[how]
    url = make(postgres_server, postgres_url)
    (tmp_path / "edges.csv").write_text("1,2,1.0\n")
    another = open_store(postgres_url) if how == "another service" else nullcontext()
    try:
        with another:
            begun_s = time.monotonic()
            ended, events = run_here(
                tmp_path, "--store", url, "--edges", tmp_path / "edges.csv", "--output", tmp_path / "out.csv"
            )
            ended_s = time.monotonic()
    finally:
        postgres_server.execute(f"DROP ROLE IF EXISTS {GUEST}")
    assert (ended, [event["event"] for event in events]) == (1, ["error"])
    assert took_s(begun_s, ended_s) < within(SOON_S)
    assert events[0]["code"] == code
    assert hint in events[0]["hint"]
    assert "127.0.0.1" in events[0]["message"]
    for secret in (PASSWORD, "wr0ng"):
        assert secret not in str(events)
    assert not (tmp_path / "out.csv").exists()
