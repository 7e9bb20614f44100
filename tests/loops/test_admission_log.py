"""The log of a stream: what it has is what was admitted, in its order, or it is refused."""

import json
import zlib

import lmdb
import numpy as np
import pytest

from apps.sssp import ShortestPaths
from tests.kept_store import KeptStore
from tests.logged import entries_of
from tornado.errors import InvalidArgument, StoreCorrupt, StoreFull
from tornado.loops import Master, admission_log
from tornado.loops.admission_log import AdmissionLog, LogEntry
from tornado.loops.statistics import StoredSizes
from tornado.records.edge_batch import EdgeBatch
from tornado.records.narrow_edges import NarrowEdges
from tornado.records.operations import INSERT, REMOVE, REPLACE
from tornado.records.point_batch import PointBatch
from tornado.records.point_schema import Points
from tornado.storage import open_store
from tornado.storage.lmdb_store import LmdbStore

LINE = "roads/log"
POINTS = Points(features=2)


def entry(version, source="http", *, number=None, records=1):
    batch = EdgeBatch.of(np.arange(records), np.full(records, version))
    return LogEntry(version, source, 10 * version, batch, number)


def versions(log, after=0):
    return [found.version for found in log.replay(after=after, points=None)]


def written(*groups):
    store = KeptStore()
    log = AdmissionLog(store, "roads")
    for group in groups:
        log.append([entry(version) for version in group])
    return store, log


def test_entries_come_back_as_they_were_in_their_order():
    store = KeptStore()
    log = AdmissionLog(store, "roads")
    entries = [entry(1, records=3), entry(2, "edges.csv", records=0), entry(5, "spark:q", number=7)]
    log.append(entries[:2])
    log.append(entries[2:])
    for found in (log, AdmissionLog(store, "roads")):
        again = list(found.replay(after=0, points=None))
        assert [(one.version, one.source, one.offset, one.number) for one in again] == [
            (1, "http", 10, None),
            (2, "edges.csv", 20, None),
            (5, "spark:q", 50, 7),
        ]
        assert all(one.batch.equals(other.batch) for one, other in zip(again, entries, strict=True))
        assert found.offsets == {"http": 10, "edges.csv": 20, "spark:q": 50}
        assert (found.number("spark:q"), found.number("http")) == (7, None)
        assert (found.size_after(0), found.size_after(2), found.size_after(5)) == (
            (4, 4 + 3 * 7 + 2 + 13),
            (1, 13),
            (0, 0),
        )


def test_a_log_of_before_edges_were_narrow_is_read():
    store, log = written([1, 2])
    version, batches = 2, [found.batch for found in log.replay(after=0, points=None)]
    metadata = json.loads(store.metadata(LINE, version))
    pages = [batch.encode() for batch in batches]
    metadata["entries"] = [
        [own, source, offset, number, None, len(page)]
        for (own, source, offset, number, _, _), page in zip(metadata["entries"], pages, strict=True)
    ]
    metadata["checksum"] = zlib.crc32(b"".join(pages))
    del metadata["check"]
    metadata["gained"] = 2  # which was said then
    store.write(LINE, version, {b"group": b"".join(pages)}, metadata=json.dumps(metadata).encode())
    old = AdmissionLog(store, "roads")
    assert old.size_after(0) == (2, 50)
    again = [found.batch for found in old.replay(after=0, points=None)]
    assert all(map(EdgeBatch.equals, again, batches))


@pytest.mark.parametrize(
    ("held", "groups"),
    # Of 78 bytes each, beside a base of 100 edges and 2,400 bytes: 0.28 of what a base of now would take, less what the graph lost.
    [(lambda records: 100 + records, 50), (lambda records: 100, 9), (lambda records: 100 - records, 2)],
    ids=["grows", "keeps its size", "shrinks"],
)
@pytest.mark.parametrize("op", [INSERT, REMOVE, REPLACE])
def test_a_log_is_long_when_it_takes_a_share_of_what_a_base_of_now_would_take_whatever_it_says(
    held, groups, op, monkeypatch
):
    monkeypatch.setattr("tornado.loops.admission_log._SHORT_LOG_BYTES", 0)
    ids = np.arange(10)
    log = AdmissionLog(KeptStore(), "roads")
    while not log.is_long(0, 100, 2400, held=held(log.size.records)) and len(log.groups) < 50:
        version = len(log.groups) + 1
        log.append([LogEntry(version, "http", version, EdgeBatch.of(ids, ids, np.ones(10), np.full(10, op)))])
    assert len(log.groups) == groups


