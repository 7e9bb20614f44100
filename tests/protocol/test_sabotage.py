"""Sessions that break one rule each, on purpose: every one of them must be caught, and by the law it breaks.

Without these the other tests would prove little: a judge that never convicts also passes.
"""

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import pytest

from tornado.errors import InternalError, LawBroken, ProtocolViolation
from tornado.protocol import AddEdge, Prepare, Stamp, ThreePhaseSession, Touch, Update
from tornado.protocol.exploration import Counterexample, explore
from tornado.protocol.legality import GhostPhase
from tornado.protocol.messages import Acknowledge, Change, Message
from tornado.protocol.random_schedules import random_script, replay, simulate
from tornado.protocol.sample_programs import CountProgram
from tornado.protocol.vertex import Ghost, HeldValue, OwnedVertex
from tornado.protocol.world import Setting


class CommitsEarly(ThreePhaseSession):
    """Ignores the prepare list."""

    def _may_commit(self, vertex: OwnedVertex) -> bool:
        return vertex.stamp is not None and not vertex.waiting


class ForgetsAPendedProducer(ThreePhaseSession):
    """Clears the pending list without acknowledging."""

    def _release_pended(self, vertex: OwnedVertex) -> None:
        vertex.pending = []


class IgnoresTheTieBreak(ThreePhaseSession):
    """Compares stamps by clock only: of two equal ones neither goes first, and each lets the other."""

    def _goes_first(self, own: Stamp, other: Stamp) -> bool:
        return own.clock < other.clock


class BreaksTiesBothWays(ThreePhaseSession):
    """Compares stamps by clock only: of two equal ones each goes first."""

    def _goes_first(self, own: Stamp, other: Stamp) -> bool:
        return own.clock <= other.clock


class CommitsEarlierThanItsConsumers(ThreePhaseSession):
    """Ignores the iteration in an ACKNOWLEDGE."""

    def _acknowledged(self, vertex: OwnedVertex, reached: int) -> None:
        pass


class DoesNotWitnessStamps(ThreePhaseSession):
    """Its clock is no Lamport clock: a later session may get a smaller stamp."""

    def _on_prepare(self, message: Prepare) -> None:
        time = self.clock.time
        super()._on_prepare(message)
        self.clock.time = time


class GathersBeyondTheBound(ThreePhaseSession):
    """Gathers a commit at the delay bound at once: lifted over the bound in the middle of a session."""

    def _must_hold(self, vertex: OwnedVertex, value: HeldValue) -> bool:
        return False


class HoldsTheCommitInstead(GathersBeyondTheBound):
    """As before, and then waits for τ with its own commit."""

    def _may_commit(self, vertex: OwnedVertex) -> bool:
        return super()._may_commit(vertex) and vertex.next_iteration < self._limit()


class StartsBeyondTheBound(ThreePhaseSession):
    """Ignores the delay bound when it starts."""

    def _is_startable(self, vertex: OwnedVertex) -> bool:
        return vertex.dirty and vertex.stamp is None and not vertex.held


class FollowsFigure3(ThreePhaseSession):
    """Mixes the figure's reading in: a pended producer is in the prepare list already."""

    def _on_prepare(self, message: Prepare) -> None:
        super()._on_prepare(message)
        ghost = self.ghosts[message.producer]
        if ghost.phase is GhostPhase.PENDED:
            for blocker in ghost.blockers:
                self.vertices[blocker].prepare_list.add(message.producer)


class NeverRetests(ThreePhaseSession):
    """Tests for the commit when an ACKNOWLEDGE comes, not when the prepare list empties (Figure 3)."""

    def _on_update(self, message: Update) -> None:
        readers = self.ghosts[message.producer].readers
        for reader in readers:
            self.vertices[reader].waiting.add(-1)
        super()._on_update(message)
        for reader in readers:
            self.vertices[reader].waiting.discard(-1)


class GathersInputsUnderASession(ThreePhaseSession):
    """Lets the consumers change while it prepares (trap 5)."""

    def _must_wait(self, vertex: OwnedVertex, producer: int | None) -> bool:
        return False


class AddsEdgesOfPreparedProducers(ThreePhaseSession):
    """Lets a worker get a new consumer of a producer that it has acknowledged (trap 5)."""

    def _must_wait(self, vertex: OwnedVertex, producer: int | None) -> bool:
        return super()._must_wait(vertex, None)


class KeepsSilentWhenNothingChanged(ThreePhaseSession):
    """Sends no UPDATE when the value is what it was (trap 3)."""

    def _send(self, worker: int, message: Message) -> None:
        if not (isinstance(message, Update) and message.value == 1):
            super()._send(worker, message)


class DoesNotWaitForTheRound(ThreePhaseSession):
    """B=1: starts at τ, although commits of the round before may still be on their way."""

    def _is_startable(self, vertex: OwnedVertex) -> bool:
        return vertex.dirty and vertex.reached + 1 < self._limit()


class AcknowledgesTheCommitOnly(ThreePhaseSession):
    """Acknowledges what it has committed, not what it has reached: legal, as long as nobody gathered more. See below."""

    def _send(self, worker: int, message: Message) -> None:
        if isinstance(message, Acknowledge):
            committed = [self.vertices[name].committed for name in self.ghosts[message.producer].consumers()]
            message = Acknowledge(message.worker, message.producer, message.stamp, max(committed, default=-1))
        super()._send(worker, message)


