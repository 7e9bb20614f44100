"""Numbered batches of points: whole, once, in their order, and known by their place where they have no ids."""

import httpx
import numpy as np
import pytest

import tornado
from tests.kafka.chunks import arrow_message
from tests.query.test_http_loops import ARROW
from tornado.ingest.point_ids import id_at
from tornado.kinds.learning.clusters.cluster_program import KMeans

SOURCE = "spark:q"


class Sender:
    """Sends batches to a loop whose values are of points, and asks which there are."""

    def __init__(self, client, loop):
        self.client, self.loop = client, loop
        self.path = f"/v1/loops/clusters/batches/{SOURCE}"

    def put(self, number, content, *, part="0.a", chunk=0):
        return self.client.put(f"{self.path}/{number}/parts/{part}/{chunk}", content=content, headers=ARROW)

    def commit(self, number, *parts):
        named = [{"part": part, "chunks": chunks} for part, chunks in parts or [("0.a", 1)]]
        return self.client.post(f"{self.path}/{number}", json={"parts": named})

    def points(self):
        return sorted(self.loop.query().result(60).values)


@pytest.fixture
def sender():
    with tornado.open("memory:", workers=1) as session:
        stream = session.stream("clusters", schema=tornado.Points(features=2))
        loop = stream.start(KMeans(clusters=2), "clusters")
        server = session.serve()
        with httpx.Client(base_url=server.url, timeout=60, trust_env=False) as client:
            yield Sender(client, loop)


def test_points_without_ids_are_known_by_their_place_in_the_source_over_batches_chunks_and_bad_rows(sender):
    sender.put(0, arrow_message(x=[1.0, np.nan, 2.0], y=[0.0, 0.0, 1.0]))
    sender.put(0, arrow_message(x=[5.0], y=[5.0]), chunk=1)
    done = sender.commit(0, ("0.a", 2)).json()
    assert (done["accepted"], done["rejected"], done["offsets"]) == (3, 1, {SOURCE: 4})
    assert sender.points() == [id_at(SOURCE, place) for place in (1, 3, 4)]
    # In another order than they came in: a place is that of the row as it came.
    sender.put(1, arrow_message(x=[7.0, -90.0], y=[7.0, -90.0], order=[2, 1]), part="1.b")
    assert sender.commit(1, ("1.b", 1)).json()["offsets"] == {SOURCE: 6}
    assert sender.commit(1, ("1.b", 1)).json()["repeated"]
    values = sender.loop.query().result(60).values
    assert sorted(values) == [id_at(SOURCE, place) for place in (1, 3, 4, 5, 6)]
    [far] = [at for at, cluster in values.items() if list(values.values()).count(cluster) == 1]
    assert far == id_at(SOURCE, 6)


def test_points_come_and_go_in_the_order_of_their_batch_whichever_part_they_came_with(sender):
    sender.put(
        0, arrow_message(id=[1, 2], op=["-", "+"], x=[None, 2.0], y=[None, 2.0], order=[5, 1]), part="0.a"
    )
    sender.put(
        0, arrow_message(id=[1, 3], op=["+", "+"], x=[1.0, 3.0], y=[1.0, 3.0], order=[2, 9]), part="1.b"
    )
    assert sender.commit(0, ("0.a", 1), ("1.b", 1)).json()["accepted"] == 4
    assert sender.points() == [2, 3]
    refused = sender.put(1, arrow_message(x=[1.0], y=[2.0]))
    assert (refused.status_code, "lacks the column" in refused.json()["detail"]) == (422, True)


def test_batches_of_nothing_are_numbered_too(sender):
    assert sender.commit(0, ("0.a", 0)).json()["offsets"] == {SOURCE: 0}
    sender.put(1, arrow_message(id=[4], x=[1.0], y=[2.0]))
    assert sender.commit(1).json()["offsets"] == {SOURCE: 1}
    assert sender.points() == [4]


def test_a_batch_that_mixes_points_with_ids_and_without_is_refused_as_a_whole(sender):
    sender.put(0, arrow_message(id=[1], x=[1.0], y=[1.0]))
    sender.put(0, arrow_message(x=[2.0], y=[2.0]), chunk=1)
    refused = sender.commit(0, ("0.a", 2))
    assert (refused.status_code, "some without" in refused.json()["detail"]) == (422, True)
    assert sender.points() == []


def test_removals_without_an_id_are_rejected_alone(sender):
    sender.put(0, arrow_message(op=["+", "-"], x=[1.0, 2.0], y=[1.0, 2.0]))
    assert sender.commit(0).json()["rejected"] == 1
    assert sender.points() == [id_at(SOURCE, 1)]


def test_where_ids_are_texts_points_must_have_them():
    with tornado.open("memory:", workers=1) as session:
        stream = session.stream("clusters", ids="string", schema=tornado.Points(features=1))
        loop = stream.start(KMeans(clusters=1), "clusters")
        stream.insert(ids=["ben"], features=[[0.0]])
        with httpx.Client(base_url=session.serve().url, timeout=60, trust_env=False) as client:
            sender = Sender(client, loop)
            refused = sender.put(0, arrow_message(x=[1.0]))
            assert (refused.status_code, "ids of this stream are texts" in refused.json()["detail"]) == (
                422,
                True,
            )
            sender.put(0, arrow_message(id=["anna"], x=[1.0]))
            assert sender.commit(0).json()["accepted"] == 1
            assert sender.points() == ["anna", "ben"]