@pytest.mark.parametrize("after", range(8))
def test_only_what_is_behind_a_version_comes_back_also_from_the_middle_of_a_group(after):
    _, log = written([1, 2, 3], [4], [6, 7])
    assert versions(log, after) == [version for version in (1, 2, 3, 4, 6, 7) if version > after]


@pytest.mark.parametrize(("base", "left"), [(2, [1, 2, 3, 4, 6]), (3, [4, 6]), (5, [6]), (9, [6])])
def test_a_base_lets_go_of_the_groups_before_it_and_never_of_the_newest(base, left):
    store, log = written([1, 2, 3], [4], [6])
    log.forget(base)
    for found in (log, AdmissionLog(store, "roads")):
        assert versions(found, base) == [version for version in left if version > base]
        assert [each.version for each in entries_of(found)] == left
        assert found.offsets == {"http": 60}
    log.append([entry(8)])
    assert [each.version for each in entries_of(AdmissionLog(store, "roads"))] == [*left, 8]


def test_points_come_back_and_others_than_declared_are_refused():
    batch = PointBatch.of(POINTS, ids=[1, 2], features=[[1.0, 2.0], [3.0, 4.0]], labels=[0.0, 1.0])
    log = AdmissionLog(KeptStore(), "roads")
    log.append([LogEntry(1, "insert", 2, batch)])
    (found,) = log.replay(after=0, points=POINTS)
    assert found.batch.equals(batch)
    for points in (None, Points(features=3), Points(features=2, sparse=True)):
        with pytest.raises(InvalidArgument, match=r"'insert' has sent Points.*before it was restarted"):
            list(log.replay(after=0, points=points))


def damaged(store, version, how):
    page, text = store.read(LINE, b"group", version), store.metadata(LINE, version)
    metadata = json.loads(text)
    if how == "torn":
        page = page[:-1]
    elif how == "turned":
        page = bytes([page[0] ^ 1]) + page[1:]
    elif how == "gone":
        store.write(LINE, version, {}, deletes=[b"group"], metadata=text)
        return
    elif how == "untold":
        metadata = {}
    store.write(LINE, version, {b"group": page}, metadata=json.dumps(metadata).encode())


@pytest.mark.parametrize("how", ["torn", "turned", "gone", "untold"])
def test_damage_is_refused_with_its_place(how):
    store, _ = written([1], [2, 3])
    damaged(store, 3, how)
    with pytest.raises(StoreCorrupt, match="log of stream 'roads' is damaged: its group of version 3"):
        list(AdmissionLog(store, "roads").replay(after=0, points=None))


def test_a_page_that_the_disk_has_changed_is_damage_of_the_log_with_its_place(tmp_path):
    url = f"lmdb://{tmp_path}/store"
    with open_store(url) as store:
        log = AdmissionLog(store, "roads")
        log.append([entry(1)])
        log.append([entry(2), entry(3)])
        store.write("roads", 1, {b"base": b"all"})
    with (
        lmdb.open(str(tmp_path / "store"), max_dbs=16, map_size=1 << 24) as folder,
        folder.begin(folder.open_db(b"chunks", create=False), write=True) as transaction,
    ):
        (key, page) = next((bytes(k), bytes(v)) for k, v in transaction.cursor() if b"group" in bytes(k))
        transaction.put(key, page[:-1] + bytes([page[-1] ^ 1]))
    with (
        open_store(url) as store,
        pytest.raises(
            StoreCorrupt, match=r"log of stream 'roads' is damaged: .*version 1, is intact"
        ) as raised,
    ):
        list(AdmissionLog(store, "roads").replay(after=0, points=None))
    assert "tornado backup" in raised.value.hint


def groups_of(store):
    """What stands in the store, by version: page and metadata."""
    return {
        version: (store.read(LINE, b"group", version), store.metadata(LINE, version))
        for version in store.versions(LINE)
    }


def put(store, groups):
    store.drop(LINE)
    for version, (page, text) in groups.items():
        store.write(LINE, version, {b"group": page}, metadata=text)
    return store


@pytest.fixture(params=["kept", "lmdb", "postgres"])
def store_and_stride(request, tmp_path):
    """A store, and of how many bytes of metadata one is changed there."""
    if request.param == "kept":
        yield KeptStore(), 1
        return
    url = f"lmdb://{tmp_path}" if request.param == "lmdb" else request.getfixturevalue("postgres_url")
    with open_store(url) as store:
        yield store, 29


