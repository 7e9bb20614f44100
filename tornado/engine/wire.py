"""How messages between processes are written: a MessagePack header with the arrays behind it, and a fence in front.

The fence is what protects a worker: whoever knows it can have any code run there, since kernels come in as text that is executed,
and programs by the names of modules that are imported. Who does not know it does not get through the handshake (`authenticator.py`), and
what has another one is not looked at, so what strangers send runs nothing.
Reading itself runs nothing either: nothing is pickled, and a message becomes numbers, strings, arrays and the classes of
`WireType`.

A message travels as *frames* of at most `FRAME_BYTES`, into which its bytes are cut. Layout of these bytes, little-endian:

- 16 bytes: the *fence*, a secret of this set of workers. What has another one is from an older set, or from a stranger.
- 4 bytes: the length of the header.
- The header: one MessagePack value. An array in it is an extension that says its type, length and place, and
  the shape of one entry.
- The arrays, each at a multiple of 8 bytes from the beginning.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgpack
import numpy as np
from numpy.typing import NDArray

from ..errors import ConnectionLost

FENCE_BYTES = 16
FRAME_BYTES = 1 << 20
"""The most that a frame has. It is copied at once, under the interpreter lock: in a fraction of a millisecond."""
_LENGTH = struct.Struct("<I")
_PLACE = struct.Struct("<BQQ")  # type, length, place; behind it the shape of one entry, a number each
_EXTENT = struct.Struct("<Q")
_ARRAY = 0
_FIRST_TYPE = 1
_NAMES = "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float32 float64"
ARRAY_TYPES = tuple(map(np.dtype, _NAMES.split()))
"""Types of the elements of arrays that travel."""
_CODES = {kind: code for code, kind in enumerate(ARRAY_TYPES)}


class WrongFence(ConnectionLost):
    """A message of another set of workers."""


@dataclass(frozen=True, slots=True)
class WireType:
    """A class of which objects travel: to a tuple of what can travel, and back."""

    kind: type
    to_fields: Callable[[Any], tuple[Any, ...]]
    of_fields: Callable[[tuple[Any, ...]], Any]


class Wire:
    """Writes and reads messages.

    Parameters
    ----------
    fence
        See the module.
    types
        What can be in a message beside numbers, strings, bytes, tuples, dictionaries and arrays; in one order everywhere.
    """

    def __init__(self, fence: bytes, types: tuple[WireType, ...] = ()) -> None:
        assert len(fence) == FENCE_BYTES
        self.fence = fence
        self._types = types
        self._codes = {entry.kind: code for code, entry in enumerate(types, _FIRST_TYPE)}

    def write(self, message: Any) -> list[bytes]:
        """The frames of a message.

        Raises
        ------
        TypeError
            When something in it cannot travel.
        """
        arrays: list[NDArray[Any]] = []
        room = 0

        def other(value: Any) -> Any:
            nonlocal room
            if isinstance(value, np.ndarray):
                code = _CODES.get(value.dtype)
                if code is None or not value.ndim:
                    raise TypeError(f"an array of {value.dtype} with {value.ndim} dimensions cannot travel")
                place = _PLACE.pack(code, len(value), room) + b"".join(map(_EXTENT.pack, value.shape[1:]))
                arrays.append(value)
                room += _padded(value.nbytes)
                return msgpack.ExtType(_ARRAY, place)
            if isinstance(value, np.generic):
                return value.item()
            code = self._codes.get(type(value))
            if code is None:
                raise TypeError(f"{type(value).__name__} cannot travel between processes: {value!r}")
            fields = self._types[code - _FIRST_TYPE].to_fields(value)
            return msgpack.ExtType(code, msgpack.packb(fields, default=other))

        header = msgpack.packb(message, default=other)
        begin = FENCE_BYTES + _LENGTH.size + len(header)
        parts: list[bytes | memoryview] = [
            self.fence,
            _LENGTH.pack(len(header)),
            header,
            bytes(_padded(begin) - begin),
        ]
        is_one = _padded(begin) + room <= FRAME_BYTES
        for array in arrays:
            content = (
                array.tobytes() if is_one else np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
            )
            parts += (content, bytes(_padded(array.nbytes) - array.nbytes))
        return [b"".join(parts)] if is_one else list(_cut(parts))

    def read(self, frames: Sequence[bytes | memoryview]) -> Any:
        """The message that was written; sequences come back as tuples, arrays can be written to.

        Raises
        ------
        WrongFence
            When it is of another set of workers.
        """
        views = [memoryview(frame) for frame in frames]
        if len(views[0]) < FENCE_BYTES + _LENGTH.size or views[0][:FENCE_BYTES] != self.fence:
            raise WrongFence(f"a message of {sum(map(len, views))} bytes is not of this set of workers")
        held = memoryview(bytearray(views[0])) if len(views) == 1 else _joined(views)
        (length,) = _LENGTH.unpack_from(held, FENCE_BYTES)
        begin = FENCE_BYTES + _LENGTH.size
        first = _padded(begin + length)

        def extension(code: int, content: bytes) -> Any:
            if code == _ARRAY:
                kind, count, place = _PLACE.unpack_from(content)
                shape = [extent for (extent,) in _EXTENT.iter_unpack(content[_PLACE.size :])]
                flat = np.frombuffer(held, ARRAY_TYPES[kind], count * math.prod(shape), first + place)
                return flat.reshape(count, *shape)
            fields = msgpack.unpackb(content, ext_hook=extension, use_list=False, strict_map_key=False)
            return self._types[code - _FIRST_TYPE].of_fields(fields)

        return msgpack.unpackb(
            held[begin : begin + length],
            ext_hook=extension,
            use_list=False,
            strict_map_key=False,
        )


def _cut(parts: Iterable[bytes | memoryview]) -> Iterator[bytes]:
    """The frames that these bytes fill."""
    frame: list[memoryview] = []
    free = FRAME_BYTES
    for part in parts:
        left = memoryview(part)
        while left:
            frame.append(left[:free])
            left = left[free:]
            free -= len(frame[-1])
            if not free:
                yield b"".join(frame)
                frame, free = [], FRAME_BYTES
    if frame:
        yield b"".join(frame)


def _joined(frames: Iterable[memoryview]) -> memoryview:
    """The bytes of all frames. Not by a call that would copy all of them, or clear the room first, under the interpreter lock."""
    frames = list(frames)
    held = np.empty(sum(map(len, frames)), np.uint8).data
    first = 0
    for frame in frames:
        held[first : first + len(frame)] = frame
        first += len(frame)
    return held


def _padded(size: int) -> int:
    return -(-size // 8) * 8
