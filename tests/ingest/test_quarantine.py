"""The quarantine file holds whole lines, whatever happens."""

import errno
import json
import os
import threading

import pytest

from tornado.errors import InvalidArgument, StoreFull, StoreLocked
from tornado.ingest.parsed import Rejection
from tornado.ingest.quarantine import Quarantine


def lines(path):
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def test_a_line_has_the_documented_fields_and_is_there_at_once(tmp_path):
    path = tmp_path / "deep" / "quarantine.jsonl"
    quarantine = Quarantine(path)
    quarantine.write("edges.csv", [Rejection.of(17, b"1,\xff\n\xc3\xa9", "dst is not an integer")])
    expected = {
        "source": "edges.csv",
        "position": 17,
        "record": "1,\\xff\né",
        "reason": "dst is not an integer",
    }
    assert lines(path) == [expected]
    quarantine.write("http", [Rejection.of(1, "\ud800\u2028", "no")])
    assert lines(path)[1]["record"] == "\ud800\u2028"
    assert quarantine.counts() == {"edges.csv": 1, "http": 1}
    assert quarantine.statistics().total == 2
    quarantine.close()
    quarantine.close()
    with pytest.raises(InvalidArgument, match="is closed"):
        quarantine.write("http", [Rejection(1, "", "")])


def test_a_long_record_is_cut():
    assert Rejection.of(1, "é" * 1000, "").record == "é" * 1000
    assert Rejection.of(1, ("é" * 1001).encode(), "").record == "é" * 1000 + "…"
    assert len(Rejection.of(1, b"\xff" * 9999, "").record) == 1001


def test_another_run_appends_and_does_not_continue_half_a_line(tmp_path):
    path = tmp_path / "quarantine.jsonl"
    path.write_bytes(b'{"source": "a"}\n{"sour')
    with Quarantine(path) as quarantine:
        quarantine.write("b", [Rejection(1, "x", "y")])
        assert quarantine.count("b") == 1
        assert quarantine.count("a") == 0
    written = path.read_bytes().splitlines()
    assert written[1] == b'{"sour'
    assert json.loads(written[2])["source"] == "b"


def test_threads_do_not_mix_their_lines(tmp_path):
    path = tmp_path / "quarantine.jsonl"
    with Quarantine(path) as quarantine:

        def write(name):
            for at in range(50):
                quarantine.write(name, [Rejection(at, "x" * 500, "r"), Rejection(at, "y", "r")])

        threads = [threading.Thread(target=write, args=(f"source {index}",)) for index in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert quarantine.counts() == {f"source {index}": 100 for index in range(4)}
    assert len(lines(path)) == 400


def test_a_full_disk_takes_back_the_half_written_batch(tmp_path, monkeypatch):
    path = tmp_path / "quarantine.jsonl"
    with Quarantine(path) as quarantine:
        quarantine.write("a", [Rejection(1, "x", "y")])
        before = path.read_bytes()
        write = os.write

        def half_a_disk(descriptor, data):
            if len(data) < 50:
                raise OSError(errno.ENOSPC, "No space left on device")
            return write(descriptor, data[:50])

        monkeypatch.setattr("tornado.ingest.quarantine.os.write", half_a_disk)
        with pytest.raises(StoreFull, match="no room for"):
            quarantine.write("a", [Rejection(2, "x", "y")])
        assert path.read_bytes() == before
        assert quarantine.count("a") == 1


def test_a_file_that_cannot_be_opened_is_named(tmp_path):
    with pytest.raises(StoreLocked, match=str(tmp_path)):
        Quarantine(tmp_path)
