"""Loops of rounds on any number of workers against the naive twin: every cell of main loops and branches, under any schedule."""

from random import Random

import numpy as np
import pytest

from apps.connected_components import ConnectedComponents
from apps.label_propagation import LabelPropagation
from apps.sssp import ShortestPaths
from tests.kinds import conformance
from tests.kinds.conformance import WAIT_S, Prefix, values_of
from tests.kinds.rounds.changes import batch_of, changes
from tests.kinds.rounds.naive import labels_after, neighbours, propagated, propagated_by_arrays
from tests.kinds.rounds.programs import Colours, Downstream
from tests.kinds.samples import SAMPLES
from tests.shortened import shortened
from tornado.engine import SimulationEngine
from tornado.errors import InvalidArgument, TornadoError
from tornado.kinds.rounds import branch_processor, main_processor, processor
from tornado.kinds.rounds import loop_columns as names
from tornado.loops import BranchState, Master, stream_part
from tornado.records.edge_batch import EdgeBatch
from tornado.records.operations import INSERT, REMOVE
from tornado.storage import MemoryStore
from tornado.testing import rmat


class Fed:
    """A loop that is fed, and what is right after each version at each round."""

    def __init__(self, master, program, name="judged"):
        self.program, self.prefix, self.offset = program, Prefix(), 0
        self.loop = master.start(program, name)
        self.expected = {0: [{}] * (program.rounds + 1)}

    def admit(self, batch):
        self.offset += len(batch)
        version = self.loop.admit(batch, "records", self.offset)
        self.prefix.apply(batch)
        program, prefix = self.program, self.prefix
        heard = neighbours(prefix.edges, prefix.vertices, both_ways=program.both_ways)
        first = {vertex: program.initial(vertex, *program.arguments()) for vertex in prefix.vertices}
        self.expected[version] = labels_after(heard, first, program.rounds)

    def check_branch(self, branch):
        assert branch.wait(WAIT_S)
        assert branch.state is BranchState.CONVERGED, branch.error
        expected = self.expected[branch.snapshot.version]
        assert values_of(branch.values()) == expected[-1]
        check_cells(branch.processors, expected)
        branch.release()

    def check_main(self):
        assert self.loop.wait_idle(WAIT_S)
        expected = self.expected[max(self.expected)]
        assert values_of(self.loop.approximation()) == expected[-1]
        check_cells(self.loop.parts(), expected)


def check_cells(parts, expected):
    """Own vertices have what follows at every round, and ghosts what their owners have at all that are heard."""
    seen = 0
    for part in parts:
        state, graph = part.state, part.graph
        for row in range(state.rows_seen):
            vertex, flags = int(graph.columns.ids[row]), int(state.columns.flags[row])
            if vertex not in expected[0]:  # named after the branch was forked, or by a subscription alone
                continue
            last = len(expected) if flags & names.OWN else len(expected) - 1
            if flags & (names.OWN | names.SUBSCRIBED):
                found = [int(state.of_round(number)[row]) for number in range(last)]
                assert found == [expected[number][vertex] for number in range(last)], vertex
            seen += bool(flags & names.OWN)
    assert seen == len(expected[0])


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize(
    "program", [LabelPropagation(rounds=10), Downstream(rounds=4, colours=3), Colours(rounds=1, colours=4)]
)
def test_every_cell_is_exact_in_branches_and_at_rest(program, workers):
    with Master(workers=workers) as master:
        fed, forked = Fed(master, program), []
        for batch in changes(workers, batches=25):
            fed.admit(batch)
            forked.append(fed.loop.fork())
        for branch in forked:
            fed.check_branch(branch)
        fed.check_main()


