"""Path summaries, could-result-in and the tracker against brute force over random nested graphs."""

from collections import Counter
from itertools import product

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tornado.errors import InvalidDataflow
from tornado.timely.order import Lexicographic, Order, Product
from tornado.timely.path_summary import PathSummary, insert_minimal
from tornado.timely.reachability import Reachability, ReachabilityBuilder
from tornado.timely.tracker import Tracker

CAP = 14  # brute force follows times while no counter exceeds this: 2, and 2 more at each of five links of a path


@st.composite
def summaries(draw, source=None, target=None):
    source = draw(st.integers(1, 3)) if source is None else source
    target = draw(st.integers(1, 3)) if target is None else target
    keep = draw(st.integers(0, min(source, target)))
    return PathSummary(
        source, keep, tuple(draw(st.lists(st.integers(0, 2), min_size=target, max_size=target)))
    )


@given(first=summaries(source=2, target=3), second=summaries(source=3), third=st.data())
def test_composed_summaries_do_what_their_parts_do_one_after_the_other(first, second, third):
    last = third.draw(summaries(source=second.target))
    both = first.then(second)
    for time in product(range(3), repeat=2):
        assert both(time) == second(first(time))
        quick = both.compiled()
        assert (time if quick is None else quick(time)) == both(time)
    assert both.then(last) == first.then(second.then(last))


@given(summary=summaries())
def test_a_compiled_summary_does_the_same(summary):
    quick = summary.compiled()
    for time in product(range(3), repeat=summary.source):
        assert (time if quick is None else quick(time)) == summary(time)
    assert (quick is None) == summary.is_identity


@given(
    data=st.data(),
    order=st.sampled_from([Product(2), Lexicographic(2), Product(3), Lexicographic(3), Order((1, 2))]),
)
def test_a_summary_is_before_another_when_it_is_so_for_every_time(data, order):
    depth = data.draw(st.integers(1, 3))
    a, b = (data.draw(summaries(source=depth, target=order.arity)) for _ in range(2))
    # Constants and increments are at most 2, so counters up to 3 show every difference there is.
    always = all(order.less_equal(a(time), b(time)) for time in product(range(4), repeat=depth))
    assert a.less_equal(b, order) == always
    if depth == order.arity:
        assert a.advances(order) == all(
            not order.less_equal(a(time), time) for time in product(range(4), repeat=depth)
        )


@given(st.lists(summaries(source=2, target=2), max_size=8), st.sampled_from([Product(2), Lexicographic(2)]))
def test_minimal_summaries_give_the_same_frontier_as_all_of_them(candidates, order):
    minimal = []
    for candidate in candidates:
        insert_minimal(minimal, candidate, order)
    for time in product(range(4), repeat=2):
        for summary in candidates:
            assert any(order.less_equal(kept(time), summary(time)) for kept in minimal)
    for a in minimal:
        assert not any(b is not a and b.less_equal(a, order) for b in minimal)


def test_summaries_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match="back in time"):
        PathSummary.feedback(2, -1)
    with pytest.raises(ValueError, match="counters"):
        PathSummary.enter(1).then(PathSummary.leave(3))


class NestedGraph:
    """Locations in a tree of scopes, with links that stay, enter, leave or feed back."""

    def __init__(self, draw):
        # Scope 0 is the root; every other is a loop in an earlier one.
        self.parents = [None]
        self.scope_orders = [Lexicographic(1)]
        for _ in range(draw(st.integers(0, 3))):
            parent = draw(st.integers(0, len(self.parents) - 1))
            if self.scope_orders[parent].arity == 3:
                continue
            kind = draw(st.sampled_from([Order.nested_product, Order.nested_lexicographic]))
            self.parents.append(parent)
            self.scope_orders.append(kind(self.scope_orders[parent]))
        count = draw(st.integers(2, 6))
        self.scopes = [draw(st.integers(0, len(self.parents) - 1)) for _ in range(count)]
        self.orders = tuple(self.scope_orders[scope] for scope in self.scopes)
        self.links = []
        for _ in range(draw(st.integers(1, 9))):
            source, target = draw(st.integers(0, count - 1)), draw(st.integers(0, count - 1))
            summary = self.summary(draw, source, target)
            if summary is not None:
                self.links.append((source, target, summary))

    def summary(self, draw, source, target):
        here, there = self.scopes[source], self.scopes[target]
        depth = self.orders[source].arity
        if here == there:
            # Mostly forward links, so that many graphs are legal.
            if source < target:
                return PathSummary.feedback(depth, draw(st.sampled_from([0, 0, 1])))
            return PathSummary.feedback(depth, draw(st.sampled_from([1, 1, 1, 2, 0])))
        if self.parents[there] == here:
            return PathSummary.enter(depth)
        if self.parents[here] == there:
            return PathSummary.leave(depth)
        return None

    def build(self):
        builder = ReachabilityBuilder()
        for location, order in enumerate(self.orders):
            builder.location(f"operator{location}", order)
        for link in self.links:
            builder.link(*link)
        return builder.build()

    def reached(self, location, time, allowed=lambda counter: counter <= CAP):
        """All (location, time) that a walk of at least one link leads to, as long as every counter is `allowed`."""
        seen, work = set(), [(location, time)]
        while work:
            here, now = work.pop()
            for source, target, summary in self.links:
                step = (target, summary(now))
                if source == here and all(map(allowed, step[1])) and step not in seen:
                    seen.add(step)
                    work.append(step)
        return seen

    def stands_still(self):
        """Whether a time can come back to its location at itself or before."""

        # Counters that a walk keeps stay near 100, those it sets anew stay below 20.
        def allowed(counter):
            return counter < 12 or 100 <= counter < 110

        for location, order in enumerate(self.orders):
            start = (100,) * order.arity
            if any(
                place == location and order.less_equal(t, start)
                for place, t in self.reached(location, start, allowed)
            ):
                return True
        return False


