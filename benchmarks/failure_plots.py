"""What `docs/benchmarks.md` shows of Figures 8c and 8d of the Tornado paper: a table, and what `plots.py` draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from .cells import cell, table
from .failure_figures import DELAY_BOUNDS, KILLED
from .harness import Report
from .plot_parts import draw_line, in_decades, legend_below

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RESULT = "failure_figures-17"
"""Of which run the document shows table and plot."""

_COLUMNS = {
    "updates a second before": "updates a second before",
    "updates a second from 5 s behind it on": "from 5 s behind the kill on",
    "until updates are counted again": "until updates are counted again",
    "time to exact before, p50": "time to exact before, p50",
    "time to exact, greatest": "greatest behind the kill",
}

Numbers = Mapping[str, Mapping[str, Mapping[str, Sequence[float]]]]


def figures_8c_8d() -> str:
    """A killed worker, and a killed driver."""
    rows = [
        [name, *(cell(RESULT, f"{column}, {name}") for column in _COLUMNS)]
        for killed in KILLED.values()
        for bound in DELAY_BOUNDS
        for name in [f"{killed} killed, B={bound}"]
    ]
    return table(["two workers", *_COLUMNS.values()], rows)


TABLES: tuple[Callable[[], str], ...] = (figures_8c_8d,)


def numbers_of_kills(report: Report) -> dict[str, dict[str, dict[str, list[float]]]]:
    """Return what is drawn, by figure and delay bound."""
    return {
        figure: {
            f"B={bound}": report.series[f"figure {figure}, updates, B={bound}"]
            | report.series[f"figure {figure}, questions, B={bound}"]
            for bound in DELAY_BOUNDS
        }
        for figure in KILLED
    }


def draw_kills(figure: Figure, numbers: Numbers) -> None:
    """Draw updates a second above, and how long questions took below, by the time since the kill."""
    rows = figure.subplots(2, 2, sharex="col", sharey="row")
    for column, (name, bounds) in enumerate(numbers.items()):
        above, below = rows[0][column], rows[1][column]
        for style, (bound, lines) in enumerate(bounds.items()):
            thousands = [per_s / 1e3 for per_s in lines["per_s"]]
            draw_line(above, lines["middles"], thousands, style, bound)
            draw_line(below, lines["asked"], lines["took"], style, bound)
        in_decades(below)
        above.set_yscale("symlog", linthresh=1.0)  # there are none while nobody runs
        for ax in (above, below):
            ax.axvline(0.0, color="black", linewidth=0.8, linestyle=":")
        above.set_title(f"Figure {name}: a {KILLED[name]} is killed")
        below.set_xlabel("since the kill, s")
    rows[0][0].set_ylim(bottom=0.0)  # of both, when all lines are there
    rows[0][0].set_ylabel("updates a second,\nthousands")
    rows[1][0].set_ylabel("time to exact of a\nquestion asked then, s")
    legend_below(figure, rows[0][0], columns=len(DELAY_BOUNDS))