@pytest.mark.parametrize("seed", shortened(range(24), 8))
def test_so_it_is_under_any_schedule_with_little_fuel(seed, monkeypatch):
    random = Random(seed)
    fuel = random.choice([2, 9, 60, 1 << 15])
    for module in (processor, main_processor, branch_processor):
        monkeypatch.setattr(module, "FUEL", fuel)
    if seed % 3 == 0:  # records wait for what is dirty
        monkeypatch.setattr(main_processor, "_PENDING_LIMIT", 1)
    workers = random.choice([2, 3, 4])
    program = random.choice([LabelPropagation(rounds=random.randint(1, 5)), Downstream(rounds=3, colours=3)])
    with Master(None, workers, SimulationEngine(workers, seed=seed)) as master:
        fed, forked = Fed(master, program), []
        for batch in changes(seed, batches=10, size=6, ids=range(8)):
            fed.admit(batch)
            master.engine.step(random.randrange(60))
            if random.random() < 0.7:
                forked.append(fed.loop.fork())
            master.engine.step(random.randrange(60))
        for branch in forked:
            fed.check_branch(branch)
        fed.check_main()


@pytest.mark.parametrize("seed", range(4))
def test_a_round_waits_for_the_one_before_it_on_all_workers_so_no_cell_changes_twice(seed):
    program, other = Colours(rounds=6, colours=7), {"colours": 3}
    with Master(None, 3, SimulationEngine(3, seed=seed)) as master:
        fed = Fed(master, program)
        for batch in changes(seed, batches=8, size=40, ids=range(60)):
            fed.admit(batch)
        fed.check_main()
        branch = fed.loop.fork(other)
        assert branch.wait(WAIT_S)
        heard = neighbours(fed.prefix.edges, fed.prefix.vertices, both_ways=True)
        first = {vertex: program.initial(vertex, 3) for vertex in fed.prefix.vertices}
        after = labels_after(heard, first, program.rounds)
        changed = sum(found[vertex] != first[vertex] for found in after for vertex in first)
        assert branch.progress().updates == changed > 60
        assert branch.progress().iteration == program.rounds - 1


def cells_computed(loop):
    return sum(int(part.state.counters[names.EDGES_VISITED]) for part in loop.parts())


@pytest.mark.parametrize("workers", [1, 2])
def test_a_removal_costs_what_is_near_it_and_a_branch_behind_it_no_more(workers):
    vertices, rounds = 6000, 10
    ring = batch_of([(n, (n + 1) % vertices, 1.0, INSERT) for n in range(vertices)])
    with Master(workers=workers) as master:
        fed = Fed(master, LabelPropagation(rounds=rounds))
        fed.admit(ring)
        fed.check_main()
        before = cells_computed(fed.loop)
        assert before >= vertices * rounds
        fed.admit(batch_of([(700, 701, 1.0, REMOVE)]))
        branch = fed.loop.fork()
        fed.check_main()
        near = 2 * rounds * rounds * 4
        assert cells_computed(fed.loop) - before <= 2 * near  # a late update may have a cell computed again
        assert branch.wait(WAIT_S)
        assert cells_computed_of(branch) <= 2 * near
        fed.check_branch(branch)


def cells_computed_of(branch):
    return sum(int(part.state.counters[names.EDGES_VISITED]) for part in branch.processors)


def test_reading_a_graph_in_costs_so_much_an_edge_however_often_much_of_it_is_dirty(monkeypatch):
    monkeypatch.setattr(main_processor, "_PENDING_LIMIT", 64)
    monkeypatch.setattr(stream_part, "_RECORDS_ALONE", 256)
    monkeypatch.setattr(main_processor, "FUEL", 1024)
    records = rmat(11, seed=4).records()
    rounds, batch = 10, 1 << 10
    with Master(None, 1, SimulationEngine(1, seed=1)) as master:
        loop = master.start(LabelPropagation(rounds=rounds), "labels")
        for first in range(0, len(records), batch):
            loop.admit(records.slice(first, first + batch), "records", first + 1)
        assert loop.wait_idle(WAIT_S)
        # Each end is heard and spread in each round once all is there; what was computed before is paid for by records, or was
        # done beside them: in each step, and in those in which no records were left.
        once = rounds * 4
        beside = main_processor._VISITS_A_RECORD + 1024 // 256
        assert once // 2 * len(records) < cells_computed(loop) <= (2 * once + 2 * beside) * len(records)


