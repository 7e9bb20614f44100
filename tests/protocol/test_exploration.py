"""Every interleaving of small graphs: no deadlock, no livelock, the three rules and the delay bound."""

from itertools import product

import pytest

from tests.shortened import shortened
from tornado.errors import InvalidArgument
from tornado.protocol.exploration import Exploration, explore
from tornado.protocol.messages import AddEdge, Change, RemoveEdge, Touch
from tornado.protocol.sample_programs import CountProgram, MinPlusProgram
from tornado.protocol.world import Setting

BOUNDS = [1, 2, None]
PAIRS = [(producer, consumer) for producer, consumer in product(range(3), repeat=2) if producer != consumer]


def added(*edges: tuple[int, ...]) -> tuple[AddEdge, ...]:
    return tuple(AddEdge(*edge) for edge in edges)


def touched(*vertices: int) -> tuple[Touch, ...]:
    return tuple(Touch(vertex) for vertex in vertices)


def total(explorations: list[Exploration]) -> Exploration:
    seen = Exploration(
        sum(each.states for each in explorations),
        sum(each.transitions for each in explorations),
        sum(each.endings for each in explorations),
    )
    print(seen)
    return seen


@pytest.mark.parametrize("count", shortened(range(7), 5))
@pytest.mark.parametrize("delay_bound", BOUNDS)
def test_all_digraphs_of_three_vertices_with_all_of_them_dirty(count: int, delay_bound: int | None) -> None:
    explorations = []
    for subset in product([False, True], repeat=len(PAIRS)):
        if sum(subset) == count:
            edges = [pair for pair, chosen in zip(PAIRS, subset, strict=True) if chosen]
            established = (*added(*edges), *touched(0, 1, 2))
            explorations.append(explore(Setting((), delay_bound, CountProgram, established=established)))
    assert total(explorations).endings >= len(explorations)


@pytest.mark.parametrize("delay_bound", BOUNDS)
def test_all_digraphs_of_two_vertices_with_loops_that_commit_twice_while_inputs_come(
    delay_bound: int | None,
) -> None:
    explorations = []
    for subset in product([False, True], repeat=4):
        edges = [edge for edge, chosen in zip(product(range(2), repeat=2), subset, strict=True) if chosen]
        setting = Setting(touched(0, 1), delay_bound, lambda: CountProgram(2), established=added(*edges))
        explorations.append(explore(setting))
    assert total(explorations).endings >= len(explorations)


RUNNING: dict[str, tuple[tuple[Change, ...], tuple[Change, ...]]] = {
    "edges come while both ends prepare": (touched(0, 1), added((0, 1), (1, 0))),
    "an edge comes into a cycle": (added((0, 1), (1, 0)), (*touched(0), AddEdge(2, 0), *touched(2))),
    "an edge goes while its producer prepares": (
        added((0, 1), (1, 0)),
        (*touched(0), RemoveEdge(0, 1), *touched(1)),
    ),
    "an edge goes and comes back": (added((0, 1)), (*touched(0), RemoveEdge(0, 1), AddEdge(0, 1))),
    "parallel edges": (
        added((0, 1), (0, 1), (1, 0)),
        (*touched(0), RemoveEdge(0, 1), AddEdge(0, 1), *touched(1)),
    ),
    "an edge that is not there": (added((0, 1)), (RemoveEdge(1, 0), *touched(0, 1))),
    "a self-loop comes and goes": (added((0, 1)), (*touched(0), AddEdge(0, 0), RemoveEdge(0, 0))),
}


@pytest.mark.parametrize("delay_bound", BOUNDS)
@pytest.mark.parametrize("case", RUNNING)
def test_graphs_that_change_while_they_run(case: str, delay_bound: int | None) -> None:
    established, script = RUNNING[case]
    total([explore(Setting(script, delay_bound, CountProgram, established=established))])


@pytest.mark.parametrize("delay_bound", [1, 2])
@pytest.mark.parametrize(
    "case", ["edges come while both ends prepare", "an edge goes while its producer prepares"]
)
def test_workers_that_learn_of_tau_late(case: str, delay_bound: int) -> None:
    established, script = RUNNING[case]
    total([explore(Setting(script, delay_bound, CountProgram, established=established, lag=True))])


FOUR: dict[str, tuple[tuple[int, int], ...]] = {
    "path": ((0, 1), (1, 2), (2, 3)),
    "cycle": ((0, 1), (1, 2), (2, 3), (3, 0)),
    "cycle with loops": ((0, 1), (1, 2), (2, 3), (3, 0), (0, 0), (2, 2)),
    "star out of 0": ((0, 1), (0, 2), (0, 3)),
    "star into 0": ((1, 0), (2, 0), (3, 0)),
    "diamond": ((0, 1), (0, 2), (1, 3), (2, 3)),
    "diamond with a way back": ((0, 1), (0, 2), (1, 3), (2, 3), (3, 0)),
    "two pairs with a bridge": ((0, 1), (1, 0), (2, 3), (3, 2), (1, 2)),
}


@pytest.mark.parametrize("delay_bound", BOUNDS)
@pytest.mark.parametrize("name", FOUR)
def test_graphs_of_four_vertices_with_two_updates(name: str, delay_bound: int | None) -> None:
    established = (*added(*FOUR[name]), *touched(0, 2))
    total([explore(Setting((), delay_bound, CountProgram, established=established))])


@pytest.mark.parametrize("delay_bound", BOUNDS)
def test_workers_of_two_vertices_whose_ghosts_have_several_consumers(delay_bound: int | None) -> None:
    established = (*added((0, 1), (0, 3), (1, 2), (3, 0), (1, 3)), *touched(0, 1))
    total([explore(Setting(touched(3), delay_bound, CountProgram, workers=2, established=established))])


@pytest.mark.parametrize("delay_bound", BOUNDS)
def test_an_edge_from_a_prepared_producer_to_a_new_consumer_of_the_worker_waits(
    delay_bound: int | None,
) -> None:
    # Vertex 3 may have committed later than vertex 1, for which its worker acknowledged 0.
    established = added((0, 1), (3, 2), (2, 3))
    script = (*touched(3, 0), AddEdge(0, 3))
    total(
        [explore(Setting(script, delay_bound, lambda: CountProgram(2), workers=2, established=established))]
    )


@pytest.mark.parametrize("delay_bound", BOUNDS)
def test_shortest_paths_are_the_same_under_every_schedule(delay_bound: int | None) -> None:
    edges = added((0, 1, 5.0), (0, 2, 1.0), (2, 1, 1.0), (1, 0, 0.0))
    total([explore(Setting((Touch(0, 0.0), *edges[2:]), delay_bound, MinPlusProgram, established=edges[:2]))])


@pytest.mark.soak
@pytest.mark.parametrize("delay_bound", BOUNDS)
@pytest.mark.parametrize("count", range(7))
def test_all_digraphs_of_three_vertices_with_inputs_at_any_time(count: int, delay_bound: int | None) -> None:
    explorations = []
    for subset in product([False, True], repeat=len(PAIRS)):
        if sum(subset) == count:
            edges = [pair for pair, chosen in zip(PAIRS, subset, strict=True) if chosen]
            setting = Setting(touched(0, 1, 2), delay_bound, CountProgram, established=added(*edges))
            explorations.append(explore(setting))
    assert total(explorations).endings >= len(explorations)


def test_a_setting_with_more_states_than_allowed_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="max_states = 5"):
        explore(Setting(touched(0, 1), None, CountProgram, established=added((0, 1))), max_states=5)
