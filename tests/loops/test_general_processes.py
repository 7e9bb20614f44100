"""General programs on workers in processes: what travels arrives as it was, answers are exact, what cannot be is said."""

import signal
import sys
from dataclasses import dataclass
from random import Random

import numpy as np
import pytest

from tests.engine.places import end, pids_of
from tests.loops.general_programs import (
    VALUES,
    Broken,
    Carried,
    Labels,
    Once,
    Parcels,
    Paths,
    Ranks,
    Restless,
    Shop,
    same,
)
from tests.loops.test_general_programs import Graph, batches, chain, values_of
from tests.shortened import in_soak
from tornado.engine import Wire, transport
from tornado.errors import InvalidArgument, NotSupported
from tornado.graph import PartitionMap
from tornado.kinds.general.vertices import Emission, Said
from tornado.kinds.program_modules import import_file, reference_of
from tornado.kinds.session_processor import Letter
from tornado.loops import BranchState, Master
from tornado.loops.remote_worker import WIRE_TYPES
from tornado.protocol.clock import Stamp
from tornado.protocol.messages import Acknowledge, Prepare, Subscribe, Subscribed, Unsubscribe, Update
from tornado.records.edge_batch import EdgeBatch

WAIT_S = 30
REFUSED = {
    "set": "a set",
    "pair": "a Pair",
    "objects": "a ndarray of object",
    "dates": "a ndarray of datetime64",
}
CARRIED = sorted(VALUES.keys() - REFUSED.keys())


@pytest.fixture(scope="module")
def master():
    with Master(workers=2, engine="processes") as master:
        yield master


def written(value):
    wire = Wire(bytes(16), WIRE_TYPES)
    return wire.read(wire.write(value))


def test_every_message_arrives_as_it_was():
    said = Emission(Said(4, (1, "x")), {9: Said(5, None, to_one=True)})
    nothing = Emission(Said(-(1 << 62), None), {})
    messages = (
        Prepare(1, Stamp(2, 1)),
        Acknowledge(0, 1, Stamp(2, 1), 7),
        *(Update(1, 3, value) for value in (None, nothing, said)),
        Subscribe(0, 1, 2),
        Unsubscribe(0, 1, 2),
        *(Subscribed(1, -1, value, 2) for value in (None, said)),
    )
    for letter in (Letter(1, messages), Letter(0, marker=3, iteration=8)):
        assert written(letter) == letter


@pytest.mark.parametrize("kind", CARRIED)
def test_a_value_arrives_as_it_was(kind):
    read = written(Update(1, 2, Emission(Said(0, VALUES[kind]), {3: Said(1, VALUES[kind], to_one=True)})))
    assert same(read.value.everyone.value, VALUES[kind])
    assert same(read.value.single[3].value, VALUES[kind])


@pytest.mark.parametrize("bound", [1, 4, None])
def test_paths_with_removals_are_exact_in_branches_forked_under_way(master, bound):
    random, graph = Random(7), Graph()
    loop = master.start(Paths(0), f"paths {bound}", delay_bound=bound)
    branches = []
    for number, batch in enumerate(batches(random, vertices=40, records=600, size=20)):
        version = loop.admit(batch, "s", number)
        graph.apply(batch)
        if number % 3 == 0:
            branches.append((loop.fork(), version, graph.distances(0)))
        if number % 7 == 0:
            branches.append((loop.fork({"source": 3}), version, graph.distances(3)))
    for branch, version, expected in branches:
        assert branch.wait(WAIT_S)
        assert branch.state is BranchState.CONVERGED, branch.error
        assert branch.snapshot.version == version
        assert values_of(branch.values()) == expected
        branch.release()
    assert loop.wait_idle(WAIT_S)
    assert values_of(loop.approximation()) == graph.distances(0)
    statistics = loop.statistics()
    assert statistics.edges == sum(map(len, graph.edges.values()))
    assert (statistics.vertices, statistics.pending, statistics.branches) == (len(graph.vertices), 0, 0)
    if bound == 1:
        assert sum(one.updates for one in loop.iterations(1000)) == statistics.updates


