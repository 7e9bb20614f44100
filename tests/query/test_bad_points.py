"""What points a Python program cannot give, what becomes of strange ones, and who joins a stream of points, with which ids."""

import math

import numpy as np
import pytest

import tornado
from apps.connected_components import ConnectedComponents
from apps.sssp import ShortestPaths
from tornado.errors import InvalidArgument

DENSE, SPARSE = tornado.Points(features=2), tornado.Points(features=2, sparse=True)
RIDGE = tornado.LinearModel(loss="squared", l2=1.0, intercept=False, tolerance=1e-12)
ONE = {"ids": [1], "labels": [1.0], "features": [[1.0, 2.0]]}


@pytest.fixture(scope="module")
def session():
    with tornado.open(workers=2) as opened:
        yield opened


@pytest.fixture
def stream(session, request):
    name = "stream"
    found = session.stream(name, schema=DENSE)
    found.start(RIDGE, "model")
    yield found
    for loop in list(found.loops):
        session.remove(loop)


def weights(stream):
    """Of the answer: those of ridge regression on the points that are in."""
    return np.array([stream.loops["model"].query().values[feature] for feature in range(2)])


def ridge(matrix, labels, shares=None):
    matrix, labels = np.asarray(matrix, float), np.asarray(labels, float)
    shares = np.ones(len(labels)) if shares is None else np.asarray(shares)
    shares = shares / shares.sum()
    return np.linalg.solve((matrix.T * shares) @ matrix + np.eye(2), (matrix.T * shares) @ labels)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"features": [[1.0, math.nan]]}, "features.*nan"),
        ({"features": [[math.inf, 1.0]]}, "features.*inf"),
        ({"features": [[1.0, 2.0, 3.0]]}, "features"),
        ({"features": [{2: 1.0}]}, "features"),
        ({"features": [{-1: 1.0}]}, "features"),
        ({"features": None}, "features"),
        ({"labels": [math.inf]}, "labels.*inf"),
        ({"labels": ["spam"]}, "labels"),
        ({"labels": [1.0, 2.0]}, "labels"),
        ({"weights": [-1.0]}, "weight.*-1"),
        ({"weights": [math.inf]}, "weight.*inf"),
        ({"weights": [math.nan]}, "weight.*nan"),
        ({"ids": [1.0]}, "ids"),
        ({"ids": ["one"]}, "ids"),
        ({"ids": [2**63]}, "ids"),
        ({"ids": None}, "ids is left out"),
    ],
)
def test_a_bad_entry_refuses_the_call_and_nothing_is_taken(stream, changed, said):
    before = stream.offsets()
    with pytest.raises(InvalidArgument, match=said):
        stream.insert(**(ONE | changed))
    assert stream.offsets() == before


@pytest.mark.parametrize("features", [0, -1])
def test_points_have_features(features):
    with pytest.raises(InvalidArgument, match="features"):
        tornado.Points(features=features)


def test_sparse_features_are_refused_on_a_stream_of_dense_points(stream):
    from scipy.sparse import csr_matrix

    for features in (csr_matrix([[0.0, 3.0]]), [{0: 4.0}]):
        with pytest.raises(InvalidArgument, match="features"):
            stream.insert(ids=[2], labels=[2.0], features=features)
    assert weights(stream).tolist() == [0.0, 0.0]


def test_dense_features_are_refused_on_a_stream_of_sparse_points(session):
    from scipy.sparse import csr_matrix

    stream = session.stream("sparse", schema=SPARSE)
    loop = stream.start(RIDGE, "sparse")
    stream.insert(ids=[2], labels=[2.0], features=csr_matrix([[0.0, 3.0]]))
    stream.insert(ids=[3], labels=[3.0], features=[{0: 4.0}])
    with pytest.raises(InvalidArgument, match="features is dense, but the stream declares sparse points"):
        stream.insert(ids=[1], labels=[1.0], features=[[1.0, 2.0]])
    found = loop.query().values
    assert [found[0], found[1]] == pytest.approx(ridge([[0, 3], [4, 0]], [2, 3]), abs=1e-5)
    session.remove("sparse")


def test_of_ids_that_repeat_the_last_point_counts_in_one_call_and_in_several(stream):
    stream.insert(ids=[1, 2, 1], labels=[9.0, 2.0, 1.0], features=[[9.0, 9.0], [0.0, 3.0], [1.0, 2.0]])
    stream.insert(ids=[2], labels=[5.0], features=[[3.0, 0.0]])
    assert stream.loops["model"].wait_idle(60)
    assert stream.loops["model"].statistics().vertices == 2
    assert weights(stream) == pytest.approx(ridge([[1, 2], [3, 0]], [1, 5]), abs=1e-5)


