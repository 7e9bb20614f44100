"""Workers as threads of this process. Kernels release the interpreter lock, so workers run side by side."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence

from ..clock import SYSTEM_CLOCK, Clock
from ..errors import StoreUnreachable, WorkerLost
from ..timely import ThreadFabric
from .engine_contract import Host, WorkerUse
from .thread_time import busy_s_of
from .waiting import WaitedFor, Waiting

_WAIT_S = 0.5
# A thread that comes back from a kernel waits for the interpreter lock this long at most before it asks for it; with the
# default of 5 ms, four busy workers made an HTTP answer wait for 11 ms.
_SWITCH_INTERVAL_S = 0.0002


class ThreadEngine:
    """One thread a worker.

    Parameters
    ----------
    workers
        How many.
    clock
        By which whoever waits for the workers gives up.

    Attributes
    ----------
    losses, workers, on_loss, on_restart
        See `Engine`; threads are lost only where others are to take their place.
    """

    def __init__(self, workers: int, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self.clock = clock
        self.losses = 0
        self.workers = workers
        self.on_loss: Callable[[], None] = lambda: None
        self.on_restart: Callable[[], None] = lambda: None
        self.fabric = ThreadFabric(workers)
        self._hosts: Sequence[Host] = ()
        self._threads: list[threading.Thread] = []
        self._waited: list[WaitedFor] = []
        self._ending = threading.Event()  # of the present threads
        self._replacing = threading.Lock()
        self._is_closing = False
        self._waiting = Waiting(clock)

    def start(self, hosts: Sequence[Host], on_failure: Callable[[int, BaseException], None]) -> None:
        """Start the threads."""
        if sys.getswitchinterval() > _SWITCH_INTERVAL_S:
            sys.setswitchinterval(_SWITCH_INTERVAL_S)
        self._hosts, self._threads, self._ending = list(hosts), [], threading.Event()
        self._waited = [WaitedFor(self.clock) for _ in hosts]
        for index, host in enumerate(hosts):
            thread = threading.Thread(
                target=self._run,
                args=(index, host, self._waited[index], on_failure, self._ending),
                name=f"tornado-worker-{index}",
                daemon=True,
            )
            self._threads.append(thread)
            thread.start()

    def replace(self, workers: int) -> None:
        """See `Engine.replace`."""
        with self._replacing:
            if self._is_closing:
                raise WorkerLost("the workers are ended, and no others are started")
            before = self.workers
            try:
                self._restart(workers)
            except Exception as error:
                self._go_back(before)
                raise WorkerLost(
                    f"the loops could not be put on {workers} workers, and go on on {before}: {error}",
                    hint="",
                ) from error

    def _go_back(self, workers: int) -> None:
        """Have as many workers as before; the store that they are restored from is waited for while it is away."""
        while True:
            try:
                self._restart(workers)
            except StoreUnreachable:
                if self._waiting.wait_for(lambda: self._is_closing, _WAIT_S):
                    raise
            else:
                return

    def _restart(self, workers: int) -> None:
        self.on_loss()
        self.losses += 1
        self._end_threads()
        self.workers, self.fabric = workers, ThreadFabric(workers)
        self.on_restart()

    def await_workers(self) -> int:
        """Return at once: threads are never lost by themselves."""
        return self.losses

    def use(self) -> list[WorkerUse]:
        """See `Engine.use`."""
        if not self._replacing.acquire(blocking=False):
            return []  # their threads may end in this moment, and nobody may ask for the time of one that has
        try:
            return [
                WorkerUse(busy_s_of(thread), waited.seconds, None)
                for thread, waited in zip(self._threads, self._waited, strict=False)
            ]
        finally:
            self._replacing.release()

    def wait_for(
        self, condition: Callable[[], bool], timeout_s: float | None, *, about: object = None
    ) -> bool:
        """Block until the condition holds; hosts call `notify` after what may change it."""
        return self._waiting.wait_for(condition, timeout_s, about=about)

    def notify(self, *about: object) -> None:
        """Look at the conditions again."""
        self._waiting.notify(*about)

    def close(self) -> None:
        """End the threads; each closes its host."""
        self._is_closing = True  # before its turn: whoever waits for a store gives up
        self._waiting.notify()
        with self._replacing:
            self._end_threads()
            self._waiting.close()

    def _end_threads(self) -> None:
        self._ending.set()
        for host in self._hosts:
            host.wake()
        for thread in self._threads:
            thread.join()
        self._hosts, self._threads, self._waited = [], [], []

    def _run(
        self,
        index: int,
        host: Host,
        waited: WaitedFor,
        on_failure: Callable[[int, BaseException], None],
        ending: threading.Event,
    ) -> None:
        while not ending.is_set():
            try:
                if not host.step():
                    self.notify()  # whoever waits for it to have nothing to do
                    if not waited.wait(host, _WAIT_S):
                        host.idle()
            except Exception as error:  # noqa: BLE001  whatever it is, the loop it happened in is reported as failed
                on_failure(index, error)
        host.close()
