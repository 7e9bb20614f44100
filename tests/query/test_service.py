"""The query service against an honest fake, and against the real master where there is one."""

import contextlib
import math
import threading

import pytest

from apps.sssp import ShortestPaths
from tests.query import fake_loops
from tests.query.conftest import eventually, start_roads
from tornado.clock import ManualClock
from tornado.errors import (
    InvalidArgument,
    QueueFull,
    ResultUnavailable,
    StoreCorrupt,
    UnknownField,
    UnknownLoop,
    UnknownQuery,
    WorkerLost,
)
from tornado.loops import Master
from tornado.query.answers import Selection
from tornado.query.query import QueryState
from tornado.query.request import Mode, QueryRequest
from tornado.query.service import QueryService
from tornado.records.edge_batch import EdgeBatch


def ask(service, **fields):
    return service.submit(QueryRequest(loop="roads", **fields))


def answer(service, **fields):
    query = ask(service, **fields)
    assert query.wait(20)
    return query


def rows(query, **selection):
    page = query.answer.page(Selection(**selection))
    return dict(zip(page.rows.ids, page.rows.values.tolist(), strict=True))


def test_an_exact_query_names_its_snapshot_and_certifies_its_values(service):
    query = answer(service, vertices=(3, 4, 6))
    status = query.status()
    assert rows(query) == {3: 3.0, 4: 10.0, 6: math.inf}
    assert status.state is QueryState.CONVERGED
    assert status.certificate == {"kind": "exact"}
    assert status.snapshot.offsets == {"edges.csv": 4}
    assert status.snapshot.delay_bound == 64


def test_vertices_never_seen_are_listed_as_unknown_and_have_no_row(service):
    query = answer(service, vertices=(99, 3, 98))
    page = query.answer.page(Selection())
    assert (list(page.rows.ids), page.unknown) == ([3], [99, 98])


def test_a_vertex_that_is_named_twice_is_answered_once(service):
    assert list(answer(service, vertices=(3, 1, 3)).answer.page(Selection()).rows.ids) == [3, 1]


def test_top_gives_the_nearest_first(service):
    assert list(rows(answer(service, top=3)).items()) == [(1, 0.0), (2, 1.0), (3, 3.0)]


def test_top_of_named_vertices_ranks_only_those(service):
    assert list(rows(answer(service, vertices=(6, 4, 3), top=2)).items()) == [(3, 3.0), (4, 10.0)]


def test_a_whole_result_is_read_in_pages_ascending_by_id(service):
    query = answer(service)
    first = query.answer.page(Selection(limit=4))
    assert (list(first.rows.ids), first.next) == ([1, 2, 3, 4], 4)
    second = query.answer.page(Selection(limit=4, after=first.next))
    assert (list(second.rows.ids), second.next) == ([5, 6], None)


def test_a_page_that_ends_with_the_last_vertex_has_no_next(service):
    assert answer(service).answer.page(Selection(limit=6)).next is None


def test_a_whole_result_also_answers_for_named_vertices_and_ranks(service):
    query = answer(service)
    assert rows(query, vertices=(6, 3)) == {6: math.inf, 3: 3.0}
    assert list(rows(query, top=2)) == [1, 2]
    assert query.answer.page(Selection(vertices=(77,))).unknown == [77]


def test_a_small_result_refuses_vertices_it_was_not_asked_for(service):
    query = answer(service, vertices=(3, 99))
    assert rows(query, vertices=(3,)) == {3: 3.0}
    assert query.answer.page(Selection(vertices=(99,))).unknown == [99]
    with pytest.raises(ResultUnavailable, match="vertex 4 is not in this result"):
        query.answer.page(Selection(vertices=(4,)))


def test_a_query_holds_everything_admitted_before_it_and_nothing_after(service, roads):
    before = ask(service, vertices=(3,))
    roads.admit(EdgeBatch.of([1], [3], [0.5]), "edges.csv", 5)
    after = answer(service, vertices=(3,))
    assert before.wait(20)
    assert (rows(before), before.status().snapshot.offsets) == ({3: 3.0}, {"edges.csv": 4})
    assert (rows(after), after.status().snapshot.offsets) == ({3: 0.5}, {"edges.csv": 5})


