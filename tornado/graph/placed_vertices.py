"""Vertices that somebody has shared out beforehand, as a partitioner does: each belongs to a part, and parts are dealt out to workers.

So one such placement serves any number of workers. A vertex that it lacks belongs to whom the hash of its id says, since a graph
that changes gets vertices that nobody knew of.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidArgument

MOST_PARTS = 1 << 16
_SPARSE = 8  # times as many ids between the first and the last as there are: then they are searched for and not counted off
_NO_PART = -1


@dataclass(frozen=True, slots=True, eq=False)
class PlacedVertices:
    """See the module.

    Parameters
    ----------
    ids : int64[n]
        Ascending, each once; not written.
    parts : uint16[n]
        The part of each; not written.
    by_id : int32[m]
        The part of each id from the first one on, -1 for one that is not there; empty where these would be far more than there are ids.
    """

    ids: NDArray[np.int64]
    parts: NDArray[np.uint16]
    by_id: NDArray[np.int32]

    @classmethod
    def of(cls, ids: NDArray[np.int64], parts: NDArray[np.int64]) -> PlacedVertices:
        """Check and order what somebody gives.

        Parameters
        ----------
        ids, parts : int64[n]
            In any order; only read.

        Raises
        ------
        InvalidArgument
            For no vertex, one that is there twice, or a part that is not from 0 to 65,535.
        """
        if not len(ids):
            raise InvalidArgument("the placement names no vertex", hint=HINT)
        wrong = np.flatnonzero((parts < 0) | (parts >= MOST_PARTS))
        if len(wrong):
            raise InvalidArgument(
                f"the placement puts vertex {ids[wrong[0]]} into part {parts[wrong[0]]}, but parts are 0 to {MOST_PARTS - 1}",
                hint=HINT,
            )
        order = np.argsort(ids, kind="stable")
        ids, parts = ids[order], parts[order]
        twice = np.flatnonzero(ids[1:] == ids[:-1])
        if len(twice):
            raise InvalidArgument(
                f"the placement names vertex {ids[twice[0]]} twice, for parts {parts[twice[0]]} and {parts[twice[0] + 1]}",
                hint=HINT,
            )
        by_id = np.empty(0, np.int32)
        if int(ids[-1]) - int(ids[0]) < _SPARSE * len(ids):
            by_id = np.full(int(ids[-1]) - int(ids[0]) + 1, _NO_PART, np.int32)
            by_id[ids - ids[0]] = parts
        return cls(ids, parts.astype(np.uint16), by_id)

    def parts_of(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """The part of each vertex, int64[n]; -1 for one that is not placed.

        Parameters
        ----------
        ids : int64[n]
            Only read.
        """
        if len(self.by_id):
            first = self.ids[0]
            is_within = (ids >= first) & (ids <= self.ids[-1])
            return np.where(is_within, self.by_id[np.where(is_within, ids - first, 0)], _NO_PART).astype(
                np.int64
            )
        places = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        return np.where(self.ids[places] == ids, self.parts[places].astype(np.int64), _NO_PART)

    def owners_of(self, ids: NDArray[np.int64], workers: int, hashed: NDArray[np.int64]) -> NDArray[np.int64]:
        """The worker of each vertex, where vertices that are not placed belong to those of `hashed`, int64[n]."""
        parts = self.parts_of(ids)
        return np.where(parts == _NO_PART, hashed, parts % workers)


HINT = "A row is vertex,part: each vertex once, and parts counted from 0."
