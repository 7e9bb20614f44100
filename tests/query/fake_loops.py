"""A master in memory behind the contract of the loops room: honest answers by recomputing, with delays to order.

A branch copies the edges when it is forked and runs Dijkstra on the copy, so every answer is exact for its snapshot. What a
test wants to control is on the master: `delay_s` (how long a branch iterates before it has the answer), `gate` (branches wait
until the test opens it), `fork_error`, `answers` (while it is not set, every call of a loop hangs, and so does a branch that is
asked how far it is), `values_of` (what is answered, of distances and vertices). The main loop's approximation is exact as well, computed when asked.
"""

import heapq
import itertools
import math
import threading
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from types import SimpleNamespace
from typing import ClassVar

import numpy as np

from tornado.clock import SYSTEM_CLOCK
from tornado.errors import InvalidArgument, NotSupported, QueueFull, UnknownField
from tornado.loops.frontier import LoopFrontier
from tornado.loops.statistics import BranchState, Progress
from tornado.loops.surroundings import Surroundings
from tornado.records.checked import Checked
from tornado.storage import MemoryStore

INSERT, REMOVE, REPLACE, MENTION = 1, -1, 2, 3


@dataclass(frozen=True)
class Snapshot:
    stream: str
    offsets: dict
    instant: datetime
    version: int
    iteration: int
    delay_bound: int | None
    is_durable: bool = False


@dataclass(frozen=True)
class Fastest:
    """Shortest paths, as a program: its fields are its parameters."""

    source: int = 1
    rank: str = field(default="nearest", init=False)
    program_kind: ClassVar[str] = "selective"
    worst: ClassVar[float] = math.inf
    both_ways: ClassVar[bool] = False

    def arguments(self):
        return (self.source,)

    def initial(self, vertex):
        return 0.0 if vertex == self.source else math.inf

    def offer(self, value, weight):
        return value + weight

    def better(self, one, other):
        return one < other

    def check(self, batch):
        return batch.weight < 0, "a weight is negative"


class Values:
    worst = math.inf

    def __init__(self, distances, vertices):
        self._ids = np.array(sorted(vertices), dtype=np.int64)
        self._values = np.array([distances.get(v, math.inf) for v in self._ids.tolist()], dtype=np.float64)

    def lookup(self, ids):
        if not len(self._ids):
            return np.full(len(ids), math.inf), np.zeros(len(ids), bool)
        places = np.minimum(np.searchsorted(self._ids, ids), len(self._ids) - 1)
        known = self._ids[places] == ids
        return np.where(known, self._values[places], math.inf), known

    def count(self):
        return len(self._ids)

    def top(self, k):
        order = np.argsort(self._values, kind="stable")
        order = order[np.isfinite(self._values[order])][:k]
        return self._ids[order], self._values[order]

    def page(self, after, limit):
        start = 0 if after is None else int(np.searchsorted(self._ids, after, side="right"))
        return self._ids[start : start + limit], self._values[start : start + limit]

    def arrays(self):
        return self._ids, self._values


def dijkstra(edges, source):
    distances = {}
    heap = [(0.0, source)]
    while heap:
        distance, vertex = heapq.heappop(heap)
        if vertex in distances:
            continue
        distances[vertex] = distance
        for target, weights in edges.get(vertex, {}).items():
            if target not in distances:
                heapq.heappush(heap, (distance + min(weights), target))
    return distances


class Branch:
    def __init__(self, number, loop, snapshot, edges, vertices, parameters, max_iterations):
        self.id = number
        self.snapshot = snapshot
        self.state = BranchState.RUNNING
        self.error = None
        self.released = False
        self.held = LoopFrontier("", None, ())
        self.start = "cold" if parameters else "warm"
        self.certificate = None
        self._loop = loop
        self._work = (edges, vertices, {"source": loop.program.source} | (parameters or {}))
        self._max_iterations = max_iterations
        self._values = None
        self._iteration = 0
        self._started = loop.master.clock.monotonic()
        self._asked = threading.Event()
        self._wish = None
        self._done = threading.Event()
        self._callbacks = []
        self._lock = threading.Lock()

    def run(self):
        master = self._loop.master
        until = self._started + master.delay_s
        while not self._asked.is_set():
            self._iteration += 1
            if self._max_iterations is not None and self._iteration > self._max_iterations:
                self._wish = BranchState.STOPPED
                break
            if master.gate.is_set() and master.clock.monotonic() >= until:
                break
            self._asked.wait(0.001)
        wish = self._wish or BranchState.CONVERGED
        if master.branch_error is not None:
            self.error, wish = master.branch_error, BranchState.FAILED
        elif wish is not BranchState.CANCELLED:
            edges, vertices, parameters = self._work
            # Stopped early, only the first hops are known: a best value so far that is not the answer.
            found = dijkstra(edges, parameters["source"])
            if wish is BranchState.STOPPED:
                found = {v: d for v, d in found.items() if v == parameters["source"]}
            self._values = master.values_of(found, vertices)
        self.certificate = {
            BranchState.CONVERGED: {"kind": "exact"},
            BranchState.STOPPED: {"kind": "none", "side": "upper"},
        }.get(wish)
        with self._lock:
            self.state = wish
            callbacks, self._callbacks = self._callbacks, []
        self._done.set()
        for callback in callbacks:
            callback(self)

    def wait_cut(self, timeout_s=None):
        return True

    def frontier(self):
        return self.held

    def progress(self):
        if self.state is BranchState.RUNNING:
            self._loop.master.answers.wait()
        elapsed_s = self._loop.master.clock.monotonic() - self._started
        return Progress(self._iteration, 3 * self._iteration, self._iteration, 0.0, elapsed_s)

    def wait(self, timeout_s=None):
        return self._done.wait(timeout_s)

    def add_done_callback(self, callback):
        with self._lock:
            if not self._done.is_set() and self.state is BranchState.RUNNING:
                self._callbacks.append(callback)
                return
        callback(self)

    def cancel(self):
        self._wish = BranchState.CANCELLED
        self._asked.set()

    def stop(self):
        self._wish = self._wish or BranchState.STOPPED
        self._asked.set()

    def values(self):
        assert not self.released, "values of a branch that was released"
        assert self._values is not None, f"values of a branch that is {self.state}"
        return self._values

    def give_up_ways(self):
        assert not self.released, "given up behind its release"

    def release(self):
        assert not self.released, "released twice"
        self.released = True
        self._values = None


