"""A disk that is really full: a clear error, nothing lost, and work goes on when there is room.

Once with a limit on the size of files, which works everywhere, and once with a small file system, where mounting is permitted.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.storage.full_disk_writer import BALLAST_FILE_NAME, whole_versions
from tornado.errors import StoreFull
from tornado.storage.lmdb_store import LmdbStore

ROOT = Path(__file__).parents[2]
ROOM_SIZE_BYTES = 6_000_000


@pytest.fixture
def small_disk(tmp_path):
    """A file system of some megabytes, partly taken by a file that can be removed."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={2 * ROOM_SIZE_BYTES}", "tmpfs", str(place)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no permission to mount a small file system: {error}")
    try:
        (place / BALLAST_FILE_NAME).write_bytes(bytes(ROOM_SIZE_BYTES))
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def fill_and_go_on(folder, limit_bytes):
    command = [
        sys.executable,
        str(Path(__file__).with_name("full_disk_writer.py")),
        str(folder),
        str(limit_bytes),
    ]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def check(report, folder):
    written = report["written"]
    assert written > 3
    assert report["left"] == report["left again"] == list(range(written))
    assert report["with room"] == list(range(written + 1))
    assert f"cannot write version {written} of loop 'sssp' in {folder}" in report["message"]
    assert "free some space. Nothing stored earlier is lost" in report["message"]
    with LmdbStore(folder) as store:
        assert whole_versions(store) == list(range(written + 1))


def test_a_file_that_may_not_grow_is_a_full_store_that_loses_nothing(tmp_path):
    check(fill_and_go_on(tmp_path / "store", ROOM_SIZE_BYTES), tmp_path / "store")


def test_a_small_file_system_is_a_full_store_that_loses_nothing(small_disk):
    check(fill_and_go_on(small_disk / "store", 0), small_disk / "store")


def test_a_full_file_system_refuses_to_begin_a_store(small_disk):
    room = os.statvfs(small_disk)
    with (small_disk / "more").open("wb") as file:
        # All but less than a store needs to begin.
        os.posix_fallocate(file.fileno(), 0, room.f_bavail * room.f_frsize - 500_000)
    with pytest.raises(StoreFull, match="no room to open a store"):
        LmdbStore(small_disk / "store")
    (small_disk / "more").unlink()
    LmdbStore(small_disk / "store").close()
