"""A question: what is asked, of which loop, and how long it may take. Pure data and its checks.

Whoever asks, over HTTP or in Python, passes through `QueryRequest.checked`, so the limits against hostile or mistaken
input stand in one place. What only the loop can judge (is the name known, does the snapshot exist, is the id of its
kind) is left to the service.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np

from ..config import Settings
from ..errors import InvalidArgument
from ..records.point_batch import PointBatch
from .given_answers import GivenAnswer

MOST_VERTICES = 100_000
MOST_PATHS = 1_000
MOST_POINTS = 1_000_000
MOST_POINTS_OVER_HTTP = 10_000


class Mode(Enum):
    """Exact answers fork a branch, certified ones a branch of no iterations; approximate ones read the main loop as it is."""

    EXACT = "exact"
    APPROXIMATE = "approximate"
    CERTIFIED = "certified"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceLimits:
    """What the service refuses or forgets, so that no caller can take it all.

    Attributes
    ----------
    branches : int
        How many branch loops run at once at most; memory may allow fewer.
    branch_memory_bytes : int
        What running branches may take together, by estimate. One branch always runs.
    queued : int
        How many queries wait at most.
    retained_results, retained_size_bytes : int
        How many finished queries are kept, by count and size; the newest is always kept.
    deadline_s, max_deadline_s : float
        The deadline when none is given, and the greatest that may be asked for.
    vertices, sources, points, paths, top, page : int
        The longest list of vertices (over HTTP never above `MOST_VERTICES`), the most sources that `min_offsets` names, the most points
        that are predicted at once (over HTTP never above `MOST_POINTS_OVER_HTTP`), the most ways (over HTTP never above
        `MOST_PATHS`), the greatest `top` and the greatest `limit` of one request.
    """

    branches: int = 16
    branch_memory_bytes: int = 4 << 30
    queued: int = 256
    retained_results: int = 1024
    retained_size_bytes: int = 1 << 30
    deadline_s: float = 300.0
    max_deadline_s: float = 86_400.0
    vertices: int = MOST_VERTICES
    sources: int = 10_000
    points: int = MOST_POINTS
    paths: int = MOST_PATHS
    top: int = 1_000_000
    page: int = 1_000_000

    @classmethod
    def of(cls, settings: Settings, **changes: Any) -> ServiceLimits:
        """Return the limits that a run's settings ask for."""
        chosen: dict[str, Any] = {
            "queued": settings.query_queue_limit,
            "retained_results": settings.retained_results,
            "retained_size_bytes": settings.retained_size_bytes,
            "deadline_s": settings.query_deadline_s,
        }
        return cls(**(chosen | changes))


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryRequest:
    """One question. `vertices` and `top` together ask for the best `top` among `vertices`.

    Attributes
    ----------
    loop : str
        The main loop that is asked.
    vertices : tuple of int or str, optional
        Only these; the answer keeps their order. With neither this nor `top`, all vertices are the answer.
    top : int, optional
        The best so many, by what the program ranks by.
    parameters : mapping
        Fields of the program that differ in this branch.
    at : int, optional
        The version of a stored snapshot; left out, the cut is taken now.
    min_offsets : mapping, optional
        Fork only once the loop has at least so many records of each of these sources.
    deadline_s : float, optional
        After so long the best value so far is the answer; left out, the service's limit holds.
    max_iterations : int, optional
        Stop after so many iterations with the best value so far.
    check : bool
        Have an independent checker verify all values of the branch on its own version of the graph.
    points : PointBatch, optional
        What the program is to predict; with neither `vertices` nor `top`, that is all of the answer.
    paths : tuple of int or str, optional
        The vertices to which the way is wanted; with neither `vertices` nor `top`, their values are the rest of the answer.
    verifies : GivenAnswer, optional
        With `check`, of a program that learns: what is verified on the points of the branch is this answer, and not the new one.
    ends_with_order : bool
        Set by the service: the branch may end as soon as the order of `top` is certain.
    """

    loop: str
    mode: Mode = Mode.EXACT
    vertices: tuple[int | str, ...] | None = None
    top: int | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    at: int | None = None
    min_offsets: Mapping[str, int] | None = None
    deadline_s: float | None = None
    max_iterations: int | None = None
    check: bool = False
    points: PointBatch | None = None
    paths: tuple[int | str, ...] | None = None
    verifies: GivenAnswer | None = None
    ends_with_order: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether every vertex is the answer."""
        return all(named is None for named in (self.vertices, self.top, self.points, self.paths))

    @property
    def named(self) -> tuple[int | str, ...] | None:
        """The vertices whose values are the answer, or among which the best are; None: it is not said."""
        return self.paths if self.vertices is None and self.top is None else self.vertices

    def checked(self, limits: ServiceLimits) -> float:
        """Check every field against the limits and return the deadline that holds, in seconds.

        Raises
        ------
        InvalidArgument
            At the first field out of bounds; names the field, its value and the bound.
        """
        if self.vertices is not None:
            _within("the length of vertices", len(self.vertices), 1, limits.vertices)
        if self.points is not None:
            _within("the length of points", len(self.points), 1, limits.points)
        if self.paths is not None:
            _within("the length of paths", len(self.paths), 1, limits.paths)
            if self.mode is not Mode.EXACT:
                raise InvalidArgument(
                    f"mode is {self.mode.value} and paths are asked for, but the values that a loop has may have no path yet",
                    hint="Leave paths out, or ask with mode exact.",
                )
        if self.top is not None:
            _within("top", self.top, 1, limits.top)
        if self.max_iterations is not None:
            _within("max_iterations", self.max_iterations, 1, 2**62)
        if self.min_offsets is not None:
            # One that is never reached waits to its deadline, with many others.
            _within("the length of min_offsets", len(self.min_offsets), 0, limits.sources)
        for source, offset in (self.min_offsets or {}).items():
            _within(f"min_offsets[{source!r}]", offset, 0, 2**62)
        if self.at is not None and self.min_offsets:
            raise InvalidArgument(
                f"at is {self.at} and min_offsets is {dict(self.min_offsets)}, but a stored snapshot has fixed offsets",
                hint="Give one of the two.",
            )
        if not isinstance(self.check, bool):
            raise InvalidArgument(f"check is {self.check!r} but must be True or False")
        if self.mode is Mode.APPROXIMATE and (
            self.at is not None
            or self.min_offsets
            or self.parameters
            or self.max_iterations is not None
            or self.check
        ):
            raise InvalidArgument(
                "mode is approximate, which reads the main loop as it is: it takes no parameters, at, min_offsets, "
                "max_iterations or check",
                hint="Leave them out, or ask with mode exact.",
            )
        if self.mode is Mode.CERTIFIED and (self.at is not None or self.max_iterations is not None):
            raise InvalidArgument(
                "mode is certified, a branch of no iterations from what the loop has now: it takes no at and no max_iterations",
                hint="Leave them out, or ask with mode exact.",
            )
        deadline_s = limits.deadline_s if self.deadline_s is None else self.deadline_s
        given: object = deadline_s
        is_number = isinstance(given, int | float | np.number) and not isinstance(given, bool)
        if not (is_number and math.isfinite(deadline_s) and 0 < deadline_s <= limits.max_deadline_s):
            raise InvalidArgument(
                f"deadline_s is {deadline_s!r} but must be a number above 0 and at most {limits.max_deadline_s:g}"
            )
        return deadline_s

    @property
    def most_iterations(self) -> int | None:
        """How many iterations its branch may make; None is as many as it takes."""
        return 0 if self.mode is Mode.CERTIFIED else self.max_iterations

    @property
    def ordered(self) -> int | None:
        """Of how many of the best the branch proves the order, and may end then; None where it goes on until values have converged."""
        return self.top if self.ends_with_order else None

    def branch_key(self) -> tuple[Any, ...]:
        """What two queries must have in common to be answered by one branch."""
        parameters = tuple(sorted((name, repr(value)) for name, value in self.parameters.items()))
        verified = None if self.verifies is None else self.verifies.query
        shared = (self.loop, parameters, self.at, self.most_iterations, self.check, verified, self.ordered)
        return (*shared, self.paths is not None)


def _within(what: str, value: Any, least: int, greatest: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= greatest:
        raise InvalidArgument(f"{what} is {value!r} but must be a whole number from {least} to {greatest}")
