"""What the contract says, for every store: one test or more per law."""

import sys
import threading

import numpy as np
import pytest

from tornado.errors import InvalidArgument
from tornado.storage import MAX_KEY_SIZE_BYTES, MAX_LOOP_SIZE_BYTES, MAX_VERSION, VersionedStore


def view(store, loop, version):
    """The whole view, read in the three ways there are, which must agree."""
    scanned = list(store.scan(loop, version))
    assert [key for key, _ in scanned] == list(store.keys(loop, version))
    assert all(store.read(loop, key, version) == page for key, page in scanned)
    return dict(scanned)


def test_an_unknown_loop_has_no_versions_and_empty_views(store: VersionedStore):
    assert store.loops() == []
    assert store.versions("sssp") == []
    assert store.metadata("sssp", 0) is None
    assert store.read("sssp", b"page", 7) is None
    assert view(store, "sssp", 7) == {}
    assert store.delete_before("sssp", 7) == 0
    store.drop("sssp")


def test_a_write_updates_the_newest_view(store):
    store.write("sssp", 1, {b"a": b"1", b"b": b"1"})
    store.write("sssp", 5, {b"b": b"5", b"c": b"5"}, deletes=[b"a"])
    assert view(store, "sssp", 0) == {}
    assert view(store, "sssp", 1) == {b"a": b"1", b"b": b"1"}
    assert view(store, "sssp", 4) == view(store, "sssp", 1)
    assert view(store, "sssp", 5) == {b"b": b"5", b"c": b"5"}
    assert view(store, "sssp", MAX_VERSION) == view(store, "sssp", 5)
    assert store.versions("sssp") == [1, 5]


def test_a_version_without_changes_is_stored_all_the_same(store):
    store.write("sssp", 0, {})
    store.write("sssp", 3, {}, metadata=b"offsets")
    assert store.versions("sssp") == [0, 3]
    assert store.metadata("sssp", 0) == b""
    assert store.metadata("sssp", 3) == b"offsets"
    assert store.metadata("sssp", 2) is None


def test_the_newest_version_can_be_written_again_and_the_last_write_wins(store):
    store.write("sssp", 1, {b"a": b"first", b"b": b"first", b"large": b"x" * 3_000_000})
    store.write("sssp", 1, {b"b": b"second", b"large": b"y"}, deletes=[b"a"], metadata=b"second")
    assert view(store, "sssp", 1) == {b"b": b"second", b"large": b"y"}
    assert store.metadata("sssp", 1) == b"second"
    assert store.versions("sssp") == [1]


def test_a_version_below_the_newest_is_refused_and_changes_nothing(store):
    store.write("sssp", 5, {b"a": b"5"})
    with pytest.raises(InvalidArgument, match=r"version 4 of loop 'sssp'.*newest stored version, 5"):
        store.write("sssp", 4, {b"a": b"4"})
    assert store.versions("sssp") == [5]
    assert view(store, "sssp", 5) == {b"a": b"5"}


def test_a_deleted_key_can_come_back(store):
    store.write("sssp", 1, {b"a": b"1"})
    store.write("sssp", 2, {}, deletes=[b"a", b"never there"])
    store.write("sssp", 3, {b"a": b"3"})
    assert [store.read("sssp", b"a", version) for version in range(5)] == [None, b"1", None, b"3", b"3"]


def test_deleting_before_a_version_keeps_all_views_from_there_on(store):
    for version in range(0, 20, 2):
        deletes = [b"%d" % (version % 3)]
        items = {b"%d" % key: b"%d" % version for key in range(version % 5) if b"%d" % key not in deletes}
        store.write("sssp", version, items, deletes=deletes)
    before = {version: view(store, "sssp", version) for version in range(8, 20)}
    assert store.delete_before("sssp", 9) == 4
    assert store.versions("sssp") == [8, 10, 12, 14, 16, 18]
    assert {version: view(store, "sssp", version) for version in range(8, 20)} == before
    assert store.metadata("sssp", 6) is None
    assert store.delete_before("sssp", 9) == 0


@pytest.mark.parametrize("version", [0, 7])
def test_a_forgotten_version_is_refused_instead_of_answered_wrongly(store, version):
    store.write("sssp", 6, {b"a": b"6"})
    store.write("sssp", 8, {b"a": b"8"})
    store.delete_before("sssp", 100)
    assert store.versions("sssp") == [8]
    for read in (
        lambda: store.read("sssp", b"a", version),
        lambda: list(store.scan("sssp", version)),
        lambda: list(store.keys("sssp", version)),
    ):
        with pytest.raises(
            InvalidArgument, match=f"version {version} of loop 'sssp' was deleted.*begins at version 8"
        ):
            read()


