"""What fails where an operator raises: the loop that it is of, or the branch."""

from __future__ import annotations

from collections.abc import Mapping

from .commands import LoopHost
from .main_loop import MainLoop


def fail_what_raised(host: LoopHost, loops: Mapping[int, MainLoop]) -> set[tuple[int | None, int | None]]:
    """Fail the loops and branches whose operators raised on a worker; return all that are there, as (loop, branch).

    Parameters
    ----------
    loops
        Those that run, by number; changed elsewhere meanwhile.
    """
    running = list(loops.values())
    failures = host.failures()
    for number, branch, failure in failures:
        failed = None if number is None else loops.get(number)
        if failed is not None and failed.error is None:
            failed.fail(failure)
        for loop in running:
            forked = loop.branch(branch) if branch is not None else None
            if forked is not None:
                forked.fail(failure)
    return {(number, branch) for number, branch, _ in failures}
