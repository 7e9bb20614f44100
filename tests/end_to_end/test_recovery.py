"""Nothing lost and nothing twice: a service is killed at any moment, starts again on its store, and reads on from there.

A file and pushed edges go in side by side, of different pairs of vertices, so that the offsets of both name one graph. The
oracle gets exactly the records that an answer names.
"""

import math
import os
import random
import resource
import signal
import threading
import time

import httpx
import numpy as np
import pytest

from tests.end_to_end.running import Service, run
from tests.end_to_end.test_service import ndjson
from tornado.loops.admission_log import AdmissionLog
from tornado.records.edge_batch import EdgeBatch
from tornado.storage import open_store
from tornado.testing import EdgeHistory, exact_distances, mixed, random_multigraph

BATCH = 40


def streams(file_records, *, seed):
    """A file's records and those to push: the file's edges lead on from the pushed ones, and the two share no pair."""
    pushed = mixed(random_multigraph(300, 6000, seed=seed), seed=seed)
    chance = np.random.default_rng(seed)
    src, dst = chance.integers(0, 2000, file_records), chance.integers(1000, 60_000, file_records)
    return EdgeBatch.of(src, dst, chance.integers(1, 100, file_records).astype(float)), pushed


def write_lines(path, batch, mode="w"):
    rows = zip(batch.src.tolist(), batch.dst.tolist(), batch.weight.tolist(), strict=True)
    with path.open(mode) as file:
        file.writelines(f"{src},{dst},{weight}\n" for src, dst, weight in rows)


def judge(service, file, pushed, *, source=1):
    """The answer is exact for the offsets that it names, and the loop has each of these records once; return them."""
    answer = service.ask()
    assert (answer["state"], answer["certificate"]) == ("converged", {"kind": "exact"}), answer
    offsets = answer["snapshot"]["offsets"]
    parts = [file.slice(0, offsets.get("roads.csv", 0)), pushed.slice(0, offsets.get("http", 0))]
    records = EdgeBatch.concat(parts)
    graph = EdgeHistory.of(records).at(len(records))
    rows = answer["result"]["values"]
    ids = np.array([row["vertex"] for row in rows], np.int64)
    assert ids.tolist() == np.unique(np.concatenate([records.src, records.dst])).tolist()
    found = np.array([math.inf if row["value"] is None else row["value"] for row in rows])
    assert found.tolist() == exact_distances(graph, source).lookup(ids).tolist()
    return offsets


class Sender:
    """Pushes on from where the loop is until the connection breaks; knows what was acknowledged.

    `start` is where the loop was when it took pushed records again, or None where it was killed before.
    """

    def __init__(self, service, pushed, *, upto):
        self._service, self._pushed, self._upto = service, pushed, upto
        self.acknowledged = self.start = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        body, at = "", 0  # nothing, to hear where it is
        while at < self._upto:
            try:
                response = self._service.push(body)
            except httpx.TransportError:
                return
            if response.status_code == 429:
                time.sleep(0.01)
                continue
            assert response.status_code == 202, response.text
            at = self.acknowledged = response.json()["offsets"]["http"]
            if self.start is None:
                self.start = at
            body = ndjson(self._pushed.slice(at, min(at + BATCH, self._upto)))

    def join(self):
        self._thread.join()


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.soak)])
def test_a_service_that_is_killed_at_any_moment_loses_nothing_and_has_nothing_twice(tmp_path, seed):
    chance = random.Random(seed)
    file, pushed = streams(400_000, seed=seed)
    path = tmp_path / "roads.csv"
    write_lines(path, file)
    url = f"lmdb://{tmp_path}/store"
    options = ["--store", url, "--edges", path, "--checkpoint-every", "20ms"]
    acknowledged, begun_with = 0, []
    for turn in range(6):
        # A checkpoint takes longer than the pause between two: nearly every kill is in the middle of one.
        with Service(tmp_path, *options, "--workers", str(1 + turn % 3)) as service:
            sender = Sender(service, pushed, upto=6000)
            time.sleep(chance.uniform(0.05, 0.9))
            if turn % 2:
                offsets = judge(service, file, pushed)
                assert offsets.get("http", 0) >= acknowledged
            service.signal(signal.SIGKILL)
            sender.join()
            if sender.start is not None:
                # What was acknowledged is there; so may be the batch whose answer the kill cut off.
                assert acknowledged <= sender.start <= acknowledged + BATCH
                acknowledged = sender.acknowledged
        with open_store(url) as store:
            versions = store.versions("sssp")
            assert len(versions) <= 4
            begun_with.append(dict(AdmissionLog(store, "sssp").offsets))
            for version in versions:
                assert all(page for _, page in store.scan("sssp", version))
    assert [found.get("http", 0) for found in begun_with] == sorted(
        found.get("http", 0) for found in begun_with
    )
    assert max(found.get("roads.csv", 0) for found in begun_with) > 0
    with Service(tmp_path, *options, "--workers", "2") as service:
        assert service.restored["snapshot"]["offsets"] == begun_with[-1]
        Sender(service, pushed, upto=6000).join()
        service.wait_for("input-ended")
        assert judge(service, file, pushed) == {"http": 6000, "roads.csv": len(file)}
        records = EdgeBatch.concat([file, pushed.slice(0, 6000)])
        assert service.edges() == len(EdgeHistory.of(records).at(len(records)))


