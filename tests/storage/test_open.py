"""Addresses of stores, and folders that cannot be one."""

import os
import re
import subprocess
import sys

import pytest

from tornado.config import DATA_DIR_VARIABLE
from tornado.errors import InvalidArgument, StoreCorrupt, StoreFull, StoreLocked
from tornado.storage import owner
from tornado.storage.lmdb_store import LmdbStore
from tornado.storage.open import open_store

_OPENED_BY_NOBODY = """
import os, sys
from pathlib import Path
from tornado.errors import StoreLocked
from tornado.storage.lmdb_store import LmdbStore
if os.geteuid() == 0:
    os.seteuid(65534)  # root may write anywhere
try:
    LmdbStore(Path(sys.argv[1]))
except StoreLocked as error:
    print(error)
"""

_CLOSED_BY_A_FORK = """
import os, sys
from tornado.errors import StoreLocked
from tornado.storage.open import open_store
store = open_store(sys.argv[1])
if os.fork() == 0:
    store.close()
    os._exit(0)
os.wait()
try:
    open_store(sys.argv[1])
except StoreLocked:
    print("still locked")
store.close()
open_store(sys.argv[1]).close()
"""


def test_memory_is_a_store_that_is_not_durable():
    with open_store("memory:") as store:
        assert (store.url, store.durable) == ("memory:", False)


def test_an_absolute_folder_is_made_and_found_again(tmp_path):
    url = f"lmdb://{tmp_path}/deep/with%20space"
    with open_store(url) as store:
        assert (store.url, store.durable) == (url, True)
        store.write("sssp", 3, {b"a": b"1"}, metadata=b"m")
    assert (tmp_path / "deep" / "with space" / "data.mdb").exists()
    with open_store(url) as store:
        assert store.read("sssp", b"a", 3) == b"1"
        assert store.metadata("sssp", 3) == b"m"


def test_lmdb_alone_means_the_data_folder_of_the_user(tmp_path, monkeypatch):
    monkeypatch.setenv(DATA_DIR_VARIABLE, str(tmp_path))
    with open_store("lmdb:") as store:
        assert store.url == f"lmdb://{tmp_path}/store"


@pytest.mark.parametrize("url", ["", "memory", "redis://localhost", "/some/folder", "memory:x", "C:\\store"])
def test_an_unknown_address_names_the_valid_ones(url):
    with pytest.raises(InvalidArgument, match=r"memory:, lmdb: .* lmdb:///SOME/FOLDER"):
        open_store(url)


@pytest.mark.parametrize(
    "rest", ["//ann:secret@host/loops", "//ann:sec:ret@secret@host/loops", "ann:secret@host"]
)
@pytest.mark.parametrize("scheme", ["postgresq:", "postgresql+psycopg2:", ""])
def test_an_address_with_a_wrong_scheme_is_refused_without_its_password(scheme, rest):
    with pytest.raises(InvalidArgument, match="is not known") as refused:
        open_store(scheme + rest)
    assert "secret" not in str(refused.value)
    assert "@host" in str(refused.value)


@pytest.mark.parametrize("url", ["lmdb://data/roads", "lmdb:data", "lmdb:/data"])
def test_a_folder_that_is_not_absolute_is_refused_with_the_three_slashes(url):
    with pytest.raises(InvalidArgument, match="three slashes"):
        open_store(url)


@pytest.mark.parametrize("url", ["lmdb://", "lmdb:///", "lmdb:////", "lmdb:///%2F", "LMDB://"])
def test_slashes_without_a_folder_are_refused(url, monkeypatch):
    # Whatever becomes of this rule, a test makes no store at the root of somebody's disk.
    monkeypatch.setattr("tornado.storage.lmdb_store.LmdbStore", lambda folder: pytest.fail(f"opens {folder}"))
    with pytest.raises(InvalidArgument, match=f"'{url}' names no folder.*lmdb:///SOME/FOLDER"):
        open_store(url)


def test_a_second_owner_is_refused_and_told_who_has_the_store(tmp_path):
    with LmdbStore(tmp_path), pytest.raises(StoreLocked, match=f"in use by process {os.getpid()}.*--store"):
        LmdbStore(tmp_path)
    LmdbStore(tmp_path).close()


def test_a_second_process_is_refused_while_the_first_lives(tmp_path):
    program = (
        "import sys; from pathlib import Path; from tornado.storage.lmdb_store import LmdbStore\n"
        "try: LmdbStore(Path(sys.argv[1]))\n"
        "except Exception as error: print(type(error).__name__)"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    with LmdbStore(tmp_path):
        assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "StoreLocked\n"
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == ""


def test_a_forked_process_that_closes_a_store_gives_up_no_lock_of_its_parent(tmp_path):
    command = [sys.executable, "-c", _CLOSED_BY_A_FORK, f"lmdb://{tmp_path}/store"]
    assert subprocess.check_output(command, text=True, timeout=60) == "still locked\n"


def test_a_path_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("hello")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(InvalidArgument, match="Name a folder"):
            LmdbStore(path)
    assert (tmp_path / "file").read_text() == "hello"


@pytest.mark.parametrize("is_there", [False, True])
def test_a_folder_that_cannot_be_written_says_so(tmp_path, is_there):
    if is_there:
        LmdbStore(tmp_path / "store").close()
        for path in (tmp_path / "store").iterdir():
            path.chmod(0o444)
    tmp_path.chmod(0o555)
    try:
        # In a process of its own: who a process is, all of its threads are.
        command = [sys.executable, "-c", _OPENED_BY_NOBODY, tmp_path / "store"]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    finally:
        tmp_path.chmod(0o755)
    assert re.search(r"no permission.*Make the folder writable", said)


def test_a_disk_without_room_for_an_empty_store_is_refused_before_anything_is_made(tmp_path, monkeypatch):
    monkeypatch.setattr(owner, "LEAST_FREE_SIZE_BYTES", 1 << 80)
    with pytest.raises(StoreFull, match=r"no room.*Free some space"):
        LmdbStore(tmp_path)
    assert not (tmp_path / "data.mdb").exists()
    monkeypatch.undo()
    LmdbStore(tmp_path).close()


def test_a_store_where_a_file_is_says_that_it_is_one(tmp_path):
    (tmp_path / "roads.csv").write_text("1,2\n")
    with pytest.raises(InvalidArgument, match=r"roads\.csv: it is a file\. Name a folder"):
        LmdbStore(tmp_path / "roads.csv")


@pytest.mark.parametrize("content", [b"hello", b"\xff" * 100_000], ids=["short", "long"])
def test_a_file_that_is_no_store_is_left_alone(tmp_path, content):
    (tmp_path / "data.mdb").write_bytes(content)
    with pytest.raises(StoreCorrupt, match="Begin with a backup of the store"):
        LmdbStore(tmp_path)
    assert (tmp_path / "data.mdb").read_bytes() == content


def test_a_store_of_another_format_is_refused(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("tornado.storage.lmdb_store._FORMAT", b"tornado-loops 99")
        LmdbStore(tmp_path).close()
    with pytest.raises(StoreCorrupt, match=r"format b'tornado-loops 99'.*reads b'tornado-loops 2'"):
        LmdbStore(tmp_path)