@settings(max_examples=250, deadline=None)
@given(data=st.data())
def test_a_cycle_is_refused_exactly_when_a_time_can_return_without_having_advanced(data):
    graph = NestedGraph(data.draw)
    stands_still = graph.stands_still()
    try:
        graph.build()
        refused = False
    except InvalidDataflow:
        refused = True
    assert refused == stands_still


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_could_result_in_agrees_with_walking_the_graph(data):
    graph = NestedGraph(data.draw)
    reachability = Reachability(graph.orders, tuple(graph.links))
    for location, order in enumerate(graph.orders):
        start = tuple(data.draw(st.integers(0, 2)) for _ in range(order.arity))
        walked = graph.reached(location, start) | {(location, start)}
        for target, target_order in enumerate(graph.orders):
            for time in product(range(3), repeat=target_order.arity):
                truth = any(place == target and target_order.less_equal(t, time) for place, t in walked)
                assert reachability.could_result_in((location, start), (target, time)) == truth


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_a_tracker_has_the_frontiers_that_all_positive_counts_imply(data):
    graph = NestedGraph(data.draw)
    assume(not graph.stands_still())
    reachability = graph.build()
    everywhere = range(len(graph.orders))
    watched = [location for location in everywhere if data.draw(st.booleans())]
    tracker = Tracker(reachability, watched)
    counts = Counter()
    before = {location: set() for location in everywhere}

    def naive(location, counts):
        order = graph.orders[location]
        implied = {
            summary(time)
            for (source, time), count in counts.items()
            if count > 0
            for summary in reachability.between(source, location)
        }
        return {time for time in implied if not any(order.less_than(other, time) for other in implied)}

    for _ in range(data.draw(st.integers(1, 12))):
        for _ in range(data.draw(st.integers(1, 3))):
            location = data.draw(st.sampled_from(everywhere))
            time = tuple(data.draw(st.integers(0, 3)) for _ in range(graph.orders[location].arity))
            delta = data.draw(st.sampled_from([1, 1, 1, 2, -1, -2]))
            tracker.update(location, time, delta)
            counts[location, time] += delta
        moved = tracker.propagate()
        for location in everywhere:
            now = naive(location, counts)
            assert set(tracker.frontier(location)) == now
            assert (location in moved) == (location in watched and now != before[location])
            before[location] = now
        present = [stamp for stamp, count in counts.items() if count > 0]
        taken_stamps = data.draw(st.lists(st.sampled_from(present), max_size=3)) if present else []
        taken = {}
        for place, time in taken_stamps:
            times = taken.setdefault(place, {})
            times[time] = times.get(time, 0) + 1
        left = counts.copy()
        left.subtract(taken_stamps)
        for location in everywhere:
            assert set(tracker.frontier_without(location, taken)) == naive(location, left)
        for stamp, count in counts.items():
            if count > 0:
                others = {key: value for key, value in counts.items() if key != stamp and value > 0}
                covered = any(reachability.could_result_in(other, stamp) for other in others)
                assert tracker.is_covered(*stamp) == covered
        assert tracker.outstanding == sum(1 for count in counts.values() if count)
        assert dict(tracker.pointstamps()) == {stamp: count for stamp, count in counts.items() if count}


def test_the_refusal_of_a_cycle_names_the_operators_on_it_and_no_others():
    builder = ReachabilityBuilder()
    order = Product(1)
    source, a, b, sink = (builder.location(name, order) for name in ("source", "left", "right", "sink"))
    for link in [(source, a), (a, b), (b, a), (b, sink)]:
        builder.link(*link, PathSummary.identity(1))
    with pytest.raises(InvalidDataflow, match="the cycle through left, right does not advance time"):
        builder.build()


def test_leaving_a_loop_and_entering_it_again_goes_back_in_time_and_is_refused():
    builder = ReachabilityBuilder()
    inside, outside = builder.location("inside", Product(2)), builder.location("outside", Product(1))
    builder.link(inside, outside, PathSummary.leave(2))
    builder.link(outside, inside, PathSummary.enter(1))
    with pytest.raises(InvalidDataflow, match="inside, outside"):
        builder.build()


def test_graphs_of_the_same_shape_share_their_summaries():
    def build(name):
        builder = ReachabilityBuilder()
        a, b = builder.location(name, Product(2)), builder.location(name, Product(2))
        builder.link(a, b, PathSummary.identity(2))
        builder.link(b, a, PathSummary.feedback(2))
        return builder.build()

    assert build("main") is build("branch")


def test_links_between_scopes_of_the_wrong_depth_are_refused():
    builder = ReachabilityBuilder()
    inside, outside = builder.location("inside", Product(2)), builder.location("outside", Product(1))
    with pytest.raises(InvalidDataflow, match="inside to outside"):
        builder.link(inside, outside, PathSummary.identity(2))


def test_all_minimal_paths_count_where_none_is_before_the_others():
    paths = (PathSummary(2, 2, (1, 0)), PathSummary(2, 2, (0, 1)), PathSummary(2, 2, (1, 1)))
    graph = Reachability((Product(2), Product(2)), tuple((0, 1, path) for path in paths))
    assert graph.between(0, 1) == paths[:2]
    for watched in ([1], []):
        tracker = Tracker(graph, watched)
        tracker.update(0, (3, 3), 1)
        tracker.propagate()
        assert sorted(tracker.frontier(1)) == [(3, 4), (4, 3)]
        assert sorted(tracker.frontier_without(1, {})) == [(3, 4), (4, 3)]
        assert tracker.frontier_without(1, {0: {(3, 3): 1}}) == ()
