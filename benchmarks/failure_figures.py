"""What does a killed worker (Figure 8c of the Tornado paper, by our reading) or driver (8d) cost a service that is fed and asked?

The real command with a durable store and two workers, each a process, keeps shortest paths up to date, once for each delay bound.
Nine tenths of a graph of R-MAT are loaded; then changes, half removals, are pushed at a fixed rate, one client asks for the exact distances
of ten vertices again and again, and another one reads how many updates the loop has made. In the middle SIGKILL ends a worker,
whose place the service has another one take, or the whole service, which is started again at once on its store by the same command.
*Time to exact* is from before a question is sent first until its exact answer is there, whatever failed between and was sent again.
The slowest question of each quarter of a second is drawn. The first answer behind the kill and the last one are compared with the oracle.
"""  # noqa: D400  # a question

from __future__ import annotations

import http.client
import itertools
import math
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tornado.records.edge_batch import EdgeBatch
from tornado.testing import EdgeHistory, exact_distances

from .harness import Clock, Report, Settings, WrongAnswer, quantile
from .measuring import LOAD_BATCH, churn_of, generated, require_exact, targets_of
from .served import Connection, Service, arrow_of, distances_of
from .system import LOOP_NAME

DELAY_BOUNDS = (1, 256, 65_536)
_SMOKE_BOUNDS = (256,)
KILLED = {"8c": "worker", "8d": "driver"}
"""By figure."""
_WORKERS = 2
_RATE = 20_000
_PUSHES_PER_S = 20
_BEFORE_S = 5.0
_AFTER_S = 10.0
_ASKED_AGAIN_S = 0.05
_LOOKS_S = 0.05
_BIN_S = 0.25
_ASKED_FOR = 10
_RETRY_S = 0.02

_Broken = (OSError, http.client.HTTPException, WrongAnswer)


class Reading(NamedTuple):
    """How many updates a loop had made at an instant, in which of its lives: workers begin to count anew."""

    read_s: float
    updates: int
    life: tuple[str, int]


@dataclass(slots=True)
class _Seen:
    """What the clients saw, in seconds of one clock: (asked, answered, answer), and readings of how many updates the loop has made."""

    answers: list[tuple[float, float, dict[str, Any]]] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)


def measure(report: Report, settings: Settings, clock: Clock) -> None:
    """Fill the report; see the question above."""
    edges, root = generated(report, settings)
    before_s, after_s = (0.5, 0.5) if settings.smoke else (_BEFORE_S, _AFTER_S)
    report.data |= {"workers": _WORKERS, "engine": "processes", "store": "lmdb", "changes_per_s": _RATE}
    for figure, killed in KILLED.items():
        for bound in _SMOKE_BOUNDS if settings.smoke else DELAY_BOUNDS:
            churn = churn_of(edges, settings)
            live = churn.live()
            changes = churn.next_batch(int(_RATE * (before_s + after_s)))
            targets = targets_of(live, 500, seed=settings.seed)
            records = EdgeBatch.concat([*live.batches(LOAD_BATCH), changes])
            with tempfile.TemporaryDirectory(prefix="tornado-failures-") as folder:
                run = _Run(Path(folder), root, bound, records, len(live), targets, clock)
                seen, killed_s = run.watched(killed, before_s, after_s)
            name = f"{killed} killed, B={bound}"
            _compare(seen, killed_s, records, root, name)
            _report(report, figure, name, bound, seen, killed_s, before_s)


