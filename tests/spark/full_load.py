"""All that comes in at once, and who asks: a topic and Spark for as long as a test lasts, a file, pushes and questions for each start.

Every sender goes on from where the service says that it is, or from where its own records are, and never twice.
"""

import random
import threading
import time
from contextlib import ExitStack

import httpx

from tests.end_to_end.running import NDJSON
from tests.promised import eventually
from tests.spark.known_sources import csv_lines, json_lines

PARTITIONS = 2
RECORDS_A_MESSAGE = 10
ROWS_A_BATCH = 400
_MESSAGES = 10  # at a time
_MOST_PUSHED = 300
_ASKERS = 2
_BEGINS_S = 180.0
_AGAIN = ("queue-full", "store-unreachable")  # nothing of it was admitted
# What a query of Spark may end with when the service is killed under it: it sends that batch again when it is started again.
_OF_A_KILL = ("Send the batch again: this service was restarted since", "nothing answers at")


class Repeating:
    """A step that a thread takes again and again, until it is stopped; what it raises fails the test."""

    def __init__(self, step):
        self._step, self._stopping, self._error = step, threading.Event(), None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        try:
            while not self._stopping.is_set():
                self._step(self._stopping)
        except Exception as error:  # noqa: BLE001  raised where the test can see it
            self._error = error

    def stop(self):
        self._stopping.set()
        self._thread.join()
        if self._error is not None:
            raise self._error


class Topic:
    """Messages of several records each, sent all the time."""

    def __init__(self, broker, name, sources):
        broker.create_topic(name, PARTITIONS)
        self._name, self._sources = name, sources
        self.sent = [0] * PARTITIONS
        self._closing = ExitStack()
        self._producer = self._closing.enter_context(broker.producer())
        self._sending = Repeating(self._send)

    def _send(self, stopping):
        sent = []
        for partition, source in enumerate(self._sources):
            at = self.sent[partition]
            for number in range(at, at + _MESSAGES):
                value = "\n".join(json_lines(source.records(number, number + 1))).encode()
                sent.append((number, self._producer.send(self._name, value, partition=partition)))
            self.sent[partition] = at + _MESSAGES
        self._producer.flush()
        assert [one.get().offset for _, one in sent] == [number for number, _ in sent]
        stopping.wait(0.1)

    def stop(self):
        with self._closing:
            self._sending.stop()


class SparkStream:
    """A streaming query of numbered rows, in one JVM all the time."""

    def __init__(self, spark, source, url, checkpoint):
        rows = (
            spark.readStream.format("rate-micro-batch")
            .option("rowsPerBatch", ROWS_A_BATCH)
            .option("numPartitions", 2)
        )
        self._writer = (
            rows.load()
            .repartition(3)
            .selectExpr(*source.columns())
            .writeStream.format("tornado")
            .options(url=url, loop="sssp", order="value", checkpointLocation=str(checkpoint))
        )
        self.starts = 0
        self._start()
        self.name = f"spark:{self._query.id}"

    def _start(self):
        self._query = self._writer.start()
        self.starts += 1

    def go_on(self):
        """Start the query again where a kill has ended it; in the thread that has the session, which alone knows our format."""
        if self._query.isActive:
            return
        said = str(self._query.exception())
        assert any(one in said for one in _OF_A_KILL), said
        self._start()

    def stop(self):
        self._query.stop()


class Load:
    """Pushes and questions to one start of the service, until it is killed."""

    def __init__(self, service, pushed, seed):
        self.acknowledged = self.begun_at = 0
        self.answers, self.errors = [], []
        self._pushed, self._chance = pushed, random.Random(seed)
        steps = [self._push, *[self._ask] * _ASKERS]
        self._threads = [
            threading.Thread(target=self._until_it_breaks, args=(step, service.url)) for step in steps
        ]
        self._is_stopped = False
        for thread in self._threads:
            thread.start()

    def wait_begun(self):
        """Wait until something was acknowledged, and something answered."""
        eventually(lambda: self.errors or (self.acknowledged and self.answers), _BEGINS_S)
        assert not self.errors, self.errors

    def stop(self):
        """Have what is under way come to its end, of a service that was not killed."""
        self._is_stopped = True
        self.join()

    def join(self):
        for thread in self._threads:
            thread.join()
        assert not self.errors, self.errors

    def _until_it_breaks(self, steps, url):
        try:
            with httpx.Client(base_url=url, timeout=60, trust_env=False) as client:
                for _ in steps(client):
                    if self._is_stopped:
                        return
        except httpx.TransportError:
            pass
        except Exception as error:  # noqa: BLE001  raised by `join`
            self.errors.append(error)

    def _push(self, client):
        body, is_first = "", True  # nothing, to hear where it is
        while True:
            response = client.post("/v1/loops/sssp/edges", content=body, headers=NDJSON)
            if response.status_code == 202:
                at = self.acknowledged = response.json()["offsets"]["http"]
                if is_first:
                    self.begun_at, is_first = at, False
                records = self._pushed.records(at, at + self._chance.randrange(1, _MOST_PUSHED))
                body = "\n".join(json_lines(records))
            else:
                assert response.json()["code"] in _AGAIN, response.text
                time.sleep(0.01)
            yield

    def _ask(self, client):
        while True:
            question = {"loop": "sssp", "deadline_s": 300}
            response = client.post("/v1/queries", params={"wait_s": 50}, json=question)
            answer = response.json()
            if response.status_code == 503:  # its workers ended for others while it was read
                assert answer["code"] == "worker-lost", response.text
                yield
                continue
            assert response.status_code in (200, 202), response.text
            if answer["state"] == "converged":
                self.answers.append(answer)
            yield


class GrowingFile:
    """A file that has more records at each start."""

    def __init__(self, path, source):
        self.path, self._source, self.records = path, source, 0
        path.write_text("src,dst,weight,op\n")

    def grow(self, records):
        with self.path.open("a") as file:
            file.write(csv_lines(self._source.records(self.records, self.records + records)))
        self.records += records