class Adoption:
    """Adopts nothing, unless a test sets `is_supported`; `adopted` are the branches."""

    def __init__(self, master):
        self.takes_all = self.is_supported = False
        self.adopted = []
        self._master = master

    def require(self):
        if not self.is_supported:
            raise NotSupported("loop of roads adopts nothing")

    def suits(self, branch):
        return self.is_supported and branch.state is BranchState.CONVERGED

    def adopt(self, branch):
        self._master.answers.wait()
        assert not branch.released, "a branch that was released is adopted"
        self.adopted.append(branch)


class MainLoop:
    points = window = None

    def __init__(self, master, name, program, delay_bound):
        self.master = master
        self.name = self.stream_name = name
        self.program = program
        self.delay_bound = delay_bound
        self.workers = 1
        self.version = 0
        self.restored = None
        self.adoption = Adoption(master)
        self.branches = []
        self._edges = defaultdict(lambda: defaultdict(list))
        self._vertices = set()
        self._offsets = {}
        self.before_logging = None
        self.not_logged = None
        self.is_durable = False
        self.workers = SimpleNamespace(applied=lambda: [0], waiting=lambda: [0], around=self._around)
        self.log, self.wants_snapshot = None, lambda _: True
        self._stored = {}
        self.held = LoopFrontier("", None, ())
        self._admitted = 0
        self._missing = 0
        self._lock = threading.RLock()

    @property
    def stream(self):
        """Of its own."""
        return self

    def check(self, batch):
        return Checked(*self.program.check(batch))

    def admit(self, batch, source, offset, timeout_s=None, *, checked=(), number=None):
        self.master.answers.wait()
        if self.master.lagging:
            raise QueueFull(f"loop {self.name!r} lags", retry_after_s=2)
        with self._lock:
            for src, dst, weight, op in zip(
                batch.src.tolist(), batch.dst.tolist(), batch.weight.tolist(), batch.op.tolist(), strict=True
            ):
                self._apply(src, dst, weight, op)
            self._offsets[source] = offset
            self._admitted += len(batch.src)
            self.version += 1
            return self.version

    def _apply(self, src, dst, weight, op):
        if op == MENTION:
            self._vertices.add(src)
            return
        weights = self._edges[src][dst]
        if op == REMOVE:
            if weights and math.isnan(weight):
                weights.pop(0)
            elif weight in weights:
                weights.remove(weight)
            else:
                self._missing += 1
        else:
            if op == REPLACE:
                weights.clear()
            weights.append(weight)
            self._vertices |= {src, dst}
        if not weights:
            del self._edges[src][dst]

    def _around(self, vertex, *, most, timeout_s):
        out = [(dst, one) for dst, weights in self._edges.get(vertex, {}).items() for one in weights]
        back = [(src, one) for src, all_out in self._edges.items() for one in all_out.get(vertex, ())]
        columns = [
            np.array([row[place] for row in rows[:most]], kind)
            for rows in (out, back)
            for place, kind in ((0, np.int64), (1, np.float64))
        ]
        return Surroundings(*columns, len(out), len(back), vertex in self._vertices)

    def advance(self, source, offset, *, number=None):
        with self._lock:
            if self._offsets.get(source) != offset:
                self._offsets[source] = offset
                self.version += 1
            return self.version

    def newest_batch(self, source):
        return None  # it logs nothing

    def has_logged(self, is_refused):
        return False

    def counts(self):
        return self.version, self._admitted, self.offsets()

    def offsets(self):
        self.master.answers.wait()
        with self._lock:
            return dict(self._offsets)

    def _copy(self):
        return {src: {dst: list(ws) for dst, ws in out.items()} for src, out in self._edges.items()}, set(
            self._vertices
        )

    def _snapshot(self):
        instant = self.master.clock.now()
        return Snapshot(
            self.stream_name, dict(self._offsets), instant, self.version, 10 * self.version, self.delay_bound
        )

    def approximation(self):
        self.master.answers.wait()
        with self._lock:
            edges, vertices = self._copy()
        return self.master.values_of(dijkstra(edges, self.program.source), vertices)

    def fork(
        self, parameters=None, at=None, max_iterations=None, *, reads_edges=False, reads_ways=False, top=None
    ):
        self.master.answers.wait()
        if self.master.fork_error is not None:
            raise self.master.fork_error
        unknown = set(parameters or {}) - {"source"}
        if unknown:
            raise UnknownField(f"program Fastest has no field {min(unknown)!r}; it has: source")
        with self._lock:
            if at is None:
                snapshot, (edges, vertices) = self._snapshot(), self._copy()
            elif at in self._stored:
                snapshot, edges, vertices = self._stored[at]
            else:
                raise InvalidArgument(f"no snapshot {at}")
        branch = Branch(
            next(self.master.numbers), self, snapshot, edges, vertices, parameters, max_iterations
        )
        self.branches.append(branch)
        if self.master.delay_s == 0 and self.master.gate.is_set() and self.master.instant:
            branch.run()
        else:
            self.master.run(branch)
        return branch

    def wait_room(self, timeout_s=None):
        return not self.master.lagging

    def stored_sizes(self):
        return None

    def trim_snapshots(self, *, keep, in_use=(), sparing=False):
        with self._lock:
            stored = sorted(self._stored)
            if not stored:
                return None
            oldest = min([stored[-keep:][0], *(version for version in stored if version in in_use)])
            self._stored = {version: self._stored[version] for version in stored if version >= oldest}
            return self._stored[oldest][0]

    def checkpoint(self, *, before_write=None, within_s=None):
        if before_write is not None:
            before_write()
        with self._lock:
            snapshot = self._snapshot()
            self._stored[self.version] = (snapshot, *self._copy())
            return self.version

    def snapshots(self):
        self.master.answers.wait()
        return [stored[0] for stored in self._stored.values()]

    def statistics(self):
        self.master.answers.wait()
        with self._lock:
            return SimpleNamespace(
                name=self.name,
                program="Fastest",
                workers=1,
                delay_bound=self.delay_bound,
                version=self.version,
                iteration=10 * self.version,
                updates=self._admitted,
                prepares=0,
                residual=0.0,
                pending=0,
                vertices=len(self._vertices),
                edges=sum(len(ws) for out in self._edges.values() for ws in out.values()),
                admitted=self._admitted,
                missing_removals=self._missing,
                overtaken=0,
                waves=0,
                invalidations=0,
                by_worker=(),
                restarts=0,
                backlog_records=0,
                memory_bytes=1 << 20,
                sources=dict(self._offsets),
            )

    def frontier(self):
        self.master.answers.wait()
        return self.held

    def is_idle(self):
        return True

    def wait_idle(self, timeout_s=None):
        return True


