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


def test_a_file_that_is_full_is_put_aside_and_both_together_are_bounded(tmp_path, caplog):
    path = tmp_path / "quarantine.jsonl"
    older = tmp_path / "quarantine.jsonl.1"
    limit_bytes = 10_000
    with Quarantine(path, limit_bytes=limit_bytes) as quarantine:
        for number in range(1000):
            quarantine.write("a", [Rejection(number, "x" * 100, "y")])
            assert path.stat().st_size <= limit_bytes
        statistics = quarantine.statistics()
    assert older.stat().st_size <= limit_bytes
    kept = [line["position"] for line in lines(older) + lines(path)]
    # The newest ones, none missing in between; those that are gone are counted.
    assert kept == list(range(1000 - len(kept), 1000))
    assert (statistics.total, statistics.let_go) == (1000, 1000 - len(kept))
    # Once that it was put aside, once that records are gone.
    assert len(caplog.records) == 2
    assert str(older) in caplog.messages[0]
    assert "are gone" in caplog.messages[1]


def test_a_batch_larger_than_the_file_may_be_is_written_in_pieces(tmp_path):
    path = tmp_path / "quarantine.jsonl"
    limit_bytes = 3 << 20
    with Quarantine(path, limit_bytes=limit_bytes) as quarantine:
        quarantine.write("a", [Rejection(number, "x" * 1000, "y") for number in range(10_000)])
        let_go = quarantine.statistics().let_go
    kept = [line["position"] for line in lines(tmp_path / "quarantine.jsonl.1") + lines(path)]
    assert kept == list(range(let_go, 10_000))
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) <= 2 * limit_bytes


def test_what_another_run_left_counts_towards_the_limit(tmp_path):
    path = tmp_path / "quarantine.jsonl"
    for number in range(3):
        with Quarantine(path, limit_bytes=250) as quarantine:
            quarantine.write("a", [Rejection(number, "x" * 100, "y")])
    assert [line["position"] for line in lines(path)] == [1, 2] or [
        line["position"] for line in lines(path)
    ] == [2]
    assert (tmp_path / "quarantine.jsonl.1").exists()


def test_a_reason_is_cut_as_a_record_is():
    assert Rejection.of(1, "", "r" * 5000).reason == "r" * 1000 + "…"


def test_a_pipe_is_never_put_aside(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with Quarantine(path, limit_bytes=10) as quarantine:
            quarantine.write("a", [Rejection(1, "x", "y")])
            quarantine.write("a", [Rejection(2, "x", "y")])
        assert len(os.read(reader, 1 << 16).splitlines()) == 2
    finally:
        os.close(reader)
    assert [file.name for file in tmp_path.iterdir()] == ["pipe"]
