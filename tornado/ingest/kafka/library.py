"""The doorway to the Kafka client library: the one place that imports it, with the names that are used.

Its exceptions are turned into ours where its objects are used (`consumer.py`, `courtesy.py`, `diagnosis.py`, `producer.py`).
"""

from __future__ import annotations

import warnings

with warnings.catch_warnings():
    # It reads its own files in a way that Python 3.11 and 3.12 warn about, hundreds of times.
    warnings.filterwarnings("ignore", message=".* is deprecated. Use files", category=DeprecationWarning)
    from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
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
    from kafka.structs import OffsetAndMetadata

__all__ = [
    "AuthorizationError",
    "CorruptRecordError",
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
    "SaslAuthenticationFailedError",
    "TopicAlreadyExistsError",
    "TopicAuthorizationFailedError",
    "TopicPartition",
    "UnknownTopicOrPartitionError",
    "UnsupportedCodecError",
    "for_code",
]
