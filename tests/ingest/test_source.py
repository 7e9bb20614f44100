"""Sources: names, offsets, and reading on."""

import gzip
import os

import pytest

from tornado.errors import InvalidArgument, SourceBroken
from tornado.ingest.layout import TextFormat
from tornado.ingest.source import FileSource, StandardInputSource, open_sources, source_names

TEXT = b"# a comment\nsrc,dst,weight\n1,2,1\n\n2,x,1\n% another\n3,4,2\n4,5,nan\n5,6,3\n"


def everything(source):
    edges, rejected, records = [], [], 0
    for parsed in source.batches():
        edges += zip(parsed.batch.src.tolist(), parsed.batch.dst.tolist(), strict=True)
        rejected += [one.position for one in parsed.rejected]
        records += parsed.records
    return edges, rejected, records


@pytest.mark.parametrize("name", ["edges.csv", "edges.csv.gz"])
@pytest.mark.parametrize("max_records", [1, 2, 100])
def test_seeking_gives_exactly_the_records_behind_the_offset(tmp_path, name, max_records):
    path = tmp_path / name
    path.write_bytes(gzip.compress(TEXT) if name.endswith("gz") else TEXT)
    records = [((1, 2), None), (None, 5), ((3, 4), None), (None, 8), ((5, 6), None)]
    for offset in range(6):
        source = FileSource(path, max_records=max_records, block_bytes=10)
        assert source.name == name
        source.seek(offset)
        rest = records[offset:]
        expected = [edge for edge, _ in rest if edge], [line for _, line in rest if line], len(rest)
        assert everything(source) == expected
        source.close()


def test_an_offset_behind_the_end_says_that_the_file_changed(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_bytes(TEXT)
    source = FileSource(path)
    source.seek(6)
    with pytest.raises(SourceBroken, match="has only 5 records, but 6 of them are in already"):
        everything(source)


@pytest.mark.parametrize("name", ["edges.csv", "edges.csv.gz"])
def test_a_file_is_read_to_where_it_ended_when_it_was_opened(tmp_path, name):
    path, pack = tmp_path / name, gzip.compress if name.endswith("gz") else bytes
    path.write_bytes(pack(b"1,2\n3,4"))
    source = FileSource(path)
    with path.open("ab") as file:
        file.write(pack(b"5\n6,7\n"))
    assert everything(source) == ([(1, 2), (3, 4)], [], 2)
    assert everything(FileSource(path)) == ([(1, 2), (3, 45), (6, 7)], [], 3)


def test_a_file_that_says_that_it_has_no_bytes_is_read_to_its_end():
    with open("/proc/self/status", "rb") as there:  # noqa: PTH123
        lines = len(there.readlines())
    assert everything(FileSource("/proc/self/status"))[2] in range(lines - 3, lines + 3)


def test_names_tell_paths_apart():
    assert source_names(["a/edges.csv", "b.csv"]) == ["edges.csv", "b.csv"]
    assert source_names(["a/edges.csv", "b/edges.csv"]) == ["a/edges.csv", "b/edges.csv"]
    assert source_names(["x/a/edges.csv", "x/b/edges.csv", "y/b/edges.csv"]) == [
        "a/edges.csv",
        "x/b/edges.csv",
        "y/b/edges.csv",
    ]
    assert source_names(["edges.csv", "./edges.csv"]) == ["edges.csv", "edges.csv#2"]
    assert source_names(["-", "a/stdin"]) == ["stdin", "a/stdin"]


def test_files_that_cannot_be_read_are_named_and_the_others_closed(tmp_path):
    (tmp_path / "good.csv").write_bytes(TEXT)
    with pytest.raises(InvalidArgument, match=r"missing\.csv cannot be read: No such file"):
        open_sources([tmp_path / "good.csv", tmp_path / "missing.csv"])
    with pytest.raises(InvalidArgument, match="Is a directory"):
        FileSource(tmp_path)
    with pytest.raises(InvalidArgument, match="named twice"):
        open_sources(["-", "-"])
    good, standard_input = open_sources([tmp_path / "good.csv", "-"])
    assert (good.name, standard_input.name) == ("good.csv", "stdin")
    good.close()


def test_seek_is_refused_where_it_cannot_be_kept(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_bytes(TEXT)
    source = FileSource(path)
    with pytest.raises(InvalidArgument, match="must be 0 or more"):
        source.seek(-1)
    everything(source)
    with pytest.raises(InvalidArgument, match="was begun already"):
        source.seek(1)
    with pytest.raises(InvalidArgument, match="read or closed already"):
        everything(source)
    standard_input = StandardInputSource(0)
    standard_input.seek(0)
    with pytest.raises(InvalidArgument, match="cannot be read again from offset 3"):
        standard_input.seek(3)


def test_lines_of_a_pipe_are_delivered_as_they_come():
    inward, outward = os.pipe()
    try:
        source = StandardInputSource(inward, text_format=TextFormat(undirected=True))
        batches = source.batches()
        os.write(outward, b"1 2\n3 4\n5")
        first = next(batches)
        assert (first.batch.src.tolist(), first.records) == ([1, 2, 3, 4], 2)
        os.write(outward, b" 5\n6")
        second = next(batches)
        assert (second.batch.src.tolist(), second.records, second.last_position) == ([5], 1, 3)
        os.write(outward, b" 7")
        os.close(outward)
        outward = None
        assert [parsed.batch.dst.tolist() for parsed in batches] == [[7, 6]]
    finally:
        os.close(inward)
        if outward is not None:
            os.close(outward)


def test_closing_ends_a_source_that_waits_for_input():
    inward, outward = os.pipe()
    try:
        source = StandardInputSource(inward)
        batches = source.batches()
        os.write(outward, b"1 2\n")
        next(batches)
        source.close()
        assert list(batches) == []
    finally:
        os.close(inward)
        os.close(outward)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("src", "'dst' must be among them"),
        ("src,dst,src", "'src' twice"),
        ("src,dst,wieght", "'wieght'"),
        ("", "with ''"),
    ],
)
def test_columns_that_make_no_sense_are_refused(columns, message):
    with pytest.raises(InvalidArgument, match=message):
        TextFormat.parse_columns(columns)
    assert TextFormat.parse_columns(" dst, SRC,-,-,op") == ("dst", "src", "-", "-", "op")


