"""What becomes of the queries of a branch that is stopped, cancelled while it is forked, or lost with its workers."""

from tests.query.conftest import eventually
from tests.query.test_service import ask, rows
from tornado.errors import InvalidArgument, WorkerLost
from tornado.query.query import QueryState


def test_a_deadline_before_the_iteration_cap_is_what_has_stopped_it(fake, clock, slow, open_service):
    query = ask(open_service(fake), max_iterations=10**9, deadline_s=30)
    clock.advance(30)
    eventually(lambda: query.state.is_final)
    assert query.status().stopped_by == "deadline"


def test_a_query_that_is_cancelled_while_it_is_forked_for_cancels_the_branch_and_does_not_keep_it(
    fake, slow, open_service, monkeypatch
):
    service, fork = open_service(fake), slow.fork

    def meanwhile(*arguments, **options):
        [query] = service.queries()
        service.cancel(query.id)
        return fork(*arguments, **options)

    monkeypatch.setattr(slow, "fork", meanwhile)
    query = ask(service)
    assert query.state is QueryState.CANCELLED
    assert query.branch is None
    [branch] = slow.branches
    assert branch.wait(20)
    eventually(lambda: branch.released and service.statistics().branches_running == 0)


def fork_mended(fake, loop, monkeypatch):
    """Have branches end well that are forked from now on."""
    fork = loop.fork

    def mended(*arguments, **options):
        fake.branch_error = None
        return fork(*arguments, **options)

    monkeypatch.setattr(loop, "fork", mended)


def test_a_branch_whose_workers_are_lost_is_forked_again(fake, slow, open_service, monkeypatch):
    query = ask(open_service(fake), vertices=(3,))
    fake.branch_error = WorkerLost("the workers were lost")
    fork_mended(fake, slow, monkeypatch)
    fake.gate.set()
    assert query.wait(20)
    assert rows(query) == {3: 3.0}
    assert len(slow.branches) == 2


def test_a_branch_whose_workers_are_lost_is_not_forked_again_for_those_whose_time_is_over(
    fake, clock, slow, open_service
):
    service = open_service(fake)
    query = ask(service, deadline_s=30)
    fake.branch_error = WorkerLost("the workers were lost")
    clock.advance(30)
    eventually(lambda: query.state.is_final and service.statistics().branches_running == 0)
    assert (query.state, query.status().stopped_by, query.answer) == (QueryState.DEADLINE, "deadline", None)
    assert len(slow.branches) == 1


def test_who_has_time_left_when_workers_are_lost_has_it_though_others_of_the_branch_have_none(
    fake, clock, slow, open_service, monkeypatch
):
    service = open_service(fake, branches=1)
    first = ask(service)
    late, stays = (ask(service, vertices=(3,), deadline_s=seconds) for seconds in (100, 104))
    service.cancel(first.id)
    eventually(lambda: stays.state is QueryState.RUNNING)
    fake.branch_error = WorkerLost("the workers were lost")
    fork_mended(fake, slow, monkeypatch)
    clock.advance(101)
    eventually(lambda: late.state is QueryState.DEADLINE and len(slow.branches) == 3)
    eventually(lambda: stays.state is QueryState.RUNNING)
    fake.gate.set()
    assert stays.wait(20)
    assert (stays.state, rows(stays)) == (QueryState.CONVERGED, {3: 3.0})


def test_ways_that_one_question_cannot_have_are_no_fault_of_the_others(fake, slow, open_service, monkeypatch):
    service = open_service(fake, branches=1)
    first = ask(service)
    asks_too_much, asks_little = ask(service, vertices=(2,)), ask(service, vertices=(3,))

    def find(requests, _):
        if asks_too_much.request in requests:
            raise InvalidArgument("the paths pass more vertices than they may")
        return {}

    monkeypatch.setattr(service._dispatcher, "_find_ways", find)
    service.cancel(first.id)
    fake.gate.set()
    assert asks_little.wait(20) and asks_too_much.wait(20)
    assert (asks_little.state, rows(asks_little)) == (QueryState.CONVERGED, {3: 3.0})
    assert asks_too_much.state is QueryState.FAILED
    assert "more vertices than they may" in str(asks_too_much.status().error)
    eventually(lambda: service.statistics().branches_running == 0)
