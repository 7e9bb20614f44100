"""A stream admitted to a main loop, and what is right after each of its batches."""

import time
from dataclasses import dataclass, field

import numpy as np

from apps.sssp import ShortestPaths
from tornado.loops import BranchState, Master
from tornado.testing import EdgeHistory, exact_distances, networkx_distances

TIMEOUT_S = 120.0


def bound_name(bound):
    return "unbounded" if bound is None else f"B{bound}"


@dataclass
class Streaming:
    """A main loop of shortest paths and the stream that goes into it, batch by batch."""

    records: object
    source: int
    workers: int
    bound: int | None
    program: object = None
    prefixes: list = field(default_factory=lambda: [0])

    def __post_init__(self):
        self.history = EdgeHistory.of(self.records)

    def __enter__(self):
        self.master = Master(workers=self.workers)
        program = self.program or ShortestPaths(source=self.source)
        self.loop = self.master.start(program, "streamed", self.bound)
        return self

    def __exit__(self, *_):
        self.master.close()

    @property
    def admitted(self):
        return self.prefixes[-1]

    def admit(self, count):
        """Admit the next `count` records; whether there were any left."""
        batch = self.records.slice(self.admitted, min(self.admitted + count, len(self.records)))
        if not len(batch):
            return False
        version = self.loop.admit(batch, "stream", self.admitted + len(batch))
        self.prefixes.append(self.admitted + len(batch))
        assert version == len(self.prefixes) - 1
        return True

    def seen(self, prefix):
        return np.unique(np.concatenate([self.records.src[:prefix], self.records.dst[:prefix]]))

    def check_branch(self, branch, *, independent=False):
        """The branch's values are, bit for bit, the distances of the prefix that its snapshot names."""
        assert branch.wait(TIMEOUT_S), f"branch {branch.id} did not end"
        assert branch.state is BranchState.CONVERGED, (branch.state, branch.error)
        prefix = branch.snapshot.offsets.get("stream", 0)
        assert prefix == self.prefixes[branch.snapshot.version]
        self.check_values(branch.values(), prefix, f"branch {branch.id}", independent=independent)
        branch.release()
        return prefix

    def check_values(self, values, prefix, who, *, independent=False):
        oracle = networkx_distances if independent else exact_distances
        ids, found = values.arrays()
        expected = oracle(self.history.at(prefix), self.source).lookup(ids)
        assert np.array_equal(ids, self.seen(prefix)), f"{who} knows other vertices after {prefix} records"
        wrong = np.flatnonzero(found.view(np.int64) != expected.view(np.int64))
        assert not len(wrong), (
            f"{who} after {prefix} records: {len(wrong)} of {len(ids)} wrong, vertex {ids[wrong[0]]} has "
            f"{found[wrong[0]]}, not {expected[wrong[0]]}"
        )

    def wait_idle(self):
        deadline = time.monotonic() + TIMEOUT_S
        while not self.loop.wait_idle(0.002):
            assert time.monotonic() < deadline, self.loop.statistics()

    def check_main(self):
        """Once idle, the main loop is where its branches would be."""
        self.wait_idle()
        self.check_values(self.loop.approximation(), self.admitted, "the main loop")
        statistics = self.loop.statistics()
        assert statistics.missing_removals == self.history.missing_removals(self.admitted)
        assert statistics.edges == len(self.history.at(self.admitted))


def streaming(edges_or_records, source, workers, bound, **options):
    records = edges_or_records if hasattr(edges_or_records, "op") else edges_or_records.records()
    return Streaming(records, source, workers, bound, **options)
