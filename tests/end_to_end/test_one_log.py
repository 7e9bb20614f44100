"""Killed at any instant, with a file and pushes that touch the same edges: each answer that was ever given is that for its version.

The log is the oracle: what it has up to the version of an answer is replayed from nothing, by a model that knows no loops.
"""

import itertools
import math
import random
import signal
import threading
import time

import httpx
import numpy as np
import pytest

from tests.end_to_end.running import Service
from tests.end_to_end.test_recovery import eventually
from tests.end_to_end.test_service import ndjson
from tests.shortened import in_soak
from tornado.loops.admission_log import AdmissionLog
from tornado.records.edge_batch import EdgeBatch
from tornado.storage import open_store
from tornado.testing import EdgeHistory, exact_distances

VERTICES = 60
PUSHERS = 3


class Load:
    """Pushes and questions from several threads, until the connection breaks; each pushed record has a weight of its own."""

    def __init__(self, service, numbers, seed):
        self.acknowledged, self.answers, self.errors = [], [], []
        self._url, self._numbers = service.url, numbers
        self._threads = [
            threading.Thread(target=self._until_it_breaks, args=(self._push, random.Random(seed + thread)))
            for thread in range(PUSHERS)
        ]
        self._threads.append(threading.Thread(target=self._until_it_breaks, args=(self._ask, None)))
        for thread in self._threads:
            thread.start()

    def await_some(self):
        """Wait until enough pushes are acknowledged and questions answered for two turns, on a slow machine too."""
        eventually(lambda: self.errors or (len(self.acknowledged) > 20 and len(self.answers) > 2), 180)

    def join(self):
        for thread in self._threads:
            thread.join()
        assert not self.errors, self.errors

    def _until_it_breaks(self, step, chance):
        try:
            with httpx.Client(base_url=self._url, timeout=60, trust_env=False) as client:
                while True:
                    step(client, chance)
        except httpx.TransportError:
            pass
        except Exception as error:  # noqa: BLE001  raised by `join`
            self.errors.append(error)

    def _push(self, client, chance):
        count = chance.randrange(1, 20)
        numbers = [next(self._numbers) for _ in range(count)]
        ends = [(chance.randrange(VERTICES), chance.randrange(VERTICES)) for _ in numbers]
        weights = [1 + number / 1e6 for number in numbers]
        ops = [chance.choice([1, 1, 2]) for _ in numbers]
        batch = EdgeBatch.of(*np.array(ends).T, weights, np.array(ops, np.int8))
        removals = EdgeBatch.of(*np.array(ends[:1]).T, None, -1)
        body = ndjson(EdgeBatch.concat([batch, removals] if chance.random() < 0.5 else [batch]))
        headers = {"content-type": "application/x-ndjson"}
        response = client.post("/v1/loops/sssp/edges", content=body, headers=headers)
        if response.status_code == 202:
            self.acknowledged += numbers
        else:
            assert response.status_code == 429, response.text

    def _ask(self, client, _):
        response = client.post("/v1/queries", params={"wait_s": 30}, json={"loop": "sssp"})
        answer = response.json()
        if response.status_code == 503 and answer["code"] == "unresponsive":
            return  # it has much to do
        assert response.status_code in {200, 202}, response.text
        if answer["state"] == "converged":
            assert answer["certificate"] == {"kind": "exact"}
            self.answers.append(answer)


class Log:
    """What a store's log has had, after each kill."""

    def __init__(self):
        self.entries = []

    def read(self, url):
        """Read it again: what it had it has still, and has got more."""
        with open_store(url) as store:
            found = list(AdmissionLog(store, "sssp").replay(after=0, points=None))
        for before, now in zip(self.entries, found, strict=False):
            assert (before.version, before.source, before.offset) == (now.version, now.source, now.offset)
            assert before.batch.equals(now.batch)
        assert len(found) >= len(self.entries)
        self.entries = found
        self.records = EdgeBatch.concat(entry.batch for entry in found)
        self.history = EdgeHistory.of(self.records)
        self.versions = np.array([entry.version for entry in found], np.int64)
        self.ends = np.cumsum([0, *(len(entry.batch) for entry in found)])

    def check_pushes(self, acknowledged):
        """All that was acknowledged is in, and nothing is in twice."""
        pushed = self.records.take((self.records.weight > 1) & (self.records.weight < 2))
        numbers = np.rint((pushed.weight - 1) * 1e6).astype(np.int64)
        assert len(np.unique(numbers)) == len(numbers)
        assert set(acknowledged) <= set(numbers.tolist())

    def check(self, answer):
        """The answer is that for what the log has up to its version, and the offsets that it names are those there."""
        version = answer["snapshot"]["version"]
        count = int(np.searchsorted(self.versions, version, side="right"))
        assert count == 0 or self.versions[count - 1] == version, (version, self.versions)
        offsets = {entry.source: entry.offset for entry in self.entries[:count]}
        assert answer["snapshot"]["offsets"] == offsets
        end = int(self.ends[count])
        rows = answer["result"]["values"]
        ids = np.array([row["vertex"] for row in rows], np.int64)
        seen = self.records.slice(0, end)
        assert ids.tolist() == np.unique(np.concatenate([seen.src, seen.dst])).tolist()
        found = [math.inf if row["value"] is None else row["value"] for row in rows]
        assert found == exact_distances(self.history.at(end), 1).lookup(ids).tolist(), version


def write_more(path, lines, chance):
    with path.open("a") as file:
        for _ in range(lines):
            src, dst = chance.randrange(VERTICES), chance.randrange(VERTICES)
            op = chance.choice("++-=")
            weight = "" if op == "-" else chance.randrange(2, 90)
            file.write(f"{src},{dst},{weight},{op}\n")


@pytest.mark.parametrize("kills", [4, in_soak(50)])
@pytest.mark.parametrize("kind", ["lmdb", "postgres"])
def test_every_answer_that_was_given_is_that_for_its_version_whenever_the_service_is_killed(
    tmp_path, request, kind, kills
):
    url = f"lmdb://{tmp_path}/store" if kind == "lmdb" else request.getfixturevalue("postgres_url")
    path, chance, numbers = tmp_path / "roads.csv", random.Random(kills), itertools.count(1)
    path.write_text("src,dst,weight,op\n")
    # Snapshots would let the log forget what it is the oracle for; tests/end_to_end/test_recovery.py has them.
    options = ["--store", url, "--edges", path, "--checkpoint-every", "off"]
    log, acknowledged, answers = Log(), [], []
    for kill in range(kills):
        write_more(path, 20_000, chance)
        with Service(tmp_path, *options, "--workers", 1 + kill % 2) as service:
            if log.entries:
                answers.append(service.ask())
                assert service.restored["snapshot"]["version"] >= log.versions[-1]
            load = Load(service, numbers, 100 * kill)
            if kill % 2:  # else it may be killed before
                load.await_some()
            time.sleep(chance.uniform(0.0, 0.6))
            service.signal(signal.SIGKILL)
            load.join()
        log.read(url)
        acknowledged += load.acknowledged
        answers += load.answers
        log.check_pushes(acknowledged)
    assert len(acknowledged) > 10 * kills
    assert len(answers) > kills
    for answer in answers:
        log.check(answer)
