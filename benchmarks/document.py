"""`docs/benchmarks.md`, generated from the raw results and a template: no figure in it is written by hand.

The template (`document.md`) is the document with references in double braces:

- ``{{RESULT: FIGURE}}``: a figure of `results/RESULT.json` with its unit; bold where it misses its bound, marked where this run did
  not measure it.
- ``{{RESULT: FIGURE | bound}}``: its bound, and whether it is met.
- ``{{RESULT: FIGURE | bare}}``: without its unit, where the head of a column has it.
- ``{{data RESULT: NAME}}``: what a run says of its data.
- ``{{question BENCHMARK}}``: the docstring of a benchmark.
- ``{{table NAME}}``: a table of such references (`tables.py`, `figure_tables.py`).
- ``{{plot NAME}}``: a plot (`plots.py`), which is drawn beside the document.
- ``{{marks}}``: what the marks mean; ``{{missed}}``, ``{{runs}}``: tables of all missed bounds, and of all runs.

Each section ends with what its figures are: measured here with date, commit and machine, or from where else. A result that is not
there shows as a dash, a figure that its result does not have is an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from . import plots, results
from .catalogue import CATALOGUE
from .figure_tables import FIGURE_TABLES
from .harness import CHECKOUT, Figure, Kind, Report
from .tables import TABLES

TEMPLATE = CHECKOUT / "benchmarks" / "document.md"
DOCUMENT = CHECKOUT / "docs" / "benchmarks.md"
ALL_TABLES = TABLES | FIGURE_TABLES
ABSENT = "–"  # noqa: RUF001  # a dash
MARKS = {Kind.MEASURED: "", Kind.UNKEPT: "†", Kind.PUBLISHED: "‡"}

_REFERENCE = re.compile(r"\{\{(.+?)\}\}", re.DOTALL)
_TABLE = re.compile(r"\{\{table (.+?)\}\}")
_SECTION = re.compile(r"(?m)^(?=## )")
_SHORT_COMMIT = 10


class UnknownReference(Exception):
    """The template names something that there is not."""


def write() -> None:
    """Generate the document, and its plots, from what lies in the repository."""
    reports = results.load_all()
    DOCUMENT.write_text(generated(TEMPLATE.read_text(encoding="utf-8"), reports), encoding="utf-8")
    plots.write(reports)


def generated(template: str, reports: Mapping[str, Report]) -> str:
    """Return the document.

    Parameters
    ----------
    template : str
        See the module.
    reports : mapping
        The raw results by the names of their files.

    Raises
    ------
    UnknownReference
        The template names a benchmark, a figure or a way to show it that there is not.
    """
    return "".join(_Section(reports).written(section) for section in _SECTION.split(template))


class _Section:
    """One section of the document, and which figures it shows."""

    def __init__(self, reports: Mapping[str, Report]) -> None:
        self._reports = reports
        self._shown: dict[str, list[Figure]] = {}

    def written(self, template: str) -> str:
        text = _TABLE.sub(lambda found: _table(found.group(1)), template)
        text = _REFERENCE.sub(lambda found: self._replaced(found.group(1).strip()), text)
        about = self._about()
        return f"{text.rstrip()}\n\n{about}\n\n" if about else text

    def _replaced(self, reference: str) -> str:
        if reference in _WHOLE:
            return _WHOLE[reference](self._reports)
        kind, _, rest = reference.partition(" ")
        if kind == "question":
            if rest not in CATALOGUE:
                raise UnknownReference(f"{{{{{reference}}}}}: no benchmark is called {rest!r}")
            return CATALOGUE[rest].question.strip()
        if kind == "plot":
            return self._plot(reference, rest)
        name, colon, what = (rest if kind == "data" else reference).partition(":")
        if not colon or not (name in self._reports or _of_the_catalogue(name)):
            raise UnknownReference(
                f"{{{{{reference}}}}}: a reference is RESULT: FIGURE, and no result is {name!r}"
            )
        report = self._reports.get(name)
        if report is None:
            return ABSENT
        if kind == "data":
            self._shown.setdefault(name, [])
            return _plain(report.data.get(what.strip()))
        figure_name, _, how = (part.strip() for part in what.partition("|"))
        return self._figure(reference, name, report, figure_name, how)

    def _plot(self, reference: str, name: str) -> str:
        if name not in plots.PLOTS:
            raise UnknownReference(f"{{{{{reference}}}}}: there is no such plot in benchmarks/plots.py")
        result = plots.PLOTS[name].result
        report = self._reports.get(result)
        if report is None or not plots.is_there(name, report):
            return ABSENT
        self._shown.setdefault(result, [])
        return f"![{plots.PLOTS[name].title}](figures/{name}.svg)"

    def _figure(self, reference: str, result: str, report: Report, name: str, how: str) -> str:
        figure = next((one for one in report.figures if one.name.strip() == name), None)
        shown = self._shown.setdefault(result, [])
        if figure is None:
            if not _is_complete(report):
                return ABSENT
            raise UnknownReference(
                f"{{{{{reference}}}}}: {result}.json has no such figure; it has "
                + ", ".join(repr(one.name.strip()) for one in report.figures)
            )
        shown.append(figure)
        if how == "bound":
            return _bound(figure)
        if how not in {"", "bare"}:
            raise UnknownReference(
                f"{{{{{reference}}}}}: a figure is shown bare or as bound or range, not as {how!r}"
            )
        text = _quantity(figure.value, "" if how == "bare" else figure.unit) + MARKS[figure.kind]
        return f"**{text}**" if figure.met is False else text

    def _about(self) -> str:
        """Say of everything in this section what it is."""
        lines = []
        for result, figures in sorted(self._shown.items()):
            report = self._reports[result]
            if any(figure.kind is Kind.MEASURED for figure in figures or report.figures):
                lines.append(f"- {Kind.MEASURED}: {_run(result, report)}.")
            if report.failure:
                lines.append(f"- {result} failed: {report.failure}")
        others = {
            f"- {MARKS[figure.kind]} {figure.kind}: {figure.source} ({figure.hardware})."
            for figures in self._shown.values()
            for figure in figures
            if figure.kind is not Kind.MEASURED
        }
        return "\n".join([*lines, *sorted(others)])


def _of_the_catalogue(result: str) -> bool:
    return any(result == name or result.startswith(f"{name}-") for name in CATALOGUE)


def _is_complete(report: Report) -> bool:
    """Whether a report must have every figure: not one that failed, nor one of which only some figures are known."""
    return report.failure is None and any(figure.kind is Kind.MEASURED for figure in report.figures)


def _run(result: str, report: Report) -> str:
    machine = report.facts["machine"]
    commit = (report.facts.get("commit") or "unknown")[:_SHORT_COMMIT]
    changed = report.facts.get("changed_files")
    return (
        f"[{result}](../benchmarks/results/{result}.json), {report.facts['date'][:10]}, commit {commit}"
        + (f" with {changed} changed file{'s' * (changed > 1)}" if changed else "")
        + f", {machine['processor']}, {machine['cores']} cores, {machine['memory_gib']:g} GiB, "
        f"load {report.facts['load_average'][0]:g} before it"
    )


def _table(name: str) -> str:
    if name not in ALL_TABLES:
        raise UnknownReference(f"{{{{table {name}}}}}: there is no such table in benchmarks/tables.py")
    return ALL_TABLES[name]()


def _marks(_: Mapping[str, Report]) -> str:
    return "\n".join(f"- {mark} *{kind}*" for kind, mark in MARKS.items() if mark)


def _missed(reports: Mapping[str, Report]) -> str:
    rows = [
        f"| {result} | {figure.name.strip()} | {_quantity(figure.value, figure.unit)} | {_limit(figure)} |"
        for result, report in sorted(reports.items())
        for figure in report.figures
        if figure.met is False
    ]
    return "\n".join(["| run | figure | is | bound |", "|---|---|---|---|", *rows]) if rows else "None."


def _runs(reports: Mapping[str, Report]) -> str:
    rows = []
    for result, report in sorted(reports.items()):
        facts, versions = report.facts, report.facts["versions"]
        load = facts["load_average"][0] if facts.get("load_average") else None
        rows.append(
            f"| [{result}](../benchmarks/results/{result}.json) | {facts['date'].replace('T', ' ').rstrip('Z')} "
            f"| {f'{report.elapsed_s:.0f} s' if report.elapsed_s else ''} | {ABSENT if load is None else f'{load:.2f}'} "
            f"| {versions.get('python') or ABSENT} | {versions.get('numpy') or ABSENT} "
            f"| {versions.get('numba') or ABSENT} | {versions.get('tornado-loops') or ABSENT} "
            f"| {report.failure or ('complete' if _is_complete(report) else Kind.UNKEPT)} |"
        )
    total_min = sum(report.elapsed_s for report in reports.values()) / 60
    head = "| run | begun (UTC) | took | load before | Python | NumPy | Numba | package | |"
    return "\n".join(
        [head, "|---|---|---|---|---|---|---|---|---|", *rows, "", f"All of it took {total_min:.0f} minutes."]
    )


def _bound(figure: Figure) -> str:
    if figure.met is None:
        return "no bound"
    return f"{_limit(figure)}: {'met' if figure.met else '**missed**'}"


def _limit(figure: Figure) -> str:
    if figure.at_least is not None:
        return f"at least {_quantity(figure.at_least, figure.unit)}"
    assert figure.at_most is not None
    return f"at most {_quantity(figure.at_most, figure.unit)}"


_WHOLE: dict[str, Callable[[Mapping[str, Report]], str]] = {"marks": _marks, "missed": _missed, "runs": _runs}


def _quantity(value: float, unit: str) -> str:
    """Return a number of three digits with its unit."""
    if unit == "of the rate":
        return f"{_digits(value * 100)} %"
    return _digits(value) + {"": "", "x": " ×"}.get(unit, f" {unit}")  # noqa: RUF001  # the sign


def _digits(value: float) -> str:
    if value == 0:
        return "0"
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 100 else f"{rounded:g}"


def _plain(value: object) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:,}"
    return ABSENT if value is None else str(value)
