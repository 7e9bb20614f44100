"""What notebooks show: small tables of HTML, everything in them escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from .steps import Document

SHOWN_ROWS = 20


def table_html(caption: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], note: str = "") -> str:
    """Return a table with a caption above and a note below.

    Examples
    --------
    >>> table_html("1 < 2", ["n"], [[None]])
    '<table><caption>1 &lt; 2</caption><thead><tr><th>n</th></tr></thead><tbody><tr><td>-</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(cell_text(cell))}</td>' for cell in row)}</tr>" for row in rows
    )
    below = f"<div>{escape(note)}</div>" if note else ""
    return f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"


def cell_text(value: Any) -> str:
    """Return a value as a cell shows it; what is not there is a dash."""
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else f"{value:,}" if type(value) is int else str(value)


def facts_html(caption: str, facts: Mapping[str, Any]) -> str:
    """Return names and what they stand for, a row each; those without a value are left out."""
    return table_html(
        caption, ["", ""], [(name, value) for name, value in facts.items() if value is not None]
    )


def certificate_text(certificate: Document | None) -> str:
    """Say in words what the values of an answer are worth.

    Examples
    --------
    >>> certificate_text({"kind": "exact", "checked": True})
    'exact, checked'
    >>> certificate_text({"kind": "bound", "norm": "l1", "bound": 3e-10})
    'within 3e-10 (l1)'
    """
    found = certificate or {}
    kind = found.get("kind", "none")
    if kind == "bound":
        text = f"within {found['bound']:.3g} ({found['norm']})"
    elif kind == "gap":
        text = f"gap at most {found['bound']:.3g}"
    elif kind == "none":
        text = "not exact" + (f": {found['reason']}" if found.get("reason") else "")
    else:
        text = str(kind)
    return text + (", checked" if found.get("checked") else "")


def snapshot_text(snapshot: Document | None) -> str:
    """Say of which records an answer is."""
    if not snapshot:
        return "the main loop as it is now"
    offsets = ", ".join(f"{source}: {count:,}" for source, count in snapshot["offsets"].items())
    return f"{offsets or 'no records'} (version {snapshot['version']})"
