"""The command line, with marks in a file of what it is in the middle of: so a test can kill it there, and count what it was killed in.

    python -m tests.spark.marked_service MARKS run …

The file MARKS is shared memory: what stands in it outlives a kill. A base is written far more often than in earnest.
"""

import functools
import mmap
import sys
from pathlib import Path

PHASES = ("flush", "base", "forget", "rescale", "replay")
RECORDS_A_BASE = 10_000


class Marks:
    """How often each phase is under way."""

    def __init__(self, path):
        if not path.exists():
            path.write_bytes(bytes(len(PHASES)))
        with path.open("r+b") as file:
            self._bytes = mmap.mmap(file.fileno(), len(PHASES))

    def clear(self):
        self._bytes[:] = bytes(len(PHASES))

    def now(self):
        """Return the phases that are under way."""
        return {phase for phase, count in zip(PHASES, bytes(self._bytes), strict=True) if count}

    def count(self, phase, by):
        self._bytes[PHASES.index(phase)] += by

    def of(self, phase, owner, name):
        """Mark a phase whenever that is called."""
        function = getattr(owner, name)

        @functools.wraps(function)
        def marked(*arguments, **named):
            self.count(phase, 1)
            try:
                return function(*arguments, **named)
            finally:
                self.count(phase, -1)

        setattr(owner, name, marked)


def main(path, *arguments):
    from tornado.command import main as command
    from tornado.loops import admission_log, master, stored_snapshot

    log = admission_log.AdmissionLog
    log.is_long = lambda self, version, *_, **__: self.size_after(version).records > RECORDS_A_BASE
    marks = Marks(Path(path))
    marks.of("flush", log, "append")
    marks.of("forget", log, "forget")
    marks.of("base", stored_snapshot.StoredSnapshots, "write")
    marks.of("rescale", master.Master, "rescale")
    marks.of("replay", master, "go_on")
    return command([*arguments])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
