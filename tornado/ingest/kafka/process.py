"""The client's process as its owner holds it: started, heard, told what is admitted, ended."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from ...clock import Clock
from .settings import KafkaSettings, WhenDeleted
from .wire import Frame, read_frame

_MODULE: Final = f"{__package__}.consumer"
_ROOT: Final = Path(__file__).resolve().parents[len(_MODULE.split(".")) - 1]
_ENDING_S: Final = 5.0
_SHORT_ENDING_S: Final = 0.5
_COMPLAINT_LINES: Final = 20


class ClientProcess:
    """One client. What it has handed over waits here, as much as the client allows itself.

    Parameters
    ----------
    settings : KafkaSettings
        What it reads.
    offsets : mapping of int to int
        The first record that is needed, by partition; of those that are not named, their first.
    look_back : mapping of int to int, optional
        Where to begin in place of that, as far as the broker still has it.
    share : int
        Which part of the partitions it reads: those whose number leaves this remainder when divided by `settings.ingesters`.
    clock : Clock
        What says how long it is silent.
    """

    def __init__(
        self,
        settings: KafkaSettings,
        offsets: Mapping[int, int],
        *,
        look_back: Mapping[int, int] | None = None,
        share: int = 0,
        clock: Clock,
    ) -> None:
        self._clock = clock
        path = os.environ.get("PYTHONPATH")
        environment = os.environ | {"PYTHONPATH": f"{_ROOT}{os.pathsep}{path}" if path else str(_ROOT)}
        self._process = subprocess.Popen(  # noqa: S603  our own module, in our own interpreter
            [sys.executable, "-m", _MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            # A Ctrl-C on the terminal is for the session, which decides when the client ends.
            start_new_session=True,
        )
        self._frames: deque[Frame] = deque()
        self._arrived = threading.Condition()
        self._ended = False
        self._ending_s = _ENDING_S if settings.group is not None else _SHORT_ENDING_S
        self._heard_s = self._clock.monotonic()
        self._complaints: deque[str] = deque(maxlen=_COMPLAINT_LINES)
        self._tell(
            json.dumps(
                {
                    "brokers": list(settings.brokers),
                    "topic": settings.topic,
                    "from_earliest": settings.when_deleted is WhenDeleted.EARLIEST,
                    "offsets": offsets,
                    "look_back": look_back or {},
                    "share": [share, settings.ingesters],
                    "group": settings.group,
                    "client": dict(settings.client),
                }
            )
        )
        self._threads = [
            threading.Thread(target=target, name=f"{name} {settings.topic}", daemon=True)
            for target, name in ((self._hear, "kafka frames"), (self._hear_complaints, "kafka complaints"))
        ]
        for thread in self._threads:
            thread.start()

    @property
    def pid(self) -> int:
        """The process id of the client."""
        return self._process.pid

    @property
    def silent_s(self) -> float:
        """How long nothing has come from it."""
        return self._clock.monotonic() - self._heard_s

    def next_frame(self, timeout_s: float) -> Frame | None:
        """Return what it said next; None where that is nothing yet, or nothing any more (`has_ended`)."""
        with self._arrived:
            if not self._frames and not self._ended:
                self._arrived.wait(timeout_s)
            return self._frames.popleft() if self._frames else None

    @property
    def has_ended(self) -> bool:
        """Whether everything it said was returned and no more can come."""
        with self._arrived:
            return self._ended and not self._frames

    def admitted(self, size_bytes: int) -> None:
        """Tell it that a chunk is admitted."""
        self._tell(str(size_bytes))

    def commit(self, offsets: Mapping[int, int]) -> None:
        """Let it tell the broker where we are, for others to see."""
        self._tell(json.dumps(offsets))

    def end(self) -> str:
        """End it if it has not, and say how it ended, with the last that it complained of."""
        with contextlib.suppress(OSError):
            assert self._process.stdin is not None
            self._process.stdin.close()
        try:
            code = self._process.wait(_ENDING_S if self._ended else self._ending_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        for thread in self._threads:
            thread.join(_ENDING_S)
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
        last = self._complaints[-1] if self._complaints else ""
        how = f"ended by signal {-code}" if code < 0 else f"ended with {code}"
        return f"{how}: {last}" if last else how

    def _tell(self, line: str) -> None:
        # A client that is gone is noticed by what it no longer says.
        with contextlib.suppress(OSError, ValueError):
            assert self._process.stdin is not None
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()

    def _hear(self) -> None:
        stream: Any = self._process.stdout
        while (frame := read_frame(stream)) is not None:
            self._heard_s = self._clock.monotonic()
            if frame.kind == "alive":
                continue
            with self._arrived:
                self._frames.append(frame)
                self._arrived.notify()
        with self._arrived:
            self._ended = True
            self._arrived.notify()

    def _hear_complaints(self) -> None:
        stream: Any = self._process.stderr
        for line in stream:
            if text := line.decode(errors="replace").strip():
                self._complaints.append(text)
