"""A service whose worker hangs: health is quick all the while, and everything else answers, or says 503, within its deadline."""

import contextlib
import signal
import statistics
import threading
import time

import httpx
import numpy as np
import pytest

from apps.sssp import ShortestPaths
from tests.engine.places import SOURCE, is_restored, lose
from tests.promised import eventually, took_s, within
from tornado.query.http import HttpServer
from tornado.query.http_requests import HttpLimits
from tornado.query.session import Session
from tornado.testing import random_multigraph

EPISODES = 3
LEAST_POLLS = 200
PAUSE_S = 0.005
DEADLINE_S = 1.5
# Of a busy machine: what an answer takes beside its deadline.
SLACK_S = 3.0
LIMITS = HttpLimits(
    look_timeout_s=DEADLINE_S,
    ask_timeout_s=DEADLINE_S,
    read_timeout_s=DEADLINE_S,
    admission_timeout_s=DEADLINE_S,
    edge_requests=1000,  # none is refused because of those that are left behind and go on
)
NDJSON = {"content-type": "application/x-ndjson"}


def routes(kept):
    """Every route that asks a loop; `kept` is a query whose whole answer is kept."""
    question = {"loop": "roads", "vertices": [SOURCE], "deadline_s": 5}
    path = f"/v1/queries/{kept}"
    return {
        "exact": lambda client: client.post("/v1/queries", json=question, params={"wait_s": 0.1}),
        "whole": lambda client: client.post("/v1/queries", json={"loop": "roads", "deadline_s": 5}),
        "approximate": lambda client: client.post("/v1/queries", json=question | {"mode": "approximate"}),
        "queries": lambda client: client.get("/v1/queries"),
        "query": lambda client: client.get(path),
        "result": lambda client: client.get(f"{path}/result", params={"limit": 10}),
        "cancel": cancelled,
        "loops": lambda client: client.get("/v1/loops"),
        "loop": lambda client: client.get("/v1/loops/roads"),
        "push": lambda client: client.post(
            "/v1/loops/roads/edges", content='{"src": 1, "dst": 2}\n', headers=NDJSON
        ),
        "newest batch": lambda client: client.get("/v1/loops/roads/batches/spark:b"),
        "metrics": lambda client: client.get("/metrics"),
        "ready": lambda client: client.get("/readyz"),
    }


def cancelled(client):
    asked = client.post("/v1/queries", json={"loop": "roads", "deadline_s": 5})
    return asked if asked.status_code == 503 else client.delete(f"/v1/queries/{asked.json()['id']}")


class Asking:
    """Asks again and again on threads of its own until it is closed, and keeps how long each answer took."""

    def __init__(self, url):
        self.url = url
        self.took = {}  # name -> [(from when, to when, status, text)]
        self._end = threading.Event()
        self._threads = []

    def begin(self, name, ask, pause_s):
        took = self.took[name] = []

        def run():
            with httpx.Client(base_url=self.url, timeout=60, trust_env=False) as client:
                while not self._end.wait(pause_s):
                    begun_s = time.monotonic()
                    answer = ask(client)
                    took.append((begun_s, time.monotonic(), answer.status_code, answer.text))

        self._threads.append(threading.Thread(target=run, daemon=True))
        self._threads[-1].start()

    def close(self):
        self._end.set()
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive()


@pytest.fixture
def served(lossy):
    with Session(lossy) as session:
        handle = session.start(ShortestPaths(source=SOURCE), "roads")
        records = random_multigraph(400, 4000, seed=7)
        handle.insert(records.src, records.dst, records.weight)
        answer = handle.query()
        answer.result(60)
        with HttpServer(session.service, port=0, limits=LIMITS) as server:
            yield server, lossy, answer.id


def test_health_is_quick_and_everything_else_keeps_its_deadline_while_a_worker_hangs(served):
    server, master, kept = served
    quantiles, greatest = [], []
    for _ in range(EPISODES):
        with contextlib.closing(Asking(server.url)) as asking:
            for name, ask in routes(kept).items():
                asking.begin(name, ask, 0.05)
            eventually(lambda asking=asking: all(asking.took.values()))
            lose(master, number=signal.SIGSTOP)
            asking.begin("health", lambda client: client.get("/healthz"), PAUSE_S)
            health = asking.took["health"]
            eventually(lambda: is_restored(master), 60)
            eventually(lambda health=health: len(health) >= LEAST_POLLS, 60)
        assert {status for _, _, status, _ in health} == {200}
        seconds = np.array([took_s(begun_s, ended_s) for begun_s, ended_s, _, _ in health])
        quantiles.append(float(np.quantile(seconds, 0.99)))
        greatest.append(float(seconds.max()))
        for name, answers in asking.took.items():
            for begun_s, ended_s, status, text in answers:
                assert took_s(begun_s, ended_s) < within(2 * DEADLINE_S + SLACK_S), name
                assert status in {200, 202, 503}, (name, status, text)
    print({"p99": quantiles, "max": greatest, "polls": len(health)})
    assert statistics.median(quantiles) < within(0.050), (quantiles, greatest)
    assert statistics.median(greatest) < within(0.250), (quantiles, greatest)
