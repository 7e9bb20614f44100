"""How the figures of learners are drawn; see `plots.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from .delay_bounds import DELAY_BOUNDS, bound_name
from .harness import Report
from .learning_figure_tables import RIVALS
from .learning_figures import RATES
from .over_time import ADDED_PERCENT
from .plot_parts import draw_line, in_decades, legend_below

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Columns = Mapping[str, Sequence[float]]


def numbers_of_rates(report: Report) -> dict[str, dict[str, Columns]]:
    """Figures 6 and 7."""
    return {
        figure: {f"{rate:g}": report.series[f"{figure}, rate {rate:g}"] for rate in RATES}
        for figure in ("figure 6", "figure 7")
    }


def draw_rates(figure: Figure, numbers: Mapping[str, Mapping[str, Columns]]) -> None:
    """Objective over time, by rate."""
    titles = {"figure 6": "a fixed rate (Figure 6)", "figure 7": "bold driver, by its first rate (Figure 7)"}
    _over_time(figure, numbers, titles, "rate {}", "since the first point, s")


def numbers_of_bounds(report: Report) -> dict[str, dict[str, Columns]]:
    """Figures 8a and 8b."""
    bounds = [bound_name(bound) for bound in DELAY_BOUNDS]
    return {
        figure: {bound: report.series[f"{figure}, {bound}"] for bound in bounds}
        for figure in ("figure 8a", "figure 8b")
    }


def draw_bounds(figure: Figure, numbers: Mapping[str, Mapping[str, Columns]]) -> None:
    """Objective over time, by delay bound."""
    titles = {"figure 8a": "two workers (Figure 8a)", "figure 8b": "one of them slowed (Figure 8b)"}
    _over_time(figure, numbers, titles, "{}", "since the points came, s")


def numbers_of_epochs(report: Report) -> dict[str, Columns]:
    """Figure 5."""
    return {learner: report.series[f"figure 5, {learner}"] for learner in RIVALS}


def draw_epochs(figure: Figure, numbers: Mapping[str, Columns]) -> None:
    """Latency at the end of each epoch."""
    axes = figure.subplots(1, len(RIVALS))
    lines = {
        "asked": "a question to the loop",
        "cold": "a branch from nothing",
        "rival": "scikit-learn from scratch",
    }
    for ax, (learner, columns) in zip(axes, numbers.items(), strict=True):
        thousands = [points / 1e3 for points in columns["points"]]
        for style, (column, label) in enumerate(lines.items()):
            draw_line(ax, thousands, [seconds * 1e3 for seconds in columns[column]], style, label)
        in_decades(ax)
        ax.set_title(learner)
        ax.set_xlabel("points that are there, thousands")
    axes[0].set_ylabel("until the answer, ms")
    legend_below(figure, axes[0], columns=len(lines))


_GROWTH: dict[str, Callable[[str, str], str]] = {
    "a question to the loop, 1 worker": lambda more, _: f"answered, {more}, 1 worker",
    "a question to the loop, 2 workers": lambda more, _: f"answered, {more}, 2 workers",
    "scikit-learn from scratch": lambda more, rival: f"{rival} from scratch, {more}",
}


def numbers_of_growth(report: Report) -> dict[str, dict[str, list[float]]]:
    """Table 3."""
    values = {figure.name.strip(): figure.value for figure in report.figures}
    return {
        learner: {
            label: [values[name(f"{learner}, {percent} % more", rival)] for percent in ADDED_PERCENT]
            for label, name in _GROWTH.items()
        }
        for learner, rival in RIVALS.items()
    }


def draw_growth(figure: Figure, numbers: Mapping[str, Columns]) -> None:
    """Time until an answer by how much was added."""
    axes = figure.subplots(1, len(RIVALS))
    places = list(range(len(ADDED_PERCENT)))
    for ax, (learner, lines) in zip(axes, numbers.items(), strict=True):
        for style, (label, seconds) in enumerate(lines.items()):
            draw_line(ax, places, seconds, style, label)
        in_decades(ax)
        ax.set_title(learner)
        ax.set_xticks(places, [f"{percent} %" for percent in ADDED_PERCENT])
        ax.set_xlabel("added at once to what is there")
    axes[0].set_ylabel("until the answer, s")
    legend_below(figure, axes[0], columns=len(_GROWTH))


def _over_time(
    figure: Figure,
    numbers: Mapping[str, Mapping[str, Columns]],
    titles: Mapping[str, str],
    label: str,
    below: str,
) -> None:
    axes = figure.subplots(1, len(titles), sharey=True)
    for ax, (name, title) in zip(axes, titles.items(), strict=True):
        for style, (of, columns) in enumerate(numbers[name].items()):
            draw_line(ax, columns["seconds"], columns["objective"], style, label.format(of))
        ax.set_title(title)
        ax.set_xlabel(below)
        ax.set_xlim(left=0)
    # What a rate that is too great comes to is out of sight.
    axes[0].set_ylim(0.0, 1.5)
    axes[0].set_ylabel("objective of the main loop,\non points that it has not")
    legend_below(figure, axes[0], columns=len(numbers[next(iter(titles))]))
