"""What a learner of one's own is made of, beside `tornado.LearningProgram`; docs/own-learners.md says how.

These names are public: what is below `tornado.kinds.learning` and `tornado.points` otherwise may change.
"""

from .kinds.learning.program import (
    DataShards,
    HasPointValues,
    ParameterBlock,
    Parameters,
    RestorableBlock,
    RestorableShards,
)
from .kinds.learning.rounds import Finished, Method, Round, ShardWork, Stopped, run_alone
from .points import (
    SHARDS,
    DenseShardPoints,
    EvolvingPoints,
    PointDeltas,
    ShardPoints,
    SparseShardPoints,
)
from .records.point_batch import PointBatch
from .timely.reservoir import Reservoir, reservoir

__all__ = [
    "SHARDS",
    "DataShards",
    "DenseShardPoints",
    "EvolvingPoints",
    "Finished",
    "HasPointValues",
    "Method",
    "ParameterBlock",
    "Parameters",
    "PointBatch",
    "PointDeltas",
    "Reservoir",
    "RestorableBlock",
    "RestorableShards",
    "Round",
    "ShardPoints",
    "ShardWork",
    "SparseShardPoints",
    "Stopped",
    "reservoir",
    "run_alone",
]
