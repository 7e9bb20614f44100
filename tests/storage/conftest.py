"""Fresh stores of every kind."""

import pytest

from tests.storage.documented import documented_store
from tornado.storage import MemoryStore, open_store
from tornado.storage.lmdb_store import LmdbStore


def open_small_lmdb(folder):
    """An LMDB store whose map is so small that nearly every test makes it grow."""
    return LmdbStore(folder, initial_map_size_bytes=1 << 16)


@pytest.fixture(params=["memory", "lmdb", "lmdb with a tiny map", "docs/extending.md", "postgres"])
def store(request, tmp_path):
    opened = {
        "postgres": lambda: open_store(request.getfixturevalue("postgres_url")),
        "memory": MemoryStore,
        "lmdb": lambda: open_store((tmp_path / "a store").as_uri().replace("file:", "lmdb:")),
        "lmdb with a tiny map": lambda: open_small_lmdb(tmp_path / "store"),
        "docs/extending.md": lambda: documented_store(tmp_path),
    }[request.param]()
    with opened:
        yield opened
