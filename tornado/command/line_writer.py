"""Lines written by a thread of their own, so that whoever has something to say never waits for whoever reads it.

An event loop that answers requests logs too, and standard error may be a pipe whose reader is slow, or stands still.

Guarantees: lines are written in the order in which they were taken. `take` waits for nothing. What waits is bounded: beyond the
bound lines are left out, and how many is a line in their place. `close` waits until all is written, or nobody has read for a while.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

LONGEST_WAIT: Final = 10_000
"""So many lines wait at most."""
CLOSE_S: Final = 10.0
"""How long the end waits for whoever reads."""


@dataclass(frozen=True, slots=True)
class LineCounts:
    """How many lines were taken, written and left out so far."""

    taken: int
    written: int
    left_out: int


class LineWriter:
    """Takes lines from any thread and has them written by one.

    Parameters
    ----------
    write : callable
        Writes a line, and may take as long as it likes; what it raises as OSError or ValueError (the other end is gone, the stream
        is closed) costs that line.
    say_left_out : callable
        Returns the line that says how many were left out.
    longest : int
        How many lines may wait.

    Examples
    --------
    >>> written = []
    >>> writer = LineWriter(written.append, say_left_out="{} lines were left out".format)
    >>> writer.take("one"), writer.take("two"), writer.close()
    (True, True, True)
    >>> written
    ['one', 'two']
    """

    def __init__(
        self,
        write: Callable[[str], None],
        *,
        say_left_out: Callable[[int], str],
        longest: int = LONGEST_WAIT,
    ) -> None:
        self._write = write
        self._say_left_out = say_left_out
        self._waiting: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._longest = longest
        self._lock = threading.Lock()
        self._taken = self._written = self._left_out = self._unsaid = 0
        # A daemon: one that hangs in a write must not keep the process from ending.
        self._thread = threading.Thread(target=self._run, name="tornado-lines", daemon=True)
        self._thread.start()

    @property
    def counts(self) -> LineCounts:
        """How many lines there were until now."""
        with self._lock:
            return LineCounts(self._taken, self._written, self._left_out)

    def take(self, line: str) -> bool:
        """Have a line written soon; return whether it will be, and was not left out."""
        with self._lock:
            if self._taken - self._written >= self._longest:
                self._left_out += 1
                self._unsaid += 1
                return False
            # Said in front of the first line that there is room for again.
            unsaid, self._unsaid = self._unsaid, 0
            if unsaid:
                self._taken += 1
                self._waiting.put(self._say_left_out(unsaid))
            self._taken += 1
            self._waiting.put(line)
            return True

    def close(self, *, patience_s: float = CLOSE_S) -> bool:
        """Write all that waits, and end; return whether all was written, or nobody has read for so long."""
        with self._lock:
            if self._unsaid:
                self._waiting.put(self._say_left_out(self._unsaid))
                self._taken, self._unsaid = self._taken + 1, 0
        self._waiting.put(None)
        before = -1
        while self._thread.is_alive() and (written := self.counts.written) != before:
            before = written
            self._thread.join(patience_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while (line := self._waiting.get()) is not None:
            try:
                self._write(line)
            except (OSError, ValueError):
                # Where it was to be said that nothing can be said, nothing can be said.
                pass
            finally:
                with self._lock:
                    self._written += 1
