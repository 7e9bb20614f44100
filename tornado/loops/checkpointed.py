"""What of a stream is stored, and who stores it; the writing itself is in `checkpoint.py`, which is written on streams."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

StoreCheckpoint = Callable[..., int]
"""`store_checkpoint`, which is handed to streams."""


class Checkpointed(NamedTuple):
    """What is stored: the version, and the numbers of the loops of which its snapshot was taken."""

    version: int
    loops: frozenset[int]
