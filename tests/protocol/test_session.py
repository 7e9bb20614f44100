"""One session, event by event: what the rules and the known traps mean in single steps."""

from tornado.protocol import (
    Acknowledge,
    AddEdge,
    Committed,
    Frontier,
    Input,
    Prepare,
    RemoveEdge,
    Send,
    Stamp,
    Start,
    Subscribe,
    Subscribed,
    ThreePhaseSession,
    Touch,
    Unsubscribe,
    Update,
)
from tornado.protocol.sample_programs import CountProgram, MinPlusProgram

ME, CONSUMER, PRODUCER = 5, 6, 4
SMALL, MINE, GREAT = Stamp(0, PRODUCER), Stamp(1, ME), Stamp(9, PRODUCER)


def session_of(
    *, delay_bound: int | None = None, consumed: bool = True, dirty: bool = True
) -> ThreePhaseSession:
    """Vertex 5 with a live edge from 4."""
    session = ThreePhaseSession(ME, CountProgram(appetite=None), delay_bound=delay_bound)
    session.receive(Input(0, AddEdge(PRODUCER, ME)))
    session.receive(Subscribed(PRODUCER, -1, None, 0))
    if consumed:
        session.receive(Subscribe(CONSUMER, ME, 0))
    if dirty:
        session.receive(Input(0, Touch(ME)))
    return session


def test_a_vertex_nobody_consumes_commits_at_once() -> None:
    session = session_of(consumed=False)
    assert session.receive(Start(ME)) == [Committed(ME, 0, 1)]
    assert session.pending() is None


def test_a_vertex_with_a_consumer_asks_waits_and_tells() -> None:
    session = session_of()
    assert session.receive(Start(ME)) == [Send(CONSUMER, Prepare(ME, MINE))]
    assert session.pending() == 0
    effects = session.receive(Acknowledge(CONSUMER, ME, MINE, reached=-1))
    assert effects == [Committed(ME, 0, 1), Send(CONSUMER, Update(ME, 0, 1))]


def test_the_commit_is_not_earlier_than_what_a_consumer_has_reached_but_may_be_at_the_same_iteration() -> (
    None
):
    session = session_of()
    session.receive(Start(ME))
    assert session.receive(Acknowledge(CONSUMER, ME, MINE, reached=7))[0] == Committed(ME, 7, 1)


def test_a_producer_with_the_greater_stamp_is_pended_in_no_prepare_list_and_acknowledged_at_the_commit() -> (
    None
):
    session = session_of()
    session.receive(Start(ME))
    assert session.receive(Prepare(PRODUCER, GREAT)) == []
    assert session.vertices[ME].prepare_list == set()
    committed, update, acknowledge = session.receive(Acknowledge(CONSUMER, ME, MINE, reached=3))
    assert committed == Committed(ME, 3, 1)
    assert update == Send(CONSUMER, Update(ME, 3, 1))
    assert acknowledge == Send(PRODUCER, Acknowledge(ME, PRODUCER, GREAT, reached=3))
    assert session.vertices[ME].prepare_list == {PRODUCER}


def test_a_producer_with_the_smaller_stamp_goes_first_and_is_read() -> None:
    session = session_of()
    session.receive(Start(ME))
    [acknowledge] = session.receive(Prepare(PRODUCER, SMALL))
    assert acknowledge == Send(PRODUCER, Acknowledge(ME, PRODUCER, SMALL, reached=-1))
    assert session.receive(Acknowledge(CONSUMER, ME, MINE, reached=-1)) == []
    assert session.receive(Update(PRODUCER, 2, 40))[0] == Committed(ME, 3, 41)


def test_of_two_equal_clocks_the_smaller_vertex_goes_first() -> None:
    for clock_of, pended in ((Stamp(1, 4), False), (Stamp(1, 8), True)):
        session = session_of()
        session.receive(Input(0, AddEdge(8, ME)))
        session.receive(Subscribed(8, -1, None, 0))
        session.receive(Start(ME))
        assert (session.receive(Prepare(clock_of.vertex, clock_of)) == []) == pended


