"""A stream of records admitted at the pace of a story, with stations where it waits for the storyteller."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from ..ingest.admitting import Admitting
from ..records.edge_batch import EdgeBatch

_ADMISSION_S = 30.0


@dataclass(frozen=True, slots=True)
class Stage:
    """A stretch of the stream.

    Attributes
    ----------
    name : str
        What the progress bar calls it.
    stop : int
        How many records are in at its end.
    batch_records : int
        So many are admitted at a time.
    seconds : float
        How long the stretch takes, if the loop keeps up.
    """

    name: str
    stop: int
    batch_records: int
    seconds: float


class PacedStream:
    """Admits records on a thread of its own, one stage after another. A context manager.

    Each stage begins when `begin` is called. An error of the loop is raised by the next call of `wait_for`.

    Parameters
    ----------
    loop : Admitting
        Where records go.
    records : EdgeBatch
        All of them, in order.
    source : str
        What the source is called in offsets.
    stages : sequence of Stage
        One behind the other; the last stops at the end of `records`.
    """

    def __init__(self, loop: Admitting, records: EdgeBatch, *, source: str, stages: list[Stage]) -> None:
        self._loop = loop
        self._records = records
        self._source = source
        self._stages = stages
        self._begun = 0
        self._admitted = 0
        self._ended = False
        self._error: BaseException | None = None
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="paced stream", daemon=True)

    @property
    def admitted(self) -> int:
        """How many records are in."""
        return self._admitted

    @property
    def stage(self) -> str:
        """The name of the stage under way."""
        return self._stages[max(0, self._begun - 1)].name

    def begin(self) -> None:
        """Let the next stage begin, once the one before it has ended."""
        with self._changed:
            self._begun += 1
            self._changed.notify_all()

    def wait_for(self, count: int, *, meanwhile: Callable[[], None], period_s: float) -> None:
        """Wait until `count` records are in, calling `meanwhile` every now and then.

        Raises
        ------
        Exception
            What made the stream fail, or what `meanwhile` raised.
        """
        while True:
            meanwhile()
            with self._changed:
                if self._error is not None:
                    raise self._error
                if self._admitted >= count or self._ended:
                    return
                self._changed.wait(period_s)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        self._thread.join()

    def _run(self) -> None:
        try:
            start = 0
            for number, stage in enumerate(self._stages):
                with self._changed:
                    while self._begun <= number and not self._ended:
                        self._changed.wait()
                self._run_stage(start, stage)
                start = stage.stop
        except BaseException as error:  # noqa: BLE001  raised again by wait_for, in the thread that can tell
            with self._changed:
                self._error = error
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _run_stage(self, start: int, stage: Stage) -> None:
        began_s = time.monotonic()
        per_record_s = stage.seconds / max(stage.stop - start, 1)
        for low in range(start, stage.stop, stage.batch_records):
            high = min(low + stage.batch_records, stage.stop)
            due_s = began_s + (low - start) * per_record_s
            with self._changed:
                self._changed.wait_for(lambda: self._ended, timeout=max(0.0, due_s - time.monotonic()))
                if self._ended:
                    return
            self._loop.admit(self._records.slice(low, high), self._source, high, timeout_s=_ADMISSION_S)
            with self._changed:
                self._admitted = high
                self._changed.notify_all()
