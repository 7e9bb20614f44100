"""The law of forks: what a branch starts from is a copy of everything, however little of it had to be copied.

Columns of branches that are over are used again, and of rows that nobody has touched since they hold the copy already. Here the
same columns are filled anew, all rows of them, and compared with what a branch was given, bit for bit.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import loop_columns as names
from .loop_state import LoopState

_FIELDS = ("value", "candidate", "parent", "reached", "flags")
_COUNTED_ON = (names.EPOCH, names.TOUCHED)  # of columns that were used before, these differ


def differences_from_whole_copy(kernel: ModuleType, main: LoopState, branch: LoopState) -> list[str]:
    """Return what is not in a branch as it is in a copy of everything; the branch has been forked and has done nothing yet.

    Parameters
    ----------
    kernel
        Of the program.
    main, branch
        The columns of the loop and of the branch; only read.
    """
    counters = branch.counters
    whole = LoopState(
        worker=int(counters[names.WORKER]),
        workers=int(counters[names.WORKERS]),
        delay_bound=branch.delay_bound,
        always_prepares=branch.always_prepares,
        hears_back=bool(counters[names.HEARS_BACK]),
        worst=kernel.WORST,
        rows=main.rows_seen + 1,
        edges=1,
    )
    for counter in (names.FLOOR, names.CAP, names.VERSION, names.ITERATION):
        whole.counters[counter] = counters[counter]
    whole.counters[names.EPOCH] = 1
    kernel.fork(main.addresses[1], *whole.addresses, 0, 0, 0)
    return [
        f"{name} of {_differing(given, found)} entries"
        for (name, given), (_, found) in zip(_copied_by(whole), _copied_by(branch), strict=True)
        if _differing(given, found)
    ]


def _copied_by(state: LoopState) -> list[tuple[str, NDArray[Any]]]:
    """What a fork leaves in a branch's columns, by name; queues in an order of their own."""
    columns, counters, rows = state.columns, state.counters.copy(), state.rows_seen
    counters[list(_COUNTED_ON)] = 0
    found: list[tuple[str, NDArray[Any]]] = [
        (name, np.ascontiguousarray(getattr(columns, name)[:rows])) for name in _FIELDS
    ]
    if counters[names.WORKERS] > 1:
        found.append(("subscribers", columns.subscribers[:rows]))
    marked = np.flatnonzero(columns.flags[:rows] & names.MARKED)
    least = columns.least.reshape(len(columns.value), -1) if columns.value.ndim > 1 else columns.least
    found += [("least", least[marked]), ("wave", columns.wave[marked])]
    heap = slice(int(counters[names.HEAP]))
    entries = np.lexsort((columns.heap_key[heap], columns.heap_row[heap]))
    has_keys = counters[names.DELAY_BOUND] != 1  # a synchronous loop has a list in place of a heap
    found += [("heap_key", columns.heap_key[heap][entries])] if has_keys else []
    found += [("heap_row", columns.heap_row[heap][entries])]
    found += [("marks", np.sort(columns.marks[: counters[names.MARKS]]))]
    found += [("rechecks", np.sort(columns.recheck_row[: counters[names.RECHECKS]]))]
    found += [("recheck_wave", columns.recheck_wave[: counters[names.RECHECKS]])]
    session = state.session
    found += [("sessions", session.record[:rows]), ("prepare lists", session.preparing_producers[:rows])]
    return [*found, ("pending", columns.pending), ("counters", counters), ("in sessions", session.counters)]


def _differing(given: NDArray[Any], found: NDArray[Any]) -> int:
    """How many entries are not the same; of arrays of different shapes so many as one has more than the other."""
    if given.shape != found.shape:
        return abs(given.size - found.size)
    return int(np.count_nonzero(_differ(given, found)))


def _differ(given: NDArray[Any], found: NDArray[Any]) -> NDArray[np.bool_]:
    """Where two arrays of one shape are not the same bits."""
    given, found = (np.ascontiguousarray(one).view(f"u{one.itemsize}") for one in (given, found))
    differs: NDArray[np.bool_] = given != found
    return differs
