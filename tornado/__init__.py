"""Iterative analyses of data that never stops arriving, with exact answers on demand.

One endless *main loop* per analysis keeps an approximation of the answer up to date; a query forks a *branch loop*
from a consistent snapshot and iterates it to the exact fixed point (Tornado, SIGMOD 2016). Both are loop contexts of
a timely dataflow core (Naiad, SOSP 2013).

Importing this package is cheap on purpose: nothing below it is loaded until a name is asked for, so that
`tornado doctor` can report a broken environment instead of failing on it.

This is *not* the web framework of the same name; see "The import name" in docs/operations.md.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .checking import (
        AnswerToCheck,
        Checker,
        ClusteringCheck,
        ComponentsCheck,
        CoresCheck,
        EdgePage,
        Fault,
        LabelsCheck,
        PathsCheck,
        RankRoundsCheck,
        RanksCheck,
        SumsCheck,
        Verdict,
    )
    from .errors import InvalidArgument, TornadoError
    from .ingest.spark import register_spark, report_spark, spark_points
    from .ingest.spark.kafka_connector import spark_kafka_jars
    from .ingest.vertex_table import personalisation
    from .kinds.accumulative.program import AccumulativeProgram
    from .kinds.cores.program import CoresProgram
    from .kinds.counting.program import CountingProgram
    from .kinds.general.program import GeneralProgram
    from .kinds.learning.clusters.cluster_program import KMeans
    from .kinds.learning.linear.linear_program import LinearModel
    from .kinds.learning.linear.own_linear_program import OwnLossModel
    from .kinds.learning.program import LearningProgram
    from .kinds.rounds.program import RoundsProgram
    from .kinds.selective.program import SelectiveProgram
    from .loops.vertex_program import VertexProgram
    from .query.session import open
    from .records.edge_batch import EdgeBatch
    from .records.point_schema import Points

__version__ = "0.1.0"

__all__ = [
    "AccumulativeProgram",
    "AnswerToCheck",
    "Checker",
    "ClusteringCheck",
    "ComponentsCheck",
    "CoresCheck",
    "CoresProgram",
    "CountingProgram",
    "EdgeBatch",
    "EdgePage",
    "Fault",
    "GeneralProgram",
    "InvalidArgument",
    "KMeans",
    "LabelsCheck",
    "LearningProgram",
    "LinearModel",
    "OwnLossModel",
    "PathsCheck",
    "Points",
    "RankRoundsCheck",
    "RanksCheck",
    "RoundsProgram",
    "SelectiveProgram",
    "SumsCheck",
    "TornadoError",
    "Verdict",
    "VertexProgram",
    "__version__",
    "open",
    "personalisation",
    "register_spark",
    "report_spark",
    "spark_kafka_jars",
    "spark_points",
]

# Where a public name lives; apps may use these and no others. A new one goes here, into __all__ and above.
_HOMES = {
    "AccumulativeProgram": ".kinds.accumulative.program",
    "AnswerToCheck": ".checking",
    "Checker": ".checking",
    "ClusteringCheck": ".checking",
    "ComponentsCheck": ".checking",
    "CountingProgram": ".kinds.counting.program",
    "CoresCheck": ".checking",
    "CoresProgram": ".kinds.cores.program",
    "EdgeBatch": ".records.edge_batch",
    "EdgePage": ".checking",
    "Fault": ".checking",
    "GeneralProgram": ".kinds.general.program",
    "InvalidArgument": ".errors",
    "KMeans": ".kinds.learning.clusters.cluster_program",
    "LabelsCheck": ".checking",
    "LearningProgram": ".kinds.learning.program",
    "LinearModel": ".kinds.learning.linear.linear_program",
    "OwnLossModel": ".kinds.learning.linear.own_linear_program",
    "PathsCheck": ".checking",
    "Points": ".records.point_schema",
    "RankRoundsCheck": ".checking",
    "RanksCheck": ".checking",
    "RoundsProgram": ".kinds.rounds.program",
    "SelectiveProgram": ".kinds.selective.program",
    "SumsCheck": ".checking",
    "TornadoError": ".errors",
    "Verdict": ".checking",
    "VertexProgram": ".loops.vertex_program",
    "open": ".query.session",
    "personalisation": ".ingest.vertex_table",
    "register_spark": ".ingest.spark",
    "report_spark": ".ingest.spark",
    "spark_kafka_jars": ".ingest.spark.kafka_connector",
    "spark_points": ".ingest.spark",
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