def test_a_dropped_loop_begins_anew(store):
    store.write("sssp", 6, {b"a": b"x" * 2_500_000, b"b": b""})
    store.write("sssp", 8, {b"a": b"8"})
    store.write("other", 1, {b"a": b"1"})
    store.delete_before("sssp", 8)
    store.drop("sssp")
    assert store.loops() == ["other"]
    assert store.versions("sssp") == []
    assert view(store, "sssp", 3) == {}
    store.write("sssp", 2, {b"b": b"2"})
    assert view(store, "sssp", 2) == {b"b": b"2"}
    assert view(store, "other", 1) == {b"a": b"1"}


def test_loops_do_not_see_each_other(store):
    names = ["a", "a\x00", "ab", "ß", "results/7"]
    for version, name in enumerate(names):
        store.write(name, version, {b"key": name.encode()})
    assert store.loops() == sorted(names)
    for version, name in enumerate(names):
        assert store.versions(name) == [version]
        assert view(store, name, 100) == {b"key": name.encode()}
    assert store.statistics().loops == store.statistics().versions == len(names)


def test_keys_come_in_byte_order_whatever_bytes_they_have(store):
    keys = [
        b"",
        b"\x00",
        b"\x00\x00",
        b"\x00\xff",
        b"a",
        b"a\x00",
        b"a\x00b",
        b"a\x01",
        b"a\x7f",
        b"a\x80",
        b"a\xff",
        b"\xff",
    ]
    for version in (1, 256, 2**40, MAX_VERSION):
        store.write("sssp", version, {key: b"%d" % version + key for key in reversed(keys)})
    for version in (1, 255, 2**40, MAX_VERSION):
        assert list(store.keys("sssp", version)) == sorted(keys)
    assert store.read("sssp", b"a\x00", 300) == b"256a\x00"
    assert list(store.keys("sssp", 1, b"a\x00")) == [b"a\x00", b"a\x00b"]
    assert list(store.keys("sssp", 1, b"\x00")) == [b"\x00", b"\x00\x00", b"\x00\xff"]


def test_a_scan_of_many_keys_is_complete_and_ordered(store):
    keys = [b"p%06d" % place for place in range(1500)]
    store.write("sssp", 1, dict.fromkeys(keys, b"old"))
    store.write("sssp", 2, dict.fromkeys(keys[::2], b"new"), deletes=keys[::5][1::2])
    gone = set(keys[::5][1::2])
    expected = [
        (key, b"new" if place % 2 == 0 else b"old") for place, key in enumerate(keys) if key not in gone
    ]
    assert list(store.scan("sssp", 1, b"p")) == [(key, b"old") for key in keys]
    assert list(store.scan("sssp", 2, b"p")) == [pair for pair in expected if pair[0] not in gone]


def test_writing_during_a_scan_neither_blocks_nor_shows(store):
    keys = [b"%04d" % place for place in range(1000)]
    store.write("sssp", 1, dict.fromkeys(keys, b"1"))
    seen = []
    for version, (key, page) in enumerate(store.scan("sssp", 1), start=2):
        seen.append((key, page))
        if version % 100 == 0:
            store.write("sssp", version, dict.fromkeys(keys[:5], b"z" * 200000), deletes=keys[500:])
    assert seen == [(key, b"1") for key in keys]


def test_a_scan_of_a_version_forgotten_meanwhile_ends_with_an_error(store):
    store.write("sssp", 1, {b"%04d" % place: b"1" for place in range(1000)})
    scan = store.scan("sssp", 1)
    next(scan)
    store.write("sssp", 2, {})
    store.delete_before("sssp", 2)
    with pytest.raises(InvalidArgument, match="was deleted"):
        list(scan)


@pytest.mark.parametrize(
    "size_bytes", [0, 1, 5000, (1 << 20) - 17, (1 << 20) - 16, (1 << 20) - 15, 20_000_000]
)
def test_pages_of_any_size_come_back_as_they_were(store, size_bytes):
    page = np.random.default_rng(7).bytes(size_bytes)
    store.write("sssp", 1, {b"before": b"x", b"page": page, b"z after": b"x"})
    assert store.read("sssp", b"page", 1) == page
    assert dict(store.scan("sssp", 1, b"p")) == {b"page": page}