def test_a_point_that_is_removed_twice_is_counted_as_missing(stream):
    stream.insert(ids=[1, 2], labels=[1.0, 2.0], features=[[1.0, 2.0], [0.0, 3.0]])
    stream.remove(ids=[1, 1])
    stream.remove(ids=[1, 77])
    loop = stream.loops["model"]
    assert loop.wait_idle(60)
    assert (loop.statistics().vertices, loop.statistics().missing_removals) == (1, 3)
    assert weights(stream) == pytest.approx(ridge([[0, 3]], [2]), abs=1e-5)
    stream.insert(**ONE)
    assert weights(stream) == pytest.approx(ridge([[0, 3], [1, 2]], [2, 1]), abs=1e-5)


def test_a_point_of_weight_0_takes_no_part(stream):
    stream.insert(
        ids=[1, 2, 3],
        labels=[1.0, 2.0, 50.0],
        features=[[1.0, 2.0], [0.0, 3.0], [7.0, 7.0]],
        weights=[1.0, 3.0, 0.0],
    )
    assert weights(stream) == pytest.approx(ridge([[1, 2], [0, 3]], [1, 2], [1, 3]), abs=1e-5)


def test_without_points_the_answer_is_nothing_of_anything(stream):
    assert weights(stream).tolist() == [0.0, 0.0]
    stream.insert(**ONE)
    stream.remove(ids=[1])
    assert weights(stream).tolist() == [0.0, 0.0]


def test_a_label_that_is_no_class_refuses_the_call(session):
    stream = session.stream("classed", schema=DENSE)
    stream.start(tornado.LinearModel(loss="hinge", classes=(0.0, 1.0)), "classed")
    with pytest.raises(InvalidArgument, match="one of the classes 0 and 1"):
        stream.insert(ids=[1, 2], labels=[0.0, 2.0], features=[[1.0, 1.0], [2.0, 2.0]])
    assert stream.offsets() == {}
    session.remove("classed")


def test_a_sparse_index_beyond_the_width_refuses_the_call(session):
    stream = session.stream("sparse", schema=SPARSE)
    stream.start(tornado.KMeans(clusters=2), "sparse")
    for bad in ({2: 1.0}, {-1: 1.0}, {0: math.nan}):
        with pytest.raises(InvalidArgument, match="features"):
            stream.insert(ids=[1], features=[bad])
    session.remove("sparse")


def test_more_clusters_than_points_leave_some_without_any(session):
    stream = session.stream("few", schema=DENSE)
    loop = stream.start(tornado.KMeans(clusters=5), "few")
    assert loop.query().values == {}
    stream.insert(ids=[1, 2], features=[[0.0, 0.0], [9.0, 9.0]])
    found = loop.query().values
    assert len(set(found.values())) == 2
    session.remove("few")


# Who joins


def test_loops_that_look_at_edges_join_a_stream_that_has_none_yet(session, stream):
    stream.insert(**ONE)
    paths, groups = (
        stream.start(ShortestPaths(source=1), "paths"),
        stream.start(ConnectedComponents(), "groups"),
    )
    stream.insert([1, 2], [2, 3], [1.0, 1.0])
    assert paths.query().values == {1: 0.0, 2: 1.0, 3: 2.0}
    assert groups.query([3, 2]).values == {3: 1, 2: 1}
    with pytest.raises(InvalidArgument, match="weight"):
        stream.insert([1], [2], [-1.0])


@pytest.mark.parametrize(
    "program", [ShortestPaths(source=1), ConnectedComponents()], ids=["checks", "both ways"]
)
def test_of_edges_that_nobody_reads_they_hear_in_words(session, stream, program):
    stream.insert([1], [2], [1.0])
    with pytest.raises(InvalidArgument, match="has edges that cannot be looked at: no loop that reads edges"):
        stream.start(program, "late")
    assert list(stream.loops) == ["model"]


# Ids that are strings


def test_ids_of_points_may_be_strings(session):
    stream = session.stream("named", ids="string", schema=DENSE)
    loop = stream.start(tornado.KMeans(clusters=2), "named")
    stream.insert(ids=["a", "b", "c"], features=[[0.0, 0.0], [9.0, 9.0], [9.0, 8.0]])
    stream.remove(ids=["b", "never seen"])
    found = loop.query().values
    assert found.keys() == {"a", "c"}
    assert found["a"] != found["c"]
    for bad in ([1], [""]):
        with pytest.raises(InvalidArgument, match=r"names\[0\]"):
            stream.insert(ids=bad, features=[[0.0, 0.0]])


