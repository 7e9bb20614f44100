"""What Spark's tasks speak to a service with, tried without Spark."""

import importlib.util
import socket
import threading
import time
from types import SimpleNamespace

import pyarrow as pa
import pytest

import tornado
from apps.bfs import BreadthFirstSearch
from apps.pagerank import PageRank
from tests.query import fake_loops
from tests.query.conftest import start_roads
from tornado import register_spark
from tornado.errors import ConnectionLost, InvalidArgument, NotSupported, PeerError, UnknownField
from tornado.ingest.spark.options import SourceOptions
from tornado.ingest.spark.remote_loop import RemoteLoop
from tornado.intake.push import Pusher
from tornado.query.http import HttpServer
from tornado.query.service import QueryService
from tornado.query.token_file import TokenFile

has_pyspark = importlib.util.find_spec("pyspark") is not None
needs_pyspark = pytest.mark.skipif(not has_pyspark, reason="pyspark is not installed")

TABLE = pa.table({"src": [1, 8], "dst": [8, 9], "weight": [1.0, 2.0]})


@pytest.fixture
def fake():
    master = fake_loops.Master()
    yield master
    master.close()


@pytest.fixture
def server(fake):
    start_roads(fake)
    service = QueryService(fake, pusher=Pusher(timeout_s=0.05))
    with HttpServer(service, port=0) as running:
        yield running
    service.close()


def test_a_batch_is_staged_committed_and_read_back(server):
    with RemoteLoop(server.url + "/", "roads") as loop:
        assert loop.describe()["ids"] == "int"
        loop.stage("spark:q", 0, "0.a", 0, TABLE)
        assert loop.commit("spark:q", 0, [("0.a", 1)])["accepted"] == 2
        assert loop.commit("spark:q", 0, [("0.a", 1)])["repeated"]
        loop.drop("spark:q", 0)
        exact = loop.values(mode="exact", vertices=None, deadline_s=30)
        rows = {row["vertex"]: row["value"] for row in exact.to_pylist()}
        assert (rows[9], rows[6]) == (3.0, None)
        some = loop.values(mode="approximate", vertices=[9], deadline_s=30)
        assert some.to_pylist() == [{"vertex": 9, "value": 3.0}]
    assert server.service.queries() == []


def test_a_refusal_is_the_error_of_the_service(server):
    with RemoteLoop(server.url, "lanes") as loop, pytest.raises(InvalidArgument, match="lanes"):
        loop.describe()
    with RemoteLoop(server.url, "roads") as loop, pytest.raises(InvalidArgument, match="next one is 0"):
        loop.stage("spark:q", 4, "0.a", 0, TABLE)
    with (
        RemoteLoop(server.url, "roads") as loop,
        pytest.raises(InvalidArgument, match=r"lacks 1 of its 1 chunks.* Send the batch again"),
    ):
        loop.commit("spark:q", 0, [("0.a", 1)])


def test_a_branch_that_does_not_converge_has_no_values(server, fake):
    fake.delay_s = 30
    with (
        RemoteLoop(server.url, "roads") as loop,
        pytest.raises(PeerError, match=r"ended as deadline.*option deadline_s"),
    ):
        loop.values(mode="exact", vertices=None, deadline_s=0.05)


def test_a_certified_answer_is_read_where_values_have_a_bound():
    with tornado.open("memory:", workers=1) as session:
        ranks = session.start(PageRank(accuracy=0.5), name="ranks")
        ranks.insert([1, 2, 3, 3], [2, 3, 1, 4])
        hops = session.start(BreadthFirstSearch(source=1), name="hops", stream="ranks")
        assert hops.wait_idle(30) and ranks.wait_idle(30)
        expected = ranks.query(mode="certified").values
        with HttpServer(session.service, port=0) as running:
            options = SourceOptions.of({"loop": "ranks", "mode": "certified", "url": running.url})
            with RemoteLoop(options.url, options.loop) as loop:
                found = loop.values(mode=options.mode, vertices=None, deadline_s=30).to_pylist()
            assert {row["vertex"]: row["value"] for row in found} == expected
            with (
                RemoteLoop(running.url, "hops") as loop,
                pytest.raises(InvalidArgument, match="a selective program, whose values have no bound"),
            ):
                loop.values(mode=options.mode, vertices=None, deadline_s=30)


def test_a_loop_that_lags_is_waited_for_and_not_for_ever(server, fake):
    fake.lagging = True
    with RemoteLoop(server.url, "roads", timeout_s=0.5) as loop:
        loop.stage("spark:q", 0, "0.a", 0, TABLE)
        with pytest.raises(PeerError):
            loop.commit("spark:q", 0, [("0.a", 1)])
    timer = threading.Timer(0.2, setattr, [fake, "lagging", False])
    timer.start()
    with RemoteLoop(server.url, "roads", timeout_s=30) as loop:
        assert loop.commit("spark:q", 0, [("0.a", 1)])["accepted"] == 2
    timer.join()


