"""The command line: what a person types, on top of the query room.

One command is one module; this one only starts them. Results go to standard output, everything else to standard error;
the exit codes are in `presentation.ExitCode`. Nothing here is imported by the rest of the package.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator, Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows the command's name. Left out, it is taken from `sys.argv`.

    Returns
    -------
    int
        0 done, 1 failed, 2 wrong usage, 3 deadline or iteration cap reached, 130 interrupted.
    """
    # Imported late: an interrupt or a broken dependency while importing is presented like any other failure.
    from .presentation import present_failures

    def run() -> int:
        from ..process_memory import keep_freed_memory, numpy_pages

        os.environ.update(numpy_pages(os.environ))  # before anything imports NumPy
        keep_freed_memory()
        from .application import run_command_line

        return run_command_line(arguments)

    with _termination_as_interrupt():
        return present_failures(run, arguments)


@contextlib.contextmanager
def _termination_as_interrupt() -> Iterator[None]:
    """Let SIGTERM end a command like Ctrl-C does: `with` blocks are left in order, and the exit code is 130."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
