"""The compiled kernels of k-means: a generated module for dense points and one for sparse ones."""

from __future__ import annotations

from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....kernel_modules import load_module, module_text
from ....points import DenseShardPoints, ShardPoints, SparseShardPoints
from . import cluster_kernel, dense_rows_kernel, scatter_kernel, sparse_rows_kernel, step_rows_kernel
from .lanes import COUNT, imports_of_lanes

Rows = NDArray[Any] | tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[Any]]
"""Points as the kernels read them: features[n, d], or (starts, lengths, indices, values). Never written, and so flagged."""

_ROUNDING = 2.3e-16  # a little more than of one float64


@cache
def cluster_module(*, sparse: bool) -> ModuleType:
    """The kernel for dense or for sparse points, from disk where it was compiled before."""
    rows = sparse_rows_kernel if sparse else dense_rows_kernel
    title = f"the kernel of clusters of {'sparse' if sparse else 'dense'} points"
    return load_module(
        module_text(
            title, [rows, cluster_kernel, step_rows_kernel, scatter_kernel], {}, functions=imports_of_lanes()
        )
    )


def rows_of_shard(points: ShardPoints) -> Rows:
    """Return the points of a shard as the kernels read them."""
    if isinstance(points, SparseShardPoints):
        return points.starts, points.lengths, points.indices, points.values
    assert isinstance(points, DenseShardPoints)
    return points.features


def fixed(array: NDArray[Any], dtype: type[np.generic] = np.float64) -> NDArray[Any]:
    """Return an array as kernels take it, so that they are compiled for one kind: C-contiguous, not to be written."""
    view = np.ascontiguousarray(array, dtype).view()
    view.flags.writeable = False
    return view


class Centroids:
    """Centroids as the kernels take them, with how their distances are rounded.

    Attributes
    ----------
    rows : float64[k, d]
        Not written, and so flagged.
    across : float64[d, padded]
        The same as columns.
    norms : float64[padded]
        The squares of their lengths.
    wider, blur, reach : float
        See `cluster_kernel.assign`.
    """

    def __init__(self, centroids: NDArray[np.float64], *, sparse: bool) -> None:
        self.rows = fixed(centroids)
        self.across = _side_by_side(self.rows)
        self.norms = np.zeros(self.across.shape[1])
        cluster_module(sparse=sparse).measure_norms(self.rows, self.norms)
        # A square is a sum of so many terms, each of which is rounded some times; of sparse points they cancel.
        self.wider = (self.rows.shape[1] + 64) * _ROUNDING
        self.blur = 4.0 * self.wider if sparse else 0.0
        self.reach = 2.0 * float(np.sqrt(self.norms.max(initial=0.0))) * (1.0 + self.wider)


def _side_by_side(centroids: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return centroids as columns, float64[d, padded]: a kernel has the distances of a point to several at once."""
    clusters, width = centroids.shape
    across = np.zeros((width, -(-clusters // COUNT) * COUNT))
    across[:, :clusters] = centroids.T
    return across
