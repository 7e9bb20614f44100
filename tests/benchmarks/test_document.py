"""docs/benchmarks.md is what the generator makes of the raw results, and says of each figure what it is."""

import json
import os
import re
from dataclasses import replace

import pytest

from benchmarks import __main__ as command
from benchmarks import document, plots, results
from benchmarks.catalogue import CATALOGUE
from benchmarks.harness import CHECKOUT, Figure, Kind, Report, Settings

FACTS = {
    "date": "2026-01-31T12:00:00Z",
    "commit": "0123456789abcdef",
    "changed_files": 0,
    "machine": {"processor": "Abacus", "cores": 2, "memory_gib": 24.0, "system": "Linux"},
    "load_average": [0.1, 0.2, 0.3],
    "versions": {"python": "3.13.0", "numpy": "2.4.0", "numba": "0.68.0", "tornado-loops": "0.1.0"},
}


def report_with(*figures, failure=None):
    return Report(
        "memory",
        "How much?",
        Settings(scale=22),
        FACTS,
        {"edges": 65_000_000},
        list(figures),
        failure=failure,
    )


def shown(template, **reports):
    return document.generated(template, {name.replace("_", "-"): one for name, one in reports.items()})


def test_the_document_in_the_repository_is_what_the_generator_makes_of_the_results_in_the_repository():
    template = document.TEMPLATE.read_text(encoding="utf-8")
    written = document.DOCUMENT.read_text(encoding="utf-8")
    assert written == document.generated(template, results.load_all()), (
        "docs/benchmarks.md is generated: change benchmarks/document.md or measure again, and then `make bench-report`"
    )


@pytest.mark.parametrize("result", sorted(path.stem for path in results.FOLDER.glob("*.json")))
def test_a_raw_result_that_is_edited_by_hand_gives_another_document(result):
    reports = results.load_all()
    figures = [replace(figure, value=figure.value * 2 + 1) for figure in reports[result].figures]
    edited = reports | {result: replace(reports[result], figures=figures)}
    template = document.TEMPLATE.read_text(encoding="utf-8")
    assert document.generated(template, edited) != document.DOCUMENT.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", sorted(results.FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_a_raw_result_has_what_a_figure_means_nothing_without(path):
    text = path.read_text(encoding="utf-8")
    plain = json.loads(text)
    assert results.load(path) == results.report_of(plain)
    assert plain["question"].splitlines()[0].endswith("?")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", plain["date"])
    assert re.fullmatch(r"[0-9a-f]{40}", plain["commit"])
    assert {"processor", "cores", "memory_gib"} <= plain["machine"].keys()
    assert {"scale", "workers", "seed"} <= plain["parameters"].keys()
    assert plain["parameters"]["smoke"] is False
    for figure in plain["figures"]:
        assert Kind(figure["kind"]) is Kind.MEASURED or plain["sources"][figure["source"]]["source"]
        assert {"name", "value", "unit", "repeats"} <= figure.keys()
    if any(figure["kind"] == Kind.MEASURED for figure in plain["figures"]):
        assert {"python", "numpy", "numba", "tornado-loops"} <= plain["versions"].keys()
        assert plain["load_average"]
    assert len(text) < 30_000
    assert not re.search(r"/(home|root|tmp|usr|var|work|Users)/", text)
    assert not re.search(rf"\b{re.escape(os.uname().nodename)}\b", text)


def test_no_other_document_states_what_the_benchmarks_measured_of_memory():
    others = {path for place in (".", "docs", "tests") for path in (CHECKOUT / place).glob("*.md")}
    assert len(others) > 10
    for path in others - {document.DOCUMENT, CHECKOUT / "ARCHITECTURE.md"}:
        name, text = path.name, " ".join(path.read_text(encoding="utf-8").split())
        assert not re.search(r"[\d.]+ bytes an edge", text), name
    text = " ".join((CHECKOUT / "ARCHITECTURE.md").read_text(encoding="utf-8").split())
    # The bound is a rule of ours, not a figure.
    assert re.findall(r"[\d.]+ bytes an edge", text) == ["48 bytes an edge"]


def test_a_section_ends_with_what_its_figures_are():
    there = Figure("theirs", 9.0, "s", kind=Kind.UNKEPT, source="a run before", hardware="an old abacus")
    paper = Figure("paper", 3.0, "s", kind=Kind.PUBLISHED, source="a paper", hardware="32 cores")
    text = shown(
        "## One\n\n{{memory-22: ours}}, {{memory-22: theirs}}, {{memory-22: paper}}.\n\n## Two\n\nNothing.\n",
        memory_22=report_with(Figure("ours", 1.0, "s"), there, paper),
    )
    one, two = text.split("## Two")
    assert "1 s, 9 s†, 3 s‡." in one
    measured, unkept, published = one.strip().splitlines()[-3:]
    assert measured.startswith(
        "- measured here: [memory-22](../benchmarks/results/memory-22.json), 2026-01-31, "
    )
    assert "commit 0123456789, Abacus, 2 cores, 24 GiB, load 0.1 before it" in measured
    assert unkept == "- † measured here, raw result not kept: a run before (an old abacus)."
    assert published == "- ‡ published: a paper (32 cores)."
    assert two == "\n\nNothing.\n"


