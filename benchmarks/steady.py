"""Edges that stream into a topic at a steady rate, sent by the program itself as a user would have it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tornado.testing.kafka_broker import KafkaBroker

from .harness import CHECKOUT

STEADY_PER_S = 10_000
# What is measured of them.
PRODUCED_TO_ANSWERED = f"produced to answered, at {STEADY_PER_S:,} edges/s"


@contextmanager
def steady_topic(broker: KafkaBroker, topic: str) -> Iterator[None]:
    """Make a topic and stream into it meanwhile."""
    broker.create_topic(topic)
    process = subprocess.Popen(
        [
            *[sys.executable, "-m", "tornado", "produce", "--kafka", broker.address, "--topic", topic],
            *["--rate", str(STEADY_PER_S), "--side", "200"],
        ],
        cwd=CHECKOUT,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.kill()
        process.wait()
