"""Loops of core numbers on any number of workers against networkx: main loops and branches, under any schedule, by waves alone too."""

from random import Random

import numpy as np
import pytest

import tornado
from apps.connected_components import ConnectedComponents
from apps.core_number import CoreNumber
from apps.sssp import ShortestPaths
from tests.kinds import conformance
from tests.kinds.conformance import WAIT_S
from tests.kinds.rounds.changes import batch_of, changes
from tests.kinds.samples import SAMPLES
from tornado.engine import SimulationEngine
from tornado.errors import InvalidArgument, StoreCorrupt
from tornado.kinds.cores import branch_processor, coordinator, main_processor, processor
from tornado.kinds.cores import loop_columns as names
from tornado.loops import BranchState, Master, stream_part
from tornado.records.edge_batch import EdgeBatch
from tornado.records.operations import INSERT, REMOVE
from tornado.storage import MemoryStore

SAMPLE = SAMPLES["cores"]
BOUNDS = [1, 2, 64, None]


class Fed(conformance.Fed):
    """See there; of streams that go both ways, with parallel edges and loops."""

    def __init__(self, master, delay_bound=64, name=None, *, is_undirected=False):
        super().__init__(SAMPLE, master, name, delay_bound=delay_bound, is_undirected=is_undirected)
        self.is_undirected = is_undirected

    def admit(self, batch):
        super().admit(mirrored(batch) if self.is_undirected else batch)


def mirrored(batch):
    """Each edge in both directions, as an undirected stream has it."""
    there, back = (batch.src, batch.dst), (batch.dst, batch.src)
    ends = [np.stack(pair, axis=1).ravel() for pair in zip(there, back, strict=True)]
    return EdgeBatch(*ends, np.repeat(batch.weight, 2), np.repeat(batch.op, 2))


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
        fed, forked = Fed(master, random.choice(BOUNDS), is_undirected=seed % 3 == 0), []
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


def test_one_program_beside_others_on_a_stream_that_runs():
    with Master(workers=2) as master:
        fed, forked = Fed(master, name="cores"), []
        for number, batch in enumerate(changes(3, batches=30, size=20)):
            fed.admit(batch)
            if number == 8:
                beside = master.start(CoreNumber(most=2), "beside", stream="cores")
            if number == 15:
                components = master.start(ConnectedComponents(), "components", stream="cores")
            if number > 8:
                forked += [fed.fork(), (beside.fork(), fed.version, {"most": 2})]
        for one in forked:
            fed.check_branch(*one)
        fed.check_main()
        master.remove("cores")
        master.remove(components.name)
        fed.loop = beside
        fed.admit(batch_of([(1, 5, 1.0, INSERT), (2, 3, 1.0, REMOVE)]))
        fed.check_branch(beside.fork(), fed.version, {"most": 2})


@pytest.mark.parametrize("is_undirected", [False, True])
def test_a_loop_joins_a_stream_that_has_no_reverse_lists(is_undirected):
    with Master(workers=3) as master:
        paths = master.start(ShortestPaths(source=0), "paths", is_undirected=is_undirected)
        fed = Fed.__new__(Fed)
        fed.__dict__ |= {
            "sample": SAMPLE, "loop": paths, "prefix": conformance.Prefix(), "version": 0,
            "versions": {0: conformance.Prefix()}, "offset": 0, "is_undirected": is_undirected,
        }  # fmt: skip
        stream = changes(5, batches=14, size=15)
        for batch in stream[:7]:
            fed.admit(batch)
        fed.loop = master.start(CoreNumber(), "cores", stream="paths")
        fed.check_branch(*fed.fork())
        for batch in stream[7:]:
            fed.admit(batch)
            fed.check_branch(*fed.fork())
        fed.check_main()