class _Run:
    """A service that is loaded, then fed and asked by clients in threads of their own."""

    def __init__(
        self,
        folder: Path,
        root: int,
        bound: int,
        records: EdgeBatch,
        loaded: int,
        targets: NDArray[np.int64],
        clock: Clock,
    ) -> None:
        arguments = [
            *["sssp", "--source", str(root), "--workers", str(_WORKERS), "--engine", "processes"],
            *["--delay-bound", str(bound), "--store", f"lmdb://{folder}/store"],
        ]
        self._service = Service(folder, arguments, clock)
        self._records, self._loaded, self._clock = records, loaded, clock
        self._targets = targets
        self._is_over = threading.Event()
        self._failures: list[BaseException] = []

    def watched(self, killed: str, before_s: float, after_s: float) -> tuple[_Seen, float]:
        """Load it, kill what is to be killed, and return what was seen and when it was killed."""
        seen = _Seen()
        with self._service:
            with closing(Connection(self._service.url, self._clock)) as loop:
                for first in range(0, self._loaded, LOAD_BATCH):
                    loop.push(LOOP_NAME, self._records.slice(first, min(first + LOAD_BATCH, self._loaded)))
                loop.wait_idle(LOOP_NAME, self._loaded)
            pushing = threading.Thread(target=self._guarded, args=(self._push,))
            clients = [
                threading.Thread(target=self._guarded, args=(step, seen)) for step in (self._ask, self._look)
            ]
            for thread in (pushing, *clients):
                thread.start()
            try:
                time.sleep(before_s)
                self._wait_until(lambda: bool(seen.answers and seen.readings))
                killed_s = time.perf_counter()
                if killed == "worker":
                    self._service.workers()[0].kill()
                else:
                    self._service.kill()
                    self._service.start()
                self._is_over.wait(max(0.0, killed_s + after_s - time.perf_counter()))
                pushing.join()  # what it held up comes later
                self._wait_until(
                    lambda: (
                        seen.readings[-1].life != seen.readings[0].life and seen.answers[-1][1] >= killed_s
                    )
                )
            finally:
                self._is_over.set()
                for thread in (pushing, *clients):
                    thread.join()
            if self._failures:
                raise self._failures[0]
            with closing(Connection(self._service.url, self._clock)) as loop:
                last_s = time.perf_counter()
                answer = loop.ask(LOOP_NAME, self._targets)
                seen.answers.append((last_s, time.perf_counter(), answer))
        return seen, killed_s

    def _wait_until(self, is_seen: Callable[[], bool]) -> None:
        """Wait for what clients on a slow machine see later, unless one of them has failed."""
        while not (self._failures or is_seen()):
            self._clock.left_s()
            time.sleep(_LOOKS_S)

    def _guarded(self, step: Callable[..., None], *arguments: Any) -> None:
        try:
            step(*arguments)
        except BaseException as error:  # noqa: BLE001  # raised by who waits for this thread
            self._failures.append(error)
            self._is_over.set()

    def _push(self) -> None:
        """Push the changes at their rate, on from where the stream is."""
        count = _RATE // _PUSHES_PER_S
        began_s = time.perf_counter()
        at, link = self._loaded, _Link(self._service, self._clock)
        while at < len(self._records) and not self._failures:
            due_s = began_s + (at - self._loaded) / _RATE
            time.sleep(max(0.0, due_s - time.perf_counter()))
            body = arrow_of(self._records.slice(at, min(at + count, len(self._records))))
            try:
                at = link.connection().pushed_up_to(LOOP_NAME, body)
            except _Broken:
                # Whether this batch is in, the stream itself says.
                at = link.until(Connection.pushed_up_to, arrow_of(EdgeBatch.empty()))
        link.close()

    def _ask(self, seen: _Seen) -> None:
        chance = np.random.default_rng(1)
        link = _Link(self._service, self._clock)
        while not self._is_over.wait(_ASKED_AGAIN_S):
            ids = chance.choice(self._targets, _ASKED_FOR, replace=False)
            asked_s = time.perf_counter()
            answer = link.until(Connection.ask, ids)
            seen.answers.append((asked_s, time.perf_counter(), answer))
        link.close()

    def _look(self, seen: _Seen) -> None:
        link = _Link(self._service, self._clock)
        while not self._is_over.wait(_LOOKS_S):
            try:
                found = link.connection().describe(LOOP_NAME)
            except _Broken:
                link.close()
                continue
            if found["state"] == "running" and found["statistics_age_s"] == 0:
                life = link.url, found["restarts"]
                seen.readings.append(Reading(time.perf_counter(), found["updates"], life))
        link.close()


