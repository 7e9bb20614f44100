"""What a measurement is: figures with their units and bounds, and the facts without which they mean nothing.

A benchmark fills a `Report`. Every figure is kept, whether or not it meets its bound; a bound comes from the project's
targets, a ratio from two figures of the same run on the same machine. Each figure says its `Kind`: a figure that this run did not
measure stands beside under its own kind with its source, and so does every ratio to it.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import psutil

CHECKOUT = Path(__file__).resolve().parent.parent
_PACKAGES = (
    "tornado-loops",
    "numpy",
    "numba",
    "llvmlite",
    "fastapi",
    "starlette",
    "uvicorn",
    "pyarrow",
    "lmdb",
    "networkx",
    "scikit-learn",
    "river",
    "scipy",
    "kafka-python",
    "pyspark",
    "pyzmq",
)
# What a run writes itself does not make its checkout another one.
_WRITTEN = (":!benchmarks/results", ":!docs/benchmarks.md", ":!docs/figures")


class OutOfTime(Exception):
    """A benchmark did not end within its time; what it had measured by then is kept."""


class WrongAnswer(Exception):
    """The measured system gave an answer that the oracle does not: no figure of that run counts."""


class Kind(StrEnum):
    """What a figure is; in the document as in the raw results."""

    MEASURED = "measured here"
    """By the command, in the run whose raw result has it."""
    UNKEPT = "measured here, raw result not kept"
    """By this project, in another run of which only the figure is known, perhaps on another machine."""
    PUBLISHED = "published"
    """By others, on other hardware."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a benchmark runs.

    Parameters
    ----------
    scale : int
        The graph has 2**scale vertices.
    workers : tuple of int
        Each number of workers is measured.
    engine : str
        Where the workers run, in a benchmark that is run for each engine by itself.
    seed : int
        Chooses graph and stream.
    smoke : bool
        Shortened to a few seconds: says whether everything works, not how fast it is, so bounds are not judged.
    hold_s : float
        For how long a rate must be held.
    queries : int
        How many queries are asked.
    limit_s : float
        After so long the benchmark gives up.
    """

    scale: int
    workers: tuple[int, ...] = (1, 2)
    engine: str = "threads"
    seed: int = 1
    smoke: bool = False
    hold_s: float = 60.0
    queries: int = 300
    limit_s: float = 1_800.0

    def smaller(self) -> Settings:
        """Return the smoke version of these settings."""
        return replace(self, scale=min(self.scale, 12), smoke=True, hold_s=0.5, queries=20, limit_s=120.0)


class Clock:
    """Says how much of a benchmark's time is left, and ends it when there is none."""

    def __init__(self, limit_s: float) -> None:
        self._end_s = time.monotonic() + limit_s
        self._limit_s = limit_s

    def left_s(self) -> float:
        """Return the seconds left.

        Raises
        ------
        OutOfTime
            There are none.
        """
        left = self._end_s - time.monotonic()
        if left <= 0:
            raise OutOfTime(f"the limit of {self._limit_s:g} s is reached")
        return left


@dataclass(frozen=True, slots=True)
class Figure:
    """One number, with the bound it has to meet, if any.

    Parameters
    ----------
    name, unit : str
        What it is, and of what.
    value : float
        The number.
    at_least, at_most : float, optional
        Its bound.
    kind : Kind
        What sort of number it is.
    source, hardware : str, optional
        Who found it and on what, where this run did not.
    repeats : int
        How often it was measured.
    median, least, greatest : float, optional
        Of the repeats, in the figure's unit, where there were several.
    load : float, optional
        The machine's load average over the last minute when the figure was kept, this benchmark's own share included.
    """

    name: str
    value: float
    unit: str
    at_least: float | None = None
    at_most: float | None = None
    kind: Kind = Kind.MEASURED
    source: str | None = None
    hardware: str | None = None
    repeats: int = 1
    median: float | None = None
    least: float | None = None
    greatest: float | None = None
    load: float | None = None

    @property
    def met(self) -> bool | None:
        """Whether the bound is met; None where there is none."""
        if self.at_least is not None:
            return self.value >= self.at_least
        return self.value <= self.at_most if self.at_most is not None else None


