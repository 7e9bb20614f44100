"""Vertices with a weight each, from a file or from columns: what a personalisation is made of.

A text has a vertex and a weight a line; separated by commas, semicolons, tabs or blanks, with a header or none, plain or `.gz`; `#` and
`%` begin a comment. A parquet or Arrow file has columns with names. The weights are in the column `weight`, or in one that is named,
so a table of vertices with other columns does as well. Without such a column all vertices are alike, each as often as it is there.

Guarantees: every mistake is told with the file and the line or row; nothing is passed over.
"""

from __future__ import annotations

import gzip
import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from ..errors import InvalidArgument

MOST_ROWS: Final = 100_000
_VERTEX, _WEIGHT = "vertex", "weight"
_HINT: Final = "A row has a vertex and a weight of at least 0, and a file the header vertex,weight or none."


class VertexWeights(NamedTuple):
    """Vertices, and a weight for each, or none for any."""

    vertices: tuple[int | str, ...]
    weights: tuple[float, ...]


def personalisation(
    source: Any, *, column: str | None = None, ids: Literal["int", "string"] = "int"
) -> dict[str, tuple[Any, ...]]:
    """Return the parameters `personalisation` and `shares` of `PageRank`, as a file or columns have them.

    Parameters
    ----------
    source
        The path of a file (.csv, .tsv, .txt, plain or .gz; .parquet, .arrow); or a DataFrame, an Arrow table or a mapping of columns,
        with a column `vertex`; or one column of vertices, each as often as it is there.
    column
        The column with the shares. Default: `weight`, where there is one.
    ids
        What a vertex is.

    Raises
    ------
    InvalidArgument
        For a file or a column that is not there, a vertex that is none or stands there twice with a share each, a share that is
        negative or not finite, shares that are all 0, and no rows or more than 100,000.

    Examples
    --------
    >>> personalisation({"vertex": [7, 3], "weight": [1, 0.5]})
    {'personalisation': (7, 3), 'shares': (1.0, 0.5)}
    >>> personalisation([7, 3, 7])
    {'personalisation': (7, 3, 7), 'shares': ()}
    """
    found = read_vertex_weights(source, column=column, ids=ids)
    return {"personalisation": found.vertices, "shares": found.weights}


def read_vertex_weights(source: Any, *, column: str | None = None, ids: str = "int") -> VertexWeights:
    """Return the vertices and weights of a file or of columns; see `personalisation`."""
    if isinstance(source, str | Path):
        path = Path(source)
        if not path.is_file():
            raise InvalidArgument(f"there is no file {path}", hint=_HINT)
        rows = _rows_of_table(_table_of(path), str(path), column) if _is_table(path) else _lines(path, column)
        return _checked(rows, str(path), ids)
    return _checked(_rows_of_table(source, "the table", column), "the table", ids)


class _Row(NamedTuple):
    place: str
    vertex: Any
    weight: Any


def _checked(rows: Iterator[_Row], name: str, ids: str) -> VertexWeights:
    vertices: list[int | str] = []
    weights: list[float] = []
    seen: dict[int | str, str] = {}
    for place, given, weight in rows:
        if len(vertices) == MOST_ROWS:
            raise _too_many(name)
        vertex = _vertex(given, place, ids)
        vertices.append(vertex)
        if weight is None:
            continue
        if vertex in seen:
            raise InvalidArgument(
                f"{place}: vertex {vertex} is there twice, first in {seen[vertex]}", hint=_HINT
            )
        seen[vertex] = place
        weights.append(_weight(weight, place, vertex))
    if not vertices:
        raise InvalidArgument(f"{name} names no vertex", hint=_HINT)
    if weights and not any(weights):
        raise InvalidArgument(f"all {len(weights)} weights of {name} are 0", hint="Give one of them more.")
    return VertexWeights(tuple(vertices), tuple(weights))


def _too_many(name: str) -> InvalidArgument:
    return InvalidArgument(
        f"{name} has more than {MOST_ROWS} vertices", hint="Leave out those that count least."
    )


def _vertex(given: Any, place: str, ids: str) -> int | str:
    if ids == "string":
        if isinstance(given, str) and given:
            return given
        raise InvalidArgument(
            f"{place}: the vertex is {given!r} but must be a string that is not empty", hint=_HINT
        )
    try:
        vertex = int(given)
        is_whole = not isinstance(given, bool) and (isinstance(given, str) or vertex == given)
    except (TypeError, ValueError, OverflowError):
        is_whole = False
    if not is_whole or not -(2**63) <= vertex < 2**63:
        raise InvalidArgument(
            f"{place}: the vertex is {given!r} but must be a whole number of 64 bits", hint=_HINT
        )
    return vertex


