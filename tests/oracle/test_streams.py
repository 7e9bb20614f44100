"""Streams and the two models of what they mean."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tornado.records.edge_batch import EdgeBatch
from tornado.records.operations import INSERT, REMOVE, REPLACE
from tornado.testing import (
    Churn,
    EdgeHistory,
    EdgeList,
    GraphModel,
    batches,
    college_messages,
    mixed,
    parallel_edges,
    ragged_batches,
    random_multigraph,
    rmat,
    sliding_window,
    without,
)


def triples(edges: EdgeList) -> list[tuple[int, int, float]]:
    return list(zip(edges.src.tolist(), edges.dst.tolist(), edges.weight.tolist(), strict=True))


def model_of(records: EdgeBatch) -> GraphModel:
    model = GraphModel()
    model.apply(records)
    return model


def record(*rows):
    src, dst, weight, op = zip(*rows, strict=True)
    return EdgeBatch.of(list(src), list(dst), list(weight), list(op))


def test_a_removal_without_a_weight_takes_the_oldest_edge():
    model = model_of(record((1, 2, 9.0, "+"), (1, 2, 3.0, "+"), (1, 2, None, "-")))
    assert triples(model.edges()) == [(1, 2, 3.0)]


def test_a_removal_with_a_weight_takes_the_oldest_edge_of_that_weight():
    model = model_of(record((1, 2, 9.0, "+"), (1, 2, 3.0, "+"), (1, 2, 3.0, "+"), (1, 2, 3.0, "-")))
    assert triples(model.edges()) == [(1, 2, 9.0), (1, 2, 3.0)]
    assert triples(model.edges(prefix=3)) == [(1, 2, 9.0), (1, 2, 3.0), (1, 2, 3.0)]


def test_a_removal_of_what_is_not_there_is_counted_and_changes_nothing():
    model = model_of(record((1, 2, 9.0, "+"), (1, 2, 8.0, "-"), (2, 1, None, "-")))
    assert triples(model.edges()) == [(1, 2, 9.0)]
    assert [model.missing_removals(prefix=p) for p in range(4)] == [0, 0, 1, 2]


def test_a_replacement_takes_the_place_of_all_parallel_edges():
    model = model_of(record((1, 2, 9.0, "+"), (1, 2, 3.0, "+"), (1, 3, 1.0, "+"), (1, 2, 5.0, "=")))
    assert triples(model.edges()) == [(1, 3, 1.0), (1, 2, 5.0)]
    assert triples(model_of(record((1, 2, 5.0, "="))).edges()) == [(1, 2, 5.0)]


ids = st.integers(0, 2)
any_record = st.one_of(
    st.tuples(ids, ids, st.integers(0, 3).map(float), st.sampled_from(["+", "=", "-"])),
    st.tuples(ids, ids, st.none(), st.just("-")),
)


@given(st.lists(any_record, min_size=1, max_size=60))
@settings(max_examples=300, deadline=None)
def test_the_plain_and_the_compiled_model_agree_at_every_prefix(rows):
    records = record(*rows)
    model, history = model_of(records), EdgeHistory.of(records)
    for prefix in range(len(rows) + 1):
        assert triples(model.edges(prefix=prefix)) == triples(history.at(prefix))
        assert model.missing_removals(prefix=prefix) == history.missing_removals(prefix)


def test_both_models_agree_on_a_mixed_stream_of_real_messages(data_dir):
    records = mixed(college_messages(data_dir), seed=1)
    model, history = model_of(records), EdgeHistory.of(records)
    for prefix in (1, 1_000, len(records) // 2, len(records)):
        assert triples(model.edges(prefix=prefix)) == triples(history.at(prefix))


@pytest.mark.parametrize("by_weight", [True, False])
@pytest.mark.parametrize("window", [1, 7, 100, 1_000])
def test_a_sliding_window_holds_the_last_edges_in_order(window, by_weight):
    edges = random_multigraph(10, 300, seed=window, integral=True)
    model = model_of(sliding_window(edges, window, by_weight=by_weight))
    assert model.missing_removals() == 0
    assert len(model) == 600 - min(window, 300)
    assert triples(model.edges()) == triples(edges[max(300 - window, 0) :])


def test_a_mixed_stream_has_records_of_every_kind():
    records = mixed(random_multigraph(50, 2_000, seed=1), seed=2)
    model = model_of(records)
    removals = records.op == REMOVE
    assert (records.op == INSERT).sum() > 2_000
    assert (records.op == REPLACE).sum() > 50
    assert np.isnan(records.weight[removals]).any()
    assert not np.isnan(records.weight[removals]).all()
    assert not np.isnan(records.weight[~removals]).any()
    assert 0 < model.missing_removals() < removals.sum() / 3


def test_the_same_seed_gives_the_same_stream_and_another_one_another():
    edges = random_multigraph(50, 500, seed=1)
    assert mixed(edges, seed=3).equals(mixed(edges, seed=3))
    assert not mixed(edges, seed=3).equals(mixed(edges, seed=4))


@pytest.mark.parametrize("by_weight", [True, False])
def test_removing_every_edge_leaves_nothing(by_weight):
    edges = parallel_edges(5, 9)
    model = model_of(EdgeBatch.concat([edges.records(), without(edges, seed=1, by_weight=by_weight)]))
    assert len(model.edges()) == 0
    assert model.missing_removals() == 0


def test_batches_put_together_are_the_stream():
    records = mixed(random_multigraph(20, 200, seed=1), seed=2)
    assert EdgeBatch.concat(batches(records, 17)).equals(records)
    ragged = list(ragged_batches(records, largest=40, seed=5))
    assert EdgeBatch.concat(ragged).equals(records)
    assert {len(batch) for batch in ragged} >= {1, 2}


def test_churn_removes_only_live_edges_and_adds_only_others():
    edges = rmat(8)
    churn = Churn(edges, loaded=len(edges) * 9 // 10, seed=1)
    model = model_of(churn.live().records())
    for size in (2, 100, 1_000, 999):
        batch = churn.next_batch(size)
        assert (batch.op == REMOVE).sum() == (batch.op == INSERT).sum() == (size + 1) // 2
        model.apply(batch)
        assert sorted(triples(model.edges())) == sorted(triples(churn.live()))
    assert model.missing_removals() == 0
    assert len(churn.live()) == len(edges) * 9 // 10