def test_a_round_may_say_more_than_is_sent_at_once():
    vertices, rounds = 150_000, 3
    ids = np.arange(vertices)
    with Master(workers=2) as master:
        loop = master.start(LabelPropagation(rounds=rounds), "ring")
        # In an order in which hardly any vertex can be done with before all edges are there.
        for first in (0, 1, 2):
            src = ids[first::3]
            loop.admit(EdgeBatch.of(src, (src + 1) % vertices), "records", first + 1)
        assert loop.wait_idle(WAIT_S)
        found, labels = loop.approximation().arrays()
        assert np.array_equal(found, ids)
        assert np.array_equal(labels, propagated_by_arrays(ids, (ids + 1) % vertices, ids, rounds))


def test_one_program_beside_others_on_a_stream_that_runs():
    with Master(workers=2) as master:
        first = master.start(ShortestPaths(source=0), "paths")
        prefix, offset = Prefix(), 0
        stream = changes(3, batches=30, size=20)
        beside = {}
        for number, batch in enumerate(stream):
            offset += len(batch)
            first.admit(batch, "records", offset)
            prefix.apply(batch)
            if number == 8:
                beside[7] = master.start(LabelPropagation(rounds=7), "seven", stream="paths")
            if number == 15:
                beside[2] = master.start(LabelPropagation(rounds=2), "two", stream="paths")
                components = master.start(ConnectedComponents(), "components", stream="paths")
        for rounds, loop in beside.items():
            expected = propagated(prefix.edges, prefix.vertices, rounds)
            branch = loop.fork()
            assert branch.wait(WAIT_S)
            assert values_of(branch.values()) == expected
            branch.release()
            assert loop.wait_idle(WAIT_S)
            assert values_of(loop.approximation()) == expected
        master.remove("paths")
        master.remove("components")
        assert components.name not in master.loops
        batch = batch_of([(1, 5, 1.0, INSERT), (2, 3, 1.0, REMOVE)])
        beside[7].admit(batch, "records", offset + 2)
        prefix.apply(batch)
        branch = beside[7].fork()
        assert branch.wait(WAIT_S)
        assert values_of(branch.values()) == propagated(prefix.edges, prefix.vertices, 7)


@pytest.mark.parametrize("workers", [1, 3])
def test_a_loop_goes_on_from_what_is_stored_and_computes_nothing_for_it(workers):
    store, program, batches = MemoryStore(), LabelPropagation(rounds=6), changes(9, batches=20)
    with Master(store, 2) as master:
        fed = Fed(master, program)
        for batch in batches[:12]:
            fed.admit(batch)
        stored = fed.loop.checkpoint()
    with Master(store, workers) as master:
        again = Fed.__new__(Fed)
        again.__dict__ |= fed.__dict__
        again.loop = master.start(program, "judged")
        assert again.loop.restored.is_converged
        assert (again.loop.statistics().pending, cells_computed(again.loop)) == (0, 0)
        again.check_main()
        for batch in batches[12:]:
            again.admit(batch)
        again.check_main()
        branch = again.loop.fork(at=stored)
        assert values_of(branch.values()) == again.expected[stored][-1]
    with Master(store, workers) as master:
        other = master.start(LabelPropagation(rounds=5), "judged")
        assert not other.restored.is_converged
        assert other.wait_idle(WAIT_S)
        assert values_of(other.approximation()) == fed.expected[stored][5]