@pytest.mark.parametrize("separator", [",", "\t", ";", " "])
@pytest.mark.parametrize(
    ("header", "most"),
    [(None, 3), ("src dst", 2), ("from to note time", 4), ("one two three four five", 3)],
)
def test_a_line_with_more_columns_than_are_known_is_rejected_with_its_number(
    tmp_path, separator, header, most
):
    def line(*fields):
        return separator.join(fields) + "\n"

    text = line(*header.split()) if header else ""
    good = ["1", "2", "3", "4", "5"][:most]
    bad = line(*good, "+")
    text += line(*good) + bad + line(*good) + line(*good, "", " ") + line(*good[:2]) + line(*good, "", "x")
    (tmp_path / "edges.txt").write_text(text)
    [parsed] = FileSource(tmp_path / "edges.txt").batches()
    first = 2 if header else 1
    assert parsed.positions.tolist() == [first, first + 2, first + 3, first + 4]
    assert [(one.position, one.reason) for one in parsed.rejected] == [
        (number, f"more than {most} columns: name the ones to use (--columns)")
        for number in (first + 1, first + 5)
    ]
    assert parsed.rejected[0].record == bad.removesuffix("\n")


def test_columns_that_are_named_say_which_to_use_and_the_rest_of_a_line_is_free(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_bytes(b'1,2,8,+\n2,3,9,-,more\n3,4,7,"never closed\n')
    [parsed] = FileSource(path, text_format=TextFormat(columns=("src", "dst"))).batches()
    assert (parsed.batch.dst.tolist(), parsed.batch.weight.tolist(), parsed.rejected) == (
        [2, 3, 4],
        [1.0, 1.0, 1.0],
        (),
    )


def test_other_signs_can_be_chosen(tmp_path):
    path = tmp_path / "edges.txt"
    path.write_bytes(b"1 2 a\n1 2 D\n1 2 +\n")
    wanted = TextFormat(columns=("src", "dst", "op"), operations={"a": 1, "d": -1})
    [parsed] = FileSource(path, text_format=wanted).batches()
    assert parsed.batch.op.tolist() == [1, -1]
    assert parsed.rejected[0].reason == "op is unknown: '+'"
    with pytest.raises(InvalidArgument, match="'Add'"):
        TextFormat(operations={"Add": 1})
