"""Run the benchmarks: ``python -m benchmarks [--scale 16,20,22] [--smoke] [--only NAME] [--output FILE]``.

Each benchmark runs at each scale in a process of its own, so that none inherits the memory, the threads or the warm caches of
another, and is ended with that process if it exceeds its time. Ends with 0 when everything ran and every answer was exact,
whatever the figures; with ``--strict`` a missed bound counts as a failure too.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

from .catalogue import CATALOGUE, run_entry
from .harness import CHECKOUT, Figure, Report, Settings, machine_facts, print_table, save


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line asks for; return the exit code."""
    asked = _parser().parse_args(arguments)
    if asked.child:
        return _child(*asked.child)
    reports = []
    for name in asked.only or list(CATALOGUE):
        for scale in _scales(name, asked.scale, smoke=asked.smoke):
            settings = Settings(
                scale=scale, seed=asked.seed, workers=tuple(asked.workers), hold_s=asked.hold_s
            )
            settings = replace(settings.smaller(), workers=settings.workers) if asked.smoke else settings
            print(f"{name}, scale {scale} …", file=sys.stderr, flush=True)
            reports.append(_run_apart(name, settings))
    print_table(reports)
    output = asked.output or CHECKOUT / "benchmarks" / "results" / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}.json"
    save(reports, output)
    print(f"written to {output}")
    missed = [figure.name for report in reports for figure in report.figures if figure.met is False]
    if missed:
        print(f"{len(missed)} of the bounds are missed")
    return 1 if any(report.failure for report in reports) or (asked.strict and missed) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    numbers = _numbers
    parser.add_argument(
        "--scale", type=numbers, help="scales of the graphs, such as 16,20 (default: each benchmark's own)"
    )
    parser.add_argument(
        "--only", action="append", choices=list(CATALOGUE), help="run this one (may be repeated)"
    )
    parser.add_argument("--workers", type=numbers, default=[1, 2], help="numbers of workers (default: 1,2)")
    parser.add_argument(
        "--hold-s", type=float, default=60.0, help="seconds for which a rate is held (default: 60)"
    )
    parser.add_argument("--seed", type=int, default=1, help="chooses graph and stream (default: 1)")
    parser.add_argument("--smoke", action="store_true", help="a few seconds each: does everything work?")
    parser.add_argument("--strict", action="store_true", help="a missed bound is a failure")
    parser.add_argument(
        "--output", type=Path, help="the JSON file (default: benchmarks/results/INSTANT.json)"
    )
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    return parser


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def _scales(name: str, asked: list[int] | None, *, smoke: bool) -> tuple[int, ...]:
    """Return the scales for one benchmark; one without a graph (scale 0) runs once, and so does all of a smoke run."""
    own = CATALOGUE[name].scales
    if own == (0,):
        return own
    if smoke:
        return (min([*(asked or own), 12]),)
    return tuple(asked) if asked else own


def _run_apart(name: str, settings: Settings) -> Report:
    with tempfile.TemporaryDirectory(prefix="tornado-bench-") as folder:
        result = Path(folder) / "report.json"
        command = [
            sys.executable,
            "-m",
            "benchmarks",
            "--child",
            name,
            json.dumps(asdict(settings)),
            str(result),
        ]
        process = subprocess.Popen(command, cwd=CHECKOUT, start_new_session=True)
        failure = None
        try:
            # A benchmark watches its own time; this only ends one that hangs where it does not look.
            process.wait(settings.limit_s + 60)
            if process.returncode:
                failure = f"ended with {process.returncode}, see above"
        except subprocess.TimeoutExpired:
            failure = f"did not end within {settings.limit_s + 60:g} s"
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if result.is_file():
            report = _report_of(json.loads(result.read_text(encoding="utf-8")))
        else:
            report = Report(name, CATALOGUE[name].question.strip(), settings, machine_facts())
        report.failure = report.failure or failure
        return report


def _child(name: str, settings: str, result: str) -> int:
    plain = json.loads(settings)
    report = run_entry(name, Settings(**plain | {"workers": tuple(plain["workers"])}))
    Path(result).write_text(json.dumps(report.as_json()), encoding="utf-8")
    return 0


def _report_of(plain: dict[str, object]) -> Report:
    """Read back what `Report.as_json` wrote."""
    fields = {**plain}
    settings: dict[str, object] = fields.pop("settings")  # type: ignore[assignment]
    figures: list[dict[str, object]] = fields.pop("figures")  # type: ignore[assignment]
    for figure in figures:
        del figure["met"]
    return Report(
        settings=Settings(**settings | {"workers": tuple(settings["workers"])}),  # type: ignore[arg-type]
        figures=[Figure(**figure) for figure in figures],  # type: ignore[arg-type]
        **fields,  # type: ignore[arg-type]
    )


if __name__ == "__main__":
    sys.exit(main())
