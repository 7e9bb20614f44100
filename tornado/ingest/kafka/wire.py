"""What the session's process and the client's say to each other over two pipes: frames, arrays and no pickled objects.

A frame is two lengths, a header in JSON, and bytes. From the client come, in this order of life:

- ``ready``: `begin`, `end` and `position` of its partitions, and how many `partitions` the topic has.
- ``chunk``: records of one `partition`; the bytes are their offsets (int64), sizes (int32; -1 where there is no value, or an `Omission`) and values,
  each value followed by a line end.
- ``status``: the same without `begin`. Position p says that the chunks with everything below p came before it.
- ``alive``: nothing but that.
- ``trouble``: what is wrong while the client tries again.
- ``fatal``: `kind`, `message` and `hint` of what only a person can decide or mend.

To the client goes one line with the settings and the offsets to begin at, then a line with the number of bytes of each chunk that
is admitted, and now and then one with an object, the offsets to tell the broker. The end of its input ends the client.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any, BinaryIO, Final, NamedTuple

_LENGTHS: Final = struct.Struct("<IQ")


class Omission(IntEnum):
    """Why a message has no value here; negative, as the size of one that never had a value is."""

    TOO_LARGE = -2
    REST_OF_BATCH = -3


class Frame(NamedTuple):
    """One message of the client."""

    header: dict[str, Any]
    payload: bytes

    @property
    def kind(self) -> str:
        """Which of those above."""
        return str(self.header["kind"])


def write_frame(file: BinaryIO, header: Mapping[str, Any], parts: Sequence[bytes] = ()) -> None:
    """Write one frame; the bytes are the parts put together."""
    encoded = json.dumps(header, separators=(",", ":")).encode()
    file.write(_LENGTHS.pack(len(encoded), sum(map(len, parts))) + encoded)
    file.writelines(parts)
    file.flush()


def read_frame(file: BinaryIO) -> Frame | None:
    """Wait for a frame; None at the end, also where the writer died in the middle of one."""
    lengths = file.read(_LENGTHS.size)
    if len(lengths) < _LENGTHS.size:
        return None
    header_bytes, payload_bytes = _LENGTHS.unpack(lengths)
    header = file.read(header_bytes)
    payload = file.read(payload_bytes) if payload_bytes else b""
    if len(header) < header_bytes or len(payload) < payload_bytes:
        return None
    return Frame(json.loads(header), payload)
