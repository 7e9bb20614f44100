"""`kill -9` in the middle of anything leaves the old or the new version, never half of one."""

import random
import subprocess
import sys
import time
from pathlib import Path

from tests.storage.crash_writer import view_at
from tests.storage.test_lmdb import chunks_without_entry
from tornado.storage.lmdb_store import LmdbStore

ROOT = Path(__file__).parents[2]
ROUNDS = 12
SEED = 20160626


def kill_while_writing(folder, patience_s):
    """Let the writer work, kill it, and return the last version it said was written."""
    command = [sys.executable, "-m", "tests.storage.crash_writer", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as writer:
        first = writer.stdout.readline()
        assert first, "the writer failed before its first version"
        time.sleep(patience_s)
        writer.kill()
        return int([first, *writer.stdout.read().split()][-1])


def test_a_killed_writer_leaves_whole_versions_and_all_it_acknowledged(tmp_path):
    print(f"seed {SEED}")
    chance = random.Random(SEED)
    for _ in range(ROUNDS):
        acknowledged = kill_while_writing(tmp_path, chance.uniform(0, 0.25))
        with LmdbStore(tmp_path) as store:
            versions = store.versions("sssp")
            assert versions[-1] in (acknowledged, acknowledged + 1)
            assert versions == list(range(versions[0], versions[-1] + 1))
            for version in versions:
                assert store.metadata("sssp", version) == b"%d" % version
                assert dict(store.scan("sssp", version)) == view_at(version)
            assert chunks_without_entry(store) == []
