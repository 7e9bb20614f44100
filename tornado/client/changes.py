"""What changes in a loop, put together from its events: one `Change` for each exact answer, through connections that break.

Each connection tells everything first, as the service forgets with one what it told there. So what was told is kept here, and of what another
connection begins with only the news is handed on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .errors import QueryEnded
from .events import Event
from .steps import Document


@dataclass(frozen=True, slots=True)
class Change:
    """What one exact answer has that the one before it had not.

    Attributes
    ----------
    version : int
        Of the stream.
    values : dict
        Of vertices that are new or have another value; None: out of reach now, or gone.
    groups : dict
        Of vertices that are in another group, where values are labels.
    events : tuple
        Groups that split or merged: `{"kind": "split", "from": […], "into": […], "sizes": […]}`. None are known of the time
        while a service was away.
    snapshot, certificate : dict
        Of the answer.
    """

    version: int
    values: dict[int | str, Any]
    groups: dict[int | str, Any]
    events: tuple[Document, ...]
    snapshot: Document
    certificate: Document


class ChangeCollector:
    """Puts the events of a loop together: one `Change` for each answer.

    Parameters
    ----------
    moved_by : float, optional
        A number is news only when it has moved by more than that.
    are_numbers : bool
        Whether the values are; else they are labels, of which one may be called as an infinity is.
    """

    def __init__(self, *, moved_by: float | None = None, are_numbers: bool = True) -> None:
        self._moved_by = 0.0 if moved_by is None else moved_by
        self._are_numbers = are_numbers
        self._version: int | None = None
        self._told_values: dict[int | str, Any] = {}
        self._told_groups: dict[int | str, Any] = {}
        self._is_whole = True
        self._begin()

    def begin_anew(self) -> None:
        """Forget what no answer has ended: another connection tells everything, from its beginning."""
        self._is_whole = True
        self._begin()

    def feed(self, event: Event) -> Change | None:
        """Take an event; return the change that it ends, if any.

        Raises
        ------
        QueryEnded
            The service follows no further.
        """
        data = event.data
        if event.name == "values":
            self._values |= {row["vertex"]: self._value(row["value"]) for row in data["values"]}
        elif event.name == "groups":
            self._groups |= {row["vertex"]: row["group"] for row in data["groups"]}
        elif event.name in {"split", "merge"}:
            self._events.append({"kind": event.name} | {key: data[key] for key in ("from", "into", "sizes")})
        elif event.name == "error":
            raise QueryEnded(
                str(data.get("detail") or "the service ended it"),
                hint=data.get("hint"),
                code=data.get("code"),
            )
        elif event.name == "answer":
            return self._answered(data)
        return None

    def _value(self, value: Any) -> Any:
        # JSON has no number for an infinity.
        return float(value) if self._are_numbers and value in ("Infinity", "-Infinity") else value

    def _answered(self, data: Document) -> Change | None:
        values, groups, before = self._values, self._groups, self._version
        if self._is_whole:
            values = _news(self._told_values, values, self._moved_by)
            groups = _news(self._told_groups, groups, 0.0)
        self._told_values |= values
        self._told_groups |= groups
        self._version, self._is_whole = data["version"], False
        events = tuple(self._events)
        self._begin()
        if before == data["version"] and not values and not groups:
            return None  # of another connection, which begins with what was told before
        return Change(data["version"], values, groups, events, data["snapshot"], data["certificate"])

    def _begin(self) -> None:
        self._values: dict[int | str, Any] = {}
        self._groups: dict[int | str, Any] = {}
        self._events: list[Document] = []


def has_numbers(loop: Document) -> bool:
    """Return whether the values that a loop is followed for are numbers, by what it says of its tables.

    Examples
    --------
    >>> has_numbers({"followed_tables": [{"name": "values", "columns": [{"name": "value", "type": "string"}]}]})
    False
    """
    types = [
        column["type"]
        for table in loop.get("followed_tables", ())
        for column in table["columns"]
        if (table["name"], column["name"]) == ("values", "value")
    ]
    return "string" not in types


def _news(
    told: Mapping[int | str, Any], found: dict[int | str, Any], moved_by: float
) -> dict[int | str, Any]:
    """Return what of everything that was found is not what was told; None of what is there no more."""
    if not told:
        return found
    gone = {vertex: None for vertex, value in told.items() if value is not None and vertex not in found}
    return gone | {
        vertex: value
        for vertex, value in found.items()
        if vertex not in told or _has_moved(told[vertex], value, moved_by)
    }


def _has_moved(before: Any, after: Any, moved_by: float) -> bool:
    if isinstance(before, int | float) and isinstance(after, int | float):
        return before != after and abs(after - before) > moved_by
    return bool(before != after)
