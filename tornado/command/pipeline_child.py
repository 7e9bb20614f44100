"""The process of a pipeline: runs its file as Python would, and ends it when the run that started it is gone.

Standard input is a pipe whose other end the run holds. It ends with the run even where that was killed and could not say so.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import threading
import time
from pathlib import Path

# Below the time after which an interrupted command ends at once, so that it ends what it started.
STOPPING_S = 8.0


def main() -> None:
    """Run the file that the first argument names, with the others as its own."""
    threading.Thread(target=_end_with_the_run, daemon=True).start()
    path = sys.argv[1]
    sys.argv = sys.argv[1:]
    sys.path[0] = str(Path(path).resolve().parent)
    runpy.run_path(path, run_name="__main__")


def _end_with_the_run() -> None:
    while os.read(0, 1 << 10):
        """Nothing is said there."""
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(STOPPING_S)
    os.killpg(os.getpgid(0), signal.SIGKILL)


if __name__ == "__main__":
    main()
