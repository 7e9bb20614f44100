"""Answers that are kept for a reader: what changed between two of them, whenever it is asked for."""

import io
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from tornado.clock import SYSTEM_CLOCK, ManualClock
from tornado.errors import Forbidden, InvalidArgument
from tornado.query.bearer_tokens import BearerToken
from tornado.query.callers import Caller
from tornado.query.ids import IntIds
from tornado.query.result_history import ResultHistory
from tornado.query.rows import AnswerForm
from tornado.storage import open_store

NUMBERS = AnswerForm(rank="nearest", codec=IntIds())
LABELS = AnswerForm(rank="nearest", codec=IntIds(), worst=(2**63 - 1, 2**63 - 1), values_are_ids=True)
PATH = "/v1/loops/roads/readers/r"


@pytest.fixture
def store():
    with open_store("memory:") as opened:
        yield opened


def result(**values):
    ids = np.array(sorted(int(name[1:]) for name in values), np.int64)
    return ids, np.array([values[f"v{vertex}"] for vertex in ids.tolist()], np.float64)


def changed(history, after, up_to, reader="r", form=NUMBERS):
    rows = history.changes("roads", reader, after, up_to, form=form).values()
    return dict(zip(rows.ids, rows.values.tolist(), strict=True))


def test_a_change_is_a_new_vertex_or_another_value_and_what_is_no_number_equals_itself(store):
    history = ResultHistory(store, clock=SYSTEM_CLOCK)
    history.keep("roads", "r", 3, *result(v1=0.0, v2=np.inf, v4=2.0, v5=np.nan), form=NUMBERS)
    history.keep(
        "roads", "r", 7, *result(v1=0.0, v2=np.inf, v3=np.inf, v4=1.0, v5=np.nan, v9=5.0), form=NUMBERS
    )
    assert list(changed(history, 0, 3)) == [1, 2, 4, 5]
    assert changed(history, 3, 7) == {3: np.inf, 4: 1.0, 9: 5.0}
    assert changed(history, 7, 7) == {}
    history.keep("roads", "r", 8, *result(), form=NUMBERS)
    history.keep("roads", "r", 9, *result(v1=0.0), form=NUMBERS)
    assert changed(history, 8, 9) == {1: 0.0}


def test_whole_numbers_are_compared_and_come_back_with_all_their_bits(store):
    history = ResultHistory(store, clock=SYSTEM_CLOCK)
    before, after = {1: 2**53, 2: 2**63 - 1, 3: -(2**63)}, {1: 2**53 + 1, 2: 2**63 - 1, 3: -(2**63)}
    for version, values in ((3, before), (7, after)):
        history.keep(
            "roads",
            "r",
            version,
            *(np.array(list(one), np.int64) for one in (values, values.values())),
            form=NUMBERS,
        )
    assert changed(history, 0, 3) == before
    assert changed(history, 3, 7) == {1: 2**53 + 1}
    assert history.changes("roads", "r", 3, 7, form=NUMBERS).values().values.dtype == np.int64


def test_values_of_another_type_are_other_values(store):
    history = ResultHistory(store, clock=SYSTEM_CLOCK)
    history.keep("roads", "r", 3, *result(v1=0.0, v2=1.0), form=NUMBERS)
    ids = np.array([1, 2], np.int64)
    history.keep("roads", "r", 4, ids, np.zeros(2, np.int64), form=NUMBERS)
    history.keep("roads", "r", 5, *result(v1=0.0, v2=1.0), form=NUMBERS)
    assert changed(history, 3, 4) == {1: 0, 2: 0}
    assert changed(history, 4, 5) == {1: 0.0, 2: 1.0}
    assert [
        history.changes("roads", "r", 0, version, form=NUMBERS).values().values.dtype.kind
        for version in (3, 4, 5)
    ] == [
        "f",
        "i",
        "f",
    ]


