"""One worker's part of an evolving graph, its versions, and which worker has which part."""

from .edge_reader import EdgeReader
from .edges_by_page import EdgesByPage
from .evolving_graph import EvolvingGraph
from .graph_statistics import GraphStatistics
from .near_sources import by_near_sources
from .partition import PartitionMap, pages_of
from .placed_vertices import PlacedVertices

__all__ = [
    "EdgeReader",
    "EdgesByPage",
    "EvolvingGraph",
    "GraphStatistics",
    "PartitionMap",
    "PlacedVertices",
    "by_near_sources",
    "pages_of",
]