def test_ranks_and_labels_are_those_of_their_definitions(master):
    random, graph = Random(5), Graph()
    ranks = master.start(Ranks(), "ranks", delay_bound=4)
    labels = master.start(Labels(0), "labels", delay_bound=1)
    for number, batch in enumerate(batches(random, vertices=14, records=100, size=20, acyclic=False)):
        ranks.admit(batch, "s", number)
        labels.admit(batch, "s", number)
        graph.apply(batch)
        forks = [
            (ranks.fork(), pytest.approx(graph.ranks(0.7), abs=1e-6)),
            (ranks.fork({"damping": 0.3}), pytest.approx(graph.ranks(0.3), abs=1e-6)),
            *((labels.fork({"rounds": rounds}), graph.labels(rounds)) for rounds in (1, 2, 5)),
        ]
        for branch, expected in forks:
            assert branch.wait(WAIT_S)
            assert values_of(branch.values()) == expected


def test_what_is_said_to_single_targets_reaches_them_alone(master):
    random, graph = Random(6), Graph()
    loop = master.start(Parcels(), "parcels", delay_bound=3)
    for number, batch in enumerate(batches(random, vertices=14, records=100, size=20)):
        loop.admit(batch, "s", number)
        graph.apply(batch)
        branch = loop.fork()
        assert branch.wait(WAIT_S)
        assert values_of(branch.values()) == graph.parcels()


def test_a_branch_can_be_capped_stopped_and_cancelled(master):
    loop = master.start(Paths(0, hops=1000), "long", delay_bound=2)
    loop.admit(chain(60), "s", 1)
    capped = loop.fork({"source": 1}, max_iterations=5)
    assert capped.wait(WAIT_S)
    assert capped.state is BranchState.STOPPED
    assert 1 <= np.isfinite(capped.values().arrays()[1]).sum() <= 7
    assert capped.progress().iteration <= 5
    stopped = loop.fork({"source": 2})
    assert stopped.wait_cut(WAIT_S)
    stopped.stop()
    assert stopped.wait(WAIT_S)
    assert stopped.values().count() == 61
    loop.fork({"source": 3}).cancel()
    exact = loop.fork({"source": 4})
    assert exact.wait(WAIT_S)
    assert values_of(exact.values())[60] == 56


def test_what_was_told_once_is_not_told_again_when_it_travels_again(master):
    owner_of = PartitionMap.even(2).owner_of
    consumer = next(name for name in range(2, 99) if owner_of(name) != owner_of(1))
    loop = master.start(Once(), "once")
    loop.admit(EdgeBatch.of([1], [consumer]), "s", 1)
    assert loop.wait_idle(WAIT_S)
    told, updates = values_of(loop.approximation())[consumer], loop.statistics().updates
    for number in range(5):
        loop.admit(EdgeBatch.of([1], [100 + number]), "s", 2 + number)
        assert loop.wait_idle(WAIT_S)
    assert loop.statistics().updates >= updates + 5
    assert values_of(loop.approximation())[consumer] == told


