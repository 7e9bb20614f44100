"""How soon does a service of two loops answer exactly again: started anew, with workers lost, put on other workers under load?

The real command with shortest paths and PageRank on one stream, a durable store and two workers on one engine. A graph of R-MAT is pushed,
then the service is killed with SIGKILL and started again on its log alone, the longest that is let stand; ended, which stores
a base; and started on that. Both loops are asked as soon as it is ready, and the time counts from before the start until both
have answered, less what a start on an empty store takes until both answer. Where workers are processes, one is killed, and both loops are
asked at once. Each of these is done three times, as a start of Spark alone takes seconds more or less, and its median counts. Then
changes, half removals, are pushed without a pause while the service is put on 4 workers and on 1. Memory is what all of its processes have for themselves (RssAnon), read every 50 ms. Distances are compared with the oracle, bit for bit.
"""  # noqa: D400  # a question

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import psutil
from numpy.typing import NDArray

from tornado.testing import Churn, exact_distances

from .harness import Clock, Report, Settings, WrongAnswer, quantile
from .measuring import LOAD_BATCH, churn_of, generated, require_exact, targets_of
from .served import Connection, Service, distances_of

LOOPS = ("sssp", "pagerank")
_WORKERS = 2
_TIMES = 3
_BASE_S = 3.0
_LOG_S = 8.0
_PEAK = 1.3
MOVES = (4, 1)
_CHANGES = 20_000
_CALM_S = 3.0
_LOOKS_S = 0.05
_JUDGED_FROM_SCALE = 20


def measure(report: Report, settings: Settings, clock: Clock) -> None:
    """Fill the report; see the question above."""
    edges, root = generated(report, settings)
    churn = churn_of(edges, settings)
    report.data |= {"workers": _WORKERS, "engine": settings.engine, "loops": list(LOOPS), "store": "lmdb"}
    with tempfile.TemporaryDirectory(prefix="tornado-recovery-") as folder:
        run = _Run(report, Path(folder), root, churn, clock)
        run.start_empty()
        run.start_full()


