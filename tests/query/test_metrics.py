"""Metrics: how many time series there can be."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.query.conftest import start_roads
from tornado.ingest.ingester import IngesterState, IngesterStatistics
from tornado.ingest.parsed import Rejection
from tornado.ingest.quarantine import Quarantine
from tornado.intake.push import Pusher
from tornado.query.metrics import LABELLED_SOURCES, OTHER_SOURCES, Metrics


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
    assert samples["tornado_source_last_error", "roads", "topic:0"] == 1
    assert samples["tornado_source_last_error", "roads", "topic:1"] == 0
    before = set(samples)
    scraped.sources[0] = source("topic:0", error="2026-01-01T00:00:09+00:00 the client ended again")
    assert set(scraped()) == before


def test_names_of_clients_make_only_so_many_time_series_and_nothing_is_left_out(scraped):
    names = [f"name {number}" for number in range(10 * LABELLED_SOURCES)]
    scraped.sources[:] = [source(name, records=2) for name in names]
    scraped.rejected.update(dict.fromkeys(names, 3))
    samples = scraped()
    records = {key[2]: value for key, value in samples.items() if key[0] == "tornado_source_records_total"}
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
    assert later["tornado_source_records_total", "roads", OTHER_SOURCES] == records[OTHER_SOURCES] + 5
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
