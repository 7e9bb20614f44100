"""What LMDB adds to the contract: growing, damage, and errors that leave as ours."""

import errno
import gc
import inspect
import os
import threading
import weakref
from contextlib import suppress
from functools import partial

import lmdb as foreign
import numpy as np
import pytest

from tornado.errors import (
    InternalError,
    InvalidArgument,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreLocked,
    TornadoError,
)
from tornado.storage import layout, lmdb, lmdb_store
from tornado.storage.lmdb_store import LmdbStore


def error_of_lmdb(kind, code):
    """An error as lmdb's C code makes it: the number is set afterwards."""
    error = kind("mdb_put: what LMDB says")
    error.code = code
    return error


def test_the_map_grows_while_other_threads_read(tmp_path):
    with LmdbStore(tmp_path, initial_map_size_bytes=1 << 16) as store:
        store.write("sssp", 0, {b"%03d" % place: b"0" for place in range(300)})
        done = threading.Event()
        failures = []

        def read():
            while not done.is_set():
                try:
                    assert sum(1 for _ in store.scan("sssp", 0)) == 300
                except BaseException as error:
                    failures.append(error)
                    raise

        readers = [threading.Thread(target=read) for _ in range(2)]
        for reader in readers:
            reader.start()
        try:
            for version in range(1, 40):
                store.write("sssp", version, {b"page": bytes(version * 20_000)})
        finally:
            done.set()
            for reader in readers:
                reader.join(60)
        assert failures == []
        assert [len(store.read("sssp", b"page", version)) for version in range(1, 40)] == list(
            range(20_000, 800_000, 20_000)
        )


@pytest.mark.timeout(60)
def test_a_change_that_fails_ends_while_others_read_one_after_the_other(tmp_path):
    with LmdbStore(tmp_path) as store:
        store.write("sssp", 0, {b"%03d" % place: b"0" for place in range(300)})
        done = threading.Event()

        def read():
            while not done.is_set():
                assert sum(1 for _ in store.scan("sssp", 0)) == 300

        def fail(transaction):
            transaction.put(lmdb.Table.FACTS, b"fact", b"1")
            raise KeyError("fact")

        readers = [threading.Thread(target=read, daemon=True) for _ in range(2)]
        for reader in readers:
            reader.start()
        try:
            for _ in range(30):
                with pytest.raises(KeyError):
                    store._folder.change(fail, "fail")
        finally:
            done.set()
            for reader in readers:
                reader.join(60)
        with store._folder.reading("look") as transaction:
            assert transaction.get(lmdb.Table.FACTS, b"fact") is None


def test_nothing_is_kept_of_a_change_that_failed(tmp_path):
    def fail(transaction, pages):
        raise KeyError("fact")

    with LmdbStore(tmp_path) as store:
        pages = np.zeros(1)
        kept = weakref.ref(pages)
        gc.disable()
        try:
            with suppress(KeyError):
                store._folder.change(partial(fail, pages=pages), "fail")
            del pages
            assert kept() is None
        finally:
            gc.enable()


def test_whoever_is_interrupted_before_a_change_is_undone_leaves_it_undone(tmp_path, monkeypatch):
    def fail(transaction):
        raise KeyError("fact")

    def interrupted():
        raise KeyboardInterrupt

    with LmdbStore(tmp_path) as store:
        with monkeypatch.context() as patched:
            patched.setattr(store._folder._gate, "alone", interrupted)
            with pytest.raises(KeyboardInterrupt):
                store._folder.change(fail, "fail")
        store.write("sssp", 0, {b"page": b"0"})
        assert store.versions("sssp") == [0]


def test_a_map_that_is_full_in_mid_write_grows_and_the_write_happens_once(tmp_path, monkeypatch):
    monkeypatch.setattr("tornado.storage.lmdb_store._OVERHEAD_SIZE_BYTES", -(10**9))
    with LmdbStore(tmp_path, initial_map_size_bytes=1 << 16) as store:
        store.write("sssp", 1, {b"page": bytes(5_000_000)}, metadata=b"once")
        assert len(store.read("sssp", b"page", 1)) == 5_000_000
        assert store.versions("sssp") == [1]