def test_what_was_let_go_of_is_an_error_and_what_it_stands_before_is_not(store):
    history = ResultHistory(store, clock=SYSTEM_CLOCK)
    for version in (3, 7, 8):
        history.keep("roads", "r", version, *result(v1=float(version)), form=NUMBERS)
    history.forget("roads", "r", 7, form=NUMBERS)
    history.forget("roads", "nobody", 7, form=NUMBERS)
    assert changed(ResultHistory(store, clock=SYSTEM_CLOCK), 7, 8) == {1: 8.0}
    for after, reader in ((3, "r"), (5, "r"), (7, "nobody")):
        with pytest.raises(InvalidArgument, match=r"is not kept .* new checkpointLocation"):
            changed(history, after, 8, reader)
    with pytest.raises(InvalidArgument, match="below its newest"):
        history.keep("roads", "r", 5, *result(v1=1.0), form=NUMBERS)


def test_what_another_loop_of_the_name_told_is_not_given_out_after_a_restart(reopened):
    first, other = (
        replace(NUMBERS, computes=computes) for computes in ("roads hops of 1", "secret hops of 1")
    )
    reopened().keep("roads", "r", 3, *result(v1=1.0), form=first, by=caller("own"))
    with pytest.raises(InvalidArgument, match="which has none"):
        changed(reopened(), 0, 3, form=other)
    reopened().keep("roads", "r", 3, *result(v1=3.0), form=other, by=caller("another"))
    assert [changed(reopened(), 0, 3, form=form) for form in (first, other)] == [{1: 1.0}, {1: 3.0}]
    reopened().keep("roads-north", "r", 3, *result(v1=5.0), form=first)
    reopened().forget_loop("roads")
    for form in (first, other):
        with pytest.raises(InvalidArgument, match="which has none"):
            changed(reopened(), 0, 3, form=form)
    assert reopened().changes("roads-north", "r", 0, 3, form=first).values().ids == [1]


def test_one_reader_too_many_costs_the_one_that_asked_last_the_longest_ago(store):
    clock = ManualClock()
    history = ResultHistory(store, readers=2, clock=clock)
    for reader, version in (("a", 1), ("b", 1), ("a", 2), ("c", 1)):
        history.keep("roads", reader, version, *result(v1=float(version)), form=NUMBERS)
        clock.advance(1.0)
    history.keep("lanes", "a", 1, *result(v1=0.0), form=NUMBERS)
    assert changed(history, 1, 2, "a") == {1: 2.0}
    assert changed(history, 0, 1, "c") == {1: 1.0}
    with pytest.raises(InvalidArgument, match="which has none"):
        changed(history, 0, 1, "b")


def caller(name, *, writes=False):
    return Caller(BearerToken(digest=name.encode(), writes=writes))


@pytest.mark.parametrize("kind", ["memory:", "lmdb"])
def test_a_reader_is_of_the_token_that_made_it_also_after_a_restart(kind, tmp_path):
    with open_store(kind if kind == "memory:" else f"lmdb://{tmp_path}/store") as store:
        made = ResultHistory(store, clock=SYSTEM_CLOCK)
        made.keep("roads", "r", 3, *result(v1=3.0), form=NUMBERS, by=caller("own"))
        made.keep("roads", "r", 5, *result(v1=5.0), form=NUMBERS, by=caller("loader", writes=True))
        history = ResultHistory(store, clock=SYSTEM_CLOCK)
        with pytest.raises(Forbidden, match="the reader 'r' is of another token"):
            history.forget("roads", "r", 5, form=NUMBERS, by=caller("other"))
        for version in (3, 5, 7):
            with pytest.raises(Forbidden, match="the reader 'r' is of another token"):
                history.keep("roads", "r", version, *result(v1=0.0), form=NUMBERS, by=caller("other"))
        assert changed(history, 3, 5) == {1: 5.0}
        history.keep("roads", "r", 7, *result(v1=7.0), form=NUMBERS, by=caller("own"))
        history.forget("roads", "r", 5, form=NUMBERS, by=caller("own"))
        history.forget("roads", "r", 7, form=NUMBERS, by=caller("loader", writes=True))
        with pytest.raises(InvalidArgument, match="which has 7"):
            changed(history, 5, 7)


def test_a_reader_of_nobody_is_of_whoever_goes_on_with_it(store):
    history = ResultHistory(store, clock=SYSTEM_CLOCK)
    history.keep("roads", "r", 3, *result(v1=3.0), form=NUMBERS)
    history.keep("roads", "r", 5, *result(v1=5.0), form=NUMBERS, by=caller("own"))
    with pytest.raises(Forbidden):
        history.forget("roads", "r", 5, form=NUMBERS, by=caller("other"))


