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
    undirected : bool
        Whether each record is an edge in both directions.
    client : mapping
        Further settings of the client library (security and the like), by its names.

    Raises
    ------
    InvalidArgument
        A broker is not HOST:PORT, or the topic has a name that Kafka does not allow.
    """

    brokers: tuple[str, ...]
    topic: str
    value_format: ValueFormat = ValueFormat.JSON
    when_deleted: WhenDeleted = WhenDeleted.STOP
    columns: tuple[str, ...] | None = None
    undirected: bool = False
    client: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        if not self.brokers:
            raise InvalidArgument("no broker is named", hint="For example --kafka 127.0.0.1:9092.")
        for broker in self.brokers:
            broker_address(broker)
        check_topic(self.topic)
        if self.columns is not None and self.value_format is not ValueFormat.CSV:
            raise InvalidArgument(
                f"--columns names the columns of CSV values, but the format is {self.value_format.value}",
                hint="JSON and Arrow values name their fields themselves: src, dst, weight, op.",
            )


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
