"""Which benchmarks there are, and at which scales they run unless asked otherwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from . import (
    admission,
    balance,
    bases,
    changes,
    checkpoints,
    engines,
    failure_figures,
    figures,
    further,
    learning,
    learning_figures,
    loops,
    memory,
    pipeline,
    programs,
    queries,
    rank_peers,
    ranks,
    recovery,
    roads,
    scratch,
    startup,
    structure,
    topic,
    turnover,
    validation,
)
from .harness import Clock, Report, Settings, run_benchmark
from .system import LiveSystem, SystemFactory

Measure = Callable[[Report, Settings, Clock, SystemFactory], None]


@dataclass(frozen=True, slots=True)
class Entry:
    """A benchmark: its question, its code, the scales that the project's targets name, and the engines it is run for each."""

    question: str
    measure: Measure
    scales: tuple[int, ...]
    engines: tuple[str, ...] | None = None


def _measure_startup(report: Report, settings: Settings, clock: Clock, _: SystemFactory) -> None:
    startup.measure(report, settings, clock)


def _measure_further(report: Report, settings: Settings, clock: Clock, _: SystemFactory) -> None:
    further.measure(report, settings, clock)


def _measure_topic(report: Report, settings: Settings, clock: Clock, _: SystemFactory) -> None:
    topic.measure(report, settings, clock)


def _measure_engines(report: Report, settings: Settings, clock: Clock, _: SystemFactory) -> None:
    engines.measure(report, settings, clock)


def _measure_programs(report: Report, settings: Settings, clock: Clock, _: SystemFactory) -> None:
    programs.measure(report, settings, clock)


def _measure_loops(report: Report, settings: Settings, clock: Clock, _: SystemFactory) -> None:
    loops.measure(report, settings, clock)


def _measure_ranks(report: Report, settings: Settings, clock: Clock, _: SystemFactory) -> None:
    ranks.measure(report, settings, clock)


def _measure_rank_peers(report: Report, settings: Settings, clock: Clock, _: SystemFactory) -> None:
    rank_peers.measure(report, settings, clock)


def _measure_structure(report: Report, settings: Settings, clock: Clock, _: SystemFactory) -> None:
    structure.measure(report, settings, clock)


def _measure_figures(report: Report, settings: Settings, clock: Clock, _: SystemFactory) -> None:
    figures.measure(report, settings, clock)


def _measure_failure_figures(report: Report, settings: Settings, clock: Clock, _: SystemFactory) -> None:
    failure_figures.measure(report, settings, clock)


def _measure_recovery(report: Report, settings: Settings, clock: Clock, _: SystemFactory) -> None:
    recovery.measure(report, settings, clock)


def _measure_balance(report: Report, settings: Settings, clock: Clock, _: SystemFactory) -> None:
    balance.measure(report, settings, clock)


def _measure_learning(report: Report, settings: Settings, clock: Clock, _: SystemFactory) -> None:
    learning.measure(report, settings, clock)


def _measure_learning_figures(report: Report, settings: Settings, clock: Clock, _: SystemFactory) -> None:
    learning_figures.measure(report, settings, clock)


def _measure_validation(report: Report, settings: Settings, clock: Clock, _: SystemFactory) -> None:
    validation.measure(report, settings, clock)


def _measure_pipeline(report: Report, settings: Settings, clock: Clock, _: SystemFactory) -> None:
    pipeline.measure(report, settings, clock)


def _measure_checkpoints(report: Report, settings: Settings, clock: Clock, _: SystemFactory) -> None:
    checkpoints.measure(report, settings, clock)


def _measure_bases(report: Report, settings: Settings, clock: Clock, _: SystemFactory) -> None:
    bases.measure(report, settings, clock)


def _measure_turnover(report: Report, settings: Settings, clock: Clock, _: SystemFactory) -> None:
    turnover.measure(report, settings, clock)


CATALOGUE: dict[str, Entry] = {
    "startup": Entry(startup.__doc__ or "", _measure_startup, (0,)),
    "further": Entry(further.__doc__ or "", _measure_further, (0,)),
    "scratch": Entry(scratch.__doc__ or "", scratch.measure, (16, 20, 22)),
    "changes": Entry(changes.__doc__ or "", changes.measure, (18, 20)),
    "roads": Entry(roads.__doc__ or "", roads.measure, (0,)),
    "programs": Entry(programs.__doc__ or "", _measure_programs, (20,)),
    "loops": Entry(loops.__doc__ or "", _measure_loops, (20,)),
    "ranks": Entry(ranks.__doc__ or "", _measure_ranks, (18, 20)),
    "rank_peers": Entry(rank_peers.__doc__ or "", _measure_rank_peers, (18,)),
    "structure": Entry(structure.__doc__ or "", _measure_structure, (18, 20)),
    "figures": Entry(figures.__doc__ or "", _measure_figures, (17,)),
    "failure_figures": Entry(failure_figures.__doc__ or "", _measure_failure_figures, (17,)),
    "learning": Entry(learning.__doc__ or "", _measure_learning, (0,)),
    "learning_figures": Entry(learning_figures.__doc__ or "", _measure_learning_figures, (0,)),
    "validation": Entry(validation.__doc__ or "", _measure_validation, (0,)),
    "admission": Entry(admission.__doc__ or "", admission.measure, (20,)),
    "queries": Entry(queries.__doc__ or "", queries.measure, (20, 22)),
    "memory": Entry(memory.__doc__ or "", memory.measure, (20, 22)),
    "engines": Entry(engines.__doc__ or "", _measure_engines, (20,)),
    "checkpoints": Entry(
        checkpoints.__doc__ or "", _measure_checkpoints, (20,), ("threads", "processes", "spark")
    ),
    "recovery": Entry(recovery.__doc__ or "", _measure_recovery, (20,), ("threads", "processes", "spark")),
    "balance": Entry(balance.__doc__ or "", _measure_balance, (18,)),
    "bases": Entry(bases.__doc__ or "", _measure_bases, (20,), ("threads", "processes", "spark")),
    "turnover": Entry(turnover.__doc__ or "", _measure_turnover, (16, 18, 20)),
    "topic": Entry(topic.__doc__ or "", _measure_topic, (0,)),
    "pipeline": Entry(pipeline.__doc__ or "", _measure_pipeline, (0,)),
}


def run_entry(name: str, settings: Settings, start: SystemFactory = LiveSystem) -> Report:
    """Run one benchmark of the catalogue in this process."""
    entry = CATALOGUE[name]
    return run_benchmark(
        name,
        entry.question,
        settings,
        lambda report, settings, clock: entry.measure(report, settings, clock, start),
    )
