"""Raw results: one JSON file for each benchmark, scale and engine, in the repository.

`benchmarks/results/` has what the newest run found, `docs/benchmarks.md` is made of it (`document.py`), and the history of the
repository has the runs before. A file is a few kilobytes, a figure is one line, so that two runs can be compared by ``git diff``.
No file names a machine, a user or a place.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from .harness import CHECKOUT, Figure, Kind, Report, Settings

SCHEMA = 1
FOLDER = CHECKOUT / "benchmarks" / "results"


def name_of(benchmark: str, settings: Settings, *, by_engine: bool) -> str:
    """Return the name of a run's file, without its ending: a benchmark without a graph has no scale in it."""
    parts = [benchmark, str(settings.scale) if settings.scale else "", settings.engine if by_engine else ""]
    return "-".join(part for part in parts if part)


def plain_of(report: Report) -> dict[str, Any]:
    """Return a report as plain data, in the schema of the files.

    Where figures are from that the run did not measure is said once, under `sources`; a figure has the position there.
    """
    sources: list[dict[str, str | None]] = []
    figures = [_plain_figure(figure, sources) for figure in report.figures]
    return {
        "schema": SCHEMA,
        "benchmark": report.benchmark,
        "question": report.question,
        **report.facts,
        "parameters": asdict(report.settings) | {"workers": list(report.settings.workers)},
        "data": report.data,
        "elapsed_s": report.elapsed_s,
        "failure": report.failure,
        "notes": report.notes,
        "sources": sources,
        **({"series": report.series} if report.series else {}),
        "figures": figures,
    }


def report_of(plain: Mapping[str, Any]) -> Report:
    """Read back what `plain_of` gave.

    Raises
    ------
    ValueError
        The file has another schema.
    """
    if plain.get("schema") != SCHEMA:
        raise ValueError(
            f"a raw result has schema {plain.get('schema')!r} but must have {SCHEMA}: run its benchmark again"
        )
    known = {"schema", "parameters", "sources"} | {field.name for field in fields(Report)}
    parameters = plain["parameters"]
    return Report(
        benchmark=plain["benchmark"],
        question=plain["question"],
        settings=Settings(**parameters | {"workers": tuple(parameters["workers"])}),
        facts={name: value for name, value in plain.items() if name not in known},
        data=plain["data"],
        figures=[_figure(figure, plain["sources"]) for figure in plain["figures"]],
        series=plain.get("series", {}),
        notes=plain["notes"],
        failure=plain["failure"],
        elapsed_s=plain["elapsed_s"],
    )


def save(report: Report, path: Path) -> None:
    """Write a report, whole or not at all."""
    plain = plain_of(report)
    figures = plain.pop("figures")
    lines = [f" {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in plain.items()]
    rows = [f"  {json.dumps(figure, ensure_ascii=False)}" for figure in figures]
    lines.append(' "figures": [\n' + ",\n".join(rows) + "\n ]")
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    unfinished.replace(path)


def load(path: Path) -> Report:
    """Read a report from its file."""
    return report_of(json.loads(path.read_text(encoding="utf-8")))


def load_all(folder: Path = FOLDER) -> dict[str, Report]:
    """Read every report of a folder, by the name of its file."""
    return {path.stem: load(path) for path in sorted(folder.glob("*.json"))}


def _plain_figure(figure: Figure, sources: list[dict[str, str | None]]) -> dict[str, Any]:
    plain = {name: value for name, value in asdict(figure).items() if value is not None}
    source = {name: plain.pop(name, None) for name in ("source", "hardware")}
    if any(source.values()):
        if source not in sources:
            sources.append(source)
        plain["source"] = sources.index(source)
    if figure.met is not None:
        plain["met"] = figure.met
    return plain


def _figure(plain: Mapping[str, Any], sources: Sequence[Mapping[str, str | None]]) -> Figure:
    given = {name: value for name, value in plain.items() if name not in {"met", "source"}}
    source = sources[plain["source"]] if "source" in plain else {}
    return Figure(**given | {"kind": Kind(plain["kind"])} | dict(source))