@dataclass(slots=True)
class Report:
    """Everything one benchmark found at one scale."""

    benchmark: str
    question: str
    settings: Settings
    facts: dict[str, Any]
    data: dict[str, Any] = field(default_factory=dict)
    figures: list[Figure] = field(default_factory=list)
    series: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    failure: str | None = None
    elapsed_s: float = 0.0

    def add(
        self,
        name: str,
        value: float,
        unit: str,
        *,
        at_least: float | None = None,
        at_most: float | None = None,
        of: Sequence[float] = (),
        kind: Kind = Kind.MEASURED,
        source: str | None = None,
        hardware: str | None = None,
    ) -> None:
        """Keep a figure and print it; in a smoke run bounds are left out, since nothing was measured properly.

        Parameters
        ----------
        name, value, unit, at_least, at_most, kind, source, hardware
            See `Figure`.
        of : sequence of float
            The repeats, in the same unit, that the value was chosen from.
        """
        several = [_digits(one) for one in of]
        self._keep(
            Figure(
                name,
                _digits(value),
                unit,
                None if self.settings.smoke or at_least is None else _digits(at_least),
                None if self.settings.smoke or at_most is None else _digits(at_most),
                kind=kind,
                source=source,
                hardware=hardware,
                repeats=max(1, len(several)),
                median=quantile(several, 0.5) if several else None,
                least=min(several, default=None),
                greatest=max(several, default=None),
                load=round(os.getloadavg()[0], 2),
            )
        )

    def quote(self, name: str, value: float, unit: str, *, kind: Kind, source: str, hardware: str) -> None:
        """Keep a figure that this run did not measure, with where it is from."""
        self._keep(Figure(name, _digits(value), unit, kind=kind, source=source, hardware=hardware))

    def add_series(self, name: str, **columns: Sequence[float]) -> None:
        """Keep what was measured at several points, for a plot: columns of one length."""
        if name in self.series:
            raise ValueError(f"there is a series called {name!r} already")
        self.series[name] = {
            column: [float(f"{value:.4g}") for value in values] for column, values in columns.items()
        }

    def spread(
        self,
        name: str,
        seconds: Sequence[float],
        *,
        p50_at_most_ms: float | None = None,
        p99_at_most_ms: float | None = None,
        p95: bool = True,
        p99: bool = True,
    ) -> float:
        """Keep the median and the tail of latencies, in ms; return the median in seconds."""
        median = quantile(seconds, 0.5)
        of = [second * 1e3 for second in seconds]
        self.add(f"{name}, p50", median * 1e3, "ms", at_most=p50_at_most_ms, of=of)
        if p99:
            if p95:
                self.add(f"{name}, p95", quantile(of, 0.95), "ms")
            self.add(f"{name}, p99", quantile(of, 0.99), "ms", at_most=p99_at_most_ms)
        return median

    def value(self, name: str) -> float:
        """Return a figure kept before."""
        return next(figure.value for figure in self.figures if figure.name == name)

    def _keep(self, figure: Figure) -> None:
        if any(known.name.strip() == figure.name.strip() for known in self.figures):
            raise ValueError(
                f"there is a figure called {figure.name!r} already; say what is different about this one"
            )
        self.figures.append(figure)
        print(f"  {_line(figure)}", file=sys.stderr, flush=True)


def run_benchmark(
    name: str, question: str, settings: Settings, measure: Callable[[Report, Settings, Clock], None]
) -> Report:
    """Run one benchmark in this process; whatever ends it, the report has what was measured until then.

    Parameters
    ----------
    name, question : str
        For the report.
    settings : Settings
        How to run.
    measure : callable
        Fills the report.
    """
    report = Report(name, question.strip(), settings, machine_facts())
    start = time.perf_counter()
    try:
        measure(report, settings, Clock(settings.limit_s))
    except (OutOfTime, WrongAnswer) as error:
        # The rest may be a log, with places on this machine.
        print(error, file=sys.stderr)
        first, *_ = str(error).splitlines() or [""]
        report.failure = f"{type(error).__name__}: {first}"
    finally:
        report.elapsed_s = round(time.perf_counter() - start, 1)
    return report


def timed(function: Callable[..., Any], *arguments: Any, repeats: int = 1) -> tuple[Any, list[float]]:
    """Call a function `repeats` times; return its last result and the seconds of each call."""
    seconds = []
    result = None
    for _ in range(repeats):
        start = time.perf_counter()
        result = function(*arguments)
        seconds.append(time.perf_counter() - start)
    return result, seconds


def quantile(values: Sequence[float], share: float) -> float:
    """Return a quantile that was really measured (the next one above, no interpolation)."""
    return float(np.quantile(np.asarray(values), share, method="higher"))


def machine_facts() -> dict[str, Any]:
    """Return where, when and with what a figure was measured; nothing that names the machine or a place on it."""
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", ".", *_WRITTEN)
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "commit": _git("rev-parse", "HEAD"),
        "changed_files": len((changed or "").splitlines()),
        "machine": {
            "processor": _processor(),
            "cores": os.cpu_count(),
            "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
            "system": platform.system(),
        },
        "load_average": [round(load, 2) for load in os.getloadavg()],
        "versions": {"python": platform.python_version()} | {name: _version(name) for name in _PACKAGES},
    }


def print_table(reports: Sequence[Report]) -> None:
    """Print what was found, missed bounds marked, to standard output."""
    for report in reports:
        settings = report.settings
        print(f"\n{report.benchmark}, scale {settings.scale}, seed {settings.seed}, {report.elapsed_s:.0f} s")
        print(f"  {report.question.splitlines()[0]}")
        for note in report.notes:
            print(f"  ({note})")
        for figure in report.figures:
            print(f"  {_line(figure)}")
        if report.failure:
            print(f"  FAILED: {report.failure}")
    if reports:
        facts = reports[0].facts
        machine = facts["machine"]
        print(
            f"\n{machine['processor']}, {machine['cores']} cores, {machine['memory_gib']:.0f} GiB", end="; "
        )
        print(
            f"load at the start {facts['load_average'][0]:.2f}; commit {(facts['commit'] or 'unknown')[:12]}",
            end="",
        )
        print(f" and {facts['changed_files']} changed files" if facts["changed_files"] else "")
        if reports[0].settings.smoke:
            print("smoke run: the figures say that everything works, nothing more")


def _line(figure: Figure) -> str:
    bound = ""
    if figure.met is not None:
        limit = f"≥ {figure.at_least:,g}" if figure.at_least is not None else f"≤ {figure.at_most:,g}"
        bound = f"   {'met' if figure.met else 'MISSED'}: {limit}"
    kind = "" if figure.kind is Kind.MEASURED else f"   ({figure.kind}: {figure.source})"
    return f"{figure.name:<58} {_number(figure.value):>14} {figure.unit}{bound}{kind}"


def _digits(value: float) -> float:
    """Return six digits: more than any clock here gives, and raw results stay small."""
    return float(f"{value:.6g}")


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.4g}"


def _git(*arguments: str) -> str | None:
    done = subprocess.run(
        ["git", *arguments],  # noqa: S607  # found like any developer finds it
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() if done.returncode == 0 else None


def _processor() -> str:
    facts = Path("/proc/cpuinfo")
    if facts.is_file():
        for line in facts.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
