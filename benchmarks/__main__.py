"""Run the benchmarks: ``python -m benchmarks [--only NAME] [--scale 16,20,22] [--smoke]``; ``python -m benchmarks report``.

A run replaces the raw results of what it runs in `benchmarks/results/`, each as soon as it is there and also where it failed (then with
the failure and what was measured before), and generates `docs/benchmarks.md` anew; ``report`` only generates. A smoke run measures nothing properly and writes neither.

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
from dataclasses import asdict
from pathlib import Path

from . import document, results
from .catalogue import CATALOGUE, run_entry
from .harness import CHECKOUT, Report, Settings, machine_facts, print_table


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line asks for; return the exit code."""
    asked = _parser().parse_args(arguments)
    if asked.child:
        return _child(*asked.child)
    folder = asked.output or (None if asked.smoke else results.FOLDER)
    reports = _run(asked, folder) if asked.command == "run" else []
    if folder == results.FOLDER:
        document.write()
        print(f"{document.DOCUMENT.relative_to(CHECKOUT)} is generated from {folder.relative_to(CHECKOUT)}")
    missed = [figure.name for report in reports for figure in report.figures if figure.met is False]
    if missed:
        print(f"{len(missed)} of the bounds are missed")
    return 1 if any(report.failure for report in reports) or (asked.strict and missed) else 0


def _run(asked: argparse.Namespace, folder: Path | None) -> list[Report]:
    reports = []
    for name in asked.only or list(CATALOGUE):
        for engine in _engines(name, asked.engine, smoke=asked.smoke):
            for scale in _scales(name, asked.scale, smoke=asked.smoke):
                settings = Settings(
                    scale=scale,
                    seed=asked.seed,
                    workers=tuple(asked.workers),
                    engine=engine or "threads",
                    hold_s=asked.hold_s,
                )
                settings = settings.smaller() if asked.smoke else settings
                result = results.name_of(name, settings, by_engine=engine is not None)
                print(f"{result} …", file=sys.stderr, flush=True)
                reports.append(_run_apart(name, settings))
                if folder is not None:
                    results.save(reports[-1], folder / f"{result}.json")
    print_table(reports)
    return reports


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    numbers = _numbers
    parser.add_argument(
        "command",
        nargs="?",
        choices=["run", "report"],
        default="run",
        help="run benchmarks (default), or only generate the document from the raw results",
    )
    parser.add_argument(
        "--scale", type=numbers, help="scales of the graphs, such as 16,20 (default: each benchmark's own)"
    )
    parser.add_argument(
        "--only", action="append", choices=list(CATALOGUE), help="run this one (may be repeated)"
    )
    parser.add_argument(
        "--engine",
        type=_names,
        help="engines, such as processes,spark, where each is run by itself (default: all)",
    )
    parser.add_argument("--workers", type=numbers, default=[1, 2], help="numbers of workers (default: 1,2)")
    parser.add_argument(
        "--hold-s", type=float, default=60.0, help="seconds for which a rate is held (default: 60)"
    )
    parser.add_argument("--seed", type=int, default=1, help="chooses graph and stream (default: 1)")
    parser.add_argument("--smoke", action="store_true", help="a few seconds each: does everything work?")
    parser.add_argument("--strict", action="store_true", help="a missed bound is a failure")
    parser.add_argument(
        "--output", type=Path, help="the folder of raw results, in place of benchmarks/results/"
    )
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    return parser


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def _names(text: str) -> list[str]:
    return text.split(",")


def _engines(name: str, asked: list[str] | None, *, smoke: bool) -> tuple[str | None, ...]:
    """Return the engines that one benchmark is run for by itself, None where it does not ask for any."""
    own = CATALOGUE[name].engines
    if own is None:
        return (None,)
    chosen = tuple(engine for engine in own if asked is None or engine in asked)
    return chosen[:1] if smoke and asked is None else chosen


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
            report = results.load(result)
        else:
            report = Report(name, CATALOGUE[name].question.strip(), settings, machine_facts())
        report.failure = report.failure or failure
        return report


def _child(name: str, settings: str, result: str) -> int:
    plain = json.loads(settings)
    results.save(run_entry(name, Settings(**plain | {"workers": tuple(plain["workers"])})), Path(result))
    return 0


if __name__ == "__main__":
    # Whoever ends this program ends what it measures with: the child is in a process group of its own.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    sys.exit(main())
