"""A pipeline beside a run: a Python file in a process of its own that fills the loop over HTTP, and ends with the run.

The contract of such a file: it is run as `python FILE ARGUMENTS` would run it, finds the service in TORNADO_URL, the loop in
TORNADO_LOOP, a token in TORNADO_TOKEN where the service asks for one, and a folder that is its own in TORNADO_PIPELINE_DIR, and ends when it gets SIGTERM. The folder is kept as long as
the store: it lies beside a store that was named, and is made anew where the loop begins anew.

Guarantees: when the run ends, however it does, nothing of the pipeline is left after `STOPPING_S`; one that ends by itself is
reported with what it said last.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from urllib.parse import unquote

from ..errors import PeerError
from ..ingest.ingester import IngesterState, IngesterStatistics
from .pipeline_child import STOPPING_S

_MODULE = f"{__package__}.pipeline_child"
_ROOT = Path(__file__).resolve().parents[2]
_TAIL_CHARACTERS = 2000
_LMDB = "lmdb://"
_POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class PipelineSettings:
    """What a run is told of its pipeline: the file, and the words behind `--`."""

    path: str
    arguments: tuple[str, ...]


class PipelineProcess:
    """One pipeline. It runs from the start, until it ends or is stopped.

    Parameters
    ----------
    settings : PipelineSettings
        What to run.
    url, loop : str
        The service and its loop.
    token : str or None
        What the service asks for, if it asks for any.
    folder : path, optional
        The pipeline's own; its log is there. Left out, one that is gone when this ends.
    is_anew : bool
        Whether the loop has nothing of an earlier run, so that the folder may not either.
    """

    def __init__(
        self,
        settings: PipelineSettings,
        *,
        url: str,
        loop: str,
        folder: Path | None,
        is_anew: bool,
        token: str | None = None,
    ) -> None:
        self.name = Path(settings.path).name
        self._scratch = None
        if folder is None:
            self._scratch = tempfile.TemporaryDirectory(
                prefix="tornado-pipeline-", ignore_cleanup_errors=True
            )
            folder = Path(self._scratch.name)
        self.log_path = folder / "pipeline.log"
        if is_anew:
            shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        path = os.environ.get("PYTHONPATH")
        own = {
            "TORNADO_URL": url,
            "TORNADO_LOOP": loop,
            "TORNADO_PIPELINE_DIR": str(folder),
            "PYTHONPATH": f"{_ROOT}{os.pathsep}{path}" if path else str(_ROOT),
            "PYTHONUNBUFFERED": "1",
        }
        # What others may use the service by is none of its business.
        inherited = {name: value for name, value in os.environ.items() if name != "TORNADO_TOKENS"}
        if token is not None:
            own["TORNADO_TOKEN"] = token
        with self.log_path.open("wb") as log:
            self._process = subprocess.Popen(  # noqa: S603  our own interpreter; the file is what the user asked for
                [sys.executable, "-m", _MODULE, settings.path, *settings.arguments],
                # Nothing is ever written to it: its end tells the pipeline that this process is gone.
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=inherited | own,
                # Whatever it starts is of its group; and a Ctrl-C on the terminal is for the run.
                start_new_session=True,
            )
        self._error: PeerError | None = None
        # Those who look at the loop's sources ask from threads of their own.
        self._lock = Lock()

    @property
    def pid(self) -> int:
        """Its process id, which is that of its group."""
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """Whether it has ended by itself."""
        with self._lock:
            over = self._process.returncode is None and self._is_over()
            if over and (code := self._end_group()):
                how = f"was ended by signal {-code}" if code < 0 else f"ended with {code}"
                self._error = PeerError(
                    f"the pipeline {self.name} {how}: {self.log_tail() or 'it said nothing'}",
                    hint=f"Its log is {self.log_path}. What it has written is in; start the run again to go on.",
                )
            return self._process.returncode is not None

    @property
    def error(self) -> PeerError | None:
        """How it failed, where it has ended by itself and not well."""
        return self._error if self.has_ended else None

    def statistics(self) -> Sequence[IngesterStatistics]:
        """Return a record of it as a source if it has failed; what it writes are sources of their own."""
        error = self.error
        if error is None:
            return []
        # A row of a table, or a label: one line, the last of what it said.
        short = " ".join([error.message.partition(":")[0] + ":", *self.log_tail().splitlines()[-1:]])
        failed = IngesterStatistics(
            f"pipeline:{self.name}", IngesterState.FAILED, 0, 0, 0, 0, 0, 0.0, 0, last_error=short
        )
        return [failed]

    def log_tail(self) -> str:
        """Return the end of what it said."""
        with self.log_path.open("rb") as log:
            log.seek(max(0, self.log_path.stat().st_size - _TAIL_CHARACTERS))
            return log.read().decode(errors="replace").strip()

    def stop(self) -> None:
        """Ask it to end, wait, and end what is left; nothing happens where it has ended."""
        with self._lock:
            if self._process.returncode is None:
                self._process.send_signal(signal.SIGTERM)
                until_s = time.monotonic() + STOPPING_S
                while not self._is_over() and time.monotonic() < until_s:
                    time.sleep(_POLL_S)
                self._end_group()
        if self._scratch is not None:
            self._scratch.cleanup()

    def _is_over(self) -> bool:
        # Without taking leave of it, so that its number and that of its group stay its own.
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self._process.pid, options) is not None

    def _end_group(self) -> int:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        if self._process.stdin is not None:
            self._process.stdin.close()
        return self._process.wait()


def pipeline_folder(store: str) -> Path | None:
    """Return where a pipeline has its folder: beside the store, for a store that has a place."""
    if not store.startswith(_LMDB):
        return None
    folder = Path(unquote(store.removeprefix(_LMDB)))
    return folder.with_name(f"{folder.name}.pipeline")