def test_a_vertex_may_start_while_producers_are_in_its_prepare_list() -> None:
    session = session_of(dirty=False)
    session.receive(Prepare(PRODUCER, GREAT))
    session.receive(Input(0, Touch(ME)))
    [prepare] = session.receive(Start(ME))
    assert prepare == Send(CONSUMER, Prepare(ME, Stamp(10, ME)))


def test_a_value_that_does_not_matter_makes_nobody_dirty() -> None:
    session = ThreePhaseSession(ME, MinPlusProgram(), delay_bound=None)
    session.receive(Input(0, AddEdge(PRODUCER, ME, 1.0)))
    session.receive(Subscribed(PRODUCER, 0, 1.0, 0))
    session.receive(Start(ME))
    session.receive(Prepare(PRODUCER, SMALL))
    session.receive(Update(PRODUCER, 1, 5.0))
    assert session.startable() == []
    assert session.vertices[ME].reached == 1


def test_a_self_loop_waits_for_nobody_and_makes_the_vertex_dirty_again() -> None:
    session = ThreePhaseSession(ME, CountProgram(appetite=2), delay_bound=None)
    session.receive(Input(0, AddEdge(ME, ME)))
    session.receive(Input(0, Touch(ME)))
    assert session.receive(Start(ME)) == [Committed(ME, 0, 1)]
    assert session.receive(Start(ME)) == [Committed(ME, 1, 2)]
    assert session.startable() == []


def test_parallel_edges_are_one_consumer() -> None:
    session = ThreePhaseSession(ME, CountProgram(), delay_bound=None)
    assert session.receive(Input(0, AddEdge(PRODUCER, ME, 1))) == [Send(PRODUCER, Subscribe(ME, PRODUCER, 0))]
    assert session.receive(Input(0, AddEdge(PRODUCER, ME, 2))) == []
    assert session.receive(Input(0, RemoveEdge(PRODUCER, ME, 2))) == []
    assert session.receive(Input(0, RemoveEdge(PRODUCER, ME))) == [
        Send(PRODUCER, Unsubscribe(ME, PRODUCER, 0))
    ]


def test_an_edge_that_is_not_there_is_counted() -> None:
    session = session_of()
    for missing in (RemoveEdge(77, ME), RemoveEdge(PRODUCER, ME, "another weight")):
        assert session.receive(Input(0, missing)) == []
    assert session.missing_removals == 2


def test_inputs_under_a_session_are_held_and_gathered_in_order_at_the_commit() -> None:
    session = session_of()
    session.receive(Start(ME))
    for event in (Subscribe(77, ME, 0), Input(0, RemoveEdge(PRODUCER, ME)), Unsubscribe(CONSUMER, ME, 0)):
        assert session.receive(event) == []
    committed, update, *rest = session.receive(Acknowledge(CONSUMER, ME, MINE, reached=-1))
    assert [committed, update] == [Committed(ME, 0, 1), Send(CONSUMER, Update(ME, 0, 1))]
    assert rest == [Send(77, Subscribed(ME, 0, 1, 0)), Send(PRODUCER, Unsubscribe(ME, PRODUCER, 0))]
    assert session.vertices[ME].consumers == {77}


def test_an_edge_of_a_producer_that_was_acknowledged_waits_for_its_update() -> None:
    session = session_of(dirty=False)
    session.receive(Prepare(PRODUCER, GREAT))
    assert session.receive(Input(0, RemoveEdge(PRODUCER, ME))) == []
    assert session.receive(Update(PRODUCER, 0, 1)) == [Send(PRODUCER, Unsubscribe(ME, PRODUCER, 0))]


