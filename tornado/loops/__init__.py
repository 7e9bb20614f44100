"""The execution model: vertex programs, the evolving graph, main loops and the branch loops that are forked from them."""

from .branch import Branch
from .main_loop import MainLoop
from .master import Master
from .snapshot import Snapshot
from .statistics import BranchState, IterationStatistics, LoopStatistics, Progress
from .values import Values
from .vertex_program import VertexProgram

__all__ = [
    "Branch",
    "BranchState",
    "IterationStatistics",
    "LoopStatistics",
    "MainLoop",
    "Master",
    "Progress",
    "Snapshot",
    "Values",
    "VertexProgram",
]
