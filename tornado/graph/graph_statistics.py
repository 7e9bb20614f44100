"""Sizes of one worker's graph."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GraphStatistics:
    """What one worker's graph holds and uses."""

    rows: int
    vertices: int
    edges: int
    missing_removals: int
    sequence: int
    leases: int
    graves: int
    size_bytes: int
    cut_edges: int = 0
    unplaced: int = 0
