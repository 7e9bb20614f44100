"""Which queries share a branch, which wait, and who is next: the decisions alone."""

import itertools

import pytest

from tornado.clock import ManualClock
from tornado.query.branch_scheduler import BranchScheduler
from tornado.query.query import Ending, Query, QueryState
from tornado.query.request import QueryRequest

numbers = itertools.count()


def asked(source=1, *, deadline_s=100.0, **fields):
    request = QueryRequest(loop="roads", parameters={"source": source}, **fields)
    return Query(f"q{next(numbers)}", request, deadline_s, clock=ManualClock())


@pytest.fixture
def scheduler():
    return BranchScheduler(branches=2, queued=9)


def place(scheduler, query, *, memory_allows=True):
    return scheduler.place(query, memory_allows=memory_allows, retry_after_s=1.0)


def test_one_branch_may_run_whatever_memory_says_or_nothing_would_ever_move(scheduler):
    group, is_started = place(scheduler, asked(1), memory_allows=False)
    assert is_started
    assert not place(scheduler, asked(2), memory_allows=False)[1]
    # As when the last one has ended while memory was asked after.
    scheduler.end(group)
    assert scheduler.has_slot(memory_allows=False)


def test_nobody_takes_a_slot_before_those_who_wait_for_one(scheduler):
    first, _ = place(scheduler, asked(1))
    place(scheduler, asked(2))
    waits, is_started = place(scheduler, asked(3))
    assert not is_started
    scheduler.end(first)
    assert scheduler.has_slot(memory_allows=True)
    assert not place(scheduler, asked(4))[1]
    assert scheduler.next_waiting() is waits


def test_a_group_whose_fork_found_no_room_is_first_again(scheduler):
    place(scheduler, asked(1))
    refused, is_started = place(scheduler, asked(2))
    assert is_started
    later, _ = place(scheduler, asked(3))
    scheduler.put_back(refused)
    assert list(scheduler.waiting) == [refused, later]


@pytest.mark.parametrize("deadlines", [(100.0, 98.0), (98.0, 100.0)])
def test_a_group_is_stopped_at_the_earliest_deadline_of_its_queries(scheduler, deadlines):
    group, _ = place(scheduler, asked(at=7, deadline_s=deadlines[0]))
    assert place(scheduler, asked(at=7, deadline_s=deadlines[1])) == (group, False)
    assert group.deadline_at_s == pytest.approx(98.0 + group.queries[0].submitted_s)
    assert not group.suits(group.key, asked(at=7, deadline_s=200.0))


def test_a_query_that_has_ended_keeps_no_branch_that_is_forked_for_it_a_moment_later():
    query = asked()
    query.finish(Ending(state=QueryState.CANCELLED))
    query.run_on("a branch, and with it all its values")
    assert query.branch is None


def test_a_group_whose_branch_was_lost_is_as_new_for_those_that_have_time_left(scheduler):
    late, stays = asked(at=7, deadline_s=98.0), asked(at=7, deadline_s=100.0)
    group, _ = place(scheduler, late)
    place(scheduler, stays)
    group.branch, group.stopped_by, group.ended = "lost", "deadline", True
    group.begin_again([stays])
    assert (group.branch, group.queries, group.deadline_at_s) == (None, [stays], stays.deadline_at_s)
    assert place(scheduler, asked(at=7, deadline_s=100.0)) == (group, False)
