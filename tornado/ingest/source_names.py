"""What kind of source a name stands for: by its form alone, so that sources of two kinds never share an offset.

An offset is kept under the name of its source, across restarts too. If a client could call what it pushes `edges.csv` or
`topic:0`, it would move the offset of that file or partition, and records of it would be passed over at the next start.

===================================  ==================================================================
`http`                               records pushed over HTTP
`insert`                             edges of a Python program
`stdin`                              standard input
`window`                             edges that leave a window by themselves
`spark:QUERY`, `spark-write:NAME`    numbered batches, named by their sender; QUERY is not digits alone
`client:NAME`                        those of a client; NAME is not digits alone
`TOPIC:DIGITS`                       a partition of a topic
any other                            a file, or a pipe that has a name
===================================  ==================================================================

A file and a pipe look alike; `known_files.py` and the log of pushed records tell which of them a loop has read.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Final

from ..errors import InvalidArgument

LONGEST_BATCH_SOURCE: Final = 100
CLIENT_BATCHES: Final = "client:"

_BATCHES: Final = re.compile(r"((?:spark|client):(?![0-9]+\Z)|spark-write:)[A-Za-z0-9_.-]+")
_PARTITION: Final = re.compile(r"[A-Za-z0-9_.-]+:[0-9]+")


class SourceKind(Enum):
    """What a source is, in the words of an error."""

    PUSHED = "records pushed over HTTP"
    INSERTED = "edges that a Python program inserts"
    STANDARD_INPUT = "standard input"
    BATCHES = "numbered batches, such as Spark's"
    PARTITION = "a partition of a topic"
    WINDOW = "edges that leave a window"
    FILE = "a file"


_FIXED: Final = {
    "http": SourceKind.PUSHED,
    "insert": SourceKind.INSERTED,
    "stdin": SourceKind.STANDARD_INPUT,
    "window": SourceKind.WINDOW,
}


def kind_of(name: str) -> SourceKind:
    """Return the one kind of source that may have a name.

    Examples
    --------
    >>> [kind_of(name).name for name in ("http", "spark:2f0c-1", "spark:3", "edges:0", "edges.csv", "12:30.csv")]
    ['PUSHED', 'BATCHES', 'PARTITION', 'PARTITION', 'FILE', 'FILE']
    """
    if name in _FIXED:
        return _FIXED[name]
    if _BATCHES.fullmatch(name):
        return SourceKind.BATCHES
    return SourceKind.PARTITION if _PARTITION.fullmatch(name) else SourceKind.FILE


def check_file_name(name: str) -> None:
    """Refuse a file or pipe under a name that stands for a source of another kind.

    Raises
    ------
    InvalidArgument
        When it does.
    """
    kind = kind_of(name)
    if kind is not SourceKind.FILE:
        raise InvalidArgument(
            f"a file cannot be the source {name!r}, which is the name of {kind.value}",
            hint="Give the file another name; a symbolic link will do.",
        )


def check_batch_source(name: str) -> None:
    """Refuse batches under a name that does not stand for batches.

    Raises
    ------
    InvalidArgument
        When the name is none of theirs, or too long.
    """
    if kind_of(name) is not SourceKind.BATCHES or len(name) > LONGEST_BATCH_SOURCE:
        raise InvalidArgument(
            f"batches cannot come from the source {name[:LONGEST_BATCH_SOURCE]!r}: its name must be spark:QUERY, "
            f"spark-write:NAME or client:NAME, of letters, digits, '.', '_' and '-' behind the colon and {LONGEST_BATCH_SOURCE} characters at most",
            hint="Other names are those of files, partitions (TOPIC:DIGITS) and what is pushed without numbers.",
        )


def check_partition_name(name: str) -> None:
    """Refuse a partition whose name stands for another source.

    Raises
    ------
    InvalidArgument
        When it does: the topic is called `spark-write`.
    """
    kind = kind_of(name)
    if kind is not SourceKind.PARTITION:
        raise InvalidArgument(
            f"the partitions of this topic cannot be sources: {name!r} is the name of {kind.value}",
            hint="Copy the topic to one of another name.",
        )