def test_parameters_of_a_query_hold_for_its_branch_only(service):
    assert rows(answer(service, vertices=(3, 6), parameters={"source": 5})) == {3: math.inf, 6: 7.5}
    assert rows(answer(service, vertices=(3, 6))) == {3: 3.0, 6: math.inf}


def test_an_unknown_parameter_is_refused_and_leaves_no_query_behind(service):
    with pytest.raises((UnknownField, InvalidArgument), match="origin"):
        ask(service, parameters={"origin": 5})
    assert service.queries() == []
    assert service.statistics().refused == 1
    assert service.statistics().branches_running == 0


def test_an_unknown_loop_is_refused_with_those_that_run(service):
    with pytest.raises(UnknownLoop, match="'lanes'; running: roads"):
        service.submit(QueryRequest(loop="lanes"))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"vertices": ()}, "length of vertices is 0"),
        ({"top": 0}, "top is 0"),
        ({"top": True}, "top is True"),
        ({"deadline_s": math.nan}, "deadline_s is nan"),
        ({"deadline_s": -1.0}, "deadline_s is -1"),
        ({"deadline_s": 1e9}, "deadline_s is 1000000000"),
        ({"deadline_s": "30"}, "deadline_s is '30' but must be a number"),
        ({"max_iterations": 0}, "max_iterations is 0"),
        ({"vertices": (2**63,)}, r"vertices\[0\] is 9223372036854775808, which does not fit"),
        ({"vertices": (1, "two")}, r"vertices\[1\] is 'two'"),
        ({"vertices": (True,)}, r"vertices\[0\] is True"),
        ({"min_offsets": {"edges.csv": -1}}, "min_offsets"),
        ({"min_offsets": dict.fromkeys(map(str, range(10_001)), 0)}, "length of min_offsets is 10001"),
        ({"at": 12_345}, "at is 12345, but loop 'roads' has no stored snapshot of that version"),
        ({"at": 1, "min_offsets": {"edges.csv": 1}}, "Give one of the two"),
        ({"mode": Mode.APPROXIMATE, "parameters": {"source": 2}}, "mode is approximate"),
        ({"mode": Mode.CERTIFIED}, "a selective program, whose values have no bound before they are exact"),
        ({"mode": Mode.CERTIFIED, "at": 1}, "mode is certified"),
        ({"mode": Mode.CERTIFIED, "max_iterations": 1}, "mode is certified"),
    ],
)
def test_a_field_out_of_bounds_is_refused_with_its_value(service, fields, message):
    with pytest.raises(InvalidArgument, match=message):
        ask(service, **fields)


def test_an_approximate_read_is_answered_on_return(service, roads):
    assert roads.wait_idle(20)
    query = ask(service, mode=Mode.APPROXIMATE, vertices=(3, 6))
    assert query.state.is_final
    assert rows(query) == {3: 3.0, 6: math.inf}
    assert query.status().certificate == {"kind": "none"}
    assert query.status().snapshot.offsets == {"edges.csv": 4}


def test_a_whole_approximate_read_stays_as_it_was_read(service, roads):
    assert roads.wait_idle(20)
    query = ask(service, mode=Mode.APPROXIMATE)
    roads.admit(EdgeBatch.of([1, 1], [3, 7], [0.5, 1.0]), "edges.csv", 6)
    assert roads.wait_idle(20)
    assert rows(query) == {1: 0.0, 2: 1.0, 3: 3.0, 4: 10.0, 5: math.inf, 6: math.inf}
    assert rows(query, vertices=(3, 6)) == {3: 3.0, 6: math.inf}
    assert list(rows(query, top=2)) == [1, 2]
    assert list(rows(query, limit=1, after=3)) == [4]