class Master:
    """`clock`, `delay_s`, `gate`, `answers`, `lagging`, `fork_error`, `branch_error`, `instant`, `values_of` are the test's to set."""

    def __init__(self, store=None, workers=1, engine="threads", spark_master=None):
        self.clock = SYSTEM_CLOCK
        self.loops = {}
        self.store = MemoryStore() if store is None else store
        self.delay_s = 0.0
        self.instant = False
        self.lagging = False
        self.fork_error = None
        self.branch_error = None
        self.engine = SimpleNamespace(use=list)
        self.gate = threading.Event()
        self.gate.set()
        self.answers = threading.Event()
        self.answers.set()
        self.numbers = itertools.count(1)
        self.values_of = Values
        self._threads = []

    def start(
        self,
        program,
        name=None,
        delay_bound=64,
        *,
        beside=(),
        new_stream=None,
        is_undirected=False,
        points=None,
        window=None,
    ):
        assert not beside
        assert window is None
        assert not is_undirected
        name = name or type(program).__name__.lower()
        if name in self.loops:
            raise InvalidArgument(f"a loop is called {name!r} already")
        loop = MainLoop(self, name, program, delay_bound)
        loop.stream_name = new_stream or name
        loop.points = points
        self.loops[name] = loop
        return loop

    def run(self, branch):
        thread = threading.Thread(target=branch.run, daemon=True)
        self._threads.append(thread)
        thread.start()

    def close(self):
        self.gate.set()
        self.answers.set()
        for loop in self.loops.values():
            for branch in loop.branches:
                branch.cancel()
        for thread in self._threads:
            thread.join()
