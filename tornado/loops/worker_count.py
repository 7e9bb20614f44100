"""How many workers help: more are tried when all that there are have had no rest for a while, and kept where they do more.

A graph that is cut much, or whose vertices wait for each other, is faster on few workers than on many, which nobody can say before it was
tried. So a run begins with one. When every worker has been busy for ten seconds, the loops are put on twice as many; where these do not
get a tenth more done in as long, twice, the loops go back, and the next try comes ever later. What was found is said.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np

from ..clock import Clock
from ..engine import Engine
from ..errors import NotSupported, TornadoError
from .main_loop import MainLoop
from .regular_look import RegularLook

_log = logging.getLogger(__name__)

_LOOK_S = 1.0
_BUSY = 0.85  # of a core: who has no rest; the engine's threads do something beside kernels
_FOR_S = 10.0
_HELPS = 1.1  # times as much done
_REST_S = 120.0  # from a try that did not help to the next; then twice as long, and so on


class Counted(Protocol):
    """Whose workers are counted; a `Master`."""

    @property
    def clock(self) -> Clock:
        """By which it looks."""
        ...

    @property
    def engine(self) -> Engine:
        """Which knows how busy workers are."""
        ...

    @property
    def workers(self) -> int:
        """How many there are."""
        ...

    @property
    def loops(self) -> Mapping[str, MainLoop]:
        """All that run, by name."""
        ...

    def loads(self) -> list[int]:
        """What each worker has done since it began: records applied and updates committed."""
        ...

    def rescale(self, stream: str, workers: int) -> object:
        """Put the loops of a stream on so many workers, and those of all others."""
        ...


class _Look(NamedTuple):
    at_s: float
    busy_s: list[float]
    done: int


@dataclass(frozen=True, slots=True)
class _Try:
    """How fast fewer workers were, how many they were, and whether it was seen once that more do not help."""

    workers: int
    per_s: float
    is_doubted: bool = False


class WorkerCount(RegularLook):
    """See the module; it looks every second.

    Parameters
    ----------
    master
        Whose workers they are.
    most
        How many workers there are at most.

    Attributes
    ----------
    said
        What was found when more were tried last; None before that.
    """

    def __init__(self, master: Counted, *, most: int) -> None:
        super().__init__("tornado-worker-count", _LOOK_S)
        self.said: str | None = None
        self._master = master
        self._most = most
        self._first: _Look | None = None  # since when all have had no rest
        self._before: _Look | None = None
        self._try: _Try | None = None
        self._rest_s, self._next_s = _REST_S, -np.inf

    def look(self) -> None:
        """Look once, some second after the last time, and move the loops where that is due."""
        use, workers = self._master.engine.use(), self._master.workers
        look = _Look(self._master.clock.monotonic(), [one.busy_s for one in use], sum(self._master.loads()))
        before, self._before = self._before, look
        if before is None or not len(before.busy_s) == len(look.busy_s) == workers or not self._master.loops:
            self._first = None
            return
        passed_s = look.at_s - before.at_s
        rested = any(
            now - then < _BUSY * passed_s for now, then in zip(look.busy_s, before.busy_s, strict=True)
        )
        if look.done < before.done or (rested and self._try is None):
            self._first = None
            return
        if self._first is None:
            self._first = before
        if look.at_s - self._first.at_s >= _FOR_S:
            first, self._first = self._first, None
            self._judge(workers, first, look)

    def _judge(self, workers: int, first: _Look, look: _Look) -> None:
        """Try more workers, or say whether those that are tried help."""
        per_s = (look.done - first.done) / (look.at_s - first.at_s)
        if self._try is None:
            # Branches are not counted: of workers that do nothing else it could not be said whether more of them help.
            if per_s > 0 and workers < self._most and look.at_s >= self._next_s:
                self._move(min(2 * workers, self._most))
                self._try = _Try(workers, per_s)
            return
        fewer, passed_s = self._try, look.at_s - first.at_s
        busy_s = sum(look.busy_s) - sum(first.busy_s)
        if busy_s < _BUSY * fewer.workers * passed_s:
            return  # there is less to do by now: nothing can be said
        keeps_up = busy_s < _BUSY * workers * passed_s
        times = per_s / fewer.per_s
        if times >= _HELPS or (keeps_up and times >= 1.0):
            self._rest_s, self._try = _REST_S, None
            self.said = f"{workers} workers do {times:.2f} times what {fewer.workers} did"
        elif not fewer.is_doubted:
            self._try = replace(fewer, is_doubted=True)  # the load may just have changed
            return
        else:
            # First: where it cannot be now, it is found again that these do not help.
            self._move(fewer.workers)
            self._try = None
            verb = "does" if fewer.workers == 1 else "do"
            self.said = f"workers do not help: {workers} did {times:.2f} times what {fewer.workers} {verb}"
            self._next_s, self._rest_s = look.at_s + self._rest_s, 2 * self._rest_s
        _log.info("%s", self.said)

    def _move(self, workers: int) -> None:
        self._before = None  # the next ones begin to count anew
        for loop in list(self._master.loops.values()):
            self._master.rescale(loop.stream_name, workers)
            return  # all streams have the same workers

    def was_kept_from(self, error: TornadoError) -> bool:
        """See `RegularLook`: workers are lost, or a loop is being started; or the loops cannot be moved at all."""
        if isinstance(error, NotSupported):
            self.said = f"the loops stay on {self._master.workers}: {error}"
            _log.info("%s", self.said)
            return False
        self._first = None
        _log.info("the number of workers was not changed: %s", error)
        return True
