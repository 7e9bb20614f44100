"""Drivers that are killed, and services that are told to end: no worker is left behind, and a restart is exact."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from apps.sssp import ShortestPaths
from tests.end_to_end.running import CHECKOUT, Service, run_here
from tests.engine.places import PLACES, SOURCE, runs, stream
from tests.loops.test_recovery import judge
from tests.promised import eventually, took_s, within
from tornado.loops import Master
from tornado.loops.stored_snapshot import StoredSnapshots
from tornado.storage import open_store

REMOTE = [place for place in PLACES if place != "threads"]
# A worker ends when its server does; as a task of Spark, when its driver has said nothing for ten seconds.
NOBODY_AFTER_S = {"threads": 5.0, "processes": 5.0, "spark": 12.0}


class PlacedService(Service):
    """Java writes a few lines of its own to standard error before it knows better."""

    def _read(self):
        for line in self._process.stderr:
            if line.startswith("{"):
                self._events.put(json.loads(line))
        self._events.put(None)


@contextlib.contextmanager
def driver(url, place):
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.engine.driver", url, place],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=CHECKOUT,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(CHECKOUT), os.environ["PYTHONPATH"]])},
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.mark.parametrize("place", REMOTE)
def test_a_driver_that_is_killed_leaves_no_worker_and_a_store_to_go_on_from(place, tmp_path, compiled_paths):
    url, records = f"lmdb://{tmp_path}/store", stream()
    with driver(url, place) as process:
        begun = json.loads(process.stdout.readline())
        assert begun["offset"] == 0
        while (said := json.loads(process.stdout.readline()))["stored"] < 2:
            assert said["offset"] < len(records)
        family = {
            *begun["pids"],
            *(child.pid for child in psutil.Process(process.pid).children(recursive=True)),
        }
        process.kill()
        killed = time.monotonic()
        process.wait()
        eventually(lambda: not any(map(runs, family)))
        gone_s = took_s(killed)
        print(f"\n{place}: {len(family)} processes are gone {gone_s:.1f} s after the driver")
        assert gone_s < within(NOBODY_AFTER_S[place.partition(":")[0]])
        for line in process.stdout:  # what it said before it was gone
            said = json.loads(line)
    with open_store(url) as store, Master(store, 3) as master:
        loop = master.start(ShortestPaths(source=SOURCE), "streamed", 64)
        offset = loop.offsets()["edges"]
        assert 0 < offset <= said["offset"] + 50
        assert loop.wait_idle(60)  # with what the log has behind the snapshot
        judge(loop.approximation(), records, offset)
        loop.admit(records.slice(offset, len(records)), "edges", len(records))
        branch = loop.fork()
        assert branch.wait(60)
        judge(branch.values(), records, len(records))


def options_of(place):
    engine, _, spark = place.partition(":")
    return ["--engine", engine, *(["--master", spark] if spark else []), "--workers", "2"]


@pytest.mark.parametrize("place", PLACES)
def test_a_service_that_is_told_to_end_does_so_as_on_threads(place, tmp_path, compiled_paths):
    path = tmp_path / "roads.csv"
    path.write_text("1,2,3\n2,3,1\n3,4,1\n")
    with PlacedService(
        tmp_path, "--edges", path, "--store", f"lmdb://{tmp_path}/store", *options_of(place)
    ) as service:
        service.wait_for("input-ended")
        family = psutil.Process(service._process.pid).children(recursive=True)
        if place == "processes":
            *_, victim = workers_of(psutil.Process(service._process.pid))
            victim.kill()
            service.ask()
            family += psutil.Process(service._process.pid).children(recursive=True)
        values = {row["vertex"]: row["value"] for row in service.ask()["result"]["values"]}
        assert values == {1: 0.0, 2: 3.0, 3: 4.0, 4: 5.0}
        begun = time.monotonic()
        assert service.signal(signal.SIGTERM) == 130
        ended = time.monotonic()
        print(f"\n{place}: ended after {ended - begun:.1f} s")
        eventually(lambda: not any(runs(child.pid) for child in family))
        assert took_s(ended) < within(NOBODY_AFTER_S[place.partition(":")[0]])


def workers_of(process):
    workers = []
    for child in process.children(recursive=True):
        with contextlib.suppress(psutil.Error):  # it has ended
            if "tornado.loops.remote_worker" in child.cmdline():
                workers.append(child)
    return workers


@pytest.mark.skipif("processes" not in PLACES, reason="its workers are processes")
def test_a_worker_that_is_killed_while_a_run_stores_its_snapshot_does_not_end_the_run(tmp_path, monkeypatch):
    path, url = tmp_path / "roads.csv", f"lmdb://{tmp_path}/store"
    path.write_text("1,2,3\n2,3,1\n3,4,1\n")
    write, killed = StoredSnapshots.write, []

    def write_and_lose(self, *arguments, **named):
        if not killed:
            [*_, victim] = workers_of(psutil.Process())
            killed.append(victim.pid)
            victim.kill()
            victim.wait()
        write(self, *arguments, **named)

    monkeypatch.setattr(StoredSnapshots, "write", write_and_lose)
    code, said = run_here(
        tmp_path, "--edges", path, "--store", url, "--checkpoint-every", "off", "--engine", "processes"
    )
    assert (code, len(killed)) == (0, 1), said
    monkeypatch.undo()
    with open_store(url) as store, Master(store, 1) as master:
        assert master.start(ShortestPaths(source=1), "sssp", 64).restored.snapshot.version == 1