def test_a_model_of_points_that_have_strings_for_ids_has_numbers_for_its_features(session):
    stream = session.stream("called", ids="string", schema=DENSE)
    model = stream.start(tornado.LinearModel(loss="squared", l2=0.1), "called")
    rows = [[0.0, 1.0], [2.0, 0.0], [3.0, 3.0], [9.0, 9.0]]
    stream.insert(ids=["a", "b", "c", "d"], labels=[1.0, 2.0, 4.0, 99.0], features=rows)
    stream.remove(ids=["d"])
    query = model.query(check=True)
    found = query.result()
    assert list(found.values) == [-1, 0, 1]
    assert found.certificate["check"]["points"] == 3
    assert query.check()["checked"] is True
    assert list(model.query(vertices=[1, -1]).values) == [1, -1]
    assert model.predict(rows[:1]).shape == (1,)
    with pytest.raises(InvalidArgument, match="'a'"):
        model.query(vertices=["a"])
    clusters = stream.start(tornado.KMeans(clusters=2), "clusters of called")
    assert clusters.query().values.keys() == {"a", "b", "c"}


# Over HTTP, and in files: what a record cannot be, it is in quarantine for, and the others are in


@pytest.fixture
def classed(session):
    """Posts lines to a stream of a loop that knows its classes; what is said of them, and the reasons in quarantine."""
    import httpx

    stream = session.stream("classed", schema=DENSE)
    stream.start(tornado.LinearModel(loss="hinge", classes=(0.0, 1.0)), "classed")
    server = session.serve()

    def post(*lines):
        path = f"{server.url}/v1/streams/classed/points"
        kind = {"Content-Type": "application/x-ndjson"}
        answer = httpx.post(path, content="\n".join(lines), headers=kind, timeout=60, trust_env=False)
        entries = [entry for _, entry in session.service.pusher.quarantine.recent()]
        said = answer.json()
        return said["accepted"], [entry.reason for entry in entries][-said["rejected"] :] if said[
            "rejected"
        ] else []

    yield post, stream
    session.remove("classed")


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ('{"id": 2, "label": 7, "features": [1, 2]}', "a label is one of the classes 0 and 1"),
        ('{"id": 2, "label": 1e999, "features": [1, 2]}', "label"),
        ('{"id": 2, "label": 1, "weight": 1e999, "features": [1, 2]}', "weight"),
        ('{"id": 2, "label": 1, "weight": -0.5, "features": [1, 2]}', "weight is negative"),
        ('{"id": 2, "op": "*", "features": [1, 2]}', "op is unknown"),
        ('{"id": 2, "label": 1, "features": {"2": 1}}', "features are sparse"),
    ],
)
def test_a_bad_record_over_http_is_in_quarantine_with_its_reason(classed, record, said):
    post, _ = classed
    accepted, reasons = post('{"id": 1, "label": 1, "features": [1, 2]}', record)
    assert accepted == 1
    [reason] = reasons
    assert said in reason


def test_over_http_the_last_of_equal_ids_counts_and_a_second_removal_is_counted(classed):
    post, stream = classed
    lines = [
        '{"id": 1, "label": 1, "features": [1, 2]}',
        '{"id": 1, "label": 0, "weight": 0, "features": [1, 3]}',
    ]
    assert post(*lines, '{"id": 2, "op": "-"}', '{"id": 1, "op": "-"}', '{"id": 1, "op": "-"}') == (5, [])
    loop = stream.loops["classed"]
    assert loop.wait_idle(60)
    assert (loop.statistics().vertices, loop.statistics().missing_removals) == (0, 2)


@pytest.mark.parametrize("engine", ["threads", "processes"])
def test_a_model_of_classes_that_points_do_not_have_is_not_started_beside_others(engine):
    with tornado.open("memory:", workers=2, engine=engine) as session:
        stream = session.stream("points", schema=DENSE)
        clusters = stream.start(tornado.KMeans(clusters=2), "clusters")
        rows = [[0.0, 1.0], [1.0, 0.0], [4.0, 4.0]]
        stream.insert(ids=[1, 2, 3], labels=[0.0, None, 1.0], features=rows)
        with pytest.raises(
            InvalidArgument, match=r"which has the record point \d, label [01]: a label is one of"
        ):
            stream.start(tornado.LinearModel(classes=(5.0, 7.0)), "other")
        # It leaves nothing behind that would refuse points, and one that fits begins.
        stream.insert(ids=[4], labels=[1.0], features=[[5.0, 5.0]])
        model = stream.start(tornado.LinearModel(loss="logistic", classes=(0.0, 1.0)), "model")
        assert model.query().certificate["kind"] == "gap"
        assert len(clusters.query().values) == 4
