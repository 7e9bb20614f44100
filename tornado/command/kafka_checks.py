"""The way to a topic as findings of `tornado doctor`."""

from __future__ import annotations

from ..errors import TornadoError
from .checks import Finding, Status


def check_topic(brokers: str, topic: str | None, kafka_config: str | None) -> list[Finding]:
    """Walk the way to a topic, or to the broker where none is named; what is wrong with the question itself is raised.

    Raises
    ------
    InvalidArgument
        A broker is not HOST:PORT, or no topic can have that name.
    """
    from ..ingest.kafka.settings import KafkaSettings, parse_brokers
    from .kafka_config import read_client_settings, require_client

    settings = KafkaSettings(
        brokers=parse_brokers(brokers),
        topic=topic or "unnamed",
        client={} if kafka_config is None else read_client_settings(kafka_config),
    )
    try:
        require_client()
    except TornadoError as error:
        return [Finding("client", Status.FAIL, error.message, error.hint)]
    from ..ingest.kafka.diagnosis import diagnose

    return [
        Finding(step.name, Status.OK if step.works else Status.FAIL, step.detail, step.remedy)
        for step in diagnose(settings, broker_only=topic is None)
    ]
