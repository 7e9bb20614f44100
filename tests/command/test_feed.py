"""Sources one after another, those that live among them."""

import os

import pytest

from tests.query.fake_loops import Fastest, Master
from tornado.command.feed import Feed
from tornado.errors import RecordError
from tornado.ingest.quarantine import Quarantine
from tornado.ingest.source import FileSource, StandardInputSource


@pytest.fixture
def loop():
    return Master().start(Fastest(1), "roads")


@pytest.fixture
def files(tmp_path):
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("1,2\n2,3\n")
    return [FileSource(tmp_path / name) for name in ("a.csv", "b.csv")]


def run(feed, loop):
    """Read to the end; return what is in then."""
    while True:
        if not feed.step():
            return loop.offsets()
        feed.wait(20)


def test_files_are_read_one_after_another(loop, files):
    feed = Feed(loop, files, Quarantine(None), check=loop.program.check)
    assert run(feed, loop) == {"a.csv": 2, "b.csv": 2}
    assert (feed.records(), feed.sources_done()) == (4, 1.0)


def test_what_is_live_is_read_where_it_was_named(loop, files):
    inward, outward = os.pipe()
    try:
        os.write(outward, b"3,4\n")
        os.close(outward)
        sources = [files[0], StandardInputSource(inward), files[1]]
        feed = Feed(loop, sources, Quarantine(None), check=loop.program.check)
        assert run(feed, loop) == {"a.csv": 2, "stdin": 1, "b.csv": 2}
    finally:
        os.close(inward)


def test_without_sources_there_is_nothing_to_wait_for(loop):
    assert run(Feed(loop, [], Quarantine(None), check=loop.program.check), loop) == {}


def test_a_file_that_breaks_is_raised_once_and_the_next_one_is_read(loop, files, tmp_path):
    (tmp_path / "cut.csv.gz").write_bytes(b"\x1f\x8b\x08\x00 this is no gzip")
    sources = [FileSource(tmp_path / "cut.csv.gz"), files[0]]
    feed = Feed(loop, sources, Quarantine(None), check=loop.program.check)
    with pytest.raises(RecordError, match="cut"):
        run(feed, loop)
    assert run(feed, loop) == {"a.csv": 2}
    files[1].close()