def test_values_of_all_kinds_travel_and_others_fail_the_branch_or_loop_that_says_them(master):
    edges = EdgeBatch.of([1, 2, 3, 4, 5, 6], [2, 3, 4, 5, 6, 1])
    loop = master.start(Carried(), "carried")
    loop.admit(edges, "s", 6)
    for kind in CARRIED:
        branch = loop.fork({"kind": kind})
        assert branch.wait(WAIT_S)
        assert set(values_of(branch.values()).values()) == {1.0}, kind
    for kind, named in REFUSED.items():
        branch = loop.fork({"kind": kind})
        assert branch.wait(WAIT_S)
        assert branch.state is BranchState.FAILED
        assert isinstance(branch.error, NotSupported)
        assert f"Carried said what others cannot hear: {named}" in str(branch.error)
        assert "bool, None, str, bytes, NumPy arrays" in branch.error.hint
    failing = master.start(Carried("set"), "failing")
    failing.admit(edges, "s", 6)
    failing.wait_room(WAIT_S)
    assert master.engine.wait_for(lambda: failing.error is not None, WAIT_S)
    with pytest.raises(NotSupported, match="Carried said what others cannot hear: a set cannot travel"):
        failing.fork()
    again = loop.fork({"kind": "dict"})
    assert again.wait(WAIT_S)
    assert set(values_of(again.values()).values()) == {1.0}
    assert master.engine.losses == 0


def test_parameters_of_all_kinds_travel_and_others_are_refused_before_anything_is_forked(master):
    loop = master.start(Shop.Counter(tags=(1, "two")), "shop")
    loop.admit(chain(5), "s", 5)
    branch = loop.fork({"limits": {"list": [3, 4]}})
    assert branch.wait(WAIT_S)
    assert set(values_of(branch.values()).values()) == {9.0}
    with pytest.raises(NotSupported, match=r"a parameter of .*Counter.*: a set cannot travel"):
        loop.fork({"limits": {"list": {1}}})
    assert loop.statistics().branches == 0


@dataclass(frozen=True)
class OfMain(Paths):
    """Pretends to be typed into a prompt."""


OfMain.__module__ = "__main__"