def test_a_service_that_is_not_there_is_tried_for_the_time_that_was_given():
    begun_s = time.monotonic()
    with (
        RemoteLoop("http://127.0.0.1:9", "roads", timeout_s=0.6) as loop,
        pytest.raises(ConnectionLost, match=r"nothing answers at http://127.0.0.1:9, tried for 0.6 s"),
    ):
        loop.describe()
    assert 0.2 <= time.monotonic() - begun_s < 30  # and not the minute that is usual


@needs_pyspark
def test_to_abort_a_batch_does_not_wait_for_a_service_that_hangs():
    from tornado.ingest.spark import writer

    with socket.create_server(("127.0.0.1", 0)) as silent:
        options = SourceOptions.of({"loop": "roads", "url": f"http://127.0.0.1:{silent.getsockname()[1]}"})
        begun_s = time.monotonic()
        writer.abort(options, 0, [None, writer.SentPart("spark:q", 0, "0.a", 1, 2)])
        assert time.monotonic() - begun_s < 10


@needs_pyspark
def test_long_records_are_sent_in_chunks_that_a_service_takes(monkeypatch):
    from tornado.ingest.spark import writer

    monkeypatch.setattr(writer, "CHUNK_BYTES", 10_000)
    names = [f"{number:0500}" for number in range(100)]
    batch = pa.record_batch({"src": names, "dst": names})
    chunks = list(writer._chunks(iter([batch.slice(0, 0), batch, batch.slice(0, 1)])))
    assert max(chunk.nbytes for chunk in chunks) < 2 * writer.CHUNK_BYTES
    assert pa.concat_tables(chunks) == pa.Table.from_batches([batch, batch.slice(0, 1)])


@pytest.mark.parametrize("url", ["127.0.0.1:8080", "ftp://host", "http://"])
def test_what_is_no_address_is_refused(url):
    with pytest.raises(InvalidArgument, match="is not the address of a service"):
        RemoteLoop(url, "roads")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, InvalidArgument, r'Name it: \.option\("loop", "sssp"\)'),
        ({"loop": "a", "modes": "exact"}, UnknownField, "no option 'modes'; valid are: url, token, loop"),
        ({"loop": "a", "mode": "best"}, InvalidArgument, "must be one of: exact, approximate, certified"),
        ({"loop": "a", "timeout_s": "nan"}, InvalidArgument, "timeout_s is 'nan' but must be a number"),
        ({"loop": "a", "deadline_s": "0"}, InvalidArgument, "seconds above 0"),
        ({"loop": "a", "write_id": "a/b"}, InvalidArgument, "letters, digits"),
        ({"loop": "a", "order": "time,"}, InvalidArgument, "order is 'time,' but must be names of columns"),
        ({"loop": "a", "order": "time,time"}, InvalidArgument, "order is 'time,time'.*each once"),
    ],
)
def test_options_are_checked_where_a_query_is_built(options, error, message):
    with pytest.raises(error, match=message):
        SourceOptions.of(options)


@pytest.mark.skipif(has_pyspark, reason="pyspark is installed")
def test_without_pyspark_the_doorway_says_what_to_install():
    with pytest.raises(NotSupported, match=r"pip install 'tornado-loops\[spark\]'"):
        register_spark(SimpleNamespace())


def test_a_service_with_tokens_is_shown_one_that_may(fake):
    start_roads(fake)
    service = QueryService(fake, pusher=Pusher(timeout_s=0.05))
    with HttpServer(service, port=0, tokens=TokenFile.of("write wr1te roads\nread r3ad roads")) as running:
        for token in (None, "wr0ng"):
            with (
                RemoteLoop(running.url, "roads", token=token) as loop,
                pytest.raises(InvalidArgument, match="token"),
            ):
                loop.describe()
        with RemoteLoop(running.url, "roads", token="r3ad") as loop:
            assert len(loop.values(mode="exact", vertices=[3], deadline_s=30)) == 1
            with pytest.raises(InvalidArgument, match="only reads"):
                loop.stage("spark:q", 0, "0.a", 0, TABLE)
        with RemoteLoop(running.url, "roads", token="wr1te") as loop:
            loop.stage("spark:q", 0, "0.a", 0, TABLE)
            assert loop.commit("spark:q", 0, [("0.a", 1)])["accepted"] == 2
    assert service.queries() == []
    service.close()


def test_a_token_comes_from_the_options_or_the_environment_and_is_in_no_text(monkeypatch):
    monkeypatch.delenv("TORNADO_TOKEN", raising=False)
    assert SourceOptions.of({"loop": "roads"}).token is None
    monkeypatch.setenv("TORNADO_TOKEN", "fr0m-there")
    assert SourceOptions.of({"loop": "roads"}).token == "fr0m-there"
    options = SourceOptions.of({"loop": "roads", "Token": "g1ven"})
    assert options.token == "g1ven"
    assert "g1ven" not in repr(options)
    with pytest.raises(InvalidArgument, match="no header") as refused:
        SourceOptions.of({"loop": "roads", "token": "two words"})
    assert "two words" not in str(refused.value)