def test_top_leaves_out_what_cannot_be_reached(service):
    assert list(rows(answer(service, top=6))) == [1, 2, 3, 4]
    assert list(rows(answer(service, vertices=(5, 4, 6), top=3))) == [4]
    assert list(rows(answer(service), vertices=(5, 4), top=2)) == [4]


def test_a_query_at_a_stored_snapshot_sees_the_input_of_then(service, roads):
    version = roads.checkpoint()
    roads.admit(EdgeBatch.of([1], [3], [0.5]), "edges.csv", 5)
    query = answer(service, vertices=(3,), at=version)
    assert (rows(query), query.status().snapshot.version) == ({3: 3.0}, version)


def test_min_offsets_waits_until_they_are_reached_and_then_forks(service, roads):
    query = ask(service, vertices=(3,), min_offsets={"edges.csv": 5, "other.csv": 1})
    assert query.state is QueryState.QUEUED
    roads.admit(EdgeBatch.of([1], [3], [0.5]), "edges.csv", 5)
    assert not query.wait(0.05)
    roads.admit(EdgeBatch.of([1], [3], [0.25]), "other.csv", 1)
    assert query.wait(20)
    assert rows(query) == {3: 0.25}
    assert query.status().snapshot.offsets == {"edges.csv": 5, "other.csv": 1}


def test_min_offsets_that_are_never_reached_end_at_the_deadline_without_a_result(timed):
    service, clock = timed
    query = ask(service, min_offsets={"edges.csv": 5}, deadline_s=30)
    clock.advance(30)
    eventually(lambda: query.state.is_final)
    assert query.state is QueryState.DEADLINE
    assert query.answer is None
    assert query.status().stopped_by == "deadline"


def test_min_offsets_already_reached_fork_at_once(service):
    assert rows(answer(service, vertices=(3,), min_offsets={"edges.csv": 4})) == {3: 3.0}


@pytest.fixture(params=["fake", "real"])
def timed(request, open_service):
    """A service of roads, and its time."""
    clock = ManualClock()
    with contextlib.ExitStack() as opened:
        if request.param == "fake":
            master = fake_loops.Master()
            master.clock = clock
            opened.callback(master.close)
        else:
            master = opened.enter_context(Master(workers=2, clock=clock))
            master.new_program = ShortestPaths
        start_roads(master)
        service = open_service(master)
        opened.callback(service.close)
        yield service, clock


def test_a_deadline_ends_with_the_best_value_so_far(fake, clock, slow, open_service):
    query = ask(open_service(fake), vertices=(1, 3), deadline_s=30)
    clock.advance(29)
    assert query.status().elapsed_s == 29
    clock.advance(1)
    eventually(lambda: query.state.is_final)
    status = query.status()
    assert rows(query) == {1: 0.0, 3: math.inf}
    assert (status.state, status.stopped_by) == (QueryState.DEADLINE, "deadline")
    assert status.certificate == {"kind": "none", "side": "upper"}
    assert status.elapsed_s == 30


def test_an_iteration_cap_ends_with_the_best_value_so_far(fake, slow, open_service):
    status = answer(open_service(fake), max_iterations=3).status()
    assert (status.state, status.stopped_by) == (QueryState.DEADLINE, "max_iterations")


def test_cancelling_the_last_query_cancels_its_branch_and_frees_it(fake, slow, open_service):
    service = open_service(fake)
    query = ask(service)
    assert service.cancel(query.id).state is QueryState.CANCELLED
    assert query.answer is None
    assert slow.branches[0].wait(60)
    eventually(lambda: slow.branches[0].released and service.statistics().branches_running == 0)
    assert slow.branches[0].state.name == "CANCELLED"


def test_a_cancelled_query_is_kept_until_it_is_deleted(fake, slow, open_service):
    service = open_service(fake)
    query = ask(service)
    service.cancel(query.id)
    assert service.get(query.id) is query
    service.cancel(query.id)
    with pytest.raises(UnknownQuery, match=query.id):
        service.get(query.id)


