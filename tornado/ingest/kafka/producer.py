"""Edges into a topic: what `tornado produce` sends, and what a test or a bridge can.

All records of one edge go to one partition, or their order would be undefined. Where a message is one edge, its key says which,
so that other tools keep them together as well; an Arrow message holds edges of one partition and has no key.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa

from ...errors import ConnectionLost, InvalidArgument
from ...records.edge_batch import EdgeBatch
from ...records.operations import INSERT, REMOVE, REPLACE, SYMBOLS
from .library import (
    KafkaAdminClient,
    KafkaError,
    KafkaProducer,
    TopicAlreadyExistsError,
)
from .settings import KafkaSettings, ValueFormat

_BOOTSTRAP_MS: Final = 5000
_UNDER_WAY_LIMIT: Final = 100_000
_POLL_S: Final = 0.01
_SPREAD: Final = np.uint64(0x9E3779B97F4A7C15)


class EdgeProducer:
    """Sends edges to a topic. A context manager; when it is left, all of them are with the broker.

    Parameters
    ----------
    settings : KafkaSettings
        Brokers, topic and format.
    edges_per_message : int
        How many edges an Arrow message holds at most.
    compression : str, optional
        `gzip`, `lz4`, `snappy` or `zstd`.
    create_partitions : int, optional
        Make the topic, with so many partitions, where it does not exist.
    encode : callable, optional
        Writes one edge (src, dst, weight, op), where the format is not an Arrow one; left out, the format's own way.

    Raises
    ------
    ConnectionLost
        No broker answers, or it refuses.
    InvalidArgument
        There is no such topic.
    """

    def __init__(
        self,
        settings: KafkaSettings,
        *,
        edges_per_message: int = 1000,
        compression: str | None = None,
        create_partitions: int | None = None,
        encode: Callable[[int, int, float, int], bytes] | None = None,
    ) -> None:
        self._settings = settings
        is_json = settings.value_format is ValueFormat.JSON
        self._encode = encode or (json_value if is_json else csv_value)
        self._edges_per_message = edges_per_message
        try:
            if create_partitions is not None:
                _create(settings, create_partitions)
            self._producer = KafkaProducer(
                bootstrap_servers=list(settings.brokers),
                client_id="tornado-loops",
                linger_ms=5,
                batch_size=1 << 17,
                max_request_size=16 << 20,
                compression_type=compression,
                allow_auto_create_topics=False,
                bootstrap_timeout_ms=_BOOTSTRAP_MS,
                max_block_ms=_BOOTSTRAP_MS,
                # A broker that comes back is found at once; what was sent meanwhile goes out within two minutes or fails.
                reconnect_backoff_max_ms=500,
                **settings.client,
            )
            partitions = self._producer.partitions_for(settings.topic)
        except (KafkaError, OSError) as error:
            raise _mapped(settings, error) from error
        if not partitions:
            self._producer.close()
            raise InvalidArgument(
                f"the broker at {','.join(settings.brokers)} has no topic {settings.topic!r}",
                hint="--create makes it.",
            )
        self._partitions = len(partitions)
        self._failure: BaseException | None = None
        self._handed_over = 0
        # Counted by the library's one thread alone.
        self._done = 0

    def send(self, batch: EdgeBatch) -> int:
        """Send the edges of a batch, in order; return the number of messages. Waits while too many are under way.

        Raises
        ------
        ConnectionLost
            A message, of this batch or an earlier one, could not be sent.
        """
        if self._failure is not None:
            raise _mapped(self._settings, self._failure) from self._failure
        places = self._places(batch)
        messages = 0
        try:
            for partition, key, value in self._messages(batch, places):
                future = self._producer.send(self._settings.topic, value=value, key=key, partition=partition)
                future.add_callback(self._succeed)
                future.add_errback(self._fail)
                messages += 1
                self._handed_over += 1
                if self.under_way > _UNDER_WAY_LIMIT:
                    self._wait_for_room()
        except (KafkaError, OSError) as error:
            raise _mapped(self._settings, error) from error
        return messages

    @property
    def under_way(self) -> int:
        """How many messages the broker has not acknowledged yet."""
        return self._handed_over - self._done

    def flush(self) -> None:
        """Wait until everything that was sent is with the broker.

        Raises
        ------
        ConnectionLost
            Something could not be sent.
        """
        try:
            self._producer.flush()
        except (KafkaError, OSError) as error:
            raise _mapped(self._settings, error) from error
        if self._failure is not None:
            raise _mapped(self._settings, self._failure) from self._failure

    def close(self) -> None:
        """Give the connections back; what was not flushed may be lost."""
        self._producer.close(timeout=5)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self.flush()
        finally:
            self.close()

    def _wait_for_room(self) -> None:
        """The library itself would take any number of messages that cannot go out."""
        while self.under_way > _UNDER_WAY_LIMIT // 2:
            if self._failure is not None:
                raise _mapped(self._settings, self._failure) from self._failure
            time.sleep(_POLL_S)

    def _succeed(self, _: object) -> None:
        self._done += 1

    def _fail(self, error: BaseException) -> None:
        self._failure = self._failure or error
        self._done += 1

    def _places(self, batch: EdgeBatch) -> list[int]:
        # Multiplied: neighbouring ids, as generators give them, would otherwise go round the partitions in step.
        mixed = (batch.src.view(np.uint64) * _SPREAD) ^ batch.dst.view(np.uint64)
        mixed *= _SPREAD
        places: list[int] = ((mixed >> np.uint64(33)) % np.uint64(self._partitions)).astype(np.int64).tolist()
        return places

    def _messages(self, batch: EdgeBatch, places: list[int]) -> Iterator[tuple[int, bytes | None, bytes]]:
        if self._settings.value_format is ValueFormat.ARROW:
            for partition in range(self._partitions):
                which = np.flatnonzero(np.array(places) == partition)
                for low in range(0, len(which), self._edges_per_message):
                    yield partition, None, arrow_value(batch.take(which[low : low + self._edges_per_message]))
            return
        rows = zip(
            batch.src.tolist(),
            batch.dst.tolist(),
            batch.weight.tolist(),
            batch.op.tolist(),
            places,
            strict=True,
        )
        for src, dst, weight, op, place in rows:
            yield place, b"%d,%d" % (src, dst), self._encode(src, dst, weight, op)


def json_value(src: int, dst: int, weight: float, op: int) -> bytes:
    """One edge as JSON; a removal of any weight has none.

    Examples
    --------
    >>> json_value(1, 2, 0.5, 1), json_value(1, 2, float("nan"), -1)
    (b'{"src": 1, "dst": 2, "weight": 0.5, "op": "+"}', b'{"src": 1, "dst": 2, "op": "-"}')
    """
    fields: dict[str, Any] = {"src": src, "dst": dst}
    if not math.isnan(weight):
        fields["weight"] = weight
    return json.dumps(fields | {"op": SYMBOLS[op]}).encode()


def csv_value(src: int, dst: int, weight: float, op: int) -> bytes:
    """One edge as a line of CSV, with the columns src,dst,weight,op.

    Examples
    --------
    >>> csv_value(1, 2, 0.5, 1), csv_value(1, 2, float("nan"), -1)
    (b'1,2,0.5,+', b'1,2,,-')
    """
    return f"{src},{dst},{'' if math.isnan(weight) else weight},{SYMBOLS[op]}".encode()


def arrow_value(batch: EdgeBatch) -> bytes:
    """Edges as one Arrow IPC stream; a removal of any weight has a null."""
    weight = pa.array(batch.weight, from_pandas=True)
    schema = pa.schema(
        [("src", pa.int64()), ("dst", pa.int64()), ("weight", pa.float64()), ("op", pa.string())]
    )
    words = pa.array([SYMBOLS[REMOVE], SYMBOLS[INSERT], SYMBOLS[REPLACE]])
    op = words.take(pa.array(np.where(batch.op == REMOVE, 0, batch.op)))
    columns = [pa.array(batch.src), pa.array(batch.dst), weight, op]
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(pa.record_batch(columns, schema=schema))
    value: bytes = sink.getvalue().to_pybytes()
    return value


def _create(settings: KafkaSettings, partitions: int) -> None:
    admin = KafkaAdminClient(
        bootstrap_servers=list(settings.brokers), bootstrap_timeout_ms=_BOOTSTRAP_MS, **settings.client
    )
    try:
        admin.create_topics({settings.topic: {"num_partitions": partitions}}, wait_for_metadata=True)
    except TopicAlreadyExistsError:
        pass
    finally:
        admin.close()


def _mapped(settings: KafkaSettings, error: BaseException) -> ConnectionLost:
    brokers = ",".join(settings.brokers)
    return ConnectionLost(
        f"nothing can be sent to topic {settings.topic} at {brokers}: {type(error).__name__}: {error}",
        hint=f"`tornado doctor --kafka {brokers} --topic {settings.topic}` names the cause.",
    )
