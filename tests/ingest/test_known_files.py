"""A file of which records are in is the one that was read, or is refused."""

import gzip
import hashlib
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tornado.errors import InvalidArgument, StoreCorrupt
from tornado.ingest import known_files
from tornado.ingest.known_files import KnownFiles
from tornado.ingest.point_source import PointFile
from tornado.ingest.source import FileSource
from tornado.records.point_schema import Points
from tornado.storage import MemoryStore

OTHER = "does not begin as the file edges.csv did, of which 2 records are in"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "edges.csv"


@pytest.fixture
def recognise(path):
    store = MemoryStore()

    def recognise(text, offset, *, write=None):
        (write or path.write_bytes)(text)
        source = FileSource(path)
        try:
            KnownFiles(store, "roads").recognise(source, offset)
        finally:
            source.close()
        return store

    return recognise


def test_a_file_that_grows_is_the_same_one(recognise):
    recognise(b"", 0)
    recognise(b"1,2\n", 0)
    recognise(b"1,2\n3,4\n", 1)
    recognise(b"1,2\n3,4\n5,6\n", 2)
    with pytest.raises(InvalidArgument, match=OTHER):
        recognise(b"1,2\n3,4\n5,7\n", 2)  # what was read meanwhile counts too
    recognise(b"1,2\n3,4\n5,6\n", 2)


@pytest.mark.parametrize("text", [b"", b"1,2\n3,", b"2,2\n3,4\n5,6\n"])
def test_a_file_that_begins_in_another_way_is_refused_until_an_offset_means_nothing(recognise, text):
    recognise(b"1,2\n3,4\n", 0)
    with pytest.raises(InvalidArgument, match=OTHER):
        recognise(text, 2)
    recognise(text, 0)
    recognise(text, 2)


def test_only_the_beginning_is_compared(recognise, monkeypatch):
    monkeypatch.setattr(known_files, "HEAD_BYTES", 4)
    recognise(b"1,2\n3,4\n", 0)
    recognise(b"1,2\n4,4\n", 2)
    with pytest.raises(InvalidArgument, match=OTHER):
        recognise(b"1,3\n4,4\n", 2)


def test_what_was_packed_again_is_the_same_text(recognise, path):
    def packed(level):
        return lambda text: path.write_bytes(gzip.compress(text, level, mtime=level))

    text = b"1,2\n3,4\n" * 300
    recognise(text, 0, write=packed(1))
    recognise(text, 2, write=packed(9))
    with pytest.raises(InvalidArgument, match=OTHER):
        recognise(b"0,2\n" + text, 2, write=packed(9))


@pytest.mark.parametrize(
    "begun", [b"", b"src,dst,weight\n", b"# a note\n\n", b"\xef\xbb\xbfsrc,dst,weight\n"]
)
def test_a_line_that_was_cut_off_when_it_was_read_must_not_go_on(recognise, begun):
    begun += b"1,2,3\n2,3,1"
    recognise(begun, 0)
    recognise(begun + b"00\n4,5,1\n", 1)  # it was not read yet
    recognise(begun, 0)
    with pytest.raises(InvalidArgument, match=r"record 2 was read as '2,3,1', and is '2,3,100' now"):
        recognise(begun + b"00\n", 2)
    with pytest.raises(InvalidArgument, match="goes on in a line that was cut off"):
        recognise(begun + b"00", 2)  # and again: what was known stays
    recognise(begun + b"\n00\n", 2)
    recognise(begun + b"\n00\n4,5,1\n", 3)


@pytest.mark.parametrize(
    ("read", "records", "grown"),
    [
        (b"1,2\n3,4", 2, b"1,2\n3,4\r\n5,6\n"),
        (b"1,2\n3,4\r", 2, b"1,2\n3,4\r\n5,6\n"),
        (b"1,2\n3,4", 2, b"1,2\n3,4 \n"),
        (b"1,2\n# no", 1, b"1,2\n# note\n"),
        (b"1,2\n  ", 1, b"1,2\n  3,4\n"),
        (b"1,2\n#" + 70_000 * b"x", 1, b"1,2\n#" + 70_001 * b"x" + b"\n"),
    ],
)
def test_what_goes_on_without_changing_a_record_is_the_same_file(recognise, read, records, grown):
    recognise(read, 0)
    recognise(grown, records)


@pytest.mark.parametrize(
    ("read", "grown", "said"),
    [
        (b"1,2\n3,", b"1,2\n3,4\n", "was read as '3,', and is '3,4' now"),  # which was rejected
        (b"1,2\nc,d", b"1,2\nc,d\x0c\n", r"and is 'c,d\\x0c' now"),
        (b"1,2\n3," + 70_000 * b"4", b"1,2\n3," + 70_001 * b"4", "was read as '…4444"),
        (b"1,2\n9,#" + 70_000 * b" ", b"1,2\n9,#" + 70_000 * b" " + b"4", "goes on"),
    ],
)
def test_what_goes_on_in_another_way_is_refused(recognise, read, grown, said):
    recognise(read, 0)
    with pytest.raises(InvalidArgument, match=said):
        recognise(grown, 2)


