"""Programs that learn, wherever their workers are: answers within their certificates at every bound, and the same bits everywhere."""

import numpy as np
import pytest

import tornado
from tests.kinds.learning import test_cluster_loops as clusters
from tests.kinds.learning import test_linear_loops as linear
from tornado.kinds.learning.clusters.cluster_program import KMeans
from tornado.kinds.learning.linear.linear_program import LinearModel

WAIT_S = 60


def session_at(place, workers=2):
    engine, _, spark = place.partition(":")
    return tornado.open("memory:", workers, engine=engine, spark_master=spark or None)


class AsStream:
    """A stream that takes matrices, also where its points are sparse."""

    def __init__(self, stream, *, sparse):
        self._stream, self._sparse = stream, sparse
        self.remove = stream.remove

    def insert(self, *, features, **columns):
        if self._sparse:
            features = [{at: row[at] for at in np.flatnonzero(row).tolist()} for row in features]
        return self._stream.insert(features=features, **columns)


@pytest.mark.parametrize(("sparse", "bounds"), [(False, (1, 4, 64)), (True, (4,))])
def test_learners_have_answers_within_their_certificates_at_every_bound(place, sparse, bounds):
    program = LinearModel(loss="logistic", l2=1e-3, tolerance=1e-6)
    matrix = clusters.blobs(5, 600)
    with session_at(place) as session:
        scored = session.stream("scored", schema=tornado.Points(features=linear.FEATURES, sparse=sparse))
        spread = session.stream("spread", schema=tornado.Points(features=clusters.WIDTH, sparse=sparse))
        models = [scored.start(program, f"model-{bound}", bound) for bound in bounds]
        means = [
            spread.start(KMeans(clusters=clusters.CLUSTERS), f"means-{bound}", bound) for bound in bounds
        ]
        feed, asked = linear.Feed(AsStream(scored, sparse=sparse), seed=3), []
        fed, live = AsStream(spread, sparse=sparse), {}
        for ids in np.split(np.arange(600), 2):
            feed.come(300)
            feed.go(60)
            asked += [loop.query() for loop in models]
            fed.insert(ids=ids, features=matrix[ids])
            fed.remove(ids=ids[::5])
            live |= {at: matrix[at] for number, at in enumerate(ids.tolist()) if number % 5}
            for loop in means:
                clusters.check(loop.query().result(WAIT_S), live)
        for query in asked:
            result = query.result(WAIT_S)
            linear.check(result, program, feed.columns(result.snapshot.version))


def test_learners_answer_from_nothing_with_the_same_bits_as_one_worker_on_threads(place):
    found = set()
    for where, workers in [(place, 2), ("threads", 1)]:
        with session_at(where, workers) as session:
            stream = session.stream("points", schema=tornado.Points(features=linear.FEATURES))
            model = stream.start(LinearModel(loss="logistic", l2=1e-2), "model")
            means = stream.start(KMeans(clusters=3), "means")
            linear.Feed(stream, seed=9).come(500)
            weights = model.query(parameters={"l2": 1e-3}).result(WAIT_S)
            which = means.query(parameters={"seed": 5}).result(WAIT_S)
            found.add((np.array([*weights.values.values()]).tobytes(), tuple(sorted(which.values.items()))))
    assert len(found) == 1