def test_a_token_that_makes_reader_after_reader_costs_no_other_token_one(store):
    clock = ManualClock()
    history = ResultHistory(store, readers=4, clock=clock)
    makes = [("own", "mine")] + [("other", f"r{number}") for number in range(6)] + [("third", "t")]
    for name, reader in makes:
        history.keep("roads", reader, 1, *result(v1=1.0), form=NUMBERS, by=caller(name))
        clock.advance(1.0)
    for reader in ("mine", "t", "r4", "r5"):
        assert changed(history, 0, 1, reader) == {1: 1.0}
    with pytest.raises(InvalidArgument, match="which has none"):
        changed(history, 0, 1, "r3")


@pytest.fixture(params=["memory:", "lmdb"])
def reopened(request, tmp_path):
    """A history that is begun anew on the same store whenever it is asked for, as after a restart."""
    url = request.param if request.param == "memory:" else f"lmdb://{tmp_path}/store"
    with open_store(url) as store:
        yield lambda: ResultHistory(store, clock=SYSTEM_CLOCK)


def labels(*groups):
    found = {vertex: min(group) for group in groups for vertex in group}
    return np.array(sorted(found), np.int64), np.array([found[vertex] for vertex in sorted(found)], np.int64)


def told_of_groups(history, after, up_to):
    difference = history.changes("roads", "r", after, up_to, form=LABELS)
    groups = difference.groups().to_pydict()
    return dict(zip(groups["vertex"], groups["group"], strict=True)), difference.group_events().to_pylist()


def test_names_of_groups_go_on_from_what_the_reader_was_told_and_are_the_same_when_read_again(reopened):
    answers = {
        3: labels([1, 2, 3, 4]),
        5: labels([1], [2, 3, 4]),
        6: labels([1, 5], [2, 3, 4]),
        8: labels([1, 5, 2, 3, 4]),
    }
    for version, answer in answers.items():
        reopened().keep("roads", "r", version, *answer, form=LABELS)
    split = {"kind": "split", "from": [1], "into": [1, 2], "sizes": [3, 1]}
    merge = {"kind": "merge", "from": [1, 2], "into": [1], "sizes": [3, 2]}
    for _ in range(2):
        assert told_of_groups(reopened(), 0, 3) == (dict.fromkeys(range(1, 5), 1), [])
        assert told_of_groups(reopened(), 3, 5) == ({1: 2}, [split]), "the largest part keeps the name"
        assert told_of_groups(reopened(), 5, 6) == ({5: 2}, [])
        assert told_of_groups(reopened(), 6, 8) == ({1: 1, 5: 1}, [merge]), "and it has it still"
        assert changed(reopened(), 3, 5, form=LABELS) == {2: 2, 3: 2, 4: 2}, "a value is the least id"


def test_an_answer_that_the_reader_was_not_told_of_changes_no_name_and_no_value(reopened):
    history = reopened()
    for version, answer, after in (
        (3, labels([1, 2, 3, 4, 5]), 0),
        (5, labels([1, 2, 3], [4, 5]), 3),  # nobody heard of it: the reader asks again behind 3
        (6, labels([1, 2], [3, 4, 5]), 3),
    ):
        history.keep("roads", "r", version, *answer, form=LABELS, after=after)
    split = {"kind": "split", "from": [1], "into": [1, 3], "sizes": [3, 2]}
    assert told_of_groups(reopened(), 3, 6) == ({1: 3, 2: 3}, [split])
    for _ in range(2):  # it may be kept again, and stays as it is; behind another one it is another one
        history.keep("roads", "r", 6, *labels([1, 2], [3, 4, 5]), form=LABELS, after=3)
        assert told_of_groups(reopened(), 3, 6) == ({1: 3, 2: 3}, [split])
    history.keep("roads", "r", 6, *labels([1, 2], [3, 4, 5]), form=LABELS, after=5)
    assert told_of_groups(reopened(), 5, 6)[0] == {3: 4}, "of equal parts, that with the least vertex"


