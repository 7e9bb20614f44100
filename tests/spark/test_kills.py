"""Killed under full load, at any instant: a file, a topic, pushes and batches of Spark come in at once, and answers are asked for.

The oracle knows every record by its source and place, so that the offsets of an answer alone name its graph: no log is believed.
Random instants hit what lasts milliseconds too seldom, so some kills wait for it: the process is stopped in the middle of a phase, looked
at, and killed.
"""

import os
import random
import signal
import threading
import time
from collections import Counter
from contextlib import ExitStack, suppress

import httpx
import pytest

from tests.end_to_end.running import Service
from tests.ports import free_port
from tests.promised import eventually
from tests.shortened import in_soak
from tests.spark.full_load import (
    PARTITIONS,
    RECORDS_A_MESSAGE,
    ROWS_A_BATCH,
    GrowingFile,
    Load,
    SparkStream,
    Topic,
)
from tests.spark.given_answers import Judge
from tests.spark.known_sources import KnownGraph, KnownSource
from tests.spark.marked_service import PHASES, Marks

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

SHORT = ("rescale", "base", "start")
# Of 50: half come whenever they come, the others wait for something.
LONG = (
    ("any",) * 24
    + ("rescale",) * 7
    + ("base",) * 6
    + ("flush",) * 5
    + ("start",) * 5
    + ("forget",)
    + ("replay",) * 2
)
_GROWS_BY = 30_000
_LONGEST_LOAD_S, _LONGEST_START_S = 2.5, 4.0
_WAITS_S, _AGAIN_S = 180.0, 3.0
_AWAY_S = 30.0


