"""k-means in loops: answers are fixed points of the points of their version, near the best of ten starts, on any workers and engine."""

import numpy as np
import pytest

import tornado
from tornado.errors import InvalidArgument
from tornado.kinds.learning.clusters.cluster_program import KMeans

TIMEOUT_S = 60
WIDTH, CLUSTERS = 4, 6


def blobs(seed, count):
    random = np.random.default_rng(seed)
    centres = random.normal(0.0, 5.0, (CLUSTERS, WIDTH))
    shares = random.dirichlet(np.full(CLUSTERS, 2.0))
    return centres[random.choice(CLUSTERS, count, p=shares)] + random.standard_normal((count, WIDTH))


def check(result, live):
    """Of an answer: each point is with the nearest mean, of clusters that are as good as the best of ten starts."""
    ids = np.array(list(result.values))
    which = np.array(list(result.values.values()))
    assert sorted(ids.tolist()) == sorted(live)
    matrix = np.array([live[identity] for identity in ids.tolist()])
    means = np.array([matrix[which == cluster].mean(0) for cluster in range(CLUSTERS)])
    squares = ((matrix[:, None, :] - means) ** 2).sum(2)
    assert np.array_equal(squares.argmin(1), which)
    inertia = squares.min(1).sum()
    assert result.certificate["kind"] == "stationary"
    assert result.certificate["inertia"] == pytest.approx(inertia, rel=1e-12)
    cluster = pytest.importorskip("sklearn.cluster")
    best = cluster.KMeans(CLUSTERS, n_init=10, random_state=0).fit(matrix).inertia_
    assert inertia <= 1.02 * best


@pytest.mark.parametrize(
    ("workers", "delay_bound", "engine", "sparse"),
    [
        (1, 1, "threads", False),
        (2, 4, "threads", True),
        (4, 64, "threads", False),
        (2, None, "threads", False),
        (2, 64, "processes", False),
    ],
)
def test_answers_are_fixed_points_of_their_points(workers, delay_bound, engine, sparse):
    points, random = blobs(workers, 3000), np.random.default_rng(workers)
    with tornado.open(workers=workers, engine=engine) as session:
        stream = session.stream("points", schema=tornado.Points(features=WIDTH, sparse=sparse))
        loop = stream.start(KMeans(clusters=CLUSTERS), "clusters", delay_bound)
        live, versions, asked = {}, {}, []
        for first in range(0, 3000, 600):
            ids = np.arange(first, first + 600)
            features = points[ids]
            if sparse:
                features = [dict(enumerate(row.tolist())) for row in features]
            live = live | dict(zip(ids.tolist(), points[ids], strict=True))
            versions[stream.insert(ids=ids, features=features)] = live
            gone = random.choice(list(live), 100, replace=False)
            live = {identity: live[identity] for identity in live.keys() - set(gone.tolist())}
            versions[stream.remove(ids=gone)] = live
            asked.append(loop.query())
        for query in asked:
            result = query.result(TIMEOUT_S)
            check(result, versions[result.snapshot.version])
        assert loop.wait_idle(TIMEOUT_S)
        near = loop.read().values
        assert near.keys() == live.keys()


def test_an_answer_of_one_cut_has_the_same_bits_on_any_number_of_workers():
    found = set()
    for workers in (1, 2, 3):
        with tornado.open(workers=workers) as session:
            stream = session.stream("points", schema=tornado.Points(features=WIDTH))
            loop = stream.start(KMeans(clusters=CLUSTERS))
            stream.insert(ids=range(1000), features=blobs(7, 1000))
            result = loop.query(parameters={"seed": 5}).result(TIMEOUT_S)  # which begins from nothing
            found.add((tuple(sorted(result.values.items())), result.certificate["inertia"]))
    assert len(found) == 1


def test_few_points_none_and_equal_ones_have_answers():
    with tornado.open(workers=2) as session:
        stream = session.stream("points", schema=tornado.Points(features=1))
        loop = stream.start(KMeans(clusters=3))
        assert loop.query().result(TIMEOUT_S).values == {}
        stream.insert(ids=[1, 2], features=[[1.0], [5.0]])
        few = loop.query().result(TIMEOUT_S)
        assert len(set(few.values.values())) == 2
        assert few.certificate == {"kind": "stationary", "inertia": 0.0}
        stream.insert(ids=range(3, 40), features=np.ones((37, 1)))
        assert loop.query().result(TIMEOUT_S).certificate == {"kind": "stationary", "inertia": 0.0}
        stream.remove(ids=range(1, 40))
        assert loop.query().result(TIMEOUT_S).values == {}
        assert loop.wait_idle(TIMEOUT_S)


@pytest.mark.parametrize(
    ("program", "said"),
    [(KMeans(clusters=0), "clusters is 0"), (KMeans(seed=-1), "seed is -1"), (KMeans(batch=0), "batch is 0")],
)
def test_bad_parameters_are_refused(program, said):
    with tornado.open(workers=1) as session:
        stream = session.stream("points", schema=tornado.Points(features=2))
        with pytest.raises(InvalidArgument, match=said):
            stream.start(program)