def test_queries_that_wait_and_want_the_same_share_one_branch(fake, slow, open_service):
    service = open_service(fake, branches=1)
    first = ask(service, vertices=(3,))
    waiting = [ask(service, vertices=(vertex,)) for vertex in (1, 2, 3)]
    other = ask(service, vertices=(3,), parameters={"source": 5})
    assert [query.state for query in (first, *waiting, other)] == [QueryState.RUNNING] + 4 * [
        QueryState.QUEUED
    ]
    slow.admit(EdgeBatch.of([1], [3], [0.5]), "edges.csv", 5)
    fake.gate.set()
    assert all(query.wait(20) for query in (first, *waiting, other))
    assert len(slow.branches) == 3
    assert rows(first) == {3: 3.0}
    assert [rows(query) for query in waiting] == [{1: 0.0}, {2: 1.0}, {3: 0.5}]
    assert len({query.status().snapshot.version for query in waiting}) == 1


def test_a_running_branch_takes_nobody_who_came_after_its_cut(fake, slow, open_service):
    service = open_service(fake)
    first = ask(service, vertices=(3,))
    slow.admit(EdgeBatch.of([1], [3], [0.5]), "edges.csv", 5)
    second = ask(service, vertices=(3,))
    assert (first.state, second.state) == (QueryState.RUNNING, QueryState.QUEUED)
    fake.gate.set()
    assert all(query.wait(20) for query in (first, second))
    assert (rows(first), rows(second)) == ({3: 3.0}, {3: 0.5})
    assert len(slow.branches) == 2


def test_a_query_for_another_branch_does_not_wait_for_those_that_wait_for_one_like_theirs(
    fake, clock, slow, open_service
):
    service = open_service(fake)
    alike = [ask(service) for _ in range(3)]
    other = ask(service, parameters={"source": 5})
    hurried = ask(service, deadline_s=0.5)
    assert [query.state for query in (*alike, other, hurried)] == [
        QueryState.RUNNING,
        QueryState.QUEUED,
        QueryState.QUEUED,
        QueryState.RUNNING,
        QueryState.RUNNING,
    ]
    fake.gate.set()
    assert all(query.wait(20) for query in (*alike, other, hurried))
    assert len(slow.branches) == 4


def test_a_running_branch_of_a_stored_snapshot_takes_more_queries(fake, slow, open_service):
    service = open_service(fake)
    version = slow.checkpoint()
    queries = [ask(service, vertices=(vertex,), at=version) for vertex in (1, 3)]
    fake.gate.set()
    assert all(query.wait(20) for query in queries)
    assert len(slow.branches) == 1
    assert [rows(query) for query in queries] == [{1: 0.0}, {3: 3.0}]


def test_queries_with_deadlines_far_apart_do_not_share_so_that_none_is_stopped_for_another(
    fake, slow, open_service
):
    service = open_service(fake, branches=1)
    ask(service)
    ask(service, deadline_s=30)
    ask(service, deadline_s=300)
    fake.gate.set()
    eventually(lambda: service.statistics().states["converged"] == 3)
    assert len(slow.branches) == 3


def test_cancelling_one_of_a_shared_branch_leaves_the_other_its_answer(fake, clock, slow, open_service):
    service = open_service(fake, branches=1)
    ask(service)
    eventually(lambda: slow.branches[0]._iteration > 0)  # the delay is that of the next one
    leaving, staying = ask(service, vertices=(3,)), ask(service, vertices=(3,))
    fake.delay_s = 1.0
    fake.gate.set()
    eventually(lambda: leaving.state is QueryState.RUNNING)
    service.cancel(leaving.id)
    eventually(lambda: clock.advance(1.0) or staying.state.is_final)
    assert staying.wait(20)
    assert rows(staying) == {3: 3.0}
    assert leaving.state is QueryState.CANCELLED