def test_room_of_forgotten_versions_is_used_again(tmp_path):
    with LmdbStore(tmp_path) as store:
        for version in range(30):
            store.write("sssp", version, {b"page": os.urandom(3_000_000)})
            store.delete_before("sssp", version)
        # The current version, the one before until the deletion, and what the last transactions still hold.
        assert store.statistics().size_bytes < 5 * 3_000_000


def pages_of(version):
    return {b"page %d" % place: b"%d" % version * (1 << 20) for place in range(6)}


def chunks_without_entry(store):
    with store._folder.reading("look at all chunks") as transaction:
        chunks = transaction.keys(lmdb.Table.CHUNKS, b"\x00")
        return [key for key in chunks if transaction.get(lmdb.Table.ENTRIES, layout.chunk_entry(key)) is None]


def test_others_write_while_a_large_version_is_written_and_see_it_whole_or_not(tmp_path, monkeypatch):
    monkeypatch.setattr("tornado.storage.lmdb_store._ONE_TRANSACTION_SIZE_BYTES", 2 << 20)
    with LmdbStore(tmp_path) as store:
        store.write("roads", 1, pages_of(1), metadata=b"1")
        portions = lmdb_store._portions

        def beside(chunks):
            for number, some in enumerate(portions(chunks)):
                store.write("roads/log", number, {b"group": b"%d" % number})
                assert store.versions("roads") == [1]
                assert dict(store.scan("roads", 9)) == pages_of(1)
                yield some

        monkeypatch.setattr(lmdb_store, "_portions", beside)
        store.write("roads", 2, pages_of(2), deletes=[b"page 9"], metadata=b"2")
        assert len(store.versions("roads/log")) > 2
        assert (store.versions("roads"), store.metadata("roads", 2)) == ([1, 2], b"2")
        for version in (1, 2):
            assert dict(store.scan("roads", version)) == pages_of(version)
        assert chunks_without_entry(store) == []


def test_a_group_of_some_megabytes_does_not_wait_for_a_large_version(tmp_path, monkeypatch):
    with LmdbStore(tmp_path) as store:
        logged = []
        portions = lmdb_store._portions

        def beside(chunks):
            for number, some in enumerate(portions(chunks)):
                group = threading.Thread(
                    target=store.write, args=("roads/log", number, {b"group": bytes(7 << 20)}), daemon=True
                )
                group.start()
                group.join(10)
                logged.append(not group.is_alive())
                yield some

        monkeypatch.setattr(lmdb_store, "_portions", beside)
        store.write("roads", 1, {b"page %d" % place: bytes(1 << 20) for place in range(12)})
        assert logged == [True] * 6


def fail_in_the_middle(monkeypatch, store, version, *, is_cleared):
    """Have a large version of roads fail when a part of it is written; return the loops that there were then."""
    seen = []

    def full(chunks):
        yield [next(chunks)]
        seen.extend(store.loops())
        if not is_cleared:  # as by a process that was killed
            monkeypatch.setattr(store, "_clear_unfinished", lambda: None)
        raise StoreFull("no room")

    with monkeypatch.context() as patched:
        patched.setattr(lmdb_store, "_portions", full)
        with pytest.raises(StoreFull):
            store.write("roads", version, pages_of(version))
    return seen


@pytest.mark.parametrize("is_cleared", [True, False])
def test_nothing_is_left_of_a_large_version_that_failed(tmp_path, monkeypatch, is_cleared):
    monkeypatch.setattr("tornado.storage.lmdb_store._ONE_TRANSACTION_SIZE_BYTES", 2 << 20)
    with LmdbStore(tmp_path) as store:
        store.write("roads", 1, pages_of(1))
        fail_in_the_middle(monkeypatch, store, 2, is_cleared=is_cleared)
        assert (chunks_without_entry(store) == []) is is_cleared
        assert (store.versions("roads"), dict(store.scan("roads", 2))) == ([1], pages_of(1))
    with LmdbStore(tmp_path) as store:
        assert chunks_without_entry(store) == []
        store.write("roads", 2, pages_of(2))
        assert dict(store.scan("roads", 2)) == pages_of(2)


