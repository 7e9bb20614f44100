"""The checking room: independent checkers of answers, which share no code with what computes them.

They are functions of arrays: the rows of an answer, and the edges of the graph that it is for. A program names its checker
(`VertexProgram.checker`); whoever holds an answer and its edges asks it.
"""

from .clustering import ClusteringCheck
from .components import ComponentsCheck
from .contract import AnswerToCheck, Checker, EdgePage, Edges, Fault, Verdict
from .cores import CoresCheck
from .labels import LabelsCheck
from .paths import PathsCheck
from .rank_rounds import RankRoundsCheck
from .ranks import RanksCheck
from .sums import SumsCheck

__all__ = [
    "AnswerToCheck",
    "Checker",
    "ClusteringCheck",
    "ComponentsCheck",
    "CoresCheck",
    "EdgePage",
    "Edges",
    "Fault",
    "LabelsCheck",
    "PathsCheck",
    "RankRoundsCheck",
    "RanksCheck",
    "SumsCheck",
    "Verdict",
]
