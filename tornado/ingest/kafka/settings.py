"""What is known of a topic before it is read, and what its partitions are called.

A partition is a source of its own, called TOPIC:PARTITION, and its offset is Kafka's: the next one to read. The difference of two
offsets is a number of records only where the broker left none out (it does after compaction, and for transactions).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any, Final

from ...errors import InvalidArgument
from ..point_layout import PointFormat
from ..source_names import check_partition_name

DEFAULT_DEDUP_WINDOW: Final = 100_000
DEFAULT_DEDUP_WINDOW_OF_TABLES: Final = 1000
"""Of Arrow, whose messages have a thousand records or so: the window is in messages, and its memory in records."""

_EDGE_FIELDS: Final = frozenset({"src", "dst", "weight", "op"})
_LONGEST_TOPIC: Final = 249
_TOPIC_SIGNS: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


class ValueFormat(Enum):
    """How the value of a message is written."""

    JSON = "json"
    CSV = "csv"
    ARROW = "arrow"


class WhenDeleted(Enum):
    """What to do where the broker no longer has the records from our offset on."""

    STOP = "stop"
    EARLIEST = "earliest"


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaSettings:
    """A topic and how it is read.

    Attributes
    ----------
    brokers : tuple of str
        HOST:PORT of some of the brokers; the others are learnt from them.
    topic : str
        Its name.
    value_format : ValueFormat
        How values are written.
    when_deleted : WhenDeleted
        Whether to go on at the earliest record there is where ours are gone.
    columns : tuple of str, optional
        Names of the columns of CSV values.
    point_format : PointFormat
        Which columns have the labels and ids of points, where messages have those.
    undirected : bool
        Whether each record is an edge in both directions.
    dedup_key : str, optional
        The field (JSON) or column (CSV, Arrow) by which a record is recognised that repeats another.
    dedup_window : int
        How many messages back in its partition that other one may be; see `repeats.py`.
    times : bool
        Whether the times of records are read, and those rejected whose time is none; see `times.py`.
    group : str, optional
        Under which name the broker is told where we are, for tools that show lag; never read back.
    ingesters : int
        How many client processes the partitions are divided among; never more than there are partitions.
    client : mapping
        Further settings of the client library (security and the like), by its names.

    Raises
    ------
    InvalidArgument
        A broker is not HOST:PORT, the topic has a name that Kafka does not allow or whose partitions have one of another kind
        of source, or the key is no field of its own.
    """

    brokers: tuple[str, ...]
    topic: str
    value_format: ValueFormat = ValueFormat.JSON
    when_deleted: WhenDeleted = WhenDeleted.STOP
    columns: tuple[str, ...] | None = None
    point_format: PointFormat = field(default_factory=PointFormat)
    undirected: bool = False
    dedup_key: str | None = None
    dedup_window: int = DEFAULT_DEDUP_WINDOW
    times: bool = False
    group: str | None = None
    ingesters: int = 1
    client: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        if not self.brokers:
            raise InvalidArgument("no broker is named", hint="For example --kafka 127.0.0.1:9092.")
        for broker in self.brokers:
            broker_address(broker)
        check_topic(self.topic)
        check_partition_name(source_name(self.topic, 0))
        if self.group is not None and not self.group.strip():
            raise InvalidArgument(
                "--group names no group", hint="Leave it out if no tool is to show the lag."
            )
        if self.ingesters < 1:
            raise InvalidArgument(f"{self.ingesters} ingesters cannot read a topic", hint="One is the least.")
        if self.columns is not None and self.value_format is not ValueFormat.CSV:
            raise InvalidArgument(
                f"--columns names the columns of CSV values, but the format is {self.value_format.value}",
                hint="JSON and Arrow values name their fields themselves.",
            )
        if self.dedup_key is not None:
            self._check_key(self.dedup_key)

    def _check_key(self, key: str) -> None:
        if not key or key in _EDGE_FIELDS:
            raise InvalidArgument(
                f"--dedup-key {key!r} cannot tell a record from the others of its edge",
                hint="Name a field that only a repetition of the record has again, such as an id of the event.",
            )
        if self.value_format is ValueFormat.CSV and key not in (self.columns or ()):
            raise InvalidArgument(
                f"--dedup-key {key}: no column of the CSV values has that name",
                hint=f"Name the columns: --columns src,dst,weight,op,{key}.",
            )
        if self.dedup_window < 1:
            raise InvalidArgument(f"--dedup-window {self.dedup_window} is not a whole number from 1")


def parse_brokers(text: str) -> tuple[str, ...]:
    """Split `HOST:PORT[,HOST:PORT…]` and check each.

    Examples
    --------
    >>> parse_brokers("127.0.0.1:9092, [::1]:9093")
    ('127.0.0.1:9092', '[::1]:9093')
    """
    brokers = tuple(part.strip() for part in text.split(",") if part.strip())
    if not brokers:
        raise InvalidArgument(f"--kafka {text!r} names no broker", hint="For example --kafka 127.0.0.1:9092.")
    for broker in brokers:
        broker_address(broker)
    return brokers


def broker_address(broker: str) -> tuple[str, int]:
    """Return host and port of `HOST:PORT`; an IPv6 address stands in brackets.

    Examples
    --------
    >>> broker_address("[::1]:9093")
    ('::1', 9093)
    """
    host, colon, port = broker.rpartition(":")
    good = colon and host and port.isascii() and port.isdigit() and 0 < int(port) <= 65_535
    if not good or ("/" in host):
        raise InvalidArgument(
            f"broker {broker!r} is not HOST:PORT", hint="For example --kafka 127.0.0.1:9092."
        )
    return host.removeprefix("[").removesuffix("]"), int(port)


def check_topic(topic: str) -> None:
    """Refuse a name that no topic can have.

    Raises
    ------
    InvalidArgument
        It is empty, too long, `.` or `..`, or has another sign than letters, digits, `.`, `_` and `-`.
    """
    if not 1 <= len(topic) <= _LONGEST_TOPIC or topic in {".", ".."} or not set(topic) <= _TOPIC_SIGNS:
        raise InvalidArgument(
            f"topic {topic!r} cannot exist: a name has 1 to {_LONGEST_TOPIC} letters, digits, '.', '_' and '-'"
        )


def source_name(topic: str, partition: int) -> str:
    """What offsets, answers and the quarantine call a partition.

    Examples
    --------
    >>> source_name("edges", 3)
    'edges:3'
    """
    return f"{topic}:{partition}"
