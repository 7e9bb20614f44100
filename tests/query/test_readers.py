"""Answers that are kept for a reader: what changed between two of them, whenever it is asked for."""

import io

import numpy as np
import pyarrow as pa
import pytest

from tornado.clock import SYSTEM_CLOCK, ManualClock
from tornado.errors import InvalidArgument
from tornado.query.result_history import ResultHistory
from tornado.storage import open_store

PATH = "/v1/loops/roads/readers/r"


@pytest.fixture
def store():
    with open_store("memory:") as opened:
        yield opened


def result(**values):
    ids = np.array(sorted(int(name[1:]) for name in values), np.int64)
    return ids, np.array([values[f"v{vertex}"] for vertex in ids.tolist()], np.float64)


def changed(history, after, up_to, reader="r"):
    ids, values = history.changes("roads", reader, after, up_to)
    return dict(zip(ids.tolist(), values.tolist(), strict=True))


def test_a_change_is_a_new_vertex_or_another_value_and_what_is_no_number_equals_itself(store):
    history = ResultHistory(store, clock=SYSTEM_CLOCK)
    history.keep("roads", "r", 3, *result(v1=0.0, v2=np.inf, v4=2.0, v5=np.nan))
    history.keep("roads", "r", 7, *result(v1=0.0, v2=np.inf, v3=np.inf, v4=1.0, v5=np.nan, v9=5.0))
    assert list(changed(history, 0, 3)) == [1, 2, 4, 5]
    assert changed(history, 3, 7) == {3: np.inf, 4: 1.0, 9: 5.0}
    assert changed(history, 7, 7) == {}
    history.keep("roads", "r", 8, *result())
    history.keep("roads", "r", 9, *result(v1=0.0))
    assert changed(history, 8, 9) == {1: 0.0}


def test_whole_numbers_are_compared_and_come_back_with_all_their_bits(store):
    history = ResultHistory(store, clock=SYSTEM_CLOCK)
    before, after = {1: 2**53, 2: 2**63 - 1, 3: -(2**63)}, {1: 2**53 + 1, 2: 2**63 - 1, 3: -(2**63)}
    for version, values in ((3, before), (7, after)):
        history.keep(
            "roads", "r", version, *(np.array(list(one), np.int64) for one in (values, values.values()))
        )
    assert changed(history, 0, 3) == before
    assert changed(history, 3, 7) == {1: 2**53 + 1}
    assert history.changes("roads", "r", 3, 7)[1].dtype == np.int64


def test_values_of_another_type_are_other_values(store):
    history = ResultHistory(store, clock=SYSTEM_CLOCK)
    history.keep("roads", "r", 3, *result(v1=0.0, v2=1.0))
    ids = np.array([1, 2], np.int64)
    history.keep("roads", "r", 4, ids, np.zeros(2, np.int64))
    history.keep("roads", "r", 5, *result(v1=0.0, v2=1.0))
    assert changed(history, 3, 4) == {1: 0, 2: 0}
    assert changed(history, 4, 5) == {1: 0.0, 2: 1.0}
    assert [history.changes("roads", "r", 0, version)[1].dtype.kind for version in (3, 4, 5)] == [
        "f",
        "i",
        "f",
    ]


def test_what_was_let_go_of_is_an_error_and_what_it_stands_before_is_not(store):
    history = ResultHistory(store, clock=SYSTEM_CLOCK)
    for version in (3, 7, 8):
        history.keep("roads", "r", version, *result(v1=float(version)))
    history.forget("roads", "r", 7)
    history.forget("roads", "nobody", 7)
    assert changed(ResultHistory(store, clock=SYSTEM_CLOCK), 7, 8) == {1: 8.0}
    for after, reader in ((3, "r"), (5, "r"), (7, "nobody")):
        with pytest.raises(InvalidArgument, match=r"is not kept .* new checkpointLocation"):
            changed(history, after, 8, reader)
    with pytest.raises(InvalidArgument, match="below its newest"):
        history.keep("roads", "r", 5, *result(v1=1.0))


def test_one_reader_too_many_costs_the_one_that_asked_last_the_longest_ago(store):
    clock = ManualClock()
    history = ResultHistory(store, readers=2, clock=clock)
    for reader, version in (("a", 1), ("b", 1), ("a", 2), ("c", 1)):
        history.keep("roads", reader, version, *result(v1=float(version)))
        clock.advance(1.0)
    history.keep("lanes", "a", 1, *result(v1=0.0))
    assert changed(history, 1, 2, "a") == {1: 2.0}
    assert changed(history, 0, 1, "c") == {1: 1.0}
    with pytest.raises(InvalidArgument, match="which has none"):
        changed(history, 0, 1, "b")


def kept(client, **question):
    query = client.post("/v1/queries?wait_s=10", json={"loop": "roads"} | question).json()["id"]
    return client.post(PATH, json={"query": query})


def test_over_http_an_answer_is_kept_by_its_query_and_changes_come_as_arrow(client):
    before = kept(client).json()["version"]
    client.post(
        "/v1/loops/roads/edges",
        content='{"src": 1, "dst": 3, "weight": 1.5}\n{"src": 4, "dst": 7}',
        headers={"content-type": "application/x-ndjson"},
    )
    after = kept(client).json()["version"]
    body = client.get(PATH, params={"after": before, "up_to": after})
    table = pa.ipc.open_stream(io.BytesIO(body.content)).read_all()
    assert table.to_pylist() == [{"vertex": 3, "value": 1.5}, {"vertex": 7, "value": 11.0}]
    assert client.delete(PATH, params={"before": after}).status_code == 204
    gone = client.get(PATH, params={"after": before, "up_to": after})
    assert (gone.status_code, gone.json()["code"]) == (422, "invalid-argument")


@pytest.mark.parametrize(
    "question", [{"vertices": [1]}, {"mode": "approximate"}, {"parameters": {"source": 2}}]
)
def test_only_an_exact_answer_of_everything_is_kept(client, question):
    refused = kept(client, **question)
    assert refused.status_code == 422
