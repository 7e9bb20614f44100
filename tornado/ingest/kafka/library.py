"""The doorway to the Kafka client library: the one place that imports it, with the names that are used.

Its exceptions are turned into ours where its objects are used (`consumer.py`, `courtesy.py`, `diagnosis.py`, `producer.py`).
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

with warnings.catch_warnings():
    # It reads its own files in a way that Python 3.11 and 3.12 warn about, hundreds of times.
    warnings.filterwarnings("ignore", message=".* is deprecated. Use files", category=DeprecationWarning)
    from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
    from kafka import codec as codecs
    from kafka.admin import ACL, ACLOperation, ACLPermissionType, ResourcePattern, ResourceType
    from kafka.consumer.fetcher import Fetcher
    from kafka.errors import (
        AuthorizationError,
        CorruptRecordError,
        KafkaConfigurationError,
        KafkaConnectionError,
        KafkaError,
        KafkaTimeoutError,
        LogTruncationError,
        OffsetOutOfRangeError,
        SaslAuthenticationFailedError,
        TopicAlreadyExistsError,
        TopicAuthorizationFailedError,
        UnknownTopicOrPartitionError,
        UnsupportedCodecError,
        for_code,
    )
    from kafka.record.default_records import DefaultRecord, DefaultRecordBatch
    from kafka.record.util import decode_varint
    from kafka.structs import OffsetAndMetadata

__all__ = [
    "ACL",
    "ACLOperation",
    "ACLPermissionType",
    "AuthorizationError",
    "CorruptRecordError",
    "DefaultRecord",
    "DefaultRecordBatch",
    "Fetcher",
    "KafkaAdminClient",
    "KafkaConfigurationError",
    "KafkaConnectionError",
    "KafkaConsumer",
    "KafkaError",
    "KafkaProducer",
    "KafkaTimeoutError",
    "LogTruncationError",
    "OffsetAndMetadata",
    "OffsetOutOfRangeError",
    "ResourcePattern",
    "ResourceType",
    "SaslAuthenticationFailedError",
    "TopicAlreadyExistsError",
    "TopicAuthorizationFailedError",
    "TopicPartition",
    "UnknownTopicOrPartitionError",
    "UnsupportedCodecError",
    "codecs",
    "decode_varint",
    "for_code",
    "hearing_refusals",
]


class _Refusals(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.heard: list[SaslAuthenticationFailedError] = []

    def emit(self, record: logging.LogRecord) -> None:
        arguments = record.args if isinstance(record.args, tuple) else ()
        self.heard += [one for one in arguments if isinstance(one, SaslAuthenticationFailedError)][:1]


@contextmanager
def hearing_refusals() -> Iterator[list[Exception]]:
    """Collect the logins that brokers refuse meanwhile, and keep the library's own lines to itself.

    While it looks for a first broker, the library tells its log why one does not take it, and raises nothing but a timeout.
    """
    logger = logging.getLogger("kafka")
    before = logger.level, logger.propagate
    refusals = _Refusals()
    logger.addHandler(refusals)
    logger.setLevel(logging.WARNING)
    logger.propagate = False
    try:
        yield refusals.heard
    finally:
        logger.removeHandler(refusals)
        logger.setLevel(before[0])
        logger.propagate = before[1]
