"""One worker's part of an evolving set of points, its versions, and which worker has which part."""

from .evolving_points import EvolvingPoints, PointDeltas, PointStatistics
from .shard_points import DenseShardPoints, ShardPoints, SparseShardPoints
from .shards import SHARDS, owners_of, shards_of, shards_of_worker, share_out, worker_of_shard

__all__ = [
    "SHARDS",
    "DenseShardPoints",
    "EvolvingPoints",
    "PointDeltas",
    "PointStatistics",
    "ShardPoints",
    "SparseShardPoints",
    "owners_of",
    "shards_of",
    "shards_of_worker",
    "share_out",
    "worker_of_shard",
]
