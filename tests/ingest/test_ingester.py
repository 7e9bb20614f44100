"""The ingester against a loop that is slow, full, broken or restarted."""

import gzip
import json
import os
import threading
import time

import numpy as np
import pytest

from tornado.clock import ManualClock
from tornado.errors import InvalidArgument, QueueFull
from tornado.ingest.ingester import Ingester, IngesterState
from tornado.ingest.layout import TextFormat
from tornado.ingest.point_source import PointFile
from tornado.ingest.quarantine import Quarantine
from tornado.ingest.source import FileSource, StandardInputSource
from tornado.records.point_schema import Points


class RecordingLoop:
    """Keeps what it is given; `refuse` times it is full before each batch."""

    def __init__(self, *, refuse=0, offsets=None, error=None):
        self.edges, self.calls, self.moves = [], 0, []
        self.refuse, self.error = refuse, error
        self._offsets = dict(offsets or {})
        self._refused = 0
        self.open = threading.Event()
        self.open.set()

    def admit(self, batch, source, offset, timeout_s=None, *, checked=()):
        self.calls += 1
        assert len(batch)
        assert timeout_s is not None
        if self.error:
            raise self.error
        if not self.open.wait(timeout_s) or self._refused < self.refuse:
            self._refused += 1
            raise QueueFull("the loop lags")
        self._refused = 0
        self.edges += zip(batch.src.tolist(), batch.dst.tolist(), strict=True)
        self.moves.append(offset)
        self._offsets[source] = offset

    def advance(self, source, offset):
        self.moves.append(offset)
        self._offsets[source] = offset

    def offsets(self):
        return dict(self._offsets)


def no_negative_weight(batch):
    return batch.weight < 0, "weight is negative"


def run(loop, source, quarantine=None, **options):
    ingester = Ingester(loop, source, quarantine or Quarantine(None), **options)
    ingester.start()
    assert ingester.wait(timeout_s=30)
    return ingester


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text(
        "".join(f"{index},{index + 1},{-1 if index % 10 == 3 else index}\n" for index in range(100))
    )
    return path


def test_everything_is_admitted_in_order_or_quarantined_with_its_line(path, tmp_path):
    loop = RecordingLoop(refuse=2)
    quarantine = Quarantine(tmp_path / "quarantine.jsonl")
    path.write_text("src,dst,weight\nx,1,1\n" + path.read_text() + "1,y,1\n")
    ingester = run(loop, FileSource(path, max_records=7), quarantine, check=no_negative_weight)
    assert loop.edges == [(index, index + 1) for index in range(100) if index % 10 != 3]
    assert loop.offsets() == {"edges.csv": 102}
    assert loop.moves == sorted(set(loop.moves))
    statistics = ingester.statistics()
    assert statistics.state is IngesterState.FINISHED
    assert (statistics.records, statistics.accepted, statistics.rejected, statistics.offset) == (
        102,
        90,
        12,
        102,
    )
    assert statistics.last_error is None
    assert statistics.rows_per_s > 0
    entries = [json.loads(line) for line in quarantine.path.read_text().splitlines()]
    assert [entry["position"] for entry in entries] == [
        2,
        *(index + 3 for index in range(100) if index % 10 == 3),
        103,
    ]
    assert entries[1] == {
        "source": "edges.csv",
        "position": 6,
        "record": "3,4,-1",
        "reason": "weight is negative",
    }
    assert quarantine.count("edges.csv") == 12


class PointLoop(RecordingLoop):
    """Keeps the ids and labels of points."""

    def admit(self, batch, source, offset, timeout_s=None, *, checked=()):
        self.edges += zip(batch.id.tolist(), batch.label.tolist(), strict=True)
        self._offsets[source] = offset


