"""One thread that calls functions when their time has come: deadlines of queries, and waits for offsets.

A heap under a condition, in place of a `threading.Timer` (a thread) per query. An entry that is cancelled forgets its
function at once, so it pins nothing, and the heap is rebuilt when most of it is cancelled.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from threading import Condition, Thread

from ..clock import Clock


class Entry:
    """One call to come; `cancel` forgets it."""

    __slots__ = ("_timer", "call")

    def __init__(self, timer: Timer, call: Callable[[], None]) -> None:
        self._timer = timer
        self.call: Callable[[], None] | None = call

    def cancel(self) -> None:
        """Forget the call, unless it began already."""
        if self.call is not None:
            self.call = None
            self._timer.forget_one()


class Timer:
    """Calls functions at instants of a clock, in order, on a thread of its own.

    Functions must be quick and must not raise: one that does ends the process's timer with a traceback, on purpose,
    since it is a bug of ours.
    """

    def __init__(self, name: str, *, clock: Clock) -> None:
        self._clock = clock
        self._heap: list[tuple[float, int, Entry]] = []
        self._numbers = itertools.count()
        self._cancelled = 0
        self._closed = False
        self._changed = Condition()
        self._thread = Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def schedule(self, instant_s: float, call: Callable[[], None]) -> Entry:
        """Call once the clock's `monotonic` has reached `instant_s`."""
        entry = Entry(self, call)
        with self._changed:
            item = (instant_s, next(self._numbers), entry)
            heapq.heappush(self._heap, item)
            # Only a new earliest entry shortens the thread's sleep; waking it for the others would cost each query.
            if self._heap[0] is item:
                self._changed.notify()
        return entry

    def forget_one(self) -> None:
        """Count a cancelled entry, and rebuild the heap when they are the most of it."""
        with self._changed:
            self._cancelled += 1
            if self._cancelled > 64 and self._cancelled > len(self._heap) // 2:
                self._heap = [item for item in self._heap if item[2].call is not None]
                heapq.heapify(self._heap)
                self._cancelled = 0

    def pending(self) -> int:
        """How many calls are to come."""
        with self._changed:
            return sum(1 for item in self._heap if item[2].call is not None)

    def close(self) -> None:
        """Forget all calls and end the thread."""
        with self._changed:
            self._closed = True
            self._heap.clear()
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._closed:
                    return
                if not self._heap:
                    self._clock.wait(self._changed, None)
                    continue
                instant_s = self._heap[0][0]
                if self._clock.monotonic() < instant_s:
                    self._clock.wait(self._changed, instant_s)
                    continue
                entry = heapq.heappop(self._heap)[2]
                call, entry.call = entry.call, None
                if call is None:
                    self._cancelled = max(0, self._cancelled - 1)
            if call is not None:
                call()
