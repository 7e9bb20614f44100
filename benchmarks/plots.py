"""The plots of `docs/benchmarks.md`, drawn from raw results into `docs/figures/`: nothing in them is measured when they are drawn.

Each is an SVG that says of which numbers it was drawn (`mark`), so that whoever changes a raw result and not the plot is told by a
test. The same numbers give the same bytes with the same version of Matplotlib: no dates, and ids from a fixed salt. Text stays
text. Where Matplotlib is not installed (the extra `bench` has it) plots stay as they are.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import failure_plots, learning_figure_tables, learning_plots
from .delay_bounds import DELAY_BOUNDS, bound_name
from .figure_tables import RESULT
from .harness import CHECKOUT, Report
from .over_time import ADDED_PERCENT
from .plot_parts import draw_line, in_decades, legend_below

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOLDER = CHECKOUT / "docs" / "figures"
_PROGRAMS = {"ranks": "ranks (PageRank)", "paths": "shortest paths"}
_SETTINGS = {
    "svg.hashsalt": "tornado",
    "svg.fonttype": "none",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "legend.frameon": False,
    "lines.markersize": 4,
    "lines.linewidth": 1.3,
}


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot of one raw result.

    Attributes
    ----------
    title
        What is said in its place where it cannot be seen.
    size
        Inches.
    numbers
        What is drawn, as plain data; a KeyError where the result does not have it.
    draw
        Draws that.
    result
        Whose.
    """

    title: str
    size: tuple[float, float]
    numbers: Callable[[Report], Any]
    draw: Callable[[Figure, Any], None]
    result: str = RESULT


def write(reports: Mapping[str, Report], folder: Path = FOLDER) -> None:
    """Draw every plot whose result is there."""
    if importlib.util.find_spec("matplotlib") is None:
        print("Matplotlib is not installed (pip install '.[bench]'): plots stay as they are", file=sys.stderr)
        return
    for name, plot in PLOTS.items():
        report = reports.get(plot.result)
        if report is not None and is_there(name, report):
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{name}.svg").write_bytes(drawn(plot, report))


def is_there(name: str, report: Report) -> bool:
    """Return whether a result has all that a plot shows: one that failed may not."""
    try:
        PLOTS[name].numbers(report)
    except KeyError:
        return False
    return True


def mark(plot: Plot, report: Report) -> str:
    """Return what stands in a plot of the numbers that it was drawn of."""
    text = json.dumps(plot.numbers(report), sort_keys=True)
    return f"{plot.result} {hashlib.sha256(text.encode()).hexdigest()}"


def drawn(plot: Plot, report: Report) -> bytes:
    """Return a plot as SVG."""
    import io

    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    written = io.BytesIO()
    with mpl.rc_context(_SETTINGS):
        figure = Figure(figsize=plot.size, layout="constrained")
        FigureCanvasSVG(figure)
        plot.draw(figure, plot.numbers(report))
        metadata = {"Title": plot.title, "Description": mark(plot, report), "Date": None, "Creator": None}
        figure.savefig(written, format="svg", metadata=metadata)
    return written.getvalue()


def _numbers_of_figure_5(report: Report) -> dict[str, dict[str, list[float]]]:
    return {program: report.series[f"figure 5, {program}"] for program in _PROGRAMS}


def _draw_figure_5(figure: Figure, numbers: Mapping[str, Mapping[str, Sequence[float]]]) -> None:
    rows = figure.subplots(2, 2, sharex="col", height_ratios=(3, 2))
    lines = {
        "asked": "a question to the loop",
        "cold": "a branch from nothing",
        "built": "recomputing an edge list",
        "given": "recomputing, graph given",
    }
    for column, (program, title) in enumerate(_PROGRAMS.items()):
        columns = numbers[program]
        millions = [edges / 1e6 for edges in columns["edges"]]
        above, below = rows[0][column], rows[1][column]
        for style, (line, label) in enumerate(lines.items()):
            draw_line(above, millions, [seconds * 1e3 for seconds in columns[line]], style, label)
        in_decades(above)
        above.set_title(title)
        below.set_xlabel("edges that are there, millions")
        draw_line(below, millions, columns["error_streaming"], 0, "as records come in")
        draw_line(below, millions, columns["error_at_rest"], 4, "at rest")
    rows[0][0].set_ylabel("until the answer, ms")
    rows[1][0].set_ylabel("loop's own values:\nL1 distance")
    rows[1][0].set_yscale("log")
    rows[1][1].set_ylabel("share not exact")
    legend_below(figure, rows[0][0], columns=4)
    rows[1][0].legend()


