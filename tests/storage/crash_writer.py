"""A process that writes version after version until it is killed; started by `test_crash`.

Every view is a function of its version, so whoever finds the store can say whether it is whole.
"""

import random
import sys
from pathlib import Path

from tornado.storage import lmdb_store
from tornado.storage.lmdb_store import LmdbStore

KEYS = [b"page %02d" % place for place in range(40)]


def view_at(version):
    """What the view of this version must be."""
    sizes = random.Random(version)
    return {
        key: b"%d " % version * sizes.choice([1, 100, 20_000, 300_000])
        for place, key in enumerate(KEYS)
        if (place + version) % 7
    }


def main(folder):
    lmdb_store._ONE_TRANSACTION_SIZE_BYTES = lmdb_store._PORTION_SIZE_BYTES = (
        1 << 20
    )  # so that most versions are written in parts
    with LmdbStore(Path(folder), initial_map_size_bytes=1 << 20) as store:
        version = max(store.versions("sssp"), default=0)
        while True:
            version += 1
            view = view_at(version)
            deletes = [key for key in KEYS if key not in view]
            store.write("sssp", version, view, deletes=deletes, metadata=b"%d" % version)
            print(version, flush=True)
            if version % 3 == 0:
                store.delete_before("sssp", version - 2)


if __name__ == "__main__":
    main(sys.argv[1])
