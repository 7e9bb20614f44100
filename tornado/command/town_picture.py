"""A town and ways through it as a picture: of characters for a terminal, and as SVG for a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import NDArray

from ..testing.city import City

WIDTH: Final = 76
_TALL = 2  # a character is about twice as tall as wide
_DEEP = 0.34  # so much of a character's square is water where it shows some
_SVG_SIDE = 900.0
_SVG_CELLS = 150
_COLOURS: Final = {"o": "#888888", "*": "#c0392b"}


@dataclass(frozen=True, slots=True)
class DrawnWay:
    """A way on the map: its junctions, and the character that it is drawn with."""

    vertices: Sequence[int]
    mark: str


def picture(
    city: City, ways: Sequence[DrawnWay], letters: Mapping[str, int], *, width: int = WIDTH
) -> list[str]:
    """Return the lines of a map: `~` is water, a later way covers an earlier one, and letters stand at their junctions."""
    rows, columns = city.water.shape
    width = min(width, columns)
    height = max(1, width * rows // (columns * _TALL))
    cells = np.where(_shares(city.water, height, width) > _DEEP, "~", " ")
    for way in ways:
        row, column = np.divmod(np.asarray(way.vertices, np.int64), columns)
        cells[row * height // rows, column * width // columns] = way.mark
    for letter, junction in letters.items():
        cells[junction // columns * height // rows, junction % columns * width // columns] = letter
    edge = f"+{'-' * width}+"
    return [edge, *(f"|{''.join(line)}|" for line in cells), edge]


def svg(city: City, ways: Sequence[DrawnWay], names: Mapping[str, int]) -> str:
    """Return the same as a document of SVG, with the names of junctions."""
    rows, columns = city.water.shape
    scale = _SVG_SIDE / max(rows, columns)
    across, down = columns * scale, rows * scale
    height, width = min(rows, _SVG_CELLS), min(columns, _SVG_CELLS)
    wide, high = across / width, down / height
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {across:.0f} {down:.0f}" font-family="sans-serif" font-size="16">',
        f'<rect width="{across:.0f}" height="{down:.0f}" fill="#f4f1ea"/>',
    ]
    for y, x in np.argwhere(_shares(city.water, height, width) > _DEEP).tolist():
        lines.append(
            f'<rect x="{x * wide:.1f}" y="{y * high:.1f}" width="{wide + 0.5:.1f}" height="{high + 0.5:.1f}" fill="#a9cfe8"/>'
        )
    for way in ways:
        row, column = np.divmod(np.asarray(way.vertices, np.int64), columns)
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(column * scale, row * scale, strict=True))
        dashes = ' stroke-dasharray="8 6"' if way.mark == "o" else ""
        colour = _COLOURS.get(way.mark, "#222222")
        lines.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="3"{dashes}/>')
    for name, junction in names.items():
        x, y = junction % columns * scale, junction // columns * scale
        lines.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" fill="#222222"/>')
        lines.append(f'<text x="{x + 9:.1f}" y="{y + 5:.1f}">{escape(name)}</text>')
    return "\n".join([*lines, "</svg>", ""])


def _shares(water: NDArray[np.bool_], height: int, width: int) -> NDArray[np.float64]:
    """How much of each cell of a coarser grid is water."""
    rows, columns = water.shape
    row, column = np.arange(rows) * height // rows, np.arange(columns) * width // columns
    cells = (row[:, None] * width + column[None, :]).ravel()
    wet = np.bincount(cells, water.ravel(), height * width) / np.bincount(cells, minlength=height * width)
    return wet.reshape(height, width)
