"""A process with one thread that has everything imported, and compiled code loaded, and forks workers of itself in no time.

``python -m tornado.engine.fork_server MODULE``, where the module has ``serve(config)`` and ``prepare(*arguments)``, which is called
with what workers tell (`later_workers.py`). Requests come as lines of standard input, JSON: ``{"launch": [config, …]}``,
``{"kill": true}``. Lines of standard output say what became of them: ``{"started": [pid, …]}``, ``{"killed": true}``, and
``{"ended": [index, pid, status]}`` whenever a worker ends. The end of standard input is the end of it and of its workers.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import signal
import sys
import threading
import time
from types import ModuleType
from typing import Any

from . import later_workers
from .member import MemberConfig, kill_all

_ORPHAN_S = 0.5


class ForkServer:
    """See the module."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        self._workers: dict[int, int] = {}  # process -> index

    def run(self) -> None:
        """Serve until the end of standard input."""
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        text = b""
        while True:
            ready, _, _ = select.select([0, reading], [], [])
            if reading in ready:
                os.read(reading, 4096)
                self._reap()
            if 0 in ready:
                data = os.read(0, 1 << 16)
                if not data:
                    break
                *lines, text = (text + data).split(b"\n")
                for line in lines:
                    self._obey(json.loads(line))
        self._kill()

    def _obey(self, request: dict[str, Any]) -> None:
        if "launch" in request:
            _say({"started": [self._fork(config) for config in request["launch"]]})
        elif "kill" in request:
            self._kill()
            _say({"killed": True})

    def _fork(self, config: dict[str, Any]) -> int:
        server = os.getpid()
        pid = os.fork()
        if pid:
            self._workers[pid] = config["index"]
            return pid
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            nothing = os.open(os.devnull, os.O_RDWR)
            os.dup2(nothing, 0)
            os.dup2(nothing, 1)
            threading.Thread(target=_end_with, args=(server,), name="server-watch", daemon=True).start()
            self._module.serve(MemberConfig(**config))
            status = 0
        except BaseException:  # noqa: BLE001  nothing of this process must run on as if it were the server
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(status)

    def _reap(self) -> None:
        """Report the workers that have ended."""
        for pid, index in list(self._workers.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                del self._workers[pid]
                _say({"ended": [index, pid, os.waitstatus_to_exitcode(status)]})

    def _kill(self) -> None:
        kill_all(self._workers)
        for pid in self._workers:
            os.waitpid(pid, 0)
        self._workers.clear()


def _say(message: dict[str, Any]) -> None:
    os.write(1, json.dumps(message).encode() + b"\n")


def _end_with(server: int) -> None:
    while os.getppid() == server:
        time.sleep(_ORPHAN_S)
    os._exit(3)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the terminal's group; the driver says when to stop
    workers = importlib.import_module(sys.argv[1])
    later_workers.listen(workers.prepare)
    ForkServer(workers).run()