class _Run:
    """Services one after the other, on stores of one folder."""

    def __init__(self, report: Report, folder: Path, root: int, churn: Churn, clock: Clock) -> None:
        self._report, self._folder, self._root, self._churn, self._clock = report, folder, root, churn, clock
        self._judged = report.settings.scale >= _JUDGED_FROM_SCALE
        self._targets = targets_of(churn.live(), 100, seed=report.settings.seed)
        self._times = 1 if report.settings.smoke else _TIMES
        self._empty_s = 0.0

    def start_empty(self) -> None:
        """Time starts on empty stores, but for the first one, which may compile something."""
        seconds = []
        for turn in range(1 + self._times):
            with self._service(f"empty-{turn}") as service:
                seconds.append(self._started(service, np.array([self._root])))
        self._empty_s = quantile(seconds[1:], 0.5)
        name = "start on an empty store, until both have answered"
        self._report.add(name, self._empty_s, "s", of=seconds[1:])

    def start_full(self) -> None:
        """Load a graph, and have it come back in each way."""
        report, live = self._report, self._churn.live()
        with self._service("full") as service:
            service.start()
            with closing(Connection(service.url, self._clock)) as loop:
                began_s = time.perf_counter()
                for batch in live.batches(LOAD_BATCH):
                    loop.push("sssp", batch)
                for name in LOOPS:
                    loop.wait_idle(name, len(live))
                report.add("loading to both fixed points", time.perf_counter() - began_s, "s")
            self._ask_both(service, self._targets, check=True)
            steady = _anonymous(service)
            report.add("memory when it is loaded", steady / 1e6, "MB")
            self._recovered(service, "started on the log alone", service.kill, at_most=_LOG_S, steady=steady)
            self._recovered(service, "started on a fresh base", service.stop, at_most=_BASE_S, steady=steady)
            if service.workers():
                self._lose_workers(service)
            self._move_under_load(service)

    def _service(self, name: str) -> Service:
        arguments = [
            *["sssp", "--source", str(self._root), "--workers", str(_WORKERS)],
            *["--engine", self._report.settings.engine, "--store", f"lmdb://{self._folder}/{name}"],
            *["--checkpoint-every", "5m"],
        ]
        if self._report.settings.engine == "spark":
            arguments += ["--master", f"local[{max(_WORKERS, *MOVES)}]"]
        arguments += ["--and", "pagerank"]
        return Service(self._folder, arguments, self._clock, started=False)

    def _started(self, service: Service, ids: NDArray[np.int64]) -> float:
        began_s = time.perf_counter()
        service.start()
        self._ask_both(service, ids)
        return time.perf_counter() - began_s

    def _recovered(
        self, service: Service, name: str, end: Callable[[], None], *, at_most: float, steady: float
    ) -> None:
        seconds, peaks = [], []
        for _ in range(self._times):
            end()
            with _peak_of(service) as peak:
                seconds.append(self._started(service, self._targets) - self._empty_s)
            self._ask_both(service, self._targets, check=True)
            peaks.append(peak.most / steady)
        self._add(f"{name}, until both have answered", quantile(seconds, 0.5), "s", at_most, seconds)
        self._add(f"  peak memory over that when it was loaded, {name}", max(peaks), "x", _PEAK, peaks)

    def _lose_workers(self, service: Service) -> None:
        seconds = []
        for before in range(self._times):
            # Spark keeps Pythons that wait for tasks beside; those that are workers listen to others, in threads.
            busy = max(service.workers(), key=psutil.Process.num_threads)
            began_s = time.perf_counter()
            busy.kill()
            self._ask_both(service, self._targets)
            seconds.append(time.perf_counter() - began_s)
            self._ask_both(service, self._targets, check=True)
            with closing(Connection(service.url, self._clock)) as loop:
                if loop.describe("sssp")["restarts"] <= before:
                    raise WrongAnswer("a worker was killed, and none was replaced")
        name = "a worker is killed, until both have answered"
        self._add(name, quantile(seconds, 0.5), "s", _BASE_S, seconds)

    def _add(self, name: str, value: float, unit: str, at_most: float, of: Sequence[float]) -> None:
        self._report.add(name, value, unit, at_most=at_most if self._judged else None, of=of)

    def _move_under_load(self, service: Service) -> None:
        report = self._report
        calm_s = 0.2 if report.settings.smoke else _CALM_S
        with self._pushed(service) as pushes, closing(Connection(service.url, self._clock)) as loop:
            for workers in MOVES:
                time.sleep(calm_s)
                began_s = time.perf_counter()
                done = loop.rescale("sssp", workers)
                took_s = time.perf_counter() - began_s
                name = f"put on {workers} workers under load"
                bound = _LOG_S if self._judged else None
                report.add(f"{name}, the loops stand still", done["pause_s"], "s", at_most=bound)
                report.add(f"  until they go on, {name}", took_s, "s")
                report.add(f"  longest push, {name}", pushes.longest_since(began_s), "s")
            time.sleep(calm_s)
        report.add("changes pushed meanwhile", sum(pushes.counts), "")
        self._ask_both(service, self._targets, check=True)

    def _ask_both(self, service: Service, ids: NDArray[np.int64], *, check: bool = False) -> None:
        """Ask both loops, one after the other, again where an answer was lost with its workers; compare the distances."""
        with closing(Connection(service.url, self._clock)) as connection:
            for loop in LOOPS:
                answer = connection.ask_until_answered(loop, ids)
                if check and loop == "sssp":
                    found = distances_of(answer)
                    values = np.array([found[vertex] for vertex in ids.tolist()])
                    exact = exact_distances(self._churn.live(), self._root)
                    require_exact("after it came back", ids, values, exact)

    @contextmanager
    def _pushed(self, service: Service) -> Iterator[_Pushes]:
        """Push changes without a pause while the context lasts."""
        pushes = _Pushes()
        is_over = threading.Event()

        def run() -> None:
            with closing(Connection(service.url, self._clock)) as loop:
                while not is_over.is_set():
                    batch = self._churn.next_batch(_CHANGES)
                    began_s = time.perf_counter()
                    loop.push("sssp", batch)
                    pushes.counts.append(len(batch))
                    pushes.times.append((began_s, time.perf_counter()))

        def guarded() -> None:
            try:
                run()
            except BaseException as error:  # noqa: BLE001  # raised by who waits for this thread
                pushes.failures.append(error)

        thread = threading.Thread(target=guarded)
        thread.start()
        try:
            yield pushes
        finally:
            is_over.set()
            thread.join()
        if pushes.failures:
            raise pushes.failures[0]


@dataclass(slots=True)
class _Pushes:
    """What was pushed: how many records each time, and from when to when."""

    counts: list[int] = field(default_factory=list)
    times: list[tuple[float, float]] = field(default_factory=list)
    failures: list[BaseException] = field(default_factory=list)

    def longest_since(self, began_s: float) -> float:
        """Return what the longest push took that ended behind an instant."""
        return max((end - begin for begin, end in self.times if end > began_s), default=0.0)


class _Peak:
    """The most memory that was seen, in bytes."""

    most = 0.0


@contextmanager
def _peak_of(service: Service) -> Iterator[_Peak]:
    """Look at the memory of a service again and again while the context lasts."""
    peak = _Peak()
    is_over = threading.Event()

    def run() -> None:
        while not is_over.wait(_LOOKS_S):
            peak.most = max(peak.most, _anonymous(service))

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield peak
    finally:
        is_over.set()
        thread.join()


def _anonymous(service: Service) -> float:
    """Return the bytes that all processes of a service have for themselves; what is mapped from files is the system's."""
    total = 0.0
    for process in service.family():
        try:
            text = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
        except OSError:  # it has ended
            continue
        found = [line.split() for line in text.splitlines() if line.startswith("RssAnon:")]
        total += sum(int(kibibytes) * 1024.0 for _, kibibytes, _ in found)
    return total
