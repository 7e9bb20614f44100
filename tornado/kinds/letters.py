"""How letters of plain sessions, and the messages in them, are written for other processes; what a vertex commits its kind writes."""

from __future__ import annotations

from ..engine import WireType
from ..protocol.clock import Stamp
from ..protocol.messages import Acknowledge, Prepare, Subscribe, Subscribed, Unsubscribe, Update
from .session_processor import Letter

LETTER_TYPES = (
    WireType(
        Letter,
        lambda letter: (letter.sender, letter.messages, letter.marker, letter.iteration),
        lambda fields: Letter(*fields),
    ),
    WireType(
        Prepare,
        lambda message: (message.producer, message.stamp.clock, message.stamp.vertex),
        lambda fields: Prepare(fields[0], Stamp(*fields[1:])),
    ),
    WireType(
        Acknowledge,
        lambda message: (
            message.worker, message.producer, message.reached, message.stamp.clock, message.stamp.vertex,
        ),
        lambda fields: Acknowledge(fields[0], fields[1], Stamp(*fields[3:]), fields[2]),
    ),
    WireType(
        Update,
        lambda message: (message.producer, message.iteration, message.value),
        lambda fields: Update(*fields),
    ),
    WireType(
        Subscribe,
        lambda message: (message.worker, message.producer, message.iteration),
        lambda fields: Subscribe(*fields),
    ),
    WireType(
        Unsubscribe,
        lambda message: (message.worker, message.producer, message.iteration),
        lambda fields: Unsubscribe(*fields),
    ),
    WireType(
        Subscribed,
        lambda message: (
            message.producer, message.committed, message.value, message.iteration,
        ),
        lambda fields: Subscribed(*fields),
    ),
)  # fmt: skip
