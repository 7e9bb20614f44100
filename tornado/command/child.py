"""A command that runs beside this one and tells by JSON lines how it goes; ended by its process id, and never left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from ..errors import ConnectionLost

_STOPPING_S = 20.0
_TAIL_LINES = 20
_POLL_S = 0.05


class Child:
    """One process. A context manager that ends it.

    Parameters
    ----------
    name : str
        What it is called in errors.
    arguments : sequence of str
        The program and its arguments.
    environment : mapping of str to str, optional
        What it has beside our own environment.

    Attributes
    ----------
    latest : dict
        The newest event of each name.
    """

    def __init__(
        self, name: str, arguments: Sequence[str], environment: Mapping[str, str] | None = None
    ) -> None:
        self.name = name
        self.latest: dict[str, dict[str, Any]] = {}
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)
        # A session of its own: Ctrl-C is for us, who end what runs in its order.
        self._process = subprocess.Popen(  # noqa: S603  our own programs
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env=os.environ | dict(environment or {}),
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, name=f"output of {name}", daemon=True)
        self._reader.start()

    def check(self) -> None:
        """Look whether it runs, or ended well.

        Raises
        ------
        ConnectionLost
            It failed; the message has the end of what it said.
        """
        if self._process.poll():
            self._reader.join(1)
            said = "\n".join(self._tail)
            raise ConnectionLost(f"{self.name} ended with {self._process.returncode}: {said}")

    @property
    def has_ended(self) -> bool:
        """Whether it is no more."""
        return self._process.poll() is not None

    def wait_for(self, event: str, timeout_s: float, meanwhile: Callable[[], None]) -> dict[str, Any]:
        """Wait for an event of that name, calling `meanwhile` every now and then.

        Raises
        ------
        ConnectionLost
            It failed, or there was no such event in time.
        """
        until_s = time.monotonic() + timeout_s
        while event not in self.latest:
            meanwhile()
            self.check()
            if time.monotonic() > until_s or self.has_ended:
                said = "\n".join(self._tail)
                raise ConnectionLost(f"{self.name} did not say {event!r} in {timeout_s:g} s: {said}")
            time.sleep(_POLL_S)
        return self.latest[event]

    def stop(self) -> None:
        """Ask it to end, and end it where that takes too long; a second call does nothing."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(_STOPPING_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(1)
        if self._process.stderr is not None:
            self._process.stderr.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _read(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._tail.append(line.rstrip())
            try:
                event = json.loads(line)
                self.latest[event["event"]] = event
            except (ValueError, KeyError, TypeError):
                continue
