"""`tornado demo`: the story ends with a match, and would say so if it did not."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import numpy as np
import pytest

from tornado.command import client as client_module
from tornado.command import main
from tornado.command.pacing import PacedStream, Stage
from tornado.command.town import Town, recompute
from tornado.records.edge_batch import EdgeBatch

_SMALL = ["demo", "--rows", "40", "--columns", "48", "--closures", "40", "--seconds", "1"]


@pytest.fixture(scope="module")
def town():
    return Town.generate(rows=40, columns=48, closed_roads=25, seed=3)


def test_the_demo_ends_with_a_match_needs_no_terminal_and_leaves_nothing_behind(tornado_process, tmp_path):
    folder = tmp_path / "temporary"
    folder.mkdir()
    done = tornado_process(*_SMALL, TMPDIR=str(folder))
    assert done.code == 0, done.err
    assert done.out.splitlines()[-1].startswith("match")
    assert done.out.count("bit for bit: equal") == 2
    # Two whole answers, five with ways while the storm blows, and one behind the bridge.
    assert done.out.count("recomputed from scratch: ") == 2 + 5 + 1
    assert "DIFFER" not in done.out
    assert list(folder.iterdir()) == []


def test_the_way_is_drawn_before_and_after_the_bridge_goes(capsys, tmp_path):
    drawn = tmp_path / "way.svg"
    assert main([*_SMALL, "--svg", str(drawn)]) == 0
    map_lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("    |")]
    assert all(mark in "".join(map_lines) for mark in "~o*AB")
    lines = ET.parse(drawn).getroot().findall("{http://www.w3.org/2000/svg}polyline")
    assert len(lines) == 2


@pytest.mark.parametrize("wrong", ["weight", "vertex", "value"])
def test_a_way_that_is_wrong_is_a_mismatch(monkeypatch, capsys, wrong):
    exact = client_module.ServiceClient.submit

    def changed(self, question, **options):
        answer = exact(self, question, **options)
        for path in (answer.get("result") or {}).get("paths") or []:
            if len(path["vertices"]) > 2:
                if wrong == "weight":  # the sum stays
                    path["weights"][0], path["weights"][1] = (
                        path["weights"][0] + 0.25,
                        path["weights"][1] - 0.25,
                    )
                elif wrong == "vertex":
                    path["vertices"][1] = path["vertices"][2]
                else:
                    path["value"] = np.nextafter(path["value"], np.inf)
        return answer

    monkeypatch.setattr(client_module.ServiceClient, "submit", changed)
    assert main(_SMALL) == 1
    out = capsys.readouterr().out
    assert out.splitlines()[-1].startswith("MISMATCH")
    assert "DIFFER" in out


def test_an_answer_that_is_wrong_in_the_last_bit_is_a_mismatch(monkeypatch, capsys):
    exact = client_module.ServiceClient.columns

    def off_by_one_bit(self, identifier):
        ids, values = exact(self, identifier)
        values = values.copy()
        reachable = np.flatnonzero(np.isfinite(values) & (values > 0))
        values[reachable[-1]] = np.nextafter(values[reachable[-1]], np.inf)
        return ids, values

    monkeypatch.setattr(client_module.ServiceClient, "columns", off_by_one_bit)
    assert main(_SMALL) == 1
    out = capsys.readouterr().out
    assert out.splitlines()[-1].startswith("MISMATCH")
    assert "1 differ" in out


def test_the_check_accepts_the_exact_answer_and_nothing_else(town):
    prefix = town.closures_start + 30
    found = recompute(town.history, prefix, town.station)
    ids, values = found.ids, found.values
    assert town.check(prefix, ids, values).matches
    assert not town.check(prefix, ids[1:], values[1:]).matches
    assert not town.check(prefix, ids[:0], values[:0]).matches
    assert not town.check(town.closures_start, ids, values).matches
    wrong = values.copy()
    wrong[5] = np.inf
    assert town.check(prefix, ids, wrong).differing == 1


def test_a_junction_that_only_removed_roads_named_is_in_the_answer_as_unreachable(town):
    records = EdgeBatch.concat(
        [town.records.slice(0, 10), EdgeBatch.of([900], [901], [1.0]), EdgeBatch.of([900], [901], [1.0], -1)]
    )
    small = Town(records, 11, town.station, {}, town.city)
    found = recompute(small.history, 12, town.station)
    ids = np.append(found.ids, [900, 901])
    values = np.append(found.values, [np.inf, np.inf])
    assert small.check(12, ids, values).matches


class _Recorder:
    def __init__(self, fail_at=None):
        self.offsets = []
        self.records = 0
        self._fail_at = fail_at

    def admit(self, batch, source, offset, timeout_s=None):
        if self._fail_at is not None and offset >= self._fail_at:
            raise RuntimeError("the loop is broken")
        self.records += len(batch)
        self.offsets.append((source, offset))


def test_the_stream_waits_for_the_storyteller_between_stages_and_admits_every_record_once(town):
    loop = _Recorder()
    stages = [Stage("first", 100, 30, 0.0), Stage("second", 150, 20, 0.0)]
    with PacedStream(loop, town.records, source="roads", stages=stages) as stream:
        stream.begin()
        stream.wait_for(100, meanwhile=lambda: None, period_s=0.01)
        assert (loop.records, loop.offsets[-1]) == (100, ("roads", 100))
        stream.begin()
        stream.wait_for(150, meanwhile=lambda: None, period_s=0.01)
    assert [offset for _, offset in loop.offsets] == [30, 60, 90, 100, 120, 140, 150]
    assert loop.records == 150


def test_what_breaks_the_stream_is_raised_where_it_can_be_told(town):
    with PacedStream(
        _Recorder(fail_at=60), town.records, source="roads", stages=[Stage("one", 90, 30, 0.0)]
    ) as stream:
        stream.begin()
        with pytest.raises(RuntimeError, match="the loop is broken"):
            stream.wait_for(90, meanwhile=lambda: None, period_s=0.01)


def test_leaving_early_ends_the_thread_of_the_stream(town):
    with PacedStream(
        _Recorder(), town.records, source="roads", stages=[Stage("slow", 90, 1, 3600.0)]
    ) as stream:
        stream.begin()
        stream.wait_for(1, meanwhile=lambda: None, period_s=0.01)
    assert not stream._thread.is_alive()


def test_the_last_bridge_on_a_way_is_closed_in_both_directions(town):
    north, south = town.city.bridges[0].tolist()
    assert town.bridge_on([1, 2, south, north, 5]) == (south, north)
    assert town.bridge_on([1, 2, 3]) is None
    closed = town.with_closed((south, north))
    before, after = len(town.records), len(closed.records)
    pairs = [
        set(zip(edges.src.tolist(), edges.dst.tolist(), strict=True))
        for edges in (closed.history.at(before), closed.history.at(after))
    ]
    assert pairs[0] - pairs[1] == {(south, north), (north, south)}
