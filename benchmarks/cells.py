"""What the tables of `docs/benchmarks.md` are put together from: references that `document.py` fills in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def figures(result: str, names: Iterable[str]) -> str:
    """Return one line a figure, with its bound."""
    rows = [[name, cell(result, name), cell(result, name, "bound")] for name in names]
    return table(["", "figure", "bound"], rows)


def cell(result: str, name: str, how: str = "") -> str:
    """Return the reference to a figure."""
    return f"{{{{{result}: {name} | {how}}}}}" if how else f"{{{{{result}: {name}}}}}"


def pair(result: str, names: Sequence[str]) -> str:
    """Return several figures without their unit."""
    return " / ".join(cell(result, name, "bare") for name in names)


def p50_p99(result: str, name: str) -> str:
    """Return the median of latencies and, in brackets, their tail."""
    return f"{cell(result, f'{name}, p50', 'bare')} ({cell(result, f'{name}, p99', 'bare')})"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