def test_pages_may_be_any_flat_buffer_and_are_copied(store):
    distances = np.arange(6, dtype=np.float64).reshape(2, 3)
    empty = np.empty((0, 3), dtype=np.int64)
    mutable = bytearray(b"abc")
    store.write("sssp", 1, {b"array": distances, b"empty": empty, b"view": memoryview(mutable)[1:]})
    distances[:] = -1
    mutable[:] = b"xyz"
    assert np.array_equal(np.frombuffer(store.read("sssp", b"array", 1)), np.arange(6.0))
    assert store.read("sssp", b"empty", 1) == b""
    assert store.read("sssp", b"view", 1) == b"bc"


def test_a_call_with_one_bad_entry_writes_nothing(store):
    store.write("sssp", 1, {b"a": b"1"})
    long_key = b"k" * (MAX_KEY_SIZE_BYTES + 1)
    for call, message in [
        (lambda: store.write("sssp", 2, {b"a": b"2", long_key: b""}), "has 241 bytes, at most 240"),
        (lambda: store.write("sssp", 2, {b"a": b"2", "b": b""}), "keys are bytes"),
        (lambda: store.write("sssp", 2, {b"a": b"2", b"b": np.eye(4)[:, 1]}), "C-contiguous"),
        (lambda: store.write("sssp", 2, {b"a": b"2", b"b": 17}), r"page of key b'b' \(int\)"),
        (lambda: store.write("sssp", 2, {b"a": b"2"}, deletes=[b"a"]), "both written and deleted"),
        (lambda: store.write("sssp", -1, {b"a": b"2"}), "version -1 is outside"),
        (lambda: store.write("sssp", MAX_VERSION + 1, {b"a": b"2"}), "is outside"),
        (lambda: store.write("", 2, {b"a": b"2"}), "has 0 bytes"),
        (lambda: store.write("l" * (MAX_LOOP_SIZE_BYTES + 1), 2, {b"a": b"2"}), "has 241 bytes"),
        (lambda: store.write("\ud800", 2, {b"a": b"2"}), "UTF-8"),
    ]:
        with pytest.raises(InvalidArgument, match=message):
            call()
    assert store.versions("sssp") == [1]
    assert store.loops() == ["sssp"]
    assert view(store, "sssp", 9) == {b"a": b"1"}


@pytest.mark.parametrize("byte", [b"\x00", b"k", b"\xff"])
def test_the_longest_key_and_loop_fit_whatever_bytes_they_have(store, byte):
    key = byte * MAX_KEY_SIZE_BYTES
    loop = "ö" * (MAX_LOOP_SIZE_BYTES // 2)
    store.write(loop, MAX_VERSION, {key: b"page"})
    assert view(store, loop, MAX_VERSION) == {key: b"page"}
    assert store.versions(loop) == [MAX_VERSION]


def test_a_closed_store_refuses_everything_but_closing(store):
    store.write("sssp", 1, {b"a": b"1"})
    scan = store.scan("sssp", 1)
    store.close()
    store.close()
    for call in (
        lambda: store.write("sssp", 2, {}),
        lambda: store.read("sssp", b"a", 1),
        lambda: next(scan),
        lambda: store.metadata("sssp", 1),
        lambda: store.versions("sssp"),
        store.loops,
        store.statistics,
        lambda: store.delete_before("sssp", 1),
        lambda: store.drop("sssp"),
    ):
        with pytest.raises(InvalidArgument, match="is closed"):
            call()


def test_statistics_count_what_is_stored(store):
    empty = store.statistics()
    store.write("sssp", 1, {b"a": b"x" * 100_000})
    store.write("sssp", 2, {b"a": b"x" * 100_000})
    full = store.statistics()
    assert (empty.loops, empty.versions) == (0, 0)
    assert (full.loops, full.versions) == (1, 2)
    assert full.size_bytes - empty.size_bytes >= 200_000


def test_readers_on_other_threads_see_whole_versions_while_one_writes(store):
    keys = [b"%02d" % place for place in range(20)]
    last_version = 30
    wrong = []
    store.write("sssp", 0, dict.fromkeys(keys, b"0 " * 1500))

    def read():
        version = 0
        while version < last_version:
            version = store.versions("sssp")[-1]
            pages = {bytes(page[:2]).strip() for _, page in store.scan("sssp", version)}
            wrong.extend([(version, pages)] if pages != {b"%d" % version} else [])

    switch_interval_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    readers = [threading.Thread(target=read) for _ in range(3)]
    try:
        for reader in readers:
            reader.start()
        for version in range(1, last_version + 1):
            store.write("sssp", version, dict.fromkeys(keys, (b"%-2d" % version) * 1500))
    finally:
        sys.setswitchinterval(switch_interval_s)
        for reader in readers:
            reader.join(60)
    assert wrong == []
