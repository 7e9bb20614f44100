"""The options of the data source `tornado`, checked where a query is built and not in its tasks.

Spark hands options over as strings whose names it does not tell upper from lower case.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from ...errors import InvalidArgument, UnknownField

DEFAULT_URL = "http://127.0.0.1:8080"
MODES = ("exact", "approximate", "certified")
FOLLOWED_TABLES = ("values", "groups", "group_events")
_NAMES = (
    "url",
    "token",
    "loop",
    "order",
    "label",
    "id",
    "write_id",
    "mode",
    "vertices",
    "paths",
    "since",
    "table",
    "moved_by",
    "deadline_s",
    "timeout_s",
)
# Spark puts these in by itself, depending on how a query is written.
_OF_SPARK = ("path", "checkpointlocation", "queryname")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """What a query says about the loop that it writes to or reads.

    Attributes
    ----------
    url : str
        Where the service answers.
    token : str or None
        What it asks for, if it asks for any; left out, what TORNADO_TOKEN says where the query is built.
    loop : str
        Which of its loops.
    order : tuple of str
        Writing: the columns that say which of a batch's records come first; each breaks the ties of those before it.
    label, id : str, optional
        Writing points: the columns with their labels and ids; left out, `label` and `id` where they are there.
    write_id : str, optional
        Batch writing: a write with a name happens once, however often it is repeated.
    mode : str
        Reading: `exact` forks a branch, `approximate` reads the main loop as it is, `certified` is a branch of no iterations, whose
        values have a bound.
    vertices : str, optional
        Reading: only these, separated by commas.
    paths : str, optional
        Reading: the ways to these vertices, separated by commas, in place of values.
    since : str
        Reading a stream: `beginning`, `now`, or the version of a stored snapshot behind which it begins.
    table : str
        Reading a stream: `values`; or, of a program whose values are labels, `groups` or `group_events`.
    moved_by : float
        Reading a stream: by how much a number must have moved from what the query was told of it to be told again.
    deadline_s : float
        Reading: how long a branch may take.
    timeout_s : float
        How long to try again while the service is away or full.
    """

    url: str = DEFAULT_URL
    token: str | None = field(default=None, repr=False)
    loop: str = ""
    order: tuple[str, ...] = ()
    label: str | None = None
    id: str | None = None
    write_id: str | None = None
    mode: str = "exact"
    vertices: str | None = None
    paths: str | None = None
    since: str = "beginning"
    table: str = "values"
    moved_by: float = 0.0
    deadline_s: float = 300.0
    timeout_s: float = 60.0

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Self:
        """Check what a query was given.

        Raises
        ------
        UnknownField
            When an option is unknown.
        InvalidArgument
            When `loop` is missing, or a value is not allowed.

        Examples
        --------
        >>> SourceOptions.of({"loop": "sssp", "Mode": "approximate"}).mode
        'approximate'
        >>> SourceOptions.of({"loop": "sssp", "order": "time, offset"}).order
        ('time', 'offset')
        """
        options = {name.lower(): value for name, value in given.items()}
        for name in options:
            if name not in (*_NAMES, *_OF_SPARK):
                raise UnknownField(
                    f"the data source tornado has no option {name!r}; valid are: {', '.join(_NAMES)}",
                    hint="Check the spelling, or leave the option out.",
                )
        if not options.get("loop"):
            raise InvalidArgument(
                "the data source tornado needs to know a loop", hint='Name it: .option("loop", "sssp").'
            )
        if "paths" in options and "vertices" in options:
            raise InvalidArgument(
                f"paths is {options['paths']!r} and vertices is {options['vertices']!r}, but a DataFrame has ways or values",
                hint="Read them as two DataFrames.",
            )
        mode = options.get("mode", "exact")
        if mode not in MODES:
            raise InvalidArgument(f"mode is {mode!r} but must be one of: {', '.join(MODES)}")
        since = options.get("since", "beginning")
        if since not in {"beginning", "now"} and not re.fullmatch(r"[0-9]{1,18}", since, re.ASCII):
            raise InvalidArgument(
                f"since is {since!r} but must be beginning, now, or the version of a stored snapshot"
            )
        table = options.get("table", "values")
        if table not in FOLLOWED_TABLES:
            raise InvalidArgument(f"table is {table!r} but must be one of: {', '.join(FOLLOWED_TABLES)}")
        order = tuple(name.strip() for name in options.get("order", "").split(","))
        if order != ("",) and ("" in order or len(set(order)) < len(order)):
            raise InvalidArgument(
                f"order is {options['order']!r} but must be names of columns, each once, with commas between them"
            )
        write_id = options.get("write_id")
        if write_id is not None and not re.fullmatch(r"[\w.-]{1,60}", write_id, re.ASCII):
            raise InvalidArgument(
                f"write_id is {write_id!r} but must be 1 to 60 letters, digits, dots, dashes or underscores"
            )
        return cls(
            url=options.get("url", DEFAULT_URL),
            token=_token(options.get("token")),
            loop=options["loop"],
            order=tuple(filter(None, order)),
            label=options.get("label"),
            id=options.get("id"),
            write_id=write_id,
            mode=mode,
            vertices=options.get("vertices"),
            paths=options.get("paths"),
            since=since,
            table=table,
            moved_by=_distance(options.get("moved_by", "0")),
            deadline_s=_seconds(options, "deadline_s", 300.0),
            timeout_s=_seconds(options, "timeout_s", 60.0),
        )


def _token(given: str | None) -> str | None:
    token = os.environ.get("TORNADO_TOKEN") if given is None else given
    if token and not (token.isascii() and token.isprintable() and " " not in token):
        raise InvalidArgument("the token has characters that no header can carry")
    return token or None


def _distance(text: str) -> float:
    try:
        distance = float(text)
    except ValueError:
        distance = math.nan
    if not (math.isfinite(distance) and distance >= 0):
        raise InvalidArgument(
            f"moved_by is {text!r} but must be a number from 0",
            hint="It is by how much a value must have moved to be told again; leave it out to be told of every change.",
        )
    return distance


def _seconds(options: Mapping[str, str], name: str, default: float) -> float:
    text = options.get(name)
    if text is None:
        return default
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not (math.isfinite(seconds) and seconds > 0):
        raise InvalidArgument(f"{name} is {text!r} but must be a number of seconds above 0")
    return seconds
