"""What is small when it is sent and large when it is unpacked is refused: it costs little memory, health answers meanwhile, and
the next good record is admitted."""

import json
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import httpx
import numpy as np
import pytest

from tests import bombs
from tests.bombs import little_memory
from tests.end_to_end.running import ARROW, NDJSON, Service
from tests.end_to_end.test_bad_input import GOOD, problem
from tests.promised import took_s, watched, within
from tornado.config import MOST_BATCH_SOURCES

MIB = bombs.MEBIBYTE
MORE_THAN_A_BODY_HOLDS, A_BODY_FULL = 1_000_000, 400_000  # sources


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("service")
    (folder / "edges.csv").write_text(GOOD)
    with Service(folder, "--store", "memory:", "--edges", folder / "edges.csv") as running:
        running.wait_for("input-ended")
        # What is loaded with the first body of each kind is no part of what a later one takes.
        assert running.push('{"src": 1, "dst": 2}').status_code == 202
        one = bombs.many_rows(rows=1, batches=1)
        assert running.push(one, ARROW).status_code == 202
        running.next_vertex = 1000
        for sources in (MORE_THAN_A_BODY_HOLDS, A_BODY_FULL):
            question_about(sources)
        yield running


@pytest.fixture(autouse=True)
def _goes_on(service):
    """Whatever a test sent: nothing of it is in, and the next good record is admitted and answers."""
    before = service.edges()
    with little_memory(service.pid), healthy(service):
        yield
        assert service.edges() == before
    service.next_vertex += 1
    record = json.dumps({"src": 3, "dst": service.next_vertex, "weight": 0.5})
    assert service.push(record).json()["accepted"] == 1
    values = service.ask(vertices=[service.next_vertex])["result"]["values"]
    # 1 -> 2 came in once more, with weight 1.
    assert values == [{"vertex": service.next_vertex, "value": 4.0}]


class healthy:  # noqa: N801 - reads as what it is
    """Ask for health all the while; every answer must be one, and nearly all must be quick."""

    def __init__(self, service):
        self._service = service
        self._stop = threading.Event()
        self._answers = []
        self._times = []  # from when to when each was waited for
        self._thread = threading.Thread(target=self._ask, daemon=True)

    def _ask(self):
        with httpx.Client(base_url=self._service.url, timeout=60, trust_env=False) as client:
            # Of fewer answers than a hundred, the slowest of a hundred is no quantile.
            while not self._stop.wait(0.002) or len(self._answers) < 100:
                begun_s = time.monotonic()
                self._answers.append(client.get("/healthz").status_code)
                self._times.append((begun_s, time.monotonic()))

    def __enter__(self):
        watched()  # its process is there before anything is measured
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join(120)
        assert set(self._answers) <= {200}
        answered_s = [took_s(begun_s, ended_s) for begun_s, ended_s in self._times]
        assert np.quantile(answered_s, 0.99) < within(0.05), sorted(answered_s)[-10:]


def part(service, content, number=0):
    path = f"/v1/loops/sssp/batches/spark:b/{number}/parts/one/0"
    return service.client.put(path, content=content, headers=ARROW)


@pytest.mark.parametrize(
    "make",
    [
        bombs.many_rows,
        lambda: bombs.many_rows(compression="lz4"),
        bombs.weights_of_nothing,
    ],
    ids=["zstd", "lz4", "null-column"],
)
@pytest.mark.parametrize("route", ["edges", "part"])
def test_an_arrow_stream_of_kilobytes_with_millions_of_rows_is_refused(service, make, route):
    content = make()
    assert len(content) < 3 * MIB
    response = service.push(content, ARROW) if route == "edges" else part(service, content)
    assert "records taken at once" in problem(response, 413, "body-too-large")["detail"]


def test_zeros_in_gzip_are_refused_with_their_encoding_and_without(service):
    content = bombs.gzip_of_zeros()
    assert service.push(content, NDJSON | {"content-encoding": "gzip"}).status_code == 415
    # What was said to be no gzip is bytes that are no JSON, and zeros are one line that is too long.
    for plain in (content, bytes(63 * MIB)):
        answer = service.push(plain, NDJSON).json()
        assert (answer["accepted"], answer["rejected"] > 0) == (0, True)
    problem(service.push(bytes(65 * MIB), NDJSON), 413, "body-too-large")


