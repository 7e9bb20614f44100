"""The version of every answer ever given names one prefix, however often the service was killed since."""

import contextlib
import random
import signal
import threading
import time

import httpx
import pytest

from tests.end_to_end.running import Service
from tests.end_to_end.test_recovery import streams, write_lines
from tests.end_to_end.test_service import ndjson

WAIT_S = 30


class Meanings:
    """What each version was said to mean."""

    def __init__(self):
        self._lock = threading.Lock()
        self.prefixes = {}
        self.contradictions = []

    def note(self, version, offsets):
        with self._lock:
            known = self.prefixes.setdefault(version, offsets)
            if known != offsets:
                self.contradictions.append((version, known, offsets))


def ask(service, meanings, ended):
    """Ask in all ways that name a version, until the service is gone."""
    with (
        contextlib.suppress(httpx.TransportError),
        httpx.Client(base_url=service.url, trust_env=False) as client,
    ):
        while not ended.is_set():
            for mode in ("exact", "approximate"):
                question = {"loop": "sssp", "mode": mode, "vertices": [1]}
                answer = client.post("/v1/queries", params={"wait_s": 1}, json=question)
                snapshot = answer.json()["snapshot"] if answer.status_code == 200 else None
                if snapshot is not None:
                    assert snapshot["durable"]
                    meanings.note(snapshot["version"], snapshot["offsets"])
            looked = client.get("/v1/loops/sssp")
            if looked.status_code == 503:  # it has much to do, and does not know yet how the loop stands
                continue
            loop = looked.json()
            meanings.note(loop["version"], loop["offsets"])
            for stored in loop["snapshots"]:
                meanings.note(stored["version"], stored["offsets"])


def push(service, records, chance, ended):
    """Push bodies of good records, and now and then one of bad ones alone, which moves an offset and nothing else."""
    bad = '{"src": 1}\n'
    with contextlib.suppress(httpx.TransportError):
        while not ended.is_set():
            first = chance.randrange(len(records) - 20)
            good = ndjson(records.slice(first, first + chance.randrange(1, 20)))
            if service.push(chance.choice([good, good, bad * chance.randrange(1, 4)])).status_code == 429:
                time.sleep(0.01)


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(2, 8))])
def test_no_version_names_two_prefixes_over_kills_at_any_moment(tmp_path, seed):
    chance = random.Random(seed)
    file, pushed = streams(150_000, seed=seed)
    path = tmp_path / "roads.csv"
    write_lines(path, file)
    # The newest versions are in no snapshot when it is killed.
    options = ["--store", f"lmdb://{tmp_path}/store", "--edges", path, "--checkpoint-every", "150ms"]
    meanings = Meanings()
    for turn in range(5):
        ended = threading.Event()
        with Service(tmp_path, *options, "--workers", str(1 + turn % 2)) as service:
            working = [
                threading.Thread(target=ask, args=(service, meanings, ended)),
                threading.Thread(target=push, args=(service, pushed, chance, ended)),
            ]
            for thread in working:
                thread.start()
            enough = len(meanings.prefixes) + chance.randrange(1, 30)
            until_s = time.monotonic() + WAIT_S
            while len(meanings.prefixes) < enough and time.monotonic() < until_s:
                time.sleep(0.001)
            service.signal(signal.SIGKILL)
            ended.set()
            for thread in working:
                thread.join()
    assert meanings.contradictions == [], f"seed {seed}"
    assert len(meanings.prefixes) >= 5
