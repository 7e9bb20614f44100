"""The execution model: vertex programs, the evolving graph, main loops and the branch loops that are forked from them."""

from .branch import Branch
from .general_program import GeneralProgram
from .main_loop import MainLoop
from .master import Master
from .program import SelectiveProgram, VertexProgram
from .snapshot import Snapshot
from .statistics import BranchState, IterationStatistics, LoopStatistics, Progress
from .values import Values

__all__ = [
    "Branch",
    "BranchState",
    "GeneralProgram",
    "IterationStatistics",
    "LoopStatistics",
    "MainLoop",
    "Master",
    "Progress",
    "SelectiveProgram",
    "Snapshot",
    "Values",
    "VertexProgram",
]
