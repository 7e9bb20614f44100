"""The plots in docs/figures show what the raw results have, and what is compared in them is compared rightly."""

import json
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

from benchmarks import document, plots, results
from benchmarks.figure_programs import TOLERANCE, Paths, Ranks
from benchmarks.harness import Figure, Report, Settings, WrongAnswer
from tornado.testing import EdgeList, random_multigraph, rmat

_COLUMNS = ("edges", "asked", "cold", "built", "given", "error_streaming", "error_at_rest")
SERIES = {
    **{
        f"figure 5, {program}": {column: [0.25, 0.5] for column in _COLUMNS} for program in ("ranks", "paths")
    },
    **{
        f"figure 8a, {program}, B={bound}": {"seconds": [0.1, 0.2], "error": [0.5, 1e-3]}
        for program in ("ranks", "paths")
        for bound in (1, 64, 65536, "unbounded")
    },
    **{
        f"figure {figure}, {what}, B={bound}": columns
        for figure in ("8c", "8d")
        for bound in (1, 256, 65536)
        for what, columns in (
            ("updates", {"middles": [-0.5, 0.5], "per_s": [0.5, 0.25]}),
            ("questions", {"asked": [-0.5, 0.5], "took": [0.5, 0.25]}),
        )
    },
    # Of learners.
    **{
        f"figure {number}, rate {rate}": {"seconds": [0.1, 0.2], "objective": [0.5, 0.25]}
        for number in (6, 7)
        for rate in ("10", "1", "0.1", "0.01")
    },
    **{
        f"figure 8{letter}, B={bound}": {"seconds": [0.1, 0.2], "objective": [0.5, 0.25]}
        for letter in "ab"
        for bound in (1, 64, 65536, "unbounded")
    },
    **{
        f"figure 5, {learner}": {column: [0.25, 0.5] for column in ("points", "asked", "cold", "rival")}
        for learner in ("SVM", "k-means")
    },
}


@pytest.fixture
def report():
    lines = ("of an edge list", "graph given", "graph given, from the ranks before")
    figures = [
        Figure(name, 0.5, "s")
        for percent in (1, 5, 10, 20)
        for name in (
            *(f"answered, {percent} % more, {workers}" for workers in ("1 worker", "2 workers")),
            *(f"power iteration {line}, {percent} % more" for line in lines),
            *(
                name
                for learner, rival in (("SVM", "LinearSVC"), ("k-means", "KMeans"))
                for name in (
                    f"answered, {learner}, {percent} % more, 1 worker",
                    f"answered, {learner}, {percent} % more, 2 workers",
                    f"{rival} from scratch, {learner}, {percent} % more",
                )
            ),
        )
    ]
    return Report("figures", "What?", Settings(scale=17), {}, figures=figures, series=dict(SERIES))


@pytest.mark.parametrize("name", plots.PLOTS)
def test_a_plot_in_the_repository_shows_the_results_in_the_repository(name):
    there = results.load_all().get(plots.PLOTS[name].result)
    drawn = plots.FOLDER / f"{name}.svg"
    assert drawn.is_file() == (there is not None and plots.is_there(name, there))
    if there is not None and drawn.is_file():
        assert plots.mark(plots.PLOTS[name], there) in drawn.read_text(encoding="utf-8"), (
            f"docs/figures/{name}.svg is drawn from benchmarks/results: `make bench-report` draws it again"
        )


def test_nothing_else_is_among_the_plots():
    assert {path.name for path in plots.FOLDER.glob("*")} <= {f"{name}.svg" for name in plots.PLOTS}


@pytest.mark.parametrize("name", plots.PLOTS)
def test_another_number_is_another_plot(name, report):
    before = plots.mark(plots.PLOTS[name], report)
    report.figures = [replace(figure, value=figure.value * 2) for figure in report.figures]
    report.series = {
        series: {column: [2 * value for value in values] for column, values in columns.items()}
        for series, columns in report.series.items()
    }
    assert plots.mark(plots.PLOTS[name], report) != before


