"""Bytes from files, pipes and broken gzips."""

import gzip
import io
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tornado.errors import InvalidArgument, RecordError, SourceBroken
from tornado.ingest.blocks import LiveReader, line_blocks


class Dribble:
    """Gives a few bytes at a time, then an error where one is wanted."""

    def __init__(self, data, size, error=None):
        self._file, self._size, self._error = io.BytesIO(data), size, error

    def read(self, size):
        piece = self._file.read(min(size, self._size))
        if not piece and self._error:
            raise self._error
        return piece


def until_broken(blocks, error=SourceBroken):
    read = []
    with pytest.raises(error) as caught:
        read.extend(blocks)
    return b"".join(read), caught.value


texts = st.lists(
    st.sampled_from([b"1 2\n", b"\n", b"#\n", b"12345 67890\n", b"x" * 30 + b"\n"]), max_size=30
).map(b"".join)


@given(texts, st.binary(max_size=3), st.integers(1, 40), st.integers(1, 64), st.booleans())
@settings(deadline=None)
def test_blocks_hold_whole_lines_and_together_are_the_text(text, tail, size, block_bytes, packed):
    text += tail
    data = gzip.compress(text) if packed else text
    if text[:2] in {b"\xff\xfe", b"\xfe\xff"} or (not packed and data[:2] == b"\x1f\x8b"):
        return
    blocks = list(line_blocks(Dribble(data, size), "a", max_line_bytes=100, block_bytes=block_bytes))
    assert b"".join(blocks) == text.removeprefix(b"\xef\xbb\xbf")
    assert all(block.endswith(b"\n") for block in blocks[:-1])


@given(st.integers(0, 200), st.integers(1, 60))
@settings(deadline=None)
def test_a_line_without_end_does_not_fill_the_memory(length, size):
    text = b"1 2\n" + b"y" * length + b"\n3 4\n"
    blocks = list(line_blocks(Dribble(text, size), "a", max_line_bytes=10, block_bytes=16))
    lines = b"".join(blocks).split(b"\n")
    assert lines[0] == b"1 2"
    assert lines[2] == b"3 4"
    assert lines[1] == b"y" * length or 12 <= len(lines[1]) < length
    assert max(map(len, blocks)) <= 12 + 60 + 16


@given(st.data())
@settings(deadline=None)
def test_a_gzip_cut_anywhere_gives_a_prefix_of_whole_lines_and_then_a_clear_error(data):
    text = b"".join(b"%d %d\n" % (index, index * 7919 % 1000) for index in range(500))
    packed = gzip.compress(text[:3000]) + gzip.compress(text[3000:])
    cut = data.draw(st.integers(0, len(packed) - 1))
    if cut == len(gzip.compress(text[:3000])):
        return
    blocks = line_blocks(Dribble(packed[:cut], 97), "edges.txt.gz", max_line_bytes=100, gzip_expected=True)
    read, error = until_broken(blocks)
    assert text.startswith(read)
    assert not read or read.endswith(b"\n")
    assert "edges.txt.gz" in str(error)
    assert "Get the whole file" in error.hint
    # Only what a stored snapshot has is in a loop that starts again.
    assert "goes on behind the records that its snapshot has" in error.hint


def test_everything_before_the_break_is_delivered():
    text = b"".join(b"%d 1\n" % index for index in range(100_000))
    packed = gzip.compress(text)
    read, error = until_broken(line_blocks(io.BytesIO(packed[:-8]), "a.gz", max_line_bytes=100))
    # Only the checksum is missing: all the text is there.
    assert read == text
    assert f"after {len(text)} bytes of text ({len(packed) - 8} bytes of the file)" in str(error)
    assert isinstance(error, RecordError)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_damaged_gzip_is_told_from_a_whole_one():
    text = b"".join(b"%d 1\n" % (index * 7919 % 100_003) for index in range(100_000))
    packed = bytearray(gzip.compress(text))
    packed[-5] ^= 1
    assert "is damaged" in str(until_broken(line_blocks(io.BytesIO(packed), "a", max_line_bytes=100))[1])
    packed = gzip.compress(text) + b"more"
    assert "is damaged" in str(until_broken(line_blocks(io.BytesIO(packed), "a", max_line_bytes=100))[1])


def test_zeros_behind_a_gzip_are_padding():
    packed = gzip.compress(b"1 2\n") + bytes(700) + gzip.compress(b"3 4\n") + bytes(512)
    for size in (1, 7, 4096):
        assert b"".join(line_blocks(Dribble(packed, size), "a", max_line_bytes=100)) == b"1 2\n3 4\n"