@pytest.mark.parametrize("version", [3, 4], ids=["in the middle", "the newest"])
def test_each_byte_of_what_is_said_of_a_group_counts(version, store_and_stride):
    written_store, log = written([1], [2, 3])
    log.append([entry(4, "spark:q", number=7)], window={"width": "1h"})
    groups = groups_of(written_store)
    store, stride = store_and_stride
    assert versions(AdmissionLog(put(store, groups), "roads")) == [1, 2, 3, 4]
    page, text = groups[version]
    for at in range(0, len(text), stride):
        for other in {text[at] ^ 1, text[at] ^ 0xFF, ord("0"), ord(" ")} - {text[at]}:
            changed = text[:at] + bytes([other]) + text[at + 1 :]
            put(store, groups | {version: (page, changed)})
            with pytest.raises(StoreCorrupt, match=f"its group of version {version} .* there is no snapshot"):
                AdmissionLog(store, "roads")
    put(
        store, {one: group for one, group in groups.items() if one < version}
    )  # a write that was cut off left nothing
    assert versions(AdmissionLog(store, "roads")) == [
        one for one in (1, 2, 3) if one <= store.versions(LINE)[-1]
    ]


NAMED = Points(features=2, names=["height", "weight"])
SWAPPED = Points(features=2, names=["weight", "height"])


def with_points(points):
    store = KeptStore()
    log = AdmissionLog(store, "roads")
    for version in (1, 2):
        log.append([points_entry(points, version)])
    return store


def points_entry(points, version):
    batch = PointBatch.of(points, ids=[version], features=[[1.0, 2.0]])
    return LogEntry(version, "http", version, batch)


@pytest.mark.parametrize("declared", [SWAPPED, POINTS, Points(features=3)])
@pytest.mark.parametrize("after", [0, 1])
def test_points_whose_features_have_other_names_are_others(declared, after):
    log = AdmissionLog(with_points(NAMED), "roads")
    with pytest.raises(InvalidArgument, match=r"'http' has sent .*names=\('height', 'weight'\)\) to stream"):
        list(log.replay(after=after, points=declared))
    assert [found.version for found in log.replay(after=0, points=NAMED)] == [1, 2]
    assert log.points == log.declared_points == NAMED


def test_names_are_written_once_and_the_base_has_them_when_that_group_is_forgotten():
    store = with_points(NAMED)
    AdmissionLog(store, "roads").append([points_entry(NAMED, 3)])
    assert ["names" in json.loads(store.metadata(LINE, version)) for version in (1, 2, 3)] == [
        True,
        False,
        False,
    ]
    AdmissionLog(store, "roads").forget(1)
    log = AdmissionLog(store, "roads")
    assert (log.points, log.declared_points) == (POINTS, None)
    assert [found.version for found in log.replay(after=1, points=NAMED)] == [2, 3]
    with pytest.raises(InvalidArgument, match="'http' has sent"):
        list(log.replay(after=1, points=SWAPPED))


@pytest.mark.parametrize("declared", [NAMED, SWAPPED, POINTS])
def test_a_log_of_before_that_is_silent_on_names_is_gone_on_from_with_any(declared, monkeypatch):
    with monkeypatch.context() as older:
        older.setattr(admission_log, "_layout_of", lambda points: [points.features, points.sparse, "float64"])
        store = with_points(POINTS)
    log = AdmissionLog(store, "roads")
    assert [found.version for found in log.replay(after=0, points=declared)] == [1, 2]
    assert log.declared_points is None
    with pytest.raises(InvalidArgument, match="features=2"):
        list(log.replay(after=0, points=Points(features=3)))


def test_a_layout_of_a_newer_program_is_no_damage(monkeypatch):
    with monkeypatch.context() as newer:
        newer.setattr(admission_log, "encode_narrow", lambda batch: NarrowEdges("i2f2", batch.encode()))
        store, _ = written([1])
    with pytest.raises(StoreCorrupt, match=r"'http' sent in the layout 'i2f2', .* not know.*newer program"):
        versions(AdmissionLog(store, "roads"))


def test_a_group_that_is_missing_in_the_middle_is_refused():
    store, _ = written([1], [2], [3])
    copy = KeptStore()
    for version in (1, 3):
        page = {b"group": store.read(LINE, b"group", version)}
        copy.write(LINE, version, page, metadata=store.metadata(LINE, version))
    with pytest.raises(StoreCorrupt, match="version 3 stands behind version 2, which is not there"):
        versions(AdmissionLog(copy, "roads"))


