"""The benchmarks themselves, on a system that recomputes every answer: they finish, and they notice what is wrong."""

import json
import threading
import time
from contextlib import contextmanager
from dataclasses import asdict, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from benchmarks import changes, engines, peers, queries
from benchmarks.__main__ import _engines, _scales
from benchmarks.admission import _slope
from benchmarks.catalogue import CATALOGUE, run_entry
from benchmarks.harness import Clock, Figure, Kind, OutOfTime, Settings, print_table, quantile, run_benchmark
from benchmarks.results import load, save
from benchmarks.system import LOOP_NAME, SOURCE_NAME, Load, Size
from tornado.records.edge_batch import EdgeBatch
from tornado.testing import EdgeHistory, exact_distances, rmat

SMOKE = Settings(scale=8, workers=(1,), smoke=True, hold_s=0.05, queries=5, limit_s=60.0)


class RecomputingSystem:
    """Keeps the live edges and answers by Dijkstra; `error` is added to every distance above zero."""

    error = 0.0

    def __init__(self, *, source, workers, delay_bound):
        self.admitted = 0
        self._source = source
        self._parts = []
        self._lock = threading.Lock()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def admit(self, batch):
        with self._lock:
            self._parts.append(batch)
            self.admitted += len(batch)
        # Slow enough that a stream of a few seconds stays small.
        time.sleep(len(batch) * 1e-6)

    def wait_idle(self, timeout_s):
        assert timeout_s > 0

    def load(self):
        return Load(0, 0)

    def size(self):
        edges, _ = self._live()
        return Size(len(edges.ids()), len(edges), 0)

    def ask(self, ids, timeout_s):
        edges, admitted = self._live()
        values = exact_distances(edges, self._source).lookup(ids)
        return np.where(values > 0, values + self.error, values), admitted

    def from_scratch(self, source, timeout_s):
        edges, _ = self._live()
        distances = exact_distances(edges, source)
        return distances.ids, distances.values + self.error, 0.01

    @contextmanager
    def serving(self):
        system = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # One segment for head and body, or the client's delayed acknowledgement costs 40 ms a query.
            wbufsize = -1

            def do_POST(self):
                question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                assert question["loop"] == LOOP_NAME
                values, admitted = system.ask(np.array(question["vertices"]), 1.0)
                entries = [
                    {"vertex": vertex, "value": None if value == np.inf else value}
                    for vertex, value in zip(question["vertices"], values.tolist(), strict=True)
                ]
                body = json.dumps(
                    {
                        "state": "converged",
                        "snapshot": {"offsets": {SOURCE_NAME: admitted}},
                        "result": {"values": entries, "unknown": [], "next": None},
                    }
                ).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            server.server_close()
            thread.join()

    def _live(self):
        with self._lock:
            records = EdgeBatch.concat(self._parts)
            edges = EdgeHistory.of(records).at(len(records))
            self._parts = [edges.records()]
            return edges, self.admitted


class SlightlyWrong(RecomputingSystem):
    error = 2.0**-40


@pytest.mark.parametrize("name", ["scratch", "changes", "admission", "queries", "memory"])
def test_a_benchmark_finishes_with_figures_and_facts(name, tmp_path, capsys):
    report = run_entry(name, SMOKE, RecomputingSystem)
    assert report.failure is None
    assert len(report.figures) > 5
    assert all(np.isfinite(figure.value) for figure in report.figures)
    assert report.data["edges"] > 1_000
    assert report.facts["machine"]["cores"] >= 1
    assert report.facts["versions"]["numba"]
    print_table([report])
    shown = capsys.readouterr().out
    assert all(figure.name in shown for figure in report.figures)
    result = tmp_path / "deep" / "result.json"
    save(report, result)
    assert json.loads(result.read_text())["benchmark"] == name
    assert load(result) == report
    assert result.stat().st_size < 20_000


@pytest.mark.parametrize("name", ["scratch", "changes", "admission", "queries"])
def test_an_answer_that_is_off_by_one_bit_fails_the_benchmark(name):
    report = run_entry(name, SMOKE, SlightlyWrong)
    assert report.failure is not None
    assert report.failure.startswith("WrongAnswer")


def test_queries_are_judged_at_the_rate_that_is_asked_for_and_at_half_of_what_the_loop_admits(monkeypatch):
    monkeypatch.setattr(queries, "_JUDGED_FROM_SCALE", 0)
    report = run_entry("queries", replace(SMOKE, smoke=False), RecomputingSystem)
    assert report.failure is None
    judged = {figure.name.strip() for figure in report.figures if figure.at_least == 50}
    times = "heap Dijkstra takes so many times as long"
    assert judged == {
        f"{times}, half the rate that is asked for, 1 worker",
        f"{times}, half of what it admits, 1 worker",
    }


def test_admission_is_compared_with_nobodys_answers():
    report = run_entry("admission", SMOKE, RecomputingSystem)
    assert {figure.kind for figure in report.figures} == {Kind.MEASURED}
    assert not any("until" in figure.name or "differential" in figure.name for figure in report.figures)


