"""k-means of a live stream of points: `tornado run kmeans --clusters 10 --points points.csv`."""

from dataclasses import dataclass

from tornado import KMeans


@dataclass(frozen=True, kw_only=True)
class Clusters(KMeans):
    """Which of `clusters` clusters each point is in: mini-batch steps while points come, and Lloyd's iterations when asked.

    ``KMeans`` of scikit-learn has the same objective. Parameters are those of `tornado.KMeans`; labels count for nothing.
    """
