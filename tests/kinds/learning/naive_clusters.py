"""k-means as plainly as it can be said, in NumPy, and points to try it on."""

import math

import numpy as np

from tornado.points import EvolvingPoints, share_out
from tornado.records.point_batch import PointBatch
from tornado.records.point_schema import Points

LAYOUTS = [
    Points(3),
    Points(3, dtype="float32"),
    Points(3, sparse=True),
    Points(3, sparse=True, dtype="float32"),
]


def batch_of(points, ids, features, weights=None, op="+"):
    """Return records of points, whatever their layout; zeros of sparse ones are left out."""
    if points.sparse:
        features = [{j: float(x) for j, x in enumerate(row) if x} for row in features]
    return PointBatch.of(points, ids=ids, features=features, weights=weights, op=op)


def streams_of(points, workers, batches):
    """Return one stream for each worker, with its part of some batches."""
    streams = [EvolvingPoints(points, workers=workers, worker=worker) for worker in range(workers)]
    for batch in batches:
        for stream, part in zip(streams, share_out(batch, workers), strict=True):
            stream.apply_all(part)
    return streams


def squares_of(points, features, centroids):
    """Return the squared distances [n, k], a feature after the other, as they are defined for a layout."""
    features = features.astype(points.value_type).astype(np.float64)
    squares = np.zeros((len(features), len(centroids)))
    if not points.sparse:
        for column in range(features.shape[1]):
            squares += (features[:, column, None] - centroids[:, column]) ** 2
        return squares
    for column in range(features.shape[1]):
        squares += centroids[:, column] ** 2
    for column in range(features.shape[1]):
        entries = features[:, column, None]
        squares = np.where(entries != 0, squares + entries * (entries - 2 * centroids[:, column]), squares)
    return np.maximum(squares, 0)


def mean_of(features, weights):
    """Return the mean of points, correctly rounded but for a division."""
    total = math.fsum(weights)
    return [math.fsum(column * weights) / total for column in features.T]


def plain_lloyd(points, features, weights, centroids, ids=None, most_rounds=1000):
    """Return centroids, assignment, inertia and the number of passes."""
    features = features.astype(points.value_type).astype(np.float64)
    ids = np.arange(len(features)) if ids is None else ids
    centroids = np.array(centroids, np.float64)
    for passes in range(1, most_rounds + 1):
        squares = squares_of(points, features, centroids)
        which = squares.argmin(1)
        own = squares[np.arange(len(features)), which]
        means, empty = centroids.copy(), []
        for cluster in range(len(centroids)):
            mine = which == cluster
            if weights[mine].sum() > 0:
                means[cluster] = mean_of(features[mine], weights[mine])
            else:
                empty.append(cluster)
        far = sorted((-own[i], ids[i], i) for i in range(len(features)) if weights[i] > 0 and own[i] > 0)
        is_away = own > 2.0**-98 * (features**2).sum(1)
        elsewhere = dict.fromkeys(tuple(features[i]) for _, _, i in far[: len(empty)] if is_away[i])
        for cluster, point in zip(empty, elsewhere, strict=False):
            means[cluster] = point
        if passes == most_rounds or (means == centroids).all():
            return centroids, which, math.fsum(weights * own), passes
        centroids = means
    raise AssertionError


def assignment_of(works):
    """Return the cluster of each point by its id."""
    found = {}
    for work in works:
        ids, clusters = work.assigned()
        found |= dict(zip(ids.tolist(), clusters.tolist(), strict=True))
    return found