def test_a_restart_without_new_input_is_converged_at_once_on_any_number_of_workers(tmp_path):
    file, pushed = streams(3000, seed=3)
    path = tmp_path / "roads.csv"
    write_lines(path, file)
    options = ["--store", f"lmdb://{tmp_path}/store", "--edges", path]
    with Service(tmp_path, *options) as service:
        service.wait_for("input-ended")
        Sender(service, pushed, upto=2000).join()
        before = judge(service, file, pushed)
        version = service.ask()["snapshot"]["version"]
        assert service.signal(signal.SIGINT) == 130
    for workers in ("3", "1"):
        with Service(tmp_path, *options, "--workers", workers) as service:
            restored = service.restored
            assert (restored["converged"], restored["snapshot"]["version"]) == (True, version)
            assert service.wait_for("input-ended")["records"] == 0
            loop = service.look("/v1/loops/sssp").json()
            assert (loop["updates"], loop["pending"], loop["version"]) == (0, 0, version)
            assert service.ask()["updates"] == 0
            assert judge(service, file, pushed) == before
            assert service.signal(signal.SIGTERM) != 0
    write_lines(path, file.slice(0, 100), mode="a")
    with Service(tmp_path, *options) as service:
        assert service.wait_for("input-ended")["records"] == 100
        assert service.ask(vertices=[1])["snapshot"]["offsets"] == {"http": 2000, "roads.csv": 3100}


def test_another_source_computes_anew_on_the_graph_that_is_there(tmp_path):
    file, pushed = streams(2000, seed=4)
    path = tmp_path / "roads.csv"
    write_lines(path, file)
    options = ["--store", f"lmdb://{tmp_path}/store"]
    code, _ = run(tmp_path, *options, "--edges", path, "--output", tmp_path / "distances.csv")
    assert code == 0
    with Service(tmp_path, *options, source=7) as service:
        restored = service.restored
        assert (restored["converged"], restored["program"]) == (False, "ShortestPaths(source=1)")
        assert judge(service, file, pushed, source=7) == {"roads.csv": 2000}


def test_what_standard_input_gave_outlives_a_kill(tmp_path):
    pushed = random_multigraph(100, 900, seed=5).records()
    rows = list(zip(pushed.src.tolist(), pushed.dst.tolist(), pushed.weight.tolist(), strict=True))
    options = ["--edges", "-", "--store", f"lmdb://{tmp_path}/store", "--checkpoint-every"]
    sent = 0
    for turn in range(3):
        receiving, sending = os.pipe()
        # One run without a single checkpoint, and so from the log alone.
        period = "off" if turn == 0 else "50ms"
        with Service(tmp_path, *options, period, stdin=receiving) as service, os.fdopen(sending, "w") as pipe:
            os.close(receiving)
            for _ in range(10):
                pipe.writelines(f"{src},{dst},{weight}\n" for src, dst, weight in rows[sent : sent + 30])
                pipe.flush()
                sent += 30
                answer = service.ask(min_offsets={"stdin": sent})
                assert answer["snapshot"]["offsets"] == {"stdin": sent}
            rows_found = answer["result"]["values"]
            ids = np.array([row["vertex"] for row in rows_found], np.int64)
            graph = EdgeHistory.of(pushed).at(sent)
            expected = exact_distances(graph, 1).lookup(ids).tolist()
            assert [math.inf if row["value"] is None else row["value"] for row in rows_found] == expected
            assert service.edges() == sent
            service.signal(signal.SIGKILL)