def test_a_disk_that_fails_is_a_broken_source():
    reader = Dribble(b"1 2\n3 4\n5", 3, OSError(5, "Input/output error"))
    read, error = until_broken(line_blocks(reader, "a", max_line_bytes=100, block_bytes=4))
    assert read == b"1 2\n3 4\n"
    assert "Input/output error" in str(error)


def test_an_empty_file_is_empty_and_an_empty_gzip_is_broken():
    assert list(line_blocks(io.BytesIO(b""), "a", max_line_bytes=100)) == []
    until_broken(line_blocks(io.BytesIO(b""), "a.gz", max_line_bytes=100, gzip_expected=True))
    assert list(line_blocks(io.BytesIO(gzip.compress(b"")), "a", max_line_bytes=100)) == []


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("size", [1, 3, 100])
@pytest.mark.parametrize(
    ("begun", "what"),
    [
        (b"PAR1\x15\x04", "a Parquet file"),
        (b"ARROW1\0\0\xff", "an Arrow file"),
        (b"\xff\xff\xff\xff\x78\0\0\0", "an Arrow stream"),
        ("src,dst\n1,2\n".encode("utf-16"), "text in UTF-16 or UTF-32"),
        (b"\xfe\xff" + "1,2\n".encode("utf-16-be"), "text in UTF-16 or UTF-32"),
        ("1,2\n".encode("utf-32"), "text in UTF-16 or UTF-32"),
        (b"\0\0\xfe\xff" + "1,2\n".encode("utf-32-be"), "text in UTF-16 or UTF-32"),
    ],
)
def test_what_has_no_lines_of_text_is_refused(begun, what, size, packed):
    data = gzip.compress(begun) if packed else begun
    read, error = until_broken(line_blocks(Dribble(data, size), "a.csv", max_line_bytes=100), InvalidArgument)
    assert (read, f"a.csv is read by lines of UTF-8, but begins as {what} does" in str(error)) == (b"", True)


@pytest.mark.parametrize(
    "begun", [b"PAR1,2\n", b"P", b"ARROW1,3\n", b"PAR1", b"\xff", b"\xef\xbb", b"\xc3\xbf,2\n"]
)
def test_names_that_begin_like_a_table_are_lines(begun):
    assert b"".join(line_blocks(Dribble(begun, 1), "a", max_line_bytes=100)) == begun


def test_what_is_no_text_is_known_from_real_tables(tmp_path):
    table = pa.table({"src": [1], "dst": [2]})
    pq.write_table(table, tmp_path / "a.parquet")
    with (
        pa.ipc.new_file(str(tmp_path / "a.arrow"), table.schema) as file,
        pa.ipc.new_stream(str(tmp_path / "a.arrows"), table.schema) as stream,
    ):
        file.write_table(table)
        stream.write_table(table)
    for path in tmp_path.iterdir():
        with path.open("rb") as opened:
            read, error = until_broken(line_blocks(opened, path.name, max_line_bytes=100), InvalidArgument)
        assert (read, "begins as a" in str(error)) == (b"", True)


def test_a_pipe_gives_what_is_there_and_ends_when_told():
    inward, outward = os.pipe()
    closed = threading.Event()
    try:
        reader = LiveReader(inward, closed.is_set, poll_s=0.01)
        os.write(outward, b"1 2\n")
        assert reader.read(100) == b"1 2\n"
        threading.Timer(0.05, closed.set).start()
        assert reader.read(100) == b""
    finally:
        os.close(inward)
        os.close(outward)


@pytest.mark.parametrize("byte", [b"\0", b"\n", b"1 2\n"], ids=["zeros", "line-ends", "short-lines"])
def test_a_gzip_that_is_small_and_stands_for_much_is_read_in_bounded_pieces(tmp_path, byte):
    path = tmp_path / "edges.csv.gz"
    path.write_bytes(gzip.compress(byte * ((64 << 20) // len(byte))) * 2)
    script = """
import os, sys
from tests.bombs import little_memory
from tornado.ingest.source import FileSource
# Compiled before it is measured.
open(sys.argv[1] + ".small", "w").write("1,2\\n")
assert sum(one.records for one in FileSource(sys.argv[1] + ".small").batches()) == 1
with little_memory(os.getpid(), most_bytes=int(sys.argv[2])):
    records = sum(one.records for one in FileSource(sys.argv[1]).batches())
print(records)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(path), str(400 << 20)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        cwd=Path(__file__).resolve().parents[2],
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == {b"\0": 1, b"\n": 0, b"1 2\n": 2 * (16 << 20)}[byte]