@pytest.mark.parametrize("base", [0, 1])
def test_a_log_whose_beginning_is_missing_is_refused_where_the_base_does_not_have_it(base):
    store, log = written([1], [2], [3])
    log.forget(2)
    with pytest.raises(StoreCorrupt, match="version 3 stands behind version 2, which is not there"):
        versions(AdmissionLog(store, "roads"), base)
    assert versions(AdmissionLog(store, "roads"), 2) == [3]


def test_what_a_base_makes_needless_may_go_while_the_rest_is_gone_through(monkeypatch):
    store, log = written([1], [2, 3], [4], [5])
    listed = store.versions

    def listed_before_they_go(line):
        found = listed(line)
        log.forget(3)
        return found

    monkeypatch.setattr(store, "versions", listed_before_they_go)
    assert versions(log, 3) == [4, 5]


def test_a_group_that_cannot_be_written_is_not_in(monkeypatch):
    store, log = written([1])

    def full(*_args, **_kwargs):
        raise StoreFull("no room")

    with monkeypatch.context() as patched:
        patched.setattr(store, "write", full)
        with pytest.raises(StoreFull):
            log.append([entry(2, "spark:q", number=0)])
    assert (versions(log), log.number("spark:q"), log.offsets) == ([1], None, {"http": 10})
    log.append([entry(3)])
    assert versions(AdmissionLog(store, "roads")) == [1, 3]


def test_a_group_of_another_stream_is_refused():
    store, _ = written([1], [2])
    for version in (1, 2):
        page = {b"group": store.read(LINE, b"group", version)}
        store.write("rails/log", version, page, metadata=store.metadata(LINE, version))
    with pytest.raises(StoreCorrupt, match=r"log of stream 'rails' .* version 1 is one of stream 'roads'"):
        AdmissionLog(store, "rails")


@pytest.mark.parametrize("left", [0, 1])
def test_a_base_whose_log_is_gone_or_ends_before_it_is_refused(left):
    """Else a start would go on from the base, without what was acknowledged behind it, and say nothing."""
    store = KeptStore()
    with Master(store, 1) as master:
        loop = master.start(ShortestPaths(source=1), name="roads")
        for number in (1, 2):
            loop.admit(EdgeBatch.of([number], [number + 1]), "http", number)
        loop.checkpoint()
        loop.admit(EdgeBatch.of([3], [4]), "http", 3)
    groups = store.versions(LINE)
    kept = [
        (version, store.read(LINE, b"group", version), store.metadata(LINE, version)) for version in groups
    ]
    store.drop(LINE)
    for version, page, metadata in kept[:left]:
        store.write(LINE, version, {b"group": page}, metadata=metadata)
    ends = "ends at version 1" if left else "is not there"
    with (
        Master(store, 1) as master,
        pytest.raises(
            StoreCorrupt, match=f"{ends}, and was written up to version 2 .* of version 2 .* intact"
        ),
    ):
        master.start(ShortestPaths(source=1), name="roads")


def test_its_size_is_that_of_all_groups_whatever_comes_and_goes():
    store, log = written((1, 2), (3,), (4, 5, 6))
    assert log.size == log.size_after(0) == AdmissionLog(store, "roads").size == (6, 6 * 13)
    log.forget(3)
    assert log.size == log.size_after(0) == AdmissionLog(store, "roads").size == (3, 3 * 13)
    log.append([entry(7)])
    assert log.size == log.size_after(0) == (4, 4 * 13)


def test_a_stream_says_what_it_takes_in_its_store(tmp_path):
    with LmdbStore(tmp_path / "store") as store, Master(store, 1) as master:
        loop = master.start(ShortestPaths(source=0), name="roads")
        loop.admit(EdgeBatch.of(np.arange(100), np.arange(1, 101)), "edges", 100)
        assert loop.stream.stored_sizes() == StoredSizes(None, 0, 0, 100, 4 + 100 * 7 + 2 * 13)
        version = loop.stream.checkpoint()
        sizes = loop.stream.stored_sizes()
        assert (sizes.base_version, sizes.base_records) == (version, 100)
        assert sizes.base_bytes == 8 + 100 * 12
    with Master(None, 1) as master:
        assert master.start(ShortestPaths(source=0), name="roads").stream.stored_sizes() is None
