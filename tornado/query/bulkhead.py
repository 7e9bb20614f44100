"""Bulkheads: calls that may hang run on threads of their own, few for each kind, and nobody waits for one beyond a deadline.

Source: the patterns Bulkhead and Timeout (Nygard, Release It!, 2007, chapter 5). Guarantees: the event loop never waits; a call
that hangs takes a thread of its own kind and of no other; when all threads of a kind hang, its next call is refused at once.
Left out on purpose: a call that is late is not interrupted, since no thread can be; it runs to its end with nobody waiting.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import copy_context
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, Generic, TypeVar

from ..errors import Unresponsive

T = TypeVar("T")


class _Call(Generic[T]):
    """One call: what it runs, and the future of whoever waits for it. Its flags change under the lock of the bulkhead."""

    def __init__(
        self, run: Callable[[], T], after: Callable[[T | None], None] | None, within_s: float
    ) -> None:
        self.run = run
        self.context = copy_context()  # whose request it is, wherever it runs
        self.after = after
        self.loop = asyncio.get_running_loop()
        self._late_from_s = self.loop.time() + within_s
        self.future: asyncio.Future[T] = self.loop.create_future()
        self.is_running = self.is_over = self.is_abandoned = False
        self.value: Any = None
        self.error: BaseException | None = None

    @property
    def is_late(self) -> bool:
        """Whether its deadline has passed, by the clock of those who wait."""
        return self.loop.time() >= self._late_from_s

    def do(self) -> None:
        """Run it."""
        try:
            self.value = self.context.run(self.run)
        except BaseException as error:  # noqa: BLE001  raised to whoever waits
            self.error = error

    def hand_over(self) -> None:
        """Set the outcome on the future of whoever waits."""
        try:
            self.loop.call_soon_threadsafe(self._settle)
        except RuntimeError:  # the event loop has ended: nobody is left who could be told
            self.clear_up()

    def clear_up(self) -> None:
        """Hand the value to `after`, since nobody waits for it."""
        if self.after is not None:
            self.after(self.value)

    def _settle(self) -> None:
        if self.future.done():  # cancelled
            return
        if self.error is None:
            self.future.set_result(self.value)
        else:
            self.future.set_exception(self.error)


class Bulkhead:
    """The threads for one kind of calls.

    Parameters
    ----------
    name : str
        What the calls do, as a message says it: "<name> did not come to an end within …".
    threads : int
        How many run at once. Threads start when they are needed.
    deadline_s : float
        How long a caller waits, in line and for the call.
    hint : str
        What a caller does who did not get an answer.
    line : int
        How many calls may wait for a thread.
    """

    def __init__(
        self,
        name: str,
        *,
        threads: int,
        deadline_s: float,
        hint: str = "Ask again in a moment.",
        line: int = 1_024,
    ) -> None:
        self.name = name
        self.deadline_s = deadline_s
        self._most_threads = threads
        self._line = line
        self._hint = hint
        self._lock = Lock()
        self._calls: SimpleQueue[_Call[Any] | None] = SimpleQueue()
        self._threads = 0
        self._idle = 0
        self._waiting = 0
        # Those that run with nobody waiting for them.
        self._left: set[_Call[Any]] = set()

    async def run(
        self,
        call: Callable[[], T],
        *,
        after: Callable[[T | None], None] | None = None,
        deadline_s: float | None = None,
    ) -> T:
        """Call on a thread, and return or raise what came of it.

        Parameters
        ----------
        after : callable, optional
            Called when nobody waited for the end of the call: with what it returned, or None where it raised or was not begun,
            which must then be quick.
        deadline_s : float, optional
            In place of the bulkhead's.

        Raises
        ------
        Unresponsive
            When the deadline passes, all threads hang, or too many calls wait.
        """
        within_s = self.deadline_s if deadline_s is None else deadline_s
        made = _Call(call, after, within_s)
        try:
            self._take(made)
        except Unresponsive:
            made.clear_up()
            raise
        try:
            await asyncio.wait([made.future], timeout=within_s)
            if not made.future.done() and self._abandon(made):
                raise Unresponsive(
                    f"{self.name} did not come to an end within {within_s:g} s: a worker may hang, or loops are being "
                    "restored",
                    hint=self._hint,
                )
            return await made.future
        except asyncio.CancelledError:
            if not self._abandon(made):
                Thread(target=made.clear_up, name=f"tornado-http {self.name}", daemon=True).start()
            raise

    def late(self) -> int:
        """How many threads hang: nobody waits for them, and they are late. One whose caller has gone before may come to its end in time."""
        with self._lock:
            return self._count_late()

    def close(self) -> None:
        """Take no more calls, and end the threads. Those that hang end when their calls do; nobody waits for them."""
        with self._lock:
            self._line = 0
            threads = self._threads
        for _ in range(threads):
            self._calls.put(None)

    def _take(self, call: _Call[Any]) -> None:
        with self._lock:
            late = self._count_late()
            if late >= self._most_threads or self._waiting >= self._line:
                raise Unresponsive(
                    f"{late} calls of the kind {self.name!r} hang and {self._waiting} wait; no more are begun",
                    hint=self._hint,
                )
            self._waiting += 1
            starts = self._waiting > self._idle and self._threads < self._most_threads
            if starts:
                self._threads += 1
                self._idle += 1
        self._calls.put(call)
        if starts:
            # A daemon: a process that ends does not wait for a worker that hangs.
            Thread(target=self._serve, name=f"tornado-http {self.name}", daemon=True).start()

    def _abandon(self, call: _Call[Any]) -> bool:
        """Wait for a call no longer, unless it has come to its end."""
        with self._lock:
            if call.is_over:
                return False
            call.is_abandoned = True
            if call.is_running:
                self._left.add(call)
            return True

    def _count_late(self) -> int:
        return sum(call.is_late for call in self._left)

    def _serve(self) -> None:
        while True:
            call = self._calls.get()
            if call is None:
                return
            with self._lock:
                self._idle -= 1
                self._waiting -= 1
                call.is_running = not call.is_abandoned
            if call.is_running:
                call.do()
            with self._lock:
                call.is_over = True
            if call.is_abandoned:
                call.clear_up()
            else:
                call.hand_over()
            with self._lock:
                self._idle += 1
                self._left.discard(call)
            del call  # an idle thread keeps nothing alive
