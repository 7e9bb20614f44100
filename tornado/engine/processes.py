"""Workers as processes of this machine, forked by a server that has everything loaded (`fork_server.py`)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from ..errors import WorkerLost
from ..process_memory import numpy_pages
from .member import MemberConfig, kill_all

_STARTS_WITHIN_S = 60.0  # it imports first
_ENDS_WITHIN_S = 2.0


class ProcessLauncher:
    """Has workers forked. They end with this process, however it ends.

    Parameters
    ----------
    module
        What a worker runs, as `fork_server.py` has it.
    """

    def __init__(self, module: str) -> None:
        self._module = module
        self._server: subprocess.Popen[bytes] | None = None
        self._answers: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self._ended: str | None = None

    def launch(self, configs: Sequence[MemberConfig]) -> None:
        """See `Launcher.launch`."""
        if self._server is None or self._server.poll() is not None:
            self._start_server()
        self._ended = None
        self._request({"launch": [asdict(config) for config in configs]}, "started", _STARTS_WITHIN_S)

    def ended(self) -> str | None:
        """See `Launcher.ended`."""
        server = self._server
        if self._ended is None and server is not None and server.poll() is not None:
            return f"the process that forks workers ({server.pid}) ended {_how(server.returncode)}"
        return self._ended

    def require(self, workers: int) -> None:
        """See `Launcher.require`: there is room for any number of processes."""

    def kill(self, pids: Sequence[int]) -> None:
        """See `Launcher.kill`."""
        server = self._server
        if server is None:
            return
        try:
            self._request({"kill": True}, "killed", _ENDS_WITHIN_S)
        except WorkerLost:  # it has ended, or hangs itself
            self._server = None
            server.kill()
            _closed(server)
            kill_all(pids)  # those that hang would not notice

    def close(self) -> None:
        """See `Launcher.close`."""
        server, self._server = self._server, None
        if server is not None:
            _closed(server)

    def _start_server(self) -> None:
        path = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
        server = subprocess.Popen(  # noqa: S603  our own module
            [sys.executable, "-m", f"{__package__}.fork_server", self._module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env=os.environ
            | numpy_pages(os.environ)
            # Threads of numeric libraries do not survive a fork.
            | {"PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )
        self._server, self._answers = server, SimpleQueue()
        threading.Thread(
            target=self._listen, args=(server, self._answers), name="tornado-fork-server", daemon=True
        ).start()

    def _listen(self, server: subprocess.Popen[bytes], answers: SimpleQueue[dict[str, Any]]) -> None:
        assert server.stdout is not None
        with server.stdout as stream:
            for line in stream:
                message = json.loads(line)
                if "ended" in message:
                    index, pid, status = message["ended"]
                    self._ended = self._ended or f"worker {index} (process {pid}) ended {_how(status)}"
                else:
                    answers.put(message)
        answers.put({"gone": True})

    def _tell(self, message: dict[str, Any]) -> None:
        server = self._server
        if server is None:
            return
        assert server.stdin is not None
        try:
            server.stdin.write(json.dumps(message).encode() + b"\n")
        except (BrokenPipeError, ValueError):  # `ended` says so
            return

    def _request(self, message: dict[str, Any], answer: str, within_s: float) -> None:
        self._tell(message)
        try:
            while answer not in (given := self._answers.get(timeout=within_s)):
                if "gone" in given:
                    raise WorkerLost("the process that forks workers ended")
        except Empty:
            raise WorkerLost(
                f"the process that forks workers did not answer within {within_s:.0f} s"
            ) from None


def _closed(server: subprocess.Popen[bytes]) -> None:
    """Close its standard input, which is its end, and wait for that."""
    assert server.stdin is not None
    server.stdin.close()
    try:
        server.wait(_ENDS_WITHIN_S)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def _how(status: int) -> str:
    return f"by {signal.Signals(-status).name}" if status < 0 else f"with status {status}"