class Stand:
    """A service that is killed and started again, with all that fills it."""

    def __init__(self, folder, url, broker, spark, seed, server):
        self._server = server
        self.folder, self.chance = folder, random.Random(seed)
        self.marks = Marks(folder / "marks")
        self.killed_in = Counter()
        file, pushed, batches, *partitions = (
            KnownSource(number, RECORDS_A_MESSAGE if number > 2 else 1) for number in range(3 + PARTITIONS)
        )
        self._pushed, self._broker, self._spark, self._batches = pushed, broker, spark, batches
        self._topic_name = f"roads-{seed}-{folder.name}"
        names = {f"{self._topic_name}:{number}": source for number, source in enumerate(partitions)}
        self.graph = KnownGraph({"roads.csv": file, "http": pushed, **names})
        self.judge = Judge(self.graph, url)
        self.file = GrowingFile(folder / "roads.csv", file)
        self._address = f"127.0.0.1:{free_port()}"
        self._options = ["--store", url, "--edges", self.file.path, "--kafka", broker.address]
        self._options += ["--topic", self._topic_name, "--checkpoint-every", "100ms", "--http", self._address]
        self._options += ["--quarantine", folder / "rejected.jsonl"]
        self._partitions = partitions
        self.acknowledged = 0

    def __enter__(self):
        with ExitStack() as stack:
            self.topic = Topic(self._broker, self._topic_name, self._partitions)
            stack.callback(self.topic.stop)
            self.spark = SparkStream(
                self._spark, self._batches, f"http://{self._address}", self.folder / "state"
            )
            stack.callback(self.spark.stop)
            self.graph.sources[self.spark.name] = self._batches
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self._stack.close()

    def start(self, engine, *, waits=True):
        """Start it on any number of workers."""
        self.marks.clear()
        self._workers = self.chance.randrange(1, 4)
        options = [*self._options, "--engine", engine, "--workers", self._workers]
        program = ("tests.spark.marked_service", self.folder / "marks")
        return Service(self.folder, *options, program=program, waits=waits)

    def kill_in(self, phase, service):
        """Kill it when it is in the middle of a phase, at an instant of that which nobody chooses."""
        begun_s = again_s = time.monotonic()
        while (now_s := time.monotonic()) < begun_s + _WAITS_S:
            if phase == "rescale" and now_s >= again_s:
                self.begin_rescale(service)
                again_s = now_s + _AGAIN_S
            if phase in self.marks.now():
                time.sleep(self.chance.choice([0.0, 0.0, 0.002, 0.01, 0.05]))
                os.kill(service.pid, signal.SIGSTOP)
                time.sleep(0.005)  # until all of its threads have stopped
                if phase in self.marks.now():
                    break
                os.kill(service.pid, signal.SIGCONT)
            time.sleep(0.0003)
        self.kill(service)

    def kill(self, service):
        service.signal(signal.SIGKILL)
        self.killed_in.update(self.marks.now() or {"no phase"})

    def begin_rescale(self, service):
        """Have it be put on another number of workers; only a thread waits for that, until it is killed."""
        self._workers = self.chance.choice([number for number in range(1, 5) if number != self._workers])
        wish = {"workers": self._workers}

        def ask():
            with suppress(httpx.TransportError):
                httpx.post(f"{service.url}/v1/streams/sssp/rescale", json=wish, timeout=120)

        threading.Thread(target=ask, daemon=True).start()

    def turn(self, phase, engine):
        """Start it, load it, kill it, and judge what was answered and what is left."""
        self.file.grow(_GROWS_BY)
        self.spark.go_on()
        if phase == "start":
            with self.start(engine, waits=False) as service:
                time.sleep(self.chance.uniform(0.3, _LONGEST_START_S))
                self.kill(service)
                self.killed_in["start"] += not service.has_said("ready")
            self.judge.store()
            return
        if phase == "replay":
            with self.start(engine, waits=False) as service:
                self.kill_in("replay", service)
            self.judge.store()
            return
        if phase == "away":
            self.turn_without_store(engine)
            return
        with self.start(engine) as service:
            if self.judge.durable:
                self.ask_first(service)
            load = Load(service, self._pushed, self.chance.random())
            self.spark.go_on()
            time.sleep(self.chance.uniform(0.0, _LONGEST_LOAD_S))
            self.spark.go_on()
            if phase != "any":
                load.wait_begun()
            if phase == "any":
                if self.chance.random() < 0.3:
                    self.begin_rescale(service)
                time.sleep(self.chance.uniform(0.0, 0.5))
                self.kill(service)
            else:
                self.kill_in(phase, service)
            load.join()
        self.judge.store()
        self.check_load(load)

    def turn_without_store(self, engine):
        """Have the server of the store stop for half a minute, under load and without a warning, and kill the service when it goes on."""
        with self.start(engine) as service:
            self.ask_first(service)
            load = Load(service, self._pushed, self.chance.random())
            self.spark.go_on()
            load.wait_begun()
            self._server.stop(how=signal.SIGQUIT)
            try:
                time.sleep(_AWAY_S)
            finally:
                self._server.start()
            before = load.acknowledged
            eventually(lambda: load.acknowledged > before)
            eventually(lambda: service.client.get("/readyz").json().keys() == {"status", "loops"})
            self.kill(service)
            load.join()
        self.killed_in["away"] += 1
        self.judge.store()
        self.check_load(load)

    def check_load(self, load):
        """What was acknowledged is in, and what was answered was durable: the store has all of it."""
        assert self.acknowledged <= load.begun_at or not load.begun_at
        self.acknowledged = max(self.acknowledged, load.acknowledged)
        assert self.acknowledged <= self.judge.durable.get("http", 0)
        for answer in load.answers:
            for source, offset in self.judge.answer(answer).items():
                assert offset <= self.judge.durable[source], (
                    f"an answer had {source} at {offset}, which is lost"
                )

    def ask_first(self, service):
        """What is restored is what the store has, and a snapshot that it keeps is answered as it was."""
        assert service.restored["snapshot"]["offsets"] == self.judge.durable
        answer = service.ask()
        assert answer["state"] == "converged", answer
        offsets = self.judge.answer(answer)
        assert all(offsets[name] >= offset for name, offset in self.judge.durable.items())
        if self.judge.versions:
            version = self.judge.versions[-1]
            question = {"loop": "sssp", "at": version}
            response = service.client.post("/v1/queries", params={"wait_s": 60}, json=question)
            if response.status_code == 200:
                assert self.judge.answer(response.json()) == self.judge.named[version]
            else:  # others have taken its place meanwhile
                assert version not in self._stored(service), response.text

    def _stored(self, service):
        return {one["version"] for one in service.client.get("/v1/loops/sssp").json()["snapshots"]}

    def end(self):
        """Let everything come in: it is in once."""
        with self.start("threads") as service:
            self.ask_first(service)
            load = Load(service, self._pushed, 0)
            eventually(lambda: self._has_batches(service), timeout_s=300)
            time.sleep(1.0)
            self.spark.stop()
            self.topic.stop()
            load.stop()
            wanted = {"roads.csv": self.file.records, "http": load.acknowledged}
            wanted |= {f"{self._topic_name}:{number}": sent for number, sent in enumerate(self.topic.sent)}
            eventually(lambda: self._is_all_in(service, wanted))
            service.signal(signal.SIGKILL)
        self.judge.store()
        self.check_load(load)

    def _has_batches(self, service):
        """Whether anything of Spark is in; its first batch may take long."""
        self.spark.go_on()
        return self.spark.name in self.judge.answer(service.ask())

    def _is_all_in(self, service, wanted):
        """Whether that is in and nothing else; a batch of Spark may be on its way for a moment after its query was stopped."""
        offsets = self.judge.answer(service.ask(min_offsets=wanted))
        batches = offsets[self.spark.name]
        assert offsets == wanted | {self.spark.name: batches}
        assert batches % ROWS_A_BATCH == 0
        newest = service.client.get(f"/v1/loops/sssp/batches/{self.spark.name}").json()["newest"]
        return batches == ROWS_A_BATCH * (newest + 1) and service.edges() == len(self.graph.edges(offsets))