@pytest.mark.parametrize("workers", [1, 3])
def test_a_loop_goes_on_from_what_is_stored_and_raises_nobody_for_it(workers):
    store, batches = MemoryStore(), changes(9, batches=20)
    with Master(store, 2) as master:
        fed = Fed(master, name="judged")
        for batch in batches[:12]:
            fed.admit(batch)
        stored = fed.loop.checkpoint()
    with Master(store, workers) as master:
        fed.loop = master.start(CoreNumber(), "judged")
        assert fed.loop.restored.is_converged
        assert (fed.loop.statistics().pending, visits_of(fed.loop.parts())) == (0, 0)
        fed.check_main(missing=False)
        for batch in batches[12:]:
            fed.admit(batch)
        fed.check_main(missing=False)
        fed.check_branch(fed.loop.fork(at=stored), stored, None)
    with Master(store, workers) as master:
        fed.loop = master.start(CoreNumber(most=2), "judged")
        assert not fed.loop.restored.is_converged
        assert fed.loop.wait_idle(WAIT_S)
        expected = SAMPLE.expected(fed.versions[stored], {"most": 2})
        assert conformance.values_of(fed.loop.approximation()) == expected


def clique(members):
    return [(one, other, 1.0, INSERT) for one in members for other in members if one < other]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_change_costs_what_is_near_it_and_a_branch_behind_it_no_more(workers):
    groups = [range(first, first + 6) for first in range(0, 6000, 6)]
    rows = [row for members in groups for row in clique(members)]
    rows += [(first + side, 10_000 + first, 1.0, INSERT) for first in range(0, 5994, 6) for side in (0, 6)]
    with Master(workers=workers) as master:
        fed = Fed(master)
        fed.admit(batch_of(rows))
        fed.check_main()
        before = visits_of(fed.loop.parts())
        assert before >= 2 * len(rows)
        joins = [(member, 9999, 1.0, INSERT) for member in range(600, 606)]  # who is next to a whole group
        for change in (joins, [(600, 601, 1.0, REMOVE)]):
            before = visits_of(fed.loop.parts())
            fed.admit(batch_of(change))
            branch = fed.fork()
            fed.check_main()
            near = 200 * 6 * 6
            assert visits_of(fed.loop.parts()) - before <= near
            assert branch[0].wait(WAIT_S)
            assert visits_of(branch[0].processors) <= near
            fed.check_branch(*branch)


def test_an_edge_that_raises_many_levels_at_once_is_as_exact(waves_alone):
    with Master(workers=2) as master:
        fed = Fed(master)
        fed.admit(batch_of([(vertex, vertex + 1, 1.0, INSERT) for vertex in range(30)]))
        fed.check_main()
        fed.admit(batch_of(clique(range(5, 25))))
        branch = fed.fork()
        fed.check_main()
        fed.check_branch(*branch)


def test_waves_that_would_cost_more_than_raising_all_are_given_up():
    with Master(None, 2, SimulationEngine(2, seed=1)) as master:
        fed = Fed(master)
        fed.admit(batch_of([(vertex, vertex + 1, 1.0, INSERT) for vertex in range(5000)]))
        fed.check_main()
        edges, before = fed.prefix.count(), visits_of(fed.loop.parts())
        fed.admit(batch_of(clique(range(0, 4900, 100))))  # 49 of them, so the 48-core: as many waves
        fed.check_main()
        assert visits_of(fed.loop.parts()) - before < 60 * (edges + 49 * 48)


def test_columns_of_a_branch_that_was_given_up_in_a_hub_are_used_again(monkeypatch):
    for module in (processor, main_processor, branch_processor):
        monkeypatch.setattr(module, "FUEL", 50)
    rim = [(leaf, leaf + 1, 1.0, INSERT) for leaf in range(1, 2999)]
    with Master(None, 1, SimulationEngine(1, seed=5)) as master:
        fed = Fed(master)
        fed.admit(batch_of([(leaf, 0, 1.0, INSERT) for leaf in range(1, 3000)] + rim))
        fed.check_main()
        for _ in range(3):
            given_up = fed.loop.fork({"most": 3000})
            assert given_up.wait_cut(WAIT_S)
            [part] = fed.loop.parts()[0].branches
            counters = part.state.counters
            while counters[names.CURSOR_KIND] != names.SCAN_LOWER or counters[names.CURSOR_POSITION] < 500:
                assert not given_up.wait(0.0)
                master.engine.step()
            given_up.cancel()
            assert given_up.wait(WAIT_S)
            given_up.release()
            master.engine.step(20)  # so that its columns are back
            # It has the columns of the one that was given up, and what stood in them would be counted as well.
            fed.check_branch(*fed.fork({"most": 2000}))


