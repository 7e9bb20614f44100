"""Workers as threads of this process. Kernels release the interpreter lock, so workers run side by side."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Sequence

from ..timely import ThreadFabric
from .contract import Host

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
    """

    def __init__(self, workers: int) -> None:
        self.fabric = ThreadFabric(workers)
        self._hosts: Sequence[Host] = ()
        self._threads: list[threading.Thread] = []
        self._is_closing = False
        self._changed = threading.Condition()
        self._waiting = 0

    def start(self, hosts: Sequence[Host], on_failure: Callable[[int, BaseException], None]) -> None:
        """Start the threads."""
        if sys.getswitchinterval() > _SWITCH_INTERVAL_S:
            sys.setswitchinterval(_SWITCH_INTERVAL_S)
        self._hosts = hosts
        for index, host in enumerate(hosts):
            thread = threading.Thread(
                target=self._run, args=(index, host, on_failure), name=f"tornado-worker-{index}", daemon=True
            )
            self._threads.append(thread)
            thread.start()

    def wait_for(self, condition: Callable[[], bool], timeout_s: float | None) -> bool:
        """Block until the condition holds; hosts call `notify` after what may change it."""
        if condition():
            return True
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        with self._changed:
            self._waiting += 1
            try:
                while not condition():
                    left = _WAIT_S if deadline is None else min(_WAIT_S, deadline - time.monotonic())
                    if left <= 0 or (self._is_closing and not condition()):
                        return False
                    self._changed.wait(left)
            finally:
                self._waiting -= 1
        return True

    def notify(self) -> None:
        """Look at the conditions again."""
        if self._waiting:
            with self._changed:
                self._changed.notify_all()

    def close(self) -> None:
        """End the threads; each closes its host."""
        self._is_closing = True
        for host in self._hosts:
            host.wake()
        for thread in self._threads:
            thread.join()
        with self._changed:
            self._changed.notify_all()

    def _run(self, index: int, host: Host, on_failure: Callable[[int, BaseException], None]) -> None:
        while not self._is_closing:
            try:
                if not host.step():
                    self.notify()  # whoever waits for it to have nothing to do
                    if not host.wait(_WAIT_S):
                        host.idle()
            except Exception as error:  # noqa: BLE001  whatever it is, the loop it happened in is reported as failed
                on_failure(index, error)
        host.close()
