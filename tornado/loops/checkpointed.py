"""What of a stream is stored, and who stores it; the writing itself is in `checkpoint.py`, which is written on streams."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import NamedTuple

from ..errors import Busy

StoreCheckpoint = Callable[..., int]
"""`store_checkpoint`, which is handed to streams."""


class Checkpointed(NamedTuple):
    """What is stored: the version, and the numbers of the loops of which its snapshot was taken."""

    version: int
    loops: frozenset[int]


@contextmanager
def its_turn(checkpointing: Lock, within_s: float | None) -> Iterator[None]:
    """Hold the lock of whoever writes a snapshot; None waits as long as it takes.

    Raises
    ------
    Busy
        When another one was not written within that time.
    """
    if not checkpointing.acquire(timeout=-1 if within_s is None else within_s):
        raise Busy(f"a snapshot that was begun before was not stored within {within_s:g} s")
    try:
        yield
    finally:
        checkpointing.release()