def test_a_number_is_told_again_when_it_has_moved_far_enough_from_what_was_told(reopened):
    history = reopened()
    drift = (
        {"v1": 1.0, "v2": 5.0, "v3": np.inf, "v4": 1.0, "v5": np.nan},
        {"v1": 1.4, "v2": 5.5, "v3": np.inf, "v4": np.inf, "v5": np.nan},
        {"v1": 1.8, "v2": 5.0, "v3": 7.0, "v4": np.inf, "v5": np.nan, "v6": 0.0},
        {"v1": 2.2, "v2": 4.4, "v3": 7.5, "v4": 1.0, "v5": 0.0, "v6": 0.1},
        {"v1": 2.2, "v2": 4.4, "v3": 7.5, "v4": 1.0, "v5": 0.0},
    )
    for version, values in enumerate(drift, 1):
        history.keep("roads", "r", version, *result(**values), form=NUMBERS, moved_by=0.5)
    told = [changed(reopened(), version, version + 1) for version in range(5)]
    inf = np.inf
    assert list(told[0]) == [1, 2, 3, 4, 5]
    assert told[1:] == [{4: inf}, {1: 1.8, 3: 7.0, 6: 0.0}, {2: 4.4, 4: 1.0, 5: 0.0}, {6: inf}]
    assert changed(reopened(), 0, 4) == {1: 1.8, 2: 4.4, 3: 7.0, 4: 1.0, 5: 0.0, 6: 0.0}
    rows = history.changes("roads", "r", 4, 5, form=NUMBERS).values()
    assert rows.reached.tolist() == [False], "a vertex that is gone has no value"


def test_what_comes_within_reach_is_told_however_near_its_number_is_to_that_of_the_unreached(store):
    history = ResultHistory(store, clock=SYSTEM_CLOCK)
    widths = AnswerForm(rank="highest", codec=IntIds(), worst=0.0)
    for version, width in enumerate((0.0, 0.25, 0.375, 0.0), 1):
        history.keep("roads", "r", version, *result(v1=width), form=widths, moved_by=0.5)
    told = [changed(history, version, version + 1, form=widths) for version in range(4)]
    assert told == [{1: 0.0}, {1: 0.25}, {}, {1: 0.0}]


def test_whole_numbers_move_without_rounding(store):
    history = ResultHistory(store, clock=SYSTEM_CLOCK)
    for version, value in enumerate((2**53, 2**53 + 1, -(2**63), 2**63 - 1), 1):
        history.keep(
            "roads", "r", version, *np.array([[1], [value]], np.int64), form=NUMBERS, moved_by=2.0**53
        )
    assert [changed(history, 1, version) for version in (2, 3, 4)] == [{}, {1: -(2**63)}, {1: 2**63 - 1}]


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


@pytest.mark.parametrize("master", ["real"], indirect=True)
def test_a_loop_that_takes_the_name_of_one_that_was_removed_is_told_nothing_of_it(session, master, serve):
    client = serve(session.service)
    handle = session.start(master.new_program(source=1), "roads")
    handle.insert([1, 2], [2, 3])
    told = kept(client).json()["version"]
    session.remove("roads")
    assert not [line for line in master.store.loops() if "readers" in line], "it would stay for good"
    session.start(master.new_program(source=3), "roads").insert([1, 2], [2, 3])
    gone = client.get(PATH, params={"after": 0, "up_to": told})
    assert (gone.status_code, gone.json()["code"]) == (422, "invalid-argument")
    assert "which has none" in gone.json()["detail"]
    now = client.get(PATH, params={"after": 0, "up_to": kept(client).json()["version"]})
    assert pa.ipc.open_stream(io.BytesIO(now.content)).read_all()["value"].to_pylist() == [None, None, 0.0]


@pytest.mark.parametrize(
    "question", [{"vertices": [1]}, {"mode": "approximate"}, {"parameters": {"source": 2}}]
)
def test_only_an_exact_answer_of_everything_is_kept(client, question):
    refused = kept(client, **question)
    assert refused.status_code == 422


def test_a_reader_that_no_path_can_name_is_refused(client):
    for name in ("%2E", "%2E%2E"):
        refused = client.delete(f"/v1/loops/roads/readers/{name}", params={"before": 1})
        assert (refused.status_code, refused.json()["code"]) == (422, "invalid-argument")
        assert "reader" in refused.json()["detail"]