def _numbers_of_figure_8a(report: Report) -> dict[str, dict[str, dict[str, list[float]]]]:
    return {
        program: {
            bound_name(bound): report.series[f"figure 8a, {program}, {bound_name(bound)}"]
            for bound in DELAY_BOUNDS
        }
        for program in _PROGRAMS
    }


def _draw_figure_8a(
    figure: Figure, numbers: Mapping[str, Mapping[str, Mapping[str, Sequence[float]]]]
) -> None:
    axes = figure.subplots(1, 2)
    for ax, (program, title) in zip(axes, _PROGRAMS.items(), strict=True):
        for style, (bound, columns) in enumerate(numbers[program].items()):
            draw_line(ax, columns["seconds"], columns["error"], style, bound)
        ax.set_title(title)
        ax.set_xlabel("since the branch began at nothing, s")
        ax.set_xlim(left=0)
    axes[0].set_yscale("log")
    axes[0].set_ylabel("L1 distance from the exact ranks")
    axes[1].set_ylabel("share of distances not exact")
    legend_below(figure, axes[0], columns=len(DELAY_BOUNDS))


_GROWTH = {
    "answered, {}, 1 worker": "a question to the loop, 1 worker",
    "answered, {}, 2 workers": "a question to the loop, 2 workers",
    "power iteration of an edge list, {}": "power iteration of an edge list",
    "power iteration graph given, {}": "power iteration, graph given",
    "power iteration graph given, from the ranks before, {}": "graph given, from the ranks before",
}


def _numbers_of_table_3(report: Report) -> dict[str, list[float]]:
    values = {figure.name.strip(): figure.value for figure in report.figures}
    return {line: [values[line.format(f"{percent} % more")] for percent in ADDED_PERCENT] for line in _GROWTH}


def _draw_table_3(figure: Figure, numbers: Mapping[str, Sequence[float]]) -> None:
    ax = figure.subplots()
    places = list(range(len(ADDED_PERCENT)))
    for style, (line, label) in enumerate(_GROWTH.items()):
        draw_line(ax, places, numbers[line], style, label)
    in_decades(ax)
    ax.set_xticks(places, [f"{percent} %" for percent in ADDED_PERCENT])
    ax.set_xlabel("added at once to what is there")
    ax.set_ylabel("until the answer, s")
    legend_below(figure, ax, columns=3)


PLOTS: dict[str, Plot] = {
    "figure-5": Plot(
        "Until an answer, and how far the main loop is from it, as a graph grows",
        (9.0, 5.2),
        _numbers_of_figure_5,
        _draw_figure_5,
    ),
    "figure-8a": Plot(
        "How a branch converges over time, with each delay bound",
        (9.0, 3.6),
        _numbers_of_figure_8a,
        _draw_figure_8a,
    ),
    "figures-8c-8d": Plot(
        "Updates a second, and until answers, around a killed worker and a killed driver",
        (9.0, 5.2),
        failure_plots.numbers_of_kills,
        failure_plots.draw_kills,
        failure_plots.RESULT,
    ),
    "table-3": Plot(
        "Until the ranks are answered after more was added", (9.0, 3.6), _numbers_of_table_3, _draw_table_3
    ),
    "learning-figures-6-7": Plot(
        "The objective of a main loop over time by the rate of its steps, with a drift half way",
        (9.0, 3.6),
        learning_plots.numbers_of_rates,
        learning_plots.draw_rates,
        learning_figure_tables.RESULT,
    ),
    "learning-figure-8": Plot(
        "The objective of a main loop over time by its delay bound, and with a worker that is slowed",
        (9.0, 3.6),
        learning_plots.numbers_of_bounds,
        learning_plots.draw_bounds,
        learning_figure_tables.RESULT,
    ),
    "learning-figure-5": Plot(
        "Until an answer of a learner, epoch by epoch",
        (9.0, 3.6),
        learning_plots.numbers_of_epochs,
        learning_plots.draw_epochs,
        learning_figure_tables.RESULT,
    ),
    "learning-table-3": Plot(
        "Until an answer of a learner after more points were added",
        (9.0, 3.6),
        learning_plots.numbers_of_growth,
        learning_plots.draw_growth,
        learning_figure_tables.RESULT,
    ),
}
