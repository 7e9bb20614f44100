"""Generated roads as `apps/pipelines/roads.py` reads them: JSON with a name for each record and each end, and a time.

The names of ends are in a table, so that a pipeline has something to join; times grow by at least a microsecond from record to
record, so that they order all records of an edge.
"""

from __future__ import annotations

import json
import math
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ..errors import InvalidArgument
from ..records.operations import SYMBOLS

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class NamedRoads:
    """Writes the edges of one run as JSON objects, each named once.

    Parameters
    ----------
    started_us : int, optional
        When the run began, in microseconds since 1970: part of every record's name, so two runs never give the same one.

    Examples
    --------
    >>> roads = NamedRoads(1_000_000_000_000_000)
    >>> roads.value(1, 2, 0.5, 1).startswith(b'{"id": "1000000000000000-1", "time": "2')
    True
    """

    def __init__(self, started_us: int | None = None) -> None:
        self._started_us = _now_us() if started_us is None else started_us
        self._last_us = self._started_us
        self._count = 0

    def value(self, src: int, dst: int, weight: float, op: int) -> bytes:
        """One edge; a removal of any weight has none."""
        self._count += 1
        self._last_us = max(self._last_us + 1, _now_us())
        instant = _EPOCH + timedelta(microseconds=self._last_us)
        fields: dict[str, str | float] = {
            "id": f"{self._started_us}-{self._count}",
            "time": instant.isoformat(timespec="microseconds").replace("+00:00", "Z"),
            "src": name_of_junction(src),
            "dst": name_of_junction(dst),
        }
        if not math.isnan(weight):
            fields["weight"] = weight
        return json.dumps(fields | {"op": SYMBOLS[op]}).encode()


def name_of_junction(junction: int) -> str:
    """Return what a junction is called.

    Examples
    --------
    >>> name_of_junction(17)
    'junction 17'
    """
    return f"junction {junction}"


def write_names(path: Path, junctions: int) -> None:
    """Write the table of all junctions, with the columns key and vertex; it takes its name when it is complete.

    Raises
    ------
    InvalidArgument
        It cannot be written there.
    """
    rows = "".join(f"{name_of_junction(junction)},{junction}\n" for junction in range(junctions))
    hidden = path.with_name(f".{path.name}.part")
    try:
        hidden.write_text(f"key,vertex\n{rows}", encoding="utf-8")
        hidden.replace(path)
    except OSError as error:
        raise InvalidArgument(f"--named {path} cannot be written: {error.strerror}") from error


def _now_us() -> int:
    return time.time_ns() // 1000