def test_changes_stand_beside_a_peer_of_another_run_as_measured_there_and_scaled(monkeypatch):
    # Of scale 8 there are no figures of the peer; those of scale 18 do, and a graph for the yardstick that is small.
    for table in (peers.DIFFERENTIAL_LATENCY_MS, peers.DIFFERENTIAL_LOAD):
        monkeypatch.setitem(table, 8, table[18])
    monkeypatch.setattr(peers, "rmat", lambda _, seed: rmat(8, seed=seed))
    monkeypatch.setattr(changes, "_BATCHES", {1: 2, 1_000: 2})
    report = run_entry("changes", replace(SMOKE, smoke=False), RecomputingSystem)
    assert report.failure is None
    what = "1,000 changes until exact, 1 worker"
    there = report.value(f"  {peers.DIFFERENTIAL}, {what}")
    slower = report.value("the yardstick: heap Dijkstra, whole graph of scale 20") / peers.HEAP_20_S
    scaled = report.value(f"  {peers.DIFFERENTIAL} scaled to this machine, {what}")
    assert there == 266
    assert scaled == pytest.approx(there * slower, rel=1e-4)
    ratio = report.value(f"  {peers.DIFFERENTIAL} scaled, over ours, {what}")
    assert ratio == pytest.approx(scaled / report.value(f"{what}, p50"), rel=1e-4)
    of_the_peer = [figure for figure in report.figures if peers.DIFFERENTIAL in figure.name]
    assert {figure.kind for figure in of_the_peer} == {Kind.UNKEPT}
    assert all(figure.source and figure.hardware for figure in of_the_peer)


def test_engines_are_measured_on_loops_that_have_something_to_compute(monkeypatch):
    started = []

    class Placed(RecomputingSystem):
        def __init__(self, *, engine, **how):
            super().__init__(**how)
            self.place = (engine, how["source"])
            started.append(self.place)

        def admit(self, batch):
            super().admit(batch)
            admitted.setdefault(self.place, []).append(batch)

    admitted = {}
    monkeypatch.setattr(engines, "LiveSystem", Placed)
    report = run_entry("engines", SMOKE)
    assert report.failure is None
    for engine in ("threads", "processes", "spark"):
        assert report.value(f"admission, batches of 1,000, {engine}") > 0
        assert report.value(f"1,000 changes until exact, {engine}, p50") > 0
        removals = {
            source
            for (place, source), of in admitted.items()
            if place == engine
            for one in of
            if (one.op < 0).any()
        }
        assert removals == {report.data["root"]}


def test_a_benchmark_that_runs_out_of_time_keeps_what_it_has():
    def measure(report, settings, clock):
        report.add("first", 1.0, "s")
        time.sleep(0.02)
        clock.left_s()

    report = run_benchmark("slow", "How slow?", Settings(scale=1, limit_s=0.01), measure)
    assert report.failure == "OutOfTime: the limit of 0.01 s is reached"
    assert [figure.name for figure in report.figures] == ["first"]
    with pytest.raises(OutOfTime):
        Clock(-1.0).left_s()


def test_bounds_are_met_or_missed_and_both_are_shown(capsys):
    assert Figure("rate", 3.0, "1/s", at_least=3.0).met is True
    assert Figure("rate", 2.9, "1/s", at_least=3.0).met is False
    assert Figure("time", 2.9, "s", at_most=3.0).met is True
    assert Figure("time", 3.1, "s", at_most=3.0).met is False
    assert Figure("time", 3.1, "s").met is None

    def measure(report, settings, clock):
        report.add("time", 3.1, "s", at_most=3.0)

    print_table([run_benchmark("any", "How long?", Settings(scale=1), measure)])
    assert "MISSED: ≤ 3" in capsys.readouterr().out


def test_a_smoke_run_judges_no_bound():
    def measure(report, settings, clock):
        report.add("time", 3.1, "s", at_most=3.0)

    report = run_benchmark("any", "How long?", Settings(scale=20).smaller(), measure)
    assert report.figures[0].met is None
    assert report.settings.scale == 12


def test_a_tail_is_a_latency_that_was_measured():
    assert quantile([1.0, 2.0, 10.0], 0.99) == 10.0
    assert quantile([1.0, 2.0, 10.0], 0.5) == 2.0


def test_growth_of_a_backlog_is_told_from_a_full_one():
    assert _slope([(float(t), 500) for t in range(10)]) == pytest.approx(0.0, abs=1e-9)
    assert _slope([(float(t), 7 * t) for t in range(10)]) == pytest.approx(7.0)
    assert _slope([]) == 0.0


def test_scales_come_from_the_command_line_or_from_the_targets():
    assert _scales("scratch", None, smoke=False) == (16, 20, 22)
    assert _scales("scratch", [18], smoke=False) == (18,)
    assert _scales("startup", [18], smoke=False) == (0,)
    assert _scales("memory", None, smoke=True) == (12,)


def test_a_benchmark_of_engines_is_run_for_each_by_itself():
    assert _engines("scratch", ["spark"], smoke=False) == (None,)
    assert _engines("checkpoints", None, smoke=False) == ("threads", "processes", "spark")
    assert _engines("checkpoints", ["spark"], smoke=False) == ("spark",)
    assert _engines("checkpoints", None, smoke=True) == ("threads",)


def test_every_benchmark_asks_its_question_in_the_first_line():
    for entry in CATALOGUE.values():
        assert entry.question.splitlines()[0].endswith("?")


def test_settings_survive_the_way_into_another_process():
    plain = json.loads(json.dumps(asdict(SMOKE)))
    assert Settings(**plain | {"workers": tuple(plain["workers"])}) == SMOKE