def test_a_run_of_changed_files_says_so():
    changed = report_with(Figure("ours", 1.0, "s"))
    changed.facts = FACTS | {"changed_files": 3}
    assert "commit 0123456789 with 3 changed files" in shown("{{memory-22: ours}}", memory_22=changed)


def test_a_missed_bound_is_bold_and_listed():
    reports = {
        "memory_22": report_with(
            Figure("slow", 3.0, "s", at_most=2.0),
            Figure("  fast", 1.0, "s", at_most=2.0),
            Figure("free", 1.0, "s"),
        )
    }
    assert shown("{{memory-22: slow}}", **reports).startswith("**3 s**\n")
    assert shown("{{memory-22: fast}}", **reports).startswith("1 s\n")
    assert shown("{{memory-22: slow | bound}}", **reports).startswith("at most 2 s: **missed**\n")
    assert shown("{{memory-22: fast | bound}}", **reports).startswith("at most 2 s: met\n")
    assert shown("{{memory-22: free | bound}}", **reports).startswith("no bound\n")
    assert [line for line in shown("{{missed}}", **reports).splitlines() if "memory-22" in line] == [
        "| memory-22 | slow | 3 s | at most 2 s |"
    ]


@pytest.mark.parametrize(
    ("figure", "text"),
    [
        (Figure("x", 1_085_734.0, "edges/s"), "1,090,000 edges/s"),
        (Figure("x", 38.46, "x"), "38.5 ×"),  # noqa: RUF001  # the sign
        (Figure("x", 0.3333333, "of the rate"), "33.3 %"),
        (Figure("x", 0.0, ""), "0"),
        (Figure("x", 4.1, "ms"), "4.1 ms"),
        (Figure("x", 0.000213, "s"), "0.000213 s"),
    ],
)
def test_a_figure_has_three_digits_and_its_unit(figure, text):
    assert shown("{{memory-22: x}}", memory_22=report_with(figure)).split("\n")[0] == text


def test_a_run_that_is_not_there_shows_as_a_dash():
    assert (
        shown("{{memory-20: settled}}, {{data memory-20: edges}}") == f"{document.ABSENT}, {document.ABSENT}"
    )


def test_a_figure_that_a_failed_run_did_not_reach_shows_as_a_dash_and_the_failure_is_told():
    text = shown("{{memory-22: settled}}", memory_22=report_with(failure="OutOfTime: the limit is reached"))
    assert text.startswith(document.ABSENT)
    assert "- memory-22 failed: OutOfTime: the limit is reached" in text


@pytest.mark.parametrize(
    "reference",
    [
        "memory-22: setled",
        "memry-22: settled",
        "memory-22: settled | bald",
        "table of contents",
        "plot of a novel",
        "question scratches",
    ],
)
def test_a_reference_to_what_there_is_not_is_an_error(reference):
    with pytest.raises(document.UnknownReference, match=re.escape(reference)):
        shown(f"{{{{{reference}}}}}", memory_22=report_with(Figure("settled", 1.0, "MiB")))


def test_every_benchmark_every_table_and_every_plot_is_in_the_document():
    template = document.TEMPLATE.read_text(encoding="utf-8")
    assert {name for name in CATALOGUE if f"{{{{question {name}}}}}" not in template} == set()
    assert {name for name in document.ALL_TABLES if f"{{{{table {name}}}}}" not in template} == set()
    assert {name for name in plots.PLOTS if f"{{{{plot {name}}}}}" not in template} == set()


@pytest.mark.parametrize(
    ("arguments", "folder"),
    [([], results.FOLDER), (["--smoke"], None), (["--output", "elsewhere"], "elsewhere")],
)
def test_only_a_real_run_replaces_the_results_and_the_document(arguments, folder, monkeypatch):
    asked_for, written = [], []
    monkeypatch.setattr(command, "_run", lambda _, folder: asked_for.append(folder) or [])
    monkeypatch.setattr(document, "write", lambda: written.append(True))
    assert command.main(arguments) == 0
    assert [folder and str(folder) for folder in asked_for] == [folder and str(folder)]
    assert written == [True] * (folder == results.FOLDER)


def test_report_generates_the_document_and_measures_nothing(monkeypatch):
    written = []
    monkeypatch.setattr(document, "write", lambda: written.append(True))
    monkeypatch.setattr(command, "_run_apart", lambda *_: pytest.fail("something is measured"))
    assert command.main(["report"]) == 0
    assert written == [True]