@pytest.mark.parametrize(
    ("kind", "phases", "seed"),
    [
        ("lmdb", SHORT, 1),
        in_soak(("lmdb", LONG, 2)),
        in_soak(("postgres", (*LONG, "away"), 3)),
    ],
    ids=["lmdb-short", "lmdb", "postgres"],
)
def test_whatever_a_service_is_killed_in_nothing_is_lost_or_twice_and_every_answer_stays(
    tmp_path, request, broker, spark, kind, phases, seed
):
    server = None if kind == "lmdb" else request.getfixturevalue("postgres_server")
    url = request.getfixturevalue("postgres_url") if server else f"lmdb://{tmp_path}/store"
    seed = int(os.environ.get("KILLS_SEED", seed))
    with Stand(tmp_path, url, broker, spark, seed, server) as stand:
        turns = list(phases)
        if len(turns) > len(SHORT):
            stand.chance.shuffle(turns)
            turns.insert(0, turns.pop(turns.index("any")))  # the others have something to go on from
        for number, phase in enumerate(turns):
            engine = "processes" if number % 5 == 4 else "threads"
            begun_s = time.monotonic()
            stand.turn(phase, engine)
            took_s = time.monotonic() - begun_s
            print(
                f"seed {seed}, kill {number + 1} of {len(turns)}: {phase}, {engine}, {took_s:.1f} s",
                flush=True,
            )
        stand.end()
        print(
            f"seed {seed}: {len(turns)} kills, in {dict(sorted(stand.killed_in.items()))}; {stand.judge.answers} answers, "
            f"{stand.spark.starts} starts of the query, at {stand.judge.durable}"
        )
    wanted = set(turns) & set(PHASES)
    assert wanted <= stand.killed_in.keys(), stand.killed_in
    assert stand.judge.answers > len(turns)