def test_a_large_file_that_is_shorter_for_a_while_is_refused_and_known_as_it_was(recognise, monkeypatch):
    monkeypatch.setattr(known_files, "HEAD_BYTES", 4)
    text = b"1,2\n3,4\n5,6\n7,1"
    recognise(text, 0)
    for shorter in (text[:-1], text[:-4], text[:-7]):
        with pytest.raises(
            InvalidArgument, match=f"has {len(shorter)} bytes, and had 15 at the start before"
        ):
            recognise(shorter, 4)
    recognise(text, 4)
    with pytest.raises(InvalidArgument, match="record 4 was read as '7,1', and is '7,100' now"):
        recognise(text + b"00\n", 4)
    recognise(text[:-2], 0)  # nothing of it is in


def test_packed_lines_may_end_anywhere(recognise):
    recognise(gzip.compress(b"1,2\n3,4", mtime=0), 0)
    recognise(gzip.compress(b"1,2\n3,45\n", mtime=0), 2)


def table_of(rows, *, first=0.0):
    return pa.table({"x": [first, *map(float, range(1, rows))], "label": [row % 2 for row in range(rows)]})


def recognised(store, path, offset):
    source = PointFile(path, Points(features=1))
    try:
        KnownFiles(store, "roads").recognise(source, offset)
    finally:
        source.close()


@pytest.mark.parametrize("name", ["points.parquet", "points.arrow", "points.parquet.gz"])
def test_a_small_table_that_is_written_anew_and_longer_is_the_same_one(tmp_path, name):
    def write(table, rows_a_group):
        plain = tmp_path / name.removesuffix(".gz")
        if "parquet" in name:
            pq.write_table(table, plain, row_group_size=rows_a_group)
        else:
            with pa.ipc.new_file(str(plain), table.schema) as file:
                file.write_table(table, max_chunksize=rows_a_group)
        if name.endswith(".gz"):
            (tmp_path / name).write_bytes(gzip.compress(plain.read_bytes()))

    store, path = MemoryStore(), tmp_path / name
    write(table_of(100), 100)
    recognised(store, path, 0)
    for rows, rows_a_group in ((160, 100), (160, 7), (100_000, 100_000)):
        write(table_of(rows), rows_a_group)
        recognised(store, path, 100)
    for table in (table_of(200_000, first=9.0), table_of(99)):
        write(table, 100)
        with pytest.raises(InvalidArgument, match=f"does not begin as the file {name} did"):
            recognised(store, path, 100)


def test_of_a_table_no_more_is_looked_at_than_what_it_begins_with(tmp_path):
    path = tmp_path / "points.arrow"
    days = pa.array([0] * 50_000 + [2**31 - 1], pa.int32()).cast(
        pa.date32()
    )  # the last is beyond what Python has
    table = pa.table({"x": pa.array([1.0] * len(days)), "day": days})
    with pa.ipc.new_file(str(path), table.schema) as file:
        file.write_table(table)
    source = PointFile(path, Points(features=1))
    assert len(source.beginning(1 << 16)) == 1 << 16
    assert source.beginning(1 << 24) == b""
    source.close()


def test_a_table_that_an_older_version_has_read_is_known_by_its_bytes_once_more(tmp_path):
    store, path = MemoryStore(), tmp_path / "points.parquet"
    pq.write_table(table_of(100), path)
    head = path.read_bytes()
    entry = json.dumps({"size_bytes": len(head), "digest": hashlib.sha256(head).hexdigest()}).encode()
    store.write("roads/files", 0, {hashlib.sha256(b"points.parquet").digest(): entry})
    recognised(store, path, 100)
    pq.write_table(table_of(160), path)
    recognised(store, path, 100)
    assert store.read("roads/files", hashlib.sha256(b"points.parquet").digest(), 0) != entry


def test_a_damaged_archive_is_left_to_its_reader(recognise):
    recognise(gzip.compress(b"1,2\n")[:12], 0)


def test_files_of_one_loop_are_told_apart_by_name(tmp_path):
    store = MemoryStore()
    for name, text in (("a.csv", "1,2\n"), ("b.csv", "3,4\n")):
        (tmp_path / name).write_text(text)
        source = FileSource(tmp_path / name)
        KnownFiles(store, "roads").recognise(source, 0)
        KnownFiles(store, "roads").recognise(source, 1)
        source.close()
    assert store.loops() == ["roads/files"]
    assert len(store.versions("roads/files")) == 1


def test_an_entry_that_is_none_is_a_corrupt_store(recognise):
    store = recognise(b"1,2\n", 0)
    [key] = store.keys("roads/files", 0)
    store.write("roads/files", 0, {key: b"[]"})
    with pytest.raises(StoreCorrupt, match="roads/files has an entry that is none"):
        recognise(b"1,2\n", 1)
