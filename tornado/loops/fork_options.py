"""What a fork of a main loop may be told beside its program."""

from __future__ import annotations

from typing import TypedDict

from .snapshot import Snapshot


class ForkOptions(TypedDict, total=False):
    """See `MainLoop.fork`, and `Fork` for what its workers are told; of each the default is no, or none.

    `snapshot` is what the branch is said to start from, if not from now.
    """

    fresh: bool
    max_iterations: int | None
    snapshot: Snapshot | None
    reads_edges: bool
    reads_points: bool
    reads_ways: bool
    top: int | None
