"""The store room: versions of keyed pages, in memory or on disk, behind one contract (`versioned_store.VersionedStore`)."""

from .memory import MemoryStore
from .open import open_store
from .versioned_store import (
    MAX_KEY_SIZE_BYTES,
    MAX_LOOP_SIZE_BYTES,
    MAX_VERSION,
    StoreStatistics,
    VersionedStore,
)

__all__ = [
    "MAX_KEY_SIZE_BYTES",
    "MAX_LOOP_SIZE_BYTES",
    "MAX_VERSION",
    "MemoryStore",
    "StoreStatistics",
    "VersionedStore",
    "open_store",
]