def test_objects_nested_ten_thousand_deep_cost_only_themselves(service):
    response = service.push(bombs.deep() + b"\n" + b"[" * 60_000 + b"\n")
    assert response.status_code == 202
    assert (response.json()["accepted"], response.json()["rejected"]) == (0, 2)
    question = b'{"loop": "sssp", "parameters": ' + b'{"a":' * 10_000 + b"1" + b"}" * 10_000 + b"}"
    for path in ("/v1/queries", "/v1/loops/sssp/batches/spark:b/0"):
        answer = service.client.post(path, content=question, headers={"content-type": "application/json"})
        assert answer.status_code in {400, 422}
        assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("line", [b"\n", b"x\n", b'{"src":1,"dst":1,"weight":-1}\n'])
def test_a_body_of_nothing_but_bad_lines_is_refused_when_they_take_too_much(service, line):
    response = service.push(line * (24 * MIB // len(line)))
    problem(response, 413, "body-too-large")


def test_a_question_with_a_fault_in_every_place_is_refused(service):
    for content in (
        b'{"loop":"sssp","vertices":[' + b"null," * 800_000 + b"1]}",
        b"{" + b"".join(b'"k%d":1,' % number for number in range(300_000)) + b'"loop":"sssp"}',
    ):
        answer = service.client.post(
            "/v1/queries", content=content, headers={"content-type": "application/json"}
        )
        problem(answer, 422, "invalid-argument")


@pytest.mark.parametrize("line", [b"x\n", b'{"src":1,"dst":1,"weight":-1}\n'], ids=["no-json", "negative"])
def test_millions_of_bad_lines_are_refused_within_seconds_and_health_is_quick_meanwhile(service, line):
    content = line * min(4_000_000, 64 * MIB // len(line))
    with healthy(service):
        refused_s = []
        for _ in range(3):
            begun_s = time.monotonic()
            document = problem(service.push(content), 413, "body-too-large")
            refused_s.append(took_s(begun_s))
    assert "of its records cannot be admitted; the first is record 1:" in document["detail"]
    assert min(refused_s) < within(5), refused_s


@cache
def question_about(sources):
    """A question that waits for so many sources, whose names are as short as they can be; made before anything is measured."""
    named = b",".join(b'"%x":1' % number for number in range(sources))
    return b'{"loop":"sssp","vertices":[1],"deadline_s":60,"min_offsets":{' + named + b"}}"


@pytest.mark.parametrize(
    ("sources", "status", "code"),
    [(MORE_THAN_A_BODY_HOLDS, 413, "body-too-large"), (A_BODY_FULL, 422, "invalid-argument")],
    ids=["more-than-a-body-holds", "a-body-full"],
)
def test_a_question_that_waits_for_a_million_sources_is_refused_and_nothing_of_it_waits(
    service, sources, status, code
):
    for _ in range(10):
        answer = service.post("/v1/queries", question_about(sources), {"content-type": "application/json"})
        problem(answer, status, code)
    listed = service.client.get("/v1/queries").json()["queries"]
    assert not [query for query in listed if query["state"] in {"queued", "running"}]


FLOOD_NAMES = 4 * MOST_BATCH_SOURCES
FLOOD_SENDERS = 4


# The last one: all that the service may know of sources is taken then.
def test_a_flood_of_names_of_sources_stops_at_the_limit_and_those_that_are_known_go_on(service):
    outcomes = Counter()

    def send(sender):
        with httpx.Client(base_url=service.url, timeout=60, trust_env=False) as client:
            for number in range(sender, FLOOD_NAMES, FLOOD_SENDERS):
                path = f"/v1/loops/sssp/batches/spark:{number}x/0"
                # Without parts: a batch of no records makes a source known like any other.
                answer = client.post(path, json={"parts": []})
                outcomes[answer.status_code] += 1
                if answer.status_code != 200:
                    document = problem(answer, 422, "invalid-argument")
                    assert f"of {MOST_BATCH_SOURCES} that a loop may have" in document["detail"]

    with ThreadPoolExecutor(FLOOD_SENDERS) as senders:
        list(senders.map(send, range(FLOOD_SENDERS)))
    assert outcomes == {200: MOST_BATCH_SOURCES, 422: FLOOD_NAMES - MOST_BATCH_SOURCES}
    offsets = service.look("/v1/loops/sssp").json()["offsets"]
    known = [source for source in offsets if source.startswith("spark:")]
    assert len(known) == MOST_BATCH_SOURCES
    one = known[0]
    assert service.client.post(f"/v1/loops/sssp/batches/{one}/1", json={"parts": []}).status_code == 200
