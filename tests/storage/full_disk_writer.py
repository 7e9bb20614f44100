"""A process that writes until there is no room, looks at what is left, makes room, and goes on; started by `test_full_disk`."""

import contextlib
import json
import resource
import signal
import sys
from pathlib import Path

from tornado.errors import StoreFull
from tornado.storage.lmdb_store import LmdbStore

PAGE_SIZE_BYTES = 300_000
BALLAST_FILE_NAME = "ballast"


def page_at(version):
    """What the page of this version must be."""
    return b"%08d" % version * (PAGE_SIZE_BYTES // 8)


def whole_versions(store):
    """Return the stored versions, after a look at all their pages."""
    versions = store.versions("sssp")
    for version in versions:
        assert dict(store.scan("sssp", version)) == {b"a": page_at(version), b"b": page_at(version)}, version
    return versions


def write(store, version):
    store.write("sssp", version, {b"a": page_at(version), b"b": page_at(version)}, metadata=b"m")


def fill(store):
    """Write until there is no room; return the versions written, and the error."""
    version = 0
    while version < 1000:
        try:
            write(store, version)
        except StoreFull as error:
            return version, error
        version += 1
    raise AssertionError("a thousand versions fitted")


def main(folder, limit_bytes):
    folder = Path(folder)
    if limit_bytes:
        # Python ignores the signal at its start; said again, as a killed process could report nothing.
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, hard))
    report = {}
    with LmdbStore(folder) as store:
        report["written"], error = fill(store)
        report["message"] = str(error)
        report["left"] = whole_versions(store)
        # Twice: the first failure must not be the last one that is reported well.
        with contextlib.suppress(StoreFull):
            write(store, report["written"])
            raise AssertionError("there was room all of a sudden")
        report["left again"] = whole_versions(store)
        if limit_bytes:
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        else:
            (folder.parent / BALLAST_FILE_NAME).unlink()
        write(store, report["written"])
        report["with room"] = whole_versions(store)
    print(json.dumps(report))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
