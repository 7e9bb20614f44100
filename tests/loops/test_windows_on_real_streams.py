"""Windows over real streams, of which some records come late: at random instants, and after restarts, answers are those of networkx."""

import gzip
import math
from random import Random

import networkx as nx
import numpy as np
import pytest

from apps.sssp import ShortestPaths
from tests.kept_store import KeptStore
from tornado.loops.master import Master
from tornado.records.edge_batch import EdgeBatch
from tornado.records.timed_edges import TimedEdges
from tornado.records.window_width import WindowWidth

DAY_S = 86_400


def read(path, separator):
    """Return the columns of a file; a line that is no record (one is damaged) is passed over."""
    with gzip.open(path, "rt") as file:
        rows = [line.strip().split(separator) for line in file if line[0] != "#"]
    return np.array([row for row in rows if not any(" " in field for field in row)], np.float64)


def stream_of(name, data_dir):
    """Return the records of a data set, and the width of a window of a part of them."""
    if name == "college":
        rows = read(data_dir / "college-msg.txt.gz", None)
        return timed(rows, np.ones(len(rows)), rows[:, 2]), WindowWidth.of("14d")
    if name == "bitcoin":
        rows = read(data_dir / "bitcoin-otc.csv.gz", ",")
        return timed(rows, 11 + rows[:, 2], rows[:, 3]), WindowWidth.of("60d")
    rows = read(data_dir / "soc-epinions1.txt.gz", None)[:120_000]
    return edges(rows, np.ones(len(rows))), WindowWidth.of("20000")


def edges(rows, weights):
    return EdgeBatch.of(rows[:, 0].astype(np.int64), rows[:, 1].astype(np.int64), weights)


def timed(rows, weights, seconds):
    return TimedEdges.at(edges(rows, weights), np.rint(seconds * 1e6).astype(np.int64))


def some_late(records, chance):
    """Have one record of thirty come later than it was, some by more than a window is wide."""
    place = np.arange(len(records), dtype=np.float64)
    moved = np.array(chance.sample(range(len(records)), len(records) // 30))
    place[moved] += [chance.uniform(0, len(records) / 4) for _ in moved]
    return records.take(np.argsort(place, kind="stable"))


def inside(batch, width):
    """What is in the window behind these records, and how many of them came late; by the definition."""
    if width.counts_records:
        return batch.slice(len(batch) - min(len(batch), width.amount), len(batch)), 0
    late = int(np.count_nonzero(batch.time <= np.maximum.accumulate(batch.time) - width.amount))
    return batch.take(batch.time > batch.time.max() - width.amount), late


def distances(batch, source):
    graph = nx.DiGraph()
    graph.add_node(source)
    for src, dst, weight in zip(batch.src.tolist(), batch.dst.tolist(), batch.weight.tolist(), strict=True):
        if weight < graph.get_edge_data(src, dst, {"weight": math.inf})["weight"]:
            graph.add_edge(src, dst, weight=weight)
    return nx.single_source_dijkstra_path_length(graph, source)


@pytest.mark.parametrize(
    ("name", "engine", "workers"),
    [
        ("college", "threads", 1),
        ("bitcoin", "threads", 2),
        ("epinions", "threads", 2),
        ("college", "processes", 2),
    ],
)
def test_answers_are_those_of_networkx_on_what_is_in_the_window(data_dir, name, engine, workers):
    records, width = stream_of(name, data_dir)
    chance = Random(f"{name} {engine}")
    if not width.counts_records:
        records = some_late(records, chance)
    source = int(np.bincount(records.src[len(records) // 2 :]).argmax())
    asked = sorted(chance.sample(range(1, len(records)), 7))
    restarts = set(chance.sample(asked, 3))
    store, reached = KeptStore(), 0
    master = Master(store, workers, engine)
    try:
        loop = master.start(ShortestPaths(source=source), "stream", window=width)
        for at in [*asked, len(records)]:
            while reached < at:
                before, reached = reached, min(at, reached + chance.randrange(1, 9_000))
                loop.admit(records.slice(before, reached), "stream.txt", reached)
            if at in restarts:
                if chance.random() < 0.6:
                    loop.checkpoint()
                    loop.stream.trim_snapshots(keep=1)
                master.close()
                master = Master(store, workers, engine)
                loop = master.start(ShortestPaths(source=source), "stream", window=width)
            branch = loop.fork()
            assert branch.wait(60)
            ids, values = branch.values().arrays()
            found = {
                vertex: value
                for vertex, value in zip(ids.tolist(), values.tolist(), strict=True)
                if math.isfinite(value)
            }
            window, late = inside(records.slice(0, at), width)
            expected = distances(window, source)
            left = at - late - len(window)
            assert branch.snapshot.offsets == {"stream.txt": at} | (
                {"window": left} if left else {"window": 0}
            )
            said = loop.stream.window.described()
            assert (said["left"], said["late"]) == (left, late)
            assert set(found) | {source} == set(expected)
            assert all(found[vertex] == pytest.approx(expected[vertex], abs=1e-9) for vertex in found)
            branch.release()
        assert left > 1000
        assert late > 100 or width.counts_records
    finally:
        master.close()
