"""How much memory does a main loop take, settled and at its peak?

Two workers, the whole graph, no branch. Resident memory that is the process's own (anonymous pages: the graph's file is
mapped and does not count), from before the first edge, with everything compiled and warm, to after the loop is idle. Bound:
48 bytes an edge and 160 bytes a vertex, vertices being those that an edge names. Linux only.
"""  # noqa: D400  # a question

from __future__ import annotations

import gc
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from tornado.testing import EdgeList, chain

from .harness import CHECKOUT, Clock, Report, Settings
from .measuring import graph_facts, load
from .system import SystemFactory

_BYTES_AN_EDGE = 48
_BYTES_A_VERTEX = 160
_WORKERS = 2
# In a small graph what a loop takes whatever its size (threads, queues, first blocks) would be judged as if edges took it.
_JUDGED_FROM_SCALE = 22
_SETTLE_S = 2.0

_WRITE_GRAPH = """
import sys, numpy as np
from tornado.testing import rmat, root_of
edges = rmat(int(sys.argv[2]), seed=int(sys.argv[3]))
for name in ("src", "dst", "weight"):
    np.save(f"{sys.argv[1]}/{name}.npy", getattr(edges, name))
print(root_of(edges))
"""


def measure(report: Report, settings: Settings, clock: Clock, start: SystemFactory) -> None:
    """Fill the report; see the question above."""
    with tempfile.TemporaryDirectory(prefix="tornado-graph-") as folder:
        # Another process makes the graph: this one must not have had those gigabytes, or its allocator would reuse them.
        made = subprocess.run(
            [sys.executable, "-c", _WRITE_GRAPH, folder, str(settings.scale), str(settings.seed)],
            cwd=CHECKOUT,
            capture_output=True,
            text=True,
            timeout=clock.left_s(),
            check=True,
        )
        root = int(made.stdout)
        src, dst, weight = (
            np.load(Path(folder) / f"{name}.npy", mmap_mode="r") for name in ("src", "dst", "weight")
        )
        edges = EdgeList(src, dst, weight, 1 << settings.scale)
        report.data = graph_facts(edges, root) | {"delay_bound": 64, "workers": _WORKERS}
        with start(source=0, workers=_WORKERS, delay_bound=64) as system:
            load(system, chain(100), clock)
            system.ask(np.array([1]), clock.left_s())
        gc.collect()
        time.sleep(min(_SETTLE_S, settings.hold_s))
        before = own_bytes()
        with _Peak() as peak, start(source=root, workers=_WORKERS, delay_bound=64) as system:
            seconds = load(system, edges, clock)
            gc.collect()
            time.sleep(min(_SETTLE_S, settings.hold_s))
            settled = own_bytes() - before
            size = system.size()
        report.add("edges", size.edges, "")
        report.add("vertices", size.vertices, "")
        report.add("settled", settled / 2**20, "MiB")
        report.add("  as the loop counts it", size.memory_bytes / 2**20, "MiB")
        allowed = _BYTES_AN_EDGE * size.edges + _BYTES_A_VERTEX * size.vertices
        report.add(
            "  share of 48 bytes an edge and 160 a vertex",
            settled / allowed,
            "",
            at_most=1.0 if settings.scale >= _JUDGED_FROM_SCALE else None,
        )
        beyond_vertices = settled - _BYTES_A_VERTEX * size.vertices
        report.add("  bytes an edge, after 160 a vertex", beyond_vertices / size.edges, "B")
        report.add("  bytes an edge, all told", settled / size.edges, "B")
        report.add("peak", (peak.bytes - before) / 2**20, "MiB")
        report.add("  bytes an edge at the peak", (peak.bytes - before) / size.edges, "B")
        report.add("loading", seconds, "s")


def own_bytes() -> int:
    """Return the resident memory of this process that no file backs."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    raise OSError("this system does not tell anonymous memory apart (RssAnon in /proc/self/status)")


class _Peak:
    """The greatest `own_bytes` while the context lasts, looked at every 20 ms."""

    def __init__(self) -> None:
        self.bytes = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while True:
            self.bytes = max(self.bytes, own_bytes())
            if self._stop.wait(0.02):
                return