def test_points_are_pumped_as_edges_are_and_reading_goes_on_behind_what_the_loop_has(tmp_path):
    path, points = tmp_path / "points.csv", Points(features=1)
    path.write_text(
        "id,x,label\n" + "".join(f"{index},{'a' if index == 13 else 1},{index % 3}\n" for index in range(40))
    )
    loop, quarantine = PointLoop(offsets={"points.csv": 10}), Quarantine(tmp_path / "quarantine.jsonl")
    source = PointFile(path, points, max_records=7)
    ingester = run(loop, source, quarantine, check=lambda batch: (batch.label == 2, "a label is 0 or 1"))
    assert loop.edges == [(index, index % 3) for index in range(10, 40) if index % 3 != 2 and index != 13]
    assert loop.offsets() == {"points.csv": 40}
    statistics = ingester.statistics()
    assert (statistics.state, statistics.records, statistics.edges) == (IngesterState.FINISHED, 30, 19)
    entries = [json.loads(line) for line in quarantine.path.read_text().splitlines()]
    assert [entry["position"] for entry in entries] == [
        index + 2 for index in range(10, 40) if index % 3 == 2 or index == 13
    ]


def test_the_offset_moves_where_every_record_was_rejected(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text("1,a\n" * 10)
    loop = RecordingLoop()
    run(loop, FileSource(path, max_records=3), check=no_negative_weight)
    assert (loop.calls, loop.moves) == (0, [3, 6, 9, 10])


def test_both_directions_of_a_line_are_refused_together(path):
    loop = RecordingLoop()
    source = FileSource(path, text_format=TextFormat(undirected=True))
    # The rule names one direction only: the other must not stay behind.
    ingester = run(
        loop, source, check=lambda batch: (batch.src > batch.dst, "downhill") if len(batch) else None
    )
    assert loop.edges == []
    assert ingester.statistics().rejected == 100
    loop = RecordingLoop()
    source = FileSource(path, text_format=TextFormat(undirected=True))
    ingester = run(loop, source, check=no_negative_weight)
    assert len(loop.edges) == ingester.statistics().edges == 180
    assert ingester.statistics().accepted == 90


def test_reading_goes_on_behind_what_the_loop_has(path):
    loop = RecordingLoop(offsets={"edges.csv": 42})
    ingester = run(loop, FileSource(path, max_records=10))
    assert loop.edges == [(index, index + 1) for index in range(42, 100)]
    assert ingester.statistics().offset == 100
    assert ingester.statistics().records == 58


def test_a_pipe_goes_on_counting_where_the_one_before_it_ended():
    inward, outward = os.pipe()
    os.write(outward, b"1 2\n3 4\n")
    os.close(outward)
    try:
        loop = RecordingLoop(offsets={"stdin": 10})
        run(loop, StandardInputSource(inward))
    finally:
        os.close(inward)
    assert (loop.edges, loop.offsets()) == ([(1, 2), (3, 4)], {"stdin": 12})


def test_a_cut_gzip_delivers_what_is_there_and_then_fails(tmp_path):
    path = tmp_path / "edges.txt.gz"
    text = b"".join(b"%d %d\n" % (index, index * 7919 % 1009) for index in range(20_000))
    path.write_bytes(gzip.compress(text)[:-3000])
    loop = RecordingLoop()
    ingester = run(loop, FileSource(path, max_records=100))
    statistics = ingester.statistics()
    assert statistics.state is IngesterState.FAILED
    assert ingester.error.code == "source-broken"
    assert "ends in the middle of its gzip data" in statistics.last_error
    assert loop.edges == [(index, index * 7919 % 1009) for index in range(statistics.offset)]
    assert statistics.offset > 10_000
    # With the whole file in its place nothing is lost or doubled.
    path.write_bytes(gzip.compress(text))
    run(loop, FileSource(path, max_records=100))
    assert loop.edges == [(index, index * 7919 % 1009) for index in range(20_000)]


def test_a_loop_that_lags_holds_the_source_back_and_a_stop_is_heard(path):
    loop = RecordingLoop()
    loop.open.clear()
    ingester = Ingester(loop, FileSource(path, max_records=1), Quarantine(None), read_ahead=3)
    ingester.start()
    deadline = time.monotonic() + 20
    while ingester.statistics().read_ahead_batches < 3 and time.monotonic() < deadline:
        time.sleep(0.005)
    assert ingester.statistics().read_ahead_batches == 3
    assert ingester.statistics().state is IngesterState.RUNNING
    assert ingester.stop(timeout_s=20)
    assert ingester.statistics().state is IngesterState.STOPPED
    assert (loop.edges, ingester.statistics().offset) == ([], 0)


def test_a_stop_in_the_middle_loses_and_doubles_nothing(path):
    loop = RecordingLoop()
    ingester = Ingester(loop, FileSource(path, max_records=1), Quarantine(None))
    ingester.start()
    while len(loop.edges) < 10:
        time.sleep(0.001)
    assert ingester.stop(timeout_s=20)
    assert loop.offsets()["edges.csv"] == len(loop.edges) == ingester.statistics().offset
    run(loop, FileSource(path, max_records=9))
    assert loop.edges == [(index, index + 1) for index in range(100)]


@pytest.mark.parametrize("where", ["loop", "check"])
def test_whatever_a_loop_or_a_program_raises_is_reported(path, where):
    error = RuntimeError("no more")
    loop = RecordingLoop(error=error if where == "loop" else None)

    def check(batch):
        if where == "check":
            raise error
        return np.zeros(len(batch), bool), ""

    ingester = run(loop, FileSource(path), check=check)
    assert ingester.error is error
    assert ingester.statistics().state is IngesterState.FAILED
    assert loop.offsets() == {}


def test_starting_twice_and_stopping_before_the_start_are_clear(path):
    ingester = Ingester(RecordingLoop(), FileSource(path), Quarantine(None))
    assert ingester.statistics().state is IngesterState.READY
    assert ingester.stop(timeout_s=1)
    assert ingester.statistics().state is IngesterState.STOPPED
    with pytest.raises(InvalidArgument, match="was started already"):
        ingester.start()


def test_the_rate_is_of_the_last_seconds_while_it_runs(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text("1,2\n" * 30)
    clock = ManualClock()
    loop = RecordingLoop()
    step = threading.Semaphore(0)
    admit = loop.admit

    def stepwise(*arguments, **options):
        step.acquire()
        admit(*arguments, **options)

    loop.admit = stepwise
    ingester = Ingester(loop, FileSource(path, max_records=10), Quarantine(None), clock=clock)
    ingester.start()
    clock.advance(2.0)
    step.release()
    while ingester.statistics().records < 10:
        time.sleep(0.001)
    assert ingester.statistics().rows_per_s == 5.0
    clock.advance(6.0)
    assert ingester.statistics().rows_per_s == 0.0
    clock.advance(2.0)
    step.release(2)
    assert ingester.wait(timeout_s=20)
    assert ingester.statistics().rows_per_s == 3.0


def test_a_program_that_joins_while_a_batch_waits_costs_only_the_records_that_it_cannot_take(path, tmp_path):
    class Joined(RecordingLoop):
        """A program joins when the first batch comes in, and takes no negative weights from then on."""

        has_joined = False

        def check(self, batch):
            refused, reason = no_negative_weight(batch)
            return refused & self.has_joined, reason

        def admit(self, batch, source, offset, timeout_s=None, *, checked=()):
            self.has_joined = True
            if self.check(batch)[0].any():
                raise InvalidArgument("weight is negative")
            super().admit(batch, source, offset, timeout_s)

    loop, quarantine = Joined(), Quarantine(tmp_path / "quarantine.jsonl")
    ingester = run(loop, FileSource(path, max_records=50), quarantine, check=loop.check)
    assert ingester.statistics().state is IngesterState.FINISHED
    assert loop.edges == [(index, index + 1) for index in range(100) if index % 10 != 3]
    lines = (tmp_path / "quarantine.jsonl").read_text().splitlines()
    positions = [json.loads(line)["position"] for line in lines]
    assert positions == [index + 1 for index in range(100) if index % 10 == 3]


def test_what_a_loop_refuses_and_no_check_finds_ends_the_source(path):
    loop = RecordingLoop(error=InvalidArgument("not this"))
    ingester = run(loop, FileSource(path), check=lambda batch: (np.zeros(len(batch), bool), ""))
    assert ingester.statistics().state is IngesterState.FAILED
