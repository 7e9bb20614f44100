"""Windows of streams: a plain model, one record at a time, has the same edges at every version, also after a restart."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.sssp import ShortestPaths
from tests.kept_store import KeptStore
from tornado.loops.master import Master
from tornado.records.edge_batch import EdgeBatch
from tornado.records.operations import INSERT, REMOVE, REPLACE
from tornado.records.timed_edges import TimedEdges
from tornado.records.window_width import WindowWidth

NAN = float("nan")
RECORDS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.integers(0, 2),
        st.sampled_from([1.0, 2.0]),
        st.sampled_from([INSERT] * 4 + [REMOVE] * 2 + [REPLACE, 0]),  # 0: a removal of any weight
        st.integers(-4, 8),
    ),
    max_size=40,
)
BATCHES = st.lists(st.integers(1, 6), min_size=1, max_size=12)


class PlainWindow:
    """The definition: a list of the insertions that are in the window, oldest first."""

    def __init__(self, width, *, counts):
        self.width, self.counts = width, counts
        self.inside, self.newest, self.cutoff, self.late, self.left = [], None, None, 0, 0

    def take(self, src, dst, weight, op, time):
        if self.counts:
            time = (self.newest or 0) + (op in (INSERT, REPLACE))
        newest = time if self.newest is None else max(self.newest, time)
        self.newest = newest
        self.cutoff = newest - self.width if self.cutoff is None else max(self.cutoff, newest - self.width)
        stay = [one for one in self.inside if one[3] > self.cutoff]
        self.left += len(self.inside) - len(stay)
        self.inside = stay
        if time <= self.cutoff and not (self.counts and op not in (INSERT, REPLACE)):
            self.late += 1
            return
        same = [one for one in self.inside if one[:2] == (src, dst)]
        if op == INSERT:
            self.inside.append((src, dst, weight, time))
        elif op == REPLACE:
            self.inside = [one for one in self.inside if one not in same]
            self.inside.append((src, dst, weight, time))
        else:
            matching = [one for one in same if op == 0 or one[2] == weight]
            if matching:
                self.inside.remove(matching[0])

    def edges(self):
        return Counter(one[:3] for one in self.inside)


def batch_of(records, *, timed):
    columns = list(zip(*records, strict=True))
    op = np.array([REMOVE if code == 0 else code for code in columns[3]], np.int8)
    weight = np.array([NAN if code == 0 else w for w, code in zip(columns[2], columns[3], strict=True)])
    batch = EdgeBatch(np.array(columns[0], np.int64), np.array(columns[1], np.int64), weight, op)
    return TimedEdges.at(batch, np.array(columns[4], np.int64)) if timed else batch


def edges_of(loop):
    branch = loop.fork(reads_edges=True)
    try:
        assert branch.wait(20)
        found = Counter()
        for page in branch.edges():
            found.update(
                zip(page.sources.tolist(), page.targets.tolist(), page.weights.tolist(), strict=True)
            )
        return found
    finally:
        branch.release()


def started(master, width, **options):
    return master.start(ShortestPaths(source=0), "roads", window=WindowWidth.of(width), **options)


def cut(records, sizes):
    at = 0
    for number in range(len(records)):
        size = sizes[number % len(sizes)]
        if at >= len(records):
            return
        yield records[at : at + size]
        at += size


@pytest.mark.parametrize("counts", [True, False])
@given(
    records=RECORDS,
    sizes=BATCHES,
    width=st.integers(1, 6),
    restarts=st.sets(st.integers(0, 12)),
    workers=st.integers(1, 2),
)
@settings(deadline=None, max_examples=60)
def test_a_plain_model_has_the_same_edges_at_every_version(counts, records, sizes, width, restarts, workers):
    store, model = KeptStore(), PlainWindow(width, counts=counts)
    window = WindowWidth(width, counts)
    master = Master(store, workers)
    try:
        loop = master.start(ShortestPaths(source=0), "roads", window=window)
        offset = 0
        for number, part in enumerate(cut(records, sizes)):
            offset += len(part)
            for record in part:
                model.take(*record)
            loop.admit(batch_of(part, timed=not counts), "edges.csv", offset)
            assert edges_of(loop) == model.edges()
            assert loop.stream.offsets().get("window", 0) == model.left
            if number in restarts:
                if number % 2:
                    loop.checkpoint()
                    loop.stream.trim_snapshots(keep=1)
                version = loop.stream.counts()[0]
                master.close()
                master = Master(store, workers)
                loop = master.start(ShortestPaths(source=0), "roads", window=window)
                assert edges_of(loop) == model.edges()
                assert loop.stream.counts()[0] == version
        said = loop.stream.window.described()
        assert (said["late"], said["left"]) == (0 if counts else model.late, model.left)
    finally:
        master.close()
