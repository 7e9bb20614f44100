"""Thousands of random schedules of random graphs, each under a seed that is printed when it fails."""

import random
from collections.abc import Callable

import pytest

from tests.shortened import shortened
from tornado.errors import InternalError
from tornado.protocol.messages import AddEdge, Committed, Touch
from tornado.protocol.random_schedules import Run, random_script, replay, simulate
from tornado.protocol.sample_programs import CountProgram, MinPlusProgram
from tornado.protocol.world import Setting, World

BOUNDS: list[int | None] = [1, 2, 3, 8, None]


def counting(seed: int) -> Setting:
    """Edges and touches come and go while a few vertices count."""
    rng = random.Random(seed)
    script = random_script(rng, vertices=rng.randint(2, 9), changes=rng.randint(1, 30), removals=True)
    appetite = rng.choice([1, 2, 4])
    return Setting(
        script,
        BOUNDS[seed % len(BOUNDS)],
        lambda: CountProgram(appetite),
        workers=rng.choice([None, None, 1, 2, 3]),
        lag=rng.random() < 0.4,
    )


def shortest(seed: int) -> Setting:
    """Edges with weights, zero among them, are only added."""
    rng = random.Random(seed)
    script = random_script(rng, vertices=rng.randint(2, 12), changes=rng.randint(1, 50), removals=False)
    workers = rng.choice([None, 1, 2, 4])
    return Setting(
        script, BOUNDS[seed % len(BOUNDS)], MinPlusProgram, workers=workers, lag=rng.random() < 0.4
    )


def ran(setting: Setting, seed: int, *, max_actions: int = 100_000) -> Run:
    try:
        return simulate(setting, seed, max_actions=max_actions)
    except InternalError as error:
        pytest.fail(f"seed {seed}: {error}\n{setting}")


@pytest.mark.parametrize("block", shortened(range(8), 4))
def test_no_schedule_of_a_changing_graph_breaks_a_law(block: int) -> None:
    seeds = range(200 * block, 200 * (block + 1))
    runs = [ran(counting(seed), seed) for seed in seeds]
    print(
        f"seeds {seeds}: {sum(len(run.schedule) for run in runs)} actions, {sum(len(r.trace) for r in runs)} commits"
    )
    assert all(run.finished for run in runs)


def crowded(seed: int) -> Setting:
    """Many vertices are dirty at once in a dense graph, while more edges and touches come."""
    rng = random.Random(seed)
    vertices = rng.randint(8, 20)
    edges = tuple(AddEdge(rng.randrange(vertices), rng.randrange(vertices)) for _ in range(3 * vertices))
    script = (*map(Touch, range(vertices)), *random_script(rng, vertices, 10, removals=True))
    workers = rng.choice([None, 2, 5])
    bound = BOUNDS[seed % len(BOUNDS)]
    return Setting(
        script, bound, lambda: CountProgram(2), workers=workers, established=edges, lag=seed % 2 == 0
    )


@pytest.mark.parametrize("block", shortened(range(6), 2))
def test_no_schedule_of_a_large_crowded_graph_breaks_a_law(block: int) -> None:
    seeds = range(50 * block, 50 * (block + 1))
    runs = [ran(crowded(seed), seed) for seed in seeds]
    print(
        f"seeds {seeds}: {sum(len(run.schedule) for run in runs)} actions, {sum(len(r.trace) for r in runs)} commits"
    )
    assert all(run.finished for run in runs)


@pytest.mark.soak
@pytest.mark.parametrize("block", range(8, 108))
def test_no_schedule_breaks_a_law_in_the_long_run(block: int) -> None:
    test_no_schedule_of_a_changing_graph_breaks_a_law(block)


@pytest.mark.parametrize("block", shortened(range(5), 2))
def test_shortest_paths_of_every_schedule_are_those_of_the_graph(block: int) -> None:
    for seed in range(200 * block, 200 * (block + 1)):
        setting = shortest(seed)
        run = ran(setting, seed)
        assert last_values(run.trace) == distances(setting), f"seed {seed}: {setting}"


def last_values(trace: list[Committed]) -> dict[int, object]:
    return {commit.vertex: commit.value for commit in trace}


def distances(setting: Setting) -> dict[int, object]:
    """Relax all edges until nothing changes."""
    known: dict[int, float] = {}
    for change in setting.script:
        if isinstance(change, Touch):
            known[change.vertex] = min(known.get(change.vertex, float("inf")), float(change.data or 0.0))
    edges = [change for change in setting.script if isinstance(change, AddEdge)]
    before = None
    while before != known:
        before = dict(known)
        for edge in edges:
            if edge.producer in known:
                offer = known[edge.producer] + edge.data
                known[edge.consumer] = min(known.get(edge.consumer, float("inf")), offer)
    return dict(known)


@pytest.mark.parametrize("delay_bound", BOUNDS)
def test_nobody_starves_in_a_loop_that_never_ends(delay_bound: int | None) -> None:
    vertices = 8
    for seed in range(6):
        rng = random.Random(seed)
        ring = [AddEdge(vertex, (vertex + 1) % vertices) for vertex in range(vertices)]
        chords = [AddEdge(rng.randrange(vertices), rng.randrange(vertices)) for _ in range(8)]
        setting = Setting((Touch(0),), delay_bound, lambda: CountProgram(None), established=(*ring, *chords))
        run = ran(setting, seed, max_actions=3000)
        commits = [sum(commit.vertex == vertex for commit in run.trace) for vertex in range(vertices)]
        print(f"seed {seed}: prepared for {run.patience_rounds} rounds at most, commits {commits}")
        assert not run.finished
        assert run.patience_rounds <= 2 * vertices
        assert min(commits) >= 10


@pytest.mark.parametrize("make", [counting, shortest])
def test_the_same_seed_gives_the_same_trace(make: Callable[[int], Setting]) -> None:
    for seed in range(20):
        first, second = simulate(make(seed), seed), simulate(make(seed), seed)
        assert first == second


def test_different_seeds_give_different_schedules() -> None:
    schedules = {tuple(simulate(counting(4), seed).schedule) for seed in range(10)}
    assert len(schedules) > 5


@pytest.mark.parametrize("seed", range(10))
def test_a_recorded_schedule_gives_the_same_commits_again(seed: int) -> None:
    setting = counting(seed)
    run = simulate(setting, seed)
    assert replay(setting, run.schedule) == run.trace
    assert replay(setting, run.schedule, setting.session) == run.trace


def test_a_schedule_of_another_setting_is_refused() -> None:
    run = simulate(counting(3), 3)
    with pytest.raises(InternalError, match="is not enabled"):
        replay(counting(4), run.schedule)


def test_a_synchronous_loop_sends_no_prepare_and_an_asynchronous_one_does() -> None:
    edges = tuple(AddEdge(producer, consumer, 1.0) for producer in range(4) for consumer in range(4))
    prepares = {
        bound: simulate(Setting((Touch(0, 0.0),), bound, MinPlusProgram, established=edges), 1).prepares
        for bound in (1, 2, None)
    }
    assert prepares[1] == 0
    assert prepares[2] > 0
    assert prepares[None] > 0


def test_a_world_lists_what_can_happen_and_does_what_it_is_told() -> None:
    world = World(Setting((Touch(0),), None, CountProgram))
    while enabled := world.enabled():
        world.perform(enabled[0])
    assert world.is_finished()
    assert world.trace == [Committed(0, 0, 1)]
