"""Every schedule of a small graph: depth-first search over all states that any interleaving can reach.

States are compared by content, so two schedules that lead to the same state are followed once. A state that cannot do anything
must be finished (no deadlock), and no state may be reached again from itself (no livelock; sessions move iterations forward, so
this never happens where the program ends). Every law is judged on every transition, with its history being part of the state.

Cost: a few ten microseconds a transition; 3 vertices with an update each are some thousand states.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from ..errors import InternalError, InvalidArgument, LawBroken
from .laws import Witness
from .session import ThreePhaseSession
from .world import Action, Setting, World


@dataclass(frozen=True, slots=True)
class Exploration:
    """What was seen.

    Parameters
    ----------
    states : int
        Different states.
    transitions : int
        Actions performed.
    endings : int
        Different final states.
    """

    states: int
    transitions: int
    endings: int


class Counterexample(InternalError):
    """A schedule that breaks a law.

    Parameters
    ----------
    cause : InternalError
        What broke.
    schedule : list of Action
        How to get there; `random_schedules.replay` performs it again.
    """

    code = "counterexample"

    def __init__(self, cause: InternalError, schedule: list[Action]) -> None:
        lines = "\n".join(f"  {action}" for action in schedule)
        super().__init__(f"{cause.message}, after {len(schedule)} actions:\n{lines}")
        self.cause = cause
        self.schedule = schedule


def explore(setting: Setting, *, max_states: int = 1_000_000) -> Exploration:
    """Follow every schedule of a setting.

    Parameters
    ----------
    setting : Setting
        The graph, the program, the delay bound. The program must come to an end.
    max_states : int, default 1000000
        Give up beyond.

    Raises
    ------
    Counterexample
        If a schedule breaks a law or the legality table, ends with work left, or comes back to a state it was in.
    """
    start = _Branching(setting)
    start_key = start.key()
    seen = {start_key}
    endings = transitions = 0
    path = [_Node(start, start_key, iter(start.enabled()))]
    on_path = {start_key}
    schedule: list[Action] = []
    while path:
        node = path[-1]
        action = next(node.actions, None)
        if action is None:
            endings += node.is_ending
            path.pop()
            on_path.discard(node.key)
            if schedule:
                schedule.pop()
            continue
        node.is_ending = False
        schedule.append(action)
        transitions += 1
        try:
            following = _follow(node, action)
            if following.key in on_path:
                raise LawBroken("no livelock", "the same state again")
        except InternalError as cause:
            raise Counterexample(cause, schedule) from cause
        if following.key in seen:
            schedule.pop()
            continue
        seen.add(following.key)
        if len(seen) > max_states:
            raise InvalidArgument(f"the setting has more than max_states = {max_states} states")
        path.append(following)
        on_path.add(following.key)
    return Exploration(len(seen), transitions, endings)


@dataclass(slots=True)
class _Node:
    """A state on the path, with the actions not followed yet."""

    world: _Branching
    key: tuple[int, ...]
    actions: Iterator[Action]
    is_ending: bool = True


def _follow(node: _Node, action: Action) -> _Node:
    """The state after one more action, judged."""
    world = node.world.branch()
    world.perform(action)
    enabled = world.enabled()
    if not enabled and not world.is_finished():
        raise LawBroken("no deadlock", "nothing is enabled, and work is left")
    return _Node(world, world.key(), iter(enabled))


class _Branching(World):
    """A world whose copies share what they have not changed yet."""

    def __init__(self, setting: Setting) -> None:
        self.own = set(setting.all_workers())
        self.names: dict[object, int] = {}  # shared by all copies: a part of the state -> a small number
        self.session_names: dict[int, int] = {}
        super().__init__(setting)

    def branch(self) -> _Branching:
        """A copy; sessions are copied when they change."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.notes, twin.trace = [], []
        twin.sessions, twin.programs = self.sessions.copy(), self.programs.copy()
        twin.channels, twin.informed, twin.pending = (
            self.channels.copy(),
            self.informed.copy(),
            self.pending.copy(),
        )
        twin.laws = self.laws.copy()
        twin.session_names = self.session_names.copy()
        twin.own, self.own = set(), set()
        return twin

    def key(self) -> tuple[int, ...]:
        """The state as a tuple of small numbers, each the name of a part."""
        for worker, session in self.sessions.items():
            if worker not in self.session_names:
                parts = (cast(ThreePhaseSession, session).key(), self.programs[worker].key())
                self.session_names[worker] = self._name(parts)
        return (
            *(self.session_names[worker] for worker in self.sessions),
            self._name(tuple(sorted(self.channels.items()))),
            self._name(self.laws.key()),
            self._name((self.ingress, len(self.admissions), self.frontier, tuple(self.informed.values()))),
        )

    def _name(self, part: object) -> int:
        return self.names.setdefault(part, len(self.names))

    def _session(self, worker: int) -> ThreePhaseSession:
        session = cast(ThreePhaseSession, self.sessions[worker])
        if worker not in self.own:
            program = self.programs[worker].copy()
            session = session.copy(Witness(program, self.notes))
            self.sessions[worker], self.programs[worker] = session, program
            self.own.add(worker)
        self.session_names.pop(worker, None)
        return session