def test_a_full_queue_refuses_and_says_when_to_come_back(fake, slow, open_service):
    service = open_service(fake, branches=1, queued=2)
    for _ in range(3):
        ask(service)
    with pytest.raises(QueueFull, match="2 queries wait for a branch, and the queue holds 2") as full:
        ask(service)
    assert full.value.retry_after_s > 0
    assert len(service.queries()) == 3


def test_queries_that_wait_for_offsets_take_places_of_the_queue(fake, slow, open_service):
    service = open_service(fake, queued=1)
    ask(service, min_offsets={"edges.csv": 5})
    with pytest.raises(QueueFull):
        ask(service, min_offsets={"edges.csv": 5})


def test_a_waiting_query_ends_at_its_deadline_without_a_result(fake, clock, slow, open_service):
    service = open_service(fake, branches=1)
    running = ask(service)
    query = ask(service, deadline_s=10)
    clock.advance(10)
    eventually(lambda: query.state.is_final)
    assert running.state is QueryState.RUNNING
    assert (query.state, query.answer) == (QueryState.DEADLINE, None)
    assert service.statistics().waiting == 0


def test_memory_bounds_how_many_branches_run(fake, slow, open_service):
    a_branch = 64 * 6  # of as many vertices
    service = open_service(fake, branch_memory_bytes=2 * a_branch)
    service.known_statistics(
        ["roads"], 60
    )  # which it waits for a second at most, and else takes it for empty
    queries = [ask(service, parameters={"source": source}) for source in (1, 2, 3)]
    assert [query.state for query in queries] == [QueryState.RUNNING] * 2 + [QueryState.QUEUED]
    fake.gate.set()
    eventually(lambda: service.statistics().states["converged"] == 3)


def test_a_loop_without_room_for_a_branch_lets_the_query_wait(fake, slow, open_service):
    service = open_service(fake)
    first = ask(service)
    fake.fork_error = QueueFull("no memory for another branch")
    second = ask(service)
    assert second.state is QueryState.QUEUED
    fake.fork_error = None
    fake.gate.set()
    assert first.wait(20)
    assert second.wait(20)


def test_a_loop_without_room_for_its_first_branch_refuses(fake, open_service):
    start_roads(fake)
    fake.fork_error = QueueFull("no memory for a branch")
    service = open_service(fake)
    with pytest.raises(QueueFull, match="no memory"):
        ask(service)


def test_a_branch_that_fails_fails_its_queries_with_its_error(fake, open_service):
    loop = start_roads(fake)
    fake.branch_error = StoreCorrupt("page 7 cannot be read")
    query = answer(open_service(fake))
    assert query.state is QueryState.FAILED
    assert query.error is fake.branch_error
    eventually(lambda: loop.branches[0].released)


def test_a_fork_that_breaks_fails_the_query_and_frees_its_place(fake, open_service):
    start_roads(fake)
    fake.fork_error = RuntimeError("a bug")
    service = open_service(fake, branches=1)
    assert ask(service).state is QueryState.FAILED
    fake.fork_error = None
    assert answer(service).state is QueryState.CONVERGED


def test_a_branch_is_released_at_once_when_its_query_named_vertices(fake, open_service):
    loop = start_roads(fake)
    query = answer(open_service(fake), vertices=(3,))
    eventually(lambda: loop.branches[0].released)
    assert rows(query) == {3: 3.0}


def test_a_branch_is_kept_for_a_whole_result_until_that_is_deleted(fake, open_service):
    loop = start_roads(fake)
    service = open_service(fake)
    query = answer(service)
    reading = query.answer.chunks()
    service.cancel(query.id)
    assert [list(chunk.ids) for chunk in reading] == [[1, 2, 3, 4, 5, 6]]
    assert not loop.branches[0].released
    reading.close()
    reading.close()
    eventually(lambda: loop.branches[0].released)
    with pytest.raises(ResultUnavailable, match="no longer kept"):
        query.answer.page(Selection())


