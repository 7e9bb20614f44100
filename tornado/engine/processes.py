"""Workers as processes of this machine."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from .member import MemberConfig


class ProcessLauncher:
    """Starts a Python process for each worker. Its standard input is a pipe that ends with this process, however it ends.

    Parameters
    ----------
    module
        What a worker runs: a module that takes its configuration as a line of standard input.
    """

    def __init__(self, module: str) -> None:
        self._module = module
        self._processes: list[subprocess.Popen[bytes]] = []

    def launch(self, configs: Sequence[MemberConfig]) -> None:
        """See `Launcher.launch`."""
        self.kill(())
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
        }
        for config in configs:
            process = subprocess.Popen(  # noqa: S603  our own module
                [sys.executable, "-m", self._module],
                stdin=subprocess.PIPE,
                bufsize=0,
                stdout=subprocess.DEVNULL,
                env=environment,
            )
            self._processes.append(process)
            assert process.stdin is not None
            with contextlib.suppress(BrokenPipeError):  # it has ended already: `ended` says so
                process.stdin.write(config.to_json().encode() + b"\n")

    def ended(self) -> str | None:
        """See `Launcher.ended`."""
        for index, process in enumerate(list(self._processes)):
            status = process.poll()
            if status is not None:
                how = f"by {signal.Signals(-status).name}" if status < 0 else f"with status {status}"
                return f"worker {index} (process {process.pid}) ended {how}"
        return None

    def kill(self, pids: Sequence[int]) -> None:
        """See `Launcher.kill`."""
        del pids
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.wait()
            assert process.stdin is not None
            process.stdin.close()
        self._processes.clear()

    def close(self) -> None:
        """See `Launcher.close`."""
        self.kill(())