EDGE, PAIR, RING = (
    (AddEdge(0, 1),),
    (AddEdge(0, 1), AddEdge(1, 0)),
    (AddEdge(0, 1), AddEdge(1, 2), AddEdge(2, 0)),
)
FORK = (AddEdge(0, 1), AddEdge(2, 1))


def setting(
    edges: tuple[AddEdge, ...],
    dirty: tuple[int, ...],
    *script: Change,
    delay_bound: int | None = None,
    appetite: int = 1,
    workers: int | None = None,
) -> Setting:
    """Edges are there and some vertices dirty when the script begins to come in."""
    established = (*edges, *map(Touch, dirty))
    return Setting(
        script, delay_bound, lambda: CountProgram(appetite), workers=workers, established=established
    )


PINNED = setting(
    FORK, (0, 1, 2), Touch(0), delay_bound=2, appetite=2
)  # 2 keeps tau at 0 while 0 commits at 1
CASES: dict[type[ThreePhaseSession], tuple[str, Setting]] = {
    CommitsEarly: ("R3", setting(EDGE, (0, 1), Touch(1), appetite=2)),
    ForgetsAPendedProducer: ("no deadlock", setting(PAIR, (0, 1))),
    IgnoresTheTieBreak: ("no deadlock", setting(PAIR, (0, 1))),
    BreaksTiesBothWays: ("no deadlock", setting(PAIR, (0, 1))),
    CommitsEarlierThanItsConsumers: ("R3", setting(EDGE, (0, 1), Touch(1), appetite=2)),
    DoesNotWitnessStamps: ("no deadlock", setting(RING, (0, 1, 2))),
    GathersBeyondTheBound: ("delay bound", PINNED),
    HoldsTheCommitInstead: ("no deadlock", PINNED),
    StartsBeyondTheBound: (
        "delay bound",
        setting(EDGE, (0, 2), Touch(0), Touch(0), delay_bound=2, appetite=3),
    ),
    FollowsFigure3: ("no deadlock", setting(PAIR, (0, 1))),
    NeverRetests: ("no deadlock", setting((AddEdge(0, 1), AddEdge(1, 2)), (0, 1))),
    KeepsSilentWhenNothingChanged: ("no deadlock", setting(PAIR, (0, 1))),
    DoesNotWaitForTheRound: ("R3", setting(FORK, (0, 1, 2), delay_bound=1, appetite=2)),
    AddsEdgesOfPreparedProducers: (
        "R3",
        setting(EDGE, (0, 3), AddEdge(0, 3), Touch(3), appetite=3, workers=2),
    ),
}


@pytest.mark.parametrize("broken", CASES)
def test_every_schedule_together_convict_a_broken_session(broken: type[ThreePhaseSession]) -> None:
    law, where = CASES[broken]
    explore(where)  # the honest session is innocent
    with pytest.raises(Counterexample) as caught:
        explore(replace(where, session_type=broken))
    print(caught.value)
    assert isinstance(caught.value.cause, LawBroken)
    assert caught.value.cause.law == law


def test_a_consumer_that_comes_in_the_middle_of_a_session_is_a_violation() -> None:
    # It is sent an UPDATE without having been asked.
    where = setting((AddEdge(0, 2),), (0,), AddEdge(0, 1))
    explore(where)
    with pytest.raises(Counterexample) as caught:
        explore(replace(where, session_type=GathersInputsUnderASession))
    assert isinstance(caught.value.cause, ProtocolViolation)


def test_a_vertex_that_waits_for_itself_never_commits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ghost, "consumers", lambda ghost: sorted(ghost.edges))
    with pytest.raises(Counterexample, match="no deadlock"):
        explore(setting((AddEdge(0, 0),), (0,)))


RANDOM = [*CASES, GathersInputsUnderASession]


@pytest.mark.parametrize("broken", RANDOM)
def test_random_schedules_convict_a_broken_session(broken: type[ThreePhaseSession]) -> None:
    for seed, where in random_settings():
        try:
            simulate(replace(where, session_type=broken), seed)
        except InternalError as error:
            print(f"seed {seed}: {error}")
            return
    pytest.fail("no seed found it")


def random_settings() -> Iterator[tuple[int, Setting]]:
    for seed in range(3000):
        rng = random.Random(seed)
        script = random_script(
            rng, vertices=rng.randint(2, 5), changes=rng.randint(5, 20), removals=rng.random() < 0.5
        )
        workers = 2 if seed % 2 else None
        yield seed, Setting(script, [1, 2, None][seed % 7 % 3], lambda: CountProgram(3), workers=workers)


def test_what_is_acknowledged_may_be_what_was_committed() -> None:
    # The paper leaves both readings open. A consumer that gathered k but did not commit has read nothing at k yet that an
    # update at a smaller iteration could be in the past of, so this session is innocent; it orders less.
    for seed, where in islice(random_settings(), 400):
        simulate(replace(where, session_type=AcknowledgesTheCommitOnly), seed)


def test_a_replay_shows_where_another_implementation_disagrees() -> None:
    where = setting(EDGE, (0, 1), Touch(1), appetite=2)
    with pytest.raises(Counterexample) as caught:
        explore(replace(where, session_type=CommitsEarlierThanItsConsumers))
    schedule = caught.value.schedule
    honest = replay(where, schedule)
    with pytest.raises(LawBroken, match="R3"):
        replay(where, schedule, replace(where, session_type=CommitsEarlierThanItsConsumers).session)
    assert [(commit.vertex, commit.iteration) for commit in honest] == [(1, 0), (1, 1), (0, 1)]
