"""Loops of core numbers on any number of workers against networkx: main loops and branches, under any schedule, by waves alone too."""

from random import Random

import numpy as np
import pytest

from apps.connected_components import ConnectedComponents
from apps.core_number import CoreNumber
from tests.kinds import conformance
from tests.kinds.conformance import WAIT_S
from tests.kinds.rounds.changes import batch_of, changes
from tests.kinds.samples import SAMPLES
from tornado.engine import SimulationEngine
from tornado.errors import InvalidArgument
from tornado.kinds.cores import branch_processor, coordinator, main_processor, processor
from tornado.kinds.cores import loop_columns as names
from tornado.loops import BranchState, Master, stream_part
from tornado.records.operations import INSERT, REMOVE
from tornado.storage import MemoryStore

SAMPLE = SAMPLES["cores"]
BOUNDS = [1, 2, 64, None]


class Fed(conformance.Fed):
    """See there; of streams that go both ways, with parallel edges and loops."""

    def __init__(self, master, delay_bound=64, **options):
        super().__init__(SAMPLE, master, delay_bound=delay_bound, **options)


@pytest.fixture
def waves_alone(monkeypatch):
    """However many are marked."""
    monkeypatch.setattr(coordinator, "_MARKED_SHARE", 0)
    monkeypatch.setattr(coordinator, "_MOST_VISITS", 1 << 40)


def visits_of(parts):
    return sum(int(part.state.counters[names.EDGES_VISITED]) for part in parts)


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("delay_bound", BOUNDS)
def test_branches_are_exact_at_their_prefix_and_the_main_loop_at_rest(workers, delay_bound):
    with Master(workers=workers) as master:
        fed, forked = Fed(master, delay_bound), []
        for number, batch in enumerate(changes(workers, batches=25)):
            fed.admit(batch)
            forked += [fed.fork(), fed.fork({"most": 1 + number % 4})]
        for one in forked:
            fed.check_branch(*one)
        fed.check_main()


def under_a_schedule(seed, monkeypatch, *, ids, size):
    random = Random(seed)
    fuel = random.choice([2, 9, 60, 1 << 15])
    for module in (processor, main_processor, branch_processor):
        monkeypatch.setattr(module, "FUEL", fuel)
    monkeypatch.setattr(stream_part, "_RECORDS_ALONE", random.choice([1, 3, 1 << 13]))
    workers = random.choice([1, 2, 3, 4])
    with Master(None, workers, SimulationEngine(workers, seed=seed)) as master:
        fed, forked = Fed(master, random.choice(BOUNDS), undirected=seed % 3 == 0), []
        for batch in changes(seed, batches=12, size=size, ids=ids):
            fed.admit(batch)
            master.engine.step(random.randrange(80))
            if random.random() < 0.7:
                forked.append(fed.fork())
            master.engine.step(random.randrange(80))
            if random.random() < 0.2:
                fed.check_main()
        for one in forked:
            fed.check_branch(*one)
        fed.check_main()


@pytest.mark.parametrize("seed", range(30))
def test_so_it_is_under_any_schedule_with_little_fuel(seed, monkeypatch):
    under_a_schedule(seed, monkeypatch, ids=range(12), size=6)


@pytest.mark.parametrize("seed", range(60))
def test_so_it_is_where_numbers_rise_by_waves_alone(seed, monkeypatch, waves_alone):
    under_a_schedule(seed, monkeypatch, ids=range(Random(seed).choice([7, 12, 20])), size=5)