class _Link:
    """A connection that is made again where it broke, to wherever the service is by then."""

    def __init__(self, service: Service, clock: Clock) -> None:
        self._service, self._clock = service, clock
        self._connection: Connection | None = None

    def connection(self) -> Connection:
        """Return it."""
        if self._connection is None:
            self._connection = Connection(self._service.url, self._clock)
        return self._connection

    @property
    def url(self) -> str:
        """Where the service is, as far as this knows."""
        return "" if self._connection is None else self._connection.url

    def until(self, asks: Callable[[Connection, str, Any], Any], what: Any) -> Any:
        """Return what is asked for, asked again until it is there."""
        while True:
            try:
                return asks(self.connection(), LOOP_NAME, what)
            except _Broken:
                self.close()
                self._clock.left_s()
                time.sleep(_RETRY_S)

    def close(self) -> None:
        """Let go of it."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def rates(readings: Sequence[Reading], begin_s: float, end_s: float) -> NDArray[np.float64]:
    """Return updates a second, in bins of a quarter of a second, by readings of a count that begins anew with new workers.

    What was counted behind a gap counts in the bin of its end: nobody knows more of it.
    """
    bins = max(1, round((end_s - begin_s) / _BIN_S))
    found = np.zeros(bins)
    for before, now in itertools.pairwise(readings):
        place = int((now.read_s - begin_s) / _BIN_S)
        if 0 <= place < bins:
            found[place] += now.updates - (before.updates if before.life == now.life else 0)
    return found / _BIN_S


def _report(
    report: Report, figure: str, name: str, bound: int, seen: _Seen, killed_s: float, before_s: float
) -> None:
    begin_s, end_s = killed_s - before_s, seen.readings[-1].read_s
    per_s = rates(seen.readings, begin_s, end_s)
    middles = (np.arange(len(per_s)) + 0.5) * _BIN_S - before_s
    *answers, _ = seen.answers  # the last one is of other vertices
    calm = [answered - asked for asked, answered, _ in answers if answered < killed_s]
    hit = [answered - asked for asked, answered, _ in answers if answered >= killed_s]
    again_s = next(reading.read_s for reading in seen.readings if reading.life != seen.readings[0].life)
    report.add(f"updates a second before, {name}", float(np.median(per_s[middles < 0])), "updates/s")
    report.add(
        f"  updates a second from 5 s behind it on, {name}",
        float(per_s[middles > _settled(middles)].mean()),
        "updates/s",
    )
    report.add(f"  until updates are counted again, {name}", again_s - killed_s, "s")
    report.add(f"  time to exact before, p50, {name}", quantile(calm, 0.5), "s", of=calm)
    report.add(f"  time to exact, greatest, {name}", max(hit), "s")
    report.add_series(f"figure {figure}, updates, B={bound}", middles=middles.tolist(), per_s=per_s.tolist())
    asked = [
        (asked_s - killed_s, answered_s - asked_s) for asked_s, answered_s, _ in answers if asked_s >= begin_s
    ]
    slowest = slowest_by_bin(asked)
    report.add_series(
        f"figure {figure}, questions, B={bound}",
        asked=[asked_s for asked_s, _ in slowest],
        took=[took_s for _, took_s in slowest],
    )


def slowest_by_bin(asked: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return, of (when it was asked, how long it took), the slowest question of each quarter of a second."""
    found: dict[int, tuple[float, float]] = {}
    for one in asked:
        place = math.floor(one[0] / _BIN_S)
        found[place] = max(found.get(place, one), one, key=lambda each: each[1])
    return [found[place] for place in sorted(found)]


def _settled(middles: NDArray[np.floating[Any]]) -> float:
    return min(5.0, float(middles[-1]) / 2)


def _compare(seen: _Seen, killed_s: float, records: EdgeBatch, root: int, name: str) -> None:
    """Compare the first answer behind the kill, and the last one, with the oracle.

    Raises
    ------
    WrongAnswer
        One differs.
    """
    history = EdgeHistory.of(records)
    behind = next(answer for _, answered, answer in seen.answers if answered > killed_s)
    for answer in (behind, seen.answers[-1][2]):
        found, count = distances_of(answer), answer["snapshot"]["offsets"]["http"]
        exact = exact_distances(history.at(count), root)
        ids = np.array(sorted(found), np.int64)
        require_exact(
            f"{name}, {count} records", ids, np.array([found[vertex] for vertex in ids.tolist()]), exact
        )
    if count != len(records):
        raise WrongAnswer(f"{name}: {count} of {len(records)} records are in")
