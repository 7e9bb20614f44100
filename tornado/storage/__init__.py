"""The store room: versions of keyed pages, in memory or on disk, behind one contract (`contract.VersionedStore`)."""

from .contract import MAX_KEY_SIZE_BYTES, MAX_LOOP_SIZE_BYTES, MAX_VERSION, StoreStatistics, VersionedStore
from .memory import MemoryStore
from .open import open_store

__all__ = [
    "MAX_KEY_SIZE_BYTES",
    "MAX_LOOP_SIZE_BYTES",
    "MAX_VERSION",
    "MemoryStore",
    "StoreStatistics",
    "VersionedStore",
    "open_store",
]