@pytest.mark.parametrize("is_cleared", [True, False])
def test_a_loop_whose_first_version_failed_is_none(tmp_path, monkeypatch, is_cleared):
    monkeypatch.setattr("tornado.storage.lmdb_store._ONE_TRANSACTION_SIZE_BYTES", 2 << 20)
    with LmdbStore(tmp_path) as store:
        store.write("rails", 1, {b"k": b"v"})
        seen = fail_in_the_middle(monkeypatch, store, 1, is_cleared=is_cleared)
        assert seen == ["rails"]
        assert (store.loops(), store.versions("roads")) == (["rails"], [])
    with LmdbStore(tmp_path) as store:
        assert (store.loops(), store.statistics().loops) == (["rails"], 1)
        store.write("roads", 1, pages_of(1))
        assert dict(store.scan("roads", 1)) == pages_of(1)
        assert store.loops() == ["rails", "roads"]


def test_a_large_version_below_the_newest_is_refused_and_leaves_what_is_stored_under_its_number(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("tornado.storage.lmdb_store._ONE_TRANSACTION_SIZE_BYTES", 2 << 20)
    with LmdbStore(tmp_path) as store:
        for version in (1, 2):
            store.write("roads", version, pages_of(version))
        with pytest.raises(InvalidArgument, match="newest"):
            store.write("roads", 1, pages_of(3))
        for version in (1, 2):
            assert dict(store.scan("roads", version)) == pages_of(version)


def test_nothing_is_left_of_the_pages_of_a_loop_that_was_dropped(tmp_path):
    with LmdbStore(tmp_path) as store:
        store.write("rails", 1, pages_of(1))
        store.write("roads", 1, pages_of(2))
        store.drop("rails")
        assert chunks_without_entry(store) == []
        assert dict(store.scan("roads", 1)) == pages_of(2)


def test_a_store_whose_chunks_are_longer_is_read_and_written_on_and_an_older_program_refuses_it_then(
    tmp_path, monkeypatch
):
    with monkeypatch.context() as older:
        older.setattr(layout, "CHUNK_SIZE_BYTES", (1 << 20) - 16)
        older.setattr(lmdb_store, "_FORMAT", lmdb_store._OLDER_FORMAT)
        with LmdbStore(tmp_path) as store:
            store.write("roads", 1, pages_of(1))
    with LmdbStore(tmp_path) as store:
        assert dict(store.scan("roads", 1)) == pages_of(1)
        store.write("roads", 2, pages_of(2))
        assert [dict(store.scan("roads", version)) for version in (1, 2)] == [pages_of(1), pages_of(2)]
        store.delete_before("roads", 2)
        assert (chunks_without_entry(store), dict(store.scan("roads", 2))) == ([], pages_of(2))
    with monkeypatch.context() as older:
        older.setattr(lmdb_store, "_FORMAT", lmdb_store._OLDER_FORMAT)
        with pytest.raises(StoreCorrupt, match="has the format b'tornado-loops 2'"):
            LmdbStore(tmp_path)


def test_a_file_whose_pages_are_written_anew_beside_a_log_does_not_grow(tmp_path):
    """Groups that come while a base is written, and go with the next one, leave holes between its chunks."""
    with LmdbStore(tmp_path) as store:
        groups, sizes = 0, []

        def log(count):
            nonlocal groups
            for _ in range(count):
                groups += 1
                store.write("roads/log", groups, {b"group": bytes(67_500)})

        for base in range(1, 13):
            cut = groups
            for page in range(4):  # a part of it at a time, as if it took its time
                log(12)
                store.write("roads", 4 * base + page, {b"%d" % page: bytes(2_949_120)})
            store.delete_before("roads", 4 * base)
            store.delete_before("roads/log", cut)
            log(30)
            sizes.append(store._folder.used_size_bytes())
        assert sizes[-1] <= 1.06 * sizes[2]  # there are two bases and the log between them from then on


def test_whoever_is_told_that_it_is_written_has_it_on_the_disk(tmp_path):
    """No kill shows it, only a loss of power would."""
    with LmdbStore(tmp_path) as store:
        flags = store._folder._open().flags()
    assert (flags["sync"], flags["metasync"], flags["map_async"]) == (True, True, False)


def test_a_page_overwritten_on_the_disk_is_corrupt_and_the_others_can_be_read(tmp_path):
    page = np.random.default_rng(3).bytes(300_000)
    with LmdbStore(tmp_path) as store:
        store.write("sssp", 1, {b"damaged": page, b"sound": b"yes"})
    path = tmp_path / "data.mdb"
    content = bytearray(path.read_bytes())
    place = content.index(page[150_000:150_100])
    content[place] ^= 1
    path.write_bytes(content)
    with LmdbStore(tmp_path) as store:
        with pytest.raises(
            StoreCorrupt, match=r"key b'damaged' at version 1.*its checksum is another.*Begin with a backup"
        ):
            store.read("sssp", b"damaged", 1)
        assert store.read("sssp", b"sound", 1) == b"yes"


def test_a_file_cut_short_is_corrupt_wherever_it_was_cut(tmp_path):
    with LmdbStore(tmp_path / "whole") as store:
        for version in range(5):
            store.write("sssp", version, {b"%02d" % place: os.urandom(30_000) for place in range(10)})
    whole = (tmp_path / "whole" / "data.mdb").read_bytes()
    noticed = 0
    for number, size_bytes in enumerate(range(len(whole) // 16, len(whole), len(whole) // 16)):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "data.mdb").write_bytes(whole[:size_bytes])
        try:
            with LmdbStore(folder) as store:
                for version in store.versions("sssp"):
                    assert len(list(store.scan("sssp", version))) == 10
        except StoreCorrupt:
            noticed += 1
    assert noticed == 15


def test_every_kind_of_error_lmdb_has_is_known_at_the_doorway():
    kinds = {
        kind for kind in vars(foreign).values() if inspect.isclass(kind) and issubclass(kind, foreign.Error)
    }
    known = {*lmdb._NOT_OURS, *lmdb._DAMAGE, *lmdb._MISUSE, *lmdb._LIMITS}
    assert kinds - known == {foreign.Error, foreign.DiskError, foreign.MapFullError}


@pytest.mark.parametrize(
    ("kind", "code", "ours"),
    [
        (foreign.DiskError, errno.ENOSPC, StoreFull),
        (foreign.Error, errno.EIO, StoreFull),
        (foreign.Error, errno.EFBIG, StoreFull),
        (foreign.Error, errno.EDQUOT, StoreFull),
        (foreign.Error, errno.EROFS, StoreLocked),
        (foreign.ReadonlyError, errno.EACCES, StoreLocked),
        (foreign.CorruptedError, -30796, StoreCorrupt),
        (foreign.BadTxnError, -30782, InternalError),
        (foreign.ReadersFullError, -30790, StoreError),
        (foreign.Error, errno.EINVAL, StoreError),
    ],
)
def test_errors_of_lmdb_leave_as_ours_with_what_was_tried(tmp_path, monkeypatch, kind, code, ours):
    with LmdbStore(tmp_path) as store:
        store.write("sssp", 1, {b"a": b"1"})

        def fail(*_):
            raise error_of_lmdb(kind, code)

        with monkeypatch.context() as patch:
            patch.setattr(lmdb.Transaction, "put", fail)
            with pytest.raises(TornadoError, match="cannot write version 2 of loop 'sssp' in ") as caught:
                store.write("sssp", 2, {b"a": b"2"})
        assert type(caught.value) is ours
        assert type(caught.value.__cause__) is kind
        assert store.versions("sssp") == [1]
        store.write("sssp", 2, {b"a": b"2"})


def test_a_root_that_could_not_be_written_ends_in_the_old_state_and_a_working_store(tmp_path, monkeypatch):
    with LmdbStore(tmp_path, initial_map_size_bytes=1 << 16) as store:
        store.write("sssp", 1, {b"a": b"1"})

        def fail(*_):
            raise error_of_lmdb(foreign.PanicError, -30795)

        before = store._folder._environment
        with monkeypatch.context() as patch:
            patch.setattr(lmdb.Transaction, "put", fail)
            with pytest.raises(StoreError, match="cannot write version 2"):
                store.write("sssp", 2, {b"a": b"2"})
        assert store._folder._environment is not before
        assert store.versions("sssp") == [1]
        store.write("sssp", 2, {b"a": b"2" * 100_000})
        assert len(store.read("sssp", b"a", 2)) == 100_000


def test_an_error_of_the_caller_inside_a_change_leaves_no_trace_and_no_lock(tmp_path):
    with LmdbStore(tmp_path) as store:
        with pytest.raises(ZeroDivisionError):
            store._folder.change(
                lambda transaction: transaction.put(lmdb.Table.FACTS, b"x", b"") or 1 / 0, "test"
            )
        with store._folder.reading("test") as transaction:
            assert transaction.get(lmdb.Table.FACTS, b"x") is None
        store.write("sssp", 1, {})