def test_another_kind_of_bound_is_refused_only_where_it_was_named():
    with Master() as master:
        for bound in (2, 64, None):
            with pytest.raises(InvalidArgument, match=r"is not possible for LabelPropagation.*1 only"):
                master.start(LabelPropagation(), "refused", bound)
        assert master.start(LabelPropagation(), "usual").delay_bound == 1
        assert master.start(LabelPropagation(), "named", 1).delay_bound == 1
        assert master.start(ShortestPaths(source=0), "paths").delay_bound is None


@pytest.mark.parametrize("rounds", [0, -1, 1001, 2**63, 1.0, True])
def test_a_number_of_rounds_that_is_none_is_refused(rounds):
    with (
        Master() as master,
        pytest.raises(InvalidArgument, match=r"LabelPropagation\.rounds is .* but must be"),
    ):
        master.start(LabelPropagation(rounds=rounds), "refused")


def test_a_thousand_rounds_have_room():
    program = LabelPropagation(rounds=1000)
    with Master(workers=2) as master:
        fed = Fed(master, program)
        for batch in changes(1, batches=3):
            fed.admit(batch)
            fed.check_branch(fed.loop.fork())
        fed.check_main()


def test_the_number_of_rounds_is_fixed_where_a_loop_is_started():
    with Master() as master:
        loop = master.start(LabelPropagation(rounds=3), "labels")
        for rounds in (3, 4):
            with pytest.raises(InvalidArgument, match=r"'rounds' of LabelPropagation is fixed .* at 3"):
                loop.fork({"rounds": rounds})


def test_a_stopped_branch_says_that_it_is_worth_nothing_known():
    sample = SAMPLES["rounds"]
    assert sample.program.stopped_side is None
    conformance.what_ends_early_is_worth_what_its_certificate_says(sample, conformance.Place(2))


def test_columns_of_a_branch_that_was_given_up_in_a_hub_are_used_again(monkeypatch):
    for module in (processor, main_processor, branch_processor):
        monkeypatch.setattr(module, "FUEL", 50)
    star = batch_of([(leaf, 0, 1.0, INSERT) for leaf in range(1, 3000)])
    with Master(None, 1, SimulationEngine(1, seed=5)) as master:
        program = Colours(rounds=3, colours=3)
        fed = Fed(master, program)
        fed.admit(star)
        fed.check_main()
        for _ in range(3):
            branch = fed.loop.fork({"colours": 2})
            assert branch.wait_cut(WAIT_S)
            [part] = fed.loop.parts()[0].branches
            counters = part.state.counters
            while counters[names.CURSOR_KIND] != names.SCAN_GATHER or counters[names.CURSOR_POSITION] < 500:
                assert not branch.wait(0.0)
                master.engine.step()
            branch.cancel()
            assert branch.wait(WAIT_S)
            branch.release()
            master.engine.step(20)  # so that its columns are back
            # It has the columns of the one that was given up, and what stood in them would be counted as well.
            again = fed.loop.fork({"colours": 9})  # most leaves have 3
            assert again.wait(WAIT_S)
            first = {vertex: program.initial(vertex, 9) for vertex in fed.prefix.vertices}
            expected = propagated(fed.prefix.edges, fed.prefix.vertices, 3, initial=first)
            assert values_of(again.values()) == expected
            again.release()


def test_a_graph_that_is_too_large_for_so_many_rounds_is_refused_in_words(monkeypatch):
    monkeypatch.setattr(main_processor, "MOST_CELLS", 60)
    with Master() as master:
        loop = master.start(LabelPropagation(rounds=5), "labels")
        loop.admit(batch_of([(number, number + 1, 1.0, INSERT) for number in range(9)]), "records", 9)
        assert loop.wait_idle(WAIT_S)
        loop.admit(batch_of([(100, 101, 1.0, INSERT)]), "records", 10)
        with pytest.raises(
            TornadoError, match=r"12 vertices and ghosts are more than .* with 5 rounds each \(10\)"
        ):
            loop.wait_idle(WAIT_S)
