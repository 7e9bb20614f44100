"""Gates: where one is closed, the process that comes there first waits, so that a test can break something just then."""

import os
import time
from pathlib import Path

LONGEST_S = 60.0


class Gates:
    """Files of a folder: `PLACE` closes a gate, `PLACE.PID` says who waits there. Whoever comes later passes."""

    def __init__(self, folder):
        self._folder = Path(folder)
        self._folder.mkdir(exist_ok=True)

    def close(self, place):
        (self._folder / place).touch()

    def who_waits(self):
        """Return the id of the process that waits."""
        until_s = time.monotonic() + LONGEST_S
        while not (waiting := list(self._folder.glob("*.*"))):
            assert time.monotonic() < until_s, f"nobody came to {list(self._folder.iterdir())}"
            time.sleep(0.005)
        return int(waiting[0].suffix.removeprefix("."))

    def open(self):
        for path in self._folder.iterdir():
            path.unlink()

    def enter(self, place):
        mine = self._folder / f"{place}.{os.getpid()}"
        try:
            (self._folder / place).rename(mine)
        except FileNotFoundError:
            return
        until_s = time.monotonic() + LONGEST_S
        while mine.exists() and time.monotonic() < until_s:
            time.sleep(0.005)