FILE = """
import sys
from dataclasses import dataclass
from beside_a_program import GREATEST
from tornado import GeneralProgram

{more}

@dataclass(frozen=True)
class Greatest(GeneralProgram):
    least: int = GREATEST

    def init(self, vertex):
        return max(self.least, vertex.id)

    def gather(self, vertex, producer, value, weights):
        before, vertex.state = vertex.state, max(vertex.state, value or 0)
        return vertex.state != before

    def scatter(self, vertex):
        vertex.emit(vertex.state)
"""


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Load a file as `tornado run path/to/file.py:Greatest` does, and forget it again."""
    monkeypatch.setattr(sys, "path", sys.path.copy())
    (tmp_path / "beside_a_program.py").write_text("GREATEST = 1\n")
    loaded = []

    def load(name, more=""):
        path = tmp_path / f"{name}.py"
        path.write_text(FILE.format(more=more))
        loaded.append(import_file(path))
        return path, loaded[-1].Greatest

    yield load
    for name in ("beside_a_program", *(module.__name__ for module in loaded)):
        sys.modules.pop(name, None)


def test_a_program_is_imported_from_its_file(master, load):
    _, kind = load("greatest_of_a_file")
    loop = master.start(kind(), "file")
    loop.admit(chain(10), "s", 10)
    branch = loop.fork({"least": 4})
    assert branch.wait(WAIT_S)
    assert values_of(branch.values()) == {vertex: float(max(4, vertex)) for vertex in range(11)}


@pytest.mark.parametrize("waits", [in_soak("time.sleep({})"), "ctypes.PyDLL(None).usleep(int({} * 1e6))"])
def test_a_module_that_takes_long_to_import_is_waited_for(master, load, waits):
    """One lets other threads of the worker run meanwhile, one does not."""
    slow = waits.format(1.5 * transport.SILENT_S)
    _, kind = load("slow", f"import ctypes, sys, time\nif 'pytest' not in sys.modules:\n    {slow}")
    losses = master.engine.losses
    loop = master.start(kind(), f"slow {waits}")
    loop.admit(chain(10), "s", 10)
    assert loop.wait_idle(WAIT_S)
    assert values_of(loop.approximation()) == {vertex: float(max(1, vertex)) for vertex in range(11)}
    assert master.engine.losses == losses


def test_a_class_that_workers_cannot_have_is_refused_and_says_why(master, load):
    @dataclass(frozen=True)
    class Local(Paths):
        pass

    with pytest.raises(NotSupported, match=r"Local is defined in a function.*a file of its own"):
        master.start(Local(0), "local")
    with pytest.raises(
        NotSupported, match=r"OfMain is defined in the program that was started.*a file of its"
    ):
        master.start(OfMain(0), "of main")
    _, kind = load("only_for_tests", "assert 'pytest' in sys.modules, 'only for tests'")
    with pytest.raises(
        InvalidArgument, match=r"worker 0 cannot have Greatest: .*only_for_tests.*AssertionError"
    ):
        master.start(kind(), "broken")
    path, kind = load("edited_meanwhile")
    reference_of(kind())
    path.write_text(path.read_text() + "\n# edited\n")
    with pytest.raises(InvalidArgument, match=r"worker 0 cannot have Greatest: .*has another text"):
        master.start(kind(), "edited")
    path, kind = load("gone_meanwhile")
    path.unlink()
    with pytest.raises(
        InvalidArgument, match=r"there is no file .*gone_meanwhile.py, and gone_meanwhile cannot"
    ):
        master.start(kind(), "gone")
    loop = master.start(Paths(0), "afterwards")  # dataflows have the same numbers everywhere
    loop.admit(chain(9), "s", 9)
    assert loop.wait_idle(WAIT_S)
    assert values_of(loop.approximation()) == {vertex: float(vertex) for vertex in range(10)}


def test_an_exception_of_a_program_names_the_line(master):
    loop = master.start(Broken(), "broken")
    loop.admit(chain(2), "s", 2)
    assert master.engine.wait_for(lambda: loop.error is not None, WAIT_S)
    with pytest.raises(
        InvalidArgument, match=r"gather of the program raised ZeroDivisionError.*programs.py, line"
    ):
        loop.fork()


def check(branch, version, expected):
    assert branch.wait(WAIT_S)
    assert branch.state is BranchState.CONVERGED, branch.error
    assert branch.snapshot.version == version
    assert values_of(branch.values()) == expected


def test_a_lost_worker_changes_no_answer_but_of_a_program_that_is_another_by_now(master, load):
    path, kind = load("edited_under_way")
    edited = master.start(kind(), "edited under way")
    path.write_text(path.read_text() + "\n# edited\n")
    restless = master.start(Restless(), "restless")
    restless.admit(EdgeBatch.of([1, 2, 3], [2, 3, 1]), "s", 3)
    endless = restless.fork({"rests": False})
    assert endless.wait_cut(WAIT_S)
    random, graph = Random(11), Graph()
    loop = master.start(Paths(0), "lost", delay_bound=4)
    asked = []
    for number, batch in enumerate(batches(random, vertices=40, records=400, size=20)):
        if number == 12:
            for branch, version, expected in asked:
                check(branch, version, expected)
            asked.clear()
            losses, worker = master.engine.losses, pids_of(master)[1]
            # First it stops, so that nothing that is asked for now has ended when it is lost.
            end(worker, signal.SIGSTOP)
        version = loop.admit(batch, "s", number)
        graph.apply(batch)
        if number % 4 == 0:
            asked.append((loop.fork(), version, graph.distances(0)))
            asked.append((loop.fork({"source": 3}), version, graph.distances(3)))
        if number == 12:
            end(worker)
            endless.cancel()  # asks them how far they are
    for branch, version, expected in asked:
        check(branch, version, expected)
    assert loop.wait_idle(WAIT_S)
    assert master.engine.losses == losses + 1
    with pytest.raises(InvalidArgument, match=r"worker 0 cannot have Greatest: .*has another text"):
        edited.admit(chain(1), "s", 1)
    assert values_of(loop.approximation()) == graph.distances(0)
    assert loop.statistics().edges == sum(map(len, graph.edges.values()))
    late = loop.fork({"source": 3})
    assert late.wait(WAIT_S)
    assert values_of(late.values()) == graph.distances(3)
