"""What plots share: lines, axes and legends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which most people can tell apart; markers say the same.
_STYLES = (("#0072b2", "o"), ("#d55e00", "s"), ("#009e73", "^"), ("#cc79a7", "D"), ("#56b4e9", "v"))


def draw_line(ax: Axes, x: Sequence[float], y: Sequence[float], style: int, label: str) -> None:
    """Draw a line through points."""
    color, marker = _STYLES[style]
    ax.plot(x, y, color=color, marker=marker, label=label)


def in_decades(ax: Axes) -> None:
    """Show a few decades of times by plain numbers."""
    from matplotlib.ticker import LogLocator

    ax.set_yscale("log")
    ax.yaxis.set_minor_locator(LogLocator(subs=(2, 5)))
    ax.yaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_minor_formatter("{x:g}")


def legend_below(figure: Figure, ax: Axes, *, columns: int) -> None:
    """Put the legend of one plot below all of them."""
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns)
