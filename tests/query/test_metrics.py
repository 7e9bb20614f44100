"""Metrics: how many time series there can be, and for how long."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

import tornado
from apps.bfs import BreadthFirstSearch
from apps.sssp import ShortestPaths
from tests.query.conftest import eventually, start_roads
from tornado.ingest.ingester import IngesterState, IngesterStatistics
from tornado.ingest.parsed import Rejection
from tornado.ingest.quarantine import Quarantine
from tornado.intake.push import Pusher
from tornado.query.metrics import LABELLED_SOURCES, OTHER_SOURCES, Metrics
from tornado.query.request import QueryRequest


def source(name, *, records=1, lag=0, error=None):
    return IngesterStatistics(
        source=name,
        state=IngesterState.RUNNING,
        records=records,
        accepted=records,
        rejected=0,
        edges=records,
        offset=records,
        rows_per_s=0.0,
        read_ahead_batches=0,
        last_error=error,
        lag_records=lag,
    )


@pytest.fixture
def scraped(fake, open_service):
    """Return samples by name and labels, and a list to put sources into."""
    roads = start_roads(fake)
    service = open_service(fake)
    sources, rejected = [], {}
    service.served(roads).watch_sources(lambda: sources)
    metrics = Metrics(service, lambda: rejected, within_s=60.0)

    def scrape():
        return {
            (sample.name, *sample.labels.values()): sample.value
            for family in text_string_to_metric_families(metrics.text().decode())
            for sample in family.samples
        }

    scrape.sources, scrape.rejected = sources, rejected
    return scrape


def test_what_was_wrong_with_a_source_is_a_number_and_no_label(scraped):
    scraped.sources[:] = [
        source("topic:0", error="2026-01-01T00:00:00+00:00 the client ended"),
        source("topic:1"),
    ]
    samples = scraped()
    assert samples["tornado_source_last_error", "topic:0", "roads"] == 1
    assert samples["tornado_source_last_error", "topic:1", "roads"] == 0
    before = set(samples)
    scraped.sources[0] = source("topic:0", error="2026-01-01T00:00:09+00:00 the client ended again")
    assert set(scraped()) == before


def test_names_of_clients_make_only_so_many_time_series_and_nothing_is_left_out(scraped):
    names = [f"name {number}" for number in range(10 * LABELLED_SOURCES)]
    scraped.sources[:] = [source(name, records=2) for name in names]
    scraped.rejected.update(dict.fromkeys(names, 3))
    samples = scraped()
    records = {key[1]: value for key, value in samples.items() if key[0] == "tornado_source_records_total"}
    assert len(records) == LABELLED_SOURCES + 1
    assert records[names[0]] == 2
    # `edges.csv` has one of the labels: its offset is known, though nothing came of it in this run.
    assert sum(records.values()) == 2 * len(names)
    rejected = {key[1]: value for key, value in samples.items() if key[0] == "tornado_rejected_records_total"}
    assert len(rejected) == LABELLED_SOURCES + 1
    assert sum(rejected.values()) == 3 * len(names)
    # A source keeps its label, or counters would seem to fall.
    scraped.sources[:0] = [source("a new one", records=5)]
    later = scraped()
    assert later["tornado_source_records_total", OTHER_SOURCES, "roads"] == records[OTHER_SOURCES] + 5
    assert {key[:3] for key in later} == {key[:3] for key in samples}


def test_what_the_quarantine_let_go_of_is_counted(fake, open_service, serve, tmp_path):
    start_roads(fake)
    with Quarantine(tmp_path / "rejected.jsonl", limit_bytes=250) as quarantine:
        client = serve(open_service(fake, pusher=Pusher(quarantine=quarantine)))
        for number in range(9):
            quarantine.write("http", [Rejection(number, "x" * 100, "bad")])
        gone = quarantine.statistics().let_go
        assert gone > 0
        assert f"tornado_quarantine_let_go_records_total {gone}.0" in client.get("/metrics").text


def remove(master, service, name):
    """What a session does, but for what it has in the store."""
    served = service.served(master.loops[name])
    del master.loops[name]
    service.forget_loop(name)
    service.end_stream(served)


def series(metrics):
    """Names of samples with their labels."""
    return {
        (sample.name, *sorted(sample.labels.items()))
        for family in text_string_to_metric_families(metrics.text().decode())
        for sample in family.samples
    }


def test_a_loop_that_is_removed_takes_its_time_series_along(fake, open_service):
    start_roads(fake)
    service = open_service(fake)
    metrics = Metrics(service, dict, within_s=60.0)
    before = series(metrics)
    for number in range(20):
        name = f"loop {number}"
        start_roads(fake, name)
        answered = service.submit(QueryRequest(loop=name, top=1))
        eventually(lambda query=answered: query.state.is_final)
        assert ("tornado_query_latency_seconds_count", ("loop", name), ("state", "converged")) in series(
            metrics
        )
        remove(fake, service, name)
    assert series(metrics) == before


def test_sources_and_checkpoints_are_counted_once_however_many_loops_read_their_stream():
    with tornado.open("memory:", workers=1) as session:
        metrics = Metrics(session.service, dict, within_s=60.0)

        def of_streams():
            return [
                (sample.name, sample.labels, sample.value)
                for family in text_string_to_metric_families(metrics.text().decode())
                for sample in family.samples
                if sample.name.startswith(("tornado_source", "tornado_checkpoint"))
            ]

        roads = session.stream("roads")
        paths = roads.start(ShortestPaths(source=1), "paths")
        roads.start(BreadthFirstSearch(source=1), "hops")
        paths.insert([1, 2], [2, 3])
        paths.checkpoint()
        found = of_streams()
        assert sum(value for name, _, value in found if name == "tornado_source_records_total") == 2
        assert sum(value for name, _, value in found if name == "tornado_source_offset") == 2
        assert sum(value for name, _, value in found if name == "tornado_checkpoints_total") == 1
        assert all(labels.pop("source", "insert") == "insert" for _, labels, _ in found)
        assert [labels for _, labels, _ in found] == [{"stream": "roads"}] * len(found)
        session.remove("paths")  # what it was first counted through
        assert [name for name, _, _ in of_streams()] == [name for name, _, _ in found]
        session.remove("hops")
        assert of_streams() == []


def test_a_query_that_ends_behind_its_loop_leaves_no_time_series(fake, open_service):
    roads = start_roads(fake)
    service = open_service(fake)
    metrics = Metrics(service, dict, within_s=60.0)
    fake.gate.clear()
    query = service.submit(QueryRequest(loop="roads", top=1))
    remove(fake, service, "roads")
    assert not query.state.is_final
    roads.branches[0].cancel()
    eventually(lambda: query.state.is_final and service.statistics().states[query.state.value] == 1)
    assert not {one for one in series(metrics) if ("loop", "roads") in one}
    # The next one of the name has series of its own.
    fake.gate.set()
    start_roads(fake)
    service.submit(QueryRequest(loop="roads", top=1))
    eventually(lambda: service.statistics().states["converged"] == 1)
    assert {one[-1] for one in series(metrics) if one[0] == "tornado_query_latency_seconds_count"} == {
        ("state", "converged")
    }


def test_a_loop_that_has_the_name_of_one_that_was_removed_has_labels_for_its_own_sources(fake, open_service):
    service = open_service(fake)
    metrics = Metrics(service, dict, within_s=60.0)
    for run in ("first", "second"):
        sources = [source(f"{run} {number}") for number in range(LABELLED_SOURCES + 10)]
        service.served(start_roads(fake)).watch_sources(lambda sources=sources: sources)
        labels = {dict(one[1:]).get("source") for one in series(metrics)}
        assert {f"{run} 0", OTHER_SOURCES} < labels
        assert len(labels - {None}) == LABELLED_SOURCES + 1
        remove(fake, service, "roads")