def test_the_same_numbers_are_drawn_by_the_same_bytes_with_what_they_are(report, tmp_path):
    pytest.importorskip("matplotlib")
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        plots.write(dict.fromkeys({plot.result for plot in plots.PLOTS.values()}, report), folder)
    assert {path.stem for path in one.glob("*.svg")} == set(plots.PLOTS)
    for name, plot in plots.PLOTS.items():
        text = (one / f"{name}.svg").read_bytes()
        assert text == (other / f"{name}.svg").read_bytes()
        assert plots.mark(plot, report).encode() in text
        assert plot.title.encode() in text


def test_a_run_that_failed_before_a_plot_has_none_of_it(report, tmp_path):
    del report.series["figure 5, paths"]
    report.failure = "OutOfTime: the limit is reached"
    plots.write({plots.RESULT: report}, tmp_path)
    assert not (tmp_path / "figure-5.svg").exists()
    shown = document.generated("{{plot figure-5}}", {plots.RESULT: report})
    assert shown.startswith(document.ABSENT)


def test_without_its_result_a_plot_is_a_dash():
    assert document.generated("{{plot figure-5}}", {}) == document.ABSENT


def test_series_are_kept_with_four_digits_and_read_back(report, tmp_path):
    report.add_series("more", seconds=[0.123456], error=[2e-9])
    with pytest.raises(ValueError, match="'more'"):
        report.add_series("more", seconds=[])
    results.save(report, tmp_path / "figures-17.json")
    assert results.load(tmp_path / "figures-17.json").series["more"] == {"seconds": [0.1235], "error": [2e-9]}
    assert json.loads((tmp_path / "figures-17.json").read_text())["series"].keys() == report.series.keys()


@pytest.fixture
def growing():
    """Ranks of edges between some of 70 ids, of which the first half names fewer."""
    edges = random_multigraph(60, 150, seed=3)
    return Ranks(EdgeList(edges.src.astype(np.int32), edges.dst.astype(np.int32), np.ones(150), 70))


def test_the_truth_of_ranks_is_what_networkx_finds_where_some_ids_are_no_vertices(growing):
    graph = nx.MultiDiGraph()
    graph.add_edges_from(zip(growing.edges.src.tolist(), growing.edges.dst.tolist(), strict=True))
    expected = nx.pagerank(graph, tol=1e-15, max_iter=1_000)
    found = growing.truth(growing.edges)
    assert len(found) == 70
    assert np.count_nonzero(found) == len(expected) < 60
    assert sum(abs(found[vertex] - rank) for vertex, rank in expected.items()) < 1e-10


def test_recomputed_ranks_are_as_near_as_asked_from_those_of_fewer_vertices_too(growing):
    before = growing.recompute(growing.edges[:75]).values
    truth = growing.truth(growing.edges)
    assert np.count_nonzero(before) < np.count_nonzero(truth)
    assert growing.error_of(before, truth) > 0.1
    for begin in (None, before):
        found = growing.recompute(growing.edges, begin)
        assert 0.0 < growing.error_of(found.values, truth) <= TOLERANCE
        assert np.array_equal(found.values > 0, truth > 0)
        assert found.all_s > found.computing_s > 0.0


def test_an_answer_that_is_not_what_it_says_ends_the_measurement():
    edges = rmat(6)
    case, paths = Ranks(edges), Paths(edges, int(edges.src[0]))
    exact = case.truth(edges)
    bound = {"kind": "bound", "norm": "l1", "bound": 1e-7}
    case.require_right("so", bound, exact, exact)
    moved = exact.copy()
    moved[np.argmax(exact)] += 2e-7
    with pytest.raises(WrongAnswer, match="2e-07 from the exact ones"):
        case.require_right("so", bound, moved, exact)
    with pytest.raises(WrongAnswer, match="by their bound"):
        case.require_right("so", bound | {"bound": 1e-5}, exact, exact)
    distances = paths.truth(edges)
    paths.require_right("so", {"kind": "exact"}, distances, distances)
    with pytest.raises(WrongAnswer, match="certified"):
        paths.require_right("so", {"kind": "none"}, distances, distances)
    longer = np.where(np.arange(len(distances)) == int(np.argmax(np.isfinite(distances))), 1e9, distances)
    with pytest.raises(WrongAnswer, match="1 distances are wrong"):
        paths.require_right("so", {"kind": "exact"}, longer, distances)
