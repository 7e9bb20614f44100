"""One worker's part of an evolving graph, its versions, and which worker has which part."""

from .edge_reader import EdgeReader
from .evolving_graph import EvolvingGraph, GraphStatistics
from .partition import PartitionMap, is_chosen_by_edges, pages_of

__all__ = ["EdgeReader", "EvolvingGraph", "GraphStatistics", "PartitionMap", "is_chosen_by_edges", "pages_of"]
