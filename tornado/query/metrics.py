"""Prometheus metrics of loops and queries, read from their statistics when somebody scrapes.

Nothing is counted twice: loops and the service keep their own counts, and a collector reads them. Only the latency of
queries, which nobody else keeps, is observed as it happens. Labels have few values: no texts of errors (`GET /v1/loops` has
them), and only so many sources by name, since clients choose names. They choose names of loops too: a loop that is removed takes
its time series along, also that of a query which ends behind it, and a stream that ends does. Sources and checkpoints are those of
a stream, however many loops read it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from threading import Lock

from prometheus_client import CollectorRegistry, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from ..errors import ConnectionLost, UnknownLoop
from ..ingest.ingester import IngesterStatistics
from .callers import ANYBODY, Caller
from .last_known import STATES
from .query import Query, QueryState
from .service import QueryService

MEDIA_TYPE = CONTENT_TYPE_LATEST

LATENCY_BUCKETS_S = (
    0.001,
    0.002,
    0.005,
    0.01,
    0.02,
    0.05,
    0.1,
    0.2,
    0.5,
    1.0,
    2.0,
    5.0,
    10.0,
    30.0,
    100.0,
    300.0,
)

# Name, help, and the field of a loop's statistics.
_LOOP_COUNTERS = (
    ("tornado_admitted_records", "Records admitted into the loop", "admitted"),
    ("tornado_missing_removals", "Removals of edges that were not there", "missing_removals"),
    (
        "tornado_invalidations",
        "Values taken back by the main loop, since an edge went that they hung on",
        "invalidations",
    ),
    (
        "tornado_overtaken_commits",
        "Commits at the last allowed iteration that came to a consumer which was further already",
        "overtaken",
    ),
    ("tornado_updates", "Updates committed by the main loop", "updates"),
    (
        "tornado_loop_restarts",
        "How often the loop was put on other workers, since some were lost",
        "restarts",
    ),
    ("tornado_prepares", "PREPARE messages sent by the main loop", "prepares"),
)
_LOOP_GAUGES = (
    ("tornado_backlog_records", "Records admitted that some worker has still to apply", "backlog_records"),
    ("tornado_frontier_iteration", "Least iteration at which a commit can still happen", "iteration"),
    ("tornado_version", "Version of the loop: a greater one is a later prefix of its input", "version"),
    ("tornado_residual", "How far the main loop is from its fixed point", "residual"),
    ("tornado_pending_vertices", "Vertices with work to do", "pending"),
    ("tornado_vertices", "Vertices in the graph", "vertices"),
    ("tornado_edges", "Edges in the graph", "edges"),
    ("tornado_loop_memory_bytes", "Memory of the loop's state and graph", "memory_bytes"),
)
# Of programs that predict points before they learn from them; over all of them, or the recent ones.
_VALIDATION_GAUGES = (
    ("tornado_validation_points", "Points that were predicted before they were learnt from", "points"),
    ("tornado_validation_loss", "Their mean loss", "loss"),
    ("tornado_validation_accuracy", "The share of them that was predicted rightly", "accuracy"),
    (
        "tornado_validation_absolute_error",
        "How far from their labels they were predicted, on the average",
        "absolute_error",
    ),
    ("tornado_validation_squared_error", "The mean of the squares of that", "squared_error"),
)
# So many of the sources of a stream have a label of their own, the first ones to be seen. The others are added up.
LABELLED_SOURCES = 100
OTHER_SOURCES = "(others)"
# In the place of a stream's name, which is never empty.
_NO_STREAM = ""

# Of each source.
_SOURCE_COUNTERS = (
    ("tornado_source_records", "Records of a source that were read in this run", "records"),
    ("tornado_source_rejected", "Records of a source that went to quarantine in this run", "rejected"),
    ("tornado_source_repeated", "Records of a source that repeated another and were left out", "repeated"),
)
_SOURCE_GAUGES = (
    (
        "tornado_source_lag_records",
        "Records that the source has and the stream has not; NaN where nobody knows how many it has",
        "lag_records",
    ),
    ("tornado_source_rows_per_second", "Records a second over the last seconds", "rows_per_s"),
)

# Name, help, and the field of the statistics of a stream's checkpoints.
_CHECKPOINT_COUNTERS = (
    ("tornado_checkpoints", "Snapshots stored, or found up to date", "stored"),
    ("tornado_checkpoint_failures", "Snapshots that could not be stored", "failed"),
)
_CHECKPOINT_GAUGES = (
    ("tornado_checkpoint_version", "Version of the newest stored snapshot", "version"),
    ("tornado_checkpoint_age_seconds", "Since the cut of the last snapshot that was stored", "age_s"),
    (
        "tornado_checkpoint_duration_seconds",
        "How long the last one took that had something new",
        "duration_s",
    ),
)
# The same of the results of a loop that are kept in a table outside.
_RESULTS_COUNTERS = (
    ("tornado_results_renewals", "How often the table of a loop's results was renewed", "renewed"),
    ("tornado_results_failures", "How often it could not be", "failed"),
    ("tornado_results_changes", "Rows that were written or removed", "changes"),
)
_RESULTS_GAUGES = (
    ("tornado_results_version", "Version of the loop that the table is the answer to", "version"),
    ("tornado_results_rows", "Rows of the table", "rows"),
    ("tornado_results_age_seconds", "Since the answer was there that the table has", "age_s"),
    ("tornado_results_duration_seconds", "How long the last renewal took, the answer included", "duration_s"),
)


class Metrics:
    """The metrics of one service, in a registry of its own so that several servers can live in one process.

    Parameters
    ----------
    service : QueryService
        Whose loops and queries are measured.
    rejected : callable
        Returns the number of quarantined records by source.
    let_go : callable
        Returns how many of them are no longer in the quarantine file, for want of room.
    within_s : float
        How long loops may take to say how they stand. Of one that does not, the numbers are those it said last, and
        `tornado_loop_statistics_age_seconds` says how old they are.
    """

    def __init__(
        self,
        service: QueryService,
        rejected: Callable[[], Mapping[str, int]],
        *,
        let_go: Callable[[], int] = int,
        within_s: float = 1.0,
    ) -> None:
        self._service = service
        self._registry = CollectorRegistry()
        self._statistics = _Statistics(service, rejected, let_go, within_s)
        self._registry.register(self._statistics)
        self._latency = Histogram(
            "tornado_query_latency_seconds",
            "From the question to its end",
            ["loop", "state"],
            buckets=LATENCY_BUCKETS_S,
            registry=self._registry,
        )
        self._lock = Lock()
        service.add_listener(self._observe)
        service.add_loop_listener(self._forget)

    def text(self, caller: Caller = ANYBODY) -> bytes:
        """Return what a caller may see of the metrics, in the Prometheus text format."""
        return generate_latest(
            self._registry if caller.streams is None else _SeenBy(self._registry, self._service, caller)
        )

    def _observe(self, query: Query) -> None:
        loop = query.request.loop
        with self._lock:  # or it is removed, and forgotten, between the look and the label
            if loop in self._service.master.loops:
                self._latency.labels(loop, query.state.value).observe(query.elapsed_s)

    def _forget(self, loop: str) -> None:
        with self._lock:
            for state in QueryState:
                self._latency.remove(loop, state.value)
        self._statistics.forget_ended()


class _SeenBy:
    """The samples of loops and streams that a caller may see, and no others: what has neither label is of all of them."""

    def __init__(self, registry: CollectorRegistry, service: QueryService, caller: Caller) -> None:
        self._registry = registry
        self._service = service
        self._caller = caller

    def collect(self) -> Iterator[Metric]:
        streams = {name: loop.stream_name for name, loop in list(self._service.master.loops.items())}
        for family in self._registry.collect():
            samples = [
                sample
                for sample in family.samples
                if (stream := sample.labels.get("stream", streams.get(sample.labels.get("loop", ""))))
                is not None
                and self._caller.sees(stream)
            ]
            if samples:
                shown = Metric(family.name, family.documentation, family.type, family.unit)
                shown.samples = samples
                yield shown


class _Statistics(Collector):
    def __init__(
        self,
        service: QueryService,
        rejected: Callable[[], Mapping[str, int]],
        let_go: Callable[[], int],
        within_s: float,
    ) -> None:
        self._service = service
        self._rejected = rejected
        self._let_go = let_go
        self._within_s = within_s
        self._labelled: dict[str, dict[str, None]] = {}  # by stream
        self._lock = Lock()

    def forget_ended(self) -> None:
        """Forget which sources have a label of streams that have ended: one of the name has others."""
        with self._lock:
            for stream in self._labelled.keys() - self._streams():
                del self._labelled[stream]

    def _streams(self) -> set[str]:
        """Those that are read, and the one that stands for none."""
        return {_NO_STREAM, *(loop.stream_name for loop in list(self._service.master.loops.values()))}

    def collect(self) -> Iterator[Metric]:
        yield from self._loops()
        yield from self._workers()
        yield from self._sources()
        yield from self._checkpoints()
        yield from self._results()
        yield from self._windows()
        yield from self._queries()
        rejected = CounterMetricFamily(
            "tornado_rejected_records", "Records put into quarantine", labels=["source"]
        )
        counts = self._rejected()
        for (_, source), count in self._summed(
            (_NO_STREAM, source, count) for source, count in counts.items()
        ):
            rejected.add_metric([source], count)
        yield rejected
        yield CounterMetricFamily(
            "tornado_quarantine_let_go_records",
            "Records that are no longer in the quarantine file, for want of room",
            value=self._let_go(),
        )
        memory = GaugeMetricFamily("tornado_process_memory_bytes", "Resident memory of this process")
        memory.add_metric([], resident_bytes())
        yield memory

    def _loops(self) -> Iterator[Metric]:
        known = self._service.known_statistics(sorted(self._service.master.loops), self._within_s)
        found = [one.known for one in known.values() if one.known is not None]
        states = GaugeMetricFamily(
            "tornado_loop_state",
            "1 for the state that a loop is in: running, unresponsive, or failed",
            labels=["loop", "state"],
        )
        for name, standing in known.items():
            for state in STATES:
                states.add_metric([name, state], int(standing.state == state))
        yield states
        ages = GaugeMetricFamily(
            "tornado_loop_statistics_age_seconds",
            "0, or how old the numbers of a loop are that did not answer",
            labels=["loop"],
        )
        for one in found:
            ages.add_metric([one.record.name], one.age_s)
        yield ages
        loops = [one.record for one in found]
        for name, text, attribute in _LOOP_COUNTERS:
            counter = CounterMetricFamily(name, text, labels=["loop"])
            for one in loops:
                counter.add_metric([one.name], getattr(one, attribute))
            yield counter
        for name, text, attribute in _LOOP_GAUGES:
            gauge = GaugeMetricFamily(name, text, labels=["loop"])
            for one in loops:
                value = getattr(one, attribute)
                gauge.add_metric([one.name], math.nan if value is None else value)
            yield gauge
        for name, text, key in _VALIDATION_GAUGES:
            gauge = GaugeMetricFamily(name, text, labels=["loop", "over"])
            for one in loops:
                for over in ("", "recent_"):
                    value = (getattr(one, "validation", None) or {}).get(over + key)
                    if value is not None:
                        gauge.add_metric([one.name, over.rstrip("_") or "all"], value)
            yield gauge

    def _workers(self) -> Iterator[Metric]:
        applied = CounterMetricFamily(
            "tornado_worker_applied_records",
            "Records of a stream that a worker has applied since the workers began, or others took their place",
            labels=["stream", "worker"],
        )
        seen: set[str] = set()
        for _, loop in sorted(self._service.master.loops.items()):
            if loop.stream_name not in seen:
                seen.add(loop.stream_name)
                for worker, records in enumerate(loop.stream.workers.applied()):
                    applied.add_metric([loop.stream_name, str(worker)], records)
        yield applied
        loads = CounterMetricFamily(
            "tornado_worker_load",
            "Records applied and updates committed by a worker, of all streams and loops, since the workers began, or others "
            "took their place, as seen within the last second: what buckets of vertices are moved by",
            labels=["worker"],
        )
        for worker, load in enumerate(self._service.worker_loads()):
            loads.add_metric([str(worker)], load)
        yield loads

    def _sources(self) -> Iterator[Metric]:
        sources: dict[str, list[IngesterStatistics]] = {}
        reached: dict[str, Mapping[str, int]] = {}
        for name, loop in sorted(self._service.master.loops.items()):
            if loop.stream_name not in sources:
                with suppress(
                    UnknownLoop, ConnectionLost
                ):  # it was removed meanwhile, or its stream has ended
                    sources[loop.stream_name] = self._service.sources(name)
                    reached[loop.stream_name] = loop.offsets()
        found = [(stream, source) for stream, those in sources.items() for source in those]
        offsets = GaugeMetricFamily(
            "tornado_source_offset",
            "Records of a source that are in or quarantined",
            labels=["stream", "source"],
        )
        for labels, offset in self._summed(
            (stream, source, offset) for stream, those in reached.items() for source, offset in those.items()
        ):
            offsets.add_metric(labels, offset)
        yield offsets
        for name, text, attribute in _SOURCE_COUNTERS:
            counter = CounterMetricFamily(name, text, labels=["stream", "source"])
            counts = ((stream, source.source, getattr(source, attribute)) for stream, source in found)
            for labels, count in self._summed(counts):
                counter.add_metric(labels, count)
            yield counter
        for name, text, attribute in _SOURCE_GAUGES:
            gauge = GaugeMetricFamily(name, text, labels=["stream", "source"])
            values = ((stream, source.source, getattr(source, attribute)) for stream, source in found)
            for labels, value in self._summed(values):
                gauge.add_metric(labels, value)
            yield gauge
        errors = GaugeMetricFamily(
            "tornado_source_last_error",
            "1 where a source had to overcome something or failed, which GET /v1/loops shows; 0 where there was nothing",
            labels=["stream", "source"],
        )
        had_one = ((stream, source.source, int(source.last_error is not None)) for stream, source in found)
        for labels, count in self._summed(had_one):
            errors.add_metric(labels, min(count, 1))
        yield errors

    def _summed(
        self, samples: Iterable[tuple[str, str, float | None]]
    ) -> list[tuple[tuple[str, str], float]]:
        """Values by stream and label of the source, in order; those of sources without a label of their own are added up."""
        totals: dict[tuple[str, str], float] = {}
        with self._lock:
            streams = self._streams()
            for stream, source, value in samples:
                if stream not in streams:
                    continue  # it has ended since it was asked: its labels would be kept for ever
                labelled = self._labelled.setdefault(stream, {})
                if len(labelled) < LABELLED_SOURCES:
                    labelled.setdefault(source)
                key = stream, source if source in labelled else OTHER_SOURCES
                totals[key] = totals.get(key, 0) + (math.nan if value is None else value)
        return sorted(totals.items())

    def _checkpoints(self) -> Iterator[Metric]:
        taken = [
            (stream.name, stream.checkpoints.statistics())
            for stream in self._service.streams()
            if stream.checkpoints is not None
        ]
        yield from _counted("stream", taken, _CHECKPOINT_COUNTERS, _CHECKPOINT_GAUGES)

    def _results(self) -> Iterator[Metric]:
        kept = [
            (loop, statistics())
            for stream in self._service.streams()
            for loop, statistics in list(stream.results.items())
        ]
        yield from _counted("loop", kept, _RESULTS_COUNTERS, _RESULTS_GAUGES)

    def _windows(self) -> Iterator[Metric]:
        late = CounterMetricFamily(
            "tornado_window_late_records",
            "Records that were out of the window of their stream when they came",
            labels=["stream"],
        )
        left = CounterMetricFamily(
            "tornado_window_left_edges",
            "Edges that have left the window of their stream by themselves",
            labels=["stream"],
        )
        streams = {loop.stream_name: loop.stream.window for loop in list(self._service.master.loops.values())}
        for stream, window in sorted(streams.items()):
            if window is not None:
                said = window.described()
                late.add_metric([stream], said["late"])
                left.add_metric([stream], said["left"])
        yield late
        yield left

    def _queries(self) -> Iterator[Metric]:
        statistics = self._service.statistics()
        states = GaugeMetricFamily(
            "tornado_queries", "Queries by state; ended ones since the start", labels=["state"]
        )
        for state, count in statistics.states.items():
            states.add_metric([state], count)
        yield states
        yield CounterMetricFamily("tornado_queries_submitted", "Queries let in", value=statistics.submitted)
        yield CounterMetricFamily("tornado_queries_refused", "Queries refused", value=statistics.refused)
        yield GaugeMetricFamily("tornado_branches_running", "Branch loops", value=statistics.branches_running)
        yield GaugeMetricFamily("tornado_retained_results", "Results kept", value=statistics.retained_results)
        yield GaugeMetricFamily(
            "tornado_retained_results_bytes", "Size of results kept", value=statistics.retained_size_bytes
        )


def _counted(
    label: str,
    those: Sequence[tuple[str, object]],
    counters: Iterable[tuple[str, str, str]],
    gauges: Iterable[tuple[str, str, str]],
) -> Iterator[Metric]:
    """Statistics by what the label says; a number that is None is NaN."""
    for name, text, attribute in counters:
        counter = CounterMetricFamily(name, text, labels=[label])
        for labelled, one in those:
            counter.add_metric([labelled], getattr(one, attribute))
        yield counter
    for name, text, attribute in gauges:
        gauge = GaugeMetricFamily(name, text, labels=[label])
        for labelled, one in those:
            value = getattr(one, attribute)
            gauge.add_metric([labelled], math.nan if value is None else value)
        yield gauge


def resident_bytes() -> int:
    """Return the resident memory of this process."""
    import psutil

    return int(psutil.Process().memory_info().rss)
