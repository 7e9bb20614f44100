"""What a loop says about itself: frozen records for people, metrics and tests."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Literal

from .part import PartStatistics, Predicted

Start = Literal["warm", "cold"]
"""With which values a branch begins: those that its main loop has, or the initial ones."""


class BranchState(Enum):
    """Where a branch is."""

    RUNNING = "running"
    CONVERGED = "converged"
    STOPPED = "stopped"
    CANCELLED = "cancelled"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class StoredSizes:
    """What a stream takes in its store.

    Attributes
    ----------
    base_version
        Of the newest snapshot; None without one.
    base_records, base_bytes
        Its edges and points, and what these take.
    log_records, log_bytes
        Of the log, as it is now.
    """

    base_version: int | None
    base_records: int
    base_bytes: int
    log_records: int
    log_bytes: int


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a loop is.

    Attributes
    ----------
    iteration
        The greatest iteration committed.
    updates, prepares
        Commits, and sessions that needed a PREPARE, so far.
    residual
        How much the values changed in the last iteration that did something; 0 once it has converged.
    elapsed_s
        Since it was forked.
    """

    iteration: int
    updates: int
    prepares: int
    residual: float
    elapsed_s: float


@dataclass(frozen=True, slots=True)
class IterationStatistics:
    """What one iteration did, summed over the workers."""

    iteration: int
    updates: int
    prepares: int
    residual: float


@dataclass(frozen=True, slots=True)
class LoopStatistics:
    """A main loop, as it is at the moment.

    Attributes
    ----------
    version
        The number of the prefix that is admitted.
    pending
        Vertices with an update that is not committed.
    cut_edges
        Edges whose ends belong to different workers, which have to tell each other of what changes; the less, the more workers help.
    unplaced_vertices
        Vertices that a placement file lacks, where there is one: they belong to whom the hash of their ids says.
    waves, invalidations
        Waves that ended, each begun where an edge went that a value hung on; and the values that they took back, to be found anew.
    overtaken
        Commits at the last allowed iteration that came to a consumer whose iteration was greater already: how often rule 3
        was relaxed (ARCHITECTURE.md, The session).
    backlog_records
        Admitted and not applied yet.
    memory_bytes
        Graph and state columns in use.
    restarts
        How often it was put on other workers, since some were lost.
    sources
        Offset of each source.
    validation
        Of a program that predicts points before it learns from them: ``points`` that were (by their weights), their mean ``loss``, of
        classifiers the ``accuracy``, else the mean ``absolute_error`` and ``squared_error``; and these of the last 10,000 (``recent_points`` …).
        None where there are no such points, or in place of what is not said.
    by_worker
        The part of each worker, where they are told apart.
    """

    name: str
    program: str
    workers: int
    delay_bound: int | None
    version: int
    iteration: int
    updates: int
    prepares: int
    residual: float
    pending: int
    vertices: int
    edges: int
    admitted: int
    missing_removals: int
    waves: int
    invalidations: int
    overtaken: int
    backlog_records: int
    branches: int
    memory_bytes: int
    restarts: int
    sources: dict[str, int]
    validation: Mapping[str, float | None] | None = None
    cut_edges: int = 0
    unplaced_vertices: int = 0
    by_worker: tuple[PartStatistics, ...] = ()


def validation_of(parts: Sequence[PartStatistics]) -> dict[str, float | None] | None:
    """What was predicted on all workers, see `LoopStatistics.validation`."""
    found: dict[str, float | None] = {}
    for name, said in (
        ("", [part.predicted for part in parts]),
        ("recent_", [part.predicted_recently for part in parts]),
    ):
        together = sum((Predicted(*numbers) for numbers in said), Predicted())
        if not together.weight > 0.0:
            return None
        of_one = {
            "loss": together.loss,
            "accuracy": together.weight - together.mistakes,
            "absolute_error": together.distance,
            "squared_error": together.squares,
        }
        found[f"{name}points"] = together.weight
        found |= {
            f"{name}{key}": None if math.isnan(number) else number / together.weight
            for key, number in of_one.items()
        }
    return found
