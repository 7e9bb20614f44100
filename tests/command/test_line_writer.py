"""Who has a line to say does not wait for whoever reads it; lines keep their order, and none is lost in silence."""

import logging
import threading

import pytest

from tests.query.conftest import eventually
from tornado.command import log_lines as log_lines_module
from tornado.command.line_writer import LineWriter
from tornado.command.log_lines import log_lines
from tornado.query.http_audit import AUDIT_LOGGER


class Reader:
    """Takes lines once it is allowed to."""

    def __init__(self):
        self.lines, self.reads = [], threading.Event()

    def write(self, line):
        assert self.reads.wait(60)
        self.lines.append(line)


def left_out(count):
    return f"{count} left out"


def test_nobody_waits_for_a_reader_and_all_is_there_in_order_in_the_end():
    reader = Reader()
    writer = LineWriter(reader.write, say_left_out=left_out)
    takers = [
        threading.Thread(target=lambda who=who: [writer.take(f"{who} {line}") for line in range(500)])
        for who in range(4)
    ]
    for taker in takers:
        taker.start()
    for taker in takers:
        taker.join(30)
        assert not taker.is_alive()
    assert writer.counts.written == 0
    reader.reads.set()
    assert writer.close()
    assert len(reader.lines) == 2_000
    for who in range(4):
        mine = [line for line in reader.lines if line.startswith(f"{who} ")]
        assert mine == [f"{who} {line}" for line in range(500)]


def test_what_there_is_no_room_for_is_counted_in_its_place():
    reader = Reader()
    writer = LineWriter(reader.write, say_left_out=left_out, longest=3)
    assert [writer.take(str(line)) for line in range(8)] == [True] * 3 + [False] * 5
    reader.reads.set()
    eventually(lambda: writer.counts.written == 3)
    assert writer.take("8")
    assert writer.close()
    assert reader.lines == ["0", "1", "2", "5 left out", "8"]
    assert writer.counts.left_out == 5


def test_what_was_left_out_last_is_said_at_the_end():
    reader = Reader()
    writer = LineWriter(reader.write, say_left_out=left_out, longest=1)
    assert (writer.take("0"), writer.take("1")) == (True, False)
    reader.reads.set()
    assert writer.close()
    assert reader.lines == ["0", "1 left out"]


@pytest.mark.parametrize(
    "fault", [BrokenPipeError("nobody reads"), ValueError("I/O operation on closed file")]
)
def test_a_line_that_cannot_be_written_costs_only_itself(fault):
    lines = []

    def write(line):
        if line == "bad":
            raise fault
        lines.append(line)

    writer = LineWriter(write, say_left_out=left_out)
    for line in ("one", "bad", "two"):
        writer.take(line)
    assert writer.close()
    assert lines == ["one", "two"]


def test_an_end_does_not_wait_for_ever_for_somebody_who_never_reads():
    reader = Reader()
    writer = LineWriter(reader.write, say_left_out=left_out)
    writer.take("one")
    assert not writer.close(patience_s=0.05)
    reader.reads.set()


def test_what_is_logged_does_not_wait_for_standard_error_and_is_whole_behind_its_end(monkeypatch):
    reader = Reader()
    monkeypatch.setattr(log_lines_module, "_write", reader.write)
    with log_lines(as_json=False, with_requests=False):
        # On this thread, as the event loop would: were a line written here, the first would be waited for without end.
        for number in range(100):
            logging.getLogger("tornado").warning("line %d", number)
        assert reader.lines == []
        reader.reads.set()
    assert reader.lines == [f"warning: line {number}" for number in range(100)]


def test_a_line_of_the_audit_is_written_when_it_is_logged(monkeypatch):
    lines = []
    monkeypatch.setattr(log_lines_module, "_write", lines.append)
    with log_lines(as_json=False, with_requests=False):
        logging.getLogger(AUDIT_LOGGER).info("a change")
        assert lines == ["audit: a change"]
