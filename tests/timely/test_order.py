"""Orders, antichains, change batches: laws, and the naive twin."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado.errors import InvalidArgument
from tornado.timely.antichain import Antichain, MutableAntichain, MutableLeast
from tornado.timely.change_batch import ChangeBatch
from tornado.timely.order import Lexicographic, Order, Product

ORDERS = [Lexicographic(1), Lexicographic(3), Product(2), Product(3), Order((1, 2)), Order((2, 1, 1))]
orders = st.sampled_from(ORDERS)


def times_of(order):
    return st.tuples(*[st.integers(0, 3)] * order.arity)


def naive_frontier(order, counts):
    present = [time for time, count in counts.items() if count > 0]
    return {time for time in present if not any(order.less_than(other, time) for other in present)}


@given(data=st.data(), order=orders)
def test_an_order_is_a_lattice_with_a_least_element(data, order):
    a, b, c = (data.draw(times_of(order)) for _ in range(3))
    assert order.less_equal(order.least, a)
    assert order.less_equal(a, a)
    assert (order.less_equal(a, b) and order.less_equal(b, a)) == (a == b)
    assert order.less_than(a, b) == (a != b and order.less_equal(a, b))
    if order.less_equal(a, b) and order.less_equal(b, c):
        assert order.less_equal(a, c)
    join, meet = order.join(a, b), order.meet(a, b)
    assert order.less_equal(a, join) and order.less_equal(b, join)
    assert order.less_equal(meet, a) and order.less_equal(meet, b)
    if order.less_equal(a, c) and order.less_equal(b, c):
        assert order.less_equal(join, c)
    if order.less_equal(c, a) and order.less_equal(c, b):
        assert order.less_equal(c, meet)
    if order.is_total:
        assert order.less_equal(a, b) or order.less_equal(b, a)


@given(data=st.data(), order=orders)
def test_entering_a_loop_is_monotone_in_both_kinds_of_loop(data, order):
    a, b = data.draw(times_of(order)), data.draw(times_of(order))
    for inner in (order.nested_product(), order.nested_lexicographic()):
        assert inner.arity == order.arity + 1
        assert inner.less_equal((*a, 0), (*b, 0)) == order.less_equal(a, b)


def test_orders_say_what_they_are_and_compare_by_it():
    assert [repr(order) for order in ORDERS[1:5]] == [
        "Lexicographic(3)",
        "Product(2)",
        "Product(3)",
        "Order((1, 2))",
    ]
    assert Lexicographic(1) == Product(1)
    assert len({Product(2), Order((1, 1)), Lexicographic(2)}) == 2
    with pytest.raises(ValueError, match="blocks"):
        Order(())


@pytest.mark.parametrize("wrong", [(1,), (1, 2, 3), 3, [1, 2], (1, 2.0), (1, "x"), (None, 2), "12", None])
def test_a_time_is_a_tuple_of_integers_one_for_each_counter(wrong):
    for given_time in [(1, 2), (np.int64(1), 2), (True, np.uint8(2))]:
        time = Product(2).as_time(given_time, "the input")
        assert time == (1, 2) and {type(counter) for counter in time} == {int}
    with pytest.raises(InvalidArgument, match=r"the input has times of 2 counters, and .* is none of them"):
        Product(2).as_time(wrong, "the input")


@given(data=st.data(), order=orders)
def test_an_antichain_keeps_exactly_the_minimal_times(data, order):
    times = data.draw(st.lists(times_of(order)))
    probe = data.draw(times_of(order))
    chain = Antichain(order, times)
    assert set(chain) == naive_frontier(order, Counter(times))
    assert len(chain) == len(set(chain))
    assert chain.less_equal(probe) == any(order.less_equal(time, probe) for time in times)
    assert chain.less_than(probe) == any(order.less_than(time, probe) for time in times)
    assert chain == Antichain(order, reversed(times))
    assert chain.dominates(Antichain(order, [*times, probe])) == (chain.less_equal(probe))


@given(data=st.data(), order=orders)
def test_mutable_frontiers_follow_counts_that_may_be_negative_for_a_while(data, order):
    time = times_of(order)
    changes = data.draw(st.lists(st.tuples(time, st.integers(-2, 2).filter(bool)), max_size=25))
    kinds = [MutableAntichain(order)] + ([MutableLeast()] if order.is_total else [])
    for kind in kinds:
        counts = Counter()
        for when, delta in changes:
            before = naive_frontier(order, counts)
            counts[when] += delta
            after = naive_frontier(order, counts)
            assert kind.update(when, delta) == (before != after)
            assert set(kind.frontier()) == after
            assert kind.counts == {key: count for key, count in counts.items() if count}
        taken = dict(data.draw(st.lists(st.tuples(time, st.integers(1, 2)), max_size=4)))
        left = Counter({key: count - taken.get(key, 0) for key, count in counts.items() if count > 0})
        assert set(kind.frontier_without(taken)) == naive_frontier(order, left)
        assert set(kind.frontier()) == naive_frontier(order, counts)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(-2, 2)), max_size=200))
def test_a_change_batch_gives_net_changes_in_the_order_of_first_sight(changes):
    batch, sums = ChangeBatch(), {}
    for key, delta in changes:
        batch.update(key, delta)
        sums[key] = sums.get(key, 0) + delta
    net = {key: delta for key, delta in sums.items() if delta}
    assert dict(batch) == net
    assert len(batch) == len(net) and bool(batch) == bool(net)
    assert dict(batch.drain()) == net
    assert not batch.drain()


def test_a_change_batch_stays_small_where_changes_cancel():
    batch = ChangeBatch()
    for step in range(10_000):
        batch.update(step, 1)
        batch.update(step, -1)
    assert len(batch._updates) < 100
    batch.update(1, 1)
    batch.clear()
    assert not batch


def test_times_that_come_and_go_behind_one_that_stays_do_not_pile_up():
    times = MutableLeast()
    times.update((0,), 1)
    for step in range(10_000):
        for delta in (1, -1):
            assert not times.update((1 + step % 3,), delta)
    assert len(times._heap) < 100
    times.update((2,), 1)
    assert times.update((0,), -1) and times.least == (2,)
