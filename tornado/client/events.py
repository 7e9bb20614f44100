"""Server-sent events (HTML standard, 9.2.6) from lines of text: the fields `event` and `data`; comments are passed over."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Event:
    """One event, with its data read as JSON."""

    name: str
    data: dict[str, Any]


class EventParser:
    """Fed line by line.

    Examples
    --------
    >>> parser = EventParser()
    >>> [event for line in ("event: done", ": alive", 'data: {"state": "converged"}', "") for event in parser.feed(line)]
    [Event(name='done', data={'state': 'converged'})]
    """

    def __init__(self) -> None:
        self._name = "message"
        self._data: list[str] = []

    def feed(self, line: str) -> Iterator[Event]:
        """Take a line without its end; yield the event that it ends, if any."""
        if not line:
            name, data = self._name, self._data
            self._name, self._data = "message", []
            if data:
                yield Event(name, json.loads("\n".join(data)))
            return
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            self._name = value
        elif field == "data":
            self._data.append(value)