def _weight(given: Any, place: str, vertex: int | str) -> float:
    try:
        weight = float(given)
    except (TypeError, ValueError):
        weight = math.nan
    if not (math.isfinite(weight) and weight >= 0):
        raise InvalidArgument(
            f"{place}: the weight of vertex {vertex} is {given!r} but must be a number of at least 0, and finite",
            hint=_HINT,
        )
    return weight


# Texts


def _lines(path: Path, column: str | None) -> Iterator[_Row]:
    """Yield the rows of a text; its first line is a header where it names the column `vertex`."""
    opened = gzip.open if path.suffix == ".gz" else open
    wanted: int | None = None
    has_begun = False
    try:
        with opened(path, "rt", encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, 1):
                cells = _cells(line)
                if not cells:
                    continue
                place = f"{path}, line {number}"
                if not has_begun:
                    has_begun = True
                    if _VERTEX in cells:
                        vertex_at, wanted = cells.index(_VERTEX), _place_of(cells, column, str(path))
                        continue
                    vertex_at, wanted = 0, 1 if len(cells) > 1 else None
                    if column is not None:
                        _place_of([], column, str(path))
                if max(vertex_at, wanted or 0) >= len(cells):
                    raise InvalidArgument(f"{place}: {line.strip()!r} has too few columns", hint=_HINT)
                yield _Row(place, cells[vertex_at], None if wanted is None else cells[wanted])
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise InvalidArgument(f"{path} cannot be read: {error}", hint=_HINT) from error


def _cells(line: str) -> list[str]:
    text = line.strip()
    if not text or text[0] in "#%":
        return []
    for separator in (",", ";", "\t"):
        if separator in text:
            return [cell.strip() for cell in text.split(separator)]
    return text.split()


def _place_of(names: Sequence[str], column: str | None, name: str) -> int | None:
    """Return where the weights are among columns of these names; None where there are none and none were named."""
    wanted = _WEIGHT if column is None else column
    if wanted in names:
        return list(names).index(wanted)
    if column is None:
        return None
    raise InvalidArgument(
        f"{name} has no column {column!r}; it has: {', '.join(names) or 'no header'}", hint=_HINT
    )


# Tables


def _is_table(path: Path) -> bool:
    return path.suffix in {".parquet", ".arrow"}


def _table_of(path: Path) -> Any:
    # Imported late: `tornado --help` loads this.
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        if path.suffix == ".parquet":
            table = pq.read_table(path)
        else:
            with pa.memory_map(str(path)) as opened:
                table = pa.ipc.open_file(opened).read_all()
        table.validate(full=True)
        names = table.column_names  # of which one may be no text
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise InvalidArgument(f"{path} cannot be read: {error}", hint=_HINT) from error
    if not names:
        raise InvalidArgument(f"{path} has no columns", hint=_HINT)
    if table.num_rows > MOST_ROWS:  # which need not take any bytes there, and would as Python's
        raise _too_many(str(path))
    return table


def _rows_of_table(table: Any, name: str, column: str | None) -> Iterator[_Row]:
    if isinstance(table, Mapping):
        names = [str(one) for one in table]
    else:
        # Arrow says `column_names`; its `columns` are the columns themselves, those of a DataFrame are names.
        names = [str(one) for one in getattr(table, "column_names", getattr(table, "columns", ()))]
    if not names and column is None and not isinstance(table, Mapping):
        for number, vertex in enumerate(_listed(table), 1):
            yield _Row(f"row {number}", vertex, None)
        return
    if _VERTEX not in names:
        raise InvalidArgument(
            f"{name} has no column {_VERTEX!r}; it has: {', '.join(names) or 'none'}", hint=_HINT
        )
    wanted = _place_of(names, column, name)
    vertices = _listed(table[_VERTEX])
    weights = None if wanted is None else _listed(table[names[wanted]])
    if weights is not None and len(weights) != len(vertices):
        raise InvalidArgument(f"{name} has {len(vertices)} vertices and {len(weights)} weights", hint=_HINT)
    for number, vertex in enumerate(vertices):
        # A row without a weight has none that is a number; a column without weights has rows with None.
        weight = None if weights is None else ("" if weights[number] is None else weights[number])
        yield _Row(f"{name}, row {number + 1}", vertex, weight)


def _listed(column: Any) -> list[Any]:
    for method in ("to_pylist", "tolist"):
        if hasattr(column, method):
            return list(getattr(column, method)())
    if isinstance(column, Sequence) and not isinstance(column, str | bytes):
        return list(column)
    raise InvalidArgument(f"{column!r} is no column of vertices, no table and no path", hint=_HINT)
