"""The points of one shard as a reader sees them at a version: views of columns, and the rows that are visible.

Nothing is copied but the numbers of rows. What stands in those rows stays until the version is released; other rows may be written
meanwhile. Views of the newest state, of which nobody has a lease, are good until the next records are applied.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..records.operations import INSERT
from ..records.point_batch import PointBatch
from ..records.point_schema import Points


@dataclass(frozen=True, slots=True, eq=False)
class ShardPoints:
    """See the module. All arrays are read-only.

    Attributes
    ----------
    points : Points
        What they are declared to be.
    shard : int
    rows : int32[k]
        The rows that are visible, in the order in which their points came.
    is_whole : bool
        Whether `rows` counts 0, 1, …, so that columns may be gone over as they are.
    id : int64[used]
        By row, as all columns are.
    label : float64[used]
        NaN: none.
    weight : float64[used]
    born : int64[used]
        The version that a point came with, where it is live now; what is not positive is no live point.
    """

    points: Points
    shard: int
    rows: NDArray[np.int32]
    is_whole: bool
    id: NDArray[np.int64]
    label: NDArray[np.float64]
    weight: NDArray[np.float64]
    born: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.rows)

    def batch(self) -> PointBatch:
        """Insertions of the visible points, in their order (a copy)."""
        columns: dict[str, NDArray[Any]] = {
            "id": self.id[self.rows],
            "label": self.label[self.rows],
            "weight": self.weight[self.rows],
            "op": np.full(len(self.rows), INSERT, np.int8),
        }
        return PointBatch.kind_of(self.points).of_columns(columns | self._copied_features())

    def _copied_features(self) -> dict[str, NDArray[Any]]:
        raise NotImplementedError


@dataclass(frozen=True, slots=True, eq=False)
class DenseShardPoints(ShardPoints):
    """Of dense points.

    Attributes
    ----------
    features : float32[used, width] or float64[used, width]
        C-contiguous.
    """

    features: NDArray[Any]

    def _copied_features(self) -> dict[str, NDArray[Any]]:
        return {"features": self.features.take(self.rows, axis=0)}


@dataclass(frozen=True, slots=True, eq=False)
class SparseShardPoints(ShardPoints):
    """Of sparse points: the features of row r are the `lengths[r]` entries from ``starts[r]`` on.

    Attributes
    ----------
    starts, lengths : int32[used]
    indices : int32[entries]
        Which features; ascending within a point.
    values : float32[entries] or float64[entries]
    """

    starts: NDArray[np.int32]
    lengths: NDArray[np.int32]
    indices: NDArray[np.int32]
    values: NDArray[Any]

    def _copied_features(self) -> dict[str, NDArray[Any]]:
        starts = np.zeros(len(self.rows) + 1, np.int64)
        np.cumsum(self.lengths[self.rows], out=starts[1:])
        places = np.repeat(self.starts[self.rows] - starts[:-1], self.lengths[self.rows])
        places += np.arange(len(places))
        return {"starts": starts, "indices": self.indices[places], "values": self.values[places]}
