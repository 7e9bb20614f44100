"""Does a stream that keeps its size keep what it takes, however much goes through it?

A Python session with two workers on threads, a store on disk (LMDB, `fsync` on) and a checkpoint every second. Nine tenths of the
graph are there; then 200 million changes, half removals of random live edges and half additions, as fast as they are taken. What the
process and the file of the store take is looked at four times a second, and compared over the tenths of the stream: the second one,
when everything has been written anew a few times, and the last one. What the stream is made from is in the process too, and stays as
it is. In the end some distances are compared with the oracle.

Then the same into another store, with replacements alone (`=`): random edges get other weights.
"""  # noqa: D400  # a question

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
import psutil

import tornado
from tornado.records.edge_batch import EdgeBatch
from tornado.records.operations import REPLACE
from tornado.storage.lmdb import DATA_FILE_NAME
from tornado.storage.lmdb_store import LmdbStore
from tornado.testing import EdgeList

from .harness import Clock, Report, Settings
from .measuring import LOAD_BATCH, churn_of, generated, require_answers, targets_of
from .system import LOOP_NAME, SOURCE_NAME

_CHANGES = 200_000_000
_SMOKE_CHANGES = 200_000
_BATCH = 100_000
_TENTHS = 10
_LOOK_S = 0.25
_FLAT = 1.1
_DISK = 2.5


@dataclass(slots=True)
class _Taken:
    """What was seen in each tenth of the stream, in bytes."""

    folder: Path
    tenth: int = 0
    memory: list[list[int]] = field(default_factory=lambda: [[] for _ in range(_TENTHS)])
    disk: list[list[int]] = field(default_factory=lambda: [[] for _ in range(_TENTHS)])

    def look(self) -> None:
        """Look once."""
        self.memory[self.tenth].append(psutil.Process().memory_info().rss)
        self.disk[self.tenth].append((self.folder / DATA_FILE_NAME).stat().st_blocks * 512)


class _Stream(Protocol):
    """What goes through, and what is left of it."""

    def next_batch(self, size: int) -> EdgeBatch:
        """The next records, one of which may be of the edge of another."""
        ...

    def live(self) -> EdgeList:
        """The edges that there are behind all batches so far."""
        ...


class _Replacements:
    """Random edges of those that are there get random weights, and nothing comes or goes.

    Parameters
    ----------
    edges
        No two between the same ends.
    """

    def __init__(self, edges: EdgeList, *, seed: int) -> None:
        self._edges = edges
        self._weight = edges.weight.astype(np.float64)
        self._random = np.random.default_rng(seed)

    def next_batch(self, size: int) -> EdgeBatch:
        """See `_Stream`."""
        chosen = self._random.integers(len(self._edges), size=size)
        self._weight[chosen] = self._random.integers(1, 101, size)
        # Of an edge that was chosen twice the last weight stays, so both may say it.
        src, dst = self._edges.src[chosen], self._edges.dst[chosen]
        op = np.full(size, REPLACE, np.int8)
        return EdgeBatch(src.astype(np.int64), dst.astype(np.int64), self._weight[chosen], op)

    def live(self) -> EdgeList:
        """See `_Stream`."""
        return EdgeList(self._edges.src, self._edges.dst, self._weight, self._edges.vertices)


def measure(report: Report, settings: Settings, clock: Clock) -> None:
    """Fill the report; see the question above."""
    edges, root = generated(report, settings)
    changes = _SMOKE_CHANGES if settings.smoke else _CHANGES
    report.data |= {"changes": changes, "replacements": changes}
    report.data |= {"workers": 2, "store": "lmdb, fsync on", "checkpoint_every_s": 1.0}
    churn = churn_of(edges, settings)
    _measure_stream(report, clock, churn, root, changes, settings.seed, "")
    replacements = _Replacements(churn.live(), seed=settings.seed)
    _measure_stream(report, clock, replacements, root, changes, settings.seed, "replacements: ")


def _measure_stream(
    report: Report, clock: Clock, stream: _Stream, root: int, changes: int, seed: int, name: str
) -> None:
    from apps.sssp import ShortestPaths

    with tempfile.TemporaryDirectory(prefix="tornado-turnover-") as folder:
        taken = _Taken(Path(folder))
        with tornado.open(f"lmdb://{folder}", workers=2) as session:
            paths = session.start(ShortestPaths(source=root), LOOP_NAME, checkpoint_every_s=1.0)
            for batch in stream.live().batches(LOAD_BATCH):
                paths.insert(batch.src, batch.dst, batch.weight)
            with _looking(taken):
                began_s = time.perf_counter()
                for number in range(changes // _BATCH):
                    taken.tenth = number * _BATCH * _TENTHS // changes
                    # In one batch, as one of its removals may be of an edge that it has added before.
                    paths.loop.admit(stream.next_batch(_BATCH), SOURCE_NAME, (number + 1) * _BATCH)
                    clock.left_s()
                targets = targets_of(stream.live(), 500, seed=seed)
                values = paths.query(vertices=targets.tolist()).values
                rate = changes / (time.perf_counter() - began_s)
            require_answers(values, stream.live(), root, f"{name}after the stream")
            paths.checkpoint()  # of which the base is
        with LmdbStore(taken.folder) as store:
            newest = store.versions(LOOP_NAME)[-1]
            base_bytes = sum(len(page) for _, page in store.scan(LOOP_NAME, newest))
    report.add(f"{name}changes at full admission, until an exact answer", rate, "edges/s")
    report.add(f"{name}base", base_bytes / 2**20, "MiB")
    for what, tenths in (("memory", taken.memory), ("store", taken.disk)):
        most = [max(tenth, default=0) / 2**20 for tenth in tenths]
        report.add_series(f"{name}{what} by tenths", tenth=range(1, _TENTHS + 1), mebibytes=most)
        report.add(f"{name}{what}, at most, the second tenth", most[1], "MiB")
        report.add(f"{name}{what}, at most, the last tenth", most[-1], "MiB")
        report.add(f"{name}{what}, the last tenth over the second", most[-1] / most[1], "x", at_most=_FLAT)
        report.add(f"{name}{what}, at most, over the least of a tenth", max(most[1:]) / min(most[1:]), "x")
    report.add(
        f"{name}disk over the base, at most", max(map(max, taken.disk)) / base_bytes, "x", at_most=_DISK
    )


@contextmanager
def _looking(taken: _Taken) -> Iterator[None]:
    """Look while the context lasts, and once more in the end."""
    over = threading.Event()

    def look() -> None:
        while not over.wait(_LOOK_S):
            taken.look()

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        for taken.tenth in range(_TENTHS):
            if not taken.memory[taken.tenth]:  # a smoke run is over before somebody looks
                taken.look()
