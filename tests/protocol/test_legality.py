"""Every row of the legality table, every pair that is not in it, and the diagram that is made from it."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

import tornado.protocol.gathering as gathering_module
import tornado.protocol.session as session_module
from tornado.errors import InvalidArgument, ProtocolViolation
from tornado.protocol import (
    Acknowledge,
    AddEdge,
    Frontier,
    GhostPhase,
    Input,
    Prepare,
    Stamp,
    Start,
    Step,
    Subscribe,
    Subscribed,
    ThreePhaseSession,
    Touch,
    Unsubscribe,
    Update,
    VertexPhase,
)
from tornado.protocol.diagram import BEGIN, diagram, refreshed
from tornado.protocol.exploration import explore
from tornado.protocol.legality import LEGAL, Phase, confirm, is_legal, require
from tornado.protocol.messages import Event, RemoveEdge
from tornado.protocol.random_schedules import random_script, simulate
from tornado.protocol.sample_programs import CountProgram
from tornado.protocol.world import Setting

ME, CONSUMER, PRODUCER, OTHER = 5, 6, 4, 3
EARLY, LATE = Stamp(0, PRODUCER), Stamp(9, PRODUCER)


def resting(delay_bound: int | None = None) -> ThreePhaseSession:
    """Vertex 5, consumed by 6, with live edges from 4 and 3."""
    session = ThreePhaseSession(ME, CountProgram(appetite=None), delay_bound=delay_bound)
    for producer in (PRODUCER, OTHER):
        session.receive(Input(0, AddEdge(producer, ME)))
        session.receive(Subscribed(producer, -1, None, 0))
    session.receive(Subscribe(CONSUMER, ME, 0))
    return session


def in_phase(phase: Phase) -> ThreePhaseSession:
    """A session whose vertex 5, or whose ghost of 4, is in the phase."""
    session = resting(1 if phase is GhostPhase.SYNCHRONOUS else None)
    if phase in (VertexPhase.DIRTY, VertexPhase.WAITING, VertexPhase.COLLECTING, GhostPhase.PENDED):
        session.receive(Input(0, Touch(ME)))
    if phase in (VertexPhase.COLLECTING, GhostPhase.PREPARED):
        session.receive(Prepare(PRODUCER, EARLY))
    if phase in (VertexPhase.WAITING, VertexPhase.COLLECTING, GhostPhase.PENDED):
        session.receive(Start(ME))
    if phase is VertexPhase.COLLECTING:
        session.receive(acknowledgement(session))
    if phase is GhostPhase.PENDED:
        session.receive(Prepare(PRODUCER, LATE))
    assert now(session, phase) is phase
    return session


def now(session: ThreePhaseSession, phase: Phase) -> Phase:
    return session.vertices[ME].phase if isinstance(phase, VertexPhase) else session.ghosts[PRODUCER].phase


def acknowledgement(session: ThreePhaseSession) -> Acknowledge:
    return Acknowledge(CONSUMER, ME, session.vertices[ME].stamp or Stamp(1, ME), reached=-1)


VERTEX_EVENTS: dict[Step, Callable[[ThreePhaseSession], list[Event]]] = {
    Step.INPUT: lambda _: [Input(0, Touch(ME))],
    Step.START: lambda _: [Start(ME)],
    Step.PREPARE: lambda _: [Prepare(OTHER, Stamp(0, OTHER))],
    Step.ACKNOWLEDGE: lambda session: [acknowledgement(session)],
    Step.GATHER: lambda _: [Prepare(OTHER, Stamp(0, OTHER)), Update(OTHER, 0, 7)],
    Step.UPDATE: lambda _: [Prepare(OTHER, Stamp(0, OTHER)), Update(OTHER, 0, 7)],
    Step.SUBSCRIBE: lambda _: [Subscribe(77, ME, 0)],
    Step.UNSUBSCRIBE: lambda _: [Unsubscribe(CONSUMER, ME, 0)],
}
GHOST_EVENTS: dict[Step, Callable[[ThreePhaseSession], list[Event]]] = {
    Step.INPUT: lambda _: [Input(0, AddEdge(PRODUCER, ME))],
    Step.PREPARE: lambda _: [Prepare(PRODUCER, LATE)],
    Step.RELEASE: lambda session: [acknowledgement(session)],
    Step.UPDATE: lambda _: [Update(PRODUCER, 0, 7)],
    Step.SUBSCRIBED: lambda _: [
        Input(0, RemoveEdge(PRODUCER, ME)),
        Input(0, AddEdge(PRODUCER, ME)),
        Subscribed(PRODUCER, -1, None, 0),
    ],
}
ROWS = [pytest.param(*row, id=f"{row[0].name}-{row[1].name}") for row in LEGAL]


@pytest.mark.parametrize(("phase", "step"), ROWS)
def test_a_legal_step_leads_where_its_row_says(phase: Phase, step: Step) -> None:
    session = in_phase(phase)
    events = VERTEX_EVENTS if isinstance(phase, VertexPhase) else GHOST_EVENTS
    for event in events[step](session):
        session.receive(event)
    after = now(session, phase)
    # An UPDATE message is two steps for a vertex: it gathers, which may make it dirty, and the prepare list shrinks.
    gathered = (
        set(LEGAL[phase, Step.GATHER]) if isinstance(phase, VertexPhase) and step is Step.UPDATE else set()
    )
    assert after in {*LEGAL[phase, step], *gathered}


ILLEGAL: list[tuple[Phase, Step, Event]] = [
    (VertexPhase.IDLE, Step.START, Start(ME)),
    (VertexPhase.WAITING, Step.START, Start(ME)),
    (VertexPhase.COLLECTING, Step.START, Start(ME)),
    (VertexPhase.IDLE, Step.ACKNOWLEDGE, Acknowledge(CONSUMER, ME, Stamp(1, ME), 0)),
    (VertexPhase.DIRTY, Step.ACKNOWLEDGE, Acknowledge(CONSUMER, ME, Stamp(1, ME), 0)),
    (VertexPhase.COLLECTING, Step.ACKNOWLEDGE, Acknowledge(CONSUMER, ME, Stamp(1, ME), 0)),
    (GhostPhase.QUIET, Step.UPDATE, Update(PRODUCER, 0, 7)),
    (GhostPhase.PENDED, Step.UPDATE, Update(PRODUCER, 0, 7)),
    (GhostPhase.PENDED, Step.PREPARE, Prepare(PRODUCER, LATE)),
    (GhostPhase.PREPARED, Step.PREPARE, Prepare(PRODUCER, LATE)),
    (GhostPhase.SYNCHRONOUS, Step.PREPARE, Prepare(PRODUCER, LATE)),
    (GhostPhase.PENDED, Step.SUBSCRIBED, Subscribed(PRODUCER, -1, None, 0)),
    (GhostPhase.PREPARED, Step.SUBSCRIBED, Subscribed(PRODUCER, -1, None, 0)),
]


@pytest.mark.parametrize(("phase", "step", "event"), ILLEGAL, ids=lambda part: getattr(part, "name", ""))
def test_a_step_the_table_does_not_have_raises_and_changes_nothing(
    phase: Phase, step: Step, event: Event
) -> None:
    session = in_phase(phase)
    before = (session.key(), session.pending(), session.startable())
    assert not is_legal(phase, step)
    with pytest.raises(ProtocolViolation, match=rf"is {phase.name}, where {step.name} is illegal; legal are"):
        session.receive(event)
    assert (session.key(), session.pending(), session.startable()) == before


def test_the_illegal_pairs_above_are_all_that_a_message_can_cause() -> None:
    # RELEASE follows from a commit and GATHER from an update: neither comes from outside.
    vertex = [(p, s) for p in VertexPhase for s in VERTEX_EVENTS if not is_legal(p, s)]
    ghost = [(p, s) for p in GhostPhase for s in GHOST_EVENTS if not is_legal(p, s) and s is not Step.RELEASE]
    assert {(phase, step) for phase, step, _ in ILLEGAL} == {*vertex, *ghost}


CONTENTS: dict[str, tuple[Phase, Event]] = {
    "an acknowledgement of somebody who was not asked": (
        VertexPhase.WAITING,
        Acknowledge(77, ME, Stamp(1, ME), 0),
    ),
    "an acknowledgement of an older session": (
        VertexPhase.WAITING,
        Acknowledge(CONSUMER, ME, Stamp(0, ME), 0),
    ),
    "a second subscription": (VertexPhase.IDLE, Subscribe(CONSUMER, ME, 0)),
    "an end of no subscription": (VertexPhase.IDLE, Unsubscribe(77, ME, 0)),
    "an answer to nothing": (GhostPhase.QUIET, Subscribed(PRODUCER, -1, None, 0)),
    "an answer about a stranger": (GhostPhase.QUIET, Subscribed(77, -1, None, 0)),
    "an update that does not come after the last": (GhostPhase.PREPARED, Update(PRODUCER, -1, 7)),
    "an input for a vertex of another worker": (VertexPhase.IDLE, Input(0, Touch(77))),
    "a start of an unknown vertex": (VertexPhase.IDLE, Start(77)),
}


@pytest.mark.parametrize("case", CONTENTS)
def test_a_legal_step_with_impossible_contents_raises_and_changes_nothing(case: str) -> None:
    phase, event = CONTENTS[case]
    session = in_phase(phase)
    before = session.key()
    with pytest.raises(ProtocolViolation):
        session.receive(event)
    assert session.key() == before


def test_a_frontier_that_moves_back_is_refused() -> None:
    session = ThreePhaseSession(ME, CountProgram(), delay_bound=2)
    session.receive(Frontier(3, 4))
    with pytest.raises(ProtocolViolation, match="moves back"):
        session.receive(Frontier(3, 3))
    assert session.frontier == Frontier(3, 4)


def test_subscribing_twice_is_refused_also_while_the_first_is_held() -> None:
    session = in_phase(VertexPhase.WAITING)
    session.receive(Subscribe(77, ME, 0))
    before = session.key()
    with pytest.raises(ProtocolViolation, match="already consumes"):
        session.receive(Subscribe(77, ME, 0))
    assert session.key() == before
    session.receive(Unsubscribe(77, ME, 0))


def test_a_start_beyond_the_delay_bound_is_refused() -> None:
    session = resting(2)
    session.receive(Input(2, Touch(ME)))
    assert session.startable() == []
    with pytest.raises(ProtocolViolation, match="B=2"):
        session.receive(Start(ME))
    session.receive(Frontier(1, 1))
    assert session.startable() == [ME]


@pytest.mark.parametrize("delay_bound", [0, -1])
def test_a_delay_bound_below_one_is_refused(delay_bound: int) -> None:
    with pytest.raises(InvalidArgument, match=f"delay_bound is {delay_bound}"):
        ThreePhaseSession(ME, CountProgram(), delay_bound=delay_bound)


@pytest.fixture
def arrows(monkeypatch: pytest.MonkeyPatch) -> set[tuple[Phase, Step, Phase]]:
    """Every arrow that sessions take while the test runs."""
    seen: set[tuple[Phase, Step, Phase]] = set()

    def record(before: Phase, step: Step, after: Phase, who: str) -> None:
        seen.add((before, step, after))
        confirm(before, step, after, who)

    monkeypatch.setattr(session_module, "confirm", record)
    monkeypatch.setattr(gathering_module, "confirm", record)
    return seen


def test_every_arrow_of_the_table_is_taken_and_no_other(arrows: set[tuple[Phase, Step, Phase]]) -> None:
    # Rare: a newcomer subscribes and unsubscribes while a vertex collects.
    established = (AddEdge(0, 1), AddEdge(2, 0), Touch(0), Touch(2))
    explore(Setting((AddEdge(0, 3), RemoveEdge(0, 3)), None, CountProgram, established=established))
    for seed in range(150):
        rng = random.Random(seed)
        script = random_script(rng, vertices=3, changes=15, removals=True)
        simulate(Setting(script, rng.choice([1, 2, None]), lambda: CountProgram(3), lag=seed % 2 == 0), seed)
    assert arrows == {(before, step, after) for (before, step), afters in LEGAL.items() for after in afters}


def test_an_arrow_that_is_not_in_the_table_is_a_violation() -> None:
    with pytest.raises(ProtocolViolation, match="from IDLE by INPUT to WAITING"):
        confirm(VertexPhase.IDLE, Step.INPUT, VertexPhase.WAITING, "vertex 1")
    with pytest.raises(ProtocolViolation, match="vertex 1 is IDLE"):
        require(VertexPhase.IDLE, Step.START, "vertex 1")


def test_the_diagram_in_the_documentation_is_the_table() -> None:
    text = (Path(__file__).parents[2] / "docs" / "protocol.md").read_text(encoding="utf-8")
    assert refreshed(text) == text, "run `python -m tornado.protocol.diagram docs/protocol.md`"


def test_the_diagram_has_every_phase_and_every_step_between_two_phases() -> None:
    drawn = diagram(VertexPhase) + diagram(GhostPhase)
    for (before, step), afters in LEGAL.items():
        for after in afters:
            [line] = [
                text for text in drawn.splitlines() if text.startswith(f"    {before.name} --> {after.name} ")
            ]
            assert step.name in line


def test_a_text_without_markers_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="each of"):
        refreshed(f"{BEGIN} but no end")
