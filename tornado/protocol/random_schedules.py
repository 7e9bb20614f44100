"""Random schedules under a seed, and recorded ones.

`simulate` lets a seeded generator choose among the enabled actions. Some channels and vertices are made much slower than others,
differently for every seed, since uniform choice hardly ever leaves a message behind for long. Starvation is judged by *rounds*: a
round is over when every action that was enabled at its beginning has happened or is not enabled any more. A vertex that prepares
for more rounds than every session before it could need is starved.

Same seed, same trace: nothing depends on time, hash order or memory.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field

from ..errors import LawBroken
from .messages import AddEdge, Change, Committed, RemoveEdge, Touch
from .world import Action, BeginSession, SessionFactory, Setting, World


@dataclass(frozen=True, slots=True)
class Run:
    """What happened in a simulation.

    Parameters
    ----------
    seed : int
        Chooses the schedule.
    schedule : list of Action
        What was chosen; `replay` performs it again.
    trace : list of Committed
        What was committed, in order.
    admissions : list of int
        At which iteration each change of the script was admitted.
    prepares : int
        PREPAREs that crossed a channel.
    patience_rounds : int
        For how many rounds a vertex prepared at most.
    finished : bool
        Whether the run came to its end; else it was stopped after `max_actions`.
    """

    seed: int
    schedule: list[Action]
    trace: list[Committed]
    admissions: list[int]
    prepares: int
    patience_rounds: int
    finished: bool


@dataclass(slots=True)
class _Rounds:
    """Counts rounds, and how many each preparing vertex has waited."""

    limit: int
    number: int = 0
    left: set[Action] = field(default_factory=set)
    since: dict[int, int] = field(default_factory=dict)
    longest: int = 0

    def step(self, action: Action, enabled: list[Action], committed: list[Committed]) -> None:
        self.left.discard(action)
        self.left.intersection_update(enabled)
        if not self.left:
            self.number += 1
            self.left = set(enabled)
        if isinstance(action, BeginSession):
            self.since[action.vertex] = self.number
        for commit in committed:
            self.since.pop(commit.vertex, None)
        for vertex, since in self.since.items():
            self.longest = max(self.longest, self.number - since)
            if self.number - since > self.limit:
                raise LawBroken("no starvation", f"vertex {vertex} prepares for {self.number - since} rounds")


def simulate(setting: Setting, seed: int, *, max_actions: int = 100_000) -> Run:
    """Run a setting under a random schedule.

    Parameters
    ----------
    setting : Setting
        The graph, the program, the delay bound.
    seed : int
        Chooses the schedule.
    max_actions : int, default 100000
        Stop after so many; programs without an end need it.

    Raises
    ------
    LawBroken
        If a rule, the bound, or the absence of deadlock and starvation does not hold.
    ProtocolViolation
        If a session was sent what the legality table forbids.
    """
    rng = random.Random(seed)
    world = World(setting)
    # A session waits for smaller stamps only, and each of them needs three messages: rounds grow with the vertices at worst.
    rounds = _Rounds(limit=8 * (len(setting.script) + 2))
    pace: dict[Action, float] = {}
    schedule: list[Action] = []
    enabled = world.enabled()
    while enabled and len(schedule) < max_actions:
        weights = [pace.setdefault(action, 0.01 + rng.random() ** 4) for action in enabled]
        [action] = rng.choices(enabled, weights)
        committed = len(world.trace)
        schedule.append(action)
        world.perform(action)
        enabled = world.enabled()
        rounds.step(action, enabled, world.trace[committed:])
    finished = world.is_finished()
    if not enabled and not finished:
        raise LawBroken("no deadlock", f"nothing is enabled after {len(schedule)} actions, and work is left")
    return Run(seed, schedule, world.trace, world.admissions, world.prepares, rounds.longest, finished)


def replay(
    setting: Setting, schedule: Iterable[Action], session_factory: SessionFactory | None = None
) -> list[Committed]:
    """Perform a recorded schedule, with other sessions if told so, and return what they commit.

    Two implementations agree when they commit the same values at the same iterations in the same order. The schedule names
    channels and vertices only, so it means the same to both as long as both send the same messages.

    Parameters
    ----------
    setting : Setting
        As it was recorded with.
    schedule : iterable of Action
        `Run.schedule` of a simulation, or a counterexample of the exploration.
    session_factory : callable, optional
        `(worker, program) -> session`. Left out, the plain session.

    Raises
    ------
    LawBroken
        If an action of the schedule is not enabled any more, or breaks a law.
    """
    world = World(setting, session_factory)
    for position, action in enumerate(schedule):
        enabled = world.enabled()
        if action not in enabled:
            raise LawBroken(
                "same schedule", f"action {position}, {action}, is not enabled; enabled are {enabled}"
            )
        world.perform(action)
    return world.trace


def random_script(
    rng: random.Random,
    vertices: int,
    changes: int,
    *,
    removals: bool,
    weights: Iterable[float] = (0.0, 1.0, 2.0),
) -> tuple[Change, ...]:
    """Changes of a random graph: edges (loops and parallel ones too) that come and go, and touches.

    Vertex 0 is touched first, with distance 0. A few removals name an edge that is not there.
    """
    choices = list(weights)
    script: list[Change] = [Touch(0)]
    edges: list[AddEdge] = []
    for _ in range(changes):
        kind = rng.random()
        if removals and edges and kind < 0.25:
            edge = edges.pop(rng.randrange(len(edges)))
            script.append(RemoveEdge(edge.producer, edge.consumer, rng.choice([None, edge.data])))
        elif removals and kind < 0.28:
            script.append(RemoveEdge(rng.randrange(vertices), rng.randrange(vertices)))
        elif kind > 0.9:
            script.append(Touch(rng.randrange(vertices), rng.choice(choices) + 5.0))
        else:
            edges.append(AddEdge(rng.randrange(vertices), rng.randrange(vertices), rng.choice(choices)))
            script.append(edges[-1])
    return tuple(script)
