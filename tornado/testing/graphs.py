"""Graphs made on purpose: large and skewed for benchmarks, small and nasty for tests.

R-MAT (Chakrabarti, Zhan, Faloutsos, "R-MAT: a recursive model for graph mining", SDM 2004) with the parameters of Graph500,
prepared as our peers were measured: vertex ids permuted, self-loops and duplicates removed, edges shuffled, integer weights
1..100. Roads are in `roads.py`. Every maker is a pure function of its arguments: same seed, same graph, on any machine.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..symbol_names import njit
from . import splitmix
from .edges import EdgeList

#: Chance of each quadrant (source bit 0 or 1, target bit 0 or 1) at every level.
RMAT_A, RMAT_B, RMAT_C = 0.57, 0.19, 0.19

_HALF = 2.0**32
_UP_TO_A = np.uint64(round(RMAT_A * _HALF))
_UP_TO_B = np.uint64(round((RMAT_A + RMAT_B) * _HALF))
_UP_TO_C = np.uint64(round((RMAT_A + RMAT_B + RMAT_C) * _HALF))
_S32 = np.uint64(32)
_LOW_32 = np.uint64(0xFFFFFFFF)


def rmat(scale: int, *, seed: int = 1, degree: int = 16, max_weight: int = 100) -> EdgeList:
    """Generate an R-MAT graph.

    `degree * 2**scale` edges are drawn; fewer remain, because duplicates and self-loops go (degree 16: 0.95 M at scale 16,
    3.94 M at 18, 16.1 M at 20, 65 M at 22).

    Parameters
    ----------
    scale : int
        The graph has 2**scale ids, 1 to 30.
    seed : int
        Chooses the graph.
    degree : int
        Edges drawn per id.
    max_weight : int
        Weights are uniform in 1..max_weight, at most 255.

    Returns
    -------
    EdgeList
        ids int32, weights uint8.

    Notes
    -----
    Peak memory is about 17 bytes per drawn edge (1.1 GB at scale 22): edges are one int64 each while they are sorted,
    thinned and shuffled in place.
    """
    if not 1 <= scale <= 30:
        raise ValueError(f"scale is {scale} but must lie in 1..30")
    if not 1 <= max_weight <= 255:
        raise ValueError(f"max_weight is {max_weight} but must lie in 1..255: weights are kept in one byte")
    vertices = 1 << scale
    keys = _draw_keys(scale, degree * vertices, splitmix.stream(seed, 0))
    keys.sort()
    keys = keys[: _thin(keys)]
    splitmix.shuffle(keys, splitmix.stream(seed, 1))
    names = np.arange(vertices, dtype=np.int32)
    splitmix.shuffle(names, splitmix.stream(seed, 2))
    src, dst, weight = _columns(keys, names, max_weight, splitmix.stream(seed, 3))
    return EdgeList(src, dst, weight, vertices)


def root_of(edges: EdgeList) -> int:
    """Return the vertex of largest out-degree, the smallest id among equals: where searches start."""
    return int(np.bincount(edges.src).argmax())


def random_multigraph(
    vertices: int,
    count: int,
    *,
    seed: int = 1,
    max_weight: float = 10.0,
    integral: bool = False,
    zero_share: float = 0.1,
) -> EdgeList:
    """Generate edges between uniformly random ends, parallel edges and self-loops among them.

    Parameters
    ----------
    vertices, count : int
        How many ids (0..vertices-1) and edges.
    seed : int
        Chooses the graph.
    max_weight : float
        Weights are below this.
    integral : bool
        Round weights down.
    zero_share : float
        This share of the edges weighs exactly zero.
    """
    src = splitmix.integers(count, 0, vertices - 1, splitmix.stream(seed, 0))
    dst = splitmix.integers(count, 0, vertices - 1, splitmix.stream(seed, 1))
    weight = splitmix.fractions(count, splitmix.stream(seed, 2)) * max_weight
    if integral:
        weight = np.floor(weight)
    weight[splitmix.fractions(count, splitmix.stream(seed, 3)) < zero_share] = 0.0
    return EdgeList(src, dst, weight, vertices)


def star(spokes: int = 100_000, *, outward: bool = True, weight: float = 1.0) -> EdgeList:
    """Return a hub 0 with an edge to (or from) each of 1..spokes: one vertex whose broadcast never fits a slice of work."""
    hub = np.zeros(spokes, np.int64)
    rim = np.arange(1, spokes + 1, dtype=np.int64)
    src, dst = (hub, rim) if outward else (rim, hub)
    return EdgeList(src, dst, np.full(spokes, float(weight)), spokes + 1)


def chain(length: int, *, weight: float = 1.0) -> EdgeList:
    """Return 0 → 1 → … → length: as many iterations as edges, one vertex of work in each."""
    src = np.arange(length, dtype=np.int64)
    return EdgeList(src, src + 1, np.full(length, float(weight)), length + 1)


def fed_cycle(length: int, *, weight: float = 0.0) -> EdgeList:
    """Return 0 → 1 and the cycle 1 → 2 → … → length → 1.

    Remove edge 0 → 1 and the whole cycle must become unreachable: vertices that still believe each other count to infinity
    (or, at weight zero, stay where they are for ever).

    Examples
    --------
    >>> edges = fed_cycle(3)
    >>> list(zip(edges.src.tolist(), edges.dst.tolist()))
    [(0, 1), (1, 2), (2, 3), (3, 1)]
    """
    cycle = np.arange(1, length + 1, dtype=np.int64)
    src = np.concatenate([[0], cycle])
    dst = np.concatenate([[1], np.roll(cycle, -1)])
    return EdgeList(src, dst, np.concatenate([[1.0], np.full(length, float(weight))]), length + 1)


def parallel_edges(length: int, copies: int, *, seed: int = 1) -> EdgeList:
    """Return a chain of `length` steps with `copies` parallel edges at each, weights 0..9 with repeats, in mixed order."""
    step = np.repeat(np.arange(length, dtype=np.int64), copies)
    splitmix.shuffle(step, splitmix.stream(seed, 0))
    weight = splitmix.integers(len(step), 0, 9, splitmix.stream(seed, 1)).astype(np.float64)
    return EdgeList(step, step + 1, weight, length + 1)


def with_self_loops(edges: EdgeList, *, weight: float = 0.0) -> EdgeList:
    """Return the edges, each followed by a self-loop on its target: a vertex that is its own producer and consumer."""
    src = np.stack([edges.src, edges.dst], axis=1).ravel()
    dst = np.repeat(edges.dst, 2)
    loops = np.full(len(edges), float(weight))
    return EdgeList(
        src, dst, np.stack([edges.weight.astype(np.float64), loops], axis=1).ravel(), edges.vertices
    )


@njit(cache=True)
def _draw_keys(scale: int, count: int, start: np.uint64) -> NDArray[np.int64]:
    """Draw edges as `src << 32 | dst`; one random number serves two levels."""
    keys = np.empty(count, np.int64)
    draws = (scale + 1) // 2
    for e in range(count):
        src = np.int64(0)
        dst = np.int64(0)
        bits = np.uint64(0)
        for level in range(scale):
            bits = splitmix.draw(start, e * draws + level // 2) if level % 2 == 0 else bits >> _S32
            part = bits & _LOW_32
            # Branch-free: which quadrant is a coin toss that no predictor learns.
            below_a = np.int64(part < _UP_TO_A)
            below_b = np.int64(part < _UP_TO_B)
            below_c = np.int64(part < _UP_TO_C)
            src = (src << 1) | (1 - below_b)
            dst = (dst << 1) | ((below_b - below_a) + (1 - below_c))
        keys[e] = (src << 32) | dst
    return keys


@njit(cache=True)
def _thin(keys: NDArray[np.int64]) -> int:
    """Drop duplicates and self-loops from sorted keys, in place; return how many remain in front."""
    kept = 0
    last = np.int64(-1)
    for key in keys:
        if key != last and (key >> 32) != (key & 0xFFFFFFFF):
            keys[kept] = key
            kept += 1
        last = key
    return kept


@njit(cache=True)
def _columns(
    keys: NDArray[np.int64], names: NDArray[np.int32], max_weight: int, start: np.uint64
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint8]]:
    """Split keys into columns under permuted names, and draw weights."""
    src = np.empty(len(keys), np.int32)
    dst = np.empty(len(keys), np.int32)
    weight = np.empty(len(keys), np.uint8)
    for e in range(len(keys)):
        src[e] = names[keys[e] >> 32]
        dst[e] = names[keys[e] & 0xFFFFFFFF]
        weight[e] = 1 + splitmix.below(start, e, max_weight)
    return src, dst, weight