READINGS = {
    "a page": lambda answer: answer.page(Selection()).rows.ids,
    "the best": lambda answer: answer.page(Selection(top=9)).rows.ids,
    "columns": lambda answer: list(answer.columns().vertex),
    "arrays": lambda answer: answer.arrays()[0].tolist(),
    "chunks": lambda answer: [vertex for rows in answer.chunks() for vertex in rows.ids],
}


class EndingWorkers:
    """Values whose workers end while they are read: at the next look, after what is called then."""

    def __init__(self, values, before):
        self._values, self._before, self.are_gone = values, before, False

    def __getattr__(self, name):
        if not self.are_gone:
            self._before()
        self.are_gone = True
        raise WorkerLost("the worker that held these values was lost")


@pytest.mark.parametrize("how", READINGS)
@pytest.mark.parametrize("is_copied", [True, False])
def test_an_answer_whose_workers_end_while_it_is_read_is_read_from_its_copy(
    fake, open_service, how, is_copied
):
    start_roads(fake)
    service = open_service(fake)
    query = answer(service)
    expected = READINGS[how](query.answer)
    shared = query.answer._shared
    values = shared.values

    def keep():
        shared.values = values
        if is_copied:
            service.keep_answers()
        shared.values = ending

    ending = shared.values = EndingWorkers(values, keep)
    if is_copied:
        assert READINGS[how](query.answer) == expected != []
        assert READINGS[how](query.answer) == expected
    else:
        with pytest.raises(WorkerLost):
            READINGS[how](query.answer)


def test_finished_queries_are_kept_by_count_and_the_oldest_go_first(fake, open_service):
    loop = start_roads(fake)
    service = open_service(fake, retained_results=2)
    queries = [answer(service) for _ in range(4)]
    eventually(lambda: [branch.released for branch in loop.branches] == [True, True, False, False])
    assert service.queries() == queries[2:]
    with pytest.raises(UnknownQuery):
        service.get(queries[0].id)


def test_finished_queries_are_kept_by_size_but_the_newest_always(fake, open_service):
    start_roads(fake)
    service = open_service(fake, retained_size_bytes=1)
    first, second = answer(service), answer(service)
    eventually(lambda: service.queries() == [second])
    assert rows(second, vertices=(3,)) == {3: 3.0}
    assert first.state is QueryState.CONVERGED


def test_closing_cancels_what_runs_and_releases_what_is_kept(fake):
    loop = start_roads(fake)
    service = QueryService(fake)
    kept = answer(service)
    fake.gate.clear()
    running = ask(service)
    service.close()
    service.close()
    assert (kept.state, running.state) == (QueryState.CONVERGED, QueryState.CANCELLED)
    eventually(lambda: all(branch.released for branch in loop.branches))
    with pytest.raises(Exception, match="closed"):
        ask(service)


def test_a_callback_is_called_once_whether_it_comes_before_or_after_the_end(fake, slow, open_service):
    query = ask(open_service(fake))
    calls = []
    query.add_done_callback(calls.append)
    query.add_done_callback(calls.append)
    query.remove_done_callback(calls.append)
    fake.gate.set()
    assert query.wait(20)
    query.add_done_callback(calls.append)
    eventually(lambda: calls == [query, query])


def test_a_crowd_of_queries_from_many_threads_is_answered_and_nothing_is_left_over(fake, open_service):
    loop = start_roads(fake)
    fake.delay_s = 0.002
    service = open_service(fake, branches=3, queued=1000, retained_results=10)
    wrong = []

    def crowd(number):
        for turn in range(25):
            query = ask(service, vertices=(3,)) if turn % 3 else ask(service)
            if turn % 5 == 4:
                service.cancel(query.id)
            elif not query.wait(20) or query.state is not QueryState.CONVERGED:
                wrong.append((number, turn, query.status()))

    threads = [threading.Thread(target=crowd, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    eventually(lambda: service.statistics().branches_running == 0)
    assert service.statistics().waiting == 0
    assert sum(service.statistics().states.values()) == 200
    assert len(loop.branches) <= 200
    service.close()
    eventually(lambda: all(branch.released for branch in loop.branches))
