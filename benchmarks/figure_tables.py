"""What `docs/benchmarks.md` shows of Table 2 and Table 3 of the Tornado paper, and of its Figure 5 in numbers; as `tables.py`."""

from __future__ import annotations

from collections.abc import Callable

from .delay_bounds import DELAY_BOUNDS, bound_name
from .over_time import ADDED_PERCENT, EPOCH_SHARES, PAPER_S
from .tables import _cell as cell
from .tables import _table as table

RESULT = "figures-17"
"""Of which run the document shows tables and plots."""

_RIVALS = {"ranks": "power iteration", "paths": "heap Dijkstra"}


def table_2() -> str:
    """Delay bounds."""
    rows = []
    for program in _RIVALS:
        for bound in DELAY_BOUNDS:
            of = f"{program}, {bound_name(bound)}"
            rows.append(
                [
                    of,
                    *(
                        cell(RESULT, name)
                        for kind, seconds in (
                            ("main loop", f"main loop takes the graph in, {of}"),
                            ("branch", f"branch from nothing, {of}"),
                        )
                        for name in (
                            seconds,
                            *(f"{what}, {kind}, {of}" for what in ("iterations", "updates", "prepares")),
                        )
                    ),
                ]
            )
    head = ["two workers", "main loop takes the graph in", "iterations", "updates", "prepares"]
    return table([*head, "branch from nothing", "iterations", "updates", "prepares"], rows)


def figure_5() -> str:
    """Questions beside the batch methods."""
    rows = [
        [f"a question, epochs of {epoch}", *_latency(f"asked, {{}}, epochs of {epoch}")]
        for epoch in EPOCH_SHARES
    ]
    rows.append(["a branch from nothing", *_latency("a branch from nothing, {}")])
    for what in (" of an edge list", ", graph given"):
        cells = [_p50_p99(f"{rival}{what}, {program}") for program, rival in _RIVALS.items()]
        rows.append([f"recomputing{what}", *cells])
    for when in ("as records come in", "at rest"):
        for epoch in EPOCH_SHARES:
            name = f"error of the main loop {when}, greatest, {{}}, epochs of {epoch}"
            cells = [cell(RESULT, name.format(program)) for program in _RIVALS]
            rows.append([f"error of the main loop {when}, greatest, epochs of {epoch}", *cells])
    return table(["one worker; latencies: p50 (p99), ms", "ranks", "paths"], rows)


def table_3() -> str:
    """Ranks after more was added."""
    rows = []
    ours, theirs = (
        " to ".join(cell(RESULT, f"{name}, {which}") for which in ("least", "greatest")) for name in PAPER_S
    )
    for percent in ADDED_PERCENT:
        more = f"{percent} % more"
        rows.append(
            [
                more,
                *(cell(RESULT, f"answered, {more}, {workers}") for workers in ("1 worker", "2 workers")),
                *(
                    cell(RESULT, f"power iteration {which}, {more}")
                    for which in ("of an edge list", "graph given", "graph given, from the ranks before")
                ),
                cell(RESULT, f"power iteration of an edge list over that, {more}, 1 worker"),
                ours,
                theirs,
            ]
        )
    head = ["", "1 worker", "2 workers", "power iteration of an edge list", "graph given"]
    return table(
        [
            *head,
            "graph given, from the ranks before",
            "of an edge list over 1 worker",
            "the paper's Tornado, other hardware",
            "systems beside it, other hardware",
        ],
        rows,
    )


FIGURE_TABLES: dict[str, Callable[[], str]] = {
    shown.__name__: shown for shown in (table_2, figure_5, table_3)
}


def _latency(name: str) -> list[str]:
    return [_p50_p99(name.format(program)) for program in _RIVALS]


def _p50_p99(name: str) -> str:
    return f"{cell(RESULT, f'{name}, p50', 'bare')} ({cell(RESULT, f'{name}, p99', 'bare')})"
