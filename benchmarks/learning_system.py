"""The one place where benchmarks of learning touch what they measure: a session with one loop, as a Python program has it."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

import tornado

from .harness import CHECKOUT, Clock
from .learning_data import Labelled

BLOCK = 20_000
"""Points that are inserted by one call."""

_POLL_S = 0.001
_ITERATIONS = 2  # until a step is taken, and heard of

_WRITE_ROWS = """
import sys, numpy as np
folder, points, features, value_type, seed = sys.argv[1:]
random = np.random.default_rng(int(seed))
features = random.standard_normal((int(points), int(features))) / int(features) ** 0.5
labels = np.where(features[:, 0] + 0.1 * random.standard_normal(len(features)) > 0, 1.0, -1.0)
np.save(f"{folder}/features.npy", features.astype(value_type))
np.save(f"{folder}/labels.npy", labels)
"""


class Learner:
    """A main loop on points, one worker unless told otherwise, and nothing stored.

    Parameters
    ----------
    program
        What learns.
    features
        An array or a matrix: points have its width, its type, and are sparse where it is.
    workers, delay_bound
        Of the loop.

    Attributes
    ----------
    session, stream, loop, declared
        As a Python program has them: the last is what its points are.
    """

    def __init__(
        self, program: Any, features: Any, *, workers: int = 1, delay_bound: int | None = 64
    ) -> None:
        self.declared = tornado.Points(
            features=features.shape[1],
            sparse=not isinstance(features, np.ndarray),
            dtype=features.dtype.name,
        )
        self.session = tornado.open("memory:", workers=workers)
        try:
            self.stream = self.session.stream("points", schema=self.declared)
            self.loop = self.stream.start(program, "model", delay_bound=delay_bound)
        except BaseException:
            self.session.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.session.close()

    def insert(self, first: int, points: Labelled, clock: Clock, *, block: int = BLOCK) -> None:
        """Insert points, by blocks, with ids from `first` on; waits while the loop lags too far behind."""
        for start in range(0, len(points), block):
            part = points.part(start, min(start + block, len(points)))
            ids = np.arange(first + start, first + start + len(part))
            self.stream.insert(ids=ids, labels=part.labels, features=part.features)
            clock.left_s()

    def remove(self, first: int, stop: int) -> None:
        """Remove the points of these ids."""
        self.stream.remove(ids=np.arange(first, stop))

    def rest(self, clock: Clock) -> None:
        """Wait until the main loop is at rest."""
        if not self.loop.wait_idle(clock.left_s()):
            raise TimeoutError(f"a main loop is not at rest: {self.loop.statistics()}")

    def wait_used(self, clock: Clock) -> None:
        """Wait until every point that was inserted was used in a step.

        None waits as soon as shards have looked at all; the step that this makes is another iteration.
        """
        last = None
        while True:
            statistics = self.loop.statistics()
            if statistics.backlog_records or statistics.pending:
                last = None
            elif last is None:
                last = statistics.iteration
            elif statistics.iteration >= last + _ITERATIONS or self.loop.wait_idle(0.0):
                return
            clock.left_s()
            time.sleep(_POLL_S)

    def ask(self, clock: Clock, **question: Any) -> tuple[float, Any]:
        """Ask; return the seconds until the answer was there, and the answer."""
        start = time.perf_counter()
        answer = self.loop.query(**question).result(clock.left_s())
        return time.perf_counter() - start, answer

    def fork(self, clock: Clock) -> float:
        """Fork; return the seconds until the branch has what it begins with."""
        start = time.perf_counter()
        branch = self.loop.loop.fork()
        try:
            branch.wait_cut(clock.left_s())
            return time.perf_counter() - start
        finally:
            branch.cancel()
            branch.release()

    @property
    def tested(self) -> float:
        """How many points were predicted before they were used."""
        validation = self.loop.validation
        return 0.0 if validation is None else float(validation["points"] or 0.0)

    @property
    def memory_bytes(self) -> int:
        """What the loop says that it takes."""
        return int(self.loop.statistics().memory_bytes)


def rows_in_another_process(points: int, features: int, value_type: str, *, seed: int, folder: Path) -> None:
    """Have another process write points: this one must not have had that memory, or its allocator would reuse it."""
    subprocess.run(
        [sys.executable, "-c", _WRITE_ROWS, str(folder), str(points), str(features), value_type, str(seed)],
        cwd=CHECKOUT,
        check=True,
    )