def limited_files():
    """Let no file grow beyond 3 MB, until somebody lifts it: what a full disk is to the store."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, resource.RLIM_INFINITY))


def test_a_disk_that_is_full_for_a_while_costs_time_and_nothing_else(tmp_path):
    file, pushed = streams(400_000, seed=6)
    path = tmp_path / "roads.csv"
    write_lines(path, file.slice(0, 2000))
    options = ["--store", f"lmdb://{tmp_path}/store", "--checkpoint-every", "50ms", "--edges"]
    with Service(tmp_path, *options, path, preexec=limited_files) as service:
        service.wait_for("input-ended")
        eventually(lambda: service.metric("tornado_checkpoint_version") > 0)
        service.signal(signal.SIGKILL)
    write_lines(path, file)
    with Service(tmp_path, *options, path, preexec=limited_files) as service:
        restored = service.restored["snapshot"]
        assert restored["offsets"] == {"roads.csv": 2000}
        said = service.wait_for("log")
        assert "roads.csv waits, since what it has cannot be logged" in said["message"]
        # What is in is answered, and what is pushed is not taken.
        assert 2000 <= judge(service, file, pushed)["roads.csv"] < len(file)
        refused = service.push(ndjson(file.slice(0, 250_000)))
        assert (refused.status_code, refused.json().get("code")) == (507, "store-full"), refused.text
        service.lift_limit()
        assert "goes on" in service.wait_for("log")["message"]
        service.wait_for("input-ended")
        eventually(
            lambda: service.metric("tornado_checkpoint_version") == service.ask()["snapshot"]["version"]
        )
        assert service.push(ndjson(pushed.slice(0, 100))).status_code == 202
        service.signal(signal.SIGKILL)
    with Service(tmp_path, *options, path) as service:
        assert service.restored["snapshot"]["offsets"]["roads.csv"] == len(file)
        assert service.wait_for("input-ended")["records"] == 0
        assert judge(service, file, pushed) == {"http": 100, "roads.csv": len(file)}


def eventually(condition, timeout_s=120):
    until_s = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < until_s
        time.sleep(0.02)


def test_a_file_that_is_another_one_is_refused_with_what_to_do(tmp_path):
    path = tmp_path / "roads.csv"
    path.write_text("1,2,3\n2,3,1\n3,4,1\n")
    options = ["--store", f"lmdb://{tmp_path}/store", "--edges", path]
    assert run(tmp_path, *options)[0] == 0
    path.write_text("1,2,3\n2,3,1\n3,4,1\n4,5,1\n")
    assert run(tmp_path, *options)[0] == 0
    for text in ("1,2,3\n2,3,9\n3,4,1\n4,5,1\n5,6,1\n", "1,2,3\n2,3,1\n", ""):
        path.write_text(text)
        code, events = run(tmp_path, *options)
        assert (code, events[-1]["code"]) == (2, "invalid-argument")
        assert "does not begin as the file roads.csv did, of which 4 records are in" in events[-1]["message"]
        assert "an empty store begins anew" in events[-1]["hint"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--store", "memory:", "--checkpoint-every", "5s"], "the store memory: is gone with the process"),
        (["--checkpoint-every", "5 parsecs"], "--checkpoint-every 5 parsecs is no time above 0"),
        (["--checkpoint-every", "0s"], "--checkpoint-every 0s is no time above 0"),
    ],
)
def test_checkpoints_that_cannot_be_are_refused(tmp_path, options, said):
    code, events = run(tmp_path, *options, "--edges", os.devnull)
    assert code == 2
    assert said in events[-1]["message"]
