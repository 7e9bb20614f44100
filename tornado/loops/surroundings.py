"""The edges around a vertex as they are now, read where they are: each edge is with the worker that has its consumer.

Guarantees: each worker is read between two of its steps, and nothing is kept for it; at most so many edges are read in each direction,
however many there are. Left out on purpose: a version. Workers are read one beside another while records come in, so a look is of about
now, as an approximate answer is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import Unresponsive
from ..graph import EvolvingGraph
from ..value_types import Ids


class Surroundings(NamedTuple):
    """Around a vertex; a loop at it is in both directions.

    Attributes
    ----------
    consumers, producers : int64[n], int64[m]
        To whom its edges lead and from whom edges come, in no order.
    weights_out, weights_in : float64[n], float64[m]
        Of these edges.
    edges_out, edges_in : int
        How many there are in all.
    is_known : bool
        Whether it was seen.
    """

    consumers: Ids
    weights_out: NDArray[np.float64]
    producers: Ids
    weights_in: NDArray[np.float64]
    edges_out: int
    edges_in: int
    is_known: bool


def surroundings_in(graph: EvolvingGraph, vertex: int, most: int) -> Surroundings:
    """What one worker has of it; on its own thread.

    Parameters
    ----------
    most
        In each direction.

    Raises
    ------
    Unresponsive
        While a stored snapshot is loaded.
    """
    if graph.is_loading:
        raise Unresponsive("a stored snapshot is loaded just now, so nobody has all edges")
    columns = graph.columns
    row = int(graph.rows_of(np.array([vertex], np.int64))[0])
    if row < 0:
        none, nothing = np.empty(0, np.int64), np.empty(0)
        return Surroundings(none, nothing, none, nothing, 0, 0, is_known=False)
    edges_out, edges_in = int(columns.out_length[row]), int(columns.in_length[row])
    out = slice(first := int(columns.out_start[row]), first + min(edges_out, most))
    back = slice(first := int(columns.in_start[row]), first + min(edges_in, most))
    producers = columns.in_producer[back]
    return Surroundings(
        columns.ids[columns.edge_consumer[out]],
        columns.edge_weight[out].copy(),
        columns.ids[producers],
        columns.edge_weight[columns.out_start[producers] + columns.in_position[back]],
        edges_out,
        edges_in,
        is_known=bool(columns.known_as[row] > 0),
    )


def together(parts: Sequence[Surroundings], most: int) -> Surroundings:
    """What all workers have of it, at most so many edges in each direction."""
    return Surroundings(
        consumers=np.concatenate([part.consumers for part in parts])[:most],
        weights_out=np.concatenate([part.weights_out for part in parts])[:most],
        producers=np.concatenate([part.producers for part in parts])[:most],
        weights_in=np.concatenate([part.weights_in for part in parts])[:most],
        edges_out=sum(part.edges_out for part in parts),
        edges_in=sum(part.edges_in for part in parts),
        is_known=any(part.is_known for part in parts),
    )