def test_a_ghost_without_edges_still_acknowledges_until_it_is_unsubscribed() -> None:
    session = session_of(dirty=False)
    session.receive(Input(0, RemoveEdge(PRODUCER, ME)))
    assert session.receive(Prepare(PRODUCER, GREAT)) == [
        Send(PRODUCER, Acknowledge(ME, PRODUCER, GREAT, reached=-1))
    ]
    assert session.receive(Update(PRODUCER, 0, 1)) == []
    assert session.ghosts == {}


def test_edges_are_inert_until_the_last_subscribe_is_answered() -> None:
    session = session_of(dirty=False)
    session.receive(Input(0, RemoveEdge(PRODUCER, ME)))
    session.receive(Input(0, AddEdge(PRODUCER, ME)))
    heard = len(session.program.heard)  # type: ignore[attr-defined]
    session.receive(Prepare(PRODUCER, GREAT))
    session.receive(Update(PRODUCER, 0, 1))  # of the subscription that ends
    assert len(session.program.heard) == heard == 0  # type: ignore[attr-defined]
    session.receive(Subscribed(PRODUCER, 0, 1, 0))
    assert session.program.heard == {(ME, PRODUCER): 1}  # type: ignore[attr-defined]


def test_an_input_lifts_the_next_commit_to_the_iteration_it_was_admitted_at() -> None:
    session = session_of(consumed=False, dirty=False)
    session.receive(Input(12, Touch(ME)))
    assert session.pending() == 12
    assert session.receive(Start(ME)) == [Committed(ME, 12, 1)]


def test_a_commit_at_the_bound_ends_its_session_and_is_gathered_when_tau_has_moved() -> None:
    session = session_of(delay_bound=2, consumed=False)
    session.receive(Prepare(PRODUCER, SMALL))
    session.receive(Start(ME))
    assert session.receive(Update(PRODUCER, 1, 40)) == [Committed(ME, 0, 1)]  # 0 < 1: it need not read it
    assert session.pending() == 2
    assert session.startable() == []
    session.receive(Frontier(1, 1))
    assert session.receive(Start(ME)) == [Committed(ME, 2, 41)]


def test_what_is_held_is_read_before_a_commit_that_an_acknowledgement_lifts_above_it() -> None:
    # The consumer's session was told of tau, this one not yet.
    session = session_of(delay_bound=2)
    session.receive(Prepare(PRODUCER, SMALL))
    session.receive(Start(ME))
    session.receive(Update(PRODUCER, 1, 40))
    assert session.receive(Acknowledge(CONSUMER, ME, MINE, reached=3))[0] == Committed(ME, 3, 41)


def test_a_worker_acknowledges_once_for_all_its_consumers_when_the_last_of_them_lets_it() -> None:
    session = ThreePhaseSession(
        0, CountProgram(appetite=None), delay_bound=None, owner=lambda vertex: 0 if vertex < 10 else 1
    )
    for consumer in (1, 2, 3):
        session.receive(Input(0, AddEdge(10, consumer)))
        session.receive(Subscribe(1, consumer, 0))
    session.receive(Subscribed(10, -1, None, 0))
    for vertex in (1, 2):
        session.receive(Input(vertex, Touch(vertex)))
        session.receive(Start(vertex))
    assert session.receive(Prepare(10, Stamp(9, 10))) == []
    session.receive(Acknowledge(1, 1, Stamp(1, 1), reached=-1))
    effects = session.receive(Acknowledge(1, 2, Stamp(2, 2), reached=-1))
    assert effects[-1] == Send(1, Acknowledge(0, 10, Stamp(9, 10), reached=2))
    assert all(10 in session.vertices[consumer].prepare_list for consumer in (1, 2, 3))


def test_a_copy_shares_nothing_that_changes() -> None:
    session = session_of()
    before = session.key()
    twin = session.copy(CountProgram())
    twin.receive(Start(ME))
    twin.receive(Prepare(PRODUCER, SMALL))
    assert session.key() == before != twin.key()
