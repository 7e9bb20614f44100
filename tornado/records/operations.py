"""What a record does to the graph: the code in its column `op`, and the words in which senders write it."""

from __future__ import annotations

from typing import Final

INSERT: Final = 1
"""Add one edge src -> dst of this weight, beside those there are."""
REMOVE: Final = -1
"""Take away the oldest edge src -> dst of this weight; with weight NaN the oldest one of any weight."""
REPLACE: Final = 2
"""This edge takes the place of whatever edges src -> dst there are."""

MENTION: Final = 3
"""No edge: the vertex `src`, which is `dst` as well, is seen from now on. No way of writing edges has a word for it."""

OPERATIONS: Final[dict[str, int]] = {
    "+": INSERT,
    "1": INSERT,
    "insert": INSERT,
    "-": REMOVE,
    "-1": REMOVE,
    "delete": REMOVE,
    "remove": REMOVE,
    "=": REPLACE,
    "replace": REPLACE,
}
"""How operations are written in text, JSON and Arrow columns."""

SYMBOLS: Final[dict[int, str]] = {INSERT: "+", REMOVE: "-", REPLACE: "="}
"""How an operation is shown."""
