"""The prefix of a topic that an answer is for, where Spark stands between: found, and read again by a plain client.

An answer through Spark names how many records of a query are in, which is always the end of a batch. Which messages these are,
Spark's own log says: `offsets/N` in a query's checkpoint has the end of batch N in each partition.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import InternalError
from ..ingest.kafka.library import KafkaConsumer, TopicPartition
from ..records.edge_batch import EdgeBatch

_ANSWER_MS = 10_000


def batch_end(checkpoint: Path, topic: str, records: int) -> dict[int, int]:
    """Return where the batch ends with which so many messages are in: by partition, the offset behind its last one.

    Parameters
    ----------
    checkpoint : path
        Of a query that reads the topic from its start, and dropped nothing of it.
    topic : str
        The topic.
    records : int
        How many messages, over all partitions.

    Raises
    ------
    InternalError
        No batch ends there: an answer has a part of one, or something was dropped.
    """
    ends = []
    for path in (checkpoint / "offsets").iterdir():
        if not path.name.isdigit():
            continue
        # The version of the format, what the batch was run with, and a line for each source.
        *_, source = path.read_text(encoding="utf-8").splitlines()
        found = {int(partition): int(offset) for partition, offset in json.loads(source)[topic].items()}
        if sum(found.values()) == records:
            return found
        ends.append(sum(found.values()))
    raise InternalError(f"no batch ends with {records} records of {topic}, but with: {sorted(ends)}")


def count_messages(brokers: str, topic: str) -> int:
    """Return how many messages a topic has, of which none was ever deleted."""
    consumer = KafkaConsumer(bootstrap_servers=brokers, enable_auto_commit=False)
    try:
        partitions = [TopicPartition(topic, number) for number in consumer.partitions_for_topic(topic) or ()]
        return int(sum(consumer.end_offsets(partitions).values()))
    finally:
        consumer.close()


def replayed_roads(brokers: str, topic: str, ends: Mapping[int, int], names: Path) -> EdgeBatch:
    """Read the messages of `tornado produce --named` again, up to an offset of each partition.

    Parameters
    ----------
    ends : mapping of int to int
        From `batch_end`.
    names : path
        The table of names.

    Returns
    -------
    EdgeBatch
        One partition after the other: all records of an edge are in one, so nothing hangs on the order between them.

    Raises
    ------
    InternalError
        The topic has not got that many messages.
    """
    with names.open(newline="", encoding="utf-8") as table:
        vertices = {row["key"]: int(row["vertex"]) for row in csv.DictReader(table)}
    columns: tuple[list[int], list[int], list[float], list[str]] = ([], [], [], [])
    consumer = KafkaConsumer(bootstrap_servers=brokers, enable_auto_commit=False)
    try:
        for number, end in sorted(ends.items()):
            partition = TopicPartition(topic, number)
            consumer.assign([partition])
            consumer.seek_to_beginning(partition)
            while (position := consumer.position(partition)) < end:
                read = consumer.poll(timeout_ms=_ANSWER_MS, max_records=end - position).get(partition, [])
                if not read:
                    raise InternalError(
                        f"{topic}:{number} ends at offset {position}, and {end} were to be read"
                    )
                for message in read:
                    _append(columns, json.loads(message.value), vertices)
    finally:
        consumer.close()
    return EdgeBatch.of(*columns)


def _append(
    columns: tuple[list[int], list[int], list[float], list[str]],
    road: dict[str, Any],
    vertices: Mapping[str, int],
) -> None:
    src, dst, weight, op = columns
    src.append(vertices[road["src"]])
    dst.append(vertices[road["dst"]])
    weight.append(road.get("weight", math.nan))
    op.append(road["op"])
