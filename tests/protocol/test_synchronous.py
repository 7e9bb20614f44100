"""B=1 is plain synchronous iteration: in every iteration the same vertices commit the same values, whatever the schedule."""

import random

import pytest

from tornado.protocol.messages import AddEdge, RemoveEdge, Touch
from tornado.protocol.random_schedules import Run, random_script, simulate
from tornado.protocol.sample_programs import CountProgram, MinPlusProgram, SampleProgram
from tornado.protocol.world import Setting

Rounds = dict[int, dict[int, object]]


def synchronous(setting: Setting, admissions: list[int]) -> Rounds:
    """The plain loop: gather the inputs of the round, then all dirty vertices commit, then all consumers gather."""
    program: SampleProgram = setting.program()
    edges: dict[tuple[int, int], list[object]] = {}
    committed: dict[int, tuple[int, object]] = {}
    rounds: Rounds = {}
    dirty: set[int] = set()
    inputs = list(zip(admissions, setting.script, strict=True))
    iteration = 0
    while inputs or dirty:
        while inputs and inputs[0][0] == iteration:
            _, change = inputs.pop(0)
            match change:
                case Touch(vertex=vertex, data=data):
                    dirty |= {vertex} if program.touch(vertex, data) else set()
                case AddEdge(producer=producer, consumer=consumer, data=data):
                    edges.setdefault((producer, consumer), []).append(data)
                    since, value = committed.get(producer, (-1, None))
                    matters = program.gather(consumer, producer, value, since, edges[producer, consumer])
                    dirty |= {consumer} if matters else set()
                case RemoveEdge(producer=producer, consumer=consumer, data=data):
                    there = edges.get((producer, consumer), [])
                    if there and (data is None or data in there):
                        gone = there.pop(0 if data is None else there.index(data))
                        dirty |= {consumer} if program.drop(consumer, producer, gone, there) else set()
                        if not there:
                            del edges[producer, consumer]
        values = {vertex: program.scatter(vertex) for vertex in sorted(dirty)}
        if values:
            rounds[iteration] = values
        dirty = set()
        for vertex, value in values.items():
            committed[vertex] = (iteration, value)
        for (producer, consumer), data in edges.items():
            if producer in values and program.gather(consumer, producer, values[producer], iteration, data):
                dirty.add(consumer)
        iteration += 1
    return rounds


def by_iteration(run: Run) -> Rounds:
    rounds: Rounds = {}
    for commit in run.trace:
        rounds.setdefault(commit.iteration, {})[commit.vertex] = commit.value
    return rounds


@pytest.mark.parametrize("workers", [None, 1, 3])
@pytest.mark.parametrize("lag", [False, True])
def test_counting_with_edges_that_come_and_go_equals_the_plain_loop(workers: int | None, lag: bool) -> None:
    for seed in range(100):
        rng = random.Random(seed)
        script = random_script(rng, vertices=rng.randint(2, 8), changes=rng.randint(1, 25), removals=True)
        setting = Setting(script, 1, lambda: CountProgram(4, 1_000_003), workers=workers, lag=lag)
        run = simulate(setting, seed)
        assert by_iteration(run) == synchronous(setting, run.admissions), f"seed {seed}: {setting}"


def test_shortest_paths_equal_the_plain_loop() -> None:
    for seed in range(200):
        rng = random.Random(seed)
        script = random_script(rng, vertices=rng.randint(2, 12), changes=rng.randint(1, 40), removals=False)
        setting = Setting(script, 1, MinPlusProgram, workers=rng.choice([None, 2]), lag=seed % 2 == 0)
        run = simulate(setting, seed)
        assert by_iteration(run) == synchronous(setting, run.admissions), f"seed {seed}: {setting}"


def test_a_path_takes_one_iteration_for_each_edge() -> None:
    edges = tuple(AddEdge(vertex, vertex + 1, 1.0) for vertex in range(5))
    run = simulate(Setting((Touch(0, 0.0),), 1, MinPlusProgram, established=edges), 0)
    assert by_iteration(run) == {vertex: {vertex: float(vertex)} for vertex in range(6)}