def test_a_stopped_branch_says_that_its_numbers_are_upper_bounds_where_nobody_may_have_to_rise(monkeypatch):
    conformance.what_ends_early_is_worth_what_its_certificate_says(SAMPLE, conformance.Place(2))
    beyond = {"upper": 0, None: 0}
    for seed in range(40):
        random = Random(seed)
        workers = random.choice([1, 2, 3])
        monkeypatch.setattr(
            coordinator, "_MARKED_SHARE", random.choice([0, 8])
        )  # by waves alone, or as usual
        for module in (processor, main_processor, branch_processor):
            monkeypatch.setattr(module, "FUEL", random.choice([2, 30, 1 << 15]))
        with Master(None, workers, SimulationEngine(workers, seed=seed)) as master:
            fed, forked = Fed(master, random.choice(BOUNDS)), []
            fed.admit(batch_of(clique(range(9)) + clique(range(20, 24))))
            fed.check_main()
            for batch in changes(seed, batches=8, size=5, ids=range(9)):
                fed.admit(batch)
                master.engine.step(random.randrange(40))
                parameters = random.choice([None, None, {"most": 3}])
                forked.append(fed.fork(parameters, max_iterations=random.randrange(3)))
                if random.random() < 0.5:  # stopped anywhere, and not only between iterations
                    forked.append(fed.fork(parameters))
                    master.engine.step(random.randrange(60))
                    forked[-1][0].stop()
            for branch, version, parameters in forked:
                assert branch.wait(WAIT_S)
                found = conformance.values_of(branch.values())
                exact = SAMPLE.expected(fed.versions[version], parameters)
                if branch.state is BranchState.STOPPED:
                    SAMPLE.check_stopped(found, branch.certificate, exact, SAMPLE.program)
                    side = branch.certificate.get("side")
                    off = [value - exact[vertex] for vertex, value in found.items()]
                    beyond[side] += max(off) > 0 if side else min(off) < 0
                branch.release()
    assert min(beyond.values()) >= 5, beyond  # what is said, and what is left unsaid, has a reason


@pytest.mark.parametrize("engine", ["threads", "processes"])
def test_where_edges_only_went_what_was_stopped_is_an_upper_bound(engine):
    with tornado.open("memory:", workers=2, engine=engine) as session:
        cores = session.start(CoreNumber())
        ends = list(zip(*[(one, other) for one in range(40) for other in range(one)], strict=True))
        cores.insert(*ends)
        assert cores.wait_idle(WAIT_S)
        cores.remove([1], [0])
        exact = cores.query().values

        def stopped(parameters):
            branch = cores.loop.fork(parameters, max_iterations=0)
            assert branch.wait(WAIT_S)
            return branch.certificate, conformance.values_of(branch.values())

        certificate, found = stopped({})
        assert certificate in ({"kind": "exact"}, {"kind": "none", "side": "upper"})
        assert all(exact[vertex] <= value for vertex, value in found.items())
        certificate, found = stopped({"most": 50})
        assert certificate == {"kind": "none"}  # nobody has risen
        assert any(value < exact[vertex] for vertex, value in found.items())


@pytest.mark.parametrize("most", [-1, 2**31 - 1, 2**63, 1.0, True])
def test_a_greatest_number_that_is_none_is_refused(most):
    with Master() as master, pytest.raises(InvalidArgument, match=r"CoreNumber\.most is .* but must be"):
        master.start(CoreNumber(most=most), "refused")


def test_a_stored_number_that_is_none_is_refused():
    with Master() as master:
        [part] = master.start(CoreNumber(), "cores").parts()
        for values in (np.array([-1]), np.array([2**40]), np.array([1.0]), np.array([[1]])):
            with pytest.raises(StoreCorrupt, match="a stored snapshot"):
                part.place(np.array([7]), {"values": values})
